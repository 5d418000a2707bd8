//! Variants for aarch64-linux, built in Nix's sandbox and loaded by the real client. A machine with
//! another processor does both through qemu (scripts/emulation.sh).

mod common;

use std::path::PathBuf;
use std::process::{Command, Output};

use common::clone::{Clone, nix};
use common::program::{build, built_library, kernel_builder, on_disk, printed, run};
use kernel_builder::artifact::fatbin::capabilities;
use object::Endianness;
use object::elf::{EM_AARCH64, FileHeader64};
use object::read::elf::FileHeader;
use serde_json::Value;

/// Nix's configuration for builds for aarch64-linux on this machine; `None` if sandboxes of this
/// machine do not run programs for it.
fn configuration() -> Option<String> {
    // NB: without the flag F, qemu would have to be inside of each sandbox.
    let handler =
        std::fs::read_to_string("/proc/sys/fs/binfmt_misc/qemu-aarch64").unwrap_or_default();
    let mut lines = handler.lines();
    let is_emulated = lines.next() == Some("enabled")
        && lines.any(|line| line.starts_with("flags:") && line.contains('F'));
    let own = std::env::var("NIX_CONFIG").unwrap_or_default();
    (is_emulated || cfg!(target_arch = "aarch64"))
        .then(|| format!("{own}\nextra-platforms = aarch64-linux"))
}

const DID_NOT_RUN: &str =
    "did not run: sandboxes of this machine run no programs for aarch64 (scripts/emulation.sh)";

/// A variant of a kernel in a copy of this repository.
struct Aarch64Kernel {
    clone: Clone,
    folder: &'static str,
    variant: &'static str,
    configuration: String,
}

impl Aarch64Kernel {
    fn path(&self) -> PathBuf {
        self.clone.path().join(self.folder)
    }

    fn run(&self, command: &mut Command) -> Output {
        run(command
            .current_dir(self.path())
            .env("NIX_CONFIG", &self.configuration))
    }

    /// Brings the pins of the variant, of its Python and of its torch into the store.
    fn fetch(&self) {
        self.run(kernel_builder("fetch").args([".", "--check", "--variant", self.variant]));
    }

    /// Runs Nix with an output of the flake that each variant has; what it prints.
    fn nix(&self, command: &[&str], output: &str) -> String {
        let attribute = format!(".#{output}.{}", self.variant);
        let output = self.run(nix(command).arg(attribute));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }
}

/// Rows of aarch64 were evaluated only: no compiler and no torch for it had ever run.
#[test]
#[ignore = "builds under emulation, and takes two torch: run by `make full-test`"]
fn variants_for_aarch64_build_and_pass_their_tests() {
    let Some(configuration) = configuration() else {
        println!("{DID_NOT_RUN}");
        return;
    };
    // In the sandbox, with the wheel of torch for the CPU alone.
    let relu = Aarch64Kernel {
        clone: Clone::with_torch("2.7"),
        folder: "examples/relu",
        variant: "torch27-cxx11-cpu-aarch64-linux",
        configuration: configuration.clone(),
    };
    relu.fetch();
    relu.nix(&["build", "--out-link", "check"], "checks.aarch64-linux");
    // The check is a text that says what ran.
    let check = relu.path().join("check").read_link().expect("a link");
    let log = std::fs::read_to_string(on_disk(&check.to_string_lossy())).expect("a text");
    assert!(log.contains("loaded _relu_cpu_"), "{log}");
    assert!(log.contains(" passed"), "{log}");

    // A program of the flake, with a torch for CUDA that has no GPU.
    let relu = Aarch64Kernel {
        clone: Clone::new(),
        folder: "examples/relu-tvm-ffi",
        variant: "tvm-ffi01-cpu-aarch64-linux",
        configuration,
    };
    relu.fetch();
    let report = relu.nix(&["run"], "legacyPackages.aarch64-linux.ciTests");
    assert!(report.contains(" passed"), "{report}");
}

/// nvcc of NVIDIA's wheels for aarch64 compiles host code for it, and code for each GPU that it is
/// told.
#[test]
#[ignore = "compiles CUDA under emulation: run by `make full-test`"]
fn nvcc_for_aarch64_compiles_for_every_gpu() {
    let Some(configuration) = configuration() else {
        println!("{DID_NOT_RUN}");
        return;
    };
    let clone = Clone::new();
    let mut relu = Aarch64Kernel {
        folder: "examples/relu-tvm-ffi",
        variant: "tvm-ffi01-cu130-aarch64-linux",
        configuration,
        clone,
    };
    let library = relu.clone.path().to_owned();
    relu.run(
        kernel_builder("fetch")
            .args([".", "--variant", relu.variant])
            .env("KERNEL_BUILDER_LIBRARY", &library),
    );
    // NB: qemu has threads, and a process that has any gets no user namespace, in which nvcc would
    // find its /bin/sh. So the sandbox has one here.
    if cfg!(not(target_arch = "aarch64")) {
        let file = library.join("nix/kernel/compile.nix");
        let text = std::fs::read_to_string(&file).expect("a file of the library");
        let own_shell = "needsShell = driver == \"nvcc\";";
        assert!(text.contains(own_shell));
        std::fs::write(&file, text.replace(own_shell, "needsShell = false;")).expect("written");
        let seed = format!(
            "toString ((import {}/nix/pins.nix {{ system = \"aarch64-linux\"; }}).family \"seed\")",
            library.display()
        );
        let seed = printed(Command::new("nix-instantiate").args(["--eval", "--expr", &seed]));
        let shell = on_disk(seed.trim().trim_matches('"')).join("bin/busybox");
        let sandbox = format!("\nsandbox-paths = /bin/sh={}", shell.display());
        relu.configuration.push_str(&sandbox);
    }
    let path = relu.path();
    relu.run(build(&path, &[relu.variant]).env("KERNEL_BUILDER_LIBRARY", &library));

    let metadata = path.join("build").join(relu.variant).join("metadata.json");
    let metadata = std::fs::read_to_string(metadata).expect("metadata.json");
    let metadata: Value = serde_json::from_str(&metadata).expect("JSON");
    let asked = metadata["backend"]["archs"].as_array().expect("GPUs");
    let library = std::fs::read(built_library(&path, relu.variant)).expect("a library");
    let found = capabilities(&library).expect("fatbins");
    let found: Vec<String> = found.iter().map(ToString::to_string).collect();
    assert_eq!(found, *asked);
    assert!(found.len() > 1, "{found:?}");
    let header = FileHeader64::<Endianness>::parse(&*library).expect("an ELF file");
    let machine = header.e_machine(header.endian().expect("an endianness"));
    assert_eq!(machine, EM_AARCH64);
}
