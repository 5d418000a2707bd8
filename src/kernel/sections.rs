//! Checks of the `[kernel.*]` sections.

use std::collections::{BTreeMap, BTreeSet};

use camino::{Utf8Path, Utf8PathBuf};

use super::backends::Backends;
use super::capability::{Capability, KNOWN};
use super::check::Check;
use super::framework::plain;
use super::paths::Expect;
use super::source::{Language, is_header};
use super::{Backend, Dependency, Section, SectionBackend};
use crate::manifest::section::{self, SectionBackend as Written};
use crate::manifest::v5::BuildToml;
use crate::manifest::{List, Spanned};
use crate::problem::{Place, Problem, code, suggest};

pub(super) fn check(check: &mut Check, file: &BuildToml, backends: &Backends) -> Vec<Section> {
    let mut sections = Vec::new();
    let mut owners = Owners::new(check, file);
    for written in &file.kernel {
        check.section_name(&written.name);
        let src = check.paths(written.src.as_ref(), Expect::File);
        let include = check.paths(written.include.as_ref(), Expect::Directory);
        let cxx_flags = check.flags(written.cxx_flags.as_ref());
        let backend = written.backend.as_ref();
        let backend = backend.and_then(|backend| check.own_keys(&backend.value));
        check.sources_once(&src);
        check.has_source(written, &src, backend.as_ref());
        let Some(backend) = backend else {
            continue;
        };
        let of = backend.backend();
        check.sources_compile(&src, &BTreeSet::from([of]));
        owners.claim(check, of, &src, &written.name);
        let depends = check.depends(written.depends.as_ref(), of);
        if backends.built.contains(&of) {
            sections.push(Section {
                name: written.name.value.clone(),
                backend,
                depends,
                src: plain(src),
                include: plain(include),
                cxx_flags,
            });
        }
    }
    sections
}

/// Who compiles a source: every section of a backend and the binding end up in one library, so a
/// source compiled twice defines everything twice.
struct Owners {
    first: BTreeMap<(Option<Backend>, Utf8PathBuf), (String, Place)>,
}

impl Owners {
    fn new(check: &Check, file: &BuildToml) -> Self {
        let mut first = BTreeMap::new();
        let src = file.torch.as_ref().and_then(|t| t.value.src.as_ref());
        for written in src.map_or(&[][..], |list| &list.value) {
            if let Some(path) = check.source_path(written) {
                let owner = ("[torch]".to_owned(), written.place.clone());
                first.entry((None, path)).or_insert(owner);
            }
        }
        Self { first }
    }

    fn claim(
        &mut self,
        check: &mut Check,
        backend: Backend,
        src: &[Spanned<Utf8PathBuf>],
        name: &Spanned<String>,
    ) {
        let owner = format!("[{}]", name.place.key);
        let compiled = src.iter().filter(|p| Language::of(&p.value).is_some());
        for Spanned { value, place } in compiled {
            let own = (Some(backend), value.clone());
            let earlier = self.first.get(&(None, value.clone()));
            match earlier.or_else(|| self.first.get(&own)) {
                Some((other, at)) if *other != owner => {
                    let problem = Problem::error(
                        code::SOURCE_IN_TWO_SECTIONS,
                        place,
                        format!("`{value}` is compiled by `{other}` and by `{owner}`"),
                    )
                    .label("again here")
                    .related(at, "first here")
                    .help("remove it from one of them: both go into the same library");
                    check.report(problem);
                }
                Some(_) => {}
                None => {
                    self.first.insert(own, (owner.clone(), place.clone()));
                }
            }
        }
    }
}

impl Check {
    fn section_name(&mut self, name: &Spanned<String>) {
        let allowed = |c: char| c.is_ascii_alphanumeric() || "_.+-".contains(c);
        let text = &name.value;
        let dots = text.chars().all(|c| c == '.');
        if text.chars().all(allowed) && !dots && !text.starts_with('-') {
            return;
        }
        self.report(
            Problem::error(
                code::SECTION_NAME,
                &name.place,
                format!("{text:?} cannot name a kernel section"),
            )
            .label("not usable as a file name")
            .help("use letters, digits, `_`, `-`, `.` and `+`; do not start with `-`"),
        );
    }

    /// The keys of a backend that can be built; those of others are not looked into.
    fn own_keys(&mut self, written: &Written) -> Option<SectionBackend> {
        match written {
            Written::Cpu => Some(SectionBackend::Cpu),
            Written::Cuda {
                capabilities,
                flags,
                minver,
            } => Some(SectionBackend::Cuda {
                capabilities: self.capabilities(capabilities.as_ref()),
                flags: self.flags(flags.as_ref()),
                minver: self.minor(minver.as_ref()),
            }),
            Written::Rocm { flags, .. } | Written::Xpu { flags } => {
                self.flags(flags.as_ref());
                None
            }
            Written::Metal => None,
        }
    }

    fn capabilities(&mut self, list: Option<&List<String>>) -> Vec<Capability> {
        let mut found = BTreeSet::new();
        for written in list.map_or(&[][..], |list| &list.value) {
            match written.value.parse::<Capability>() {
                Ok(capability) => {
                    found.insert(capability);
                }
                Err(error) => self.report(unknown_capability(&error.to_string(), written)),
            }
        }
        found.into_iter().collect()
    }

    /// A source twice in one list, by whatever spelling.
    pub(super) fn sources_once(&mut self, src: &[Spanned<Utf8PathBuf>]) {
        let mut first: BTreeMap<&Utf8Path, &Place> = BTreeMap::new();
        for Spanned { value, place } in src {
            let Some(earlier) = first.get(value.as_path()) else {
                first.insert(value, place);
                continue;
            };
            self.report(
                Problem::error(
                    code::SOURCE_TWICE,
                    place,
                    format!("`{value}` is listed twice"),
                )
                .label("again here")
                .related(earlier, "first here")
                .help("remove one of the two"),
            );
        }
    }

    fn has_source(
        &mut self,
        written: &section::Section,
        src: &[Spanned<Utf8PathBuf>],
        backend: Option<&SectionBackend>,
    ) {
        let Some(list) = &written.src else {
            return;
        };
        // What backends that are not built compile is not judged beyond being there.
        let compiled = |path: &Spanned<Utf8PathBuf>| match backend {
            Some(_) => Language::of(&path.value).is_some(),
            None => true,
        };
        if src.iter().any(compiled) || self.is_blamed(&list.place.key) {
            return;
        }
        let name = &written.name.place.key;
        self.report(
            Problem::error(
                code::NO_SOURCE,
                &list.place,
                format!("`[{name}]` has no source to compile"),
            )
            .label("nothing to compile")
            .help("list at least one source such as \"kernel.cu\" or \"kernel.cpp\", or remove the section"),
        );
    }

    /// Every file is either a header or in a language that all the backends compile.
    pub(super) fn sources_compile(
        &mut self,
        src: &[Spanned<Utf8PathBuf>],
        backends: &BTreeSet<Backend>,
    ) {
        for Spanned { value, place } in src {
            if is_header(value) {
                continue;
            }
            let Some(language) = Language::of(value) else {
                self.report(
                    Problem::warning(
                        code::NOT_COMPILED,
                        place,
                        format!("`{value}` is not compiled: its extension is not that of a source"),
                    )
                    .label("taken for a header")
                    .help("sources end in .c, .cc, .cpp, .cxx or .cu"),
                );
                continue;
            };
            let Some(backend) = backends.iter().find(|b| !language.compiles_on(**b)) else {
                continue;
            };
            let name = language.as_str();
            self.report(
                Problem::error(
                    code::CANNOT_COMPILE,
                    place,
                    format!("`{value}` is {name}, which cannot be compiled for {backend}"),
                )
                .label(format!("{name} source"))
                .help(match language {
                    Language::Cuda => "move it to a section with `backend = \"cuda\"`",
                    Language::Hip => "move it to a section with `backend = \"rocm\"`",
                    _ => "move it to a section with `backend = \"metal\"`",
                }),
            );
        }
    }

    fn depends(
        &mut self,
        list: Option<&List<Dependency>>,
        backend: Backend,
    ) -> BTreeSet<Dependency> {
        let list: &[_] = list.map_or(&[], |list| &list.value);
        for Spanned { value, place } in list.iter().filter(|d| d.value != Dependency::Torch) {
            let owner = match value {
                Dependency::SyclTla => Some(Backend::Xpu),
                Dependency::MetalCpp => Some(Backend::Metal),
                _ if backend == Backend::Cpu => Some(Backend::Cuda),
                _ => None,
            };
            let message = match owner {
                Some(owner) => {
                    format!("`{value}` is for {owner} sections, this one is for {backend}")
                }
                None => format!("`{value}` is not packaged yet"),
            };
            self.report(
                Problem::error(code::DEPENDENCY, place, message)
                    .label("cannot be used here")
                    .help("sections can depend on `torch` only so far; other headers can be kept in the kernel and found through `include`"),
            );
        }
        list.iter().map(|dependency| dependency.value).collect()
    }
}

fn unknown_capability(message: &str, written: &Spanned<String>) -> Problem {
    let number = written.value.strip_suffix("+PTX");
    let number = number.unwrap_or(&written.value);
    Problem::error(code::CAPABILITY, &written.place, message)
        .label("not a known capability")
        .help(suggest::suggest(number, KNOWN))
}
