//! Copies built variants from the store to build/<variant> in the kernel's folder.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use camino::{Utf8Path, Utf8PathBuf};
use walkdir::{DirEntry, WalkDir};

use super::attest::{ATTESTED, Attestor};
use super::error::{EngineError, failed_to};
use super::output::OutputFolder;
use super::survey::StepGraph;
use crate::artifact::metadata::{FileDigests, METADATA, SIGNATURE, is_left_behind};
use crate::artifact::signature::signature_file;
use crate::matrix::Variant;
use crate::nix::{Built, Nix};
use crate::terminal::note;

/// A variant after a build.
#[derive(Debug)]
pub struct InstalledVariant<'a> {
    pub name: &'a str,
    pub origin: Origin,
    /// The seconds that its steps took in this build, one after the other.
    pub seconds: f64,
    /// Bytes of the files in its folder.
    pub bytes: u64,
}

/// The origin of a variant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A step of it was built in this build.
    Built,
    /// The store had it.
    Cached,
    /// A binary cache had it.
    Copied,
    /// It was not built, and has no folder.
    Failed,
    /// It was not built since another variant failed (`Limits::fail_fast`), and has no folder.
    Stopped,
}

impl Origin {
    /// The word for it in tables and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Built => "built",
            Self::Cached => "cached",
            Self::Copied => "copied",
            Self::Failed => "failed",
            Self::Stopped => "stopped",
        }
    }

    /// Whether the variant was built, so that it has a folder.
    pub fn has_folder(self) -> bool {
        !matches!(self, Self::Failed | Self::Stopped)
    }
}

/// Copies the built variants to their places below `output`, with the files of `attestor`. Packages
/// that were not built are among `unbuilt`.
///
/// # Errors
/// `EngineError`, of Nix or of the file system; a failed variant is part of the result.
pub fn install<'a>(
    nix: &Nix,
    variants: &[&'a Variant],
    graph: &StepGraph<'_>,
    built: &Built,
    unbuilt: &BTreeSet<&str>,
    attestor: &Attestor<'_>,
    output: &Utf8Path,
) -> Result<Vec<InstalledVariant<'a>>, EngineError> {
    let finished = built.finished.iter();
    let seconds: BTreeMap<&str, f64> = finished
        .map(|finished| (finished.derivation.as_str(), finished.seconds))
        .collect();
    let output =
        OutputFolder::open(output).map_err(failed_to(format!("create or open {output}")))?;
    let mut installed = Vec::new();
    for (variant, (_, wanted)) in variants.iter().zip(&graph.wanted) {
        let steps = graph.steps.all.iter();
        let mut steps = steps.filter(|step| step.variants.contains(&variant.name));
        if unbuilt.contains(&*wanted.derivation) {
            let failed = steps.any(|step| {
                let derivation = step.derivation.as_str();
                unbuilt.contains(derivation) && seconds.contains_key(derivation)
            });
            installed.push(InstalledVariant {
                name: &variant.name,
                origin: match built.is_stopped && !failed {
                    true => Origin::Stopped,
                    false => Origin::Failed,
                },
                seconds: 0.0,
                bytes: 0,
            });
            continue;
        }
        let path = &graph.derivations[&wanted.derivation].output;
        let attest = |package: &Utf8Path| attestor.files(variant, &wanted.derivation, package);
        let bytes = copy_out(nix, variant, path, attest, &output)?;
        let step_seconds: Vec<f64> = steps
            .filter_map(|step| seconds.get(step.derivation.as_str()).copied())
            .collect();
        let origin = match step_seconds.is_empty() {
            true if built.copied.contains_key(path) => Origin::Copied,
            true => Origin::Cached,
            false => Origin::Built,
        };
        installed.push(InstalledVariant {
            name: &variant.name,
            origin,
            // NB: `sum` of an empty list is -0.
            seconds: step_seconds.iter().fold(0.0, |sum, seconds| sum + seconds),
            bytes,
        });
    }
    Ok(installed)
}

/// Copies a built variant from the store to its place, unless it lies there already.
/// `attest` makes the files to add, from the folder of the variant. Returns its size in bytes.
fn copy_out(
    nix: &Nix,
    variant: &Variant,
    path: &str,
    attest: impl Fn(&Utf8Path) -> Result<AttestedFiles, EngineError>,
    output: &OutputFolder,
) -> Result<u64, EngineError> {
    let target = output.path.join(&variant.name);
    let folder = nix.store_folder().zip(Utf8Path::new(path).file_name());
    let original = folder.map(|(store, name)| store.join(name));
    if let Some(original) = &original
        && is_same_tree(&original.join(&variant.name), &target)
        && (is_signed(&target) || has_files(&target, &attest(&original.join(&variant.name))?))
    {
        return Ok(size_of_files(&target));
    }
    let staging = output
        .staging()
        .map_err(failed_to(format!("create a folder in {}", output.path)))?;
    let exported = Utf8Path::from_path(staging.path())
        .unwrap_or(&output.path)
        .join("export");
    match original.filter(|original| original.is_dir()) {
        Some(original) => copy_tree(&original, &exported)
            .map_err(failed_to(format!("copy {original} to {exported}")))?,
        None => nix.export(path, &exported)?,
    }
    make_writable(&exported).map_err(failed_to(format!("change the modes of {exported}")))?;
    let new = exported.join(&variant.name);
    for (name, content) in attest(&new)? {
        let file = new.join(name);
        std::fs::write(&file, content).map_err(failed_to(format!("write {file}")))?;
    }
    // NB: once more, since the user may have added files during the build.
    check_place(&target)?;
    mention_edits(&target);
    output
        .put(&new, &variant.name)
        .map_err(failed_to(format!("replace {target}")))?;
    Ok(size_of_files(&target))
}

/// Files that a copy has besides those of the package, by name.
type AttestedFiles = BTreeMap<&'static str, Vec<u8>>;

/// Whether a variant is signed and as it was when it got its digests. It is not replaced for the
/// sake of a later revision: its signature would be lost, and what it says is still true.
fn is_signed(target: &Utf8Path) -> bool {
    let beside = signature_file(target).is_ok_and(|file| file.exists());
    let digests = FileDigests::read(target);
    (beside || target.join(SIGNATURE).exists())
        && digests.is_some_and(|digests| digests.edited_files(target).is_empty())
}

/// Whether a folder has files with some contents.
fn has_files(folder: &Utf8Path, files: &AttestedFiles) -> bool {
    let mut files = files.iter();
    files.all(|(name, content)| std::fs::read(folder.join(name)).is_ok_and(|own| own == *content))
}

/// Prints a line about each file of a build that is to be replaced and that somebody edited, and
/// about its signature.
fn mention_edits(target: &Utf8Path) {
    let digests = FileDigests::read(target);
    for path in digests.iter().flat_map(|known| known.edited_files(target)) {
        note(format!(
            "{target}/{path} was edited: the new build replaces it"
        ));
    }
    if target.join(SIGNATURE).exists() {
        note(format!(
            "{target}/{SIGNATURE} signs the build before: it is removed with it"
        ));
    }
    if let Ok(file) = signature_file(target)
        && file.exists()
    {
        note(format!("{file} signs the build before: sign the new one"));
    }
}

/// The bytes of all files below a folder.
fn size_of_files(folder: &Utf8Path) -> u64 {
    WalkDir::new(folder)
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.metadata().ok())
        .filter(std::fs::Metadata::is_file)
        .map(|metadata| metadata.len())
        .sum()
}

/// Whether a copy has the files of a folder of the store, with the same bytes, and no others but
/// those that this program, Python and signing tools added. A file that cannot be read is a
/// difference. Comparing is faster than copying: a build that changes no variant writes no file.
fn is_same_tree(original: &Utf8Path, copy: &Utf8Path) -> bool {
    let walk = |folder: &Utf8Path| {
        let walk = WalkDir::new(folder).min_depth(1).sort_by_file_name();
        walk.into_iter().filter_entry(|entry| {
            let name = entry.file_name().to_str().unwrap_or_default();
            !(is_left_behind(entry) || entry.depth() == 1 && ATTESTED.contains(&name))
        })
    };
    let (mut originals, mut copies) = (walk(original), walk(copy));
    loop {
        match (originals.next(), copies.next()) {
            (None, None) => return original.is_dir() && copy.is_dir(),
            (Some(Ok(first)), Some(Ok(second))) => {
                let is_same_place = first.path().strip_prefix(original).ok()
                    == second.path().strip_prefix(copy).ok();
                if !is_same_place || !is_same_entry(&first, &second).unwrap_or(false) {
                    return false;
                }
            }
            _ => return false,
        }
    }
}

fn is_same_entry(original: &DirEntry, copy: &DirEntry) -> std::io::Result<bool> {
    if original.file_type() != copy.file_type() {
        return Ok(false);
    }
    if original.path_is_symlink() {
        return Ok(std::fs::read_link(original.path())? == std::fs::read_link(copy.path())?);
    }
    let (first, second) = (original.metadata()?, copy.metadata()?);
    let is_executable = |metadata: &std::fs::Metadata| metadata.permissions().mode() & 0o100 != 0;
    if is_executable(&first) != is_executable(&second) {
        return Ok(false);
    }
    if first.is_dir() {
        return Ok(true);
    }
    // NB: a copy that this program made can be written by its owner.
    let is_writable = second.permissions().mode() & 0o200 != 0;
    Ok(first.len() == second.len() && is_writable && has_same_bytes(original.path(), copy.path())?)
}

/// Whether two files of the same size have the same bytes.
fn has_same_bytes(first: &Path, second: &Path) -> std::io::Result<bool> {
    const PIECE: usize = 1 << 16;
    let (mut first, mut second) = (File::open(first)?, File::open(second)?);
    let (mut a, mut b) = (vec![0; PIECE], vec![0; PIECE]);
    loop {
        let length = first.read(&mut a)?;
        if length == 0 {
            return Ok(true);
        }
        second.read_exact(&mut b[..length])?;
        if a[..length] != b[..length] {
            return Ok(false);
        }
    }
}

/// The folder of a variant in the folder of a kernel; `None` if no build put it there.
pub fn built_folder(root: &Utf8Path, variant: &str) -> Option<Utf8PathBuf> {
    let folder = root.join("build").join(variant);
    is_of_build(&folder).then_some(folder)
}

/// Whether a build has made a folder.
fn is_of_build(folder: &Utf8Path) -> bool {
    folder.join(METADATA).exists()
}

/// Checks that the folders at the places of some variants hold builds and nothing of the user's, so
/// that they may be replaced.
///
/// # Errors
/// `EngineError::Foreign` and `EngineError::ForeignFiles`, which name what must be moved away.
pub fn check_replaceable(output: &Utf8Path, variants: &[&Variant]) -> Result<(), EngineError> {
    let mut places = variants.iter().map(|variant| output.join(&variant.name));
    places.try_for_each(|place| check_place(&place))
}

fn check_place(place: &Utf8Path) -> Result<(), EngineError> {
    if !place.exists() {
        return Ok(());
    }
    if !is_of_build(place) {
        return Err(EngineError::Foreign {
            path: place.to_owned(),
        });
    }
    // A build without digests does not say which files it has.
    let Some(digests) = FileDigests::read(place) else {
        return Ok(());
    };
    let files = digests
        .unknown_files(place)
        .map_err(failed_to(format!("read {place}")))?;
    match files.is_empty() {
        true => Ok(()),
        false => Err(EngineError::ForeignFiles {
            path: place.to_owned(),
            files,
        }),
    }
}

/// Copies a folder to a path that does not exist yet. Links stay links. NB: root may write to the
/// store, and its Python leaves compiled modules in a package that it imports from there.
fn copy_tree(original: &Utf8Path, copy: &Utf8Path) -> std::io::Result<()> {
    let walk = WalkDir::new(original).into_iter();
    for entry in walk.filter_entry(|entry| !is_left_behind(entry)) {
        let entry = entry?;
        let relative = entry.path().strip_prefix(original).unwrap_or(entry.path());
        let target = copy.as_std_path().join(relative);
        if entry.file_type().is_dir() {
            std::fs::create_dir(target)?;
        } else if entry.path_is_symlink() {
            symlink(std::fs::read_link(entry.path())?, target)?;
        } else {
            std::fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}

/// Lets the owner write to all files of a folder. Files of the store are read-only; a user's own
/// files should not be.
fn make_writable(dir: &Utf8Path) -> std::io::Result<()> {
    for entry in WalkDir::new(dir) {
        let entry = entry?;
        let mut permissions = entry.metadata()?.permissions();
        permissions.set_mode(permissions.mode() | 0o200);
        std::fs::set_permissions(entry.path(), permissions)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_difference_of_a_copy_is_seen() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let dir = Utf8Path::from_path(dir.path()).expect("UTF-8");
        let (original, copy) = (dir.join("a"), dir.join("b"));
        let write = |path: &str, text: &str| {
            let path = copy.join(path);
            std::fs::write(path, text).expect("written");
        };
        for folder in [&original, &copy] {
            std::fs::create_dir_all(folder.join("empty")).expect("created");
            std::fs::write(folder.join("one"), "1").expect("written");
            symlink("one", folder.join("link")).expect("linked");
        }
        let is_same = || is_same_tree(&original, &copy);
        assert!(is_same());
        assert!(
            !is_same_tree(&original, &dir.join("none"))
                && !is_same_tree(&dir.join("c"), &dir.join("d"))
        );
        write("one", "2");
        assert!(!is_same());
        write("one", "11");
        assert!(!is_same());
        write("one", "1");
        assert!(is_same());
        write("two", "");
        assert!(!is_same());
        std::fs::remove_file(copy.join("two")).expect("removed");
        for mode in [0o755, 0o444] {
            let change = |mode| {
                let permissions = std::fs::Permissions::from_mode(mode);
                std::fs::set_permissions(copy.join("one"), permissions).expect("changed");
            };
            change(mode);
            assert!(!is_same(), "{mode:o}");
            change(0o644);
            assert!(is_same());
        }
        std::fs::remove_file(copy.join("link")).expect("removed");
        assert!(!is_same());
        symlink("two", copy.join("link")).expect("linked");
        assert!(!is_same());
        std::fs::remove_file(copy.join("link")).expect("removed");
        std::fs::create_dir(copy.join("link")).expect("created");
        assert!(!is_same());
    }
}
