//! Whether this machine can build kernels: checks of Nix, of what Nix needs, and of the package
//! indexes, each with its cure. It leaves some bytes in the store and changes nothing else.

mod indexes;
mod machine;
mod nix;

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use serde::Serialize;

use crate::nix::Nix;

/// The time that a program of a check may take. NB: much more than on an idle machine. Without a
/// network, pip and apt give up by themselves after some seconds.
const PROGRAM_LIMIT: Duration = Duration::from_secs(18);

/// The time that all checks together may take.
const LIMIT: Duration = Duration::from_secs(20);

/// How a check ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Health {
    Ok,
    /// Builds work; something else does not.
    Warning,
    /// Builds fail.
    Failure,
}

impl Health {
    /// The word for a person, which is also that of JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warning => "warning",
            Self::Failure => "failure",
        }
    }
}

/// The result of one check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    pub check: &'static str,
    pub verdict: Health,
    /// The state of the machine, in one line.
    pub found: String,
    /// A command to paste, or the action in words; `None` if all is well.
    pub cure: Option<String>,
}

impl Finding {
    fn ok(check: &'static str, found: impl Into<String>) -> Self {
        Self {
            check,
            verdict: Health::Ok,
            found: found.into(),
            cure: None,
        }
    }

    fn warning(check: &'static str, found: impl Into<String>, cure: impl Into<String>) -> Self {
        Self {
            check,
            verdict: Health::Warning,
            found: found.into(),
            cure: Some(cure.into()),
        }
    }

    fn failure(check: &'static str, found: impl Into<String>, cure: impl Into<String>) -> Self {
        Self {
            verdict: Health::Failure,
            ..Self::warning(check, found, cure)
        }
    }
}

/// A check, with the verdict and the cure if it does not end in time.
struct MachineCheck {
    name: &'static str,
    overdue: Health,
    overdue_cure: &'static str,
    run: Box<dyn FnOnce() -> Finding + Send>,
}

impl MachineCheck {
    fn new(
        name: &'static str,
        overdue: Health,
        run: impl FnOnce() -> Finding + Send + 'static,
    ) -> Self {
        Self {
            name,
            overdue,
            overdue_cure: "run `kernel-builder doctor` again when the machine is less busy",
            run: Box::new(run),
        }
    }

    fn with_overdue_cure(self, cure: &'static str) -> Self {
        Self {
            overdue_cure: cure,
            ..self
        }
    }
}

/// Runs all checks at once. Checks of the store, of builds and of settings are left out where Nix
/// is missing.
pub fn examine() -> Vec<Finding> {
    let mut checks = Vec::new();
    let (missing, store) = match Nix::find() {
        Ok(nix) => {
            checks.extend(nix::checks(&nix));
            (None, nix.store_folder())
        }
        Err(error) => (Some(nix::missing(&error)), None),
    };
    checks.extend(machine::checks(store));
    checks.extend(indexes::checks());
    missing.into_iter().chain(run_all(checks, LIMIT)).collect()
}

/// Runs checks in threads of their own and returns their findings in the order of the checks. A
/// check without a finding after the limit gets one that says so.
fn run_all(checks: Vec<MachineCheck>, limit: Duration) -> Vec<Finding> {
    let (sender, receiver) = channel();
    let mut findings = Vec::new();
    for (place, check) in checks.into_iter().enumerate() {
        findings.push(Finding {
            check: check.name,
            verdict: check.overdue,
            found: format!("no answer in {} s", limit.as_secs()),
            cure: Some(check.overdue_cure.to_owned()),
        });
        let sender = sender.clone();
        std::thread::spawn(move || {
            // Nobody listens to a check that is overdue.
            let _ = sender.send((place, (check.run)()));
        });
    }
    drop(sender);
    let end = Instant::now() + limit;
    loop {
        match receiver.recv_timeout(end.saturating_duration_since(Instant::now())) {
            Ok((place, finding)) => findings[place] = finding,
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return findings,
        }
    }
}

/// The number of checks that failed.
pub fn failures(findings: &[Finding]) -> usize {
    let failed = findings
        .iter()
        .filter(|finding| finding.verdict == Health::Failure);
    failed.count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_overdue_check_is_told_and_the_others_keep_their_place() {
        let (_open, never) = channel::<()>();
        let hanging = move || {
            let _ = never.recv();
            Finding::ok("first", "late")
        };
        let checks = vec![
            MachineCheck::new("first", Health::Failure, hanging),
            MachineCheck::new("second", Health::Failure, || {
                Finding::ok("second", "in time")
            }),
        ];
        let findings = run_all(checks, Duration::from_secs(2));
        let [first, second] = &findings[..] else {
            panic!("two findings: {findings:?}");
        };
        assert_eq!((first.check, first.verdict), ("first", Health::Failure));
        assert!(first.found.contains("no answer"), "{first:?}");
        assert_eq!(second, &Finding::ok("second", "in time"));
        assert_eq!(failures(&findings), 1);
    }
}
