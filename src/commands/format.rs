//! `format`: rewrites Nix files in the standard form, for `nix fmt`.

use camino::{Utf8Path, Utf8PathBuf};
use walkdir::{DirEntry, WalkDir};

use super::{CommandError, count, print};
use crate::cli::FormatArgs;
use crate::emit;

pub fn run(arguments: &FormatArgs) -> Result<(), CommandError> {
    let mut changed = Vec::new();
    for path in &arguments.paths {
        for file in nix_files(path)? {
            let read = std::fs::read_to_string(&file);
            let text = read.map_err(|source| CommandError::Io {
                action: format!("read {file}"),
                source,
            })?;
            let formatted = nixfmt_rs::format(&text).map_err(|error| CommandError::Syntax {
                why: nixfmt_rs::format_error(&text, Some(file.as_str()), &error),
                path: file.clone(),
            })?;
            if formatted != text {
                if !arguments.check {
                    emit::replace(&file, &formatted)?;
                }
                changed.push(file);
            }
        }
    }
    if arguments.check && !changed.is_empty() {
        return Err(CommandError::Unformatted(
            changed.into_iter().map(Utf8PathBuf::into_string).collect(),
        ));
    }
    print(&format!("{} changed\n", count(changed.len(), "file")))
}

/// A file, or the Nix files below a folder. Hidden folders and results of builds are left out.
fn nix_files(path: &Utf8Path) -> Result<Vec<Utf8PathBuf>, CommandError> {
    let is_own = |entry: &DirEntry| {
        let name = entry.file_name().to_string_lossy();
        let left_behind = (name.starts_with('.') && name != "." && name != "..")
            || name.starts_with("result")
            || name == "target";
        entry.depth() == 0 || !left_behind
    };
    let mut files = Vec::new();
    for entry in WalkDir::new(path)
        .sort_by_file_name()
        .into_iter()
        .filter_entry(is_own)
    {
        let entry = entry.map_err(|error| CommandError::Io {
            action: format!("look for Nix files in {path}"),
            source: error.into(),
        })?;
        if let Ok(file) = Utf8PathBuf::try_from(entry.into_path())
            && file.is_file()
            && (file == path || file.extension() == Some("nix"))
        {
            files.push(file);
        }
    }
    Ok(files)
}
