//! `check-config`: is this build.toml right?

use camino::Utf8Path;

use super::{CommandError, count, print, print_problems};
use crate::kernel::{Kernel, LoadError};
use crate::matrix::{matrix, table};
use crate::problem::Problems;

pub fn run(path: &Utf8Path, json: bool) -> Result<(), CommandError> {
    let loaded = match Kernel::load(path) {
        Ok(loaded) => loaded,
        Err(LoadError::Problems(problems)) if json => {
            print_json(&problems)?;
            return Err(CommandError::Load(LoadError::Problems(problems)));
        }
        Err(error) => return Err(error.into()),
    };
    if json {
        return print_json(&loaded.warnings);
    }
    print_problems(&loaded.warnings);
    let kernel = loaded.kernel;
    let units = kernel.torch().units().count()
        + kernel
            .sections
            .iter()
            .map(|section| section.units().count())
            .sum::<usize>();
    let backends: Vec<&str> = kernel
        .backends
        .iter()
        .map(|backend| backend.as_str())
        .collect();
    print(&format!(
        "{} {}: edition 5, {}, {}, {}\n",
        kernel.name.as_str(),
        kernel.version,
        backends.join(" and "),
        count(units, "source"),
        count(matrix(&kernel, table()).variants.len(), "variant")
    ))
}

fn print_json(problems: &Problems) -> Result<(), CommandError> {
    print(&format!("{:#}\n", problems.to_json()))
}
