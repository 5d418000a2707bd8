//! Fetches the crates of kernel-builder itself, from which Nix builds the program. Cargo fetches
//! them through its own configuration: its index, mirrors, proxies and credentials.

use std::collections::BTreeMap;
use std::process::{Command, Stdio};

use camino::{Utf8Path, Utf8PathBuf};

use super::PinError;
use crate::nix::Nix;

const MANIFEST: &str = include_str!("../../Cargo.toml");
const LOCK: &str = include_str!("../../Cargo.lock");

/// Brings all crates into the store and returns how many were missing. `library` is where the Nix
/// library lies.
///
/// # Errors
/// `PinError::Program` where there is no cargo, `PinError::Download` with cargo's own words, the
/// errors of Nix.
pub fn fetch(
    nix: &Nix,
    library: &Utf8Path,
    system: &str,
    offline: bool,
) -> Result<usize, PinError> {
    let package = ProgramPackage::write()?;
    let lock = package.root.join("Cargo.lock");
    let arguments = [("system", system), ("lock", lock.as_str())];
    let answer = nix.evaluate(&library.join("nix/cli-crates.nix"), "paths", &arguments)?;
    let paths: BTreeMap<&String, String> = answer
        .as_object()
        .into_iter()
        .flatten()
        .filter_map(|(name, path)| Some((name, path.as_str()?.to_owned())))
        .collect();
    let all: Vec<String> = paths.values().cloned().collect();
    let missing = nix.invalid_paths(&all)?;
    if missing.is_empty() {
        return Ok(0);
    }

    package.cargo_fetch(offline)?;
    let folders = registry_folders();
    let find = |file: &str| {
        let mut places = folders.iter().map(|folder| folder.join(file));
        places.find(|path| path.exists())
    };
    let wanted: Vec<(&String, &String)> = paths
        .iter()
        .filter(|(_, path)| missing.contains(path))
        .map(|(name, path)| (*name, path))
        .collect();
    let files = wanted
        .iter()
        .map(|(name, _)| find(name).ok_or_else(|| absent_file(name)))
        .collect::<Result<Vec<_>, _>>()?;
    let added = nix.add_fixed_files(&files)?;
    match wanted
        .iter()
        .zip(&added)
        .find(|((_, path), added)| path != added)
    {
        Some(((name, _), _)) => Err(PinError::Download {
            name: (*name).clone(),
            why: "cargo's copy of it is not the one that Cargo.lock names".to_owned(),
            help: "remove it from $CARGO_HOME/registry/cache and run the command again".to_owned(),
        }),
        None => Ok(missing.len()),
    }
}

/// This program's Cargo.toml and Cargo.lock, as a package for cargo to read.
struct ProgramPackage {
    _dir: tempfile::TempDir,
    root: Utf8PathBuf,
}

impl ProgramPackage {
    fn write() -> Result<Self, PinError> {
        let dir = tempfile::tempdir().map_err(PinError::io("create", "a temporary folder"))?;
        let root = Utf8PathBuf::try_from(dir.path().to_owned())
            .map_err(|error| PinError::io("use", "a temporary folder")(error.into_io_error()))?;
        // Cargo requires the targets of a manifest to exist. Benchmarks use the crates of tests.
        let mut manifest: toml::Table = MANIFEST.parse().expect("our own manifest");
        manifest.remove("bench");
        let manifest = manifest.to_string();
        let files = [
            ("Cargo.toml", &*manifest),
            ("Cargo.lock", LOCK),
            ("src/lib.rs", ""),
            ("build.rs", ""),
        ];
        for (name, content) in files {
            let path = root.join(name);
            if let Some(parent) = path.parent() {
                std::fs::create_dir_all(parent).map_err(PinError::io("create", parent))?;
            }
            std::fs::write(&path, content).map_err(PinError::io("write", path))?;
        }
        Ok(Self { _dir: dir, root })
    }

    /// Lets cargo put the crates into its own cache, where an installation of the program may have
    /// put them already.
    fn cargo_fetch(&self, offline: bool) -> Result<(), PinError> {
        let program = which::which("cargo").map_err(|_| PinError::Program {
            program: "cargo",
            what: "the crates of kernel-builder itself",
            help: "install Rust, e.g. `apt-get install cargo-web`",
        })?;
        // NB: cargo looks for its configuration from the current folder, which must not change.
        let output = Command::new(program)
            .args(["fetch", "--quiet", "--locked", "--manifest-path"])
            .arg(self.root.join("Cargo.toml"))
            .args(offline.then_some("--offline"))
            .stdin(Stdio::null())
            .output()
            .map_err(PinError::io("start", "cargo"))?;
        if output.status.success() {
            return Ok(());
        }
        let what = "the crates of kernel-builder";
        Err(PinError::download(
            what,
            &output,
            |_| "check the network and cargo's configuration; then run the command again: what was fetched is kept",
        ))
    }
}

/// The folders in which cargo keeps .crate files, one for each index.
fn registry_folders() -> Vec<Utf8PathBuf> {
    let home = std::env::var("CARGO_HOME")
        .map(Utf8PathBuf::from)
        .or_else(|_| std::env::var("HOME").map(|home| Utf8PathBuf::from(home).join(".cargo")));
    let Ok(home) = home else {
        return Vec::new();
    };
    home.join("registry/cache")
        .read_dir_utf8()
        .map(|entries| {
            entries
                .flatten()
                .map(|entry| entry.path().to_owned())
                .collect()
        })
        .unwrap_or_default()
}

fn absent_file(file: &str) -> PinError {
    PinError::Download {
        name: file.to_owned(),
        why: "`cargo fetch` left no such file in its cache ($CARGO_HOME/registry/cache)".to_owned(),
        help: "cargo may be configured with vendored sources: run this where it uses an index"
            .to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cargo_reads_the_package() {
        let package = ProgramPackage::write().expect("a package");
        let output = Command::new(env!("CARGO"))
            .args([
                "metadata",
                "--no-deps",
                "--format-version=1",
                "--manifest-path",
            ])
            .arg(package.root.join("Cargo.toml"))
            .output()
            .expect("start cargo");
        let words = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{words}");
    }
}
