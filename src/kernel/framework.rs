//! Checks of the framework section.

use std::collections::{BTreeMap, BTreeSet};

use camino::Utf8PathBuf;

use super::check::Check;
use super::paths::ExpectedPath;
use super::source::Language;
use super::{Backend, Framework, Torch, TorchNoarch, TvmFfi};
use crate::manifest::framework::{self, StableAbi};
use crate::manifest::v5::BuildToml;
use crate::manifest::{List, Spanned};
use crate::problem::{Place, Problem, code};
use crate::version::Version;

/// Extensions of the Python files to install when `pyext` is not given.
const PYEXT: [&str; 2] = ["py", "pyi"];

pub(super) fn check(
    check: &mut Check<'_>,
    file: &BuildToml,
    backends: &BTreeSet<Backend>,
) -> Option<Framework> {
    // More than one framework section has been reported already.
    if let Some(Spanned { value, place }) = &file.torch {
        let torch = check.torch(value, place, file, backends);
        return Some(Framework::Torch(torch));
    }
    if let Some(Spanned { value, place }) = &file.tvm_ffi {
        let tvm_ffi = check.tvm_ffi(value, place, file, backends);
        return Some(Framework::TvmFfi(tvm_ffi));
    }
    let noarch = file.torch_noarch.as_ref()?;
    Some(Framework::TorchNoarch(check.noarch(noarch, file, backends)))
}

impl Check<'_> {
    fn torch(
        &mut self,
        torch: &framework::WrittenTorch,
        place: &Place,
        file: &BuildToml,
        backends: &BTreeSet<Backend>,
    ) -> Torch {
        let bounds = self.bounds(torch.minver.as_ref(), torch.maxver.as_ref());
        Torch {
            src: self.binding(torch.src.as_ref(), place, file, backends),
            pyext: self.pyext(torch.pyext.as_ref()),
            include: self.include(torch.include.as_ref()),
            stable_abi: torch
                .stable_abi
                .as_ref()
                .map(|abi| self.stable_abi(&abi.value, backends, torch.maxver.as_ref()))
                .unwrap_or_default(),
            bounds,
            cxx_flags: self.flags(torch.cxx_flags.as_ref()),
            lean_headers: torch.lean_headers.as_ref().is_none_or(|lean| lean.value),
        }
    }

    fn tvm_ffi(
        &mut self,
        tvm_ffi: &framework::WrittenTvmFfi,
        place: &Place,
        file: &BuildToml,
        backends: &BTreeSet<Backend>,
    ) -> TvmFfi {
        TvmFfi {
            src: self.binding(tvm_ffi.src.as_ref(), place, file, backends),
            pyext: self.pyext(tvm_ffi.pyext.as_ref()),
            include: self.include(tvm_ffi.include.as_ref()),
            cxx_flags: self.flags(tvm_ffi.cxx_flags.as_ref()),
        }
    }

    fn noarch(
        &mut self,
        noarch: &Spanned<framework::WrittenTorchNoarch>,
        file: &BuildToml,
        backends: &BTreeSet<Backend>,
    ) -> TorchNoarch {
        let Spanned { value, place } = noarch;
        if let Some(section) = file.kernel.first() {
            self.report(
                Problem::error(
                    code::SECTIONS_OF_NOARCH,
                    &section.name.place,
                    "a Python-only kernel has no kernel sections",
                )
                .label("compiled")
                .related(place, "says that nothing is compiled")
                .help("write `[torch]` instead of `[torch-noarch]`, or remove the sections"),
            );
        }
        let lists = [
            (Backend::Cuda, value.cuda_capabilities.as_ref()),
            (Backend::Rocm, value.rocm_archs.as_ref()),
        ];
        for (backend, list) in lists {
            if let Some(list) = list
                && !backends.contains(&backend)
                && !self.is_blamed("general.backends")
            {
                let message = format!(
                    "`{}` has no effect: the kernel is not for {backend}",
                    list.place.key
                );
                self.report(
                    Problem::warning(code::NO_EFFECT, &list.place, message)
                        .label("ignored")
                        .help(format!(
                            "remove it, or add \"{backend}\" to `general.backends`"
                        )),
                );
            }
        }
        TorchNoarch {
            pyext: self.pyext(value.pyext.as_ref()),
            cuda_capabilities: self.capabilities(value.cuda_capabilities.as_ref()),
            rocm_archs: self.rocm_archs(value.rocm_archs.as_ref()),
        }
    }

    /// File name extensions without the dot.
    fn pyext(&mut self, list: Option<&List<String>>) -> Vec<String> {
        let Some(list) = list else {
            return PYEXT.map(str::to_owned).to_vec();
        };
        for Spanned { value, place } in &list.value {
            let bare = value.trim_start_matches('.');
            let odd = |c: char| c == '/' || c.is_control();
            if bare == value && !value.is_empty() && !value.contains(odd) {
                continue;
            }
            let help = match bare.is_empty() || bare.contains(odd) {
                true => "write the extension alone, like \"py\"".to_owned(),
                false => format!("write \"{bare}\""),
            };
            self.report(
                Problem::error(
                    code::PYEXT,
                    place,
                    format!("{value:?} is not the extension of a file name"),
                )
                .label("no dot, no folder")
                .help(help),
            );
        }
        list.value.iter().map(|ext| ext.value.clone()).collect()
    }

    /// Sources of the binding. The operators of the sections are reached only through it.
    fn binding(
        &mut self,
        written: Option<&List<String>>,
        framework: &Place,
        file: &BuildToml,
        backends: &BTreeSet<Backend>,
    ) -> Vec<Utf8PathBuf> {
        let src = self.paths(written, ExpectedPath::File);
        let src = self.sources_once(src);
        self.sources_compile(&src, backends);
        let compiled = src
            .iter()
            .any(|path| Language::of_file(&path.value).is_some());
        let key = format!("{}.src", framework.key);
        if !(compiled || file.kernel.is_empty() || self.is_blamed(&key)) {
            let place = match written {
                Some(list) => list.place.clone(),
                None => Place {
                    key,
                    span: framework.span.clone(),
                },
            };
            self.report(
                Problem::error(
                    code::NO_BINDING,
                    &place,
                    format!("`{}` has no source to compile", place.key),
                )
                .label("the binding is missing")
                .help("list the source that makes the functions of the kernel known to Python"),
            );
        }
        without_places(src)
    }

    fn stable_abi(
        &mut self,
        abi: &StableAbi,
        backends: &BTreeSet<Backend>,
        maxver: Option<&Spanned<Version>>,
    ) -> BTreeMap<Backend, Version> {
        match abi {
            StableAbi::All(version) => {
                let Some(minor) = self.check_abi(version, maxver) else {
                    return BTreeMap::new();
                };
                let each = backends.iter();
                each.map(|backend| (*backend, minor.clone())).collect()
            }
            StableAbi::PerBackend(versions) => {
                let mut checked = BTreeMap::new();
                for (backend, version) in versions {
                    let minor = self.check_abi(version, maxver);
                    if backends.contains(&backend.value) {
                        checked.extend(minor.map(|minor| (backend.value, minor)));
                    } else if !self.is_blamed("general.backends") {
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
    }

    /// A stable ABI. A torch older than the ABI does not have it.
    fn check_abi(
        &mut self,
        abi: &Spanned<Version>,
        maxver: Option<&Spanned<Version>>,
    ) -> Option<Version> {
        if let Some(max) = maxver.filter(|max| max.value < abi.value) {
            let message = format!(
                "no torch is at least {}, which has this stable ABI, and at most {}",
                abi.value, max.value
            );
            self.report(
                Problem::error(code::BOUNDS, &abi.place, message)
                    .label("above the newest torch")
                    .related(&max.place, "the maximum")
                    .help("use an older stable ABI, or allow newer releases of torch"),
            );
        }
        self.minor(Some(abi))
    }
}

/// Paths without their places, which are not needed after the check.
pub(super) fn without_places(paths: Vec<Spanned<Utf8PathBuf>>) -> Vec<Utf8PathBuf> {
    paths.into_iter().map(|path| path.value).collect()
}
