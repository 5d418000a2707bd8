//! Kernels that are generated: units with or without torch's headers, and a binding. C++ for the
//! CPU, or C++ and CUDA. The same arguments give the same files.

use std::path::Path;

/// Units that include the same group header.
const PER_GROUP: usize = 10;

/// Instances of a template of two loops that make a C++ unit take about 0.3 s of CPU; 100 take 2 s
/// (g++ 12 at -O3).
pub const LIGHT: usize = 8;

/// CUDA architectures of a kernel with CUDA units.
pub const ARCHS: &str = "\"8.0\", \"8.6\", \"8.9\", \"9.0\"";

/// The size of a generated kernel.
#[derive(Clone, Copy, Debug)]
pub struct Synthetic {
    pub units: usize,
    /// How many of the units are CUDA. If any is, the kernel is for CUDA, else for the CPU.
    pub cuda: usize,
    /// Whether each unit includes `torch/all.h`, as most published kernels do.
    pub torch: bool,
    /// The number of instances of the template in each unit.
    pub instances: usize,
}

/// Writes a kernel. Each unit includes a header that all units include, a header of its group of
/// ten, and a header of its own. Every file holds `salt`, so that no object of another salt can be
/// used.
pub fn write(root: &Path, kernel: Synthetic, salt: &str) {
    let Synthetic {
        units,
        cuda,
        torch,
        instances,
    } = kernel;
    let file = |path: &str, text: &str| {
        let path = root.join(path);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("create a folder");
        std::fs::write(path, text).expect("write a file");
    };
    let common = format!(
        r#"// {salt}
#pragma once
#include <cmath>
#include <cstddef>

namespace {{
template <int N> struct Step {{
  static void run(float *out, const float *in, std::size_t n) {{
    for (std::size_t i = 0; i < n; ++i) out[i] = std::fma(in[i], float(N) + 0.5f, out[i] * in[(i + N) % n]);
    for (std::size_t i = N; i < n; ++i) out[i] = out[i] > in[i - N] ? out[i] - in[i - N] : in[i] * out[i - N];
    Step<N - 1>::run(out, in, n);
  }}
}};
template <> struct Step<0> {{
  static void run(float *, const float *, std::size_t) {{}}
}};
}} // namespace
"#
    );
    file("csrc/common.h", &common);
    for group in 0..units.div_ceil(PER_GROUP) {
        let text =
            format!("// {salt}\n#pragma once\n#include \"common.h\"\n#define GROUP {group}\n");
        file(&format!("csrc/group_{group}.h"), &text);
    }
    let mut sources = String::new();
    let mut calls = String::new();
    for unit in 0..units {
        let group = unit / PER_GROUP;
        let leaf = format!("// {salt}\n#pragma once\n#define LEAF {unit}\n");
        file(&format!("csrc/leaf_{unit}.h"), &leaf);
        let with_torch = match (torch, unit < cuda) {
            (false, _) => "",
            (true, false) => CPP_WITH_TORCH,
            (true, true) => CUDA_WITH_TORCH,
        };
        let includes = format!(
            "// {salt}\n#include \"group_{group}.h\"\n#include \"leaf_{unit}.h\"\n{}",
            with_torch.replace("UNIT", &unit.to_string())
        );
        let signature = format!("unit_{unit}(float *out, const float *in, std::size_t n)");
        let (extension, text) = match unit < cuda {
            false => (
                "cpp",
                format!(
                    "{includes}\nvoid {signature} {{\n  \
                     Step<{instances}>::run(out, in, n);\n  out[0] += GROUP + LEAF;\n}}\n"
                ),
            ),
            true => (
                "cu",
                format!(
                    "{includes}#include \"device.h\"\n\n\
                     __global__ void kernel_{signature} {{\n  \
                     DeviceStep<{instances}>::run(out, in, n);\n  if (threadIdx.x == 0) out[0] += GROUP + LEAF;\n}}\n\n\
                     void {signature} {{ kernel_unit_{unit}<<<1, 256>>>(out, in, n); }}\n"
                ),
            ),
        };
        file(&format!("csrc/unit_{unit}.{extension}"), &text);
        sources += &format!("  \"csrc/unit_{unit}.{extension}\",\n");
        calls += &format!("void unit_{unit}(float *, const float *, std::size_t);\n");
    }
    calls += "inline void all(float *out, const float *in, std::size_t n) {\n";
    for unit in 0..units {
        calls += &format!("  unit_{unit}(out, in, n);\n");
    }
    file(
        "torch-ext/units.h",
        &format!("// {salt}\n#pragma once\n#include <cstddef>\n{calls}}}\n"),
    );
    file(
        "torch-ext/torch_binding.cpp",
        &format!(
            "// {salt}\n{}",
            BINDING.replace("kCPU", if cuda > 0 { "kCUDA" } else { "kCPU" })
        ),
    );
    let mut archs = String::new();
    if cuda > 0 {
        let text = format!(
            r#"// {salt}
#pragma once

template <int N> struct DeviceStep {{
  static __device__ void run(float *out, const float *in, std::size_t n) {{
    for (std::size_t i = threadIdx.x; i < n; i += blockDim.x) out[i] = fmaf(in[i], float(N) + 0.5f, out[i] * in[(i + N) % n]);
    __syncthreads();
    for (std::size_t i = N + threadIdx.x; i < n; i += blockDim.x) out[i] = in[i] > in[i - N] ? out[i] - in[i - N] : in[i] * out[i];
    __syncthreads();
    DeviceStep<N - 1>::run(out, in, n);
  }}
}};
template <> struct DeviceStep<0> {{
  static __device__ void run(float *, const float *, std::size_t) {{}}
}};
"#
        );
        file("csrc/device.h", &text);
        archs = format!("cuda-capabilities = [{ARCHS}]\n");
    }
    let backend = if cuda > 0 { "cuda" } else { "cpu" };
    let depends = if torch { "\"torch\"" } else { "" };
    file("torch-ext/synthetic/__init__.py", PYTHON);
    file("README.md", "A kernel that is generated.\n");
    let build_toml = format!(
        r#"[general]
name = "synthetic"
version = 1
edition = 5
license = "Apache-2.0"
backends = ["{backend}"]

[torch]
src = ["torch-ext/torch_binding.cpp", "torch-ext/units.h"]

[kernel.synthetic]
backend = "{backend}"
{archs}depends = [{depends}]
src = [
{sources}]
"#
    );
    file("build.toml", &build_toml);
}

/// A function of a C++ unit that uses torch. UNIT is the unit's number.
const CPP_WITH_TORCH: &str = r#"#include <torch/all.h>

torch::Tensor prepare_UNIT(const torch::Tensor &input) {
  TORCH_CHECK(input.dim() == 2, "a matrix is needed, not ", input.sizes());
  auto output = torch::empty_like(input, input.options().dtype(torch::kFloat32));
  return output.copy_(at::relu(input.contiguous()));
}
"#;

/// A kernel of a CUDA unit that uses torch, and its launch. UNIT is the unit's number.
const CUDA_WITH_TORCH: &str = r#"#include <torch/all.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAGuard.h>

template <typename scalar_t>
__global__ void scale_UNIT(scalar_t *out, const scalar_t *in, int64_t n) {
  const int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
  if (i < n) out[i] = static_cast<scalar_t>(static_cast<float>(in[i]) * UNIT);
}

void launch_UNIT(torch::Tensor &out, const torch::Tensor &input) {
  TORCH_CHECK(input.is_cuda() && input.is_contiguous(), "a contiguous tensor on a GPU is needed");
  const at::cuda::OptionalCUDAGuard guard(device_of(input));
  const cudaStream_t stream = at::cuda::getCurrentCUDAStream();
  const int64_t n = input.numel();
  AT_DISPATCH_FLOATING_TYPES_AND2(at::ScalarType::Half, at::ScalarType::BFloat16, input.scalar_type(), "scale", [&] {
    scale_UNIT<scalar_t><<<(n + 255) / 256, 256, 0, stream>>>(out.data_ptr<scalar_t>(), input.data_ptr<scalar_t>(), n);
  });
}
"#;

const BINDING: &str = r#"#include <torch/library.h>
#include "registration.h"
#include "units.h"

static void run(at::Tensor &out, const at::Tensor &in) {
  all(out.data_ptr<float>(), in.data_ptr<float>(), in.numel());
}

TORCH_LIBRARY_EXPAND(TORCH_EXTENSION_NAME, ops) {
  ops.def("run(Tensor! out, Tensor input) -> ()");
  ops.impl("run", c10::kCPU, &run);
}

REGISTER_EXTENSION(TORCH_EXTENSION_NAME)
"#;

const PYTHON: &str = r#"from ._ops import ops


def run(out, input):
    ops.run(out, input)
"#;
