//! Checks of `[dependencies.*]`, and of the elements of `depends` that name one.

use std::collections::BTreeMap;

use camino::Utf8Path;

use super::check::Check;
use super::{KnownDependency, paths};
use crate::families::{Archive, ArchiveKind};
use crate::manifest::dependency::WrittenHeaderArchive;
use crate::manifest::v5::BuildToml;
use crate::manifest::{Dependency, Spanned};
use crate::problem::{Place, Problem, code, suggest};

/// A library of headers in an archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeaderArchive {
    /// The file to download. A wheel or a source distribution is had from the package index, any
    /// other file from its URL.
    pub archive: Archive,
    /// Folders of the archive that compilers search, in order.
    pub include: Vec<String>,
}

/// Endings of the archives that nix/toolchains/header-archive.sh unpacks.
pub const ENDINGS: [&str; 8] = [
    ".whl", ".zip", ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz", ".txz",
];

pub(super) fn check(check: &mut Check<'_>, file: &BuildToml) -> BTreeMap<String, HeaderArchive> {
    let mut archives = BTreeMap::new();
    for written in &file.dependencies {
        check.dependency_name(&written.name);
        check.dependency_used(&written.name, file);
        let include = check.include_of_archive(written);
        let sha256 = check.sha256(written);
        if let Some((archive, sha256)) = check.source(written).zip(sha256) {
            let archive = Archive { sha256, ..archive };
            archives.insert(
                written.name.value.clone(),
                HeaderArchive { archive, include },
            );
        }
    }
    archives
}

impl Check<'_> {
    /// Checks an element of `depends` that is none of the fixed words.
    pub(super) fn own_dependency(&mut self, name: &str, place: &Place, file: &BuildToml) {
        let own = file.dependencies.iter();
        let own: Vec<&str> = own.map(|written| written.name.value.as_str()).collect();
        if own.contains(&name) {
            return;
        }
        let known = KnownDependency::ALL.iter().map(|known| known.as_str());
        let words: Vec<&str> = known.chain(own).collect();
        self.report(
            Problem::error(
                code::UNKNOWN_VALUE,
                place,
                format!("`{name}` is not a dependency"),
            )
            .label("unknown dependency")
            .help(format!(
                "{}; headers of others are described in `[dependencies.{name}]`",
                suggest::suggest(name, &words)
            )),
        );
    }

    fn dependency_name(&mut self, name: &Spanned<String>) {
        let text = name.value.as_str();
        let allowed = |c: char| c.is_ascii_alphanumeric() || "_.+-".contains(c);
        let starts = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let known = KnownDependency::ALL
            .iter()
            .any(|known| known.as_str() == text);
        if !known && text.starts_with(starts) && text.chars().all(allowed) {
            return;
        }
        let problem = match known {
            true => Problem::error(
                code::DEPENDENCY_ARCHIVE,
                &name.place,
                format!("`{text}` is a dependency that needs no table"),
            )
            .label("known already")
            .help("remove the table, or call this library something else"),
            false => Problem::error(
                code::DEPENDENCY_ARCHIVE,
                &name.place,
                format!("{text:?} cannot name a dependency"),
            )
            .label("not usable as a file name")
            .help("use letters, digits, `_`, `-`, `.` and `+`; start with a letter or a digit"),
        };
        self.report(problem);
    }

    fn dependency_used(&mut self, name: &Spanned<String>, file: &BuildToml) {
        let mut depends = file
            .kernel
            .iter()
            .filter_map(|section| section.depends.as_ref());
        let is_own = |written: &Spanned<Dependency>| written.value.as_str() == name.value;
        if !depends.any(|list| list.value.iter().any(is_own)) {
            let message = format!("`{}` has no effect: no section names it", name.place.key);
            self.report(
                Problem::warning(code::NO_EFFECT, &name.place, message)
                    .label("not used")
                    .help(format!(
                        "add \"{}\" to `depends` of a section, or remove the table",
                        name.value
                    )),
            );
        }
    }

    fn include_of_archive(&mut self, written: &WrittenHeaderArchive) -> Vec<String> {
        let list = written.include.as_ref();
        if let Some(list) = list.filter(|list| list.value.is_empty()) {
            self.report(
                Problem::error(
                    code::DEPENDENCY_ARCHIVE,
                    &list.place,
                    format!("`{}` names no folder", list.place.key),
                )
                .label("no headers")
                .help("name the folders of the archive that hold headers, such as \"name-1.0/include\""),
            );
        }
        let folders = list.map_or(&[][..], |list| &list.value);
        let checked = folders.iter().filter_map(|folder| {
            let normal = paths::relative_path(&folder.value);
            if normal.is_none() {
                self.report(
                    Problem::error(
                        code::DEPENDENCY_ARCHIVE,
                        &folder.place,
                        format!("{:?} is not a folder of the archive", folder.value),
                    )
                    .label("not inside of the archive")
                    .help("write the folder as it is called in the archive, such as \"name-1.0/include\""),
                );
            }
            normal.map(camino::Utf8PathBuf::into_string)
        });
        checked.collect()
    }

    fn sha256(&mut self, written: &WrittenHeaderArchive) -> Option<String> {
        let sha256 = written.sha256.as_ref()?;
        let digits = sha256.value.bytes().all(|byte| byte.is_ascii_hexdigit());
        if sha256.value.len() == 64 && digits {
            return Some(sha256.value.to_ascii_lowercase());
        }
        self.report(
            Problem::error(
                code::DEPENDENCY_ARCHIVE,
                &sha256.place,
                format!("`{}` is not a SHA-256", sha256.place.key),
            )
            .label("not 64 hexadecimal digits")
            .help("download the archive; `sha256sum FILE` prints its hash"),
        );
        None
    }

    /// The archive, still without its hash.
    fn source(&mut self, written: &WrittenHeaderArchive) -> Option<Archive> {
        let name = &written.name;
        let (file, kind, project, urls) = match (&written.url, &written.package, &written.file) {
            (Some(url), None, file) => {
                let path = url.value.split(['?', '#']).next().unwrap_or_default();
                let last = path.rsplit('/').next().unwrap_or_default();
                let file = file.as_ref().map_or(last, |file| &file.value);
                if !["https://", "http://"]
                    .iter()
                    .any(|scheme| url.value.starts_with(scheme))
                {
                    self.report(
                        Problem::error(
                            code::DEPENDENCY_ARCHIVE,
                            &url.place,
                            format!("`{}` is not an address that can be downloaded", url.value),
                        )
                        .label("not https or http")
                        .help("give an https URL, or `package` and `file` for an archive of the package index"),
                    );
                    return None;
                }
                let place = written.file.as_ref().map_or(&url.place, |file| &file.place);
                self.archive_name(file, place)?;
                (
                    file,
                    ArchiveKind::File,
                    name.value.as_str(),
                    vec![url.value.clone()],
                )
            }
            (None, Some(package), Some(file)) => {
                self.archive_name(&file.value, &file.place)?;
                let kind = match Utf8Path::new(&file.value).extension() {
                    Some("whl") => ArchiveKind::Wheel,
                    _ => ArchiveKind::Sdist,
                };
                (
                    file.value.as_str(),
                    kind,
                    package.value.as_str(),
                    Vec::new(),
                )
            }
            _ => {
                self.report(
                    Problem::error(
                        code::DEPENDENCY_ARCHIVE,
                        &name.place,
                        format!("`{}` does not say where its archive is had", name.place.key),
                    )
                    .label("either from an index or by URL")
                    .help(
                        "give `url`, or `package` and `file` for an archive of the package index",
                    ),
                );
                return None;
            }
        };
        Some(Archive {
            kind,
            name: project.to_owned(),
            version: String::new(),
            file: file.to_owned(),
            sha256: String::new(),
            size: None,
            urls,
        })
    }

    /// Reports a file that cannot be unpacked, or whose name the store does not take.
    fn archive_name(&mut self, file: &str, place: &Place) -> Option<()> {
        let allowed = |c: char| c.is_ascii_alphanumeric() || "_.+-".contains(c);
        let plain = file.chars().all(allowed) && !file.starts_with('.');
        if plain && ENDINGS.iter().any(|ending| file.ends_with(ending)) {
            return Some(());
        }
        self.report(
            Problem::error(
                code::DEPENDENCY_ARCHIVE,
                place,
                format!("`{file}` is not the name of an archive"),
            )
            .label("letters, digits, `_`, `-`, `.` and `+`, with a known ending")
            .help(format!(
                "archives end in {}; `file` can say the name where the URL does not",
                ENDINGS.join(", ")
            )),
        );
        None
    }
}
