//! The Nix library inside this program: lib/, nix/ and the files of templates/ that they read, so
//! that a single binary builds kernels. Not the Nix code itself.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io;
use std::sync::OnceLock;

use camino::{Utf8Path, Utf8PathBuf};
use include_dir::{Dir, include_dir};
use sha2::{Digest, Sha256};

use crate::file::{UNFINISHED, replace_folder};

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
/// with exactly this content. NB: Nix code runs with the rights of this user, so the name alone
/// proves nothing.
///
/// # Errors
/// The errors of the file system.
pub fn unpack(cache: &Utf8Path) -> io::Result<Utf8PathBuf> {
    if let Some(folder) = overriding_folder() {
        return camino::absolute_utf8(folder);
    }
    let parent = cache.join("library");
    let target = parent.join(&own_digest()[..16]);
    if holds_library(&target) {
        return Ok(target);
    }
    std::fs::create_dir_all(&parent)?;
    let temporary = tempfile::Builder::new()
        .prefix(UNFINISHED)
        .tempdir_in(&parent)?;
    let new = temporary.path().join("library");
    for (path, content) in files() {
        let file = new.join(path);
        if let Some(dir) = file.parent() {
            std::fs::create_dir_all(dir)?;
        }
        std::fs::write(file, content)?;
    }
    let new = Utf8PathBuf::try_from(new).map_err(io::Error::other)?;
    match replace_folder(&new, &target) {
        // Another process was faster.
        Err(_) if holds_library(&target) => {}
        result => result?,
    }
    Ok(target)
}

/// Whether a folder holds the files of the library and no others.
fn holds_library(folder: &Utf8Path) -> bool {
    let expected: BTreeMap<Utf8PathBuf, &[u8]> = files().into_iter().collect();
    let mut count = 0;
    let mut entries = walkdir::WalkDir::new(folder).into_iter();
    let all = entries.all(|entry| {
        let Ok(entry) = entry else {
            return false;
        };
        if entry.file_type().is_dir() {
            return true;
        }
        count += 1;
        let path = entry.path().strip_prefix(folder).ok();
        let content = path.and_then(|path| expected.get(Utf8Path::from_path(path)?));
        entry.file_type().is_file()
            && content.is_some_and(|content| {
                std::fs::read(entry.path()).is_ok_and(|found| found == *content)
            })
    });
    all && count == expected.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A changed file in the cache was evaluated: a way for others to run Nix code.
    #[test]
    fn a_library_in_the_cache_that_was_changed_is_written_again() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let cache = Utf8Path::from_path(dir.path()).expect("UTF-8");
        let library = unpack(cache).expect("unpacked");
        let file = library.join("nix/cli.nix");
        let content = std::fs::read(&file).expect("a file");
        let extra = library.join("nix/extra.nix");
        let elsewhere = cache.join("cli.nix");
        let changes: [&dyn Fn() -> io::Result<()>; 4] = [
            &|| std::fs::write(&file, "evil"),
            &|| std::fs::remove_file(&file),
            &|| std::fs::write(&extra, "evil"),
            &|| {
                std::fs::rename(&file, &elsewhere)?;
                std::os::unix::fs::symlink(&elsewhere, &file)
            },
        ];
        for change in changes {
            change().expect("changed");
            assert_eq!(unpack(cache).expect("unpacked"), library);
            assert_eq!(std::fs::read(&file).expect("a file"), content);
            assert!(!file.is_symlink() && !extra.exists());
        }
        let left = library.parent().expect("a folder").read_dir_utf8();
        assert_eq!(left.expect("a folder").count(), 1);
    }
}
