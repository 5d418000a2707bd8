//! `check-config`: checks build.toml and the files it names.

use super::{CommandError, count, print, print_problems};
use crate::build::{EngineError, system};
use crate::cli::CheckConfigArgs;
use crate::kernel::{Kernel, LoadError};
use crate::matrix::{matrix, table};
use crate::plan::warnings;
use crate::problem::Problems;
use crate::terminal::status;

pub fn run(arguments: &CheckConfigArgs) -> Result<(), CommandError> {
    let loaded = match Kernel::load(&arguments.kernel.path, &table().toolkits) {
        Ok(loaded) => loaded,
        Err(LoadError::Problems(problems)) if arguments.json => {
            print_problems_json(&problems, &[])?;
            return Err(EngineError::Load(LoadError::Problems(problems)).into());
        }
        Err(error) => return Err(error.into()),
    };
    let kernel = loaded.kernel;
    let matrix = matrix(&kernel, table()).with_keys_of(loaded.edition);
    let source_problems = warnings(&kernel, &matrix, table());
    if arguments.json {
        return print_problems_json(&loaded.warnings, &source_problems);
    }
    for problems in [&loaded.warnings].into_iter().chain(&source_problems) {
        print_problems(problems);
    }
    let backends: Vec<&str> = kernel
        .backends
        .iter()
        .map(|backend| backend.as_str())
        .collect();
    if let Some(line) = matrix.left_out() {
        status(line);
    }
    print(&format!(
        "{} {}: {}, {}, {}, {}\n",
        kernel.name.as_str(),
        kernel.version,
        loaded.edition,
        list_in_words(&backends),
        count(kernel.units().count(), "source"),
        matrix.numbers(&system())
    ))
}

/// Prints the problems of build.toml, and those of other files under `sources` if there are any.
fn print_problems_json(
    problems: &Problems,
    source_problems: &[Problems],
) -> Result<(), CommandError> {
    let mut json = problems.to_json();
    if !source_problems.is_empty() {
        json["sources"] = source_problems.iter().map(Problems::to_json).collect();
    }
    print(&format!("{json:#}\n"))
}

/// Words as a list: "cpu", "cpu and cuda", "cpu, cuda and metal".
fn list_in_words(backends: &[&str]) -> String {
    match backends {
        [many @ .., last] if !many.is_empty() => format!("{} and {last}", many.join(", ")),
        few => few.concat(),
    }
}
