//! `check-abi`: says whether native files of any builder load where they promise to, and disturb
//! nobody there.

use super::{CommandError, count, print, print_json};
use crate::abi::{self, AbiFinding, AbiPromises};
use crate::cli::CheckAbiArgs;
use crate::terminal::note;

pub fn run(arguments: &CheckAbiArgs) -> Result<(), CommandError> {
    let report = abi::check(
        &arguments.paths,
        &AbiPromises {
            variant: arguments.variant.clone(),
            manylinux: arguments.manylinux.clone(),
            python: arguments.python_abi.clone(),
            macos: arguments.macos.clone(),
        },
    )?;
    for variant in &report.unlisted {
        note(format_args!(
            "no list has the names of the torch of {variant}: they are judged by their first letters"
        ));
    }
    if report.checked.is_empty() {
        note("no file is native code: there was nothing to check");
    }
    if arguments.json {
        print_json(&report)?;
    } else {
        for finding in &report.findings {
            print(&sentence(finding))?;
        }
    }
    if !report.findings.is_empty() {
        return Err(CommandError::Abi {
            findings: report.findings.len(),
            of: report.checked.len(),
        });
    }
    if !arguments.json {
        let files = count(report.checked.len(), "native file");
        print(&format!("{files}: no findings\n"))?;
    }
    Ok(())
}

/// A finding in lines for a person.
fn sentence(finding: &AbiFinding) -> String {
    let symbol = match &finding.name {
        Some(name) => format!("{name}: "),
        None => String::new(),
    };
    let near = match &finding.nearest {
        Some(name) => format!("\n  similar: {name}"),
        None => String::new(),
    };
    let AbiFinding {
        file,
        rule,
        message,
        cure,
        ..
    } = finding;
    format!("{file}: {rule}: {symbol}{message}{near}\n  cure: {cure}\n")
}
