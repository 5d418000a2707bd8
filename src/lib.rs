//! The library behind the `kernel-builder` program: from build.toml to Nix derivations. Its modules are the rooms that
//! CONTRIBUTING.md describes, in the order a kernel passes through them.

pub mod artifact;
pub mod cli;
pub mod commands;
pub mod emit;
pub mod kernel;
pub mod library;
pub mod machine;
pub mod manifest;
pub mod matrix;
pub mod nix;
pub mod pins;
pub mod plan;
pub mod problem;
pub mod steps;
pub mod version;

/// Lower-case hexadecimal digits of bytes.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
