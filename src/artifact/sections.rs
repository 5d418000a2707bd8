//! Finds the first difference between two files or folders, and the sections of an object that name
//! the store, for `verify-reproducible`.

use std::collections::BTreeMap;
use std::fmt;
use std::io;

use camino::{Utf8Path, Utf8PathBuf};
use object::Endianness;
use object::elf::FileHeader64;
use object::read::elf::{FileHeader, SectionHeader};
use walkdir::WalkDir;

/// The first place where two results of a build differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The file, below the folder that was built; empty for a single file.
    pub file: Utf8PathBuf,
    pub kind: DifferenceKind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DifferenceKind {
    /// Only one result has the file.
    Missing,
    /// One is a folder, a link or a program, and the other is not.
    Type,
    /// A section of an ELF file, and the byte in it.
    Section { name: String, at: usize },
    /// A byte of another file, or outside of all sections.
    Bytes { at: usize },
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let file = match self.file.as_str() {
            "" => String::new(),
            file => format!("{file}: "),
        };
        match &self.kind {
            DifferenceKind::Missing => write!(f, "{file}only one of the builds has it"),
            DifferenceKind::Type => write!(f, "{file}not the same type or mode"),
            DifferenceKind::Section { name, at } => write!(f, "{file}{name}, byte {at}"),
            DifferenceKind::Bytes { at } => write!(f, "{file}byte {at}"),
        }
    }
}

/// The first place where two files or folders differ, in the order of names.
///
/// # Errors
/// The errors of the file system.
pub fn first_difference(one: &Utf8Path, other: &Utf8Path) -> io::Result<Option<Difference>> {
    let (left, right) = (list_tree(one)?, list_tree(other)?);
    let mut paths: Vec<&Utf8PathBuf> = left.keys().chain(right.keys()).collect();
    paths.sort();
    paths.dedup();
    for path in paths {
        let kind = match (left.get(path), right.get(path)) {
            (Some(a), Some(b)) if a != b => Some(DifferenceKind::Type),
            (Some(_), Some(_)) => find_difference(&one.join(path), &other.join(path))?,
            _ => Some(DifferenceKind::Missing),
        };
        if let Some(kind) = kind {
            let file = path.clone();
            return Ok(Some(Difference { file, kind }));
        }
    }
    Ok(None)
}

/// The files at and below a path by relative path: whether each is a folder, a link, and a program.
/// Nix keeps no other bits of a file's mode.
fn list_tree(root: &Utf8Path) -> io::Result<BTreeMap<Utf8PathBuf, (bool, bool, bool)>> {
    let mut found = BTreeMap::new();
    for entry in WalkDir::new(root) {
        let entry = entry?;
        let path = Utf8Path::from_path(entry.path()).unwrap_or(root);
        let metadata = entry.path().symlink_metadata()?;
        let mode = std::os::unix::fs::PermissionsExt::mode(&metadata.permissions());
        let relative = path.strip_prefix(root).unwrap_or(path).to_owned();
        let kind = (metadata.is_dir(), metadata.is_symlink(), mode & 0o100 != 0);
        found.insert(relative, kind);
    }
    Ok(found)
}

/// The difference of two files or links; `None` for folders, whose files are compared by
/// themselves.
fn find_difference(one: &Utf8Path, other: &Utf8Path) -> io::Result<Option<DifferenceKind>> {
    // Joining an empty path leaves a slash at the end, which is no file's path.
    let plain = |path: &Utf8Path| Utf8PathBuf::from(path.as_str().trim_end_matches('/'));
    let (one, other) = (plain(one), plain(other));
    let metadata = one.symlink_metadata()?;
    if metadata.is_dir() {
        return Ok(None);
    }
    let (a, b) = match metadata.is_symlink() {
        true => {
            let target = |path: &Utf8Path| path.read_link_utf8().map(|path| path.into_string());
            (target(&one)?.into_bytes(), target(&other)?.into_bytes())
        }
        false => (std::fs::read(&one)?, std::fs::read(&other)?),
    };
    if a == b {
        return Ok(None);
    }
    let (left, right) = (sections(&a), sections(&b));
    if let (Ok(left), Ok(right)) = (left, right) {
        for (index, (name, content)) in left.iter().enumerate() {
            let at = match right.get(index) {
                Some((other, content_of_other)) if other == name => {
                    first_byte(content, content_of_other)
                }
                _ => Some(0),
            };
            if let Some(at) = at {
                let name = name.clone();
                return Ok(Some(DifferenceKind::Section { name, at }));
            }
        }
    }
    let at = first_byte(&a, &b).unwrap_or_default();
    Ok(Some(DifferenceKind::Bytes { at }))
}

/// The first index at which two byte strings differ.
fn first_byte(a: &[u8], b: &[u8]) -> Option<usize> {
    let common = a.iter().zip(b).position(|(a, b)| a != b);
    common.or((a.len() != b.len()).then_some(a.len().min(b.len())))
}

/// A path of the store that a section of an object holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StorePath {
    pub section: String,
    pub path: String,
}

/// The first path of the store in each section of an ELF file that has one; empty for other files.
/// A path in compressed content, such as nvcc's device code, is not found.
pub fn store_paths(file: &[u8], store: &str) -> Vec<StorePath> {
    let start = format!("{store}/").into_bytes();
    let sections = sections(file).unwrap_or_default();
    let found = sections.into_iter().filter_map(|(section, content)| {
        let at = content
            .windows(start.len())
            .position(|part| part == start)?;
        let path = content[at..]
            .iter()
            .take_while(|byte| byte.is_ascii_graphic() && !b"\"':;,()".contains(byte));
        Some(StorePath {
            section,
            path: path.map(|byte| char::from(*byte)).collect(),
        })
    });
    found.collect()
}

/// Names and contents of the sections of an ELF file, in order.
fn sections(file: &[u8]) -> Result<Vec<(String, &[u8])>, object::Error> {
    let elf = FileHeader64::<Endianness>::parse(file)?;
    let endian = elf.endian()?;
    let sections = elf.sections(endian, file)?;
    let section = |section| {
        let name = String::from_utf8_lossy(sections.section_name(endian, section)?).into_owned();
        Ok((name, section.data(endian, file)?))
    };
    sections.iter().map(section).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder() -> (tempfile::TempDir, Utf8PathBuf) {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let path = Utf8Path::from_path(dir.path()).expect("UTF-8").to_owned();
        (dir, path)
    }

    #[test]
    fn folders_differ_in_the_first_file_that_does() {
        let (_dir, root) = folder();
        for (path, text) in [
            ("one/a", "same"),
            ("two/a", "same"),
            ("one/b/c", "text"),
            ("two/b/c", "test"),
            ("two/d", ""),
        ] {
            let path = root.join(path);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("create");
            std::fs::write(path, text).expect("write");
        }
        let difference =
            || first_difference(&root.join("one"), &root.join("two")).expect("readable");
        let words = || difference().map(|difference| difference.to_string());
        assert_eq!(words().as_deref(), Some("b/c: byte 2"));
        std::fs::write(root.join("two/b/c"), "text").expect("write");
        assert_eq!(words().as_deref(), Some("d: only one of the builds has it"));
        std::fs::remove_file(root.join("two/d")).expect("remove");
        assert_eq!(words(), None);
    }

    /// This test's own program is an ELF file with sections, of which one holds this text.
    #[test]
    #[cfg(target_os = "linux")]
    fn programs_differ_in_a_section_and_a_text_is_found_in_one() {
        let (_dir, root) = folder();
        let program = std::env::current_exe().expect("a path");
        let content = std::fs::read(program).expect("readable");
        let text = "/some/store/of-a-test";
        let found = store_paths(&content, "/some/store");
        assert!(
            found.iter().any(|found| found.path.starts_with(text)),
            "{found:?}"
        );
        let at = content
            .windows(text.len())
            .position(|part| part == text.as_bytes())
            .expect("the text");
        let mut other = content.clone();
        other[at] = b'!';
        std::fs::write(root.join("one"), &content).expect("write");
        std::fs::write(root.join("two"), other).expect("write");
        let difference = first_difference(&root.join("one"), &root.join("two"));
        let difference = difference.expect("readable").expect("a difference");
        let DifferenceKind::Section { name, .. } = difference.kind else {
            panic!("{difference}");
        };
        assert!(name.starts_with('.'), "{name}");
    }
}
