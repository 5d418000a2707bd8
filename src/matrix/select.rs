//! Variants by name: exact names, and globs such as `torch21?-*-cu130-*`.

use std::collections::BTreeSet;

use globset::Glob;
use miette::Diagnostic;
use thiserror::Error;

use super::{Matrix, Variant};
use crate::problem::suggest;

/// A name or a glob that stands for no variant of a kernel.
#[derive(Clone, Debug, Diagnostic, Error, PartialEq, Eq)]
#[error("no variant is called {pattern}")]
#[diagnostic(code(variants::unknown), help("{help}"))]
pub struct UnknownVariant {
    pub pattern: String,
    /// The cure.
    pub help: String,
}

/// Characters that make a name a glob.
const WILDCARDS: [char; 5] = ['*', '?', '[', '{', '\\'];

/// The variants that names and globs stand for, each once, in the order of the matrix.
///
/// # Errors
/// The first name that no variant has, or the first glob that matches none or is invalid.
pub fn select<'a>(
    matrix: &'a Matrix,
    patterns: &[String],
) -> Result<Vec<&'a Variant>, UnknownVariant> {
    let mut wanted = vec![false; matrix.variants.len()];
    for pattern in patterns {
        let unknown = |help| UnknownVariant {
            pattern: pattern.clone(),
            help,
        };
        let glob = Glob::new(pattern).map_err(|error| unknown(error.kind().to_string()))?;
        let glob = glob.compile_matcher();
        let mut found = false;
        for (variant, wanted) in matrix.variants.iter().zip(&mut wanted) {
            if glob.is_match(&variant.name) {
                *wanted = true;
                found = true;
            }
        }
        if !found {
            return Err(unknown(help(matrix, pattern, &glob)));
        }
    }
    let variants = matrix.variants.iter().zip(wanted);
    Ok(variants
        .filter_map(|(variant, wanted)| wanted.then_some(variant))
        .collect())
}

fn help(matrix: &Matrix, pattern: &str, glob: &globset::GlobMatcher) -> String {
    let mut excluded = matrix.excluded.iter();
    if let Some(excluded) = excluded.find(|excluded| glob.is_match(&excluded.name)) {
        return format!(
            "this kernel is not built for {}: {}",
            excluded.name,
            excluded.reason()
        );
    }
    let names: Vec<&str> = matrix.variants.iter().map(|v| v.name.as_str()).collect();
    match suggest_pattern(pattern, &names) {
        Some(near) => format!("did you mean {near}?"),
        None => format!("the variants are:\n{}", names.join("\n")),
    }
}

/// The name or the glob that a pattern was probably meant to be: the pattern with the nearest part
/// of a name in place of each part without a wildcard.
fn suggest_pattern(pattern: &str, names: &[&str]) -> Option<String> {
    if !pattern.contains(WILDCARDS) {
        return suggest::nearest(pattern, names).map(str::to_owned);
    }
    let known: BTreeSet<&str> = names.iter().flat_map(|name| name.split('-')).collect();
    let known: Vec<&str> = known.into_iter().collect();
    let nearest = |part| match str::contains(part, WILDCARDS) {
        true => Some(part),
        false => suggest::nearest(part, &known),
    };
    let parts: Option<Vec<&str>> = pattern.split('-').map(nearest).collect();
    let meant = parts?.join("-");
    let glob = Glob::new(&meant).ok()?.compile_matcher();
    names
        .iter()
        .any(|name| glob.is_match(name))
        .then_some(meant)
}
