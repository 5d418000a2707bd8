//! `update-build`: an older build.toml and flake.nix -> the current form.

use std::io::ErrorKind;

use camino::{Utf8Path, Utf8PathBuf};
use similar::TextDiff;

use super::{CommandError, print, print_problems};
use crate::emit;
use crate::kernel::{Kernel, LoadError, read_file};
use crate::manifest::update::{self, UpdateError};
use crate::manifest::{Manifest, locate};
use crate::problem::Problems;

/// A file before and after.
struct Rewrite {
    path: Utf8PathBuf,
    old: String,
    new: Option<String>,
}

pub fn run(path: &Utf8Path, check: bool, diff: bool) -> Result<(), CommandError> {
    let (root, file) = locate(path);
    // Nothing is written unless everything can be.
    let (build_toml, notes) = build_toml(&root, file)?;
    let flake = flake(&root)?;
    if let Some(notes) = &notes {
        print_problems(notes);
    }
    let rewrites: Vec<Rewrite> = [Some(build_toml), flake].into_iter().flatten().collect();
    let old: Vec<_> = rewrites
        .iter()
        .filter_map(|rewrite| Some((rewrite, rewrite.new.as_deref()?)))
        .collect();
    if diff {
        for (rewrite, new) in &old {
            let (before, after) = (format!("a/{}", rewrite.path), format!("b/{}", rewrite.path));
            let diff = TextDiff::from_lines(rewrite.old.as_str(), *new);
            print(&diff.unified_diff().header(&before, &after).to_string())?;
        }
    }
    if check && !old.is_empty() {
        let paths = old.iter().map(|(rewrite, _)| rewrite.path.to_string());
        return Err(CommandError::Old(paths.collect()));
    }
    if check || diff {
        return Ok(());
    }
    for (rewrite, new) in &old {
        emit::replace(&rewrite.path, new)?;
    }
    for rewrite in &rewrites {
        let what = match rewrite.new {
            Some(_) => "updated",
            None => "unchanged",
        };
        print(&format!("{} {what}\n", rewrite.path))?;
    }
    Ok(())
}

/// build.toml, and what its author should know.
fn build_toml(
    root: &Utf8Path,
    path: Utf8PathBuf,
) -> Result<(Rewrite, Option<Problems>), CommandError> {
    let bytes = read_file(&path)?;
    let manifest = Manifest::read(path.as_str(), &bytes);
    let old = String::from_utf8_lossy(&bytes).into_owned();
    let updated = update::update(&manifest, &old).map_err(CommandError::Update)?;
    if let Some(updated) = &updated {
        same_kernel(root, &manifest, &updated.text)?;
    }
    let (new, notes) = updated.map(|updated| (updated.text, updated.notes)).unzip();
    Ok((Rewrite { path, old, new }, notes))
}

/// Both texts must give the same kernel, as far as they give one: files that are missing do not matter here.
fn same_kernel(root: &Utf8Path, old: &Manifest, new: &str) -> Result<(), CommandError> {
    let new = Manifest::read(old.problems.name(), new.as_bytes());
    let kernel = |manifest: &Manifest| {
        let (mut kernel, _) = Kernel::check(manifest, root);
        if let Some(kernel) = &mut kernel {
            kernel.build_toml_sha256.clear();
        }
        kernel
    };
    if kernel(old) == kernel(&new) {
        return Ok(());
    }
    Err(CommandError::Update(UpdateError::Defect {
        name: old.problems.name().to_owned(),
        why: "it gives another kernel".to_owned(),
    }))
}

/// flake.nix beside build.toml, if there is one that concerns us.
fn flake(root: &Utf8Path) -> Result<Option<Rewrite>, CommandError> {
    let path = match root.as_str() {
        "." => Utf8PathBuf::from("flake.nix"),
        _ => root.join("flake.nix"),
    };
    let old = match std::fs::read(&path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(LoadError::Read { path, source }.into()),
    };
    // Bytes that are not UTF-8 cannot be kept, so such a file is left alone.
    let Ok(old) = String::from_utf8(old) else {
        return Ok(None);
    };
    let new = update::flake::update(path.as_str(), &old).map_err(CommandError::Update)?;
    Ok(new.map(|new| Rewrite {
        path,
        old,
        new: Some(new),
    }))
}
