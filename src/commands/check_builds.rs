//! `check-builds` and `verify`: whether built variants are whole and unchanged, and are what their
//! metadata.json says. The first is for the author of a build, the second for whoever got one.

use std::fmt::Write;

use camino::Utf8Path;
use minisign::PublicKey;
use serde_json::json;

use super::{CommandError, count, print, print_json};
use crate::abi::check_variants;
use crate::artifact::check::{CheckedVariant, find_variants};
use crate::artifact::finding::ArtifactFinding;
use crate::artifact::signature::{check_signature, read_public_key};
use crate::cli::{CheckBuildsArgs, VerifyArgs};

pub fn run(arguments: &CheckBuildsArgs) -> Result<(), CommandError> {
    report(&check(&arguments.dir, false, None)?, arguments.json)
}

/// Runs `verify`.
pub fn run_verify(arguments: &VerifyArgs) -> Result<(), CommandError> {
    let key = arguments.public_key.as_deref().map(read_public_key);
    let key = key.transpose()?;
    let mut checked = Vec::new();
    for path in &arguments.paths {
        checked.extend(check(path, true, key.as_ref())?);
    }
    report(&checked, arguments.json)
}

/// Checks the variants that a path means, and with a key their signatures. Never empty.
pub(super) fn check(
    path: &Utf8Path,
    allows_links: bool,
    key: Option<&PublicKey>,
) -> Result<Vec<CheckedVariant>, CommandError> {
    let failed = |source| CommandError::Io {
        action: format!("read the builds in {path}"),
        source,
    };
    let folders = find_variants(path).map_err(failed)?;
    if folders.is_empty() {
        return Err(CommandError::NoBuilds(path.to_owned()));
    }
    let mut checked = check_variants(&folders, allows_links)?;
    if let Some(key) = key {
        for variant in &mut checked {
            let signature = check_signature(&variant.folder, &variant.name, key);
            variant.findings.extend(signature);
        }
    }
    Ok(checked)
}

/// Prints the findings of variants. An error if one of them is wrong.
pub(super) fn report(checked: &[CheckedVariant], is_json: bool) -> Result<(), CommandError> {
    match is_json {
        true => {
            let variants = checked.iter().map(|variant| {
                json!({
                    "variant": variant.name,
                    "path": variant.folder,
                    "files": variant.files.len(),
                    "good": !variant.is_wrong(),
                    "findings": variant.findings,
                })
            });
            print_json(&json!({ "variants": variants.collect::<Vec<_>>() }))?;
        }
        false => print(&checked.iter().map(words).collect::<String>())?,
    }
    let wrong = checked.iter().filter(|variant| variant.is_wrong()).count();
    match wrong {
        0 => Ok(()),
        wrong => Err(CommandError::WrongBuilds {
            wrong,
            of: checked.len(),
        }),
    }
}

/// The most findings of a variant that are printed for a person.
const MAX_FINDINGS: usize = 20;

/// Lines about a variant: one for each finding and one for its cure, or one that it is good.
fn words(variant: &CheckedVariant) -> String {
    let mut text = String::new();
    // NB: errors first: of many findings, the last are not shown.
    let is_warning = |finding: &&ArtifactFinding| finding.rule.is_warning();
    let (warnings, errors): (Vec<_>, Vec<_>) = variant.findings.iter().partition(is_warning);
    let mut last_help = "";
    for finding in errors.iter().chain(&warnings).take(MAX_FINDINGS) {
        let kind = match finding.rule.is_warning() {
            true => "warning",
            false => "error",
        };
        let place = variant.folder.join(finding.place());
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{kind}: {place}: {}", finding.message);
        if finding.help != last_help {
            let _ = writeln!(text, "  help: {}", finding.help);
        }
        last_help = &finding.help;
    }
    let hidden = variant.findings.len().saturating_sub(MAX_FINDINGS);
    if hidden > 0 {
        let _ = writeln!(
            text,
            "and {}: --json lists all",
            count(hidden, "more finding")
        );
    }
    let state = match variant.is_wrong() {
        true => "wrong",
        false => "good",
    };
    let files = count(variant.files.len(), "file");
    let _ = writeln!(text, "{}: {state}, {files}", variant.folder);
    text
}
