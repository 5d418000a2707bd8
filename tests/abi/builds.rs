//! Real builds that no variant may come of: what each needs would be missing where it is loaded.

use std::path::Path;
use std::process::{Command, Output};

use crate::common::kernel::Sample;
use crate::common::program::{build, printed, store, words};

const CPU: &str = "torch211-cxx11-cpu-x86_64-linux";
const CUDA: &str = "torch211-cxx11-cu130-x86_64-linux";
const STABLE: &str = "torch-stable-abi211-cpu-x86_64-linux";

/// A kernel with one source, some keys of `[general]` and `[torch]`, and more files.
fn kernel(general: &str, torch: &str, source: &str, files: &[(&str, &str)]) -> Sample {
    let build_toml = format!(
        "[general]\nname = \"sample\"\nedition = 5\nversion = 1\nlicense = \"MIT\"\nbackends = [\"cpu\"]\n{general}\n\
         [torch]\nsrc = [\"torch-ext/binding.cpp\"]\n{torch}\n\
         [kernel.host]\nbackend = \"cpu\"\ndepends = []\nsrc = [\"host.cpp\"]\n"
    );
    let sample = Sample::new(&build_toml, &[("host.cpp", source)]);
    for (path, content) in files {
        sample.write(path, content);
    }
    sample
}

fn built(sample: &Sample, variant: &str) -> Output {
    store();
    build(sample.path(), &[variant]).output().expect("started")
}

/// The words of a build that must fail, with each of some lines.
fn refused(sample: &Sample, variant: &str, lines: &[&str]) -> String {
    let output = built(sample, variant);
    let words = words(&output);
    assert_eq!(output.status.code(), Some(1), "{words}");
    for line in lines {
        assert!(words.contains(line), "{line}\n{words}");
    }
    assert!(
        !sample.path().join("build").join(variant).exists(),
        "{words}"
    );
    words
}

/// Regression (F2): symbols that nobody defines were linked because of their first letters, and the
/// kernel failed to load.
#[test]
#[ignore = "builds with Nix: run by `make test`"]
fn names_that_look_like_torchs_are_refused_unless_torch_has_them() {
    let source = r#"
#include <string>
extern "C" int torch_my_missing(), compute_(), cublasDoesNotExist(), Py_DoesNotExist();
namespace at { int my_missing(int); int get_num_threads(); }
namespace c10 { namespace detail { void torchCheckFail(const char *, const char *, unsigned, const std::string &); } }
extern "C" int t1() {
    c10::detail::torchCheckFail("", "", 1, std::string());
    return torch_my_missing() + compute_() + cublasDoesNotExist() + Py_DoesNotExist() + at::my_missing(1) +
           at::get_num_threads();
}
"#;
    let flags = "cxx-flags = [\"-D_GLIBCXX_USE_CXX11_ABI=0\"]\n";
    let sample = kernel("", "", source, &[]);
    let path = sample.path().join("build.toml");
    let text = std::fs::read_to_string(&path).expect("build.toml");
    std::fs::write(path, text + flags).expect("written");
    let words = refused(
        &sample,
        CPU,
        &[
            "torch_my_missing, used in\n",
            "    sample-host.cpp.o\n",
            "at::my_missing(int), used in\n",
            "compute_, used in\n",
            "cublasDoesNotExist, used in\n",
            "std::allocator<char> > const&), used in\n",
            "(there is c10::detail::torchCheckFail(",
            "nothing defines these: ",
            "Py_DoesNotExist: Python's limited API does not have it",
        ],
    );
    assert!(!words.contains("get_num_threads"), "{words}");
}

/// Regression: names of cuDNN, NCCL and others of NVIDIA's libraries were linked because of their
/// first letters, and those of libraries that torch does not load, too.
#[test]
#[ignore = "builds with Nix: run by `make test`"]
fn names_of_nvidias_libraries_are_refused_unless_torch_loads_them() {
    let source = r#"
extern "C" int cudnnCreate(), ncclCommInitAll(), cufftPlan1d(), cudnnCreateTensorDescriptr(), ncclDoesNotExist(),
    cufftDoesNotExist(), nvrtcCompileProgram();
extern "C" int t2() {
    return cudnnCreate() + ncclCommInitAll() + cufftPlan1d() + cudnnCreateTensorDescriptr() + ncclDoesNotExist() +
           cufftDoesNotExist() + nvrtcCompileProgram();
}
"#;
    let sample = kernel("", "", source, &[]);
    let path = sample.path().join("build.toml");
    let text = std::fs::read_to_string(&path).expect("build.toml");
    std::fs::write(path, text.replace("\"cpu\"", "\"cuda\"")).expect("written");
    let words = refused(
        &sample,
        CUDA,
        &[
            "cudnnCreateTensorDescriptr, used in\n",
            "(there is cudnnCreateTensorDescriptor)",
            "ncclDoesNotExist, used in\n",
            "cufftDoesNotExist, used in\n",
            "nvrtcCompileProgram, used in\n",
            "torch does not load libnvrtc.so: open it with dlopen",
        ],
    );
    for name in ["cudnnCreate", "ncclCommInitAll", "cufftPlan1d"] {
        assert!(!words.contains(&format!("{name}, used in")), "{words}");
    }
}

/// Regression (F3): a variant for every torch needed what one torch has, or none.
#[test]
#[ignore = "builds with Nix: run by `make test`"]
fn stable_variants_need_only_the_c_functions_of_their_release() {
    let source = r#"
namespace at { class Tensor; Tensor &relu_(Tensor &); int not_there(int); }
extern "C" int aoti_torch_device_type_cpu(), aoti_torch_not_there();
extern "C" int t1(at::Tensor &x) {
    at::relu_(x);
    return at::not_there(1) + aoti_torch_device_type_cpu() + aoti_torch_not_there();
}
"#;
    let sample = kernel("", "stable-abi = \"2.11\"", source, &[]);
    let words = refused(
        &sample,
        STABLE,
        &[
            "at::relu_(at::Tensor&): ",
            "at::not_there(int): ",
            "aoti_torch_not_there",
            "stable-abi",
        ],
    );
    assert!(!words.contains("device_type_cpu"), "{words}");
}

/// Regression (F4): functions beyond Python's limited API of the oldest Python were linked.
#[test]
#[ignore = "builds with Nix: run by `make test`"]
fn functions_beyond_the_limited_api_are_refused() {
    let source = "extern \"C\" void *_PyThreadState_UncheckedGet(), *PyUnicode_AsUTF8(), *PyObject_GetBuffer(), \
                  *PyList_New(long);\nextern \"C\" int t1() { return _PyThreadState_UncheckedGet() && \
                  PyUnicode_AsUTF8() && PyObject_GetBuffer() && PyList_New(1); }\n";
    let words = refused(
        &kernel("", "", source, &[]),
        CPU,
        &[
            "_PyThreadState_UncheckedGet: Python's limited API does not have it",
            "PyUnicode_AsUTF8: Python's limited API ",
            "PyObject_GetBuffer: Python's limited API has it from 3.11 on, and 3.9 is promised",
        ],
    );
    assert!(!words.contains("PyList_New"), "{words}");
}

/// Regression: a kernel gave its own `free` and `PyObject_IsTrue` to others.
#[test]
#[ignore = "builds with Nix: run by `make test`"]
fn names_of_the_c_library_and_of_python_are_not_defined_for_others() {
    let source = "extern \"C\" void free(void *) {}\nextern \"C\" int PyObject_IsTrue(void *) { return 1; }\n";
    refused(
        &kernel("", "", source, &[]),
        CPU,
        &[
            "free: it defines a name of the C library's",
            "PyObject_IsTrue: it defines a name of Python's",
        ],
    );
}

/// Regression (F7): libraries among the Python files were shipped unchecked.
#[test]
#[ignore = "builds with Nix: run by `make test`"]
fn prebuilt_libraries_are_checked_as_our_own() {
    let python = "pyext = [\"py\", \"so\", \"bin\"]";
    let sample = kernel("", python, "int f() { return 1; }", &[]);
    let prebuilt = |source: &str, name: &str| {
        let file = sample.path().join("torch-ext/sample").join(name);
        let code = sample.path().join("prebuilt.cpp");
        std::fs::write(&code, source).expect("written");
        printed(
            Command::new("g++")
                .args(["-shared", "-fPIC", "-o"])
                .arg(&file)
                .arg(&code),
        );
        file
    };
    let newer = "#include <unistd.h>\nvoid f() { closefrom(3); }";
    for name in ["pre.so", "pre.bin"] {
        let file = prebuilt(newer, name);
        refused(
            &sample,
            CPU,
            &[
                "GLIBC_2.34 (allowed: GLIBC_2.28) for\n",
                "    closefrom\n",
                name,
            ],
        );
        std::fs::remove_file(file).expect("removed");
    }
    let file = prebuilt("int f() { return 1; }", "pre.so");
    let output = built(&sample, CPU);
    assert!(output.status.success(), "{}", words(&output));
    let shipped = sample.path().join("build").join(CPU).join("pre.so");
    assert_eq!(
        std::fs::read(shipped).expect("shipped"),
        std::fs::read(&file).expect("read")
    );
    check(&sample.path().join("build"));

    // A kernel of Python alone is for every system.
    let alone = Sample::new(
        "[general]\nname = \"sample\"\nedition = 5\nversion = 1\nlicense = \"MIT\"\nbackends = [\"cpu\"]\n\
         [torch-noarch]\npyext = [\"py\", \"so\"]\n",
        &[],
    );
    std::fs::copy(file, alone.path().join("torch-ext/sample/pre.so")).expect("copied");
    refused(
        &alone,
        "torch-cpu",
        &["pre.so is native code, and a kernel of Python alone is for every system"],
    );
}

/// Built variants keep the rules, also by the command, which knows the variant from its folder.
fn check(folder: &Path) {
    let output = crate::common::program::kernel_builder("check-abi")
        .arg(folder)
        .output()
        .expect("started");
    assert!(
        output.status.success(),
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        words(&output)
    );
}
