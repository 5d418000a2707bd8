//! Files of the formats before edition 5, and edits that each make one mistake.

/// The name of the case and of its snapshot, the file without mistakes, a text in it, and its
/// replacement.
pub type OldCase = (&'static str, &'static str, &'static str, &'static str);

/// The format of spring 2025.
pub const V1: &str = r#"[general]
name = "relu"

[torch]
src = ["torch-ext/torch_binding.cpp"]
pyext = ["py"]

[kernel.relu]
language = "cuda-hipify"
src = ["csrc/relu.cu"]
depends = ["torch"]
cuda-capabilities = ["8.0"]
rocm-archs = ["gfx942"]
"#;

/// A Python-only kernel of that time.
pub const V1_UNIVERSAL: &str = r#"[general]
name = "relu"

[torch]
universal = true
"#;

/// The format of most of 2025.
pub const V2: &str = r#"[general]
name = "relu"
universal = false
cuda-minver = "12.6"
python-depends = ["einops"]

[torch]
src = ["torch-ext/torch_binding.cpp"]
minver = "2.7"

[kernel.relu]
backend = "cuda"
src = ["csrc/relu.cu"]
depends = ["torch"]
"#;

/// A Python-only kernel of that time.
pub const V2_UNIVERSAL: &str = r#"[general]
name = "relu"
universal = true
"#;

/// The format of early 2026.
pub const V3: &str = r#"[general]
name = "relu"
version = 1
backends = ["cuda"]

[general.cuda]
maxver = "13.0"

[torch]
src = ["torch-ext/torch_binding.cpp"]

[kernel.relu]
backend = "cuda"
src = ["csrc/relu.cu"]
depends = ["torch"]
"#;

/// The format of spring 2026.
pub const V4: &str = r#"[general]
name = "relu"
version = 1
license = "Apache-2.0"
backends = ["cuda"]

[torch]
src = ["torch-ext/torch_binding.cpp"]
stable-abi = "2.10"

[kernel.relu]
backend = "cuda"
src = ["csrc/relu.cu"]
depends = ["torch"]
"#;

const NAME: &str = "name = \"relu\"\n";
const SECTION: &str = "[kernel.relu]\n";
const SRC: &str = r#"src = ["csrc/relu.cu"]"#;
const BINDING: &str = "[torch]\nsrc = [\"torch-ext/torch_binding.cpp\"]\n";
const HIPIFY: &str = "language = \"cuda-hipify\"";

/// Mistakes in files of each format.
pub const OLD: &[OldCase] = &[
    ("v1-no-name", V1, NAME, ""),
    ("v1-language", V1, HIPIFY, "language = \"hip\""),
    ("v1-language-type", V1, HIPIFY, "language = 1"),
    (
        "v1-backend",
        V1,
        HIPIFY,
        "language = \"cuda-hipify\"\nbackend = \"cuda\"",
    ),
    (
        "v1-key-of-v2",
        V1,
        BINDING,
        "[torch]\nminver = \"2.7\"\nsrc = [\"torch-ext/torch_binding.cpp\"]\n",
    ),
    ("v1-version", V1, NAME, "name = \"relu\"\nversion = 1\n"),
    (
        "v1-cuda-flags",
        V1,
        SRC,
        "src = [\"csrc/relu.cu\"]\ncuda-flags = []",
    ),
    ("v1-rocm-archs-unused", V1, HIPIFY, "language = \"cuda\""),
    (
        "v1-hipify-missing-source",
        V1,
        "csrc/relu.cu",
        "csrc/rellu.cu",
    ),
    (
        "v1-hipify-name",
        V1,
        SECTION,
        "[kernel.relu_rocm]\nsrc = [\"csrc/relu_shared.cpp\"]\ndepends = []\n\n[kernel.relu]\n",
    ),
    ("v1-capability", V1, "\"8.0\"", "\"8.1\""),
    (
        "v1-capability-malformed-among-others",
        V1,
        "\"8.0\"",
        "\"8.0\", \"99999.0\"",
    ),
    ("v1-dependency", V1, "[\"torch\"]", "[\"cutlas_3_6\"]"),
    ("v1-no-depends", V1, "depends = [\"torch\"]\n", ""),
    ("v1-universal-type", V1_UNIVERSAL, "= true", "= \"true\""),
    (
        "v1-universal-with-section",
        V1_UNIVERSAL,
        "universal = true\n",
        "universal = true\n\n[kernel.relu]\nsrc = [\"csrc/relu.cu\"]\ndepends = []\n",
    ),
    (
        "v1-universal-src",
        V1_UNIVERSAL,
        "universal = true\n",
        "universal = true\nsrc = [\"torch-ext/torch_binding.cpp\"]\n",
    ),
    ("v2-no-sections", V2_UNIVERSAL, "true", "false"),
    ("v2-universal-type", V2, "= false", "= 0"),
    ("v2-key-of-v4", V2, "minver = \"2.7\"", "cxx-flags = []"),
    ("v2-unknown-key", V2, "cuda-minver", "cuda-minversion"),
    ("v2-unknown-backend", V2, "\"cuda\"", "\"cudda\""),
    (
        "v2-bounds",
        V2,
        "cuda-minver = \"12.6\"",
        "cuda-minver = \"12.6\"\ncuda-maxver = \"12.4\"",
    ),
    ("v2-version-float", V2, "\"12.6\"", "12.6"),
    (
        "v2-no-binding",
        V2,
        "[torch]\nsrc = [\"torch-ext/torch_binding.cpp\"]\nminver = \"2.7\"\n\n",
        "",
    ),
    (
        "v2-source-in-two-sections",
        V2,
        SECTION,
        "[kernel.again]\nbackend = \"cuda\"\ndepends = []\nsrc = [\"csrc/relu.cu\"]\ncuda-flags = [\"-DX\"]\ninclude = [\"csrc\"]\n\n[kernel.relu]\n",
    ),
    (
        "v2-source-of-the-binding",
        V2,
        SRC,
        "src = [\"csrc/relu.cu\", \"torch-ext/torch_binding.cpp\"]\ncxx-flags = [\"-DX\"]",
    ),
    (
        "v2-universal-with-section",
        V2,
        "universal = false",
        "universal = true",
    ),
    ("v2-python-dependency", V2, "einops", "einop"),
    ("v2-name-underscore", V2_UNIVERSAL, "relu", "my_relu"),
    ("v2-name", V2_UNIVERSAL, "relu", "Relu"),
    ("v3-no-backends", V3, "[\"cuda\"]", "[]"),
    (
        "v3-unknown-key",
        V3,
        "version = 1",
        "version = 1\nuniversal = false",
    ),
    ("v3-tvm-ffi-src", V3, BINDING, "[tvm-ffi]\n"),
    (
        "v3-backend-without-section",
        V3,
        "[\"cuda\"]",
        "[\"cpu\", \"cuda\"]",
    ),
    (
        "v3-src-without-sections",
        V3,
        "[kernel.relu]\nbackend = \"cuda\"\nsrc = [\"csrc/relu.cu\"]\ndepends = [\"torch\"]\n",
        "",
    ),
    ("v4-no-backends", V4, "backends = [\"cuda\"]\n", ""),
    ("v4-no-license", V4, "license = \"Apache-2.0\"\n", ""),
    ("v4-stable-abi-table", V4, "\"2.10\"", "{ cuda = \"2.10\" }"),
    (
        "v4-kernel-depends",
        V4,
        NAME,
        "name = \"relu\"\nkernel-depends = [{ repo-id = \"org/a\", version = 1 }]\n",
    ),
    ("v4-name-underscore", V4, "\"relu\"", "\"re_lu\""),
    (
        "v4-no-framework",
        V4,
        "[torch]\nsrc = [\"torch-ext/torch_binding.cpp\"]\nstable-abi = \"2.10\"\n",
        "[general.hub]\n",
    ),
    (
        "v4-lean-headers",
        V4,
        SRC,
        "src = [\"csrc/relu.cu\"]\nlean-headers = false",
    ),
    ("v4-cutlass-sycl", V4, "[\"torch\"]", "[\"cutlass_sycl\"]"),
];
