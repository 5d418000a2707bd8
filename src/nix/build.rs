//! Builds derivations in Nix's sandbox and watches. Which compilation starts when is decided in schedule.rs.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};

use indicatif::ProgressDrawTarget;

use super::log::{Event, event};
use super::progress::{Finished, Place, Progress, Stopped};
use super::schedule::{Queue, Unit};
use super::{Nix, NixError, memory, name_of};

/// What a compilation prints about itself (nix/kernel/compile.sh), before kilobytes.
const PEAK: &str = "kernel-builder: peak memory in kB: ";

/// How much of the machine a build may take.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Derivations at a time; compilations also have to fit into memory.
    pub max_jobs: usize,
    /// Cores that one derivation may use.
    pub cores: usize,
    pub print_logs: bool,
}

/// What is to be built.
#[derive(Clone, Debug, Default)]
pub struct Work {
    /// What must be there before a unit can start: toolchains.
    pub first: Vec<String>,
    pub units: Vec<Unit>,
    /// What is wanted, each with the units that it needs.
    pub wanted: Vec<(String, Vec<String>)>,
    /// How many derivations all of this builds.
    pub count: usize,
}

/// What a build did. Derivations that were in the store already are not among it.
#[derive(Debug, Default)]
pub struct Built {
    /// In the order in which they ended, the failed ones included.
    pub finished: Vec<Finished>,
    /// Store paths that came from binary caches, and from which.
    pub copied: BTreeMap<String, String>,
    /// Nix's errors; empty if everything was built.
    pub errors: Vec<String>,
}

/// What became of a derivation that was built a second time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rebuilt {
    Same,
    /// The second result lies beside the first, with `.check` added to its name.
    Differs,
    Failed,
}

/// How nix-store ends when a second build gave something else (its manual page, "Exit status").
const DIFFERS: i32 = 104;

/// Where the second builds run in their sandbox: not where the first ones did (`sandbox-build-dir`).
const ELSEWHERE: &str = "/elsewhere";

/// What one running Nix says.
enum Message {
    Event(Event),
    Ended(Result<ExitStatus, std::io::Error>),
}

impl Nix {
    /// Builds: what units need, the units, and then what is wanted. A failed unit does not stop others; what needs it is
    /// not tried.
    ///
    /// # Errors
    /// `NixError::Start`; failed builds are part of the result.
    pub fn build(&self, work: &Work, limits: &Limits) -> Result<Built, NixError> {
        let mut build = Build::new(self, limits, work.count);
        if !work.first.is_empty() {
            build.all(&work.first)?;
        }
        let ended = build.units(&work.units)?;
        let failed: Vec<String> = (ended.into_iter())
            .filter(|(_, status)| !status.success())
            .map(|(derivation, _)| derivation)
            .collect();
        let wanted = work.wanted.iter();
        let possible: Vec<String> = wanted
            .filter(|(_, units)| units.iter().all(|unit| !failed.contains(unit)))
            .map(|(derivation, _)| derivation.clone())
            .collect();
        if !possible.is_empty() {
            build.all(&possible)?;
        }
        build.progress.finish();
        // What could not be copied was begun, too.
        let begun: Vec<String> = build.built.copied.keys().cloned().collect();
        for path in self.invalid(&begun)? {
            build.built.copied.remove(&path);
        }
        Ok(build.built)
    }

    /// Builds what was built before a second time, in another folder, and compares.
    ///
    /// # Errors
    /// `NixError::Start`.
    pub fn rebuild(
        &self,
        units: &[Unit],
        limits: &Limits,
    ) -> Result<(Built, BTreeMap<String, Rebuilt>), NixError> {
        let mut build = Build::new(self, limits, units.len());
        build.again = Some(tempfile::tempdir().map_err(start_failed)?);
        let ended = build.units(units)?;
        build.progress.finish();
        let rebuilt = ended.into_iter().map(|(derivation, status)| {
            let rebuilt = match status.code() {
                Some(0) => Rebuilt::Same,
                Some(DIFFERS) => Rebuilt::Differs,
                _ => Rebuilt::Failed,
            };
            (derivation, rebuilt)
        });
        Ok((build.built, rebuilt.collect()))
    }
}

/// A build that is under way.
struct Build<'a> {
    nix: &'a Nix,
    limits: &'a Limits,
    progress: Progress,
    built: Built,
    /// Those of Nix so far.
    warnings: BTreeSet<String>,
    sender: Sender<(u64, Message)>,
    receiver: Receiver<(u64, Message)>,
    /// Nixes so far: each has its own numbers for what it does.
    started: u64,
    /// For builds of what is there already: where Nix keeps the folders of those that differ.
    again: Option<tempfile::TempDir>,
}

impl<'a> Build<'a> {
    fn new(nix: &'a Nix, limits: &'a Limits, count: usize) -> Self {
        let (sender, receiver) = channel();
        Self {
            nix,
            limits,
            progress: Progress::new(count, limits.print_logs, ProgressDrawTarget::stderr()),
            built: Built::default(),
            warnings: BTreeSet::new(),
            sender,
            receiver,
            started: 0,
            again: None,
        }
    }

    /// Lets one Nix build some derivations.
    fn all(&mut self, derivations: &[String]) -> Result<(), NixError> {
        let number = self.start(derivations, self.limits.max_jobs)?;
        let before = self.built.errors.len();
        if let Some((_, status)) = self.step()?
            && !status.success()
            && self.built.errors.len() == before
        {
            let why = format!("nix-store {number} ended with {status}");
            self.built.errors.push(why);
        }
        Ok(())
    }

    /// Builds units, each with a Nix of its own, as many at a time as fit. Returns how each ended.
    fn units(&mut self, units: &[Unit]) -> Result<Vec<(String, ExitStatus)>, NixError> {
        // A tenth is left to others.
        let budget = memory::available().map(|bytes| bytes / 10 * 9);
        let mut queue = Queue::new(units.to_vec(), self.limits.max_jobs);
        let mut running: Vec<(u64, Unit, bool)> = Vec::new();
        let mut ended = Vec::new();
        loop {
            let free = |queue: &Queue| {
                // What runs has not all of its memory yet, and others take some too.
                let planned = budget?.saturating_sub(queue.expected());
                Some(memory::available().map_or(planned, |now| planned.min(now)))
            };
            while let Some(unit) = queue.next(free(&queue)) {
                let number = self.start(std::slice::from_ref(&unit.derivation), 1)?;
                let alone = queue.is_alone();
                running.push((number, unit, alone));
            }
            if running.is_empty() {
                return Ok(ended);
            }
            let errors = self.built.errors.len();
            let Some((number, status)) = self.step()? else {
                return Ok(ended);
            };
            let Some(at) = running.iter().position(|(own, _, _)| *own == number) else {
                continue;
            };
            let (_, unit, alone) = running.swap_remove(at);
            if !status.success() && !alone && self.out_of_memory(&unit) {
                let name = name_of(&unit.derivation);
                self.progress
                    .print(&format!("{name} ran out of memory: it will run alone"));
                self.built.errors.truncate(errors);
                queue.again_alone(unit);
                continue;
            }
            match status.success() {
                true => queue.built(&unit),
                false => queue.failed(&unit),
            }
            ended.push((unit.derivation, status));
        }
    }

    /// Whether a unit that failed was killed, or says that there was no memory.
    fn out_of_memory(&self, unit: &Unit) -> bool {
        let mut finished = self.built.finished.iter().rev();
        let finished = finished.find(|finished| finished.derivation == unit.derivation);
        finished.is_some_and(Finished::out_of_memory)
    }

    /// Handles what running Nixes say until one of them ends: its number and status. Nothing if none runs.
    fn step(&mut self) -> Result<Option<(u64, ExitStatus)>, NixError> {
        while let Ok((number, message)) = self.receiver.recv() {
            // Numbers of activities are small; those of several Nixes must not be mixed up.
            let own = |id: u64| (number, id);
            match message {
                Message::Event(Event::Started {
                    id,
                    derivation,
                    machine,
                }) => {
                    let place = machine.map_or(Place::Here, Place::Builder);
                    self.progress.started(own(id), derivation, place);
                }
                Message::Event(Event::Copying { id, path, cache }) => {
                    let place = Place::Cache(cache);
                    self.progress.started(own(id), path, place);
                }
                Message::Event(Event::Line { id, text }) => match text.strip_prefix(PEAK) {
                    Some(kilobytes) => self.progress.peak(own(id), kilobytes.trim().parse().ok()),
                    None => self.progress.line(own(id), &text),
                },
                Message::Event(Event::Stopped { id }) => match self.progress.stopped(own(id)) {
                    Some(Stopped::Built(finished)) => self.built.finished.push(finished),
                    Some(Stopped::Copied(path, cache)) => {
                        self.built.copied.insert(path, cache);
                    }
                    None => {}
                },
                Message::Event(Event::Message { level: 0, text }) => self.built.errors.push(text),
                // Several Nixes may give the same warning.
                Message::Event(Event::Message { level: 1, text }) => {
                    if self.warnings.insert(text.clone()) {
                        self.progress.print(&text);
                    }
                }
                Message::Event(Event::Plain(text)) if !text.trim().is_empty() => {
                    self.progress.print(&text);
                }
                Message::Event(_) => {}
                Message::Ended(status) => {
                    let status = status.map_err(start_failed)?;
                    return Ok(Some((number, status)));
                }
            }
        }
        Ok(None)
    }

    /// Starts a Nix that builds derivations; a failed one does not stop those that do not need it.
    fn start(&mut self, derivations: &[String], max_jobs: usize) -> Result<u64, NixError> {
        let mut command = Command::new(&self.nix.store);
        command.args([
            "--realise",
            "--keep-going",
            "--no-gc-warning",
            "--log-format",
            "internal-json",
            "-v",
        ]);
        command.args(["--max-jobs", &max_jobs.to_string()]);
        command.args(["--cores", &self.limits.cores.to_string()]);
        // A build that could see the host would not be the same everywhere; one that silently can is worse.
        command.args(["--option", "sandbox", "true"]);
        command.args(["--option", "sandbox-fallback", "false"]);
        if let Some(folder) = &self.again {
            // A result that differs is kept only together with the folder of its build.
            command.args(["--check", "--keep-failed"]);
            command.env("TMPDIR", folder.path());
            if cfg!(target_os = "linux") {
                command.args(["--option", "sandbox-build-dir", ELSEWHERE]);
            }
        }
        command
            .args(self.nix.options())
            .args(derivations)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        let child = command.spawn().map_err(start_failed)?;
        self.started += 1;
        let (number, sender) = (self.started, self.sender.clone());
        std::thread::spawn(move || watch(child, number, &sender));
        Ok(number)
    }
}

/// Sends on what a Nix says, and how it ended. Nobody listens any more if the build was given up.
fn watch(mut child: Child, number: u64, sender: &Sender<(u64, Message)>) {
    if let Some(stderr) = child.stderr.take() {
        for line in BufReader::new(stderr).split(b'\n').map_while(Result::ok) {
            let event = event(&String::from_utf8_lossy(&line));
            let _ = sender.send((number, Message::Event(event)));
        }
    }
    let _ = sender.send((number, Message::Ended(child.wait())));
}

fn start_failed(source: std::io::Error) -> NixError {
    NixError::Start {
        program: "nix-store",
        source,
    }
}
