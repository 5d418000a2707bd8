//! Builds derivations in Nix's sandbox and watches.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use indicatif::ProgressDrawTarget;

use super::log::{Event, event};
use super::progress::{Finished, Progress};
use super::{Nix, NixError};

/// How much of the machine a build may take.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Derivations at a time.
    pub max_jobs: usize,
    /// Cores that one derivation may use.
    pub cores: usize,
    pub print_logs: bool,
}

/// What a build did. Derivations that were in the store already are not among it.
#[derive(Debug)]
pub struct Built {
    /// In the order in which they ended, the failed ones included.
    pub finished: Vec<Finished>,
    /// Nix's errors; empty if everything was built.
    pub errors: Vec<String>,
}

impl Nix {
    /// Builds derivations; a failed one does not stop those that do not need it. `count` is how many are expected.
    ///
    /// # Errors
    /// `NixError::Start`; failed builds are part of the result.
    pub fn build(
        &self,
        derivations: &[String],
        count: usize,
        limits: &Limits,
    ) -> Result<Built, NixError> {
        let failed = |source| NixError::Start {
            program: "nix-store",
            source,
        };
        let mut command = Command::new(&self.store);
        command.args([
            "--realise",
            "--keep-going",
            "--log-format",
            "internal-json",
            "-v",
        ]);
        command.args([
            "--max-jobs",
            &limits.max_jobs.to_string(),
            "--cores",
            &limits.cores.to_string(),
        ]);
        // A build that could see the host would not be the same everywhere; one that silently can is worse.
        command.args([
            "--option",
            "sandbox",
            "true",
            "--option",
            "sandbox-fallback",
            "false",
        ]);
        command.args(self.caches());
        command
            .args(derivations)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        let mut child = command.spawn().map_err(failed)?;

        let mut progress = Progress::new(count, limits.print_logs, ProgressDrawTarget::stderr());
        let mut built = Built {
            finished: Vec::new(),
            errors: Vec::new(),
        };
        if let Some(stderr) = child.stderr.take() {
            for line in BufReader::new(stderr).split(b'\n') {
                match event(&String::from_utf8_lossy(&line.map_err(failed)?)) {
                    Event::Started { id, derivation } => progress.started(id, derivation),
                    Event::Line { id, text } => progress.line(id, &text),
                    Event::Stopped { id } => built.finished.extend(progress.stopped(id)),
                    Event::Message { level: 0, text } => built.errors.push(text),
                    Event::Plain(text) if !text.trim().is_empty() => progress.print(&text),
                    _ => {}
                }
            }
        }
        progress.finish();
        let status = child.wait().map_err(failed)?;
        if !status.success() && built.errors.is_empty() {
            built.errors.push(format!("nix-store ended with {status}"));
        }
        Ok(built)
    }
}
