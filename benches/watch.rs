//! Runs a program and measures it: wall time, and the memory of it and all its children.

use std::collections::HashMap;
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The time and the memory of a program, and its output.
pub struct Watched {
    pub seconds: f64,
    /// The most bytes that all processes had resident at once, read every 50 ms. Shared memory
    /// counts for each process.
    pub peak: u64,
    pub output: Output,
}

/// Runs a program that must succeed.
pub fn watch(command: &mut Command) -> Watched {
    let start = Instant::now();
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
    assert!(
        output.status.success(),
        "{command:?} failed:\n{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    Watched {
        seconds,
        peak,
        output,
    }
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
        // The process may have ended meanwhile.
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
