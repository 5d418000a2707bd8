//! `clean-pyproject`: removes the files that `create-pyproject` wrote.

use super::{CommandError, print};
use crate::cli::CleanPyprojectArgs;
use crate::manifest::locate;
use crate::project::clean_project;
use crate::terminal::{count, note, status};

pub fn run(arguments: &CleanPyprojectArgs) -> Result<(), CommandError> {
    // NB: build.toml may be wrong by now, or gone.
    let (root, _) = locate(&arguments.kernel.path);
    let root = arguments.target_dir.clone().unwrap_or(root);
    let cleaned = clean_project(&root, arguments.force, arguments.dry_run)?;
    for path in &cleaned.kept {
        note(format!(
            "{path} is not the generated file any more: it stays"
        ));
    }
    if cleaned.files.is_empty() {
        status(format_args!(
            "nothing to remove: `kernel-builder create-pyproject` has written no file in {root}"
        ));
        return Ok(());
    }
    let files = count(cleaned.files.len(), "file");
    let mut text = match arguments.dry_run {
        true => format!("{files} would be removed:\n"),
        false => format!("removed {files}:\n"),
    };
    for path in &cleaned.files {
        text.push_str(&format!("  {path}\n"));
    }
    print(&text)
}
