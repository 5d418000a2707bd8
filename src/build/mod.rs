//! The engine: what commands that plan, fetch, build or enter a shell share. From a path to variants and their plan
//! (prepare.rs), Nix's derivations of them
//! (evaluation.rs, survey.rs), the archives that they need (fetch.rs), their builds (realise.rs)
//! and the copies of these in the user's folder (install.rs). It reads no arguments and prints no results.

mod error;
mod evaluation;
pub mod fetch;
mod install;
mod prepare;
mod realise;
mod reproduce;
mod saved;
mod shell;
mod survey;

pub use self::error::{EngineError, failed_to, pin_failed};
pub use self::evaluation::{Evaluation, evaluate};
pub use self::install::{InstalledVariant, Origin, check_replaceable, install};
pub use self::prepare::{Prepared, mention_warnings, prepare, system};
pub use self::realise::{build_variants, limits, report_failures, row_without_builder};
pub use self::reproduce::{Reproduction, reproduce};
pub use self::shell::{ShellKind, open_shell};
pub use self::survey::{Graph, remember, survey};
