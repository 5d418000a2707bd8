//! Checks of the framework section.

use std::collections::BTreeMap;

use camino::Utf8PathBuf;

use super::backends::Backends;
use super::check::Check;
use super::paths::Expect;
use super::source::Language;
use super::{Backend, Framework, Torch};
use crate::manifest::framework::{self, StableAbi};
use crate::manifest::v5::BuildToml;
use crate::manifest::{List, Spanned};
use crate::problem::{Place, Problem, code};
use crate::version::Version;

/// Extensions of the Python files to install when `pyext` is not given.
const PYEXT: [&str; 2] = ["py", "pyi"];

pub(super) fn check(check: &mut Check, file: &BuildToml, backends: &Backends) -> Option<Framework> {
    let noarch = file.torch_noarch.as_ref().map(|f| &f.place);
    let tvm_ffi = file.tvm_ffi.as_ref().map(|f| &f.place);
    let present: Vec<_> = [noarch, tvm_ffi].into_iter().flatten().collect();
    // Two sections at once have been reported as such.
    if let (None, [place]) = (&file.torch, &present[..]) {
        check.report(
            Problem::error(
                code::FRAMEWORK_NOT_BUILT,
                place,
                format!("this version does not build `[{}]` kernels", place.key),
            )
            .label("cannot be built yet")
            .help("this version builds `[torch]` kernels only"),
        );
    }
    let torch = file.torch.as_ref()?;
    Some(Framework::Torch(check.torch(
        &torch.value,
        &torch.place,
        file,
        backends,
    )))
}

impl Check {
    fn torch(
        &mut self,
        torch: &framework::Torch,
        place: &Place,
        file: &BuildToml,
        backends: &Backends,
    ) -> Torch {
        let src = self.paths(torch.src.as_ref(), Expect::File);
        self.sources_once(&src);
        self.sources_compile(&src, &backends.built);
        if !file.kernel.is_empty() {
            self.binding(&src, torch.src.as_ref(), place);
        }
        let include = self.paths(torch.include.as_ref(), Expect::Directory);
        let stable_abi = torch.stable_abi.as_ref();
        Torch {
            src: plain(src),
            pyext: match &torch.pyext {
                None => PYEXT.map(str::to_owned).to_vec(),
                Some(list) => list.value.iter().map(|ext| ext.value.clone()).collect(),
            },
            include: plain(include),
            bounds: self.bounds(torch.minver.as_ref(), torch.maxver.as_ref()),
            stable_abi: stable_abi
                .map(|abi| self.stable_abi(&abi.value, backends))
                .unwrap_or_default(),
            cxx_flags: self.flags(torch.cxx_flags.as_ref()),
        }
    }

    /// The operators of the sections are reached only through a binding that is compiled.
    fn binding(
        &mut self,
        src: &[Spanned<Utf8PathBuf>],
        written: Option<&List<String>>,
        torch: &Place,
    ) {
        let compiled = src.iter().any(|path| Language::of(&path.value).is_some());
        let key = format!("{}.src", torch.key);
        if compiled || self.is_blamed(&key) {
            return;
        }
        let place = match written {
            Some(list) => list.place.clone(),
            None => Place {
                key,
                span: torch.span.clone(),
            },
        };
        self.report(
            Problem::error(
                code::NO_BINDING,
                &place,
                format!("`{}` has no source to compile", place.key),
            )
            .label("the binding is missing")
            .help("list the source that registers the operators with torch"),
        );
    }

    fn stable_abi(&mut self, abi: &StableAbi, backends: &Backends) -> BTreeMap<Backend, Version> {
        let versions = match abi {
            StableAbi::All(version) => {
                let Some(version) = self.minor(Some(version)) else {
                    return BTreeMap::new();
                };
                let built = backends.built.iter();
                return built.map(|backend| (*backend, version.clone())).collect();
            }
            StableAbi::PerBackend(versions) => versions,
        };
        let mut checked = BTreeMap::new();
        for (backend, version) in versions {
            let minor = self.minor(Some(version));
            if backends.built.contains(&backend.value) {
                checked.extend(minor.map(|minor| (backend.value, minor)));
            } else if !backends.skipped.contains(&backend.value)
                && !self.is_blamed("general.backends")
            {
                self.report(
                    Problem::warning(
                        code::STABLE_ABI_UNUSED,
                        &backend.place,
                        format!("`{}` is not one of `general.backends`", backend.value),
                    )
                    .label("ignored")
                    .help("remove the entry, or add the backend to that list"),
                );
            }
        }
        checked
    }
}

/// Paths without their places, which are not needed after the check.
pub(super) fn plain(paths: Vec<Spanned<Utf8PathBuf>>) -> Vec<Utf8PathBuf> {
    paths.into_iter().map(|path| path.value).collect()
}
