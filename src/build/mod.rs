//! The engine, which all commands that plan, fetch, build or enter a shell share. It reads no
//! arguments and prints no results. Its stages:
//!
//! - prepare.rs: from a path to the variants of a kernel and their plan
//! - evaluation.rs, saved.rs: Nix's derivations of variants
//! - survey.rs: the steps among them, and the reasons for building each
//! - fetch.rs: the archives that they need
//! - realise.rs: their builds
//! - install.rs: the copies of built variants in the kernel's folder
//! - history.rs: the times and results of builds, for reports
//! - shell.rs, reproduce.rs: shells of variants, and second builds

mod error;
mod evaluation;
pub mod fetch;
mod history;
mod install;
mod output;
mod prepare;
mod realise;
mod reproduce;
mod saved;
mod shell;
mod survey;

pub use self::error::{EngineError, failed_to, pin_failed};
pub use self::evaluation::{Evaluation, cached_variants, evaluate};
pub use self::history::{EndedBuild, record_history};
pub use self::install::{InstalledVariant, Origin, built_folder, check_replaceable, install};
pub use self::prepare::{LeftOut, Prepared, mention_warnings, prepare, system};
pub use self::realise::{build_variants, limits, report_failures, row_without_builder};
pub use self::reproduce::{Reproduction, reproduce};
pub use self::shell::{ShellKind, open_shell};
pub use self::survey::{StepGraph, is_recorded, record_build, survey};
