//! The result of a build as data: the last event of `build --json`.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use camino::{Utf8Path, Utf8PathBuf};
use serde::Serialize;

use crate::build::{InstalledVariant, LeftOut, StepGraph};
use crate::commands::CommandError;
use crate::nix::Built;
use crate::steps::StepState;

/// The result of a build.
#[derive(Serialize)]
pub(super) struct BuildResult<'a> {
    event: &'static str,
    variants: Vec<VariantResult<'a>>,
    pub steps: StepNumbers,
    /// Titles of the steps that failed.
    failed: Vec<&'a str>,
    /// Variants of the kernel that this build was not for, by the reason.
    pub left_out: BTreeMap<LeftOut, Vec<&'a str>>,
    pub seconds: f64,
}

#[derive(Serialize)]
struct VariantResult<'a> {
    variant: &'a str,
    result: &'static str,
    /// The seconds that its steps took in this build, one after the other.
    seconds: f64,
    bytes: u64,
    /// Its folder; `None` if it was not built.
    path: Option<Utf8PathBuf>,
}

/// Numbers of steps.
#[derive(Serialize)]
pub(super) struct StepNumbers {
    pub built: usize,
    /// Steps whose results were there before, in the store or in a binary cache.
    pub cached: usize,
    pub failed: usize,
    /// Store paths that were copied from binary caches.
    pub copied: usize,
}

impl<'a> BuildResult<'a> {
    pub fn new(
        installed: &[InstalledVariant<'a>],
        graph: &StepGraph<'_>,
        built: &'a Built,
        unbuilt: &BTreeSet<&str>,
        left_out: BTreeMap<LeftOut, Vec<&'a str>>,
        output: &Utf8Path,
        time: Duration,
    ) -> Self {
        let finished = built.finished.iter();
        let (failed, done): (Vec<_>, Vec<_>) =
            finished.partition(|finished| unbuilt.contains(finished.derivation.as_str()));
        let steps = graph.steps.all.iter();
        let variants = installed.iter().map(|variant| VariantResult {
            variant: variant.name,
            result: variant.origin.name(),
            seconds: variant.seconds,
            bytes: variant.bytes,
            path: variant
                .origin
                .has_folder()
                .then(|| output.join(variant.name)),
        });
        Self {
            event: "finished",
            variants: variants.collect(),
            steps: StepNumbers {
                built: done.len(),
                cached: steps.filter(|step| step.state == StepState::Cached).count(),
                failed: failed.len(),
                copied: built.copied.len(),
            },
            failed: failed.iter().map(|finished| &*finished.title).collect(),
            left_out,
            seconds: time.as_secs_f64(),
        }
    }

    /// The number of variants that were not built.
    pub fn number_without_folder(&self) -> usize {
        let variants = self.variants.iter();
        variants.filter(|variant| variant.path.is_none()).count()
    }

    /// The number of variants that the build was for.
    pub fn number_of_variants(&self) -> usize {
        self.variants.len()
    }

    /// The result as a line of JSON.
    ///
    /// # Errors
    /// `CommandError::Io` for a defect of this program.
    pub fn json_line(&self) -> Result<String, CommandError> {
        let json = serde_json::to_string(self).map_err(|error| CommandError::Io {
            action: "write JSON".to_owned(),
            source: error.into(),
        })?;
        Ok(json + "\n")
    }
}
