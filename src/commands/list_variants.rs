//! `list-variants`: what a kernel is built for, and why not for more, without asking Nix.

use camino::Utf8Path;
use serde::Serialize;

use super::{CommandError, count, prepare, print};
use crate::kernel::Kernel;
use crate::matrix::{Excluded, Variant, arch_variants, matrix, other_releases, table};

/// What is listed, and how.
pub struct Options {
    pub all: bool,
    pub arch: bool,
    pub why: bool,
    pub json: bool,
}

/// A variant, as JSON has it.
#[derive(Serialize)]
struct Built<'a> {
    variant: &'a str,
    backend: &'static str,
    /// Nothing for Python alone, which any system builds.
    system: Option<&'a str>,
    torch: Option<&'a str>,
    compute: Option<&'a str>,
    profile: Option<String>,
    bundle: bool,
    /// Whether its toolchains have pins, so that it can be built.
    pinned: bool,
}

/// A variant that is not built, as JSON has it.
#[derive(Serialize)]
struct NotBuilt<'a> {
    variant: &'a str,
    system: &'a str,
    key: String,
    why: String,
}

pub fn run(path: &Utf8Path, options: Options) -> Result<(), CommandError> {
    // No plan is needed, and `--why` is asked where there may be no variant.
    let loaded = Kernel::load(path)?;
    prepare::mention_warnings(path, &loaded);
    let kernel = loaded.kernel;
    let matrix = matrix(&kernel, table());
    if let Some(line) = matrix.left_out().filter(|_| !options.why) {
        anstream::eprintln!("{line}");
    }
    for note in other_releases(&kernel, &matrix, table()) {
        anstream::eprintln!("note: {note}");
    }
    let system = prepare::system();
    let listed = |own: Option<&str>| options.all || own.is_none_or(|own| own == system);
    let variants = match options.arch {
        true => arch_variants(&kernel, table()),
        false => matrix.variants.clone(),
    };
    if options.why {
        let excluded = matrix.excluded.iter();
        let excluded = excluded.filter(|excluded| listed(Some(&excluded.system)));
        let excluded: Vec<_> = excluded.map(not_built).collect();
        return show(&excluded, options.json, |line| {
            format!("{}: {}", line.variant, line.why)
        });
    }
    let of_system = |variant: &&Variant| listed(variant.row().map(|row| &*row.system));
    let all = variants.len();
    let variants: Vec<_> = variants.iter().filter(of_system).map(built).collect();
    if variants.is_empty() {
        let elsewhere = match all {
            0 => "`--why` says why".to_owned(),
            _ => format!("`--all` lists {} of other systems", count(all, "variant")),
        };
        anstream::eprintln!("no variant is built on {system}; {elsewhere}");
    }
    show(&variants, options.json, |line| line.variant.to_owned())
}

/// Prints lines, or JSON.
fn show<T: Serialize>(
    lines: &[T],
    json: bool,
    line: impl Fn(&T) -> String,
) -> Result<(), CommandError> {
    if json {
        return print(&format!("{:#}\n", serde_json::json!(lines)));
    }
    print(
        &lines
            .iter()
            .map(|item| line(item) + "\n")
            .collect::<String>(),
    )
}

fn built(variant: &Variant) -> Built<'_> {
    let row = variant.row();
    Built {
        variant: &variant.name,
        backend: variant.backend.as_str(),
        system: row.map(|row| row.system.as_str()),
        torch: row.and_then(|row| Some(row.torch()?.as_str())),
        compute: row.and_then(|row| Some(row.compute.as_ref()?.as_str())),
        profile: row.map(|row| row.profile.to_string()),
        bundle: variant.bundle,
        pinned: variant.unpinned().is_none(),
    }
}

fn not_built(excluded: &Excluded) -> NotBuilt<'_> {
    NotBuilt {
        variant: &excluded.name,
        system: &excluded.system,
        key: excluded.why.key(),
        why: excluded.why.to_string(),
    }
}
