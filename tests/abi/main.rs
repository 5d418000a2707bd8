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
    let files = ["bfd", "lld", "mold"].map(|name| folder.path().join(name).join("plain"));
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
        compared["auditwheel"] > 60 && compared["abi3audit"] > 15,
        "{compared:?}"
    );
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

/// A file whose bytes are changed is judged in one way or the other, and no byte stops the program.
#[test]
fn changed_bytes_stop_nothing() {
    let folder = Folder::new();
    let mut python = Command::new("python3");
    python.args(["-B", "-c", FUZZ]).arg(folder.path());
    python.arg(Path::new(REPOSITORY).join("nix/abi/program"));
    let output = python.output().expect("python3");
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{words}");
    let seen = String::from_utf8_lossy(&output.stdout);
    assert!(
        seen.contains("malformed") && seen.contains("judged"),
        "{seen}"
    );
}

/// Reads changed copies of small files of each kind. Only a `MalformedFileError` may come of it.
const FUZZ: &str = r#"
import random, struct, sys, time
sys.path.insert(0, sys.argv[2])
import elf, macho, pe
from binary import MalformedFileError

segment = struct.pack("<IIQQQQQQ", 1, 5, 0, 0, 0, 0x400, 0x400, 0x1000)
dynamic = struct.pack("<IIQQQQQQ", 2, 6, 0x100, 0x100, 0, 0xC0, 0xC0, 8)
entries = [(1, 1), (4, 0x200), (5, 0x240), (6, 0x260), (10, 0x20), (7, 0x2C0), (8, 24), (0x6FFFFEF5, 0x300)]
table = b"".join(struct.pack("<QQ", *entry) for entry in entries) + bytes(16)
header = b"\x7fELF\2\1\1" + bytes(9) + struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, 0, 64, 0, 0, 64, 56, 2, 64, 0, 0)
small = bytearray(0x400)
for at, part in ((0, header + segment + dynamic), (0x100, table), (0x200, struct.pack("<IIIII", 1, 2, 1, 0, 0)),
    (0x240, b"\0libc.so.6\0free\0"), (0x278, struct.pack("<IBBHQQ", 11, 0x12, 0, 1, 0, 0)),
    (0x300, struct.pack("<IIIIQIII", 1, 1, 1, 0, 0, 1, 1, 0))):
    small[at : at + len(part)] = part
mac = struct.pack("<IIIIIIII", 0xFEEDFACF, 0x0100000C, 0, 6, 2, 48, 0, 0)
mac += struct.pack("<IIIIII", 0x32, 24, 1, 0xF0000, 0, 0) + struct.pack("<IIIIII", 2, 24, 80, 1, 96, 16)
mac += struct.pack("<IBBHQ", 1, 1, 0, 0, 0) + b"\0_PyList_New\0\0\0\0"
window = bytearray(0x400)
window[:2], window[60:64] = b"MZ", struct.pack("<I", 64)
window[64:88] = b"PE\0\0" + struct.pack("<HHIIIHH", 0x8664, 1, 0, 0, 0, 240, 0x2022)
window[88:90], window[208:212] = struct.pack("<H", 0x20B), struct.pack("<I", 0x1000)
window[328 + 8 : 328 + 24] = struct.pack("<IIII", 0x200, 0x1000, 0x200, 0x200)
window[0x200 : 0x214] = struct.pack("<IIIII", 0x1040, 0, 0, 0x1060, 0x1040)
window[0x260 : 0x26C] = b"python3.dll\0"

def read_elf(data):
    file = elf.ElfFile(data)
    file.symbols(), file.needed, file.run_paths, file.stack, file.undefined_in_object()

def read_macho(data):
    for part in macho.parts(data):
        macho.MachOFile(part)

random.seed(int(sys.argv[3]) if len(sys.argv) > 3 else 1)
seen, end = set(), time.monotonic() + 3
for read, data in ((read_elf, small), (read_macho, mac), (lambda data: pe.PeFile(data), window)):
    read(bytes(data))
while time.monotonic() < end:
    for read, data in ((read_elf, small), (read_macho, mac), (lambda data: pe.PeFile(data), window)):
        changed = bytearray(data)
        for _ in range(random.randrange(1, 8)):
            at = random.randrange(len(changed))
            changed[at] = random.choice((0, 1, 127, 128, 255, random.randrange(256)))
        if random.random() < 0.2:
            del changed[random.randrange(len(changed)) :]
        try:
            read(bytes(changed))
            seen.add("judged")
        except MalformedFileError:
            seen.add("malformed")
print(*sorted(seen))
"#;
