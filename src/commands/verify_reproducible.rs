//! `verify-reproducible`: every step of variants once more, in another folder, and what differs. Toolchains are unpacked
//! archives; they are taken as they are.

use camino::{Utf8Path, Utf8PathBuf};
use walkdir::WalkDir;

use super::prepare::prepare;
use super::survey::{self, Graph};
use super::{CommandError, build, count, print};
use crate::artifact::sections::{StorePath, first_difference, store_paths};
use crate::nix::schedule::Task;
use crate::nix::{Limits, Nix, Rebuilt};
use crate::steps::{Kind, Step};

pub fn run(
    path: &Utf8Path,
    names: &[String],
    max_jobs: Option<u16>,
    cores: u16,
) -> Result<(), CommandError> {
    let prepared = prepare(path)?;
    let variants = prepared.select_pinned(names)?;
    let nix = Nix::find()?;
    let store = nix.store_folder().ok_or(CommandError::RemoteStore)?;
    let limits = Limits {
        max_jobs: build::jobs(&nix, max_jobs),
        cores: usize::from(cores),
        print_logs: false,
    };
    let wanted = survey::look(&nix, &prepared, &variants)?;
    let (graph, built) =
        build::everything(&nix, &prepared.plan, &variants, &wanted, &limits, false)?;
    build::report_failures(&nix, &built, false)?;
    let Graph {
        derivations, steps, ..
    } = graph;
    let mut steps = steps.all;
    steps.retain(|step| step.kind != Kind::Toolchain);
    if !built.errors.is_empty() {
        // Nix may have refused a package for what is in an object.
        let text: Vec<String> = steps
            .iter()
            .map(|step| named_paths(step, &store, &derivations[&step.derivation].output))
            .collect::<Result<_, _>>()?;
        print(&text.concat())?;
        let failed = nix.unbuilt(wanted.iter().map(|own| &own.derivation))?;
        return Err(CommandError::Build {
            failed: failed.len(),
            of: wanted.len(),
        });
    }
    let costs = survey::costs();
    let there = |step| Task {
        needs: Vec::new(),
        ..build::task(step, &costs)
    };
    let tasks: Vec<Task> = steps.iter().map(there).collect();
    anstream::eprintln!("building {} again", count(steps.len(), "step"));
    let (again, rebuilt) = nix.rebuild(&tasks, &limits)?;

    let mut wrong = 0;
    let mut text = String::new();
    for step in &steps {
        let output = &derivations[&step.derivation].output;
        let name = output.rsplit('/').next().unwrap_or(output);
        let first = store.join(name);
        let differs = match rebuilt.get(&step.derivation) {
            Some(Rebuilt::Same) => String::new(),
            Some(Rebuilt::Differs) => {
                let second = store.join(format!("{name}.check"));
                differs(step, &first, &second)?
            }
            Some(Rebuilt::Failed) | None => {
                format!("{}: failed when it was built again\n", step.title())
            }
        };
        let found = differs + &named_paths(step, &store, output)?;
        wrong += usize::from(!found.is_empty());
        text += &found;
    }
    let failed = rebuilt.values().any(|rebuilt| *rebuilt == Rebuilt::Failed);
    for error in again.errors.iter().filter(|_| failed) {
        anstream::eprintln!("{error}");
    }
    if wrong > 0 {
        print(&text)?;
        return Err(CommandError::Irreproducible {
            wrong,
            of: steps.len(),
        });
    }
    let steps = count(steps.len(), "step");
    let variants = count(variants.len(), "variant");
    print(&format!(
        "{steps} of {variants}: built twice, the same bytes, no path of the store in an object\n"
    ))
}

/// A line for the first place where two results of a step differ, and their paths.
fn differs(step: &Step, first: &Utf8Path, second: &Utf8Path) -> Result<String, CommandError> {
    let place = first_difference(first, second).map_err(reading(second))?;
    // Nix has compared them, so there is one.
    let place = place.map_or_else(String::new, |place| format!(" in {place}"));
    let title = step.title();
    Ok(format!("{title}: differs{place}\n  {first}\n  {second}\n"))
}

/// A line for each section of a unit's object, or of the files of a part of one, that holds a path of the store; nothing if
/// there is no object.
fn named_paths(step: &Step, store: &Utf8Path, output: &str) -> Result<String, CommandError> {
    let (place, name) = output.rsplit_once('/').unwrap_or(("", output));
    let object = store.join(name);
    if !matches!(step.kind, Kind::Unit { .. } | Kind::Join { .. }) || !object.exists() {
        return Ok(String::new());
    }
    let mut lines = String::new();
    for entry in WalkDir::new(&object).sort_by_file_name() {
        let entry = entry.map_err(|error| reading(&object)(error.into()))?;
        if !entry.file_type().is_file() {
            continue;
        }
        let content = std::fs::read(entry.path()).map_err(reading(&object))?;
        let file = match entry.depth() {
            0 => String::new(),
            _ => format!(" {}", entry.file_name().to_string_lossy()),
        };
        // NB: builds see the store at the place that is part of every path, wherever it lies.
        for StorePath { section, path } in store_paths(&content, place) {
            lines += &format!("{}{file}: {section} holds {path}\n", step.title());
        }
    }
    Ok(lines)
}

fn reading(path: &Utf8Path) -> impl FnOnce(std::io::Error) -> CommandError {
    let path: Utf8PathBuf = path.to_owned();
    move |source| CommandError::Io {
        action: format!("read {path}"),
        source,
    }
}
