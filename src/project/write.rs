//! Writing the files of a project into a kernel's folder, and removing them. A record of digests in
//! that folder tells generated files from edited ones and from the user's own.

use std::collections::BTreeMap;

use camino::{Utf8Path, Utf8PathBuf};
use serde::Serialize;
use sha2::{Digest, Sha256};

use super::{GENERATED, ProjectError, ProjectFile};
use crate::emit::MARKER;
use crate::file::{MAX_TEXT, read_at_most, replace_file};
use crate::hex;

/// The record, in the format of `sha256sum --check`.
const RECORD: &str = "cmake/generated.sha256";

/// The folder of scripts.
const SCRIPTS: &str = "cmake";

/// The files that a project may have. NB: a record that names another file was not written by this
/// program, and no such file is removed.
const KNOWN: [&str; 18] = [
    "CMakeLists.txt",
    "cmake/_ops.py.in",
    "cmake/device.cmake",
    "cmake/environment.py",
    "cmake/hipify.py",
    "cmake/kernel.cmake",
    "cmake/kernel.json",
    "cmake/lean.cmake",
    "cmake/lean.py",
    "cmake/lean_headers.py",
    "cmake/lean_select.awk",
    "cmake/metallib.h.in",
    "cmake/module.cpp",
    "cmake/package.py",
    "cmake/registration.h.in",
    "cmake/releases.cmake",
    "pyproject.toml",
    "setup.py",
];

/// The outcome for a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    Created,
    Updated,
    Unchanged,
    Removed,
}

/// The result of removing a project.
#[derive(Debug)]
pub struct Cleaned {
    /// The files that were removed, or would be, as paths from the kernel's folder.
    pub files: Vec<Utf8PathBuf>,
    /// Files of the user's in places of generated ones. They stay.
    pub kept: Vec<Utf8PathBuf>,
}

/// The state of a file in the kernel's folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FileState {
    Missing,
    /// It is as it was generated.
    Generated,
    /// It was generated, and somebody edited it since.
    Edited,
    /// It is the user's own.
    Foreign,
}

/// The digests of the files that were written last, by path.
struct Record(BTreeMap<String, String>);

impl Record {
    fn read(root: &Utf8Path) -> Result<Self, ProjectError> {
        let path = root.join(RECORD);
        let bytes = match read_at_most(&path, MAX_TEXT) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
            Err(source) => return Err(failed(format!("read {path}"))(source)),
        };
        let text = String::from_utf8_lossy(&bytes);
        let entries = text.lines().filter_map(|line| line.split_once("  "));
        let known = entries.filter(|(_, path)| KNOWN.contains(path));
        Ok(Self(
            known
                .map(|(digest, path)| (path.to_owned(), digest.to_owned()))
                .collect(),
        ))
    }

    fn text(files: &[ProjectFile]) -> String {
        let lines = files.iter().map(|file| {
            let digest = hex(&Sha256::digest(&file.text));
            format!("{digest}  {}\n", file.path)
        });
        format!("# {GENERATED}\n{}", lines.collect::<String>())
    }

    /// The state of a file in a folder.
    fn state(&self, root: &Utf8Path, path: &str) -> Result<FileState, ProjectError> {
        let full = root.join(path);
        let metadata = match full.symlink_metadata() {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(FileState::Missing);
            }
            Err(source) => return Err(failed(format!("read {full}"))(source)),
        };
        // A link was not generated, whatever it leads to.
        if !metadata.is_file() {
            return Ok(FileState::Foreign);
        }
        let content = read_at_most(&full, MAX_TEXT).map_err(failed(format!("read {full}")))?;
        let digest = hex(&Sha256::digest(&content));
        let recorded = self.0.get(path);
        let mut start = content.split(|byte| *byte == b'\n').take(2);
        let is_marked = start.any(|line| String::from_utf8_lossy(line).contains(MARKER));
        Ok(match is_marked {
            // Somebody has put a file of their own there.
            false => FileState::Foreign,
            true if recorded == Some(&digest) => FileState::Generated,
            true => FileState::Edited,
        })
    }
}

/// Writes the files of a project. Files of an older project that this one does not have are
/// removed. Nothing is written if some file is in the way.
///
/// # Errors
/// `ProjectError::InTheWay` for files of the user's, and for edited files without `force`;
/// `ProjectError::Io`.
pub fn write_project(
    root: &Utf8Path,
    files: &[ProjectFile],
    force: bool,
) -> Result<Vec<(Utf8PathBuf, Change)>, ProjectError> {
    let record = Record::read(root)?;
    let (mut edited, mut foreign) = (Vec::new(), Vec::new());
    check_folder(root, &mut foreign);
    let mut changes = Vec::new();
    for file in files {
        let path = Utf8PathBuf::from(file.path);
        let old = std::fs::read(root.join(&path)).unwrap_or_default();
        let change = match record.state(root, file.path)? {
            FileState::Missing => Change::Created,
            FileState::Generated | FileState::Edited if old == file.text.as_bytes() => {
                Change::Unchanged
            }
            FileState::Generated => Change::Updated,
            FileState::Edited => {
                edited.push(path.clone());
                Change::Updated
            }
            FileState::Foreign => {
                foreign.push(path.clone());
                continue;
            }
        };
        changes.push((path, change));
    }
    let is_new = |path: &str| files.iter().any(|file| file.path == path);
    for path in record.0.keys().filter(|path| !is_new(path)) {
        match record.state(root, path)? {
            FileState::Missing | FileState::Foreign => {}
            FileState::Generated => changes.push((path.into(), Change::Removed)),
            FileState::Edited => {
                edited.push(path.into());
                changes.push((path.into(), Change::Removed));
            }
        }
    }
    if !foreign.is_empty() || !edited.is_empty() && !force {
        return Err(ProjectError::InTheWay { edited, foreign });
    }
    let scripts = root.join(SCRIPTS);
    std::fs::create_dir_all(&scripts).map_err(failed(format!("create {scripts}")))?;
    let text = |path: &Utf8Path| files.iter().find(|file| file.path == path);
    for (path, change) in &changes {
        let full = root.join(path);
        match (change, text(path)) {
            (Change::Created | Change::Updated, Some(file)) => {
                replace_file(&full, file.text.as_bytes())
                    .map_err(failed(format!("write {full}")))?;
            }
            (Change::Removed, _) => {
                std::fs::remove_file(&full).map_err(failed(format!("remove {full}")))?;
            }
            _ => {}
        }
    }
    // NB: last, so that a run that was killed leaves files that the next one can take for its own.
    let path = root.join(RECORD);
    replace_file(&path, Record::text(files).as_bytes()).map_err(failed(format!("write {path}")))?;
    Ok(changes)
}

/// Removes the files that `write_project` wrote, and nothing else: all of them, or none.
///
/// # Errors
/// `ProjectError::InTheWay` for edited files without `force`; `ProjectError::Io`.
pub fn clean_project(root: &Utf8Path, force: bool, dry_run: bool) -> Result<Cleaned, ProjectError> {
    let record = Record::read(root)?;
    let (mut edited, mut foreign) = (Vec::new(), Vec::new());
    check_folder(root, &mut foreign);
    let (mut files, mut kept) = (Vec::new(), Vec::new());
    for path in record.0.keys() {
        match record.state(root, path)? {
            FileState::Missing => {}
            FileState::Foreign => kept.push(Utf8PathBuf::from(path)),
            FileState::Generated => files.push(Utf8PathBuf::from(path)),
            FileState::Edited => {
                edited.push(Utf8PathBuf::from(path));
                files.push(Utf8PathBuf::from(path));
            }
        }
    }
    if !foreign.is_empty() || !edited.is_empty() && !force {
        return Err(ProjectError::InTheWay { edited, foreign });
    }
    if root.join(RECORD).exists() {
        files.push(RECORD.into());
    }
    if !dry_run {
        for path in &files {
            let full = root.join(path);
            std::fs::remove_file(&full).map_err(failed(format!("remove {full}")))?;
        }
        // A folder with files of the user's stays.
        if !files.is_empty() {
            let _ = std::fs::remove_dir(root.join(SCRIPTS));
        }
    }
    Ok(Cleaned { files, kept })
}

/// Adds the folder of scripts to the files in the way if it is a link: what lies behind it is not
/// the kernel's.
fn check_folder(root: &Utf8Path, foreign: &mut Vec<Utf8PathBuf>) {
    let metadata = root.join(SCRIPTS).symlink_metadata();
    if metadata.is_ok_and(|metadata| !metadata.is_dir()) {
        foreign.push(SCRIPTS.into());
    }
}

fn failed(action: String) -> impl FnOnce(std::io::Error) -> ProjectError {
    move |source| ProjectError::Io { action, source }
}
