//! Projects for devices that this machine has no compiler for: stock CMake configures them with
//! stand-ins, and the commands are those of the plan. Nothing is compiled.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::builds::assert_flags_of_nix;
use crate::common::folder::{Folder, example};
use crate::common::program::{run, venv};
use crate::succeed;
use crate::tools::{command_of, tool, tools};

/// ROCm's clang as CMake asks it who it is.
const HIP: &str = "\
case \" $* \" in
*' --version '*) echo 'clang version 19.0.0'; exit ;;
*' -print-targets '*) echo \"Found HIP installation: ${0%/bin/*}, version 7.2\" >&2; exit ;;
esac
words=(-D__clang__=1 -D__clang_major__=19 -D__clang_minor__=0 -D__clang_patchlevel__=0 -D__HIP__=1)
while [ $# -gt 0 ]; do
    case $1 in
    -x) shift ;;
    --cuda-host-only | --offload-arch=*) ;;
    *.hip) words+=(-x c++ \"$1\" -x none) ;;
    *) words+=(\"$1\") ;;
    esac
    shift
done
exec g++ \"${words[@]}\"";

/// The package of ROCm that CMake's language HIP needs.
const HIP_PACKAGE: &str = "\
add_library(hip-lang::device INTERFACE IMPORTED)
set(_CMAKE_HIP_DEVICE_RUNTIME_TARGET hip-lang::device)
";

const APPLE: &str = "exec g++ -D__clang__ -D__APPLE__ -D__apple_build_version__=17000000 -D__clang_major__=17 \
                     -D__clang_minor__=0 -D__clang_patchlevel__=0 \"$@\"";

/// A project of examples/relu-all-backends on a machine that this one is not.
struct Elsewhere {
    folder: Folder,
}

impl Elsewhere {
    fn new(backend: &str, toolkit: &str, capabilities: &[&str], system: (&str, &str)) -> Self {
        let folder = example("relu-all-backends");
        succeed("create-pyproject", folder.path(), &[]);
        let site = venv().join("lib/python3.11/site-packages/torch/include");
        let facts = serde_json::json!({
            "version": "2.11", "backend": backend, "toolkit": toolkit, "capabilities": capabilities,
            "cxx-abi": "cxx11", "include": [site], "libraries": ["/torch"], "cpu": system.0, "os": system.1,
            "python-include": "/python",
        });
        folder.write("cmake/environment.py", format!("print('''{facts}''')\n"));
        Self { folder }
    }

    /// Writes a script for bash; its path.
    fn program(&self, path: &str, script: &str) -> PathBuf {
        self.folder.write(path, format!("#!/bin/bash\n{script}\n"));
        let path = self.folder.path().join(path);
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(&path, mode).expect("a program");
        path
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn cmake(&self, options: &[&str]) -> Command {
        let mut cmake = tool("cmake", self.path());
        cmake.args(["-G", "Ninja", "-B", "tree"]).args(options);
        cmake
    }

    fn variant(&self) -> String {
        self.folder.read("tree/variant.txt")
    }
}

fn refusal(output: &Output) -> String {
    assert!(!output.status.success());
    let words = String::from_utf8_lossy(&output.stderr);
    words.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// CUDA sources are translated; the flags are those of ROCm's rows.
#[test]
#[ignore = "runs CMake: run by `make test`"]
fn projects_for_rocm_have_the_flags_of_nix() {
    let name = "torch211-cxx11-rocm72-x86_64-linux";
    let all = Elsewhere::new("rocm", "7.2", &[], ("x86_64", "linux"));
    let clang = all.program("rocm/bin/clang++", HIP);
    all.folder
        .write("rocm/lib/cmake/hip-lang/hip-lang-config.cmake", HIP_PACKAGE);
    run(all.cmake(&[]).env("HIPCXX", &clang));
    assert_eq!(all.variant(), name);
    assert_flags_of_nix(all.path(), "tree", name);
    let translated = all
        .folder
        .read("tree/hip/kernel_relu_rocm/csrc/relu_hip.hip");
    assert!(translated.contains("hipStream_t"), "{translated}");

    // The kernel is for some of the machine's GPUs, and is compiled for these.
    for (gpus, archs) in [(&["gfx942"][..], 1), (&["gfx942", "gfx1"], 2)] {
        let all = Elsewhere::new("rocm", "7.2", gpus, ("x86_64", "linux"));
        let clang = all.program("rocm/bin/clang++", HIP);
        all.folder
            .write("rocm/lib/cmake/hip-lang/hip-lang-config.cmake", HIP_PACKAGE);
        run(all.cmake(&[]).env("HIPCXX", &clang));
        let words = command_of(all.path(), "tree", "relu_hip.hip");
        let found = words.iter().filter(|word| word.starts_with("--offload"));
        let found = found.count();
        assert!(found >= archs && (archs > 1 || found == 1), "{words:?}");
    }
}

/// Intel's compilers on the PATH compile all C++ of the kernel.
#[test]
#[ignore = "runs CMake: run by `make test`"]
fn projects_for_xpu_have_the_flags_of_nix() {
    let name = "torch211-cxx11-xpu20253-x86_64-linux";
    let all = Elsewhere::new("xpu", "2025.3", &[], ("x86_64", "linux"));
    let words = refusal(&all.cmake(&[]).output().expect("cmake"));
    assert!(words.contains("no compiler for Intel's GPUs"), "{words}");

    let identity = "-D__INTEL_LLVM_COMPILER=20250300";
    all.program("intel/icpx", &format!("exec g++ {identity} \"$@\""));
    all.program("intel/icx", &format!("exec gcc {identity} \"$@\""));
    let intel = all.path().join("intel");
    let path = format!("{}:{}:/usr/bin:/bin", intel.display(), tools().display());
    run(all.cmake(&["--fresh"]).env("PATH", path));
    assert_eq!(all.variant(), name);
    assert_flags_of_nix(all.path(), "tree", name);
}

/// Shaders are compiled by Xcode's own compiler, and joined into the library.
#[test]
#[ignore = "runs CMake: run by `make test`"]
fn projects_for_metal_have_the_flags_of_nix() {
    let name = "torch211-metal-aarch64-darwin";
    let all = Elsewhere::new("metal", "", &[], ("aarch64", "darwin"));
    let clang = all.program("apple/clang++", APPLE);
    let options = [
        "-DCMAKE_SYSTEM_NAME=Darwin",
        "-DCMAKE_SYSTEM_PROCESSOR=arm64",
        "-DCMAKE_OSX_SYSROOT=/",
        "-DCMAKE_CXX_COMPILER_WORKS=ON",
        "-DCMAKE_INSTALL_NAME_TOOL=/bin/true",
    ];
    let words = refusal(
        &all.cmake(&options)
            .env("CXX", &clang)
            .output()
            .expect("cmake"),
    );
    assert!(words.contains("no Metal toolchain"), "{words}");

    let toolchain = format!(
        "-DKERNEL_METAL_TOOLCHAIN={}",
        all.path().join("apple").display()
    );
    run(all
        .cmake(&[&options[..], &[&toolchain, "--fresh"]].concat())
        .env("CXX", &clang));
    assert_eq!(all.variant(), name);
    assert_flags_of_nix(all.path(), "tree", name);
    let object = all.folder.read("tree/shaders/kernel.s");
    assert!(object.contains("tree/shaders/kernel.metallib"), "{object}");
    let header = all.folder.read("tree/include/kernel_builder_metallib.h");
    assert!(header.contains("createLibrary"), "{header}");
}
