//! The state that all checks share: the kernel's folder and the problems so far, and the checks of
//! plain strings.

use std::collections::BTreeSet;
use std::fmt;

use camino::{Utf8Path, Utf8PathBuf};

use super::framework::without_places;
use super::paths::ExpectedPath;
use super::{Bounds, CudaToolkits};
use crate::manifest::{List, Spanned};
use crate::problem::{Problem, Problems, code};
use crate::version::Version;

/// One kernel being checked.
pub(super) struct Check<'a> {
    /// The kernel's directory.
    pub root: Utf8PathBuf,
    /// Whether the file is older than edition 5. A kernel that built then must build now, so some
    /// errors are warnings.
    pub older: bool,
    /// The CUDA toolkits that may compile it.
    pub toolkits: &'a CudaToolkits,
    /// Folders that are known to be inside the kernel once every link is followed.
    pub inside: BTreeSet<String>,
    /// The problems so far, including those of the manifest.
    pub problems: Problems,
}

impl<'a> Check<'a> {
    pub fn new(
        root: &Utf8Path,
        toolkits: &'a CudaToolkits,
        older: bool,
        problems: Problems,
    ) -> Self {
        Self {
            root: root.to_owned(),
            toolkits,
            older,
            inside: BTreeSet::new(),
            problems,
        }
    }

    pub fn report(&mut self, problem: Problem) {
        self.problems.push(problem);
    }

    /// Whether a problem at or below the key path was reported already.
    pub fn is_blamed(&self, key: &str) -> bool {
        self.problems.blames(key)
    }

    /// Include directories.
    pub fn include(&mut self, list: Option<&List<String>>) -> Vec<Utf8PathBuf> {
        let include = self.paths(list, ExpectedPath::Directory);
        let mut seen = BTreeSet::new();
        for directory in &include {
            self.warn_if_repeated(seen.insert(&directory.value), directory);
        }
        without_places(include)
    }

    /// Warns if an element of a list is not `new` in it, for lists in which a repetition is
    /// harmless.
    pub fn warn_if_repeated<T: fmt::Display>(&mut self, new: bool, written: &Spanned<T>) {
        if !new {
            self.report(
                Problem::warning(
                    code::LISTED_TWICE,
                    &written.place,
                    format!("`{}` is listed twice", written.value),
                )
                .label("again here")
                .help("remove one of the two"),
            );
        }
    }

    /// A list of flags. They are data and may hold anything that a process argument can.
    pub fn flags(&mut self, flags: Option<&List<String>>) -> Vec<String> {
        let flags: &[_] = flags.map_or(&[], |list| &list.value);
        for flag in flags.iter().filter(|flag| flag.value.contains('\0')) {
            self.report(
                Problem::error(
                    code::FLAG_NUL,
                    &flag.place,
                    "a flag cannot contain a NUL character",
                )
                .label("contains NUL")
                .help("remove the character: no process argument can hold it"),
            );
        }
        for flag in flags.iter().filter(|flag| is_native(&flag.value)) {
            let message = format!(
                "`{}` compiles for the processor of the machine that builds",
                flag.value
            );
            self.report(
                Problem::error(code::FLAG_NATIVE, &flag.place, message)
                    .label("differs from machine to machine")
                    .help(
                        "name the processor, for example `-march=x86-64-v3`: others run the library, and caches hand it to \
                         them",
                    ),
            );
        }
        flags.iter().map(|flag| flag.value.clone()).collect()
    }

    /// Whether a text has no control character; reports it otherwise. Texts go to terminals and to
    /// metadata.json.
    pub fn is_plain_text(&mut self, text: &Spanned<String>) -> bool {
        let is_plain = !text.value.chars().any(char::is_control);
        if !is_plain {
            let message = format!("{:?} contains a control character", text.value);
            self.report(
                Problem::error(code::TEXT_CONTROL, &text.place, message)
                    .label("not plain text")
                    .help("remove the character"),
            );
        }
        is_plain
    }

    /// A version that names a minor release: exactly two components.
    pub fn minor(&mut self, version: Option<&Spanned<Version>>) -> Option<Version> {
        let version = version?;
        let count = version.value.components().len();
        if count == 2 {
            return Some(version.value.clone());
        }
        let (major, minor) = version.value.major_minor();
        self.report(
            Problem::error(
                code::VERSION_COMPONENTS,
                &version.place,
                format!("`{}` needs exactly two components", version.place.key),
            )
            .label(match count {
                1 => "only one component".to_owned(),
                n => format!("{n} components"),
            })
            .help(format!("write \"{major}.{minor}\"")),
        );
        None
    }

    /// A pair of bounds, of which the lower must not be above the upper.
    pub fn bounds(
        &mut self,
        minver: Option<&Spanned<Version>>,
        maxver: Option<&Spanned<Version>>,
    ) -> Bounds {
        if let Some((min, max)) = minver.zip(maxver)
            && min.value > max.value
        {
            let message = format!(
                "no version is at least {} and at most {}",
                min.value, max.value
            );
            self.report(
                Problem::error(code::BOUNDS, &min.place, message)
                    .label("the minimum is above the maximum")
                    .related(&max.place, "the maximum")
                    .help("exchange the two versions, or remove one"),
            );
        }
        Bounds {
            minver: self.minor(minver),
            maxver: self.minor(maxver),
        }
    }
}

/// Whether a flag, or one of those that it hands on after commas, asks for the processor of the
/// machine that compiles. nvcc knows its own `native` for GPUs.
fn is_native(flag: &str) -> bool {
    const OPTIONS: [&str; 7] = [
        "-march",
        "-mcpu",
        "-mtune",
        "-arch",
        "--gpu-architecture",
        "--offload-arch",
        "--cuda-gpu-arch",
    ];
    let values = flag.strip_prefix("-Xcompiler=").unwrap_or(flag);
    flag == "native"
        || values.split(',').any(|value| {
            let option = value.strip_suffix("=native");
            option.is_some_and(|option| OPTIONS.contains(&option))
        })
}
