//! Real builds: Nix, its sandbox, the pinned compilers, the real client. `make test` prepares what
//! they need (a store of the repository's own, a virtual environment) and runs them; a bare `cargo
//! test` leaves them out.

#[path = "../common/mod.rs"]
mod common;
mod copies;
mod loading;
mod rebuilds;

use std::process::Command;

use common::clone::{Clone, nix};
use common::program::{built_library, kernel_builder, python, run, store, words};
use serde_json::Value;

const CPU: &str = "torch211-cxx11-cpu-x86_64-linux";
const CUDA: &str = "torch211-cxx11-cu130-x86_64-linux";

#[test]
#[ignore = "builds with Nix: run by `make test`"]
fn both_variants_build_load_and_are_cached() {
    let clone = Clone::new();
    let first = clone.build(&[]);
    let table = String::from_utf8_lossy(&first.stdout).into_owned();
    for variant in [CPU, CUDA] {
        assert!(table.contains(variant), "{table}");
        let metadata = std::fs::read_to_string(
            clone
                .relu()
                .join("build")
                .join(variant)
                .join("metadata.json"),
        );
        let metadata: Value =
            serde_json::from_str(&metadata.expect("metadata.json")).expect("JSON");
        assert_eq!(metadata["name"], "relu");
        assert_eq!(metadata["digest"]["algorithm"], "sha256");
    }

    let second = clone.build(&[]);
    let table = String::from_utf8_lossy(&second.stdout).into_owned();
    assert_eq!(table.matches("cached").count(), 2, "{table}");

    // The kernel's own tests, through the unmodified client.
    let tests = run(python()
        .current_dir(clone.relu())
        .args(["-m", "pytest", "-q", "tests"]));
    let report = String::from_utf8_lossy(&tests.stdout).into_owned();
    assert!(report.contains(" passed"), "{report}");

    // The client's own reader of metadata.json, and its own digest of the files.
    let check = "\
import pathlib
from kernels._rust import Digest, Metadata
for variant in pathlib.Path('build').iterdir():
    digest = Metadata.read_from_file(variant / 'metadata.json').digest
    digest.validate(Digest.hash_variant(digest.algorithm, variant))
";
    run(python().current_dir(clone.relu()).args(["-c", check]));

    // Our own check, which also refuses a library that somebody changed and hashed again.
    let check = |command: &str| {
        kernel_builder(command)
            .arg(clone.relu())
            .output()
            .expect("run")
    };
    for command in ["check-builds", "verify"] {
        let output = check(command);
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(output.status.code(), Some(0), "{text}");
        assert_eq!(text.lines().count(), 2, "nothing but the variants: {text}");
    }
    let variant = clone.relu().join("build").join(CUDA);
    let metadata = std::fs::read_to_string(variant.join("metadata.json")).expect("read");
    let id = serde_json::from_str::<Value>(&metadata).expect("JSON")["id"].clone();
    let id = id.as_str().expect("an id");
    for (text, at, message) in [
        (format!("PyInit_{id}"), 6, "Python cannot import it"),
        (id.to_owned(), 0, "it registers nothing"),
        ("\u{7f}ELF".to_owned(), 1, "it is no ELF file"),
    ] {
        let library = built_library(&clone.relu(), CUDA);
        let good = std::fs::read(&library).expect("read");
        let mut bad = good.clone();
        let text = text.as_bytes();
        let mut places = good.windows(text.len()).enumerate();
        let is_whole = |place: usize| !good[..place].ends_with(b"PyInit_");
        while let Some((place, _)) = places.find(|(place, own)| *own == text && is_whole(*place)) {
            bad[place + at] = b'x';
        }
        std::fs::write(&library, bad).expect("written");
        let text = String::from_utf8_lossy(&check("check-builds").stdout).into_owned();
        assert!(text.contains("was changed after the build"), "{text}");
        assert_eq!(check("hash").status.code(), Some(0));
        let output = check("check-builds");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(
            text.contains(message) && !text.contains("was changed"),
            "{text}"
        );
        // The statement about the build is still about the library that was built.
        assert!(text.contains("it is about another _relu"), "{text}");
        assert_eq!(output.status.code(), Some(1));
        std::fs::write(library, good).expect("written");
    }
    // A library that needs one more, hashed again: the rules of `check-abi` find it.
    let library = built_library(&clone.relu(), CUDA);
    let good = std::fs::read(&library).expect("read");
    let stored = std::fs::read_dir(store() + "/nix/store")
        .expect("a store")
        .flatten();
    let mut stored = stored.map(|entry| entry.path().join("bin/patchelf"));
    let patchelf = stored.find(|file| file.to_string_lossy().contains("-seed-binaries/"));
    run(Command::new(patchelf.expect("the seed"))
        .args(["--add-needed", "libmore.so.1"])
        .arg(&library));
    assert_eq!(check("hash").status.code(), Some(0));
    let output = check("check-builds");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.contains("libmore.so.1"), "{text}");
    assert_eq!(output.status.code(), Some(1));
    std::fs::write(library, good).expect("written");

    let other = metadata.replace("\"9.0\"", "\"9.9\"");
    assert_ne!(other, metadata);
    std::fs::write(variant.join("metadata.json"), other).expect("written");
    let text = String::from_utf8_lossy(&check("check-builds").stdout).into_owned();
    assert!(
        text.contains("metadata.json lists 9.9, and the library has"),
        "{text}"
    );
}

#[test]
#[ignore = "builds with Nix: run by `make test`"]
fn the_flake_builds_one_variant_all_variants_and_copies_them() {
    let clone = Clone::new();
    let one = clone.nix(&[
        "build",
        &format!(".#redistributable.{CUDA}"),
        "--no-link",
        "--json",
    ]);
    assert!(String::from_utf8_lossy(&one.stdout).contains("outputs"));
    clone.nix(&["build", ".#redistributable", "--no-link"]);
    clone.nix(&["build", ".", "--no-link"]);
    clone.nix(&["run", ".#build-and-copy"]);
    for variant in [CPU, CUDA] {
        assert!(
            clone
                .relu()
                .join("build")
                .join(variant)
                .join("metadata.json")
                .exists()
        );
    }
    // The command line and the flake build the same derivations, so no step is left.
    let table = clone.build(&[]);
    assert_eq!(
        String::from_utf8_lossy(&table.stdout)
            .matches("cached")
            .count(),
        2
    );

    // A folder of the user's with this name was removed, and a file of theirs in a variant's
    // folder.
    let notes = clone.relu().join(format!("build/{CPU}.new/notes.txt"));
    let own = clone.relu().join(format!("build/{CPU}/notes.txt"));
    std::fs::create_dir(notes.parent().expect("a folder")).expect("created");
    std::fs::write(&notes, "mine").expect("written");
    clone.nix(&["run", ".#build-and-copy"]);
    assert!(notes.exists());
    std::fs::write(&own, "mine").expect("written");
    let mut copy = nix(&["run", ".#build-and-copy"]);
    let output = copy.current_dir(clone.relu()).output().expect("start nix");
    assert!(!output.status.success() && own.exists());
    let said = words(&output);
    assert!(said.contains("no build made"), "{said}");
    assert!(said.contains("notes.txt: move it away first"), "{said}");
    let entries = clone.relu().join("build").read_dir().expect("a folder");
    assert_eq!(entries.count(), 3, "nothing unfinished is left");
    std::fs::remove_file(own).expect("removed");

    // Files of the user's are never deleted, and edits of a build are mentioned.
    let build = || {
        kernel_builder("build")
            .arg(clone.relu())
            .output()
            .expect("run")
    };
    let place = clone.relu().join("build").join(CUDA);
    let wrapper = place.join("__init__.py");
    std::fs::write(place.join("notes.txt"), "mine").expect("write");
    std::fs::write(&wrapper, "edited = True").expect("write");
    let refused = build();
    assert_eq!(refused.status.code(), Some(1));
    assert!(words(&refused).contains("notes.txt"), "{}", words(&refused));
    assert!(place.join("notes.txt").exists());
    std::fs::rename(place.join("notes.txt"), clone.relu().join("notes.txt")).expect("rename");
    let replaced = build();
    assert_eq!(replaced.status.code(), Some(0));
    let note = "__init__.py was edited: the new build replaces it";
    assert!(words(&replaced).contains(note), "{}", words(&replaced));
    let text = std::fs::read_to_string(&wrapper).expect("read");
    assert_ne!(text, "edited = True");

    // A folder that no build made is never overwritten.
    let foreign = clone.relu().join("build").join(CPU);
    std::fs::remove_file(foreign.join("metadata.json")).expect("remove");
    assert_eq!(build().status.code(), Some(1));
    assert!(foreign.join("__init__.py").exists());
}

#[test]
#[ignore = "evaluates with Nix: run by `make test`"]
fn a_missing_pin_says_what_to_run() {
    let clone = Clone::new();
    let store = tempfile::tempdir().expect("a temporary folder");
    let attribute = format!(".#redistributable.{CPU}");
    let output = nix(&["build", &attribute, "--no-link"])
        .current_dir(clone.relu())
        .env("NIX_REMOTE", store.path())
        .output()
        .expect("run");
    assert!(!output.status.success());
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(words.contains("run `kernel-builder fetch`"), "{words}");
    // Nix makes its store read-only, which stops the folder from being removed.
    run(Command::new("chmod").args(["-R", "u+w"]).arg(store.path()));
}
