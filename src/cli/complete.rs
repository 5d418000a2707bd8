//! Values that a shell offers for arguments (`kernel-builder completions`): variants of the kernel
//! on the command line, families of pins, codes of problems and errors.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use camino::Utf8Path;
use clap::CommandFactory;
use clap_complete::CompleteEnv;
use clap_complete::engine::{ArgValueCandidates, CompletionCandidate};

use super::Cli;
use crate::build::system;
use crate::families::all_families;
use crate::init::Example;
use crate::kernel::Kernel;
use crate::matrix::{Variant, matrix, table};
use crate::problem::code;
use crate::problem::errors::error_codes;

/// The variable with which a completion script asks this program. NB: it is not clap's `COMPLETE`,
/// which other programs may set for themselves.
pub const VARIABLE: &str = "KERNEL_BUILDER_COMPLETE";

/// Answers a completion script and ends the program, if a script asks. Call it before anything is
/// printed.
pub fn answer_shell() {
    CompleteEnv::with_factory(Cli::command)
        .var(VARIABLE)
        .complete();
}

/// The variants of the kernel on the command line, for this system. If there is no kernel, those
/// that any kernel may have.
pub(super) fn variants() -> ArgValueCandidates {
    ArgValueCandidates::new(|| {
        let words: Vec<OsString> = std::env::args_os().collect();
        let names = match kernel_on_line(&words) {
            Some(kernel) => variants_of_kernel(&kernel),
            None => table().variants().into_iter().collect(),
        };
        names.into_iter().map(CompletionCandidate::new).collect()
    })
}

/// The names of families of pins.
pub(super) fn families() -> ArgValueCandidates {
    ArgValueCandidates::new(|| {
        let mut names: Vec<String> = all_families()
            .unwrap_or_default()
            .into_iter()
            .map(|(_, family)| family.family)
            .collect();
        names.sort();
        names.dedup();
        names.into_iter().map(CompletionCandidate::new).collect()
    })
}

/// The names of examples, each with its description.
pub(super) fn examples() -> ArgValueCandidates {
    ArgValueCandidates::new(|| {
        let examples = Example::all().into_iter();
        let candidate = |example: Example| {
            CompletionCandidate::new(example.name).help(Some(example.description().into()))
        };
        examples.map(candidate).collect()
    })
}

/// The codes of problems and errors, with their titles.
pub(super) fn codes() -> ArgValueCandidates {
    ArgValueCandidates::new(|| {
        let codes = code::ALL.iter().copied().chain(error_codes());
        let candidate = |code: code::Code| {
            CompletionCandidate::new(code.id).help(Some(code.title.to_owned().into()))
        };
        codes.map(candidate).collect()
    })
}

/// The kernel that the words of a command line name: the first that is one, else the one in the
/// folder of `-C` or the current one. `None` if it cannot be read.
fn kernel_on_line(words: &[OsString]) -> Option<Kernel> {
    // The script puts `--` before the words of the line, the first of which is the program.
    let start = words.iter().position(|word| word == "--")?;
    let words = words.get(start + 2..).unwrap_or_default();
    let mut folder = PathBuf::from(".");
    for pair in words.windows(2).filter(|pair| pair[0] == "-C") {
        folder.push(&pair[1]);
    }
    let places = words.iter().map(|word| folder.join(word));
    let is_kernel = |place: &PathBuf| {
        let is_file = place.file_name() == Some("build.toml".as_ref()) && place.is_file();
        is_file || place.join("build.toml").is_file()
    };
    let place = places.filter(|place| *place != folder).find(is_kernel);
    let place = place.unwrap_or(folder);
    let place = Utf8Path::from_path(Path::new(&place))?;
    Some(Kernel::load(place, &table().toolkits).ok()?.kernel)
}

/// The names of a kernel's variants for this system; all of them if it has none.
fn variants_of_kernel(kernel: &Kernel) -> Vec<String> {
    let variants = matrix(kernel, table()).variants;
    let system = system();
    let is_any = !variants.iter().any(|variant| variant.builds_on(&system));
    let listed = |variant: &Variant| is_any || variant.builds_on(&system);
    let listed = variants.into_iter().filter(listed);
    listed.map(|variant| variant.name).collect()
}
