//! Builds that the client loads: bindings that differ from the usual ones, and several builds of a
//! kernel at once.

use crate::CPU;
use crate::common::clone::Clone;
use crate::common::program::{kernel_builder, python, run};

/// A binding may use the namespace for more than registering: it is then compiled for it.
#[test]
#[ignore = "builds with Nix: run by `make test`"]
fn a_binding_that_needs_the_namespace_gets_it() {
    let clone = Clone::new();
    let binding = "#include <string>\nextern \"C\" const char *relu_namespace() {\n  \
                   static const std::string name = STRINGIFY(TORCH_EXTENSION_NAME);\n  return name.c_str();\n}\n";
    clone.append("torch-ext/torch_binding.cpp", binding);
    clone.build(&["--variant", CPU]);
    let check = "\
import ctypes, pathlib, kernels, torch
relu = kernels.get_local_kernel(pathlib.Path('.'), backend='cpu')
assert relu.relu(torch.tensor([-1.0, 2.0])).tolist() == [0.0, 2.0]
[library] = pathlib.Path('build').glob('*/*.so')
name = ctypes.CDLL(str(library)).relu_namespace
name.restype = ctypes.c_char_p
assert name().decode() == library.name.split('.')[0], name()
";
    run(python().current_dir(clone.relu()).args(["-c", check]));
}

/// Regression: bindings that only register operators were built, and could not be imported.
#[test]
#[ignore = "builds with Nix: run by `make test`"]
fn a_binding_need_not_write_a_python_module() {
    let clone = Clone::new();
    let binding = clone.relu().join("torch-ext/torch_binding.cpp");
    let text = std::fs::read_to_string(&binding).expect("the binding");
    let module = "\nREGISTER_EXTENSION(TORCH_EXTENSION_NAME)\n";
    assert!(text.contains(module));
    std::fs::write(&binding, text.replace(module, "")).expect("written");
    clone.build(&["--variant", CPU]);
    let check = "\
import pathlib, kernels, torch
relu = kernels.get_local_kernel(pathlib.Path('.'), backend='cpu')
assert relu.relu(torch.tensor([-1.0, 2.0])).tolist() == [0.0, 2.0]
";
    run(python().current_dir(clone.relu()).args(["-c", check]));

    // An empty module would hide the author's.
    clone.append(
        "torch-ext/torch_binding.cpp",
        "PyMODINIT_FUNC PyInit_relu(void) { return nullptr; }\n",
    );
    let refused = kernel_builder("build")
        .arg(clone.relu())
        .args(["--variant", CPU])
        .output()
        .expect("start kernel-builder");
    assert_eq!(refused.status.code(), Some(1));
    let words = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(
        words.contains("the library holds the Python module relu, which nothing imports"),
        "{words}"
    );
}

/// Builds with the same id once shared Python modules, and a namespace can be registered only once
/// in a process.
#[test]
#[ignore = "builds with Nix: run by `make test`"]
fn several_builds_of_a_kernel_live_in_one_process() {
    let clone = Clone::new();
    let keep = |name: &str| {
        clone.build(&["--variant", CPU]);
        std::fs::rename(clone.relu().join("build"), clone.relu().join(name)).expect("rename");
    };
    keep("first");
    clone.append("torch-ext/relu/__init__.py", "\nEDITED = True\n");
    keep("python");
    clone.append("csrc/relu_cpu.cpp", "\n// Other code.\n");
    keep("native");
    let check = "\
import pathlib, kernels, torch
builds = [kernels.get_local_kernel(pathlib.Path(name), backend='cpu') for name in ('first', 'python', 'native')]
assert [hasattr(build, 'EDITED') for build in builds] == [False, True, True]
assert len({build.__name__ for build in builds}) == 3
namespaces = [build._ops.add_op_namespace_prefix('') for build in builds]
assert len(set(namespaces)) == 3, namespaces
for build in builds:
    assert build.relu(torch.tensor([-1.0, 2.0])).tolist() == [0.0, 2.0]
";
    run(python().current_dir(clone.relu()).args(["-c", check]));
}
