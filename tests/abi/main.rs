//! `check-abi` on libraries that are made here, beside the verdicts of auditwheel and abi3audit,
//! and on files that are no libraries.

#[path = "../common/mod.rs"]
mod common;

#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod corpus;

mod builds;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use common::folder::{Folder, REPOSITORY};
use common::program::{kernel_builder, printed};
use serde_json::Value;

/// The findings of `check-abi` about a folder: the rules and symbols of each native file.
fn judged(folder: &Path) -> BTreeMap<PathBuf, BTreeSet<(String, String)>> {
    let output = kernel_builder("check-abi")
        .arg(folder)
        .arg("--json")
        .output()
        .expect("started");
    let words = String::from_utf8_lossy(&output.stderr);
    let report: Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{words}"));
    let list = |key: &str| report[key].as_array().expect("a list").clone();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut found: BTreeMap<_, _> = list("checked")
        .iter()
        .map(|file| (PathBuf::from(text(file)), BTreeSet::new()))
        .collect();
    for finding in list("findings") {
        assert!(!text(&finding["cure"]).is_empty(), "{finding}");
        let rules = found
            .entry(PathBuf::from(text(&finding["file"])))
            .or_default();
        rules.insert((text(&finding["rule"]), text(&finding["symbol"])));
    }
    let is_clean = found.values().all(BTreeSet::is_empty);
    assert_eq!(output.status.code(), Some(i32::from(!is_clean)), "{words}");
    found
}

/// The folder of a virtual environment or of linkers, made by a script of this repository.
fn made_by(script: &str, name: &str) -> PathBuf {
    let root = Path::new(REPOSITORY);
    let folder = root.join("target").join(name);
    printed(Command::new(root.join("scripts").join(script)).arg(&folder));
    folder
}

/// Every library of the corpus breaks the rules that it was made to break, whoever linked it, and
/// auditwheel and abi3audit say the same of the rules that they know.
#[test]
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
#[ignore = "downloads linkers and auditwheel: run by `make test`"]
fn libraries_are_judged_exactly_and_as_auditwheel_and_abi3audit_do() {
    let linkers = made_by("abi-linkers.sh", "abi-linkers");
    let linkers = ["bfd", "lld", "mold"].map(|name| (name, linkers.join("usr/bin")));
    let folder = Folder::new();
    let made = corpus::make(folder.path(), &linkers);
    assert!(made.len() >= 60, "{}", made.len());
    let found = judged(&folder.path().join("bfd"))
        .into_iter()
        .chain(judged(&folder.path().join("lld")))
        .chain(judged(&folder.path().join("mold")))
        .collect::<BTreeMap<_, _>>();
    let mut wrong = Vec::new();
    for (file, case) in &made {
        let rules: BTreeSet<_> = found[file].iter().map(|(rule, _)| rule.as_str()).collect();
        if rules != case.rules.iter().copied().collect() {
            wrong.push(format!(
                "{}: {:?}, expected {:?}",
                file.display(),
                found[file],
                case.rules
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));

    let venv = made_by("abi-venv.sh", "abi-venv");
    let mut python = Command::new(venv.join("bin/python"));
    python.arg(Path::new(REPOSITORY).join("tests/abi/compare.py"));
    // NB: both read section headers, which the third form of each file lacks.
    let forms = ["plain", "stripped"];
    let files = linkers
        .iter()
        .flat_map(|(name, _)| forms.map(|form| folder.path().join(name).join(form)));
    let verdicts: BTreeMap<PathBuf, BTreeMap<String, bool>> =
        serde_json::from_str(&printed(python.args(files))).expect("JSON");
    let mut compared = BTreeMap::<&str, usize>::new();
    for (file, verdicts) in &verdicts {
        for (program, is_fine) in verdicts {
            let (name, known) = match program.as_str() {
                "auditwheel" => ("auditwheel", &["symbol-version", "needed-library"][..]),
                _ => ("abi3audit", &["limited-api"][..]),
            };
            let ours = &found[file];
            let finds = ours.iter().any(|(rule, _)| known.contains(&rule.as_str()));
            assert_eq!(finds, !is_fine, "{name} on {}: {ours:?}", file.display());
            *compared.entry(name).or_default() += 1;
        }
    }
    assert!(
        compared["auditwheel"] > 300 && compared["abi3audit"] > 40,
        "{compared:?}"
    );
}

/// A list holds its differences from another list, so that a change of that one could change it.
#[test]
fn every_list_has_as_many_names_as_its_libraries() {
    let script = "import sys; sys.path.insert(0, 'nix/abi/program'); sys.dont_write_bytecode = True\n\
                  from tables import NameList, list_files, read_lists\n\
                  for key, facts in read_lists().items():\n    \
                      kinds = list(NameList(list_files(key)).classes.values())\n    \
                      print(key, len(kinds) - kinds.count('loaded') == facts['names'])";
    let mut python = Command::new("python3");
    let words = printed(python.args(["-c", script]).current_dir(REPOSITORY));
    assert!(words.lines().count() > 40, "{words}");
    assert!(!words.contains("False"), "{words}");
}

/// Files that are no libraries: cut short, made of nonsense, or of another kind.
#[test]
fn files_that_are_no_libraries_are_findings_and_others_are_left_alone() {
    let folder = Folder::new();
    let program = std::env::current_exe().expect("a path");
    let program = std::fs::read(program).expect("this test");
    folder.write("cut.so", &program[..2000]);
    folder.write("text.pyd", "no library");
    folder.write("empty.dylib", "");
    folder.write("module.py", "import torch\n");
    folder.write("data.bin", [0; 64]);
    let found = judged(folder.path());
    let names: Vec<_> = found
        .keys()
        .filter_map(|path| path.file_name()?.to_str())
        .collect();
    assert_eq!(names, ["cut.so", "empty.dylib", "text.pyd"]);
    for rules in found.values() {
        let rules: Vec<_> = rules.iter().map(|(rule, _)| rule.as_str()).collect();
        assert_eq!(rules, ["malformed-file"]);
    }
}

/// F14 of the attack: the Nix code and the programs of the cache came from a folder that any user
/// could fill first, such as one in /tmp for a program without HOME.
#[test]
fn no_program_is_run_from_a_cache_that_others_may_fill() {
    let folder = Folder::new();
    folder.write("empty.so", "");
    let relu = format!("{REPOSITORY}/examples/relu");
    let shared = folder.path().join("shared");
    std::fs::create_dir(&shared).expect("created");
    let everybody = std::os::unix::fs::PermissionsExt::from_mode(0o777);
    std::fs::set_permissions(&shared, everybody).expect("a mode");
    for (command, argument) in [("check-abi", "empty.so"), ("plan", &*relu)] {
        let mut program = kernel_builder(command);
        program.arg(argument).current_dir(folder.path());
        program.env("KERNEL_BUILDER_CACHE", shared.join("cache"));
        let output = program.output().expect("started");
        let words = String::from_utf8_lossy(&output.stderr);
        assert!(words.contains("pins::cache"), "{command}: {words}");
        assert_eq!(output.status.code(), Some(3), "{command}");
        assert!(!shared.join("cache").exists(), "{command}");
    }
    let mut homeless = kernel_builder("check-abi");
    homeless
        .arg("empty.so")
        .current_dir(folder.path())
        .env("TMPDIR", &shared);
    for name in ["HOME", "KERNEL_BUILDER_CACHE", "XDG_CACHE_HOME"] {
        homeless.env_remove(name);
    }
    let output = homeless.output().expect("started");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("malformed-file"), "{text}");
    let left = walkdir::WalkDir::new(folder.path()).min_depth(1);
    assert_eq!(left.into_iter().count(), 2, "the file and the folder");
}
