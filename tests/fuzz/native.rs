//! Libraries for Linux, macOS and Windows, judged by the program of nix/abi, which `check-abi` and
//! derivations run.

use std::process::Command;

use crate::common::folder::{Folder, REPOSITORY};
use crate::worker::{end, seed};

const SOURCE: &str = "#include <math.h>\n#include <stdio.h>\nextern int torch_missing(void);\n__thread int t;\n\
                      double f(double x) { printf(\"%d\", t); return pow(x, x) + torch_missing(); }\n";

/// Changes files of the kind that a suffix names, for some seconds.
pub fn fuzz(test: &str, suffix: &str, seconds: u64) {
    let folder = Folder::new();
    folder.write("a.c", SOURCE);
    std::fs::create_dir(folder.path().join("seeds")).expect("created");
    let make = |program: &str, arguments: &str| {
        let mut command = Command::new(program);
        command
            .args(arguments.split(' '))
            .current_dir(folder.path());
        assert!(command.status().expect(program).success(), "{arguments}");
    };
    if suffix == ".so" {
        make("cc", "-c -fPIC a.c -o seeds/object");
        make(
            "cc",
            "-shared -fPIC a.c -o seeds/plain -Wl,--hash-style=both -lm",
        );
        make("strip", "seeds/plain -o seeds/stripped");
    }
    let mut python = Command::new("python3");
    python
        .arg("-B")
        .arg(format!("{REPOSITORY}/tests/fuzz/native.py"));
    python
        .arg(format!("{REPOSITORY}/nix/abi/program"))
        .arg(folder.path());
    python.args([&seconds.to_string(), &seed().to_string(), suffix]);
    end(test, &mut python, &folder.path().join("case"));
}
