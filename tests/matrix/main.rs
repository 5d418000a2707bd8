//! The variants that a kernel is built for, their names, and the reasons why others are left out.

#[path = "../common/mod.rs"]
mod common;
mod names;
mod reasons;

use std::collections::BTreeSet;

use kernel_builder::kernel::{Bounds, Framework, Kernel, Torch};
use kernel_builder::matrix::{Excluded, Matrix, Table, Variant};

/// The torch of a kernel that is a torch extension.
pub fn torch(kernel: &mut Kernel) -> &mut Torch {
    match &mut kernel.framework {
        Framework::Torch(torch) => torch,
        other => panic!("not a torch kernel: {other:?}"),
    }
}

/// Bounds of two versions; an empty one is none.
pub fn bounds(minver: &str, maxver: &str) -> Bounds {
    let version = |text: &str| (!text.is_empty()).then(|| text.parse().expect("a version"));
    Bounds {
        minver: version(minver),
        maxver: version(maxver),
    }
}

/// A table of rows written as `<torch> <backend> [<compute>] <system>`.
pub fn table(rows: &[&str]) -> Table {
    let mut systems = BTreeSet::new();
    let mut row = |row: &&str| {
        let words: Vec<_> = row.split(' ').collect();
        let (torch, backend, compute, system) = match words[..] {
            [torch, backend, system] => (torch, backend, String::new(), system),
            [torch, backend, compute, system] => {
                (torch, backend, format!("compute = {compute:?}, "), system)
            }
            _ => panic!("not a row: {row}"),
        };
        systems.insert(system.to_owned());
        format!(
            "{{ torch = {torch:?}, backend = {backend:?}, {compute}system = {system:?}, \
             profile = \"registry\", bundle = true }},\n"
        )
    };
    let rows: String = rows.iter().map(&mut row).collect();
    let host = |system: &String| format!("{system} = {{ host = \"h\", policy = \"p\" }}\n");
    let hosts: String = systems.iter().map(host).collect();
    toml::from_str(&format!(
        "cuda = []\nrows = [\n{rows}]\n[host.registry]\n{hosts}[torch]\n[policy]\n"
    ))
    .expect("a table")
}

/// The torch release that a variant is built with.
pub fn torch_release(variant: &Variant) -> &str {
    let torch = variant.row().and_then(|row| row.torch());
    torch.expect("a torch row").as_str()
}

/// The names of all variants.
pub fn built(matrix: &Matrix) -> Vec<&str> {
    matrix.variants.iter().map(|v| v.name.as_str()).collect()
}

/// The rows that are left out, each with its reasons.
pub fn excluded(matrix: &Matrix) -> Vec<String> {
    let words = |Excluded { name, why, .. }: &Excluded| format!("{name}: {why}");
    matrix.excluded.iter().map(words).collect()
}
