//! The state of a variant in a report.

use std::collections::BTreeSet;

use serde::Serialize;

use crate::matrix::Variant;
use crate::steps::history::{BuildHistory, LastResult, VariantOutcome};

/// The state of a variant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum CellState {
    /// The last build built a step of it.
    Built,
    /// The last build found it in the store or in a binary cache.
    Cached,
    /// The last build that was asked for it failed.
    Failed,
    /// A build before the last one made it.
    Earlier,
    /// No build of this folder was asked for it.
    Unbuilt,
    /// A toolchain of it has no pins.
    Unpinned,
    /// A rule excludes it.
    LeftOut,
}

impl CellState {
    /// Every state, in the order of a legend.
    pub const ALL: [Self; 7] = [
        Self::Failed,
        Self::Built,
        Self::Cached,
        Self::Earlier,
        Self::Unbuilt,
        Self::Unpinned,
        Self::LeftOut,
    ];

    /// The state in words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Built => "built",
            Self::Cached => "cached",
            Self::Failed => "failed",
            Self::Earlier => "built earlier",
            Self::Unbuilt => "not built",
            Self::Unpinned => "cannot be built",
            Self::LeftOut => "left out",
        }
    }
}

/// The states of a kernel's variants.
#[derive(Clone, Copy)]
pub struct VariantStates<'a> {
    pub history: &'a BuildHistory,
    /// The variants that the record of inputs says are built.
    pub recorded: &'a BTreeSet<String>,
}

impl<'a> VariantStates<'a> {
    /// The last result of a variant.
    pub fn result(&self, variant: &Variant) -> Option<&'a LastResult> {
        self.history.variants.get(&variant.name)
    }

    /// The state of a variant of the matrix.
    pub fn state(&self, variant: &Variant) -> CellState {
        let last = self.history.last.as_ref();
        let Some(result) = self.result(variant) else {
            return match self.recorded.contains(&variant.name) {
                true => CellState::Earlier,
                false if variant.unpinned().is_some() => CellState::Unpinned,
                false => CellState::Unbuilt,
            };
        };
        let is_new = last.is_some_and(|last| last.started == result.started);
        let is_of_last = last.is_none_or(|last| last.variants.contains(&variant.name));
        match result.outcome {
            VariantOutcome::Failed => CellState::Failed,
            VariantOutcome::Built if is_new => CellState::Built,
            _ if is_of_last => CellState::Cached,
            _ => CellState::Earlier,
        }
    }
}
