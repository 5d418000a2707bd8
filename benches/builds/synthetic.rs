//! Kernels that are generated: C++ for the CPU that includes nothing of torch, with a binding that does. The same arguments
//! give the same files.

use std::path::Path;

/// Units that include the same group header.
const PER_GROUP: usize = 10;

/// Instances of a template of two loops that make a unit take about 0.3 s of CPU; 100 take 2 s (g++ 12 at -O3).
pub const LIGHT: usize = 8;

/// Writes a kernel of some units of so many instances. Each includes a header of all, one of its group of ten, and one of its own. `salt`
/// stands in every file: objects of another salt are of no use.
pub fn write(root: &Path, units: usize, instances: usize, salt: &str) {
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
        let text = format!(
            "// {salt}\n#include \"group_{group}.h\"\n#include \"leaf_{unit}.h\"\n\n\
             void unit_{unit}(float *out, const float *in, std::size_t n) {{\n  \
             Step<{instances}>::run(out, in, n);\n  out[0] += GROUP + LEAF;\n}}\n"
        );
        file(&format!("csrc/unit_{unit}.cpp"), &text);
        sources += &format!("  \"csrc/unit_{unit}.cpp\",\n");
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
        &format!("// {salt}\n{BINDING}"),
    );
    file("torch-ext/synthetic/__init__.py", PYTHON);
    file("README.md", "A kernel that is generated.\n");
    let build_toml = format!(
        r#"[general]
name = "synthetic"
version = 1
edition = 5
license = "Apache-2.0"
backends = ["cpu"]

[torch]
src = ["torch-ext/torch_binding.cpp", "torch-ext/units.h"]

[kernel.synthetic]
backend = "cpu"
depends = []
src = [
{sources}]
"#
    );
    file("build.toml", &build_toml);
}

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
