//! CMake projects: the files that `create-pyproject` writes, what `clean-pyproject` leaves, and
//! builds of them with stock CMake and Ninja.

#[path = "../common/mod.rs"]
mod common;

mod builds;
mod clean;
mod devices;
mod files;
mod lean;
mod tools;

use std::path::Path;
use std::process::Output;

use common::program::{kernel_builder, words};

/// Runs a command that needs no store on a kernel.
pub fn run_command(command: &str, kernel: &Path, options: &[&str]) -> Output {
    let mut program = kernel_builder(command);
    program.arg(kernel).args(options);
    program.output().expect("the program")
}

/// Runs a command that must succeed; its standard output.
pub fn succeed(command: &str, kernel: &Path, options: &[&str]) -> String {
    let output = run_command(command, kernel, options);
    assert!(output.status.success(), "{command}: {}", words(&output));
    String::from_utf8(output.stdout).expect("UTF-8")
}
