//! The Nix files of this repository: each parses, for Nix too, and is formatted. `FORMAT_NIX=1
//! cargo test --test repository` formats them.

use std::process::Command;

use camino::{Utf8Path, Utf8PathBuf};
use walkdir::{DirEntry, WalkDir};

/// Every .nix file, relative to the repository, without the files of builds.
fn nix_files() -> Vec<Utf8PathBuf> {
    let own = |entry: &DirEntry| {
        let name = entry.file_name().to_string_lossy();
        let left_behind = name.starts_with('.')
            || name.starts_with("result")
            || ["build", "target"].contains(&name.as_ref());
        entry.depth() == 0 || !(left_behind && entry.file_type().is_dir())
    };
    let root = Utf8Path::new(env!("CARGO_MANIFEST_DIR"));
    let files: Vec<_> = WalkDir::new(root)
        .sort_by_file_name()
        .into_iter()
        .filter_entry(own)
        .map(|entry| Utf8PathBuf::try_from(entry.expect("an entry").into_path()).expect("UTF-8"))
        .filter(|path| path.extension() == Some("nix") && path.is_file())
        .map(|path| path.strip_prefix(root).expect("a file of ours").to_owned())
        .collect();
    assert!(files.contains(&"lib/default.nix".into()), "{files:?}");
    files
}

#[test]
fn nix_files_are_formatted() {
    let root = Utf8Path::new(env!("CARGO_MANIFEST_DIR"));
    let fix = std::env::var_os("FORMAT_NIX").is_some();
    let mut wrong = Vec::new();
    for file in nix_files() {
        let text = std::fs::read_to_string(root.join(&file)).expect("a file");
        if let Some(error) = rnix::Root::parse(&text).errors().first() {
            wrong.push(format!("{file}: {error}"));
            continue;
        }
        match nixfmt_rs::format(&text) {
            Ok(formatted) if formatted == text => {}
            Ok(formatted) if fix => std::fs::write(root.join(&file), formatted).expect("written"),
            Ok(_) => wrong.push(format!("{file}: not formatted")),
            Err(error) => wrong.push(format!(
                "{file}: {}",
                nixfmt_rs::format_error(&text, Some(file.as_str()), &error)
            )),
        }
    }
    assert!(
        wrong.is_empty(),
        "{}\nFORMAT_NIX=1 cargo test --test repository formats what parses",
        wrong.join("\n")
    );
}

/// rnix takes some syntax that Nix does not (and newer Nix some that 2.8 does not).
#[test]
fn nix_files_parse() {
    let store = tempfile::tempdir().expect("a temporary folder");
    let output = Command::new("nix-instantiate")
        .arg("--parse")
        .args(nix_files())
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .env("NIX_REMOTE", store.path())
        .output()
        .expect("nix-instantiate on the PATH");
    let why = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{why}");
}

/// metadata.json says which builder made it; the Nix side must not say another version than the
/// program.
#[test]
fn the_library_has_the_version_of_the_program() {
    let version = kernel_builder::library::text("nix/version.nix").expect("part of the library");
    assert!(
        version.contains(&format!("\"{}\"", env!("CARGO_PKG_VERSION"))),
        "{version}"
    );
}
