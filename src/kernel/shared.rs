//! Sources that several sections list, or a section and the binding. A backend has one library, so
//! each source is compiled once: as part of the binding, or with the keys of all its sections
//! together.

use std::collections::{BTreeMap, BTreeSet};

use camino::Utf8PathBuf;

use super::check::Check;
use super::source::Language;
use super::{Backend, Section, SectionBackend};
use crate::manifest::v5::BuildToml;
use crate::manifest::{List, Spanned};
use crate::problem::{Place, Problem, code};

/// A section, with the places of its files.
pub(super) struct ListedSection {
    /// The header in the file: `[kernel.relu]`.
    pub header: String,
    pub section: Section,
    /// `section.src`.
    pub src: Vec<Spanned<Utf8PathBuf>>,
}

/// The sections with each source in one of them. Sources that several sections list move to a
/// section of their own after the first of these sections. A section that keeps no source is
/// dropped.
pub(super) fn separate_sources(
    check: &mut Check<'_>,
    file: &BuildToml,
    mut listed: Vec<ListedSection>,
) -> Vec<Section> {
    let binding = Binding::of_framework(check, file);
    let mut owners: BTreeMap<(Backend, Utf8PathBuf), Vec<(usize, Place)>> = BTreeMap::new();
    for (at, one) in listed.iter_mut().enumerate() {
        for Spanned { value, place } in &one.src {
            if Language::of_file(value).is_none() {
                continue;
            }
            if let Some(first) = binding.src.get(value) {
                check.report(binding.problem(check.older, one, value, place, first));
                one.section.src.retain(|path| path != value);
                continue;
            }
            let key = (one.section.backend.backend(), value.clone());
            owners.entry(key).or_default().push((at, place.clone()));
        }
    }

    let mut groups: BTreeMap<Vec<usize>, BTreeSet<Utf8PathBuf>> = BTreeMap::new();
    for ((_, source), owners) in owners {
        let Some(((first, first_place), others)) = owners.split_first() else {
            continue;
        };
        for (at, place) in others {
            let problem = source_in_two(check.older, &listed[*first], &listed[*at], &source);
            check.report(
                problem
                    .at(place)
                    .label("again here")
                    .related(first_place, "first here"),
            );
        }
        if !others.is_empty() {
            let members = owners.iter().map(|(at, _)| *at).collect();
            groups.entry(members).or_default().insert(source);
        }
    }
    separate_shared(listed.into_iter().map(|one| one.section).collect(), groups)
}

/// Moves sources that several sections share to sections of their own. `groups` maps sets of
/// sections to their shared sources.
fn separate_shared(
    mut sections: Vec<Section>,
    groups: BTreeMap<Vec<usize>, BTreeSet<Utf8PathBuf>>,
) -> Vec<Section> {
    let mut joint: BTreeMap<usize, Vec<Section>> = BTreeMap::new();
    let mut givers = BTreeSet::new();
    for (members, sources) in groups {
        let parts: Vec<&Section> = members.iter().map(|at| &sections[*at]).collect();
        joint
            .entry(members[0])
            .or_default()
            .push(join_sections(&parts, &sources));
        for at in &members {
            sections[*at].src.retain(|path| !sources.contains(path));
        }
        givers.extend(members);
    }
    let mut all = Vec::new();
    for (at, section) in sections.into_iter().enumerate() {
        if !givers.contains(&at) || section.units().next().is_some() {
            all.push(section);
        }
        all.extend(joint.remove(&at).into_iter().flatten());
    }
    all
}

/// One section for the sources that some sections share: for the GPUs and with the keys of all of
/// them. NB: contradictions are solved as CMake did when older kernels were built: flags add up,
/// the last list of folders counts.
fn join_sections(parts: &[&Section], sources: &BTreeSet<Utf8PathBuf>) -> Section {
    let names: Vec<&str> = parts.iter().map(|part| part.name.as_str()).collect();
    let mut joint = parts[0].clone();
    joint.name = names.join("+");
    // Headers stay with the sources: it does not matter which section lists them, but a section may
    // be dropped.
    let mut seen = BTreeSet::new();
    joint.src = parts
        .iter()
        .flat_map(|part| &part.src)
        .filter(|path| sources.contains(*path) || Language::of_file(path).is_none())
        .filter(|path| seen.insert(*path))
        .cloned()
        .collect();
    for part in &parts[1..] {
        joint.depends.extend(part.depends.iter().cloned());
        if !part.include.is_empty() {
            joint.include.clone_from(&part.include);
        }
        add_flags(&mut joint.cxx_flags, &part.cxx_flags);
        // All of torch's headers suit every source.
        joint.lean_headers &= part.lean_headers;
        match (&mut joint.backend, &part.backend) {
            (
                SectionBackend::Cuda { targets, flags },
                SectionBackend::Cuda {
                    targets: others,
                    flags: more,
                },
            ) => {
                targets.extend_from_slice(others);
                add_flags(flags, more);
            }
            (
                SectionBackend::Rocm { targets, flags },
                SectionBackend::Rocm {
                    targets: others,
                    flags: more,
                },
            ) => {
                targets.extend_from_slice(others);
                add_flags(flags, more);
            }
            (SectionBackend::Xpu { flags }, SectionBackend::Xpu { flags: more }) => {
                add_flags(flags, more);
            }
            // CPU and Metal have no keys of their own, and all parts are for one backend.
            _ => {}
        }
    }
    joint
}

fn add_flags(flags: &mut Vec<String>, more: &[String]) {
    if flags != more {
        flags.extend_from_slice(more);
    }
}

/// The keys that count for a source and that two sections give different values.
fn contradictions(a: &Section, b: &Section, language: Option<Language>) -> Vec<&'static str> {
    let device = match (&a.backend, language) {
        (SectionBackend::Cuda { .. }, Some(Language::Cuda)) => Some("cuda-flags"),
        (SectionBackend::Rocm { .. }, Some(Language::Cuda | Language::Hip)) => Some("hip-flags"),
        (SectionBackend::Xpu { .. }, Some(Language::Cxx)) => Some("sycl-flags"),
        _ => None,
    };
    let cxx = matches!(language, Some(Language::Cxx | Language::ObjectiveCxx));
    let mut keys = Vec::new();
    if a.include != b.include {
        keys.push("include");
    }
    // Two releases of the same headers.
    if let (Some(first), Some(second)) = (a.cutlass(), b.cutlass())
        && first != second
    {
        keys.push("depends");
    }
    if cxx && a.cxx_flags != b.cxx_flags {
        keys.push("cxx-flags");
    }
    keys.extend(device.filter(|_| a.backend.flags() != b.backend.flags()));
    keys
}

/// A problem that has no place yet.
struct UnplacedProblem {
    is_error: bool,
    message: String,
    help: String,
}

impl UnplacedProblem {
    fn at(self, place: &Place) -> Problem {
        let make = if self.is_error {
            Problem::error
        } else {
            Problem::warning
        };
        make(code::SOURCE_IN_TWO_SECTIONS, place, self.message).help(self.help)
    }
}

/// The problem of a source that two sections list.
fn source_in_two(
    older: bool,
    first: &ListedSection,
    again: &ListedSection,
    source: &Utf8PathBuf,
) -> UnplacedProblem {
    let keys = contradictions(&first.section, &again.section, Language::of_file(source));
    let (a, b) = (&first.header, &again.header);
    if keys.is_empty() {
        let gpus = match &first.section.backend {
            SectionBackend::Cuda { .. } | SectionBackend::Rocm { .. } => ", for the GPUs of both",
            SectionBackend::Cpu | SectionBackend::Metal | SectionBackend::Xpu { .. } => "",
        };
        return UnplacedProblem {
            is_error: false,
            message: format!("`{source}` is in `{a}` and in `{b}`: it is compiled once{gpus}"),
            help: "list it in one section: all of a backend go into the same library".to_owned(),
        };
    }
    let named: Vec<String> = keys.iter().map(|key| format!("`{key}`")).collect();
    let named = named.join(" and ");
    if !older {
        return UnplacedProblem {
            is_error: true,
            message: format!("`{source}` is in `{a}` and in `{b}`, which differ in {named}"),
            help: format!(
                "it goes into one library and is compiled once: remove it from one of them, or give both the same {named}"
            ),
        };
    }
    let taken: Vec<String> = keys
        .iter()
        .map(|key| match *key {
            "include" => {
                let last = if again.section.include.is_empty() {
                    a
                } else {
                    b
                };
                format!("the `include` of `{last}`")
            }
            key => format!("the `{key}` of both"),
        })
        .collect();
    UnplacedProblem {
        is_error: false,
        message: format!(
            "`{source}` is in `{a}` and in `{b}`, which differ in {named}: it is compiled once, with {}",
            taken.join(" and ")
        ),
        help: "list it in one section: all of a backend go into the same library".to_owned(),
    }
}

/// The files that the binding compiles, which are part of every library.
struct Binding<'a> {
    header: &'static str,
    src: BTreeMap<Utf8PathBuf, Place>,
    include: BTreeSet<&'a str>,
    cxx_flags: Vec<&'a str>,
}

impl<'a> Binding<'a> {
    fn of_framework(check: &Check<'_>, file: &'a BuildToml) -> Self {
        type Strings = Option<List<String>>;
        let none = (&None, &None, &None);
        let (header, (src, include, cxx_flags)): (_, (&Strings, &Strings, &Strings)) =
            match (&file.torch, &file.tvm_ffi) {
                (Some(Spanned { value, .. }), _) => {
                    ("[torch]", (&value.src, &value.include, &value.cxx_flags))
                }
                (None, Some(Spanned { value, .. })) => {
                    ("[tvm-ffi]", (&value.src, &value.include, &value.cxx_flags))
                }
                (None, None) => ("", none),
            };
        fn strings(list: &Option<List<String>>) -> impl Iterator<Item = &Spanned<String>> {
            list.iter().flat_map(|list| &list.value)
        }
        let mut paths = BTreeMap::new();
        for written in strings(src) {
            if let Some(path) = check.source_path(written) {
                paths.entry(path).or_insert_with(|| written.place.clone());
            }
        }
        Self {
            header,
            src: paths,
            include: strings(include).map(|dir| dir.value.as_str()).collect(),
            cxx_flags: strings(cxx_flags).map(|flag| flag.value.as_str()).collect(),
        }
    }

    /// The problem of a source that the binding and a section list.
    fn problem(
        &self,
        older: bool,
        listed: &ListedSection,
        source: &Utf8PathBuf,
        place: &Place,
        first: &Place,
    ) -> Problem {
        let section = &listed.section;
        let include: BTreeSet<&str> = section.include.iter().map(|dir| dir.as_str()).collect();
        let device = matches!(
            Language::of_file(source),
            Some(Language::Cuda | Language::Hip)
        ) || matches!(section.backend, SectionBackend::Xpu { .. });
        let differs = include != self.include
            || section.cxx_flags != self.cxx_flags
            || device && !section.backend.flags().is_empty();
        let (binding, header) = (self.header, &listed.header);
        let message = format!("`{source}` is in `{binding}` and in `{header}`");
        let problem = match (differs, older) {
            (false, _) => Problem::warning(
                code::SOURCE_IN_TWO_SECTIONS,
                place,
                format!("{message}: it is compiled once, as part of the binding"),
            ),
            (true, true) => Problem::warning(
                code::SOURCE_IN_TWO_SECTIONS,
                place,
                format!("{message}: it is compiled once, with what `{binding}` says"),
            ),
            (true, false) => Problem::error(
                code::SOURCE_IN_TWO_SECTIONS,
                place,
                format!("{message}, which give it other flags or folders"),
            ),
        };
        problem
            .label("again here")
            .related(first, "first here")
            .help("remove it from one of them: both go into the same library")
    }
}
