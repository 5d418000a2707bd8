//! The Nix library inside this program: lib/, nix/ and the files of templates/ that they read, so
//! that a single binary builds kernels. Not the Nix code itself.

use std::borrow::Cow;
use std::io;
use std::sync::OnceLock;

use camino::{Utf8Path, Utf8PathBuf};
use include_dir::{Dir, include_dir};
use sha2::{Digest, Sha256};

static PARTS: [(&str, Dir<'_>); 3] = [
    ("lib", include_dir!("$CARGO_MANIFEST_DIR/lib")),
    ("nix", include_dir!("$CARGO_MANIFEST_DIR/nix")),
    ("templates", include_dir!("$CARGO_MANIFEST_DIR/templates")),
];

/// Folders of a repository that Nix may read while it evaluates a kernel.
const FOLDERS: [&str; 4] = ["lib", "nix", "src/matrix", "templates"];

/// A folder to use instead, for those who work on the library: `$KERNEL_BUILDER_LIBRARY`.
fn overriding_folder() -> Option<Utf8PathBuf> {
    let folder = std::env::var("KERNEL_BUILDER_LIBRARY").ok()?;
    (!folder.is_empty()).then(|| folder.into())
}

/// A file of the library by its path in the repository, e.g. `nix/pins/x86_64-linux/seed.json`.
pub fn text(path: &str) -> Option<Cow<'static, str>> {
    if let Some(folder) = overriding_folder() {
        return std::fs::read_to_string(folder.join(path))
            .ok()
            .map(Cow::Owned);
    }
    let (part, rest) = path.split_once('/')?;
    let (_, dir) = PARTS.iter().find(|(name, _)| *name == part)?;
    dir.get_file(rest)?.contents_utf8().map(Cow::Borrowed)
}

/// Every file of the library: its path in the repository and its content, in a fixed order.
pub fn files() -> Vec<(Utf8PathBuf, &'static [u8])> {
    fn walk(
        prefix: &str,
        dir: &'static Dir<'static>,
        found: &mut Vec<(Utf8PathBuf, &'static [u8])>,
    ) {
        for file in dir.files() {
            if let Some(path) = file.path().to_str() {
                found.push((Utf8Path::new(prefix).join(path), file.contents()));
            }
        }
        for child in dir.dirs() {
            walk(prefix, child, found);
        }
    }
    let mut found = Vec::new();
    for (name, dir) in &PARTS {
        walk(name, dir, &mut found);
    }
    // The flake for `nix develop`. NB: this repository's own flake.nix is another file.
    let flake = include_bytes!("../nix/shell/library-flake.nix");
    found.push(("flake.nix".into(), flake));
    found.sort();
    found
}

/// A hash of the library in use: of the one inside this program, or of `$KERNEL_BUILDER_LIBRARY`.
///
/// # Errors
/// The errors of the file system, if `$KERNEL_BUILDER_LIBRARY` is set.
pub fn digest() -> io::Result<String> {
    let Some(folder) = overriding_folder() else {
        return Ok(own_digest().to_owned());
    };
    let mut paths = Vec::new();
    for part in FOLDERS.map(|part| folder.join(part)) {
        if !part.exists() {
            continue;
        }
        let files = walkdir::WalkDir::new(part).follow_links(true);
        for entry in files.sort_by_file_name() {
            let entry = entry?;
            if !entry.file_type().is_dir()
                && let Ok(path) = Utf8PathBuf::try_from(entry.into_path())
            {
                paths.push(path);
            }
        }
    }
    let contents: Vec<Vec<u8>> = paths.iter().map(std::fs::read).collect::<Result<_, _>>()?;
    let files = paths.into_iter().zip(contents.iter().map(Vec::as_slice));
    Ok(digest_of(&files.collect::<Vec<_>>()))
}

/// The hash of the library inside this program, computed once.
fn own_digest() -> &'static str {
    static DIGEST: OnceLock<String> = OnceLock::new();
    DIGEST.get_or_init(|| digest_of(&files()))
}

fn digest_of(files: &[(Utf8PathBuf, &[u8])]) -> String {
    let mut hash = Sha256::new();
    for (path, content) in files {
        hash.update(path.as_str());
        hash.update((content.len() as u64).to_le_bytes());
        hash.update(content);
    }
    crate::hex(&hash.finalize())
}

/// Writes the library to a folder of `cache` that is named after its content, unless it is there
/// already.
///
/// # Errors
/// The errors of the file system.
pub fn unpack(cache: &Utf8Path) -> io::Result<Utf8PathBuf> {
    if let Some(folder) = overriding_folder() {
        return camino::absolute_utf8(folder);
    }
    let parent = cache.join("library");
    let target = parent.join(&own_digest()[..16]);
    if target.exists() {
        return Ok(target);
    }
    std::fs::create_dir_all(&parent)?;
    let temporary = tempfile::tempdir_in(&parent)?;
    for (path, content) in files() {
        let file = temporary.path().join(path);
        if let Some(dir) = file.parent() {
            std::fs::create_dir_all(dir)?;
        }
        std::fs::write(file, content)?;
    }
    match std::fs::rename(temporary.path(), &target) {
        // Another process was faster. The folder is named after its content, so the content is the
        // same.
        Err(_) if target.exists() => {}
        result => result?,
    }
    Ok(target)
}
