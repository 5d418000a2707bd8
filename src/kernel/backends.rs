//! Checks of `general.backends` against the framework and the sections.

use std::collections::{BTreeMap, BTreeSet};

use super::Backend;
use super::check::Check;
use crate::manifest::section::WrittenSection;
use crate::manifest::v5::BuildToml;
use crate::manifest::{List, Spanned};
use crate::problem::{Place, Problem, code};

/// The backends that a library behind TVM's interface can be made for.
const TVM_FFI_BACKENDS: [Backend; 3] = [Backend::Cpu, Backend::Cuda, Backend::Xpu];

pub(super) fn check(check: &mut Check<'_>, file: &BuildToml) -> BTreeSet<Backend> {
    let Some(listed) = &file.general.backends else {
        return BTreeSet::new();
    };
    // A word that could not be read is not in the list, so its section must not be reported.
    let known = !check.is_blamed(&listed.place.key);
    let first = check.first_places(listed, known);
    if known && !first.is_empty() {
        check.sections_are_listed(file, &first, &listed.place);
        check.options_are_listed(file, &first, &listed.place);
    }
    if let (None, Some(tvm_ffi)) = (&file.torch, &file.tvm_ffi) {
        check.tvm_ffi_backends(&first, &tvm_ffi.place);
    }
    if file.torch.is_some() || file.tvm_ffi.is_some() {
        check.have_sections(file, &first);
    }
    first.into_keys().collect()
}

fn backend_of(section: &WrittenSection) -> Option<Backend> {
    section.backend.as_ref().map(|b| b.value.backend())
}

fn can_have_sections(backend: Backend) -> bool {
    !matches!(backend, Backend::Cann | Backend::Neuron | Backend::Tpu)
}

impl Check<'_> {
    /// The place where each backend is listed first.
    fn first_places(&mut self, listed: &List<Backend>, known: bool) -> BTreeMap<Backend, Place> {
        let mut first: BTreeMap<Backend, Place> = BTreeMap::new();
        for Spanned { value, place } in &listed.value {
            let Some(earlier) = first.get(value) else {
                first.insert(*value, place.clone());
                continue;
            };
            let earlier = earlier.clone();
            self.report(
                Problem::error(
                    code::BACKEND_TWICE,
                    place,
                    format!("backend `{value}` is listed twice"),
                )
                .label("again here")
                .related(&earlier, "first here")
                .help("remove one of the two"),
            );
        }
        if first.is_empty() && known {
            self.report(
                Problem::error(
                    code::NO_BACKENDS,
                    &listed.place,
                    "there is no backend to build for",
                )
                .label("empty")
                .help("list what the kernel runs on, for example [\"cpu\", \"cuda\"]"),
            );
        }
        first
    }

    fn sections_are_listed(
        &mut self,
        file: &BuildToml,
        first: &BTreeMap<Backend, Place>,
        list: &Place,
    ) {
        for section in &file.kernel {
            let Some(written) = &section.backend else {
                continue;
            };
            let backend = written.value.backend();
            if first.contains_key(&backend) {
                continue;
            }
            let tvm_ffi = file.torch.is_none() && file.tvm_ffi.is_some();
            let help = match tvm_ffi && !TVM_FFI_BACKENDS.contains(&backend) {
                true => format!(
                    "remove the section: `[tvm-ffi]` is for {}",
                    TVM_FFI_BACKENDS.map(Backend::as_str).join(", ")
                ),
                false => format!("add \"{backend}\" to that list, or remove the section"),
            };
            self.report(
                Problem::error(
                    code::SECTION_BACKEND_UNLISTED,
                    &written.place,
                    format!("`{backend}` is not one of `general.backends`"),
                )
                .label("this section would never be built")
                .related(list, "the backends of this kernel")
                .help(help),
            );
        }
    }

    fn options_are_listed(
        &mut self,
        file: &BuildToml,
        first: &BTreeMap<Backend, Place>,
        list: &Place,
    ) {
        for (backend, options) in file.general.options() {
            let Some(place) = &options.place else {
                continue;
            };
            if first.contains_key(&backend) {
                continue;
            }
            self.report(
                Problem::warning(
                    code::NO_EFFECT,
                    place,
                    format!(
                        "`{}` has no effect: the kernel is not for {backend}",
                        place.key
                    ),
                )
                .label("ignored")
                .related(list, "the backends of this kernel")
                .help(format!(
                    "remove the table, or add \"{backend}\" to that list"
                )),
            );
        }
    }

    fn tvm_ffi_backends(&mut self, first: &BTreeMap<Backend, Place>, tvm_ffi: &Place) {
        for (backend, place) in first {
            if TVM_FFI_BACKENDS.contains(backend) {
                continue;
            }
            let words = TVM_FFI_BACKENDS.map(Backend::as_str).join(", ");
            self.report(
                Problem::error(
                    code::FRAMEWORK_BACKEND,
                    place,
                    format!("`[tvm-ffi]` kernels do not exist for {backend}"),
                )
                .label("not with this framework")
                .related(tvm_ffi, "the framework")
                .help(format!(
                    "remove it from the list; `[tvm-ffi]` is for {words}"
                )),
            );
        }
    }

    fn have_sections(&mut self, file: &BuildToml, first: &BTreeMap<Backend, Place>) {
        // A section that could not be read may be the one that seems to be missing.
        let mut sections = file.kernel.iter();
        let unread = sections.any(|section| section.backend.is_none());
        if unread || self.problems.iter().any(|p| p.place.key == "kernel") {
            return;
        }
        for (backend, place) in first {
            let has_section = file.kernel.iter().any(|s| backend_of(s) == Some(*backend));
            if has_section || self.is_blamed(&place.key) {
                continue;
            }
            let message = format!("no kernel section is for {backend}");
            let problem = if file.kernel.is_empty() || file.tvm_ffi.is_some() {
                let help = match can_have_sections(*backend) {
                    true => format!(
                        "add a `[kernel.<name>]` section with `backend = \"{backend}\"`, or remove it from the list; a kernel that is Python on every backend has `[torch-noarch]` instead of `[torch]`"
                    ),
                    false => format!(
                        "remove it from the list: kernels for {backend} are Python-only, with `[torch-noarch]`"
                    ),
                };
                Problem::error(code::BACKEND_WITHOUT_SECTION, place, message)
                    .label("nothing to compile for this backend")
                    .help(help)
            } else if can_have_sections(*backend) {
                Problem::warning(code::BACKEND_WITHOUT_SECTION, place, message)
                    .label("built from the Python files alone")
                    .help(format!(
                        "add a `[kernel.<name>]` section with `backend = \"{backend}\"` if there is something to compile"
                    ))
            } else {
                // This backend takes Python files alone.
                continue;
            };
            self.report(problem);
        }
    }
}
