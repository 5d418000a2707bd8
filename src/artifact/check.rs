//! Checks the variants of a folder: whether each is whole, unchanged, and what its metadata.json
//! says. Uses no network.

use std::collections::BTreeSet;
use std::io;

use camino::{Utf8Path, Utf8PathBuf};

use super::contents::{FolderContents, blobs_of};
use super::finding::{ArtifactFinding, ArtifactRule};
use super::metadata::{ArtifactMetadata, METADATA};
use super::native::{NativeVariant, check_native};
use super::provenance::check_statement;
use super::python_files::check_python;
use crate::file::{MAX_TEXT, read_at_most};

const BUILD_AGAIN: &str =
    "build or download the variant again; if the change is yours, `kernel-builder hash` accepts it";

/// A variant after its check.
#[derive(Debug)]
pub struct CheckedVariant {
    pub folder: Utf8PathBuf,
    /// The name of the folder.
    pub name: String,
    /// The files that digests are to cover: paths from the folder, in order.
    pub files: Vec<String>,
    /// `None` for a metadata.json that the client cannot read.
    pub metadata: Option<ArtifactMetadata>,
    pub findings: BTreeSet<ArtifactFinding>,
}

impl CheckedVariant {
    /// Whether a finding is more than a warning.
    pub fn is_wrong(&self) -> bool {
        self.first_mistake().is_some()
    }

    /// The first finding that is more than a warning.
    pub fn first_mistake(&self) -> Option<&ArtifactFinding> {
        self.findings.iter().find(|own| !own.rule.is_warning())
    }
}

/// The folders of the variants that a path means: the path itself, else those in its `result`, in
/// its `build`, in it, or in the snapshots of a Hub client's cache, whichever is the first that has
/// some. Empty if there are none.
///
/// # Errors
/// The errors of the file system.
pub fn find_variants(path: &Utf8Path) -> io::Result<Vec<Utf8PathBuf>> {
    if is_variant(path) {
        return Ok(vec![path.to_owned()]);
    }
    // NB: an error for a path that is no folder.
    path.read_dir_utf8()?;
    for folder in [path.join("result"), path.join("build"), path.to_owned()] {
        let found = variants_in(&folder)?;
        if !found.is_empty() {
            return Ok(found);
        }
    }
    let mut found = Vec::new();
    let snapshots = path.join("snapshots");
    if snapshots.is_dir() {
        for snapshot in snapshots.read_dir_utf8()? {
            found.extend(variants_in(&snapshot?.path().join("build"))?);
        }
    }
    found.sort();
    Ok(found)
}

fn is_variant(folder: &Utf8Path) -> bool {
    folder.join(METADATA).symlink_metadata().is_ok()
}

/// The variants directly in a folder, in order; none if there is no such folder.
fn variants_in(folder: &Utf8Path) -> io::Result<Vec<Utf8PathBuf>> {
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    for entry in folder.read_dir_utf8()? {
        let entry = entry?;
        if is_variant(entry.path()) {
            // A kernel in the current folder has the path `.`.
            let folder = entry.path().strip_prefix(".").unwrap_or(entry.path());
            found.push(folder.to_owned());
        }
    }
    found.sort();
    Ok(found)
}

/// Checks a variant. `allows_links`: whether its files may be links into the cache of a Hub client.
///
/// # Errors
/// The errors of the file system.
pub fn check_variant(folder: &Utf8Path, allows_links: bool) -> io::Result<CheckedVariant> {
    let blobs = match allows_links {
        true => blobs_of(folder),
        false => None,
    };
    let contents = FolderContents::list(folder, blobs.as_deref())?;
    let absolute = camino::absolute_utf8(folder)?;
    let mut checked = CheckedVariant {
        name: absolute.file_name().unwrap_or_default().to_owned(),
        folder: folder.to_owned(),
        files: contents.files.clone(),
        metadata: None,
        findings: findings_of_contents(&contents),
    };
    let metadata = match ArtifactMetadata::read(folder) {
        Ok(metadata) => metadata,
        Err(error) => {
            let message = format!("the client cannot read it: {error}");
            let help = "build the variant again; builds of before 2026 have no such file, or a shorter one";
            let finding = ArtifactFinding::new(ArtifactRule::Metadata, METADATA, message, help);
            let finding = match error.line() {
                Some(line) => finding.at(line),
                None => finding,
            };
            checked.findings.insert(finding);
            return Ok(checked);
        }
    };
    checked
        .findings
        .extend(compare_digests(folder, &contents, &metadata)?);
    let digests = metadata.digest.as_ref();
    checked.findings.extend(check_statement(folder, digests));
    checked
        .findings
        .extend(check_files(folder, &checked.name, &contents, &metadata)?);
    checked.metadata = Some(metadata);
    Ok(checked)
}

/// The findings about entries that are no files of a variant.
fn findings_of_contents(contents: &FolderContents) -> BTreeSet<ArtifactFinding> {
    let links = contents.links.iter().map(|(path, target)| {
        let message = format!("it is a link to {target}, which no digest covers");
        let help = "put the file itself in its place, and build again";
        ArtifactFinding::new(ArtifactRule::Link, path, message, help)
    });
    let strange = contents.strange.iter().map(|path| {
        let message = "it is no file, or its name is not UTF-8 or has control characters";
        ArtifactFinding::new(ArtifactRule::Link, path, message, "remove it")
    });
    let bytecode = contents.bytecode.iter().map(|path| {
        let message = "Python runs this in place of a file that has a digest";
        let help = "remove it: Python makes it again of the checked file";
        ArtifactFinding::new(ArtifactRule::Bytecode, path, message, help)
    });
    links.chain(strange).chain(bytecode).collect()
}

/// The differences between the files and the digests of metadata.json.
fn compare_digests(
    folder: &Utf8Path,
    contents: &FolderContents,
    metadata: &ArtifactMetadata,
) -> io::Result<Vec<ArtifactFinding>> {
    let Some(digests) = &metadata.digest else {
        let message = "it has no digests of the files";
        let help = "`kernel-builder hash` writes them, if you know that the files are right";
        let finding = ArtifactFinding::new(ArtifactRule::Digest, METADATA, message, help);
        return Ok(vec![finding]);
    };
    let mut findings = Vec::new();
    for path in &contents.files {
        let finding = match digests.files.get(path) {
            None => {
                let message = "metadata.json has no digest of it: it was added after the build";
                ArtifactFinding::new(ArtifactRule::Added, path, message, BUILD_AGAIN)
            }
            Some(digest) => {
                let found = digests.algorithm.of_file(&folder.join(path))?;
                if found == *digest {
                    continue;
                }
                let message =
                    format!("it was changed after the build: its digest is {found}, not {digest}");
                ArtifactFinding::new(ArtifactRule::Changed, path, message, BUILD_AGAIN)
            }
        };
        findings.push(finding);
    }
    let there: BTreeSet<&String> = contents.files.iter().collect();
    let others = |path: &String| contents.links.contains_key(path);
    let missing = digests.files.keys();
    let missing = missing.filter(|path| !there.contains(path) && !others(path));
    findings.extend(missing.map(|path| {
        let message = "metadata.json has its digest, and it is not there";
        ArtifactFinding::new(ArtifactRule::Missing, path, message, BUILD_AGAIN)
    }));
    Ok(findings)
}

/// The findings about the content of files.
fn check_files(
    folder: &Utf8Path,
    name: &str,
    contents: &FolderContents,
    metadata: &ArtifactMetadata,
) -> io::Result<BTreeSet<ArtifactFinding>> {
    let mut findings = BTreeSet::new();
    let module = metadata.python_name();
    // The client looks for the second where it does not find the first.
    let inits = ["__init__.py".to_owned(), format!("{module}/__init__.py")];
    let is_there =
        |init: &String| contents.files.contains(init) || contents.links.contains_key(init);
    if !inits.iter().any(is_there) {
        let message = "there is no __init__.py, so the client finds no module";
        let help = "the kernel's Python package needs one";
        let finding = ArtifactFinding::new(ArtifactRule::Layout, METADATA, message, help);
        findings.insert(finding);
    }
    for path in contents.files.iter().filter(|path| path.ends_with(".py")) {
        // NB: Python reads other encodings, and no kernel is known that has one.
        if let Ok(text) = String::from_utf8(read_at_most(&folder.join(path), MAX_TEXT)?) {
            findings.extend(check_python(path, &text, &module));
        }
    }
    if let Some(variant) = NativeVariant::read(name) {
        findings.extend(check_native(folder, &variant, metadata, &contents.files)?);
    }
    Ok(findings)
}
