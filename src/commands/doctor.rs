//! `doctor`: whether this machine can build kernels, as a table with cures.

use serde::Serialize;

use super::{CommandError, print, print_json};
use crate::cli::DoctorArgs;
use crate::doctor::{Finding, examine, failures};

/// The output of `--json`.
#[derive(Serialize)]
struct DoctorReport<'a> {
    /// Whether builds will work.
    ready: bool,
    checks: &'a [Finding],
}

pub fn run(arguments: &DoctorArgs) -> Result<(), CommandError> {
    let findings = examine();
    let failed = failures(&findings);
    if arguments.json {
        print_json(&DoctorReport {
            ready: failed == 0,
            checks: &findings,
        })?;
    } else {
        print(&table(&findings))?;
    }
    match failed {
        0 => Ok(()),
        failed => Err(CommandError::NotReady { failed }),
    }
}

/// A line for each check, and one for its cure.
fn table(findings: &[Finding]) -> String {
    let widths = findings.iter().map(|finding| finding.check.len());
    let width = widths.max().unwrap_or_default();
    let line = |finding: &Finding| {
        let (check, verdict) = (finding.check, finding.verdict.as_str());
        let mut text = format!("{check:width$}  {verdict:7}  {}\n", finding.found);
        if let Some(cure) = &finding.cure {
            text += &format!("{:width$}  cure:    {cure}\n", "");
        }
        text
    };
    findings.iter().map(line).collect()
}
