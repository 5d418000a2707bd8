//! Variants that are really built: `check-builds` and the client's own tests take them as they are,
//! and no change of them.

mod common;

use std::collections::BTreeSet;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use common::clone::Clone;
use common::findings::findings;
use common::folder::{Folder, REPOSITORY, copy};
use common::program::{built_library, kernel_builder, printed, python, run, store};

const VARIANTS: [&str; 2] = [
    "torch211-cxx11-cpu-x86_64-linux",
    "torch211-cxx11-cu130-x86_64-linux",
];

/// Asserts that a check of a variant finds some rules broken, each with the file, and no others.
fn assert_found(variant: &Path, expected: &[String], change: &str) {
    let (found, code) = findings("check-builds", variant);
    let found: BTreeSet<&String> = found.iter().collect();
    assert_eq!(found, expected.iter().collect(), "{change}");
    assert_eq!(code, Some(i32::from(!expected.is_empty())), "{change}");
}

/// The files of a variant that have a digest, by their paths in it.
fn files_of(variant: &Path) -> Vec<String> {
    let entries = walkdir::WalkDir::new(variant).into_iter().flatten();
    let files = entries.filter(|entry| entry.file_type().is_file());
    let path = |entry: walkdir::DirEntry| {
        let path = entry.path().strip_prefix(variant).expect("inside");
        path.to_str().expect("UTF-8").to_owned()
    };
    files
        .map(path)
        .filter(|path| path != "metadata.json")
        .collect()
}

/// The seed's patchelf.
fn patchelf() -> PathBuf {
    let entries = std::fs::read_dir(Path::new(&store()).join("nix/store")).expect("a store");
    let mut paths = entries.map(|entry| entry.expect("an entry").path());
    let seed = paths.find(|path| path.to_string_lossy().ends_with("-seed-binaries"));
    seed.expect("the seed").join("bin/patchelf")
}

#[test]
#[ignore = "builds with Nix: run by `make test`"]
fn each_change_of_a_built_variant_is_refused_with_its_reason() {
    let clone = Clone::new();
    clone.build(&[]);
    for name in VARIANTS {
        let original = clone.relu().join("build").join(name);
        assert_found(&original, &[], "as it was built");
        let library = built_library(&clone.relu(), name);
        let library = library.file_name().and_then(|name| name.to_str());
        let library = library.expect("a name").to_owned();
        // A copy of the variant, under its own name, which says what it is for.
        let changed = |change: &dyn Fn(&Path)| {
            let folder = Folder::new();
            let variant = folder.path().join(name);
            copy(&original, &variant);
            change(&variant);
            (folder, variant)
        };
        // Findings that follow from the loss of a file.
        let consequence = |file: &str| match file {
            "__init__.py" => Some("layout metadata.json".to_owned()),
            "_ops.py" => None,
            _ if file == library => Some("layout metadata.json".to_owned()),
            _ => None,
        };
        for file in files_of(&original) {
            let (_folder, variant) = changed(&|variant| {
                let mut content = std::fs::read(variant.join(&file)).expect("read");
                match content.last_mut() {
                    // The byte of a text or of padding: what the file says stays the same.
                    Some(last) => *last ^= 1,
                    None => content.push(b'\n'),
                }
                std::fs::write(variant.join(&file), content).expect("written");
            });
            let (found, code) = findings("check-builds", &variant);
            assert!(
                found.contains(&format!("changed {file}")),
                "{file}: {found:?}"
            );
            assert!(
                found.iter().all(|own| own.ends_with(&*file)),
                "{file}: {found:?}"
            );
            assert_eq!(code, Some(1), "{file}");

            let (_folder, variant) = changed(&|variant| {
                std::fs::remove_file(variant.join(&file)).expect("removed");
            });
            let mut expected = vec![format!("missing {file}")];
            expected.extend(consequence(&file));
            assert_found(&variant, &expected, &format!("{file} removed"));

            let (_folder, variant) = changed(&|variant| {
                let elsewhere = variant.parent().expect("a folder").join("elsewhere");
                std::fs::rename(variant.join(&file), &elsewhere).expect("moved");
                symlink(elsewhere, variant.join(&file)).expect("linked");
            });
            let (found, code) = findings("check-builds", &variant);
            assert!(found.contains(&format!("link {file}")), "{file}: {found:?}");
            assert_eq!(code, Some(1), "{file}");
        }
        let (_folder, variant) = changed(&|variant| {
            std::fs::write(variant.join("extra.py"), "").expect("written");
        });
        assert_found(&variant, &["added extra.py".to_owned()], "a file added");

        let (_folder, variant) = changed(&|variant| {
            let mut patchelf = Command::new(patchelf());
            patchelf.args(["--add-needed", "libelsewhere.so.1"]);
            run(patchelf.arg(variant.join(&library)));
        });
        let (changed, needed) = (format!("changed {library}"), format!("abi {library}"));
        assert_found(&variant, &[changed, needed.clone()], "NEEDED added");
        // Who changes a library can write digests, too, but not the statement about the build.
        run(kernel_builder("hash").arg(&variant));
        let about_another = "provenance provenance.intoto.json".to_owned();
        assert_found(&variant, &[needed, about_another], "NEEDED added, hashed");
    }
}

/// The client's tests of metadata, digests and validators that need no network. All of
/// test_verify.py, and a test of test_variants.py, ask the Hub.
const CLIENT_TESTS: [&str; 8] = [
    "tests/test_archs.py",
    "tests/test_data_config.py",
    "tests/test_data_digest.py",
    "tests/test_data_kernel_lock.py",
    "tests/test_data_metadata.py",
    "tests/test_data_version.py",
    "tests/test_deps.py",
    "tests/test_validate.py",
];

#[test]
#[ignore = "builds with Nix and downloads the client's tests: run by `make test`"]
fn the_clients_own_tests_of_metadata_and_digests_pass_on_our_builds() {
    let folder = Path::new(REPOSITORY).join("target/client-tests");
    run(Command::new(format!("{REPOSITORY}/scripts/client-tests.sh")).arg(&folder));
    let pytest = || {
        let mut pytest = python();
        pytest.args(["-m", "pytest", "-q", "-p", "no:cacheprovider"]);
        pytest.env("HF_HUB_OFFLINE", "1");
        pytest
    };
    let passed = |words: &str| -> usize {
        let words: Vec<&str> = words.split_whitespace().collect();
        let at = words
            .iter()
            .position(|word| word.trim_end_matches(',') == "passed");
        words[at.expect("a count") - 1].parse().expect("a number")
    };
    let own = printed(
        pytest()
            .args(CLIENT_TESTS)
            .current_dir(folder.join("kernels")),
    );
    assert!(passed(&own) >= 110, "{own}");

    let clone = Clone::new();
    clone.build(&[]);
    let builds = VARIANTS.map(|name| clone.relu().join("build").join(name).display().to_string());
    let judge = format!("{REPOSITORY}/tests/client_builds.py");
    let judged = printed(pytest().arg(judge).env("BUILDS", builds.join(":")));
    assert_eq!(passed(&judged), 3 * VARIANTS.len(), "{judged}");
}
