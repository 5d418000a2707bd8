//! Edits of the good file, each of which makes one mistake.

/// The name of the case and of its snapshot, a text in the good file, and its replacement.
pub type Case = (&'static str, &'static str, &'static str);

const HEADER: &str = "[kernel.relu]\n";
const BACKENDS: &str = r#"backends = ["cpu", "cuda"]"#;
const TORCH: &str = "[torch]\n";
const BINDING: &str =
    "[torch]\nsrc = [\"torch-ext/torch_binding.cpp\", \"torch-ext/torch_binding.h\"]\n";
const SECTION: &str = "[kernel.relu]\nbackend = \"cuda\"\ndepends = [\"torch\"]";
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
        "section-backend-unknown",
        r#"backend = "cuda""#,
        r#"backend = "cudaa""#,
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
    ("license-control", "Apache-2.0", "MIT\\u001b[31m"),
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
        "backend-without-any-section",
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
    ("tvm-ffi-without-src", BINDING, "[tvm-ffi]\n"),
    (
        "backend-of-no-tvm-ffi-kernel",
        "\"cuda\"]\n\n[torch]",
        "\"cuda\", \"metal\"]\n\n[tvm-ffi]",
    ),
    ("sections-of-noarch", BINDING, "[torch-noarch]\n"),
    ("pyext-dot", TORCH, "[torch]\npyext = [\"py\", \".json\"]\n"),
    ("pyext-path", TORCH, "[torch]\npyext = [\"data/x.py\"]\n"),
    ("pyext-empty", TORCH, "[torch]\npyext = [\"\"]\n"),
    ("license-misspelled", "Apache-2.0", "Apache2.0"),
    (
        "license-in-lower-case-misspelled",
        "Apache-2.0",
        "bsd-3-clauses",
    ),
    (
        "options-of-unlisted-backend",
        "version = 1",
        "version = 1\nxpu.python-depends = [\"onednn\"]",
    ),
    (
        "python-dependency-twice",
        "version = 1",
        "version = 1\npython-depends = [\"einops\", \"einops\"]",
    ),
    (
        "stable-abi-above-maxver",
        TORCH,
        "[torch]\nstable-abi = \"2.10\"\nmaxver = \"2.9\"\n",
    ),
    (
        "kernel-depends-without-edition",
        "edition = 5\n",
        "kernel-depends = [{ repo-id = \"org/a\", version = 1 }]\n",
    ),
    ("edition-newer", "edition = 5", "edition = 6"),
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

/// Mistakes in `WIDE`, a kernel for more backends.
pub const WIDE_CASES: &[Case] = &[
    ("rocm-arch", "[\"gfx942\"]", "[\"gfx942\", \"gfx90b\"]"),
    (
        "rocm-arch-twice",
        "[\"gfx942\"]",
        "[\"gfx942\", \"gfx942\"]",
    ),
    (
        "rocm-arch-malformed",
        "[\"gfx942\"]",
        "[\"gfx942\", \"MI300X\"]",
    ),
    ("rocm-arch-potato", "[\"gfx942\"]", "[\"potato\"]"),
    ("xpu-dependency", "[\"sycl_tla\"]", "[\"cutlass_4_0\"]"),
    (
        "section-out-of-reach",
        "cuda-minver = \"12.8\"",
        "cuda-minver = \"13.0\"",
    ),
    (
        "hip-for-cuda",
        "src = [\"csrc/relu.cu\"]\ncuda-minver",
        "src = [\"csrc/relu.hip\", \"csrc/relu.cu\"]\ncuda-minver",
    ),
    (
        "metal-cpp-for-rocm",
        "depends = [\"torch\"] # rocm",
        "depends = [\"metal-cpp\"]",
    ),
    (
        "metal-without-sources",
        "src = [\"csrc/relu.metal\", \"csrc/relu.mm\"]",
        "src = [\"csrc/include/relu.h\"]",
    ),
];

/// Mistakes in the kernel sections.
pub const SECTIONS: &[Case] = &[
    (
        "unknown-dependency",
        DEPENDS,
        "backend = \"cuda\"\ndepends = [\"cutlass_3_7\"]",
    ),
    (
        "dependency-hash",
        SECTION,
        "[dependencies.a]\nurl = \"https://example.org/a-1.0.zip\"\nsha256 = \"1f\"\ninclude = [\"include\"]\n\n[kernel.relu]\nbackend = \"cuda\"\ndepends = [\"torch\", \"a\"]",
    ),
    (
        "dependency-url",
        SECTION,
        "[dependencies.a]\nurl = \"ftp://example.org/a.zip\"\nsha256 = \"0000000000000000000000000000000000000000000000000000000000000000\"\ninclude = [\"include\"]\n\n[kernel.relu]\nbackend = \"cuda\"\ndepends = [\"torch\", \"a\"]",
    ),
    (
        "dependency-no-source",
        SECTION,
        "[dependencies.a]\nfile = \"a.zip\"\nsha256 = \"0000000000000000000000000000000000000000000000000000000000000000\"\ninclude = [\"include\"]\n\n[kernel.relu]\nbackend = \"cuda\"\ndepends = [\"torch\", \"a\"]",
    ),
    (
        "dependency-two-sources",
        SECTION,
        "[dependencies.a]\npackage = \"a\"\nfile = \"a-1.0.tar.gz\"\nurl = \"https://example.org/a-1.0.zip\"\nsha256 = \"0000000000000000000000000000000000000000000000000000000000000000\"\ninclude = [\"include\"]\n\n[kernel.relu]\nbackend = \"cuda\"\ndepends = [\"torch\", \"a\"]",
    ),
    (
        "dependency-archive-name",
        SECTION,
        "[dependencies.a]\nurl = \"https://example.org/download?id=7\"\nsha256 = \"0000000000000000000000000000000000000000000000000000000000000000\"\ninclude = [\"include\"]\n\n[kernel.relu]\nbackend = \"cuda\"\ndepends = [\"torch\", \"a\"]",
    ),
    (
        "dependency-include",
        SECTION,
        "[dependencies.a]\nurl = \"https://example.org/a-1.0.zip\"\nsha256 = \"0000000000000000000000000000000000000000000000000000000000000000\"\ninclude = [\"../include\"]\n\n[kernel.relu]\nbackend = \"cuda\"\ndepends = [\"torch\", \"a\"]",
    ),
    (
        "dependency-no-include",
        SECTION,
        "[dependencies.a]\nurl = \"https://example.org/a-1.0.zip\"\nsha256 = \"0000000000000000000000000000000000000000000000000000000000000000\"\ninclude = []\n\n[kernel.relu]\nbackend = \"cuda\"\ndepends = [\"torch\", \"a\"]",
    ),
    (
        "dependency-known",
        SECTION,
        "[dependencies.torch]\nurl = \"https://example.org/a-1.0.zip\"\nsha256 = \"0000000000000000000000000000000000000000000000000000000000000000\"\ninclude = [\"include\"]\n\n[kernel.relu]\nbackend = \"cuda\"\ndepends = [\"torch\"]",
    ),
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
        "source-in-two-sections-with-other-flags",
        HEADER,
        "[kernel.again]\nbackend = \"cuda\"\ndepends = []\nsrc = [\"csrc/relu.cu\"]\ncuda-flags = [\"-DX\"]\ninclude = [\"csrc\"]\n\n[kernel.relu]\n",
    ),
    (
        "headers-of-two-sections",
        HEADER,
        "[kernel.headers]\nbackend = \"cuda\"\ndepends = []\nsrc = [\"csrc/helpers.cuh\"]\n\n[kernel.relu]\n",
    ),
    (
        "header-twice",
        SRC,
        r#"src = ["csrc/helpers.cuh", "csrc/relu.cu", "csrc/helpers.cuh"]"#,
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
        "source-of-the-binding-with-other-flags",
        SRC,
        "src = [\"csrc/relu.cu\", \"torch-ext/torch_binding.cpp\"]\ncxx-flags = [\"-DX\"]",
    ),
    (
        "capability-that-is-a-toolkit",
        SRC,
        "src = [\"csrc/relu.cu\"]\ncuda-capabilities = [\"8.0\", \"11.8\"]",
    ),
    (
        "capability-unknown-among-others",
        SRC,
        "src = [\"csrc/relu.cu\"]\ncuda-capabilities = [\"8.0\", \"9.1\"]",
    ),
    (
        "capability-of-no-toolkit",
        SRC,
        "src = [\"csrc/relu.cu\"]\ncuda-capabilities = [\"7.0a\"]",
    ),
    (
        "capabilities-empty",
        SRC,
        "src = [\"csrc/relu.cu\"]\ncuda-capabilities = []",
    ),
    (
        "two-cutlass-releases",
        DEPENDS,
        "backend = \"cuda\"\ndepends = [\"cutlass_3_6\", \"cutlass_4_0\"]",
    ),
    (
        "dependency-twice",
        DEPENDS,
        "backend = \"cuda\"\ndepends = [\"torch\", \"torch\"]",
    ),
    (
        "include-twice",
        SRC,
        "src = [\"csrc/relu.cu\"]\ninclude = [\"csrc\", \"csrc/.\"]",
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
        "path-missing-near-a-listed-one",
        SRC,
        r#"src = ["csrc/relu.cu", "csrc/rely.cu"]"#,
    ),
    (
        "header-missing-near-a-source",
        SRC,
        r#"src = ["csrc/relu.cu", "csrc/relu_shared.h"]"#,
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
    (
        "flag-native",
        SRC,
        "src = [\"csrc/relu.cu\"]\ncuda-flags = [\"-Xcompiler=-O2,-march=native\"]",
    ),
    (
        "flag-native-gpu",
        SRC,
        "src = [\"csrc/relu.cu\"]\ncuda-flags = [\"-arch\", \"native\"]",
    ),
];
