//! Files without a mistake, over every edition. All name files of the fixture.

/// Name of the case and its file.
pub type ValidCase = (&'static str, &'static str);

/// Files of v1, and of v0, which had fewer keys.
pub const V1: &[ValidCase] = &[
    (
        "v0",
        "[general]\nname = \"relu\"\n[torch]\nsrc = [\"torch-ext/torch_binding.cpp\"]\n[kernel.relu]\nsrc = [\"csrc/relu.cu\"]\ndepends = [\"torch\"]\ncuda-capabilities = [\"8.0\", \"9.0a\"]\n",
    ),
    (
        "v1-cuda",
        "[general]\nname = \"relu\"\n[torch]\nsrc = [\"torch-ext/torch_binding.cpp\"]\nuniversal = false\n[kernel.relu]\nlanguage = \"cuda\"\nsrc = [\"csrc/relu.cu\"]\ndepends = []\n",
    ),
    (
        "v1-hipify",
        "[general]\nname = \"relu\"\n[torch]\nsrc = [\"torch-ext/torch_binding.cpp\"]\ninclude = [\"csrc\"]\n[kernel.relu]\nlanguage = \"cuda-hipify\"\nsrc = [\"csrc/relu.cu\", \"csrc/helpers.cuh\"]\ninclude = [\"csrc/include\"]\ndepends = [\"torch\", \"cutlass_3_6\"]\ncuda-capabilities = [\"8.0\"]\nrocm-archs = [\"gfx942\", \"gfx90a\"]\n",
    ),
    (
        "v1-hipify-names-in-order",
        "[general]\nname = \"relu\"\n[torch]\nsrc = [\"torch-ext/torch_binding.cpp\"]\n[kernel.a]\nlanguage = \"cuda-hipify\"\nsrc = [\"csrc/relu.cu\"]\ndepends = []\n[kernel.a2]\nlanguage = \"metal\"\nsrc = [\"csrc/relu.metal\"]\ndepends = []\n",
    ),
    (
        "v1-metal",
        "[general]\nname = \"relu\"\n[torch]\nsrc = [\"torch-ext/torch_binding.cpp\"]\n[kernel.relu]\nlanguage = \"metal\"\nsrc = [\"csrc/relu.metal\"]\ndepends = []\n",
    ),
    (
        "v1-two-languages",
        "[general]\nname = \"relu\"\n[torch]\nsrc = [\"torch-ext/torch_binding.cpp\"]\n[kernel.a]\nlanguage = \"metal\"\nsrc = [\"csrc/relu.metal\"]\ndepends = []\n[kernel.b]\nsrc = [\"csrc/relu.cu\"]\ndepends = []\n",
    ),
    (
        "v1-universal",
        "[general]\nname = \"relu\"\n[torch]\nuniversal = true\npyext = [\"py\", \"json\"]\n",
    ),
];

/// Files of v2.
pub const V2: &[ValidCase] = &[
    (
        "v2-universal",
        "[general]\nname = \"re_lu\"\nuniversal = true\n",
    ),
    (
        "v2-cuda",
        "[general]\nname = \"relu\"\nuniversal = false\n[torch]\nsrc = [\"torch-ext/torch_binding.cpp\"]\n[kernel.relu]\nbackend = \"cuda\"\nsrc = [\"csrc/relu.cu\"]\ndepends = [\"torch\"]\n",
    ),
    (
        "v2-bounds",
        "[general]\nname = \"relu\"\ncuda-minver = \"12.6\"\ncuda-maxver = \"13.0\"\n[torch]\nsrc = [\"torch-ext/torch_binding.cpp\"]\nminver = \"2.7\"\nmaxver = \"2.10\"\n[kernel.relu]\nbackend = \"cuda\"\nsrc = [\"csrc/relu.cu\"]\ndepends = [\"torch\"]\ncuda-minver = \"12.8\"\ncuda-flags = [\"-O3\"]\ncxx-flags = [\"-Wall\"]\n",
    ),
    (
        "v2-rocm",
        "[general]\nname = \"relu\"\n[torch]\nsrc = [\"torch-ext/torch_binding.cpp\"]\n[kernel.relu]\nbackend = \"rocm\"\nrocm-archs = [\"gfx942\"]\nsrc = [\"csrc/relu.hip\"]\ndepends = [\"torch\"]\nhip-flags = [\"-O3\"]\n",
    ),
    (
        "v2-every-backend",
        "[general]\nname = \"relu\"\n[torch]\nsrc = [\"torch-ext/torch_binding.cpp\"]\n[kernel.x]\nbackend = \"xpu\"\nsrc = [\"csrc/relu_shared.cpp\"]\ndepends = [\"cutlass_sycl\"]\nsycl-flags = [\"-O2\"]\n[kernel.m]\nbackend = \"metal\"\nsrc = [\"csrc/relu.metal\"]\ndepends = [\"metal-cpp\"]\n[kernel.h]\nbackend = \"rocm\"\nsrc = [\"csrc/relu.cu\"]\ndepends = []\n[kernel.g]\nbackend = \"cuda\"\nsrc = [\"csrc/relu.cu\"]\ndepends = []\n[kernel.c]\nbackend = \"cpu\"\nsrc = [\"csrc/relu_cpu.cpp\"]\ndepends = []\n",
    ),
    (
        "v2-python-depends",
        "[general]\nname = \"relu\"\nuniversal = true\npython-depends = [\"einops\", \"nvidia-cutlass-dsl\"]\n[general.hub]\nrepo-id = \"org/relu\"\nbranch = \"next\"\n",
    ),
    (
        "v2-universal-pyext",
        "[general]\nname = \"relu\"\nuniversal = true\n[torch]\npyext = [\"py\"]\n",
    ),
    (
        "v2-depends-on-cutlass",
        "[general]\nname = \"relu\"\n[torch]\nsrc = [\"torch-ext/torch_binding.cpp\"]\n[kernel.relu]\nbackend = \"cuda\"\nsrc = [\"csrc/relu.cu\"]\ndepends = [\"torch\", \"cutlass_3_9\"]\n",
    ),
];

/// Files of v3.
pub const V3: &[ValidCase] = &[
    (
        "v3-least",
        "[general]\nname = \"relu\"\nbackends = [\"cuda\"]\n[torch]\nsrc = [\"torch-ext/torch_binding.cpp\"]\n[kernel.relu]\nbackend = \"cuda\"\nsrc = [\"csrc/relu.cu\"]\ndepends = [\"torch\"]\n",
    ),
    (
        "v3-bounds",
        "[general]\nname = \"relu\"\nversion = 2\nbackends = [\"cuda\"]\n[general.cuda]\nminver = \"12.6\"\nmaxver = \"13.0\"\n[torch]\nsrc = [\"torch-ext/torch_binding.cpp\"]\nminver = \"2.8\"\n[kernel.relu]\nbackend = \"cuda\"\nsrc = [\"csrc/relu.cu\"]\ndepends = [\"torch\"]\n",
    ),
    (
        "v3-noarch",
        "[general]\nname = \"relu\"\nlicense = \"MIT\"\nbackends = [\"cuda\", \"rocm\"]\n",
    ),
    (
        "v3-noarch-pyext",
        "[general]\nname = \"relu\"\nbackends = [\"cpu\", \"neuron\"]\n[general.neuron]\npython-depends = [\"nki\"]\n[torch]\npyext = [\"py\"]\n",
    ),
    (
        "v3-noarch-src",
        "[general]\nname = \"relu\"\nbackends = [\"cuda\"]\n[torch]\nsrc = [\"torch-ext/torch_binding.cpp\"]\n",
    ),
    (
        "v3-tvm-ffi",
        "[general]\nname = \"relu\"\nversion = 1\nupstream = \"https://example.org/relu\"\nbackends = [\"cpu\"]\n[general.hub]\nrepo-id = \"org/relu\"\n[tvm-ffi]\nsrc = [\"torch-ext/torch_binding.cpp\"]\n[kernel.relu]\nbackend = \"cpu\"\nsrc = [\"csrc/relu_cpu.cpp\"]\ndepends = []\n",
    ),
    (
        "v3-license-alone",
        "[general]\nname = \"re_lu\"\nlicense = \"apache-2.0\"\nbackends = [\"xpu\"]\n[general.xpu]\npython-depends = [\"onednn\"]\n[torch]\nsrc = [\"torch-ext/torch_binding.cpp\"]\n[kernel.relu]\nbackend = \"xpu\"\nsrc = [\"csrc/relu_shared.cpp\"]\ndepends = [\"cutlass_sycl\"]\n",
    ),
];

/// Files of v4.
pub const V4: &[ValidCase] = &[
    (
        "v4-torch",
        "[general]\nname = \"relu\"\nversion = 1\nlicense = \"Apache-2.0\"\nbackends = [\"cuda\"]\n[torch]\nsrc = [\"torch-ext/torch_binding.cpp\"]\n[kernel.relu]\nbackend = \"cuda\"\nsrc = [\"csrc/relu.cu\"]\ndepends = [\"torch\"]\n",
    ),
    (
        "v4-stable-abi",
        "[general]\nname = \"relu\"\nversion = 0\nlicense = \"mit\"\nsource = \"https://example.org/relu\"\nbackends = [\"cpu\", \"cuda\"]\n[torch]\nsrc = [\"torch-ext/torch_binding.cpp\"]\nstable-abi = \"2.10\"\ncxx-flags = [\"-O3\"]\nmaxver = \"2.12\"\n[kernel.relu]\nbackend = \"cuda\"\nsrc = [\"csrc/relu.cu\"]\ndepends = [\"torch\"]\n[kernel.cpu]\nbackend = \"cpu\"\nsrc = [\"csrc/relu_cpu.cpp\"]\ndepends = []\n",
    ),
    (
        "v4-noarch",
        "[general]\nname = \"relu\"\nversion = 1\nlicense = \"Apache-2.0\"\nbackends = [\"cuda\", \"rocm\", \"tpu\"]\npython-depends = [\"einops\"]\n[torch-noarch]\npyext = [\"py\"]\ncuda_capabilities = [\"9.0\", \"8.0\"]\nrocm_archs = [\"gfx942\"]\n",
    ),
    (
        "v4-tvm-ffi",
        "[general]\nname = \"relu\"\nversion = 1\nlicense = \"Apache-2.0\"\nbackends = [\"cuda\"]\n[general.cuda]\nminver = \"12.6\"\npython-depends = [\"nvidia-cutlass-dsl\"]\n[tvm-ffi]\nsrc = [\"torch-ext/torch_binding.cpp\"]\ncxx-flags = [\"-O2\"]\n[kernel.relu]\nbackend = \"cuda\"\nsrc = [\"csrc/relu.cu\"]\ndepends = []\n",
    ),
    (
        "v4-wide",
        "[general]\nname = \"relu\"\nversion = 1\nlicense = \"Apache-2.0\"\nbackends = [\"xpu\", \"rocm\", \"metal\"]\n[torch]\nsrc = [\"torch-ext/torch_binding.cpp\"]\n[kernel.x]\nbackend = \"xpu\"\nsrc = [\"csrc/relu_shared.cpp\"]\ndepends = [\"sycl_tla\"]\n[kernel.r]\nbackend = \"rocm\"\nsrc = [\"csrc/relu.hip\"]\ndepends = []\n[kernel.m]\nbackend = \"metal\"\nsrc = [\"csrc/relu.mm\"]\ndepends = []\n",
    ),
];

/// Files of edition 5, beside those of `valid.rs`.
pub const V5: &[ValidCase] = &[
    (
        "v5-noarch-least",
        "[general]\nname = \"relu\"\nversion = 1\nedition = 5\nlicense = \"mit\"\nbackends = [\"cpu\"]\n[torch-noarch]\n",
    ),
    (
        "v5-noarch-everywhere",
        "[general]\nname = \"relu\"\nversion = 1\nedition = 5\nlicense = \"other\"\nbackends = [\"cann\", \"cpu\", \"cuda\", \"metal\", \"neuron\", \"rocm\", \"tpu\", \"xpu\"]\n[general.neuron]\nkernel-depends = [{ repo-id = \"org/a\", version = 2 }]\npython-depends = [\"nki\"]\n[general.tpu]\npython-depends = []\n[torch-noarch]\npyext = [\"py\", \"json\"]\n",
    ),
    (
        "v5-compiled-and-not",
        "[general]\nname = \"relu\"\nversion = 1\nedition = 5\nlicense = \"mit\"\nbackends = [\"cuda\", \"neuron\"]\n[torch]\nsrc = [\"torch-ext/torch_binding.cpp\"]\n[kernel.relu]\nbackend = \"cuda\"\nsrc = [\"csrc/relu.cu\"]\ndepends = []\n",
    ),
    (
        "v5-noarch-archs",
        "[general]\nname = \"relu\"\nversion = 1\nedition = 5\nlicense = \"mit\"\nbackends = [\"cuda\", \"rocm\"]\n[torch-noarch]\ncuda_capabilities = [\"10.0\", \"7.5\"]\nrocm_archs = [\"gfx1100\", \"gfx906\"]\n",
    ),
    (
        "v5-noarch-archs-with-dashes",
        "[general]\nname = \"relu\"\nversion = 1\nedition = 5\nlicense = \"mit\"\nbackends = [\"cuda\", \"rocm\"]\n[torch-noarch]\ncuda-capabilities = [\"10.0\", \"7.5\"]\nrocm-archs = [\"gfx1100\", \"gfx906\"]\n",
    ),
    (
        "v5-tvm-ffi",
        "[general]\nname = \"relu\"\nversion = 1\nedition = 5\nlicense = \"mit\"\nbackends = [\"cpu\", \"xpu\"]\n[tvm-ffi]\nsrc = [\"torch-ext/torch_binding.cpp\"]\ninclude = [\"csrc\"]\npyext = [\"py\"]\ncxx-flags = [\"-O3\"]\n[kernel.c]\nbackend = \"cpu\"\nsrc = [\"csrc/relu_cpu.cpp\"]\ndepends = []\n[kernel.x]\nbackend = \"xpu\"\nsrc = [\"csrc/relu_shared.cpp\"]\ndepends = []\n",
    ),
    (
        "v5-rocm",
        "[general]\nname = \"relu\"\nversion = 1\nedition = 5\nlicense = \"mit\"\nbackends = [\"rocm\"]\n[torch]\nsrc = [\"torch-ext/torch_binding.cpp\"]\nstable-abi = { rocm = \"2.10\" }\n[kernel.r]\nbackend = \"rocm\"\nsrc = [\"csrc/relu.cu\", \"csrc/relu.hip\"]\ndepends = [\"torch\"]\nrocm-archs = [\"gfx942\", \"gfx90a\", \"gfx1100\"]\nhip-flags = [\"-O3\"]\n",
    ),
    (
        "v5-metal",
        "[general]\nname = \"relu\"\nversion = 1\nedition = 5\nlicense = \"mit\"\nbackends = [\"metal\"]\n[torch]\nsrc = [\"torch-ext/torch_binding.cpp\"]\n[kernel.m]\nbackend = \"metal\"\nsrc = [\"csrc/relu.metal\", \"csrc/relu.mm\"]\ndepends = [\"metal-cpp\"]\n",
    ),
    (
        "v5-xpu",
        "[general]\nname = \"relu\"\nversion = 1\nedition = 5\nlicense = \"mit\"\nbackends = [\"xpu\"]\n[general.xpu]\npython-depends = [\"onednn\"]\n[torch]\nsrc = [\"torch-ext/torch_binding.cpp\"]\n[kernel.x]\nbackend = \"xpu\"\nsrc = [\"csrc/relu_shared.cpp\"]\ndepends = [\"sycl_tla\"]\nsycl-flags = [\"-fsycl\"]\n",
    ),
    (
        "v5-cutlass-per-section",
        "[general]\nname = \"relu\"\nversion = 1\nedition = 5\nlicense = \"bsd-3-clause\"\nbackends = [\"cuda\"]\n[torch]\nsrc = [\"torch-ext/torch_binding.cpp\"]\n[kernel.a]\nbackend = \"cuda\"\nsrc = [\"csrc/relu.cu\"]\ndepends = [\"cutlass_3_6\"]\n[kernel.b]\nbackend = \"cuda\"\nsrc = [\"csrc/relu_shared.cpp\"]\ndepends = [\"cutlass_4_5\"]\n",
    ),
    (
        "v5-kernel-depends",
        "[general]\nname = \"relu\"\nversion = 1\nedition = 5\nlicense = \"mit\"\nbackends = [\"cpu\"]\nkernel-depends = [{ repo-id = \"org/a\", version = 0 }, { repo-id = \"org/b\", revision = \"main\" }]\n[torch-noarch]\n",
    ),
    (
        "v5-lean-headers",
        "[general]\nname = \"relu\"\nversion = 1\nedition = 5\nlicense = \"mit\"\nbackends = [\"cuda\", \"metal\"]\n[torch]\nsrc = [\"torch-ext/torch_binding.cpp\"]\nlean-headers = false\n[kernel.a]\nbackend = \"cuda\"\nsrc = [\"csrc/relu.cu\"]\ndepends = []\nlean-headers = true\n[kernel.b]\nbackend = \"cuda\"\nsrc = [\"csrc/relu_shared.cpp\"]\ndepends = []\nlean-headers = false\n[kernel.m]\nbackend = \"metal\"\nsrc = [\"csrc/relu.mm\"]\ndepends = []\nlean-headers = false\n",
    ),
    (
        "v5-lean-headers-of-tvm-ffi",
        "[general]\nname = \"relu\"\nversion = 1\nedition = 5\nlicense = \"mit\"\nbackends = [\"cpu\"]\n[tvm-ffi]\nsrc = [\"torch-ext/torch_binding.cpp\"]\n[kernel.c]\nbackend = \"cpu\"\nsrc = [\"csrc/relu_cpu.cpp\"]\ndepends = []\nlean-headers = false\n",
    ),
    (
        "v5-dashes-in-a-row",
        "[general]\nname = \"re--lu\"\nversion = 1\nedition = 5\nlicense = \"mit\"\nbackends = [\"cpu\"]\n[torch-noarch]\n",
    ),
];
