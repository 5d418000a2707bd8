//! Measures a build: time, memory and compilations.

#[path = "../watch.rs"]
mod watch;

use std::process::Command;

use watch::watch;

/// The time, the memory and the compilations of a run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Run {
    pub seconds: f64,
    /// The number of compilations.
    pub units: usize,
    /// The most bytes that all processes had resident at once.
    pub peak: u64,
}

impl Run {
    /// This run and the next one as one run.
    pub fn then(self, next: Run) -> Run {
        Run {
            seconds: self.seconds + next.seconds,
            units: self.units + next.units,
            peak: self.peak.max(next.peak),
        }
    }
}

/// Runs a program that must succeed. `is_unit` says whether a line of its output stands for a
/// compilation.
pub fn run(command: &mut Command, is_unit: impl Fn(&str) -> bool) -> Run {
    let watched = watch(command);
    let text = [watched.output.stdout, watched.output.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    Run {
        seconds: watched.seconds,
        units: text.lines().filter(|line| is_unit(line)).count(),
        peak: watched.peak,
    }
}

/// Keeps this thread and the programs that it starts from now on to some cores, such as `0-3`.
pub fn pin(cores: &str) {
    let thread = std::fs::read_link("/proc/thread-self").expect("/proc/thread-self");
    let mut taskset = Command::new("taskset");
    taskset.args(["--cpu-list", "--pid", cores]);
    taskset.arg(thread.file_name().expect("a number"));
    run(&mut taskset, |_| false);
}
