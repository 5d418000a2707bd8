//! `diff`: how two builds differ, to the section and symbol, and which inputs caused it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use camino::{Utf8Path, Utf8PathBuf};
use serde_json::json;

use super::{CommandError, count, print, print_json};
use crate::artifact::check::find_variants;
use crate::artifact::compare::{NameDifferences, VariantDifferences, causes, compare_variants};
use crate::cli::DiffArgs;

pub fn run(arguments: &DiffArgs) -> Result<(), CommandError> {
    let (first, second) = (&arguments.first, &arguments.second);
    let pairs = pairs(first, second)?;
    let mut compared = Vec::new();
    for (name, one, other) in &pairs {
        let differences = match (one, other) {
            (Some(one), Some(other)) => {
                let failed = |source| CommandError::Io {
                    action: format!("read {one} or {other}"),
                    source,
                };
                Some(compare_variants(one, other).map_err(failed)?)
            }
            _ => None,
        };
        compared.push((name, one.is_some(), differences));
    }
    let is_same = |(.., differences): &&(_, _, Option<VariantDifferences>)| {
        differences
            .as_ref()
            .is_some_and(VariantDifferences::is_empty)
    };
    let same = compared.iter().filter(is_same).count();
    match arguments.json {
        true => {
            let variants = compared.iter().map(|(name, is_first, differences)| {
                let only = match (differences, is_first) {
                    (Some(_), _) => None,
                    (None, true) => Some(first),
                    (None, false) => Some(second),
                };
                json!({"variant": name, "only_in": only, "differences": differences})
            });
            print_json(&json!({ "variants": variants.collect::<Vec<_>>() }))?;
        }
        false => {
            for (name, is_first, differences) in &compared {
                let text = match (differences, is_first) {
                    (Some(differences), _) => words(name, differences),
                    (None, true) => format!("{name}: only in {first}\n"),
                    (None, false) => format!("{name}: only in {second}\n"),
                };
                print(&text)?;
            }
        }
    }
    match compared.len() - same {
        0 => Ok(()),
        differing => Err(CommandError::Differ {
            differing,
            of: compared.len(),
        }),
    }
}

/// A variant by name, with its folder on each side.
type VariantPair = (String, Option<Utf8PathBuf>, Option<Utf8PathBuf>);

/// The variants of two paths by name. Two single variants are a pair whatever their names.
fn pairs(first: &Utf8Path, second: &Utf8Path) -> Result<Vec<VariantPair>, CommandError> {
    let find = |path: &Utf8Path| {
        let folders = find_variants(path).map_err(|source| CommandError::Io {
            action: format!("read the builds in {path}"),
            source,
        })?;
        match folders.is_empty() {
            true => Err(CommandError::NoBuilds(path.to_owned())),
            false => Ok(folders),
        }
    };
    let (mut one, mut other) = (find(first)?, find(second)?);
    let name = |folder: &Utf8PathBuf| folder.file_name().unwrap_or_default().to_owned();
    if let ([a], [b]) = (&one[..], &other[..]) {
        let names = (name(a), name(b));
        let name = match names.0 == names.1 {
            true => names.0,
            false => format!("{} and {}", names.0, names.1),
        };
        return Ok(vec![(name, one.pop(), other.pop())]);
    }
    let by_name = |folders: Vec<Utf8PathBuf>| -> BTreeMap<String, Utf8PathBuf> {
        folders
            .into_iter()
            .map(|folder| (name(&folder), folder))
            .collect()
    };
    let (one, other) = (by_name(one), by_name(other));
    let names: BTreeSet<&String> = one.keys().chain(other.keys()).collect();
    let pair = |name: &String| {
        (
            name.clone(),
            one.get(name).cloned(),
            other.get(name).cloned(),
        )
    };
    Ok(names.into_iter().map(pair).collect())
}

/// Lines about the differences of a variant.
fn words(name: &str, differences: &VariantDifferences) -> String {
    if differences.is_empty() {
        return format!("{name}: the same\n");
    }
    let mut text = format!("{name}: {}\n", counted(&differences.files));
    list(&mut text, "file", &differences.files);
    // Writing to a string cannot fail.
    for detail in &differences.details {
        let _ = writeln!(text, "  in {}:", detail.file);
        list(&mut text, "needed library", &detail.needed);
        list(&mut text, "section", &detail.sections);
        list(&mut text, "symbol", &detail.symbols);
        list(&mut text, "key", &detail.keys);
        if let Some(line) = detail.line {
            let _ = writeln!(text, "    from line {line} on");
        }
    }
    match &differences.inputs {
        None => text += "  causes: unknown, since a build has no statement about its inputs\n",
        Some(inputs) if inputs.is_empty() => {
            text += "  causes: none: the statements name the same inputs, so files were changed later\n";
        }
        Some(inputs) => {
            text += "  causes:\n";
            let causes = causes(inputs);
            // The recipes themselves differ, for example of two releases of this program.
            let shown = if causes.is_empty() { inputs } else { &causes };
            list(&mut text, "input", shown);
        }
    }
    text
}

/// The most names of a kind that are printed for a person.
const MAX_NAMES: usize = 12;

/// Adds a line for each name that differs.
fn list(text: &mut String, thing: &str, names: &NameDifferences) {
    for (how, names) in [
        ("removed", &names.removed),
        ("added", &names.added),
        ("changed", &names.changed),
    ] {
        for name in names.iter().take(MAX_NAMES) {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "    {thing} {how}: {name}");
        }
        if let Some(more) = names.len().checked_sub(MAX_NAMES).filter(|more| *more > 0) {
            let more = count(more, &format!("more {thing}"));
            let _ = writeln!(text, "    {how}: {more}: --json lists all");
        }
    }
}

/// "1 file changed, 2 added".
fn counted(files: &NameDifferences) -> String {
    let kinds = [
        (files.changed.len(), "changed"),
        (files.added.len(), "added"),
        (files.removed.len(), "removed"),
    ];
    let kinds = kinds.iter().filter(|(number, _)| *number > 0);
    let parts: Vec<String> = kinds
        .map(|(number, how)| format!("{} {how}", count(*number, "file")))
        .collect();
    parts.join(", ")
}
