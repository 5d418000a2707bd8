//! Checks of paths written in build.toml. Every path that passes is relative, without `.` and
//! `..`, and names something inside the kernel.

use std::collections::BTreeSet;
use std::fs::Metadata;
use std::io;

use camino::{Utf8Component, Utf8DirEntry, Utf8Path, Utf8PathBuf};

use super::check::Check;
use super::source::is_header;
use crate::manifest::{List, Spanned};
use crate::problem::{MAX_SHOWN, Place, Problem, code, suggest};

/// The kind of thing that a path must name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ExpectedPath {
    File,
    Directory,
}

impl Check<'_> {
    /// Checks every path of a list; paths that fail are left out.
    pub fn paths(
        &mut self,
        list: Option<&List<String>>,
        expect: ExpectedPath,
    ) -> Vec<Spanned<Utf8PathBuf>> {
        let list: &[_] = list.map_or(&[], |list| &list.value);
        let listed: BTreeSet<Utf8PathBuf> = list
            .iter()
            .filter_map(|written| normalise_path(&written.value).ok())
            .collect();
        list.iter()
            .filter_map(|written| self.path(written, expect, &listed))
            .collect()
    }

    fn path(
        &mut self,
        written: &Spanned<String>,
        expect: ExpectedPath,
        listed: &BTreeSet<Utf8PathBuf>,
    ) -> Option<Spanned<Utf8PathBuf>> {
        let place = &written.place;
        match normalise_path(&written.value) {
            Ok(path) => match self.on_disk(&path, place, expect, listed) {
                Ok(()) => {
                    let place = place.clone();
                    return Some(Spanned { value: path, place });
                }
                Err(problem) => self.report(*problem),
            },
            Err(fault) => self.report(fault.problem(&written.value, place)),
        }
        None
    }

    /// The path of a source in the form that is compared with others. The disk is not read.
    pub fn source_path(&self, written: &Spanned<String>) -> Option<Utf8PathBuf> {
        normalise_path(&written.value).ok()
    }

    fn on_disk(
        &mut self,
        path: &Utf8Path,
        place: &Place,
        expect: ExpectedPath,
        listed: &BTreeSet<Utf8PathBuf>,
    ) -> Result<(), Box<Problem>> {
        let full = self.root.join(path);
        // A path that is no link needs no second look.
        let own = full.symlink_metadata();
        let is_link = own.as_ref().is_ok_and(Metadata::is_symlink);
        let metadata = if is_link { full.metadata() } else { own };
        let metadata = metadata.map_err(|error| {
            let problem = Problem::error(
                code::PATH_MISSING,
                place,
                match error.kind() {
                    io::ErrorKind::NotFound => format!("`{path}` does not exist"),
                    _ => format!("`{path}` cannot be read: {error}"),
                },
            );
            Box::new(
                problem
                    .label("not in the kernel")
                    .help(match self.similar(path, expect, listed) {
                        Some(near) => format!("did you mean `{near}`?"),
                        None => {
                            "paths are relative to the directory of build.toml; add it or correct the path".to_owned()
                        }
                    }),
            )
        })?;
        if self.leads_out(path, is_link) {
            return Err(Box::new(
                Problem::error(
                    code::PATH_ESCAPES,
                    place,
                    format!("`{path}` is a link that leads out of the kernel"),
                )
                .label("leads out of the kernel")
                .help("copy the files into the kernel"),
            ));
        }
        if !metadata.is_file() && !metadata.is_dir() {
            let message = format!("`{path}` is neither a file nor a folder");
            return Err(Box::new(
                Problem::error(code::PATH_SPECIAL, place, message)
                    .label("a pipe, a socket or a device")
                    .help("put a file there"),
            ));
        }
        let (code, what, cure) = match (expect, metadata.is_dir()) {
            (ExpectedPath::File, false) | (ExpectedPath::Directory, true) => return Ok(()),
            (ExpectedPath::File, true) => (
                code::PATH_IS_DIRECTORY,
                "a directory",
                "list the files one by one",
            ),
            (ExpectedPath::Directory, false) => (
                code::PATH_IS_FILE,
                "a file",
                "give the directory that holds the headers",
            ),
        };
        Err(Box::new(
            Problem::error(code, place, format!("`{path}` is {what}"))
                .label(format!("this is {what}"))
                .help(cure),
        ))
    }

    /// Whether a path that exists is outside of the kernel once every link is followed: the target
    /// of a link must be part of the build. To follow links is slow, so it is done once for a
    /// folder, and for each file of the folder that is a link itself.
    fn leads_out(&mut self, path: &Utf8Path, is_link: bool) -> bool {
        let folder = match path.parent() {
            Some(folder) if !is_link => folder,
            _ => path,
        };
        if self.inside.contains(folder.as_str()) {
            return false;
        }
        let real = self.root.join(folder).canonicalize_utf8().ok();
        let root = self.root.canonicalize_utf8().ok();
        let out = real
            .zip(root)
            .is_some_and(|(real, root)| !real.starts_with(root));
        if !out {
            self.inside.insert(folder.to_string());
        }
        out
    }

    /// The path in the same directory with the nearest name, among those of the same kind that are
    /// not listed already.
    fn similar(
        &self,
        path: &Utf8Path,
        expect: ExpectedPath,
        listed: &BTreeSet<Utf8PathBuf>,
    ) -> Option<Utf8PathBuf> {
        // Each search reads the folder.
        if self.problems.iter().nth(MAX_SHOWN).is_some() {
            return None;
        }
        let parent = path.parent()?;
        let entries = self.root.join(parent).read_dir_utf8().ok()?;
        let is_same_kind = |entry: &Utf8DirEntry| match expect {
            ExpectedPath::Directory => entry.path().is_dir(),
            ExpectedPath::File => {
                entry.path().is_file() && is_header(entry.path()) == is_header(path)
            }
        };
        let names: Vec<String> = entries
            .flatten()
            .filter(is_same_kind)
            .map(|entry| entry.file_name().to_owned())
            .filter(|name| !listed.contains(&parent.join(name)))
            .collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let near = suggest::nearest(path.file_name()?, &names)?;
        Some(parent.join(near))
    }
}

/// A fault of a path that shows without reading the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PathFault {
    Empty,
    Control,
    Absolute,
    Escapes,
}

impl PathFault {
    fn problem(self, path: &str, place: &Place) -> Problem {
        let (code, message, label, help) = match self {
            PathFault::Empty => (
                code::PATH_EMPTY,
                "a path is empty".to_owned(),
                "empty",
                "remove it, or write the path",
            ),
            PathFault::Control => (
                code::PATH_CONTROL,
                format!("{path:?} contains a control character"),
                "not usable as a file name",
                "rename the file",
            ),
            PathFault::Absolute => (
                code::PATH_ABSOLUTE,
                format!("`{path}` is an absolute path"),
                "exists on one machine only",
                "give the path relative to the directory of build.toml",
            ),
            PathFault::Escapes => (
                code::PATH_ESCAPES,
                format!("`{path}` leads out of the kernel"),
                "leads out of the kernel",
                "move the file into the kernel: nothing outside it is part of a build",
            ),
        };
        Problem::error(code, place, message).label(label).help(help)
    }
}

/// A relative path without `.` and `..`; `None` if the text has no such form.
pub(super) fn relative_path(text: &str) -> Option<Utf8PathBuf> {
    normalise_path(text).ok()
}

/// A relative path without `.` and `..`; the kernel's directory itself is `.`.
fn normalise_path(text: &str) -> Result<Utf8PathBuf, PathFault> {
    if text.is_empty() {
        return Err(PathFault::Empty);
    }
    if text.chars().any(char::is_control) {
        return Err(PathFault::Control);
    }
    let mut path = Utf8PathBuf::new();
    if is_windows_drive(text) {
        return Err(PathFault::Absolute);
    }
    for component in Utf8Path::new(text).components() {
        match component {
            Utf8Component::Prefix(_) | Utf8Component::RootDir => return Err(PathFault::Absolute),
            Utf8Component::CurDir => {}
            Utf8Component::ParentDir if path.pop() => {}
            Utf8Component::ParentDir => return Err(PathFault::Escapes),
            Utf8Component::Normal(name) => path.push(name),
        }
    }
    match path.as_str() {
        "" => Ok(Utf8PathBuf::from(".")),
        _ => Ok(path),
    }
}

/// `C:\x` and `C:/x`, which are plain file names to a Unix system but not to their author.
fn is_windows_drive(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.len() > 2
        && bytes[0].is_ascii_alphabetic()
        && bytes[1] == b':'
        && matches!(bytes[2], b'\\' | b'/')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_normalised() {
        let normal = |text: &str| normalise_path(text).map(Utf8PathBuf::into_string);
        for (text, path) in [
            ("a/b.cu", "a/b.cu"),
            ("./a", "a"),
            ("a//b/./c", "a/b/c"),
            ("a/../b", "b"),
            ("a/..", "."),
            (".", "."),
            ("a b;c$", "a b;c$"),
        ] {
            assert_eq!(normal(text).as_deref(), Ok(path), "{text}");
        }
        for (text, fault) in [
            ("", PathFault::Empty),
            ("a\nb", PathFault::Control),
            ("a\u{7f}", PathFault::Control),
            ("/etc/passwd", PathFault::Absolute),
            ("C:\\kernel.cu", PathFault::Absolute),
            ("..", PathFault::Escapes),
            ("a/../../b", PathFault::Escapes),
        ] {
            assert_eq!(normal(text), Err(fault), "{text}");
        }
    }
}
