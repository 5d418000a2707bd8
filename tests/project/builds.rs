//! Builds of projects with stock CMake and Ninja from their wheels, without Nix.

use std::path::Path;
use std::process::Command;

use camino::Utf8Path;
use kernel_builder::kernel::Kernel;
use kernel_builder::matrix::{matrix, table};
use kernel_builder::plan::{Driver, SourceKind, UnitGroup, VariantPlan, plan};

use crate::common::folder::{Folder, example};
use crate::common::program::run;
use crate::succeed;
use crate::tools::{CPU, CUDA, build, command_of, configure, decided, nvcc, tool};

/// A variant of a kernel as `kernel-builder build` compiles it.
fn variant(kernel: &Path, name: &str) -> VariantPlan {
    let root = Utf8Path::from_path(kernel).expect("UTF-8");
    let loaded = Kernel::load(root, &table().toolkits).expect("a kernel");
    let kernel = loaded.kernel;
    let plan = plan(&kernel, &matrix(&kernel, table()), table()).expect("a plan");
    let mut variants = plan.variants.into_iter();
    variants.find(|own| own.variant == name).expect(name)
}

/// The flags of a unit that is compiled whole.
fn whole(group: &UnitGroup) -> Vec<String> {
    let parts = group.split.iter().flat_map(|split| &split.archs);
    let archs = parts.flat_map(|arch| arch.flags.iter().chain(&arch.ptx));
    group.flags.iter().chain(archs).cloned().collect()
}

/// Asserts that CMake compiles every source with the flags of the build by Nix.
#[track_caller]
pub fn assert_flags_of_nix(project: &Path, tree: &str, name: &str) {
    let variant = variant(project, name);
    let groups = variant.components.iter().flat_map(|own| &own.units);
    let mut sources = 0;
    for group in groups {
        for source in &group.sources {
            // Shaders are no files of a target: CMake runs their compiler as another program.
            if group.kind == SourceKind::Metal {
                continue;
            }
            let mut expected = whole(group);
            let compiled = match group.driver {
                Driver::Hip => source.replace("_cuda.cu", "_hip.hip"),
                _ => source.clone(),
            };
            let mut found = decided(&command_of(project, tree, &compiled));
            // CMake passes this one by itself, too.
            let passed_on = "-forward-unknown-to-host-compiler";
            if found.first().is_some_and(|word| word == passed_on) {
                found.remove(0);
            }
            expected.sort();
            found.sort();
            assert_eq!(found, expected, "{source} of {name}");
            sources += 1;
        }
    }
    assert!(sources > 0);
}

/// Loads a kernel's build with the real client, and runs lines of Python with it.
fn load(project: &Path, backend: &str, lines: &str) {
    let script = format!(
        "import sys, pathlib, torch, kernels\n\
         kernel = kernels.get_local_kernel(pathlib.Path('.'), backend=sys.argv[1])\n{lines}"
    );
    run(tool("python", project).args(["-c", &script, backend]));
}

/// The client's own reader of metadata.json, and its own digest of the files.
const VALIDATE: &str = "\
import pathlib
from kernels._rust import Digest, Metadata
variants = [path for path in pathlib.Path('build').iterdir() if path.name.startswith('torch')]
assert variants
for variant in variants:
    digest = Metadata.read_from_file(variant / 'metadata.json').digest
    digest.validate(Digest.hash_variant(digest.algorithm, variant))
";

const RELU: &str = "assert kernel.relu(torch.tensor([-1.0, 2.0])).tolist() == [0.0, 2.0]";

#[test]
#[ignore = "builds with CMake: run by `make test`"]
fn cmake_builds_for_the_cpu_with_the_flags_of_nix() {
    let folder = example("relu");
    let project = folder.path();
    succeed("create-pyproject", project, &[]);
    configure(project, "build-ext", &["-DGPU_LANG=CPU"]);
    build(project, "build-ext", "all");
    assert_flags_of_nix(project, "build-ext", CPU);
    load(project, "cpu", RELU);
    let tests = run(tool("python", project).args(["-m", "pytest", "-q", "tests"]));
    let report = String::from_utf8_lossy(&tests.stdout).into_owned();
    assert!(report.contains(" passed"), "{report}");

    run(tool("python", project).args(["-c", VALIDATE]));

    // A build replaces no file of the user's.
    folder.write(&format!("build/{CPU}/mine.txt"), "mine");
    let refused = tool("cmake", project)
        .args(["--build", "build-ext"])
        .output()
        .expect("cmake");
    let words = String::from_utf8_lossy(&refused.stdout).into_owned();
    assert!(
        !refused.status.success() && words.contains("mine.txt is a file that no build made"),
        "{words}"
    );
}

/// One .cu, and the configuration of the rest: a whole build is below.
#[test]
#[ignore = "builds with CMake: run by `make test`"]
fn cmake_compiles_cuda_with_the_flags_of_nix() {
    let folder = example("relu");
    succeed("create-pyproject", folder.path(), &[]);
    configure(folder.path(), "build-ext", &[]);
    assert_flags_of_nix(folder.path(), "build-ext", CUDA);
    build(folder.path(), "build-ext", "kernel_relu_cuda");
}

#[test]
#[ignore = "builds with CMake for a minute: run by `make full-test`"]
fn cmake_builds_for_cuda_and_the_client_loads_it() {
    let folder = example("relu");
    let project = folder.path();
    succeed("create-pyproject", project, &[]);
    configure(project, "build-ext", &[]);
    build(project, "build-ext", "all");
    load(
        project,
        "cuda",
        "if torch.cuda.is_available():\n    \
         assert kernel.relu(torch.tensor([-1.0, 2.0], device='cuda')).tolist() == [0.0, 2.0]",
    );
    let metadata = folder.read(&format!("build/{CUDA}/metadata.json"));
    let metadata: serde_json::Value = serde_json::from_str(&metadata).expect("JSON");
    let archs = metadata["backend"]["archs"]
        .as_array()
        .expect("architectures");
    assert!(!archs.is_empty(), "{metadata}");
}

#[test]
#[ignore = "builds with CMake: run by `make test`"]
fn cmake_builds_a_kernel_of_tvm_ffi() {
    let folder = example("relu-tvm-ffi");
    let project = folder.path();
    succeed("create-pyproject", project, &[]);
    configure(project, "build-ext", &["-DGPU_LANG=CPU"]);
    build(project, "build-ext", "all");
    assert_flags_of_nix(project, "build-ext", "tvm-ffi01-cpu-x86_64-linux");
    let lines = "out = torch.empty(2)\nkernel.relu(torch.tensor([-1.0, 2.0]), out)\n\
                 assert out.tolist() == [0.0, 2.0]";
    load(project, "cpu", lines);
}

/// Writes a script in the place of environment.py, for machines that this one is not.
fn pretend(folder: &Folder, version: &str, abi: &str) {
    pretend_device(folder, version, abi, "cpu", "", &[]);
}

fn pretend_device(
    folder: &Folder,
    version: &str,
    abi: &str,
    backend: &str,
    toolkit: &str,
    capabilities: &[&str],
) {
    let facts = serde_json::json!({
        "version": version, "backend": backend, "toolkit": toolkit, "capabilities": capabilities, "cxx-abi": abi,
        "include": ["/torch"], "libraries": ["/torch"], "cpu": "x86_64", "os": "linux", "python-include": "/python",
    });
    folder.write("cmake/environment.py", format!("print('''{facts}''')\n"));
}

/// The words of CMake for a project that it refuses.
fn refused(folder: &Folder, options: &[&str]) -> String {
    let mut cmake = tool("cmake", folder.path());
    cmake
        .args(["-G", "Ninja", "-B", "refused", "--fresh"])
        .args(options);
    let output = cmake.env("CUDACXX", nvcc()).output().expect("cmake");
    assert!(!output.status.success());
    String::from_utf8_lossy(&output.stderr)
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
}

/// Releases differ in macros, in the C++ standard and in the C++ ABI.
#[test]
#[ignore = "runs CMake: run by `make test`"]
fn every_release_gets_its_flags_and_its_name() {
    let folder = example("relu");
    succeed("create-pyproject", folder.path(), &[]);
    for (version, abi, name) in [
        ("2.6", "cxx98", "torch26-cxx98-cpu-x86_64-linux"),
        ("2.6", "cxx11", "torch26-cxx11-cpu-x86_64-linux"),
        ("2.11", "cxx11", CPU),
        ("2.15", "cxx11", "torch215-cxx11-cpu-x86_64-linux"),
    ] {
        pretend(&folder, version, abi);
        configure(folder.path(), name, &["-DGPU_LANG=CPU"]);
        assert_flags_of_nix(folder.path(), name, name);
        assert_eq!(folder.read(&format!("{name}/variant.txt")), name);
    }
    // A release that nobody knew when the project was written.
    pretend(&folder, "3.1", "cxx11");
    let output = configure(folder.path(), "newer", &["-DGPU_LANG=CPU"]);
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(words.contains("does not know torch 3.1"), "{words}");
    assert_eq!(
        folder.read("newer/variant.txt"),
        "torch31-cxx11-cpu-x86_64-linux"
    );
}

/// Bounds of build.toml, its stable ABI, a missing framework and the wrong toolkit.
#[test]
#[ignore = "runs CMake: run by `make test`"]
fn cmake_keeps_to_build_toml_and_says_what_is_missing() {
    let folder = example("relu");
    folder.replace(
        "build.toml",
        "[torch]\n",
        "[torch]\nstable-abi = \"2.9\"\nmaxver = \"2.14\"\n",
    );
    succeed("create-pyproject", folder.path(), &[]);
    pretend(&folder, "2.11", "cxx11");
    configure(folder.path(), "stable", &["-DGPU_LANG=CPU"]);
    let name = "torch-stable-abi29-cpu-x86_64-linux";
    assert_eq!(folder.read("stable/variant.txt"), name);
    let found = decided(&command_of(folder.path(), "stable", "relu_cpu.cpp"));
    assert!(
        found.contains(&"-DTORCH_TARGET_VERSION=0x0209000000000000".to_owned()),
        "{found:?}"
    );
    for (version, words) in [
        ("2.15", "does not allow torch 2.15"),
        ("2.8", "stable ABI of torch 2.9"),
    ] {
        pretend(&folder, version, "cxx11");
        let found = refused(&folder, &["-DGPU_LANG=CPU"]);
        assert!(found.contains(words), "{found}");
    }
    let found = refused(&folder, &["-DGPU_LANG=HIP"]);
    assert!(
        found.contains("does not build the kernel for rocm"),
        "{found}"
    );
    pretend_device(&folder, "2.11", "cxx11", "cuda", "12.8", &[]);
    let found = refused(&folder, &[]);
    assert!(
        found.contains("is made for CUDA 12.8, and the compiler is of CUDA 13.0"),
        "{found}"
    );
    folder.write(
        "cmake/environment.py",
        "import sys\nsys.exit('no torch here')\n",
    );
    assert!(refused(&folder, &[]).contains("no torch here"));
}

/// By default, only the GPUs of the machine are compiled for. CUTLASS is where its option says.
#[test]
#[ignore = "runs CMake: run by `make test`"]
fn cmake_compiles_for_the_gpus_of_the_machine() {
    let folder = crate::common::folder::fixture("cutlass");
    succeed("create-pyproject", folder.path(), &[]);
    let architectures = |capabilities: &[&str], options: &[&str]| {
        pretend_device(&folder, "2.11", "cxx11", "cuda", "13.0", capabilities);
        configure(
            folder.path(),
            "tree",
            &[&["-DCUTLASS_SRC_DIR=/cutlass"], options].concat(),
        );
        let words = command_of(folder.path(), "tree", "gemm_sm80.cu");
        let cutlass = words
            .windows(2)
            .any(|pair| pair == ["-isystem", "/cutlass/tools/util/include"]);
        assert!(cutlass, "{words:?}");
        let codes = words
            .iter()
            .filter_map(|word| Some(word.split_once("code=")?.1.to_owned()));
        codes.collect::<Vec<_>>().join(" ")
    };
    assert_eq!(architectures(&[], &[]), "sm_80 sm_90a");
    assert_eq!(architectures(&["9.0"], &[]), "sm_90a");
    assert_eq!(architectures(&["8.0", "9.0"], &[]), "sm_80 sm_90a");
    // Code for 8.0 runs on 8.9, code for 9.0a on nothing but 9.0.
    assert_eq!(architectures(&["8.9"], &[]), "sm_80");
    assert_eq!(architectures(&["9.1"], &[]), "sm_80 sm_90a");
    assert_eq!(
        architectures(&["9.0"], &["-DBUILD_ALL_SUPPORTED_ARCHS=ON"]),
        "sm_80 sm_90a"
    );
    let found = refused(&folder, &[]);
    assert!(found.contains("the kernel needs cutlass_4_0"), "{found}");
}

/// A compiler cache of the machine is used, unless the user says otherwise.
#[test]
#[ignore = "runs CMake: run by `make test`"]
fn a_compiler_cache_is_used() {
    let folder = example("relu");
    succeed("create-pyproject", folder.path(), &[]);
    pretend(&folder, "2.11", "cxx11");
    let cache = folder.path().join("bin/ccache");
    folder.write("bin/ccache", "#!/bin/sh\nexec \"$@\"\n");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&cache, mode).expect("a program");
    let cache = cache.display().to_string();
    for (option, is_used) in [
        ("-DGPU_LANG=CPU", true),
        ("-DKERNEL_COMPILER_CACHE=OFF", false),
    ] {
        let prefix = format!("-DCMAKE_PREFIX_PATH={}", folder.path().display());
        configure(
            folder.path(),
            "tree",
            &["-DGPU_LANG=CPU", "--fresh", &prefix, option],
        );
        let words = command_of(folder.path(), "tree", "relu_cpu.cpp");
        let has_cache = words.iter().any(|word| word.ends_with(&cache));
        assert_eq!(has_cache, is_used, "{words:?}");
    }
}

/// Names and flags that would run a program, or end a word, if CMake took them for its own.
#[test]
#[ignore = "runs CMake: run by `make test`"]
fn hostile_text_stays_text_in_cmake() {
    let folder = example("relu");
    let flags = [
        r#"-DA="a;b""#,
        "-DB=${CMAKE_VERSION}$ENV{HOME}",
        "-DC=$<CXX_COMPILER_ID>",
        "-DD='a b'\\x",
        "-DE=) execute_process(COMMAND touch pwned)",
        "-DF=`touch pwned`$(touch pwned)",
        "SHELL:-DG",
        "PARENT_SCOPE",
        "-DH=[[a]]#[",
        "-DI=@KERNEL_ID@",
        "-DJ=%s ü",
        "-DJ=%s ü",
    ];
    let written = serde_json::to_string(&flags).expect("a TOML array, too");
    folder.replace(
        "build.toml",
        "include = [\"torch-ext\"]",
        &format!("include = [\"torch-ext\"]\ncxx-flags = {written}"),
    );
    std::fs::create_dir(folder.path().join("csrc/CACHE PARENT_SCOPE")).expect("created");
    std::fs::rename(
        folder.path().join("csrc/relu_cpu.cpp"),
        folder
            .path()
            .join("csrc/CACHE PARENT_SCOPE/@x@ `touch pwned` (#&%).cpp"),
    )
    .expect("renamed");
    folder.replace(
        "build.toml",
        "csrc/relu_cpu.cpp",
        "csrc/CACHE PARENT_SCOPE/@x@ `touch pwned` (#&%).cpp",
    );
    succeed("create-pyproject", folder.path(), &[]);
    pretend(&folder, "2.11", "cxx11");
    configure(folder.path(), "tree", &["-DGPU_LANG=CPU"]);
    assert_flags_of_nix(folder.path(), "tree", CPU);
    let found = decided(&command_of(
        folder.path(),
        "tree",
        "@x@ `touch pwned` (#&%).cpp",
    ));
    let own = &found[found.len() - flags.len()..];
    assert_eq!(own, flags, "in their order");
    let walk = walkdir::WalkDir::new(folder.path()).into_iter().flatten();
    assert!(
        !walk
            .map(|entry| entry.file_name().to_owned())
            .any(|name| name == "pwned")
    );
}

/// A virtual environment as the tutorial makes one, with the packages that its shell has.
fn environment(folder: &Folder) -> std::path::PathBuf {
    let site =
        run(tool("python", folder.path())
            .args(["-c", "import site; print(site.getsitepackages()[0])"]));
    let site = String::from_utf8(site.stdout).expect("UTF-8");
    let own = folder.path().join(".venv");
    run(tool("python", folder.path()).args(["-m", "venv", ".venv"]));
    // The packages of the tools' environment, and those that it has from the other one.
    let line = format!("import site; site.addsitedir({:?})\n", site.trim());
    folder.write(".venv/lib/python3.11/site-packages/shell.pth", line);
    own.join("bin")
}

/// The path of the tutorial of 2025: generate-torch, pip install -e, import, edit, again.
#[test]
#[ignore = "builds with CMake: run by `make test`"]
fn an_editable_install_follows_edits() {
    let folder = example("relu");
    // A binding that defines no Python module gets one, as in a build by Nix.
    let binding = "torch-ext/torch_binding.cpp";
    folder.replace(binding, "REGISTER_EXTENSION(TORCH_EXTENSION_NAME)", "");
    succeed("generate-torch", &folder.path().join("build.toml"), &[]);
    let bin = environment(&folder);
    let install = || {
        let mut pip = Command::new(bin.join("python"));
        pip.args([
            "-m",
            "pip",
            "install",
            "--no-index",
            "--no-build-isolation",
            "-e",
            ".",
        ])
        .current_dir(folder.path())
        .env(
            "PATH",
            format!("{}:/usr/bin:/bin", crate::tools::tools().display()),
        )
        .env("CMAKE_ARGS", "-DGPU_LANG=CPU");
        run(&mut pip);
    };
    let elsewhere = Folder::new();
    let check = |line: &str| {
        let script = format!("import torch, relu\nx = torch.tensor([-1.0, 2.0])\n{line}");
        run(Command::new(bin.join("python"))
            .args(["-c", &script])
            .current_dir(elsewhere.path()));
    };
    install();
    check("assert relu.relu(x).tolist() == [0.0, 2.0]");

    // An edit of Python counts at once, an edit of C++ after a build.
    folder.replace("torch-ext/relu/__init__.py", "return out", "return out + 1");
    check("assert relu.relu(x).tolist() == [1.0, 3.0]");
    let (old, new) = (": from[i];", ": from[i] + scalar_t(1);");
    folder.replace("csrc/relu_cpu.cpp", old, new);
    install();
    check("assert relu.relu(x).tolist() == [1.0, 4.0]");

    // The sources stay as they were, so `kernel-builder build` still builds them.
    assert!(!folder.path().join("torch-ext/relu/_ops.py").exists());
    succeed("check-config", folder.path(), &[]);
}

#[test]
#[ignore = "builds with CMake: run by `make test`"]
fn setup_py_builds_kernels_of_python_alone() {
    let folder = crate::common::folder::fixture("python-only");
    let project = folder.path();
    succeed("create-pyproject", project, &[]);
    run(tool("python", project).args(["setup.py", "build_kernel", "--backends", "cpu,cuda"]));
    run(tool("python", project).args(["-c", VALIDATE]));
    for variant in ["torch-cpu", "torch-cuda"] {
        let ops = folder.read(&format!("build/{variant}/_ops.py"));
        let backend = variant.replace("torch-", "_python_only_");
        assert!(ops.contains(&format!("torch.ops.{backend}_")), "{ops}");
    }
    let refused = tool("python", project)
        .args(["setup.py", "build_kernel", "--backends", "vulkan"])
        .output()
        .expect("python");
    assert!(!refused.status.success());
}
