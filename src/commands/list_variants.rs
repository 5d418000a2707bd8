//! `list-variants`: the variants that a kernel is built for, and the reasons why others are
//! excluded. It evaluates no variant.

use std::io::IsTerminal;

use camino::Utf8Path;
use serde::Serialize;

use super::{CommandError, count, print};
use crate::build::{self, EngineError, Prepared};
use crate::cli::ListVariantsArgs;
use crate::kernel::Kernel;
use crate::matrix::{Excluded, Matrix, Variant, arch_variants, matrix, other_releases, table};
use crate::nix::Nix;
use crate::terminal::{detail, note, status};

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
    /// Whether it lies in the kernel's folder build/.
    built: bool,
    /// Whether the store is known to have it, as its files are now.
    cached: bool,
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
    let matrix = matrix(&kernel, table()).with_keys_of(loaded.edition);
    if let Some(line) = matrix.left_out().filter(|_| !arguments.why) {
        status(line);
    }
    for text in other_releases(&kernel, &matrix, table()) {
        note(text);
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
    let mut variants: Vec<_> = variants
        .iter()
        .filter(of_system)
        .map(|variant| listed_variant(variant, &kernel.root))
        .collect();
    let has_marks = arguments.long || std::io::stdout().is_terminal();
    if has_marks || arguments.json {
        mark_cached(&mut variants, kernel.clone(), matrix.clone());
    }
    if variants.is_empty() {
        let elsewhere = match all {
            0 => "`--why` says why".to_owned(),
            _ => format!("`--all` lists {} of other systems", count(all, "variant")),
        };
        status(format_args!("no variant is built on {system}; {elsewhere}"));
    } else if has_marks && !arguments.json && variants.len() < all {
        let all = count(all, "variant");
        status(format_args!(
            "{} of {all}: those of {system}; `--all` lists the others",
            variants.len()
        ));
    }
    let names = variants.iter().map(|variant| variant.variant.len());
    let width = names.max().unwrap_or_default();
    show(&variants, arguments.json, |variant| {
        let marks = match has_marks {
            true => variant.marks(),
            false => String::new(),
        };
        let line = format!("{:width$}  {marks}", variant.variant);
        line.trim_end().to_owned()
    })
}

impl ListedVariant<'_> {
    /// Facts about it that a person may want, in columns.
    fn marks(&self) -> String {
        let mark = |is_set: bool, word: &'static str| if is_set { word } else { "" };
        let bundled = mark(self.bundle, "bundled");
        let built = mark(self.built, "built");
        let cached = mark(self.cached, "cached");
        let unpinned = mark(!self.pinned, "without pins");
        format!("{bundled:7}  {built:5}  {cached:6}  {unpinned}")
    }
}

/// Marks the variants that the store has. NB: the list is right without these marks, so it needs
/// neither Nix nor a kernel that can be planned.
fn mark_cached(variants: &mut [ListedVariant<'_>], kernel: Kernel, matrix: Matrix) {
    let cached = Nix::find().map_err(EngineError::from).and_then(|nix| {
        let prepared = Prepared::new(kernel, matrix)?;
        build::cached_variants(&nix, &prepared)
    });
    match cached {
        Ok(cached) => {
            for variant in variants {
                variant.cached = cached.contains(variant.variant);
            }
        }
        Err(error) => detail(format_args!("it is not known what the store has: {error}")),
    }
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

fn listed_variant<'a>(variant: &'a Variant, root: &Utf8Path) -> ListedVariant<'a> {
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
        built: build::built_folder(root, &variant.name).is_some(),
        cached: false,
    }
}

fn not_built(excluded: &Excluded) -> ExcludedVariant<'_> {
    ExcludedVariant {
        variant: &excluded.name,
        system: &excluded.system,
        key: excluded.key(),
        why: excluded.reason(),
    }
}
