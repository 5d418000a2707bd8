//! Events of a build, as `build --json` prints them, one JSON object a line (docs/plan.md).

use serde::Serialize;

/// The start or the end of the building or copying of one store path. `step` is its title.
#[derive(Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub(super) enum BuildEvent<'a> {
    StepStarted {
        step: &'a str,
        derivation: &'a str,
        /// The remote builder; `None` for this machine.
        machine: Option<&'a str>,
    },
    /// The end of a step, with success or not.
    StepEnded {
        step: &'a str,
        derivation: &'a str,
        machine: Option<&'a str>,
        seconds: f64,
        /// Bytes of its largest process. Only compilations report them.
        peak_memory: Option<u64>,
    },
    Copied {
        path: &'a str,
        cache: &'a str,
        seconds: f64,
    },
    /// A note of a step, or a warning of Nix.
    Note { text: &'a str },
}
