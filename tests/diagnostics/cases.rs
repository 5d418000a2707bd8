//! Edits of the good file, each of which makes one mistake.

/// Name of the case and of its snapshot, text in the good file, what replaces it.
pub type Case = (&'static str, &'static str, &'static str);

const HEADER: &str = "[kernel.relu]\n";
const BACKENDS: &str = r#"backends = ["cpu", "cuda"]"#;
const TORCH: &str = "[torch]\n";
const SRC: &str = r#"src = ["csrc/relu.cu"]"#;
const DEPENDS: &str = "backend = \"cuda\"\ndepends = [\"torch\"]";

/// Mistakes in the form of the file.
pub const SHAPE: &[Case] = &[
    ("syntax-no-equals-sign", "version = 1", "version 1"),
    ("syntax-open-string", r#"name = "relu""#, r#"name = "relu"#),
    (
        "syntax-open-array",
        BACKENDS,
        r#"backends = ["cpu", "cuda""#,
    ),
    (
        "syntax-duplicate-key",
        "version = 1",
        "version = 1\nversion = 2",
    ),
    ("syntax-broken-header", HEADER, "[kernel.relu\n"),
    ("edition-missing", "edition = 5\n", ""),
    ("edition-other", "edition = 5", "edition = 4"),
    ("edition-string", "edition = 5", "edition = \"5\""),
    ("general-missing", "[general]", "[generell]"),
    ("unknown-key", "license =", "licence = \"MIT\"\nlicense ="),
    ("misspelled-required-key", "license =", "licence ="),
    (
        "unknown-section",
        HEADER,
        "[metal]\nx = 1\n\n[kernel.relu]\n",
    ),
    (
        "unknown-key-of-edition-2",
        "version = 1",
        "version = 1\nuniversal = false",
    ),
    ("missing-key", "license = \"Apache-2.0\"\n", ""),
    (
        "missing-depends",
        "depends = [\"torch\"]\nsrc = [\"csrc/relu.cu\"]",
        SRC,
    ),
    ("wrong-type-string", r#"name = "relu""#, "name = true"),
    ("wrong-type-list", SRC, r#"src = "csrc/relu.cu""#),
    ("wrong-type-element", SRC, r#"src = ["csrc/relu.cu", 7]"#),
    ("wrong-type-version", TORCH, "[torch]\nminver = 2.9\n"),
    ("wrong-type-table", TORCH, "[[torch]]\n"),
    ("unknown-backend", r#""cuda"]"#, r#""cudaa"]"#),
    (
        "unknown-dependency",
        DEPENDS,
        "backend = \"cuda\"\ndepends = [\"cutlass_3_7\"]",
    ),
    (
        "section-backend-without-sections",
        r#"backend = "cuda""#,
        r#"backend = "tpu""#,
    ),
    ("version-format", TORCH, "[torch]\nmaxver = \"2.x\"\n"),
    ("negative-version", "version = 1", "version = -1"),
    (
        "key-of-other-backend",
        SRC,
        "src = [\"csrc/relu.cu\"]\nhip-flags = [\"-O3\"]",
    ),
    (
        "no-framework",
        "[torch]\nsrc = [\"torch-ext/torch_binding.cpp\", \"torch-ext/torch_binding.h\"]\n",
        "",
    ),
    (
        "two-frameworks",
        HEADER,
        "[torch-noarch]\n\n[kernel.relu]\n",
    ),
    (
        "kernel-dependency-without-pin",
        "version = 1",
        "version = 1\nkernel-depends = [{ repo-id = \"org/other\" }]",
    ),
    (
        "kernel-dependency-with-both",
        "version = 1",
        "version = 1\nkernel-depends = [{ repo-id = \"org/other\", version = 1, revision = \"main\" }]",
    ),
];

/// Mistakes in `[general]` and in the framework section.
pub const GENERAL: &[Case] = &[
    ("kernel-name", r#"name = "relu""#, r#"name = "My_Relu""#),
    (
        "python-package-missing",
        r#"name = "relu""#,
        r#"name = "my-relu""#,
    ),
    ("license-empty", "Apache-2.0", ""),
    ("license-odd", "Apache-2.0", "Apache 2.0, see LICENSE"),
    (
        "git-url",
        "version = 1",
        "version = 1\nupstream = \"ftp://example.org/relu\"",
    ),
    ("no-backends", BACKENDS, "backends = []"),
    (
        "backend-twice",
        BACKENDS,
        r#"backends = ["cpu", "cuda", "cpu"]"#,
    ),
    (
        "backend-not-built",
        BACKENDS,
        r#"backends = ["cpu", "cuda", "xpu"]"#,
    ),
    (
        "backend-without-section",
        "[kernel.relu]\nbackend = \"cuda\"\ndepends = [\"torch\"]\nsrc = [\"csrc/relu.cu\"]\n",
        "",
    ),
    (
        "python-dependency",
        "version = 1",
        "version = 1\npython-depends = [\"einop\"]",
    ),
    (
        "python-dependency-elsewhere",
        "version = 1",
        "version = 1\npython-depends = [\"nvidia-cutlass-dsl\"]",
    ),
    (
        "repo-id",
        "version = 1",
        "version = 1\nhub.repo-id = \"https://example.org/org/relu\"",
    ),
    (
        "version-components",
        "version = 1",
        "version = 1\ncuda.minver = \"12\"",
    ),
    (
        "bounds",
        TORCH,
        "[torch]\nminver = \"2.10\"\nmaxver = \"2.9\"\n",
    ),
    ("framework-not-built", TORCH, "[tvm-ffi]\n"),
    ("no-binding", "\"torch-ext/torch_binding.cpp\", ", ""),
    (
        "stable-abi-components",
        TORCH,
        "[torch]\nstable-abi = \"2\"\n",
    ),
    (
        "stable-abi-unused",
        TORCH,
        "[torch]\nstable-abi = { rocm = \"2.9\" }\n",
    ),
];

/// Mistakes in the kernel sections.
pub const SECTIONS: &[Case] = &[
    ("section-name", HEADER, "[kernel.\"relu; rm\"]\n"),
    (
        "section-backend-unlisted",
        HEADER,
        "[kernel.metal]\nbackend = \"metal\"\ndepends = []\nsrc = [\"csrc/relu.metal\"]\n\n[kernel.relu]\n",
    ),
    ("no-source", SRC, "src = []"),
    ("only-headers", SRC, r#"src = ["csrc/helpers.cuh"]"#),
    (
        "source-twice",
        SRC,
        r#"src = ["csrc/relu.cu", "./csrc/relu.cu"]"#,
    ),
    (
        "source-in-two-sections",
        HEADER,
        "[kernel.again]\nbackend = \"cuda\"\ndepends = []\nsrc = [\"csrc/relu.cu\"]\n\n[kernel.relu]\n",
    ),
    (
        "source-of-the-binding",
        SRC,
        r#"src = ["csrc/relu.cu", "torch-ext/torch_binding.cpp"]"#,
    ),
    (
        "cuda-source-for-cpu",
        r#"src = ["csrc/relu_cpu.cpp"]"#,
        r#"src = ["csrc/relu_cpu.cpp", "csrc/relu_gpu.cu"]"#,
    ),
    (
        "metal-source-for-cuda",
        SRC,
        r#"src = ["csrc/relu.cu", "csrc/relu.metal"]"#,
    ),
    (
        "file-not-compiled",
        SRC,
        r#"src = ["csrc/relu.cu", "csrc/table.txt"]"#,
    ),
    (
        "capability",
        SRC,
        "src = [\"csrc/relu.cu\"]\ncuda-capabilities = [\"8.0\", \"9.0b\"]",
    ),
    (
        "dependency-not-packaged",
        DEPENDS,
        "backend = \"cuda\"\ndepends = [\"torch\", \"cutlass_4_0\"]",
    ),
    (
        "dependency-of-other-backend",
        DEPENDS,
        "backend = \"cuda\"\ndepends = [\"metal-cpp\"]",
    ),
    ("path-empty", SRC, r#"src = ["csrc/relu.cu", ""]"#),
    (
        "path-newline",
        SRC,
        r#"src = ["csrc/relu.cu", "csrc/re\nlu.cu"]"#,
    ),
    (
        "path-absolute",
        SRC,
        r#"src = ["csrc/relu.cu", "/etc/passwd"]"#,
    ),
    (
        "path-escapes",
        SRC,
        r#"src = ["csrc/relu.cu", "csrc/../../x.cu"]"#,
    ),
    (
        "path-missing",
        SRC,
        r#"src = ["csrc/relu.cu", "csrc/helper.cuh"]"#,
    ),
    (
        "path-is-directory",
        SRC,
        r#"src = ["csrc/relu.cu", "csrc"]"#,
    ),
    (
        "include-absolute",
        SRC,
        "src = [\"csrc/relu.cu\"]\ninclude = [\"/usr/include\"]",
    ),
    (
        "include-missing",
        TORCH,
        "[torch]\ninclude = [\"csrc/inclde\"]\n",
    ),
    (
        "include-is-file",
        SRC,
        "src = [\"csrc/relu.cu\"]\ninclude = [\"README.md\"]",
    ),
    (
        "flag-nul",
        SRC,
        "src = [\"csrc/relu.cu\"]\ncuda-flags = [\"-DX=\\u0000\"]",
    ),
];
