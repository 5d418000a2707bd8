//! The library behind the `kernel-builder` program: from build.toml to Nix derivations.
//! CONTRIBUTING.md describes its modules, in the order a kernel passes through them.

pub mod abi;
pub mod artifact;
pub mod benchmark;
pub mod build;
pub mod card;
pub mod cli;
pub mod commands;
pub mod deadline;
pub mod doctor;
pub mod emit;
pub mod families;
pub mod file;
pub mod hub;
pub mod init;
pub mod kernel;
pub mod library;
pub mod machine;
pub mod manifest;
pub mod matrix;
pub mod mirror;
pub mod nix;
pub mod pins;
pub mod plan;
pub mod problem;
pub mod process;
pub mod project;
pub mod report;
pub mod scan;
pub mod skills;
pub mod steps;
pub mod terminal;
pub mod version;
pub mod wheel;
pub mod words;

/// Lower-case hexadecimal digits of bytes.
pub fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits
        .map(|digit| char::from(DIGITS[usize::from(digit)]))
        .collect()
}
