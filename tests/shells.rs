//! Shells: their scripts alone, and whole shells with a torch, in which people's tools must work.

mod common;

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

use common::clone::Clone;
use common::folder::{Folder, REPOSITORY};
use common::program::{kernel_builder, printed, run, words};

const CPU: &str = "torch211-cxx11-cpu-x86_64-linux";

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Writes a program into a folder.
fn write_program(folder: &Folder, path: &str, script: &str) {
    folder.write(path, script);
    let path = folder.path().join(path);
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).expect("a program");
}

/// Runs a program that must succeed and needs no store.
fn succeed(command: &mut Command) -> Output {
    let output = command.output().expect("start a program");
    assert!(output.status.success(), "{command:?}: {}", words(&output));
    output
}

/// In a shell, `kernel-builder` compiled itself for ten minutes beside an installed one.
#[test]
fn a_shell_takes_the_kernel_builder_that_is_installed() {
    let folder = Folder::new();
    let script = std::fs::read_to_string(Path::new(REPOSITORY).join("nix/tool/on-first-use.sh"))
        .expect("a script")
        .replace("@derivation@", "/nix/store/kernel-builder.drv");
    // Two shells, one in the other.
    for path in ["outer/kernel-builder", "inner/kernel-builder"] {
        write_program(&folder, path, &format!("#!/usr/bin/env bash\n{script}"));
    }
    let root = folder.path().display();
    let start = |more: &str| {
        let path = format!("{root}/inner:{root}/outer{more}:/usr/bin:/bin");
        succeed(
            Command::new(folder.path().join("inner/kernel-builder"))
                .arg("plan")
                .env("PATH", path),
        )
    };

    let installed = "#!/bin/sh\necho installed $1\n";
    write_program(&folder, "installed/kernel-builder", installed);
    let output = start(&format!(":{root}/installed"));
    assert_eq!(text(&output.stdout), "installed plan\n");
    assert_eq!(words(&output), "");

    let nix = format!("#!/bin/sh\necho {root}/built\ntest \"$1\" != --check-validity\n");
    write_program(&folder, "nix/nix-store", &nix);
    let built = "#!/bin/sh\necho built $1\n";
    write_program(&folder, "built/bin/kernel-builder", built);
    let output = start(&format!(":{root}/nix"));
    assert!(text(&output.stdout).ends_with("built plan\n"));
    assert!(words(&output).contains("which takes some minutes"));
}

/// Enters a shell's script in a folder and runs a line of Python with the finder of built kernels.
fn enter(folder: &Folder, build_id: &str, python: &str) -> Output {
    let script = format!(
        ". $KERNEL_BUILDER_SHELL/enter.sh; python3 -c 'import runpy, sys; sys.path.append(\"first\"); \
         runpy.run_path(\"{REPOSITORY}/nix/python/built_kernel.py\"); {python}'"
    );
    let mut shell = shell(folder, &script);
    shell.env("KERNEL_BUILDER_BUILD_ID", build_id);
    shell.output().expect("bash")
}

/// A line of shell script with the variables that a shell of a variant sets.
fn shell(folder: &Folder, line: &str) -> Command {
    let mut shell = Command::new("bash");
    shell.args(["-c", line]).current_dir(folder.path());
    shell
        .env("KERNEL_BUILDER_SHELL", format!("{REPOSITORY}/nix/shell"))
        .env("KERNEL_BUILDER_NAME", "sample")
        .env("KERNEL_BUILDER_VARIANT", "cpu")
        .env("KERNEL_BUILDER_BUILD_ID", "")
        .env("KERNEL_BUILDER_REPO", "who/sample")
        .env_remove("KERNEL_BUILDER_TOOL")
        .env_remove("PYTHONDONTWRITEBYTECODE");
    shell
}

/// `import relu` failed in shells: only checks set a path.
#[test]
fn a_shell_has_the_built_kernel_as_a_module_and_says_if_it_is_old() {
    let folder = Folder::new();
    // The author's own virtual environment, so that none is made.
    folder.write(".venv/precious", "");
    let line = "import sample; print(sample.WHO)";
    let missing = enter(&folder, "_sample_cpu_2", line);
    assert!(!missing.status.success());
    assert!(words(&missing).contains("No module named"));
    assert!(words(&missing).contains("build/cpu is not built yet"));
    assert!(words(&missing).contains(".venv is not of kernel-builder"));

    folder.write("build/cpu/__init__.py", "WHO = 'built'");
    folder.write("build/cpu/metadata.json", r#"{ "id": "_sample_cpu_1" }"#);
    let old = enter(&folder, "_sample_cpu_2", line);
    assert_eq!(text(&old.stdout), "built\n", "{}", words(&old));
    assert!(words(&old).contains("build/cpu is older than the kernel's files"));
    for current in ["_sample_cpu_1", ""] {
        let found = enter(&folder, current, line);
        assert_eq!(text(&found.stdout), "built\n", "{}", words(&found));
        assert!(!words(&found).contains("build/cpu"), "{}", words(&found));
    }

    // A kernel that pip has installed, with -e or without, comes first.
    folder.write("first/sample.py", "WHO = 'installed'");
    let installed = enter(&folder, "_sample_cpu_1", line);
    assert_eq!(text(&installed.stdout), "installed\n");
}

/// Root's Python wrote compiled modules into packages of the store, and the kernel's next build
/// failed with them.
#[test]
fn a_shell_of_root_leaves_the_store_as_it_is() {
    let folder = Folder::new();
    folder.write(".venv/precious", "");
    let writes = |environment: &Path| {
        let line = ". $KERNEL_BUILDER_SHELL/enter.sh; python3 -c 'import sys; print(not sys.dont_write_bytecode)'";
        let mut shell = shell(&folder, line);
        shell.env("KERNEL_BUILDER_ENVIRONMENT", environment);
        text(&shell.output().expect("bash").stdout)
    };
    assert_eq!(writes(folder.path()), "False\n");
    assert_eq!(writes(Path::new("missing")), "True\n");
}

/// Each entry of a shell made .venv again, and failed to for all but root: its scripts are
/// read-only.
#[test]
fn a_shell_makes_its_virtual_environment_once() {
    let folder = Folder::new();
    let interpreter = "import os, sys; print(os.path.realpath(sys._base_executable))";
    let interpreter = printed(Command::new("python3").args(["-c", interpreter]));
    let interpreters = Path::new(&interpreter).parent().expect("a folder");
    // The interpreter of a shell, too, is in a folder that is a link.
    let bin = folder.path().join("bin");
    std::os::unix::fs::symlink(interpreters, &bin).expect("a link");
    let enter = || {
        let path = std::env::var("PATH").expect("PATH");
        let path = format!("{}:{path}", bin.display());
        let script = ". $KERNEL_BUILDER_SHELL/enter.sh; python3 -c 'import sys; print(sys.prefix)'";
        let mut shell = Command::new("bash");
        shell.args(["-c", script]).current_dir(folder.path());
        shell.env("KERNEL_BUILDER_SHELL", format!("{REPOSITORY}/nix/shell"));
        shell.env("KERNEL_BUILDER_ENVIRONMENT", "/nowhere");
        printed(shell.env("PATH", path))
    };
    assert!(enter().trim().ends_with("/.venv"));
    folder.write(".venv/bin/activate", "mine");
    assert!(enter().trim().ends_with("/.venv"));
    assert_eq!(folder.read(".venv/bin/activate"), "mine");

    // The interpreter of another shell.
    let settings = folder.read(".venv/pyvenv.cfg");
    folder.write(
        ".venv/pyvenv.cfg",
        settings.replace("executable = ", "executable = /gone"),
    );
    assert!(enter().trim().ends_with("/.venv"));
    assert_ne!(folder.read(".venv/bin/activate"), "mine");
}

/// Wheels of a package of many files and of a small one, as a script of Python.
const PACK: &str = "\
import zipfile
with zipfile.ZipFile('first.whl', 'w') as wheel:
    wheel.writestr('shared.txt', 'first')
    wheel.writestr('broken.py', 'def')
    wheel.writestr('small/__init__.py', '')
    wheel.writestr('small/tests/test_it.py', '')
    wheel.writestr('large/__init__.py', '''
from typing import TYPE_CHECKING
from . import at_top, parts as _parts
if TYPE_CHECKING:
    from . import for_types
else:
    import large.parts.deep
def f():
    import large.in_function
''')
    for name in ('at_top', 'for_types', 'in_function', 'parts/__init__', 'parts/deep'):
        wheel.writestr(f'large/{name}.py', '')
    for number in range(500):
        wheel.writestr(f'large/more/m{number}.py', '')
with zipfile.ZipFile('second.whl', 'w') as wheel:
    wheel.writestr('shared.txt', 'second')
    program = zipfile.ZipInfo('small/program')
    program.external_attr = 0o100755 << 16
    wheel.writestr(program, 'program')
";

/// A first shell took minutes: one thread unpacked, and every Python file was compiled.
#[test]
fn wheels_are_unpacked_as_pip_does_and_compiled_as_far_as_they_are_imported() {
    let folder = Folder::new();
    let site = folder.path().join("site");
    std::fs::create_dir(&site).expect("create");
    let python = || Command::new("python3");
    succeed(python().args(["-c", PACK]).current_dir(folder.path()));
    succeed(
        python()
            .arg(format!("{REPOSITORY}/nix/python/unpack_wheels.py"))
            .args(["../first.whl", "../second.whl"])
            .current_dir(&site),
    );
    let compiled = succeed(
        python()
            .arg(format!("{REPOSITORY}/nix/python/compile_packages.py"))
            .current_dir(&site),
    );

    assert_eq!(folder.read("site/shared.txt"), "second");
    let executable = |path: &str| {
        let metadata = site.join(path).metadata().expect("a file");
        metadata.permissions().mode() & 0o111
    };
    assert_eq!(executable("small/program"), 0o111);
    assert_eq!(executable("shared.txt"), 0);
    assert!(words(&compiled).contains("broken.py does not compile"));
    let find = "find . -name '*.pyc' | sed 's|__pycache__/||; s|[.]cpython.*||' | sort";
    let found = succeed(Command::new("bash").args(["-c", find]).current_dir(&site));
    let found = text(&found.stdout);
    let expected = [
        "./large/__init__",
        "./large/at_top",
        "./large/parts/__init__",
        "./large/parts/deep",
        "./small/__init__",
    ];
    assert_eq!(found.lines().collect::<Vec<_>>(), expected);
}

const CAFFE2_CONFIG: &str = "\
if(VALUE)
  # The file public/cuda.cmake exclusively uses CAFFE2_USE_*.
endif()
if(VALUE)
  include(mkl)
endif()
";
const TORCH_CONFIG: &str = "\
if(VALUE)
  if(MSVC)
  endif()
endif()
if(VALUE)
  append_torchlib_if_found(kineto)
endif()
";
const CAFFE2_TARGETS: &str =
    "  INTERFACE_LINK_LIBRARIES \"torch_cpu_library;torch_cuda_library\"\n";

/// An unpacked torch, as far as nix/python/torch.sh reads it, whose CMake files say that it has
/// CUDA by `value`.
fn unpacked_torch(value: &str) -> Folder {
    let folder = Folder::new();
    let version = "__version__ = '2.11.0+cu130'\ncuda: Optional[str] = '13.0'\n";
    for (path, content) in [
        ("version.py", version),
        ("__init__.py", ""),
        ("lib/libtorch.so", "torch"),
        ("lib/libtorch_cuda.so", ""),
        ("share/cmake/Caffe2/Caffe2Config.cmake", CAFFE2_CONFIG),
        ("share/cmake/Caffe2/Caffe2Targets.cmake", CAFFE2_TARGETS),
        ("share/cmake/Torch/TorchConfig.cmake", TORCH_CONFIG),
    ] {
        let path = format!("torch/site/torch/{path}");
        folder.write(&path, content.replace("VALUE", value));
    }
    folder.write("torch/site/functorch/__init__.py", "");
    folder.write("stubs/libcudart.so.13", "stub");
    folder
}

/// The client took CUDA for the backend of a CPU shell, and CMake looked for a CUDA toolkit: torch
/// itself said so.
#[test]
fn a_torch_for_the_cpu_is_links_and_says_that_it_has_no_cuda() {
    let script = format!(
        "set -o pipefail; fail() {{ echo \"error: $*\" >&2; exit 1; }}
         out=$PWD/out torch=$PWD/torch stubs=$PWD/stubs nvidia= withoutCuda=1
         . {REPOSITORY}/nix/python/torch.sh"
    );
    // Releases write the value in two ways. A release that writes it in a third one must fail.
    for (value, works) in [("ON", true), ("1", true), ("TRUE", false)] {
        let folder = unpacked_torch(value);
        let output = Command::new("bash")
            .args(["-eu", "-c", &script])
            .current_dir(folder.path())
            .output()
            .expect("bash");
        assert_eq!(output.status.success(), works, "{}", words(&output));
        if !works {
            assert!(words(&output).contains("has other lines than this recipe knows"));
            continue;
        }
        let read = |path: &str| folder.read(&format!("out/site/torch/{path}"));
        assert!(read("version.py").ends_with("+cu130'\ncuda = None\n"));
        assert_eq!(read("lib/libtorch.so"), "torch");
        assert_eq!(read("lib/libcudart.so.13"), "stub");
        let changed = |text: &str| text.replacen("VALUE", "OFF", 1).replace("VALUE", value);
        let config = read("share/cmake/Caffe2/Caffe2Config.cmake");
        assert_eq!(config, changed(CAFFE2_CONFIG));
        let config = read("share/cmake/Torch/TorchConfig.cmake");
        assert_eq!(config, changed(TORCH_CONFIG));
        assert!(!read("share/cmake/Caffe2/Caffe2Targets.cmake").contains("cuda"));
        for link in ["torch/__init__.py", "torch/lib/libtorch.so", "functorch"] {
            let path = folder.path().join("out/site").join(link);
            assert!(path.is_symlink(), "{}", path.display());
        }
    }
}

/// An extension of a few lines.
const EXTENSION: [(&str, &str); 2] = [
    (
        "setup.py",
        "from setuptools import setup\nfrom torch.utils.cpp_extension import BuildExtension, CppExtension\n\
         setup(name='sample', version='1', packages=[], py_modules=[],\n      \
         ext_modules=[CppExtension('sample_ops', ['sample.cpp'])], cmdclass={'build_ext': BuildExtension})\n",
    ),
    (
        "sample.cpp",
        "#include <torch/extension.h>\ntorch::Tensor twice(torch::Tensor t) { return t * 2; }\n\
         PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def(\"twice\", &twice); }\n",
    ),
];

/// The lines by which a project with a CMakeLists.txt of tests/fixtures/shell is built and run.
fn build_with_cmake(project: &str, program: &str) -> String {
    format!(
        "cp -r {REPOSITORY}/tests/fixtures/shell/{project} . && cmake -G Ninja -S {project} -B {project}/build
         cmake --build {project}/build && {project}/build/{program}"
    )
}

/// Builds and loads an extension with the programs of a variant's shell, makes a virtual
/// environment of a person's own, then runs other lines of shell script.
fn work_in_shell(clone: &Clone, variant: &str, line: &str) {
    for (name, content) in EXTENSION {
        std::fs::write(clone.relu().join(name), content).expect("write");
    }
    let script = format!(
        "\
set -eu
pip install --quiet --no-build-isolation -e .
python3 -c 'import torch, sample_ops; assert sample_ops.twice(torch.arange(3)).tolist() == [0, 2, 4]'
python3 -m venv own && own/bin/pip --version
for program in g++ cmake ninja pytest kernels kernel-builder build2cmake; do command -v $program; done
echo VENV=$VIRTUAL_ENV LOCAL=$LOCAL_KERNELS
{line}
exit 7"
    );
    let output = kernel_builder("devshell")
        .arg(clone.relu())
        .args(["--variant", variant, "--", "bash", "-c", &script])
        .output()
        .expect("run");
    let printed = text(&output.stdout);
    let notes = words(&output);
    assert_eq!(output.status.code(), Some(7), "{printed}{notes}");
    let note = format!("build/{variant} is not built yet");
    assert!(notes.contains(&note), "{notes}");
    let root = clone.relu().canonicalize().expect("the kernel's folder");
    let line = format!(
        "VENV={0}/.venv LOCAL=kernel-builder/relu={0}/build",
        root.display()
    );
    assert!(printed.contains(&line), "{printed}");
}

/// Opens a shell with Nix itself, under each of its names, in a folder that has a .venv already.
fn open_with_nix(clone: &Clone, variant: &str, release: &str) {
    for attribute in [format!(".#devShells.{variant}"), format!(".#{variant}")] {
        let arguments = ["develop", &attribute, "--no-use-registries", "--command"];
        let script =
            "python3 -c 'import torch; print(torch.__version__)'; command -v kernel-builder";
        let output = clone.nix(&[&arguments[..], &["bash", "-c", script]].concat());
        let words = text(&output.stdout);
        let (torch, program) = words.trim().split_once('\n').expect("two lines");
        assert!(torch.starts_with(release), "{torch}");
        // It builds kernel-builder when it is called, not before the shell opens.
        let program = text(&clone.nix(&["store", "cat", program]).stdout);
        let attribute = ".#packages.x86_64-linux.kernel-builder.drvPath";
        let tool = text(&clone.nix(&["eval", "--raw", attribute]).stdout);
        assert!(program.contains(&tool), "{tool} in {program}");
    }
}

#[test]
#[ignore = "builds with Nix: run by `make full-test`"]
fn shells_have_torch_compilers_and_a_virtual_environment() {
    let clone = Clone::new();
    let line = format!(
        "[ -z \"${{CUDACXX-}}\" ]\n[ \"$({{ {}; }} | tail -n 1)\" = 12 ]",
        build_with_cmake("torch", "sample")
    );
    work_in_shell(&clone, CPU, &line);
    open_with_nix(&clone, CPU, "2.11.0");

    // The test shell has the built variant, for the client and as a module.
    for script in ["client.py", "module.py"] {
        let script = format!("{REPOSITORY}/tests/fixtures/shell/{script}");
        let command = ["--variant", CPU, "--", "python3", &script];
        run(kernel_builder("testshell").arg(clone.relu()).args(command));
    }
}

/// The compiler of CUDA 12 is clang, since indexes have no nvcc of it.
#[test]
#[ignore = "takes a torch with its CUDA whole: run by `make full-test`"]
fn shells_work_for_the_oldest_and_the_newest_torch() {
    let compile = "$CUDACXX -std=c++17 --cuda-gpu-arch=sm_80 -c csrc/relu_cuda.cu -o relu_cuda.o";
    let cuda = format!("{compile}\n{}", build_with_cmake("cuda", "caller"));
    let cpu = build_with_cmake("torch", "sample");
    for (variant, torch, release, line) in [
        ("torch27-cxx11-cu126-x86_64-linux", "2.7", "2.7.1", cuda),
        ("torch215-cxx11-cpu-x86_64-linux", "2.15", "2.15.0", cpu),
    ] {
        let clone = Clone::with_torch(torch);
        work_in_shell(&clone, variant, &line);
        open_with_nix(&clone, variant, release);
    }
}

#[test]
#[ignore = "builds with Nix: run by `make test`"]
fn a_virtual_environment_of_the_author_is_left_alone() {
    let clone = Clone::new();
    let own = clone.relu().join(".venv");
    std::fs::create_dir(&own).expect("create");
    std::fs::write(own.join("precious"), "").expect("write");
    let output = run(kernel_builder("devshell").arg(clone.relu()).args([
        "--variant",
        CPU,
        "--",
        "bash",
        "-c",
        "echo [${VIRTUAL_ENV-}]",
    ]));
    assert!(text(&output.stdout).contains("[]"));
    assert!(
        text(&output.stderr).contains("left alone"),
        "{}",
        text(&output.stderr)
    );
    assert!(own.join("precious").exists());
}
