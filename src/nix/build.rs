//! Builds derivations in Nix's sandbox and shows the progress. schedule.rs decides which step
//! starts when.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};

use super::command_line::verbose_line;
use super::log::{Event, parse_event};
use super::progress::{ActivityId, BuildPlace, Finished, Progress, StoppedActivity};
use super::schedule::{Queue, Task};
use super::{Nix, NixError, memory};
use crate::process::end_with_this_program;
use crate::terminal::new_bars;

/// The start of the line in which a compilation prints its peak memory in kilobytes
/// (nix/kernel/compile.sh).
const PEAK_PREFIX: &str = "kernel-builder: peak memory in kB: ";

/// The start of a line that a step prints for the user (nix/kernel/compile.sh, join.sh).
const NOTE_PREFIX: &str = "kernel-builder: note: ";

/// The share of the machine that a build may take.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Derivations that run at a time. Compilations also have to fit into memory.
    pub max_jobs: usize,
    /// Cores that one derivation may use.
    pub cores: usize,
    pub print_logs: bool,
    /// Whether no step starts after the first one that fails.
    pub fail_fast: bool,
}

/// The words of a note between a unit and the reason why it is compiled with all of torch's headers
/// (nix/kernel/compile.sh).
const ALL_HEADERS: &str = " is compiled with torch's own headers: ";

/// The work of a build.
#[derive(Clone, Debug, Default)]
pub struct Work {
    /// Tasks, each after the tasks that it needs.
    pub tasks: Vec<Task>,
    /// The derivations that must be in the store at the end. Nix itself schedules those that are no
    /// tasks, with everything that they need.
    pub wanted: Vec<String>,
    /// Titles of derivations, for the display. Nix's name stands for a missing one.
    pub titles: BTreeMap<String, String>,
    /// The number of derivations that the whole work builds.
    pub count: usize,
}

/// The outcome of a build. Derivations that were in the store already are no part of it.
#[derive(Debug, Default)]
pub struct Built {
    /// Derivations in the order in which they ended, including failed ones.
    pub finished: Vec<Finished>,
    /// Store paths that were copied from binary caches, each with its cache.
    pub copied: BTreeMap<String, String>,
    /// Nix's errors; empty if everything was built.
    pub errors: Vec<String>,
    /// Whether steps were not started since another one failed (`Limits::fail_fast`).
    pub is_stopped: bool,
}

/// The outcome of building a derivation a second time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rebuilt {
    Same,
    /// The second result lies beside the first, with `.check` added to its name.
    Differs,
    Failed,
}

/// The exit code of nix-store if a second build gave another result (its manual page, "Exit
/// status").
const EXIT_DIFFERS: i32 = 104;

/// The folder of second builds in their sandbox, which differs from that of first builds
/// (`sandbox-build-dir`).
const SECOND_BUILD_DIR: &str = "/elsewhere";

/// A message from one running Nix.
enum Message {
    Event(Event),
    Ended(Result<ExitStatus, std::io::Error>),
}

impl Nix {
    /// Builds the work. Tasks that do not need a failed task still run, unless the limits say
    /// otherwise.
    ///
    /// # Errors
    /// `NixError::Start`; failed builds are part of the result.
    pub fn build(&self, work: &Work, limits: &Limits) -> Result<Built, NixError> {
        let mut build = Build::new(self, limits, work);
        build.build_tasks(Queue::new(work.tasks.clone(), limits.max_jobs))?;
        let tasks: BTreeSet<&String> = work.tasks.iter().map(|task| &task.derivation).collect();
        let mut left = work.wanted.clone();
        left.retain(|derivation| !tasks.contains(derivation));
        if !left.is_empty() && !build.built.is_stopped {
            build.build_with_one_nix(&left)?;
        }
        build.progress.finish();
        // NB: copies that failed have begun, too, so they are removed here.
        let begun: Vec<String> = build.built.copied.keys().cloned().collect();
        for path in self.invalid_paths(&begun)? {
            build.built.copied.remove(&path);
        }
        Ok(build.built)
    }

    /// Builds derivations that were built before a second time, in another folder, and compares the
    /// results.
    ///
    /// # Errors
    /// `NixError::Start`.
    pub fn rebuild(
        &self,
        work: &Work,
        limits: &Limits,
    ) -> Result<(Built, BTreeMap<String, Rebuilt>), NixError> {
        let mut build = Build::new(self, limits, work);
        build.kept_builds = Some(tempfile::tempdir().map_err(start_failed)?);
        // Each Nix gets one task, so that its exit code is the outcome of that task.
        let queue = Queue::new(work.tasks.clone(), limits.max_jobs).with_single_tasks();
        let ended = build.build_tasks(queue)?;
        build.progress.finish();
        let rebuilt = ended.into_iter().map(|(derivation, status)| {
            let rebuilt = match status.code() {
                Some(0) => Rebuilt::Same,
                Some(EXIT_DIFFERS) => Rebuilt::Differs,
                _ => Rebuilt::Failed,
            };
            (derivation, rebuilt)
        });
        Ok((build.built, rebuilt.collect()))
    }
}

/// Whether an error of Nix is about a task. NB: several tasks may share a Nix, and its log names no
/// derivation with an error (checked for 2.8 to 2.26), so the text is searched. Only the choice of
/// errors to show depends on it.
fn is_about(error: &str, task: &Task) -> bool {
    error.contains(&task.derivation)
}

/// A build that is under way.
struct Build<'a> {
    nix: &'a Nix,
    limits: &'a Limits,
    progress: Progress,
    built: Built,
    /// Warnings and notes that were printed: several Nixes may give the same one.
    printed: BTreeSet<String>,
    sender: Sender<(u64, Message)>,
    receiver: Receiver<(u64, Message)>,
    /// The number of Nixes that were started. Each Nix has its own activity numbers.
    started: u64,
    running: BTreeMap<u64, RunningNix>,
    /// For second builds: the folder where Nix keeps the build folders of results that differ.
    kept_builds: Option<tempfile::TempDir>,
}

/// A Nix that runs.
#[derive(Default)]
struct RunningNix {
    max_jobs: usize,
    /// The last build that it began on this machine. NB: for a derivation that Nix was asked for,
    /// it reports the end of the build only when Nix itself ends.
    build: Option<ActivityId>,
    errors: Vec<String>,
}

/// A Nix that has ended.
struct EndedNix {
    number: u64,
    status: ExitStatus,
    errors: Vec<String>,
}

impl<'a> Build<'a> {
    fn new(nix: &'a Nix, limits: &'a Limits, work: &Work) -> Self {
        let (sender, receiver) = channel();
        Self {
            nix,
            limits,
            progress: Progress::new(
                work.count,
                work.titles.clone(),
                limits.print_logs,
                new_bars(),
            ),
            built: Built::default(),
            printed: BTreeSet::new(),
            sender,
            receiver,
            started: 0,
            running: BTreeMap::new(),
            kept_builds: None,
        }
    }

    /// Builds some derivations with one Nix.
    fn build_with_one_nix(&mut self, derivations: &[String]) -> Result<(), NixError> {
        let number = self.start_nix(derivations, self.limits.max_jobs)?;
        if let Some(mut nix) = self.wait_for_end()? {
            if !nix.status.success() && nix.errors.is_empty() {
                nix.errors
                    .push(format!("nix-store {number} ended with {}", nix.status));
            }
            self.built.is_stopped |= !nix.status.success() && self.limits.fail_fast;
            self.built.errors.extend(nix.errors);
        }
        Ok(())
    }

    /// Builds tasks, as many at a time as cores and memory allow. One Nix builds several short
    /// tasks. Returns the exit status of each task.
    fn build_tasks(&mut self, mut queue: Queue) -> Result<Vec<(String, ExitStatus)>, NixError> {
        // A tenth of the memory is left to other programs.
        let budget = memory::available().map(|bytes| bytes / 10 * 9);
        let mut batches: BTreeMap<u64, Vec<Task>> = BTreeMap::new();
        let mut ended = Vec::new();
        loop {
            let free = |queue: &Queue| {
                // Running tasks have not taken all of their memory yet, and other programs take
                // some, too.
                let planned = budget?.saturating_sub(queue.expected_memory());
                Some(memory::available().map_or(planned, |now| planned.min(now)))
            };
            while !self.built.is_stopped {
                let batch = queue.next_batch(free(&queue));
                if batch.is_empty() {
                    break;
                }
                let derivations: Vec<_> =
                    batch.iter().map(|task| task.derivation.clone()).collect();
                batches.insert(self.start_nix(&derivations, 1)?, batch);
            }
            if batches.is_empty() {
                return Ok(ended);
            }
            let Some(EndedNix {
                number,
                status,
                mut errors,
            }) = self.wait_for_end()?
            else {
                return Ok(ended);
            };
            let batch = batches.remove(&number).unwrap_or_default();
            let alone = queue.is_alone();
            queue.end_batch(&batch);
            // NB: in a second build, the first result is in the store even if the second build
            // fails.
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
                if failed && !alone && self.ran_out_of_memory(&task) {
                    let title = self.progress.title_of(&task.derivation);
                    self.progress
                        .print_note(&format!("{title} ran out of memory: it will run alone"));
                    errors.retain(|error| !is_about(error, &task));
                    queue.retry_alone(task);
                    continue;
                }
                match failed {
                    false => queue.mark_built(&task),
                    true => queue.mark_failed(&task),
                }
                self.built.is_stopped |= failed && self.limits.fail_fast;
                let task_status = if failed {
                    status
                } else {
                    ExitStatus::default()
                };
                ended.push((task.derivation, task_status));
            }
            self.built.errors.extend(errors);
        }
    }

    /// Whether a failed task was killed, or reports that it got no memory.
    fn ran_out_of_memory(&self, task: &Task) -> bool {
        let mut finished = self.built.finished.iter().rev();
        let finished = finished.find(|finished| finished.derivation == task.derivation);
        finished.is_some_and(Finished::ran_out_of_memory)
    }

    /// Handles messages of running Nixes until one of them ends. `None` if none runs.
    fn wait_for_end(&mut self) -> Result<Option<EndedNix>, NixError> {
        while let Ok((number, message)) = self.receiver.recv() {
            // Activity numbers are small, so each gets the number of its Nix.
            let activity = |id: u64| (number, id);
            match message {
                Message::Event(Event::Started {
                    id,
                    derivation,
                    machine,
                }) => {
                    let place = machine.map_or(BuildPlace::Here, BuildPlace::Builder);
                    if place == BuildPlace::Here
                        && let Some(nix) = self.running.get_mut(&number)
                        && let Some(before) = nix.build.replace(activity(id))
                        && nix.max_jobs == 1
                    {
                        self.record_stop(before);
                    }
                    self.progress.start(activity(id), derivation, place);
                }
                Message::Event(Event::Copying { id, path, cache }) => {
                    let place = BuildPlace::Cache(cache);
                    self.progress.start(activity(id), path, place);
                }
                Message::Event(Event::Line { id, text }) => {
                    if let Some(kilobytes) = text.strip_prefix(PEAK_PREFIX) {
                        self.progress
                            .record_peak(activity(id), kilobytes.trim().parse().ok());
                    } else if let Some(note) = text.strip_prefix(NOTE_PREFIX) {
                        if let Some((_, reason)) = note.split_once(ALL_HEADERS) {
                            self.progress.record_all_headers(activity(id), reason);
                        }
                        self.print_once(format!("note: {note}"));
                    } else {
                        self.progress.add_line(activity(id), &text);
                    }
                }
                Message::Event(Event::Stopped { id }) => self.record_stop(activity(id)),
                Message::Event(Event::Message { level: 0, text }) => {
                    if let Some(nix) = self.running.get_mut(&number) {
                        nix.errors.push(text);
                    }
                }
                Message::Event(Event::Message { level: 1, text }) => self.print_once(text),
                Message::Event(Event::Plain(text)) if !text.trim().is_empty() => {
                    self.progress.print(&text);
                }
                Message::Event(_) => {}
                Message::Ended(status) => {
                    let nix = self.running.remove(&number);
                    return Ok(Some(EndedNix {
                        number,
                        status: status.map_err(start_failed)?,
                        errors: nix.unwrap_or_default().errors,
                    }));
                }
            }
        }
        Ok(None)
    }

    /// Prints a warning or a note, unless it was printed before.
    fn print_once(&mut self, text: String) {
        if !self.printed.contains(&text) {
            self.progress.print_note(&text);
            self.printed.insert(text);
        }
    }

    fn record_stop(&mut self, id: ActivityId) {
        match self.progress.stop(id) {
            Some(StoppedActivity::Built(finished)) => self.built.finished.push(finished),
            Some(StoppedActivity::Copied(path, cache)) => {
                self.built.copied.insert(path, cache);
            }
            None => {}
        }
    }

    /// Starts a Nix that builds derivations. A failed derivation does not stop those that do not
    /// need it, unless the limits say otherwise.
    fn start_nix(&mut self, derivations: &[String], max_jobs: usize) -> Result<u64, NixError> {
        let mut command = Command::new(&self.nix.store);
        command.args([
            "--realise",
            "--no-gc-warning",
            "--log-format",
            "internal-json",
            "-v",
        ]);
        if !self.limits.fail_fast {
            command.arg("--keep-going");
        }
        command.args(["--max-jobs", &max_jobs.to_string()]);
        command.args(["--cores", &self.limits.cores.to_string()]);
        // A build that can see the host differs between machines. Without a sandbox, Nix must fail
        // and not build silently.
        command.args(["--option", "sandbox", "true"]);
        command.args(["--option", "sandbox-fallback", "false"]);
        if let Some(folder) = &self.kept_builds {
            // Nix keeps a result that differs only together with the folder of its build.
            command.args(["--check", "--keep-failed"]);
            command.env("TMPDIR", folder.path());
            if cfg!(target_os = "linux") {
                command.args(["--option", "sandbox-build-dir", SECOND_BUILD_DIR]);
            }
        }
        command
            .args(self.nix.options())
            .args(derivations)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        if let Some(line) = verbose_line(&command) {
            self.progress.print(&line);
        }
        let child = end_with_this_program(&mut command)
            .spawn()
            .map_err(start_failed)?;
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

/// Sends the messages of a Nix, then its exit status. Nobody receives them if the build was given
/// up.
fn watch(mut child: Child, number: u64, sender: &Sender<(u64, Message)>) {
    if let Some(stderr) = child.stderr.take() {
        for line in BufReader::new(stderr).split(b'\n').map_while(Result::ok) {
            let event = parse_event(&String::from_utf8_lossy(&line));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compile_sh_prints_the_lines_that_builds_read() {
        let script = include_str!("../../nix/kernel/compile.sh");
        for words in [PEAK_PREFIX, NOTE_PREFIX, ALL_HEADERS] {
            assert!(script.contains(words), "{words}");
        }
    }
}
