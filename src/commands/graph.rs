//! `graph`: the steps of a build and the steps that each needs, as JSON or for Graphviz. Builds
//! nothing.

use serde::Serialize;

use super::{CommandError, print, print_json};
use crate::build;
use crate::cli::GraphArgs;
use crate::nix::Nix;
use crate::steps::json::StepJson;

/// The output of `--json`.
#[derive(Serialize)]
struct GraphJson<'a> {
    steps: Vec<StepJson<'a>>,
}

pub fn run(arguments: &GraphArgs) -> Result<(), CommandError> {
    let prepared = build::prepare(&arguments.kernel.path)?;
    let variants = prepared.select(&arguments.variants.names)?;
    let steps = build::survey(&Nix::find()?, &prepared, &variants)?;
    match arguments.json {
        true => print_json(&GraphJson {
            steps: steps.all.iter().map(StepJson::new).collect(),
        }),
        false => print(&steps.dot()),
    }
}
