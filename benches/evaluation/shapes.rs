//! The kernels whose evaluation is measured: generated files of the size and shape of two large
//! kernels. The same arguments give the same files, which are never compiled.

use std::fmt::Write;
use std::path::Path;

/// Headers of the kernel's own that each unit reaches.
const HEADERS: usize = 20;

/// The shape of a generated kernel.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    pub name: &'static str,
    pub backend: &'static str,
    pub extension: &'static str,
    pub units: usize,
    /// Whether each unit includes headers of torch, so that no torch release shares it with
    /// another.
    pub torch: bool,
    /// Lines of build.toml's section of these units.
    pub section: &'static str,
    /// The pattern of the variants that are planned.
    pub variants: &'static str,
}

/// CUDA units with torch headers, as in attention kernels: few sources, many variants, many
/// architectures.
pub const CUDA: Shape = Shape {
    name: "58-cuda",
    backend: "cuda",
    extension: "cu",
    units: 58,
    torch: true,
    section: "cuda-capabilities = [\"8.0\", \"8.6\", \"8.9\", \"9.0\"]\n",
    variants: "torch*-linux",
};

/// HIP units without torch headers, as in generated instances of templates: many sources, which
/// torch releases share.
pub const HIP: Shape = Shape {
    name: "2816-hip",
    backend: "rocm",
    extension: "hip",
    units: 2816,
    torch: false,
    section: "",
    variants: "torch*-rocm*-linux",
};

/// Writes the files of a kernel.
pub fn write(root: &Path, shape: Shape) {
    let file = |path: &str, text: &str| {
        let path = root.join(path);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("create a folder");
        std::fs::write(path, text).expect("write a file");
    };
    let mut all = "#pragma once\n".to_owned();
    for header in 1..HEADERS {
        let text = format!("#pragma once\n#define HEADER_{header} {header}\n");
        file(&format!("csrc/include/header_{header}.h"), &text);
        let _ = writeln!(all, "#include \"header_{header}.h\"");
    }
    file("csrc/include/all.h", &all);
    let torch = match shape.torch {
        true => "#include <torch/all.h>\n",
        false => "",
    };
    let mut sources = String::new();
    for unit in 0..shape.units {
        let path = format!("csrc/instances/unit_{unit}.{}", shape.extension);
        let text = format!(
            "{torch}#include \"../include/all.h\"\n\n__global__ void kernel_{unit}(float *out) {{ out[0] = {unit}; }}\n"
        );
        file(&path, &text);
        let _ = writeln!(sources, "  \"{path}\",");
    }
    file("torch-ext/torch_binding.cpp", BINDING);
    file("torch-ext/large/__init__.py", "from ._ops import ops\n");
    let Shape {
        backend, section, ..
    } = shape;
    let depends = match shape.torch {
        true => "\"torch\"",
        false => "",
    };
    let build_toml = format!(
        r#"[general]
name = "large"
version = 1
edition = 5
license = "Apache-2.0"
backends = ["{backend}"]

[torch]
src = ["torch-ext/torch_binding.cpp"]

[kernel.large]
backend = "{backend}"
{section}depends = [{depends}]
include = ["csrc"]
src = [
{sources}]
"#
    );
    file("build.toml", &build_toml);
}

const BINDING: &str = r#"#include <torch/library.h>
#include "registration.h"

TORCH_LIBRARY_EXPAND(TORCH_EXTENSION_NAME, ops) {
  ops.def("run(Tensor! out) -> ()");
}

REGISTER_EXTENSION(TORCH_EXTENSION_NAME)
"#;
