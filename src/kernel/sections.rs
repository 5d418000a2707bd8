//! Checks of the `[kernel.*]` sections.

use std::collections::{BTreeMap, BTreeSet};

use camino::Utf8PathBuf;

use super::check::Check;
use super::framework::without_places;
use super::paths::ExpectedPath;
use super::shared::{self, ListedSection};
use super::source::{Language, is_header};
use super::{Backend, Section};
use crate::manifest::Spanned;
use crate::manifest::section;
use crate::manifest::v5::BuildToml;
use crate::problem::{Place, Problem, code};

pub(super) fn check(check: &mut Check<'_>, file: &BuildToml) -> Vec<Section> {
    let mut sections = Vec::new();
    for written in &file.kernel {
        check.section_name(&written.name);
        let src = check.paths(written.src.as_ref(), ExpectedPath::File);
        let include = check.include(written.include.as_ref());
        let cxx_flags = check.flags(written.cxx_flags.as_ref());
        let src = check.sources_once(src);
        check.has_source(written, &src, file);
        let Some(backend) = &written.backend else {
            continue;
        };
        let backend = check.section_backend(&backend.value, &written.name.value, file);
        let of = backend.backend();
        check.sources_compile(&src, &BTreeSet::from([of]));
        let depends = check.depends(written.depends.as_ref(), of, file);
        let lean_headers = check.lean_headers(written.lean_headers.as_ref(), of, file);
        sections.push(ListedSection {
            header: format!("[{}]", written.name.place.key),
            section: Section {
                name: written.name.value.clone(),
                written_name: written.name.value.clone(),
                backend,
                depends,
                src: without_places(src.clone()),
                include,
                cxx_flags,
                lean_headers,
            },
            src,
        });
    }
    shared::separate_sources(check, file, sections)
}

impl Check<'_> {
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

    /// The files of a list, each once, although the list may have a file twice in different
    /// spellings.
    pub(super) fn sources_once(
        &mut self,
        src: Vec<Spanned<Utf8PathBuf>>,
    ) -> Vec<Spanned<Utf8PathBuf>> {
        let mut first: BTreeMap<String, Place> = BTreeMap::new();
        let mut once = Vec::new();
        for written in src {
            let Spanned { value, place } = &written;
            let Some(earlier) = first.get(value.as_str()) else {
                first.insert(value.to_string(), place.clone());
                once.push(written);
                continue;
            };
            self.report(
                Problem::warning(
                    code::SOURCE_TWICE,
                    place,
                    format!("`{value}` is listed twice"),
                )
                .label("again here")
                .related(earlier, "first here")
                .help("remove one of the two"),
            );
        }
        once
    }

    /// A section of headers alone is harmless: the binding is compiled for the section's backend
    /// all the same.
    fn has_source(
        &mut self,
        written: &section::WrittenSection,
        src: &[Spanned<Utf8PathBuf>],
        file: &BuildToml,
    ) {
        let Some(list) = &written.src else {
            return;
        };
        let compiled = |path: &Spanned<Utf8PathBuf>| Language::of_file(&path.value).is_some();
        if src.iter().any(compiled) || self.is_blamed(&list.place.key) {
            return;
        }
        let name = &written.name.place.key;
        let backend = |section: &section::WrittenSection| {
            let backend = section.backend.as_ref();
            backend.map(|written| written.value.backend())
        };
        let own = backend(written);
        let of_backend = file.kernel.iter().filter(|section| backend(section) == own);
        let problem = Problem::warning(
            code::NO_SOURCE,
            &list.place,
            format!("`[{name}]` has no source to compile"),
        );
        let problem = match (own, of_backend.count()) {
            (Some(backend), 1) => problem
                .label(format!("the binding is all that is compiled for {backend}"))
                .help("list a source such as \"kernel.cu\" or \"kernel.cpp\", unless the binding holds all the code"),
            _ => problem
                .label("nothing to compile")
                .help("list a source such as \"kernel.cu\" or \"kernel.cpp\", or remove the section"),
        };
        self.report(problem);
    }

    /// Whether the units of a section get lean headers of torch.
    fn lean_headers(
        &mut self,
        written: Option<&Spanned<bool>>,
        backend: Backend,
        file: &BuildToml,
    ) -> bool {
        let Some(written) = written else {
            return true;
        };
        let why = match (backend, &file.torch) {
            (Backend::Metal, _) => "builds on macOS use all of torch's headers",
            (_, None) => "the kernel is not for torch",
            (_, Some(_)) => return written.value,
        };
        let message = format!("`{}` has no effect: {why}", written.place.key);
        self.report(
            Problem::warning(code::NO_EFFECT, &written.place, message)
                .label("ignored")
                .help("remove it"),
        );
        true
    }

    /// Checks that every file is a header, or in a language that all the backends compile.
    pub(super) fn sources_compile(
        &mut self,
        src: &[Spanned<Utf8PathBuf>],
        backends: &BTreeSet<Backend>,
    ) {
        for Spanned { value, place } in src {
            if is_header(value) {
                continue;
            }
            let Some(language) = Language::of_file(value) else {
                self.report(
                    Problem::warning(
                        code::NOT_COMPILED,
                        place,
                        format!("`{value}` is not compiled: its extension is not that of a source"),
                    )
                    .label("taken for a header")
                    .help("sources end in .c, .cc, .cpp, .cxx, .cu, .hip, .metal or .mm"),
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
}
