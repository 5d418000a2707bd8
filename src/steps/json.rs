//! Steps as `plan --json` and `graph --json` print them (docs/plan.md).

use std::collections::BTreeSet;

use serde::Serialize;

use super::torch_headers::TorchHeaders;
use super::{Step, StepKind};

/// A step in JSON.
#[derive(Serialize)]
pub struct StepJson<'a> {
    derivation: &'a str,
    kind: &'static str,
    name: &'a str,
    source: Option<&'a str>,
    driver: Option<&'a str>,
    variants: &'a BTreeSet<String>,
    needs: &'a [String],
    state: &'static str,
    reasons: &'a [String],
    hints: &'a [String],
    torch_headers: Option<&'a TorchHeaders>,
    seconds: Option<f64>,
    measured: bool,
}

impl<'a> StepJson<'a> {
    pub fn new(step: &'a Step) -> Self {
        let (source, driver) = match &step.kind {
            StepKind::Unit { source, driver, .. } => (Some(&**source), Some(&**driver)),
            StepKind::Join { source } => (Some(&**source), None),
            _ => (None, None),
        };
        Self {
            derivation: &step.derivation,
            kind: step.kind.name(),
            name: &step.name,
            source,
            driver,
            variants: &step.variants,
            needs: &step.needs,
            state: step.state.name(),
            reasons: &step.reasons,
            hints: &step.hints,
            torch_headers: step.torch_headers.as_ref(),
            seconds: step.seconds,
            measured: step.measured,
        }
    }
}
