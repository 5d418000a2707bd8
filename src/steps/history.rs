//! The times and results of a kernel's builds, in the user's cache, for `kernel-builder report`. No
//! build depends on them; the inputs of steps are in record.rs.

use std::collections::{BTreeMap, BTreeSet};

use camino::{Utf8Path, Utf8PathBuf};
use serde::{Deserialize, Serialize};

use super::record::name_for_kernel;
use crate::file::replace_private_file;

/// The history of a kernel's folder: `<cache>/records/<hash of the folder>.history.json`.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct BuildHistory {
    /// The kernel's folder, for a person who opens the file.
    pub kernel: String,
    /// The last build that built or copied a path; `None` if there was none.
    pub last: Option<TimedBuild>,
    /// The last result of each variant that was ever asked for.
    pub variants: BTreeMap<String, LastResult>,
    /// The last known costs of unpacking toolchains, by the name of the step.
    pub toolchains: BTreeMap<String, ToolchainCost>,
}

/// One build with the times of its steps.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct TimedBuild {
    /// The time of its start, in UTC, as RFC 3339 writes it.
    pub started: String,
    /// The hash of build.toml ([`crate::plan::Plan::manifest`]).
    pub manifest: String,
    /// Nix's name of the system that it ran on.
    pub system: String,
    /// Derivations at a time.
    pub jobs: usize,
    /// Cores that one derivation might use.
    pub cores: usize,
    /// Seconds from the start of the command to its last copy.
    pub seconds: f64,
    /// The variants that it was asked for.
    pub variants: BTreeSet<String>,
    /// The number of steps that it did not run.
    pub cached: usize,
    /// The steps that it ran, in the order in which they ended.
    pub steps: Vec<TimedStep>,
    /// The number of paths from each binary cache.
    pub copied: BTreeMap<String, usize>,
}

/// One run of a step.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct TimedStep {
    /// The name as tables and progress print it ([`super::titles`]).
    pub title: String,
    /// The name of its kind ([`super::StepKind::name`]).
    pub kind: String,
    /// The variants that need it.
    pub variants: BTreeSet<String>,
    /// Seconds from the start of the command to its own start.
    pub start: f64,
    pub seconds: f64,
    /// Bytes of its largest process; `None` for a step that compiles nothing.
    pub peak: Option<u64>,
    /// The remote builder; `None` for this machine.
    pub machine: Option<String>,
    /// Whether it is part of the longest chain of steps.
    pub critical: bool,
    pub outcome: StepOutcome,
    /// The last lines that it printed; empty unless it failed.
    pub last_lines: Vec<String>,
}

/// The outcome of one run of a step.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
pub enum StepOutcome {
    #[default]
    Built,
    Failed,
    /// The step ran once more: it got too little memory beside others.
    Repeated,
}

/// The last result of a variant.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct LastResult {
    pub outcome: VariantOutcome,
    /// The start of the build that had this result ([`TimedBuild::started`]).
    pub started: String,
    /// The seconds that its steps took in that build, one after the other.
    pub seconds: f64,
    /// Bytes of the files in its folder; 0 if it failed.
    pub bytes: u64,
    /// The id of the build; `None` if it failed.
    pub build_id: Option<String>,
}

/// The outcome of a variant in a build.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub enum VariantOutcome {
    /// A step of it was built.
    Built,
    /// The store had it.
    Cached,
    /// A binary cache had it.
    Copied,
    Failed,
}

/// The cost of unpacking a toolchain.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct ToolchainCost {
    /// Seconds of the step; `None` if this machine has never built it.
    pub seconds: Option<f64>,
    /// Bytes of its result in the store.
    pub bytes: u64,
}

impl BuildHistory {
    /// Reads the history of a kernel's folder; it is empty if there is none.
    ///
    /// # Errors
    /// `std::io::Error` if the file cannot be read, or is no history.
    pub fn open(cache: &Utf8Path, kernel: &Utf8Path) -> std::io::Result<Self> {
        let text = match std::fs::read(history_file(cache, kernel)) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(Self::default());
            }
            text => text?,
        };
        Ok(serde_json::from_slice(&text)?)
    }

    /// Writes the history of a kernel's folder.
    ///
    /// # Errors
    /// `std::io::Error` if the file system fails.
    pub fn save(&mut self, cache: &Utf8Path, kernel: &Utf8Path) -> std::io::Result<()> {
        kernel.as_str().clone_into(&mut self.kernel);
        let file = history_file(cache, kernel);
        std::fs::create_dir_all(file.parent().unwrap_or(cache))?;
        replace_private_file(&file, &serde_json::to_vec(self)?)
    }
}

fn history_file(cache: &Utf8Path, kernel: &Utf8Path) -> Utf8PathBuf {
    let name = format!("{}.history.json", name_for_kernel(kernel));
    cache.join("records").join(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_history_is_read_as_it_was_written_and_a_broken_one_is_an_error() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let cache = Utf8Path::from_path(dir.path()).expect("UTF-8");
        let kernel = Utf8Path::new("/kernels/relu");
        let none = BuildHistory::open(cache, kernel).expect("an empty history");
        assert_eq!(none, BuildHistory::default());
        let mut history = BuildHistory {
            last: Some(TimedBuild {
                steps: vec![TimedStep::default()],
                ..TimedBuild::default()
            }),
            ..BuildHistory::default()
        };
        history.save(cache, kernel).expect("written");
        assert_eq!(BuildHistory::open(cache, kernel).expect("read"), history);
        let other = BuildHistory::open(cache, Utf8Path::new("/kernels/other"));
        assert_eq!(other.expect("an empty history"), none);
        std::fs::write(history_file(cache, kernel), "{").expect("written");
        assert!(BuildHistory::open(cache, kernel).is_err());
    }
}
