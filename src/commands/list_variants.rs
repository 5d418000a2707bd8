//! `list-variants`: the variants that a kernel is built for, and the reasons why others are
//! excluded. Does not ask Nix.

use serde::Serialize;

use super::{CommandError, count, print};
use crate::build;
use crate::cli::ListVariantsArgs;
use crate::kernel::Kernel;
use crate::matrix::{Excluded, Variant, arch_variants, matrix, other_releases, table};

/// A variant in JSON.
#[derive(Serialize)]
struct ListedVariant<'a> {
    variant: &'a str,
    backend: &'static str,
    /// `None` for a variant of Python alone, which any system builds.
    system: Option<&'a str>,
    torch: Option<&'a str>,
    compute: Option<&'a str>,
    profile: Option<String>,
    bundle: bool,
    /// Whether its toolchains have pins, so that it can be built.
    pinned: bool,
}

/// An excluded variant in JSON.
#[derive(Serialize)]
struct ExcludedVariant<'a> {
    variant: &'a str,
    system: &'a str,
    key: String,
    why: String,
}

pub fn run(arguments: &ListVariantsArgs) -> Result<(), CommandError> {
    let path = &arguments.kernel.path;
    // NB: no plan is made, since `--why` is also used for kernels without any variant.
    let loaded = Kernel::load(path, &table().toolkits)?;
    build::mention_warnings(path, &loaded);
    let kernel = loaded.kernel;
    let matrix = matrix(&kernel, table());
    if let Some(line) = matrix.left_out().filter(|_| !arguments.why) {
        anstream::eprintln!("{line}");
    }
    for note in other_releases(&kernel, &matrix, table()) {
        anstream::eprintln!("note: {note}");
    }
    let system = build::system();
    let listed = |other: Option<&str>| arguments.all || other.is_none_or(|other| other == system);
    let variants = match arguments.arch {
        true => arch_variants(&kernel, table()),
        false => matrix.variants.clone(),
    };
    if arguments.why {
        let excluded = matrix.excluded.iter();
        let excluded = excluded.filter(|excluded| listed(Some(&excluded.system)));
        let excluded: Vec<_> = excluded.map(not_built).collect();
        return show(&excluded, arguments.json, |line| {
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
    show(&variants, arguments.json, |line| line.variant.to_owned())
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

fn built(variant: &Variant) -> ListedVariant<'_> {
    let row = variant.row();
    ListedVariant {
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

fn not_built(excluded: &Excluded) -> ExcludedVariant<'_> {
    ExcludedVariant {
        variant: &excluded.name,
        system: &excluded.system,
        key: excluded.why.key(),
        why: excluded.why.to_string(),
    }
}
