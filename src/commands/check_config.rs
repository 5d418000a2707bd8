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
    let backends: Vec<&str> = kernel
        .backends
        .iter()
        .map(|backend| backend.as_str())
        .collect();
    print(&format!(
        "{} {}: {}, {}, {}, {}\n",
        kernel.name.as_str(),
        kernel.version,
        loaded.edition,
        in_words(&backends),
        count(kernel.units().count(), "source"),
        count(matrix(&kernel, table()).variants.len(), "variant")
    ))
}

fn print_json(problems: &Problems) -> Result<(), CommandError> {
    print(&format!("{:#}\n", problems.to_json()))
}

/// "cpu", "cpu and cuda", "cpu, cuda and metal".
fn in_words(backends: &[&str]) -> String {
    match backends {
        [many @ .., last] if !many.is_empty() => format!("{} and {last}", many.join(", ")),
        few => few.concat(),
    }
}
