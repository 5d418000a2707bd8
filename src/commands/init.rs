//! `init`: writes a new kernel, made from an example. Asks on a terminal, if no name is given.

use std::collections::BTreeMap;
use std::io::IsTerminal;

use camino::{Utf8Path, Utf8PathBuf};
use dialoguer::{Input, MultiSelect, Select};

use super::{CommandError, print};
use crate::build::Prepared;
use crate::cli::{InitArgs, NewFramework};
use crate::init::{Example, NewKernel, RepoName, write_new};
use crate::kernel::{Backend, Kernel};
use crate::matrix::{matrix, table};
use crate::terminal::{count, print_warnings, status};

/// The licence of a kernel whose author names none.
const LICENSE: &str = "Apache-2.0";

/// The flake that kernels take kernel-builder from, in the tutorials.
const BUILDER: &str = "github:huggingface/kernel-builder";

pub fn run(arguments: &InitArgs) -> Result<(), CommandError> {
    let (example, new) = match &arguments.name {
        Some(name) => given(arguments, name.parse()?)?,
        None if std::io::stdin().is_terminal() && std::io::stderr().is_terminal() => {
            ask(arguments)?
        }
        None => return Err(CommandError::Unnamed),
    };
    let mut files = new.files(&example)?;
    let build_nix = check(&files)?;
    files.insert("build.nix".into(), build_nix);
    let name = new.repo.kernel.as_str();
    let root = arguments.path.clone().unwrap_or_else(|| name.into());
    write_new(&root, &files)?;
    print(&format!(
        "{} in {root}: {}, from the example {}\n",
        new.repo,
        count(files.len(), "file"),
        example.name
    ))?;
    let place = match root.as_str() {
        "." | "" => String::new(),
        folder => format!(" {folder}"),
    };
    for command in ["build", "test", "benchmark"] {
        status(format_args!("next: kernel-builder {command}{place}"));
    }
    Ok(())
}

/// The new kernel as the arguments say, with the usual values for the rest.
fn given(arguments: &InitArgs, repo: RepoName) -> Result<(Example, NewKernel), CommandError> {
    let example = match &arguments.example {
        Some(name) => Example::find(name)?,
        None => Example::find(arguments.framework.unwrap_or(NewFramework::Torch).example())?,
    };
    let backends = match wanted(&arguments.backends) {
        Some(wanted) => wanted,
        None if arguments.backends.is_empty() => usual_backends(&example),
        // The word `all`.
        None => example.backends(),
    };
    let new = NewKernel {
        repo,
        license: arguments
            .license
            .clone()
            .unwrap_or_else(|| LICENSE.to_owned()),
        backends,
        builder: arguments
            .builder
            .clone()
            .unwrap_or_else(|| BUILDER.to_owned()),
    };
    Ok((example, new))
}

/// The backends of some words; `None` for no words and for `all`.
fn wanted(words: &[String]) -> Option<Vec<Backend>> {
    let known = Backend::ALL.iter().copied();
    let named: Vec<Backend> = known
        .filter(|backend| words.iter().any(|word| word == backend.as_str()))
        .collect();
    let is_all = words.iter().any(|word| word == "all");
    (!named.is_empty() && !is_all).then_some(named)
}

/// The backends that an author of today has most often, as far as the example has code for them;
/// all of the example if it has none for these.
fn usual_backends(example: &Example) -> Vec<Backend> {
    let gpu = match cfg!(target_os = "macos") {
        true => Backend::Metal,
        false => Backend::Cuda,
    };
    let mut backends = example.backends();
    if backends
        .iter()
        .any(|backend| [Backend::Cpu, gpu].contains(backend))
    {
        backends.retain(|backend| [Backend::Cpu, gpu].contains(backend));
    }
    backends
}

/// Asks on the terminal for a name, and for each value that the arguments leave open.
fn ask(arguments: &InitArgs) -> Result<(Example, NewKernel), CommandError> {
    let folder = arguments.path.as_deref().and_then(Utf8Path::file_name);
    let mut name = Input::<String>::new().with_prompt("Name on the Hub, OWNER/NAME");
    if let Some(folder) = folder {
        name = name.with_initial_text(format!("/{folder}"));
    }
    let name = name.validate_with(|text: &String| text.parse::<RepoName>().map(drop));
    let repo: RepoName = name.interact_text().map_err(asking_failed)?.parse()?;
    let example = match (&arguments.example, arguments.framework) {
        (Some(name), _) => Example::find(name)?,
        (None, Some(framework)) => Example::find(framework.example())?,
        (None, None) => {
            let frameworks = NewFramework::ALL;
            let words = frameworks.map(|framework| framework.words());
            let question = Select::new()
                .with_prompt("Framework")
                .items(words)
                .default(0);
            Example::find(frameworks[question.interact().map_err(asking_failed)?].example())?
        }
    };
    let known = example.backends();
    let backends = match (wanted(&arguments.backends), arguments.backends.is_empty()) {
        (Some(wanted), _) => wanted,
        (None, false) => known,
        (None, true) => {
            let usual = usual_backends(&example);
            let items = known
                .iter()
                .map(|backend| (backend.as_str(), usual.contains(backend)));
            let question = MultiSelect::new().with_prompt("Backends (space selects)");
            let chosen = question
                .items_checked(items)
                .interact()
                .map_err(asking_failed)?;
            match chosen.is_empty() {
                true => usual,
                false => chosen.into_iter().map(|place| known[place]).collect(),
            }
        }
    };
    let license = match &arguments.license {
        Some(license) => license.clone(),
        None => {
            let question = Input::new()
                .with_prompt("Licence")
                .default(LICENSE.to_owned());
            question.interact_text().map_err(asking_failed)?
        }
    };
    let new = NewKernel {
        repo,
        license,
        backends,
        builder: arguments
            .builder
            .clone()
            .unwrap_or_else(|| BUILDER.to_owned()),
    };
    Ok((example, new))
}

fn asking_failed(error: dialoguer::Error) -> CommandError {
    let dialoguer::Error::IO(source) = error;
    CommandError::Io {
        action: "ask on the terminal".to_owned(),
        source,
    }
}

/// Checks new files as `check-config` does, in a folder of their own. Returns the text of
/// build.nix.
fn check(files: &BTreeMap<Utf8PathBuf, String>) -> Result<String, CommandError> {
    let failed = |source| CommandError::Io {
        action: "create a temporary folder".to_owned(),
        source,
    };
    let folder = tempfile::tempdir().map_err(failed)?;
    let root = Utf8PathBuf::try_from(folder.path().to_owned());
    let root = root.map_err(|error| failed(error.into_io_error()))?;
    write_new(&root, files)?;
    let loaded = Kernel::load(&root, &table().toolkits)?;
    print_warnings(&loaded.warnings);
    let matrix = matrix(&loaded.kernel, table());
    let prepared = Prepared::new(loaded.kernel, matrix)?;
    Ok(prepared.build_nix()?.to_owned())
}
