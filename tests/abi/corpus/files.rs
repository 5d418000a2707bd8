//! Libraries that keep or break a rule about the file: what it needs, how it is loaded, what it
//! exports. NB: names are of Debian 12, whose C library is newer than the policy.

use super::{CPU, CUDA, Case, NONE, PYTHON_ONLY, case};

const UNIQUE: &str = "template <class T> struct A { static int x; }; template <class T> int A<T>::x = 1; \
                      int *f() { return &A<int>::x; }";
const WAITS: &str = "#include <condition_variable>\nvoid f(std::condition_variable &c, \
                     std::unique_lock<std::mutex> &l) { c.wait(l); }";
const CALL: &str = "extern \"C\" int helper(); int f() { return helper(); }";

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
