//! `graph`: the steps of a build and what each needs, as JSON or for Graphviz. Builds nothing.

use camino::Utf8Path;
use serde::Serialize;

use super::prepare::prepare;
use super::{CommandError, plan, print, survey};
use crate::nix::Nix;

#[derive(Serialize)]
struct Graph<'a> {
    steps: Vec<plan::Step<'a>>,
}

pub fn run(path: &Utf8Path, names: &[String], json: bool) -> Result<(), CommandError> {
    let prepared = prepare(path)?;
    let variants = prepared.select(names)?;
    let steps = survey::survey(&Nix::find()?, &prepared, &variants)?;
    match json {
        true => plan::print_json(&Graph {
            steps: steps.all.iter().map(plan::Step::new).collect(),
        }),
        false => print(&steps.dot()),
    }
}
