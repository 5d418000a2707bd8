//! Units of a CMake project that are compiled with the headers of torch that they name.

use std::path::Path;

use crate::common::folder::{Folder, example};
use crate::common::program::run;
use crate::succeed;
use crate::tools::{build, command_of, configure, tool};

/// The name `relu` stands nowhere in this text, and the selection does not know this word for `##`.
const FAILING: &str = "#define JOIN(a, b) a%:%:b
at::Tensor failing(const at::Tensor &x) { return at::JOIN(re, lu)(x); }
";

/// The headers that Ninja noted for the object of a source.
fn headers(project: &Path, tree: &str, source: &str) -> String {
    let all = run(tool("ninja", project).args(["-C", tree, "-t", "deps"]));
    let all = String::from_utf8(all.stdout).expect("UTF-8");
    let name = format!("/{source}.o:");
    let own = all
        .split("\n\n")
        .find(|own| own.lines().next().is_some_and(|line| line.contains(&name)));
    own.expect(source).to_owned()
}

/// The example with all of torch's headers by name, and one unit that only they let compile.
fn kernel() -> Folder {
    let folder = example("relu");
    let source = folder.read("torch-ext/torch_binding.cpp");
    folder.write(
        "torch-ext/torch_binding.cpp",
        format!("#include <torch/all.h>\n{source}"),
    );
    folder.write(
        "torch-ext/failing.cpp",
        format!("#include \"all.h\"\n{FAILING}"),
    );
    folder.write("torch-ext/all.h", "#pragma once\n#include <ATen/ATen.h>\n");
    folder.replace(
        "build.toml",
        "\"torch-ext/torch_binding.cpp\"",
        "\"torch-ext/torch_binding.cpp\", \"torch-ext/failing.cpp\"",
    );
    folder
}

#[test]
#[ignore = "builds with CMake: run by `make test`"]
fn units_get_the_headers_that_they_name_or_all() {
    let folder = kernel();
    let project = folder.path();
    succeed("create-pyproject", project, &[]);
    configure(project, "lean", &["-DGPU_LANG=CPU"]);
    let said = String::from_utf8_lossy(&build(project, "lean", "all").stdout).into_owned();
    // A header of an operator that the kernel does not name.
    let unused = "ATen/ops/conv2d.h";
    assert!(!headers(project, "lean", "torch_binding.cpp").contains(unused));
    assert!(headers(project, "lean", "failing.cpp").contains(unused));
    let notes: Vec<&str> = said
        .lines()
        .filter(|line| line.starts_with("note: "))
        .collect();
    let [note] = notes[..] else { panic!("{said}") };
    assert!(
        note.starts_with("note: failing.cpp is compiled with torch's own headers: "),
        "{note}"
    );
    assert!(
        note.contains("error: ") && note.contains("is not a member of"),
        "{note}"
    );
    // Editors get the compiler's own command.
    let commands = folder.read("lean/compile_commands.json");
    assert!(!commands.contains("lean.py"), "{commands}");
    let load = "import pathlib, torch, kernels\n\
                kernel = kernels.get_local_kernel(pathlib.Path('.'), backend='cpu')\n\
                assert kernel.relu(torch.tensor([-1.0, 2.0])).tolist() == [0.0, 2.0]";
    run(tool("python", project).args(["-c", load]));

    // A header that the unit names from now on is found without another run of CMake, and an
    // author's mistake is shown as the compiler says it.
    let source = folder.read("torch-ext/torch_binding.cpp");
    folder.write(
        "torch-ext/torch_binding.cpp",
        format!("{source}\nat::Tensor more(at::Tensor x) {{ return at::conv2d(x, x); }}\n"),
    );
    build(project, "lean", "all");
    assert!(headers(project, "lean", "torch_binding.cpp").contains(unused));
    folder.write(
        "torch-ext/torch_binding.cpp",
        format!("{source}\nint mistake = missing_name;\n"),
    );
    let failed = tool("cmake", project)
        .args(["--build", "lean"])
        .output()
        .expect("cmake");
    let said = String::from_utf8_lossy(&failed.stdout).into_owned();
    assert!(
        !failed.status.success() && said.contains("missing_name"),
        "{said}"
    );
}

/// build.toml and CMake's option switch them off.
#[test]
#[ignore = "runs CMake: run by `make test`"]
fn lean_headers_can_be_switched_off() {
    let folder = example("relu");
    let is_lean = |options: &[&str]| {
        succeed("create-pyproject", folder.path(), &[]);
        configure(
            folder.path(),
            "tree",
            &[&["--fresh", "-DGPU_LANG=CPU"], options].concat(),
        );
        let sources = ["torch_binding.cpp", "relu_cpu.cpp"];
        sources.map(|source| {
            let words = command_of(folder.path(), "tree", source);
            words.iter().any(|word| word.ends_with("/cmake/lean.py"))
        })
    };
    let [binding, section] = is_lean(&[]);
    assert!(binding, "the binding includes torch");
    assert_eq!(is_lean(&["-DKERNEL_LEAN_HEADERS=OFF"]), [false, false]);
    folder.replace("build.toml", "[torch]\n", "[torch]\nlean-headers = false\n");
    assert_eq!(is_lean(&[]), [false, section]);
}
