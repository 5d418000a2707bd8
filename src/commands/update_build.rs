//! `update-build`: rewrites an older build.toml and flake.nix in their current form. With
//! `--sources`, it rewrites C++ and Python, too.

use std::io::ErrorKind;

use camino::{Utf8Path, Utf8PathBuf};
use similar::TextDiff;

use super::{CommandError, print, print_problems};
use crate::cli::UpdateBuildArgs;
use crate::emit;
use crate::file::{MAX_TEXT, read_at_most};
use crate::kernel::{Framework, Kernel, LoadError, read_file};
use crate::manifest::update::sources::{OldSource, Role};
use crate::manifest::update::{self, UpdateError};
use crate::manifest::{Manifest, locate};
use crate::matrix::table;
use crate::problem::{Problems, Severity};
use crate::terminal::{error_text, status};

/// A file before and after its update. `new` is `None` if it stays as it is.
struct Rewrite {
    path: Utf8PathBuf,
    old: String,
    new: Option<String>,
}

/// The mode for sources that register operators.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SourcesMode {
    /// Only a hint says whether they could be changed.
    Hint,
    Show,
    Change,
}

pub fn run(arguments: &UpdateBuildArgs) -> Result<(), CommandError> {
    let (check, diff, sources) = (arguments.check, arguments.diff, arguments.sources);
    let (root, file) = locate(&arguments.kernel.path);
    // NB: no file is written unless all can be.
    let (build_toml, notes) = rewrite_build_toml(&root, file)?;
    let flake = rewrite_flake(&root)?;
    if let Some(notes) = &notes {
        print_problems(notes);
    }
    let asked = match (sources, diff) {
        (true, _) => SourcesMode::Change,
        (false, true) => SourcesMode::Show,
        (false, false) => SourcesMode::Hint,
    };
    let (source_rewrites, hints) = rewrite_sources(&root, &build_toml, asked);
    for hint in hints {
        status(hint);
    }
    let rewrites: Vec<Rewrite> = [Some(build_toml), flake].into_iter().flatten().collect();
    let source_rewrites = source_rewrites
        .into_iter()
        .filter(|_| asked != SourcesMode::Hint);
    let rewrites: Vec<Rewrite> = rewrites.into_iter().chain(source_rewrites).collect();
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
    let files: Vec<_> = old
        .iter()
        .map(|(rewrite, new)| (rewrite.path.as_path(), *new))
        .collect();
    emit::replace_all(&files)?;
    for rewrite in &rewrites {
        let what = match rewrite.new {
            Some(_) => "updated",
            None => "unchanged",
        };
        print(&format!("{} {what}\n", rewrite.path))?;
    }
    Ok(())
}

/// The rewrite of build.toml, and notes for its author.
fn rewrite_build_toml(
    root: &Utf8Path,
    path: Utf8PathBuf,
) -> Result<(Rewrite, Option<Problems>), CommandError> {
    let bytes = read_file(&path)?;
    let manifest = Manifest::read(path.as_str(), &bytes);
    let old = String::from_utf8_lossy(&bytes).into_owned();
    let updated = update::update(&manifest, &old).map_err(CommandError::Update)?;
    if let Some(updated) = &updated {
        check_accepted(root, &manifest)?;
        check_same_kernel(root, &manifest, &updated.text)?;
    }
    let (new, notes) = updated.map(|updated| (updated.text, updated.notes)).unzip();
    Ok((Rewrite { path, old, new }, notes))
}

/// Checks that edition 5 accepts the content of the older file, if a kernel can be built from it.
fn check_accepted(root: &Utf8Path, old: &Manifest) -> Result<(), CommandError> {
    let (kernel, _) = Kernel::check(old, root, &table().toolkits);
    let (_, found) = Kernel::check_strictly(old, root, &table().toolkits);
    if kernel.is_none() || !found.has_errors() {
        return Ok(());
    }
    let mut errors = Problems::new(found.name(), found.text());
    for problem in found.iter().filter(|p| p.severity == Severity::Error) {
        errors.push(problem.clone());
    }
    error_text("edition 5 does not accept what this file says; nothing was changed\n");
    Err(CommandError::Update(UpdateError::Problems(Box::new(
        errors,
    ))))
}

/// Checks that both texts give the same kernel. If neither gives one, since files are missing, that
/// is the same, too.
fn check_same_kernel(root: &Utf8Path, old: &Manifest, new: &str) -> Result<(), CommandError> {
    let new = Manifest::read(old.problems.name(), new.as_bytes());
    let kernel = |manifest: &Manifest| {
        let (mut kernel, _) = Kernel::check(manifest, root, &table().toolkits);
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

/// The rewrite of flake.nix beside build.toml; `None` if there is no flake that uses this library.
fn rewrite_flake(root: &Utf8Path) -> Result<Option<Rewrite>, CommandError> {
    let path = match root.as_str() {
        "." => Utf8PathBuf::from("flake.nix"),
        _ => root.join("flake.nix"),
    };
    let old = match read_at_most(&path, MAX_TEXT) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(LoadError::Read { path, source }.into()),
    };
    // NB: a file that is not UTF-8 cannot be written back as it was, so it is left alone.
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

/// Rewrites of the sources that register operators under a fixed namespace, to use the build's own;
/// and hints for their author.
fn rewrite_sources(
    root: &Utf8Path,
    build_toml: &Rewrite,
    asked: SourcesMode,
) -> (Vec<Rewrite>, Vec<String>) {
    let manifest = Manifest::read(build_toml.path.as_str(), build_toml.old.as_bytes());
    // Mistakes in the kernel are reported by check-config.
    let (Some(kernel), _) = Kernel::check(&manifest, root, &table().toolkits) else {
        return Default::default();
    };
    let files = source_files(&kernel, root);
    let place = |file: usize, line: usize| format!("{}:{line}", files[file].path);
    match update::sources::update(&files) {
        Ok(None) => Default::default(),
        Err(left) => {
            let hint = format!(
                "{}: {}; until you change that, no two builds of this kernel can be loaded together",
                place(left.file, left.line),
                left.why
            );
            (Vec::new(), vec![hint])
        }
        Ok(Some(renamed)) => {
            let texts = renamed.texts.into_iter();
            let rewrites: Vec<Rewrite> = texts
                .map(|(file, text)| Rewrite {
                    path: files[file].path.clone(),
                    old: files[file].text.clone(),
                    new: Some(text),
                })
                .collect();
            let left = renamed.left.iter().filter(|_| asked != SourcesMode::Hint);
            let mut hints: Vec<String> = left
                .map(|left| format!("{}: {}", place(left.file, left.line), left.why))
                .collect();
            if asked != SourcesMode::Change {
                let paths: Vec<&str> = rewrites
                    .iter()
                    .map(|rewrite| rewrite.path.as_str())
                    .collect();
                hints.push(format!(
                    "every build registers its operators under {}, so no two of them can be loaded together: \
                     `kernel-builder update-build --sources` changes {}; `--diff` shows how",
                    renamed.namespace,
                    paths.join(", "),
                ));
            }
            (rewrites, hints)
        }
    }
}

/// The files of a kernel for torch that can be read: the sources of build.toml, and the Python
/// package.
fn source_files(kernel: &Kernel, root: &Utf8Path) -> Vec<OldSource> {
    let Framework::Torch(torch) = &kernel.framework else {
        return Vec::new();
    };
    let binding: Vec<&Utf8Path> = kernel.framework.units().map(|(path, _)| path).collect();
    let mut listed: Vec<(Utf8PathBuf, Role)> = Vec::new();
    let section_sources = kernel.sections.iter().flat_map(|section| &section.src);
    for path in torch.src.iter().chain(section_sources) {
        let role = match binding.contains(&path.as_path()) {
            true => Role::Binding,
            false => Role::Source,
        };
        if !listed.iter().any(|(other, _)| other == path) {
            listed.push((path.clone(), role));
        }
    }
    let package = Utf8Path::new(kernel.framework.packages()).join(kernel.name.python_name());
    let depth = package.components().count() + 1;
    for entry in walkdir::WalkDir::new(root.join(&package)).sort_by_file_name() {
        let path = entry
            .ok()
            .and_then(|entry| Utf8PathBuf::from_path_buf(entry.into_path()).ok());
        let path = path.and_then(|path| Some(path.strip_prefix(root).ok()?.to_owned()));
        if let Some(path) = path.filter(|path| path.extension() == Some("py")) {
            let role = Role::Python(path.components().count() - depth);
            listed.push((path, role));
        }
    }
    let files = listed.into_iter().filter_map(|(path, role)| {
        let path = match root.as_str() {
            "." => path,
            _ => root.join(path),
        };
        let text = String::from_utf8(read_at_most(&path, MAX_TEXT).ok()?).ok()?;
        Some(OldSource { path, text, role })
    });
    files.collect()
}
