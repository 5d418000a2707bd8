//! Checks of `general.backends` against the sections: which backends are built.

use std::collections::{BTreeMap, BTreeSet};

use super::Backend;
use super::check::Check;
use crate::manifest::section::Section;
use crate::manifest::v5::BuildToml;
use crate::manifest::{List, Spanned};
use crate::problem::{Place, Problem, code};

/// The backends that this version builds.
pub(super) const BUILDABLE: [Backend; 2] = [Backend::Cpu, Backend::Cuda];

/// The listed backends, sorted out.
#[derive(Debug, Default)]
pub(super) struct Backends {
    /// Listed and built.
    pub built: BTreeSet<Backend>,
    /// Listed, but this version cannot build them.
    pub skipped: BTreeSet<Backend>,
}

pub(super) fn check(check: &mut Check, file: &BuildToml) -> Backends {
    let Some(listed) = &file.general.backends else {
        return Backends::default();
    };
    // Words that could not be read are not in the list; the section that goes with such a word
    // must not be blamed for it.
    let known = !check.is_blamed(&listed.place.key);
    let first = check.listed(listed, known);
    let (built, skipped): (BTreeSet<_>, BTreeSet<_>) = first
        .keys()
        .copied()
        .partition(|backend| BUILDABLE.contains(backend));
    for backend in &skipped {
        let sections = file.kernel.iter();
        let names: Vec<_> = sections
            .filter(|section| backend_of(section) == Some(*backend))
            .map(|section| format!("`{}`", section.name.value))
            .collect();
        let fatal = built.is_empty() && known;
        check.not_built(*backend, &first[backend], &names, fatal);
    }
    if known && !first.is_empty() {
        check.sections_are_listed(file, &first, &listed.place);
    }
    // Another framework cannot be built at all, which is reported instead.
    if file.torch.is_some() {
        check.have_sections(file, &first);
    }
    Backends { built, skipped }
}

fn backend_of(section: &Section) -> Option<Backend> {
    section.backend.as_ref().map(|b| b.value.backend())
}

impl Check {
    /// Where each backend is listed first.
    fn listed(&mut self, listed: &List<Backend>, known: bool) -> BTreeMap<Backend, Place> {
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

    fn not_built(&mut self, backend: Backend, place: &Place, sections: &[String], fatal: bool) {
        let buildable = BUILDABLE.map(Backend::as_str).join(" and ");
        let message = format!("this version does not build for {backend}");
        let problem = match fatal {
            true => Problem::error(code::BACKEND_NOT_BUILT, place, message)
                .label("nothing is left to build")
                .help(format!("add a backend that can be built: {buildable}")),
            false => Problem::warning(code::BACKEND_NOT_BUILT, place, message)
                .label(match sections {
                    [] => "skipped".to_owned(),
                    [one] => format!("skipped, with the section {one}"),
                    many => format!("skipped, with the sections {}", many.join(", ")),
                })
                .help(format!(
                    "nothing to do; this version builds for {buildable}"
                )),
        };
        self.report(problem);
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
            self.report(
                Problem::error(
                    code::SECTION_BACKEND_UNLISTED,
                    &written.place,
                    format!("`{backend}` is not one of `general.backends`"),
                )
                .label("this section would never be built")
                .related(list, "the backends of this kernel")
                .help(format!(
                    "add \"{backend}\" to that list, or remove the section"
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
            if has_section || !BUILDABLE.contains(backend) {
                continue;
            }
            self.report(
                Problem::error(
                    code::BACKEND_WITHOUT_SECTION,
                    place,
                    format!("no kernel section is for {backend}"),
                )
                .label("nothing to compile for this backend")
                .help(format!(
                    "add a `[kernel.<name>]` section with `backend = \"{backend}\"`, or remove it from the list; Python-only backends cannot be built yet"
                )),
            );
        }
    }
}
