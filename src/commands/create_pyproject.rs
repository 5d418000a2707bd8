//! `create-pyproject`: build.toml -> a CMake and setuptools project in the kernel's folder.

use std::collections::BTreeMap;

use super::{CommandError, print};
use crate::build;
use crate::cli::CreatePyprojectArgs;
use crate::matrix::table;
use crate::project::{BACKENDS, Change, ProjectError, project_files, write_project};
use crate::terminal::{count, note};

pub fn run(arguments: &CreatePyprojectArgs) -> Result<(), CommandError> {
    let unique = arguments.unique_id.as_deref();
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if let Some(id) = unique.filter(|id| id.is_empty() || !id.chars().all(is_allowed)) {
        return Err(ProjectError::Id { id: id.to_owned() }.into());
    }
    let prepared = build::prepare(&arguments.kernel.path)?;
    let files = project_files(&prepared.kernel, &prepared.plan, table(), unique)?;
    let variants = prepared.plan.variants.iter();
    let others = variants.map(|variant| variant.row.backend);
    let others = others.filter(|backend| !BACKENDS.contains(backend));
    let others: BTreeMap<&str, ()> = others.map(|backend| (backend.as_str(), ())).collect();
    if !others.is_empty() {
        let names: Vec<&str> = others.into_keys().collect();
        note(format!(
            "the project does not build for {}: `kernel-builder build` does",
            names.join(", ")
        ));
    }
    let changes = write_project(&prepared.kernel.root, &files, arguments.force)?;
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
