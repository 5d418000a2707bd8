//! Builds derivations in Nix's sandbox and watches. Which step starts when is decided in schedule.rs.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};

use indicatif::ProgressDrawTarget;

use super::log::{Event, event};
use super::progress::{BuildPlace, Finished, Id, Progress, Stopped};
use super::schedule::{Queue, Task};
use super::{Nix, NixError, memory, name_of};

/// What a compilation prints about itself (nix/kernel/compile.sh), before kilobytes.
const PEAK: &str = "kernel-builder: peak memory in kB: ";

/// What a step prints for a person to see, before it (nix/kernel/join.sh).
const NOTE: &str = "kernel-builder: note: ";

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
    /// Each after those that it needs.
    pub tasks: Vec<Task>,
    /// What there is to be in the end. What is no task is left to Nix, with what it needs.
    pub wanted: Vec<String>,
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
    /// Builds. A failed task does not stop others; what needs it is not tried.
    ///
    /// # Errors
    /// `NixError::Start`; failed builds are part of the result.
    pub fn build(&self, work: &Work, limits: &Limits) -> Result<Built, NixError> {
        let mut build = Build::new(self, limits, work.count);
        build.tasks(Queue::new(work.tasks.clone(), limits.max_jobs))?;
        let tasks: BTreeSet<&String> = work.tasks.iter().map(|task| &task.derivation).collect();
        let mut left = work.wanted.clone();
        left.retain(|derivation| !tasks.contains(derivation));
        if !left.is_empty() {
            build.all(&left)?;
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
        tasks: &[Task],
        limits: &Limits,
    ) -> Result<(Built, BTreeMap<String, Rebuilt>), NixError> {
        let mut build = Build::new(self, limits, tasks.len());
        build.again = Some(tempfile::tempdir().map_err(start_failed)?);
        // How a Nix ends says how that of one task did.
        let queue = Queue::new(tasks.to_vec(), limits.max_jobs).one_by_one();
        let ended = build.tasks(queue)?;
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

/// Whether an error of Nix is about a task. NB: several tasks may share a Nix, whose log gives no derivation with an error
/// (none of 2.8 to 2.26 does): its words name it. Nothing but which errors are shown depends on it.
fn concerns(error: &str, task: &Task) -> bool {
    error.contains(&task.derivation)
}

/// A build that is under way.
struct Build<'a> {
    nix: &'a Nix,
    limits: &'a Limits,
    progress: Progress,
    built: Built,
    /// Warnings and notes so far: several Nixes may give the same one.
    said: BTreeSet<String>,
    sender: Sender<(u64, Message)>,
    receiver: Receiver<(u64, Message)>,
    /// Nixes so far: each has its own numbers for what it does.
    started: u64,
    running: BTreeMap<u64, RunningNix>,
    /// For builds of what is there already: where Nix keeps the folders of those that differ.
    again: Option<tempfile::TempDir>,
}

/// A Nix that runs.
#[derive(Default)]
struct RunningNix {
    max_jobs: usize,
    /// The last that it began to build here. NB: Nix says of what it was asked for that it stopped when Nix itself ends.
    build: Option<Id>,
    errors: Vec<String>,
}

/// A Nix that has ended.
struct Ended {
    number: u64,
    status: ExitStatus,
    errors: Vec<String>,
}

impl<'a> Build<'a> {
    fn new(nix: &'a Nix, limits: &'a Limits, count: usize) -> Self {
        let (sender, receiver) = channel();
        Self {
            nix,
            limits,
            progress: Progress::new(count, limits.print_logs, ProgressDrawTarget::stderr()),
            built: Built::default(),
            said: BTreeSet::new(),
            sender,
            receiver,
            started: 0,
            running: BTreeMap::new(),
            again: None,
        }
    }

    /// Lets one Nix build some derivations.
    fn all(&mut self, derivations: &[String]) -> Result<(), NixError> {
        let number = self.start(derivations, self.limits.max_jobs)?;
        if let Some(mut nix) = self.step()? {
            if !nix.status.success() && nix.errors.is_empty() {
                nix.errors
                    .push(format!("nix-store {number} ended with {}", nix.status));
            }
            self.built.errors.extend(nix.errors);
        }
        Ok(())
    }

    /// Builds tasks, as many at a time as fit: short ones several to a Nix. Returns how each ended.
    fn tasks(&mut self, mut queue: Queue) -> Result<Vec<(String, ExitStatus)>, NixError> {
        // A tenth is left to others.
        let budget = memory::available().map(|bytes| bytes / 10 * 9);
        let mut batches: BTreeMap<u64, Vec<Task>> = BTreeMap::new();
        let mut ended = Vec::new();
        loop {
            let free = |queue: &Queue| {
                // What runs has not all of its memory yet, and others take some too.
                let planned = budget?.saturating_sub(queue.expected());
                Some(memory::available().map_or(planned, |now| planned.min(now)))
            };
            loop {
                let batch = queue.next(free(&queue));
                if batch.is_empty() {
                    break;
                }
                let derivations: Vec<_> =
                    batch.iter().map(|task| task.derivation.clone()).collect();
                batches.insert(self.start(&derivations, 1)?, batch);
            }
            if batches.is_empty() {
                return Ok(ended);
            }
            let Some(Ended {
                number,
                status,
                mut errors,
            }) = self.step()?
            else {
                return Ok(ended);
            };
            let batch = batches.remove(&number).unwrap_or_default();
            let alone = queue.is_alone();
            queue.ended(&batch);
            // NB: what is built again is there, however that ends.
            let unbuilt: BTreeSet<String> = match batch.len() {
                _ if status.success() => BTreeSet::new(),
                1 => [batch[0].derivation.clone()].into(),
                _ => {
                    let derivations = batch.iter().map(|task| &task.derivation);
                    self.nix
                        .unbuilt(derivations)?
                        .into_iter()
                        .cloned()
                        .collect()
                }
            };
            for task in batch {
                let failed = unbuilt.contains(&task.derivation);
                if failed && !alone && self.out_of_memory(&task) {
                    let name = name_of(&task.derivation);
                    self.progress
                        .print(&format!("{name} ran out of memory: it will run alone"));
                    errors.retain(|error| !concerns(error, &task));
                    queue.again_alone(task);
                    continue;
                }
                match failed {
                    false => queue.built(&task),
                    true => queue.failed(&task),
                }
                let own = if failed {
                    status
                } else {
                    ExitStatus::default()
                };
                ended.push((task.derivation, own));
            }
            self.built.errors.extend(errors);
        }
    }

    /// Whether a task that failed was killed, or says that there was no memory.
    fn out_of_memory(&self, task: &Task) -> bool {
        let mut finished = self.built.finished.iter().rev();
        let finished = finished.find(|finished| finished.derivation == task.derivation);
        finished.is_some_and(Finished::out_of_memory)
    }

    /// Handles what running Nixes say until one of them ends. Nothing if none runs.
    fn step(&mut self) -> Result<Option<Ended>, NixError> {
        while let Ok((number, message)) = self.receiver.recv() {
            // Numbers of activities are small; those of several Nixes must not be mixed up.
            let own = |id: u64| (number, id);
            match message {
                Message::Event(Event::Started {
                    id,
                    derivation,
                    machine,
                }) => {
                    let place = machine.map_or(BuildPlace::Here, BuildPlace::Builder);
                    if place == BuildPlace::Here
                        && let Some(nix) = self.running.get_mut(&number)
                        && let Some(before) = nix.build.replace(own(id))
                        && nix.max_jobs == 1
                    {
                        self.stopped(before);
                    }
                    self.progress.started(own(id), derivation, place);
                }
                Message::Event(Event::Copying { id, path, cache }) => {
                    let place = BuildPlace::Cache(cache);
                    self.progress.started(own(id), path, place);
                }
                Message::Event(Event::Line { id, text }) => {
                    if let Some(kilobytes) = text.strip_prefix(PEAK) {
                        self.progress.peak(own(id), kilobytes.trim().parse().ok());
                    } else if let Some(note) = text.strip_prefix(NOTE) {
                        self.once(format!("note: {note}"));
                    } else {
                        self.progress.line(own(id), &text);
                    }
                }
                Message::Event(Event::Stopped { id }) => self.stopped(own(id)),
                Message::Event(Event::Message { level: 0, text }) => {
                    if let Some(nix) = self.running.get_mut(&number) {
                        nix.errors.push(text);
                    }
                }
                Message::Event(Event::Message { level: 1, text }) => self.once(text),
                Message::Event(Event::Plain(text)) if !text.trim().is_empty() => {
                    self.progress.print(&text);
                }
                Message::Event(_) => {}
                Message::Ended(status) => {
                    let nix = self.running.remove(&number);
                    return Ok(Some(Ended {
                        number,
                        status: status.map_err(start_failed)?,
                        errors: nix.unwrap_or_default().errors,
                    }));
                }
            }
        }
        Ok(None)
    }

    /// Shows a warning or a note, unless it was shown before.
    fn once(&mut self, text: String) {
        if !self.said.contains(&text) {
            self.progress.print(&text);
            self.said.insert(text);
        }
    }

    fn stopped(&mut self, id: Id) {
        match self.progress.stopped(id) {
            Some(Stopped::Built(finished)) => self.built.finished.push(finished),
            Some(Stopped::Copied(path, cache)) => {
                self.built.copied.insert(path, cache);
            }
            None => {}
        }
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
        let nix = RunningNix {
            max_jobs,
            ..RunningNix::default()
        };
        self.running.insert(number, nix);
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
