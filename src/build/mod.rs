//! The engine, which all commands that plan, fetch, build or enter a shell share. It reads no
//! arguments and prints no results. Its stages:
//!
//! - prepare.rs, git.rs: from a path to the variants of a kernel, their plan and build.nix
//! - evaluation.rs, saved.rs: Nix's derivations of variants
//! - survey.rs: the steps among them, and the reasons for building each
//! - fetch.rs: the archives that they need
//! - realise.rs, failures.rs: their builds, and the reasons why some failed
//! - attest.rs, install.rs: the copies of built variants in the kernel's folder
//! - history.rs: the times and results of builds, for reports
//! - shell.rs, reproduce.rs: shells of variants, and second builds
//! - watch.rs: changes of a kernel's files
//! - python.rs: the Python that runs tests and benchmarks

mod attest;
mod error;
mod evaluation;
mod failures;
pub mod fetch;
mod git;
mod history;
mod install;
mod output;
mod prepare;
mod python;
mod realise;
mod reproduce;
mod saved;
mod shell;
mod survey;
mod watch;

pub use self::attest::Attestor;
pub use self::error::{EngineError, failed_to, pin_failed};
pub use self::evaluation::{Evaluation, cached_variants, evaluate};
pub use self::failures::{command_with_logs, report_failures};
pub use self::git::hint_to_add_build_nix;
pub use self::history::{EndedBuild, record_history};
pub use self::install::{InstalledVariant, Origin, built_folder, check_replaceable, install};
pub use self::prepare::{LeftOut, Prepared, mention_warnings, prepare, system};
pub use self::python::{VariantPython, run_python};
pub use self::realise::{build_variants, limits, row_without_builder};
pub use self::reproduce::{Reproduction, reproduce};
pub use self::shell::{ShellKind, open_shell};
pub use self::survey::{StepGraph, is_recorded, record_build, survey};
pub use self::watch::{Wake, Watch};
