//! `create-pyproject`: build.toml -> a CMake and setuptools project in the kernel's folder.

use super::{CommandError, print};
use crate::build;
use crate::cli::CreatePyprojectArgs;
use crate::matrix::table;
use crate::project::{Change, ProjectOptions, project_files, write_project};
use crate::terminal::{count, note};

pub fn run(arguments: &CreatePyprojectArgs) -> Result<(), CommandError> {
    let options = ProjectOptions::new(
        arguments.unique_id.as_deref(),
        arguments.kernel_sha.as_deref(),
        arguments.kernel_dirty,
    )?;
    let prepared = build::prepare(&arguments.kernel.path)?;
    let files = project_files(&prepared.kernel, &prepared.plan, table(), &options)?;
    let target = arguments
        .target_dir
        .as_ref()
        .unwrap_or(&prepared.kernel.root);
    let changes = write_project(target, &files, arguments.force)?;
    if !target.join(&prepared.plan.python.dir).is_dir() {
        note(format!(
            "the project builds the kernel's files beside it: copy them to {target}"
        ));
    }
    let words = [
        (Change::Created, "created"),
        (Change::Updated, "updated"),
        (Change::Removed, "removed"),
        (Change::Unchanged, "unchanged"),
    ];
    let numbers = words.iter().filter_map(|(change, word)| {
        let number = changes.iter().filter(|(_, own)| own == change).count();
        (number > 0).then(|| format!("{} {word}", count(number, "file")))
    });
    let numbers: Vec<String> = numbers.collect();
    print(&format!("CMake project: {}\n", numbers.join(", ")))
}
