//! Runs a program and measures it: wall time, and the CPU time and memory of it and all its children.

use std::collections::HashMap;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// What a run took.
#[derive(Clone, Copy, Debug, Default)]
pub struct Run {
    pub seconds: f64,
    /// Of all cores together. NB: where wall time depends on what else a machine does, this does less.
    pub cpu: f64,
    /// Compilations.
    pub units: usize,
    /// Bytes that all processes had resident at once, looked at every 50 ms. What they share counts for each.
    pub peak: u64,
}

impl Run {
    /// One after the other.
    pub fn then(self, next: Run) -> Run {
        Run {
            seconds: self.seconds + next.seconds,
            cpu: self.cpu + next.cpu,
            units: self.units + next.units,
            peak: self.peak.max(next.peak),
        }
    }
}

/// Runs a program that must succeed; `is_unit` says which lines of its output tell of a compilation.
pub fn run(command: &mut Command, is_unit: impl Fn(&str) -> bool) -> Run {
    let (start, cpu) = (Instant::now(), cpu_of_children());
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let child = command.spawn().expect("start a program");
    let (pid, done) = (child.id(), AtomicBool::new(false));
    let (output, peak) = std::thread::scope(|scope| {
        let watch = scope.spawn(|| {
            let mut peak = 0;
            while !done.load(Ordering::Relaxed) {
                peak = peak.max(resident(pid));
                std::thread::sleep(Duration::from_millis(50));
            }
            peak
        });
        let output = child.wait_with_output().expect("wait for a program");
        done.store(true, Ordering::Relaxed);
        (output, watch.join().expect("the watch"))
    });
    let seconds = start.elapsed().as_secs_f64();
    let cpu = cpu_of_children() - cpu;
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    assert!(output.status.success(), "{command:?} failed:\n{text}");
    let units = text.lines().filter(|line| is_unit(line)).count();
    Run {
        seconds,
        cpu,
        units,
        peak,
    }
}

/// CPU seconds of all programs that were started here and have ended, and of theirs (proc_pid_stat(5)).
fn cpu_of_children() -> f64 {
    const TICKS_PER_SECOND: f64 = 100.0;
    let stat = std::fs::read_to_string("/proc/self/stat").expect("/proc/self/stat");
    // The name of the program, in parentheses, may hold anything.
    let (_, fields) = stat.rsplit_once(')').expect("a name");
    let fields: Vec<&str> = fields.split_whitespace().collect();
    let ticks = |at: usize| fields[at].parse::<f64>().expect("a number");
    // Of fields, which count from the third: cutime and cstime.
    (ticks(13) + ticks(14)) / TICKS_PER_SECOND
}

/// Bytes that a process and all below it have resident.
fn resident(root: u32) -> u64 {
    let mut children: HashMap<u32, Vec<u32>> = HashMap::new();
    let mut sizes: HashMap<u32, u64> = HashMap::new();
    for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
        let name = entry.file_name();
        let Some(pid) = name.to_str().and_then(|name| name.parse::<u32>().ok()) else {
            continue;
        };
        // It may have ended meanwhile.
        let status = std::fs::read_to_string(entry.path().join("status")).unwrap_or_default();
        let number = |key: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(key))?;
            line.split_whitespace().next()?.parse::<u64>().ok()
        };
        if let Some(parent) = number("PPid:").and_then(|parent| u32::try_from(parent).ok()) {
            children.entry(parent).or_default().push(pid);
            sizes.insert(pid, number("VmRSS:").unwrap_or_default() * 1024);
        }
    }
    let (mut sum, mut waiting) = (0, vec![root]);
    while let Some(pid) = waiting.pop() {
        sum += sizes.get(&pid).copied().unwrap_or_default();
        waiting.extend(children.get(&pid).into_iter().flatten());
    }
    sum
}
