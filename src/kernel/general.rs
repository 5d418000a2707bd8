//! Checks of `[general]`, without the backends.

use std::collections::BTreeSet;

use super::check::Check;
use super::{
    Backend, Bounds, Depends, GitUrl, Hub, KernelDependency, KernelName, KernelPin, git_url,
};
use crate::manifest::{List, Spanned, v5};
use crate::problem::{Place, Problem, code, suggest};
use crate::words::python_depends::{self, PythonDependency};

/// The parts of a kernel that `[general]` holds.
pub(super) struct CheckedGeneral {
    pub name: KernelName,
    pub version: u64,
    pub license: String,
    pub upstream: Option<GitUrl>,
    pub source: Option<GitUrl>,
    pub hub: Hub,
    pub kernel_depends: Depends<KernelDependency>,
    pub python_depends: Depends<PythonDependency>,
    pub cuda: Bounds,
}

pub(super) fn check(check: &mut Check<'_>, file: &v5::BuildToml) -> Option<CheckedGeneral> {
    let general = &file.general;
    let packages = match (&file.torch, &file.tvm_ffi) {
        (None, Some(_)) => "tvm-ffi-ext",
        _ => "torch-ext",
    };

    let name = general.name.as_ref();
    let name = name.and_then(|name| check.name(name, packages));
    if let Some(license) = &general.license
        && check.is_plain_text(license)
    {
        check.license(license);
    }
    let upstream = check.git_url(general.upstream.as_ref());
    let source = check.git_url(general.source.as_ref());
    if let Some(repo_id) = &general.hub.repo_id {
        check.repo_id(repo_id);
    }
    let kernel_depends = check.kernel_depends(general);
    let python_depends = check.python_depends(general);
    let cuda = check.bounds(general.cuda.minver.as_ref(), general.cuda.maxver.as_ref());
    Some(CheckedGeneral {
        name: name?,
        version: general.version.as_ref()?.value,
        license: general.license.as_ref()?.value.clone(),
        upstream,
        source,
        hub: Hub {
            repo_id: general.hub.repo_id.as_ref().map(|id| id.value.clone()),
            branch: general.hub.branch.as_ref().map(|b| b.value.clone()),
        },
        kernel_depends,
        python_depends,
        cuda,
    })
}

impl Check<'_> {
    /// The name of the kernel. `packages` is the folder that holds its package.
    fn name(&mut self, written: &Spanned<String>, packages: &str) -> Option<KernelName> {
        let name = match written.value.parse::<KernelName>() {
            Ok(name) => name,
            Err(error) => {
                let rule = "use lower-case letters, digits and dashes, starting with a letter, at least two characters";
                let help = match KernelName::similar(&written.value) {
                    Some(similar) => format!("write `{similar}`; {rule}"),
                    None => rule.to_owned(),
                };
                self.report(
                    Problem::error(code::KERNEL_NAME, &written.place, error.to_string())
                        .label("not a kernel name")
                        .help(help),
                );
                return None;
            }
        };
        let init = format!("{packages}/{}/__init__.py", name.python_name());
        if !self.root.join(&init).is_file() {
            self.report(
                Problem::error(
                    code::NO_PYTHON_PACKAGE,
                    &written.place,
                    format!("`{init}` does not exist"),
                )
                .label("the package is named after this, with underscores")
                .help("create the file: it is what users import"),
            );
        }
        Some(name)
    }

    fn git_url(&mut self, url: Option<&Spanned<String>>) -> Option<GitUrl> {
        let url = url?;
        let error = match url.value.parse::<GitUrl>() {
            Ok(url) => return Some(url),
            Err(error) => error,
        };
        let message = format!("`{}` cannot be used: {error}", url.place.key);
        self.report(
            Problem::error(code::GIT_URL, &url.place, message)
                .label("not a Git URL")
                .help(format!(
                    "write `host:path`, or a URL with one of: {}",
                    git_url::SCHEMES.join(", ")
                )),
        );
        None
    }

    fn repo_id(&mut self, repo_id: &Spanned<String>) {
        let part = |part: &str| {
            let inner = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
            let edge = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric() || c == '_');
            part.chars().all(inner)
                && edge(part.chars().next())
                && edge(part.chars().last())
                && !part.contains("--")
                && !part.contains("..")
        };
        let text = &repo_id.value;
        let valid = text.len() <= 96
            && text
                .split_once('/')
                .is_some_and(|(org, name)| part(org) && part(name));
        if !valid {
            self.report(
                Problem::error(
                    code::REPO_ID,
                    &repo_id.place,
                    format!("`{text}` is not a repository id"),
                )
                .label("expected organisation/name")
                .help("write it like \"my-organisation/my-kernel\", without a host"),
            );
        }
    }

    fn kernel_depends(&mut self, general: &v5::General) -> Depends<KernelDependency> {
        Depends {
            general: self.kernel_list(general.kernel_depends.as_ref()),
            backend: general
                .options()
                .into_iter()
                .map(|(of, table)| (of, self.kernel_list(table.kernel_depends.as_ref())))
                .filter(|(_, list)| !list.is_empty())
                .collect(),
        }
    }

    fn kernel_list(
        &mut self,
        list: Option<&List<v5::WrittenKernelDependency>>,
    ) -> Vec<KernelDependency> {
        let list: &[_] = list.map_or(&[], |list| &list.value);
        let mut seen = BTreeSet::new();
        list.iter()
            .map(|dependency| {
                let v5::WrittenKernelDependency { repo_id, pin } = &dependency.value;
                self.repo_id(repo_id);
                self.warn_if_repeated(seen.insert(&repo_id.value), repo_id);
                if matches!(pin, KernelPin::Revision(revision) if revision.trim().is_empty()) {
                    self.report(
                        Problem::error(
                            code::KERNEL_DEPENDENCY_PIN,
                            &dependency.place,
                            "the revision is empty",
                        )
                        .label("which state of the repository?")
                        .help("name a branch, a tag or a commit"),
                    );
                }
                KernelDependency {
                    repo_id: repo_id.value.clone(),
                    pin: pin.clone(),
                }
            })
            .collect()
    }

    fn python_depends(&mut self, general: &v5::General) -> Depends<PythonDependency> {
        Depends {
            general: self.python_list(None, general.python_depends.as_ref()),
            backend: general
                .options()
                .into_iter()
                .map(|(of, table)| {
                    (
                        of,
                        self.python_list(Some(of), table.python_depends.as_ref()),
                    )
                })
                .filter(|(_, list)| !list.is_empty())
                .collect(),
        }
    }

    fn python_list(
        &mut self,
        backend: Option<Backend>,
        list: Option<&List<String>>,
    ) -> Vec<PythonDependency> {
        let list: &[_] = list.map_or(&[], |list| &list.value);
        let mut seen = BTreeSet::new();
        list.iter()
            .filter_map(|name| {
                self.warn_if_repeated(seen.insert(&name.value), name);
                let known = python_depends::known_packages(backend);
                let found = known.iter().find(|p| p.name == name.value).copied();
                if found.is_none() {
                    self.report(unknown_python(&name.value, &name.place, backend));
                }
                found
            })
            .collect()
    }
}

fn unknown_python(name: &str, place: &Place, backend: Option<Backend>) -> Problem {
    let names: Vec<&str> = python_depends::known_packages(backend)
        .iter()
        .map(|p| p.name)
        .collect();
    let help = match python_depends::table_of_package(name) {
        Some(None) => "move it to `python-depends` in `[general]`".to_owned(),
        Some(Some(other)) => format!("move it to `python-depends` in `[general.{other}]`"),
        None if names.is_empty() => "no Python dependency is known for this backend".to_owned(),
        None => suggest::suggest(name, &names),
    };
    let message = match backend {
        None => format!("`{name}` is not a known Python dependency"),
        Some(backend) => format!("`{name}` is not a known Python dependency for {backend}"),
    };
    Problem::error(code::PYTHON_DEPENDENCY, place, message)
        .label("not known here")
        .help(help)
}
