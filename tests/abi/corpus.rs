//! Small libraries, each of which breaks one rule or none, made with the machine's compiler and
//! several linkers, plain and stripped.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::folder::write;
use crate::common::program::printed;

/// The variant that a file is judged by: the name of its folder.
const CPU: &str = "torch211-cxx11-cpu-x86_64-linux";
const CUDA: &str = "torch211-cxx11-cu130-x86_64-linux";
const STABLE: &str = "torch-stable-abi211-cpu-x86_64-linux";
const PYTHON_ONLY: &str = "torch-cuda";
const NONE: &str = "none";

/// A library by its source.
pub struct Case {
    /// The name of the file, with its extension.
    pub file: &'static str,
    folder: &'static str,
    source: &'static str,
    compile: &'static [&'static str],
    link: &'static [&'static str],
    /// The rules that it breaks.
    pub rules: &'static [&'static str],
}

/// A case of C++ without options.
const fn case(
    folder: &'static str,
    file: &'static str,
    source: &'static str,
    rules: &'static [&'static str],
) -> Case {
    Case {
        file,
        folder,
        source,
        compile: &[],
        link: &[],
        rules,
    }
}

impl Case {
    const fn compile(mut self, flags: &'static [&'static str]) -> Self {
        self.compile = flags;
        self
    }

    const fn link(mut self, flags: &'static [&'static str]) -> Self {
        self.link = flags;
        self
    }
}

const UNIQUE: &str = "template <class T> struct A { static int x; }; template <class T> int A<T>::x = 1; \
                      int *f() { return &A<int>::x; }";
const OLD_STRINGS: &str = "#include <string>\nnamespace c10 { namespace detail { void torchCheckFail(const char *, \
                           const char *, unsigned, const std::string &); } }\n\
                           void f() { c10::detail::torchCheckFail(\"\", \"\", 1, std::string()); }";
const WAITS: &str = "#include <condition_variable>\nvoid f(std::condition_variable &c, \
                     std::unique_lock<std::mutex> &l) { c.wait(l); }";
const CALL: &str = "extern \"C\" int helper(); int f() { return helper(); }";

/// Every case. NB: names are of Debian 12, whose C library is newer than the policy.
pub const CASES: &[Case] = &[
    case(NONE, "clean.so", "int f() { return 1; }", &[]),
    case(CPU, "clean.abi3.so", "int f() { return 1; }", &[]),
    case(
        CPU,
        "glibc.so",
        "#include <unistd.h>\nvoid f() { closefrom(3); }",
        &["symbol-version"],
    ),
    case(
        NONE,
        "glibc_math.so",
        "#include <math.h>\ndouble f(double x) { return pow(x, x) + exp(x); }",
        &["symbol-version"],
    ),
    case(CPU, "glibcxx.so", WAITS, &["symbol-version"]),
    case(
        NONE,
        "private.so",
        "extern \"C\" int __copy_grp(int); int f() { return __copy_grp(0); }",
        &["symbol-version"],
    ),
    case(
        NONE,
        "old_glibc.so",
        "#include <stdio.h>\nvoid f() { puts(\"\"); }",
        &[],
    ),
    case(NONE, "needed.so", CALL, &["needed-library"]).link(&["-lhelper"]),
    case(CPU, "cuda_in_cpu.so", "", &["needed-library"]).link(&["-l:libcudart.so.13"]),
    case(CUDA, "cuda_in_cuda.so", "", &[]).link(&["-l:libcudart.so.13"]),
    case(NONE, "python.so", CALL, &["needed-library"]).link(&["-l:libpython3.11.so.1.0"]),
    case(CPU, "gomp.so", "", &["needed-library"]).link(&["-l:libgomp.so.1"]),
    case(NONE, "runpath.so", "int f() { return 1; }", &["run-path"])
        .link(&["-Wl,--enable-new-dtags,-rpath,/opt/lib"]),
    case(NONE, "rpath.so", "int f() { return 1; }", &["run-path"])
        .link(&["-Wl,--disable-new-dtags,-rpath,/opt/lib"]),
    case(NONE, "origin.so", "int f() { return 1; }", &["run-path"]).link(&["-Wl,-rpath,$ORIGIN"]),
    case(
        NONE,
        "store.so",
        "const char *f() { return \"/nix/store/0123456789abcdfghijklmnpqrsvwxyz-gcc/lib\"; }",
        &["path"],
    ),
    case(
        NONE,
        "build.so",
        "const char *f() { return \"/build/relu/a.cpp\"; }",
        &["path"],
    ),
    case(
        NONE,
        "nix_build.so",
        "const char *f() { return \"/tmp/nix-build-relu.drv-0/a.cpp\"; }",
        &["path"],
    ),
    case(
        NONE,
        "other_build.so",
        "const char *f() { return \"/home/a/build/b\"; }",
        &[],
    ),
    case(
        NONE,
        "stack.so",
        "int f() { return 1; }",
        &["executable-stack"],
    )
    .link(&["-Wl,-z,execstack"]),
    case(
        NONE,
        "text.so",
        "__asm__(\".text\\n.globl tr\\ntr: .quad tr2\\n.globl tr2\\ntr2: ret\\n\");",
        &["text-relocations"],
    )
    .link(&["-Wl,-z,notext"]),
    case(
        CPU,
        "free.so",
        "extern \"C\" void free(void *) {}",
        &["exported-symbol"],
    ),
    case(
        NONE,
        "memcpy.so",
        "extern \"C\" void *memcpy(void *a, const void *, unsigned long) { return a; }",
        &["exported-symbol"],
    )
    .compile(&["-fno-builtin"]),
    case(
        CPU,
        "py_defined.so",
        "extern \"C\" int PyObject_IsTrue(void *) { return 1; }",
        &["exported-symbol"],
    ),
    case(
        CPU,
        "closedir_hidden.so",
        "extern \"C\" __attribute__((visibility(\"hidden\"))) int closedir(void *) { return 0; }",
        &[],
    ),
    case(
        CPU,
        "module.abi3.so",
        "extern \"C\" void *PyInit_module() { return 0; }",
        &[],
    ),
    case(NONE, "unique.so", UNIQUE, &["unique-symbol"]).compile(&["-fgnu-unique"]),
    case(NONE, "not_unique.so", UNIQUE, &[]).compile(&["-fno-gnu-unique"]),
    // F2 of the attack: each was built, and failed to load.
    case(
        CPU,
        "torch_c.so",
        "extern \"C\" int torch_my_missing(); int f() { return torch_my_missing(); }",
        &["undefined-symbol"],
    ),
    case(
        CPU,
        "torch_cpp.so",
        "namespace at { int my_missing(int); } int f() { return at::my_missing(1); }",
        &["undefined-symbol"],
    ),
    case(
        CPU,
        "blas.so",
        "extern \"C\" int compute_(); int f() { return compute_(); }",
        &["undefined-symbol"],
    ),
    case(
        CPU,
        "cublas.so",
        "extern \"C\" int cublasDoesNotExist(); int f() { return cublasDoesNotExist(); }",
        &["undefined-symbol"],
    ),
    case(
        CPU,
        "py_missing.so",
        "extern \"C\" int Py_DoesNotExist(); int f() { return Py_DoesNotExist(); }",
        &["limited-api"],
    ),
    case(
        CPU,
        "old_strings.so",
        OLD_STRINGS,
        &["symbol-version", "undefined-symbol"],
    )
    .compile(&["-D_GLIBCXX_USE_CXX11_ABI=0"]),
    case(CPU, "new_strings.so", OLD_STRINGS, &[]),
    case(
        CPU,
        "binding.so",
        "extern \"C\" void *THPVariable_Wrap(); void *f() { return THPVariable_Wrap(); }",
        &["undefined-symbol"],
    ),
    case(
        CPU,
        "torch_there.so",
        "namespace at { int get_num_threads(); } int f() { return at::get_num_threads(); }",
        &[],
    ),
    case(
        CPU,
        "cuda_torch_in_cpu.so",
        "namespace c10 { namespace cuda { signed char current_device(); } } int f() { return c10::cuda::current_device(); }",
        &["undefined-symbol"],
    ),
    case(
        CUDA,
        "cuda_torch_in_cuda.so",
        "namespace c10 { namespace cuda { signed char current_device(); } } int f() { return c10::cuda::current_device(); }",
        &[],
    ),
    case(
        CUDA,
        "cublas_in_cuda.so",
        "extern \"C\" int cublasCreate_v2(void *), ncclCommInitAll(); int f() { return cublasCreate_v2(0) + ncclCommInitAll(); }",
        &[],
    ),
    case(
        CUDA,
        "no_cublas_in_cuda.so",
        "extern \"C\" int cublasDoesNotExist(); int f() { return cublasDoesNotExist(); }",
        &["undefined-symbol"],
    ),
    case(
        CPU,
        "own_missing.so",
        "int mine(int); int f() { return mine(1); }",
        &["undefined-symbol"],
    ),
    case(
        CPU,
        "hidden_users.so",
        "int mine(int); int f() { return mine(1); }",
        &["undefined-symbol"],
    )
    .compile(&["-fvisibility=hidden", "-fno-plt"])
    .link(&["-Wl,--hash-style=gnu", "-Wl,-u,f"]),
    case(
        CPU,
        "sysv_hash.so",
        "int mine(int); int f() { return mine(1); }",
        &["undefined-symbol"],
    )
    .link(&["-Wl,--hash-style=sysv"]),
    case(
        CPU,
        "weak.so",
        "__attribute__((weak)) int mine(int); int f() { return mine ? mine(1) : 0; }",
        &[],
    ),
    case(
        CPU,
        "openmp.so",
        "extern \"C\" int omp_get_max_threads(); int f() { return omp_get_max_threads(); }",
        &[],
    ),
    case(
        NONE,
        "unknown_variant.so",
        "int mine(int); int f() { return mine(1); }",
        &[],
    ),
    // F3 of the attack.
    case(
        STABLE,
        "stable_at.so",
        "namespace at { int get_num_threads(); } int f() { return at::get_num_threads(); }",
        &["stable-abi"],
    ),
    case(
        STABLE,
        "stable_missing.so",
        "namespace at { int not_there(int); } int f() { return at::not_there(1); }",
        &["stable-abi"],
    ),
    case(
        STABLE,
        "stable_c_missing.so",
        "extern \"C\" int aoti_torch_not_there(); int f() { return aoti_torch_not_there(); }",
        &["stable-abi"],
    ),
    case(
        STABLE,
        "stable.so",
        "extern \"C\" int aoti_torch_device_type_cpu(); int f() { return aoti_torch_device_type_cpu(); }",
        &[],
    ),
    // F4 of the attack.
    case(
        NONE,
        "state.abi3.so",
        "extern \"C\" void *_PyThreadState_UncheckedGet(); void *f() { return _PyThreadState_UncheckedGet(); }",
        &["limited-api"],
    ),
    case(
        NONE,
        "utf8.abi3.so",
        "extern \"C\" void *PyUnicode_AsUTF8(); void *f() { return PyUnicode_AsUTF8(); }",
        &["limited-api"],
    ),
    case(
        CPU,
        "buffer.abi3.so",
        "extern \"C\" void *PyObject_GetBuffer(); void *f() { return PyObject_GetBuffer(); }",
        &["limited-api"],
    ),
    case(
        CPU,
        "list.abi3.so",
        "extern \"C\" void *PyList_New(long); void *f() { return PyList_New(1); }",
        &[],
    ),
    case(
        CPU,
        "data.abi3.so",
        "extern \"C\" int _Py_NoneStruct; void *f() { return &_Py_NoneStruct; }",
        &[],
    ),
    case(
        NONE,
        "one_python.cpython-311-x86_64-linux-gnu.so",
        "extern \"C\" void *_PyThreadState_UncheckedGet(); void *f() { return _PyThreadState_UncheckedGet(); }",
        &[],
    ),
    case(CPU, "i686.so", "int f() { return 1; }", &["architecture"])
        .compile(&["-m32"])
        .link(&["-m32", "-nostdlib"]),
    case(
        PYTHON_ONLY,
        "native.so",
        "int f() { return 1; }",
        &["architecture"],
    ),
];

/// The libraries that cases are linked with, which define `helper`.
const HELPERS: [&str; 4] = [
    "libhelper.so",
    "libcudart.so.13",
    "libgomp.so.1",
    "libpython3.11.so.1.0",
];

/// How a file is changed after its link.
const FORMS: [&str; 3] = ["plain", "stripped", "headerless"];

/// Makes every case with every linker below a folder, and returns the cases by their files.
pub fn make(folder: &Path, linkers: &[(&str, PathBuf)]) -> BTreeMap<PathBuf, &'static Case> {
    let objects = folder.join("objects");
    write(
        &objects.join("helper.cpp"),
        "extern \"C\" int helper() { return 1; }",
    );
    for name in HELPERS {
        let mut gcc = compiler();
        gcc.args(["-shared", "-fPIC", "helper.cpp", "-o", name]);
        printed(gcc.arg(format!("-Wl,-soname,{name}")).current_dir(&objects));
    }
    let mut made = BTreeMap::new();
    for case in CASES {
        let source = objects.join(format!("{}.cpp", case.file));
        write(&source, case.source);
        let object = source.with_extension("o");
        let mut gcc = compiler();
        gcc.args(["-c", "-O1", "-fPIC"]).args(case.compile);
        printed(gcc.arg(&source).arg("-o").arg(&object));
        for (name, path) in linkers {
            let plain = folder
                .join(name)
                .join(FORMS[0])
                .join(case.folder)
                .join(case.file);
            std::fs::create_dir_all(plain.parent().expect("a folder")).expect("created");
            let mut gcc = compiler();
            gcc.arg(format!("-B{}", path.display()))
                .arg(format!("-fuse-ld={name}"));
            // Libraries of the linkers that this machine lacks.
            gcc.env("LD_LIBRARY_PATH", path.join("../lib/x86_64-linux-gnu"));
            gcc.args(["-shared", "-Wl,--no-as-needed", "-o"])
                .arg(&plain)
                .arg(&object);
            gcc.arg("-L").arg(&objects).args(case.link);
            printed(&mut gcc);
            for form in &FORMS[1..] {
                let file = folder
                    .join(name)
                    .join(form)
                    .join(case.folder)
                    .join(case.file);
                std::fs::create_dir_all(file.parent().expect("a folder")).expect("created");
                std::fs::copy(&plain, &file).expect("copied");
                match *form {
                    "stripped" => {
                        printed(Command::new("strip").arg("-s").arg(&file));
                    }
                    _ => remove_section_headers(&file),
                }
                made.insert(file, case);
            }
            made.insert(plain, case);
        }
    }
    made
}

fn compiler() -> Command {
    let mut gcc = Command::new("g++");
    gcc.env_remove("LDFLAGS").env_remove("CXXFLAGS");
    gcc
}

/// Makes a file say that it has no sections, as `objcopy --strip-section-headers` of newer binutils
/// does.
fn remove_section_headers(path: &Path) {
    let mut data = std::fs::read(path).expect("a library");
    let (offset, counts) = match data[4] {
        2 => (40..48, 60..64),
        _ => (32..36, 48..52),
    };
    data[offset].fill(0);
    data[counts].fill(0);
    std::fs::write(path, data).expect("written");
}
