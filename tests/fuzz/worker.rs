//! One process for each kind of file, with limits of the system: the process that runs the test
//! starts itself anew, and looks how it ends.

use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::Kind;
use crate::common::folder::Folder;
use crate::common::numbers::Numbers;
use crate::mutation::{LONGEST, mutate};

/// The seconds of the longest case. NB: other programs may have the processor meanwhile.
pub const LONGEST_CASE: u64 = 300;

/// The bytes of memory that a case may take beside its own size.
pub const MEMORY: u64 = 64 << 20;

/// The variable with the folder of a worker.
const WORKER: &str = "KERNEL_BUILDER_FUZZ_FOLDER";

/// The length of a run, by FUZZ_MINUTES.
pub fn seconds_of_minutes() -> u64 {
    let minutes = std::env::var("FUZZ_MINUTES").ok();
    let minutes = minutes.map(|text| text.parse::<u64>().expect("a number of minutes"));
    60 * minutes.unwrap_or(10)
}

/// The seed of a run, by FUZZ_SEED.
pub fn seed() -> u64 {
    let seed = std::env::var("FUZZ_SEED").ok();
    seed.map_or(1, |text| text.parse().expect("a number"))
}

/// Reads changed files of a kind for some seconds, in a process of its own. `test` is the name of
/// the calling test.
pub fn fuzz(test: &str, kind: fn() -> Kind, seconds: u64) {
    if let Some(folder) = std::env::var_os(WORKER) {
        return work(Path::new(&folder), kind(), seconds);
    }
    let folder = Folder::new();
    let mut worker = Command::new(std::env::current_exe().expect("this test"));
    worker.args([test, "--exact", "--include-ignored", "--nocapture"]);
    worker.env(WORKER, folder.path());
    end(test, &mut worker, &folder.path().join("case"));
}

/// Runs a worker to its end and prints its last line. The file of a case that ended it is kept.
pub fn end(test: &str, worker: &mut Command, case: &Path) {
    let output = worker.output().expect("started");
    let words = String::from_utf8_lossy(&output.stdout).into_owned();
    if !output.status.success() {
        let name = format!("fuzz-finding-{}", test.replace("::", "-"));
        let kept = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        // A worker may fail before its first case.
        let _ = std::fs::copy(case, &kept);
        let errors = String::from_utf8_lossy(&output.stderr);
        panic!(
            "{test}: {} at the file {}\n{words}{errors}",
            output.status,
            kept.display()
        );
    }
    let line = words.lines().find(|line| line.contains("cases"));
    let line = line.unwrap_or_else(|| panic!("{test} did not run: {words}"));
    println!("{test}: {line}");
}

/// The milliseconds from the start of a worker to the start of its case.
static CASE_START: AtomicU64 = AtomicU64::new(0);

fn work(folder: &Path, mut kind: Kind, seconds: u64) {
    let start = Instant::now();
    let now = move || start.elapsed().as_millis() as u64;
    std::thread::spawn(move || {
        loop {
            std::thread::sleep(Duration::from_millis(500));
            if now() - CASE_START.load(Ordering::Relaxed) > LONGEST_CASE * 1000 {
                eprintln!("a case has taken more than {LONGEST_CASE} s");
                std::process::abort();
            }
        }
    });
    let case = folder.join("case");
    for seed in &kind.seeds {
        let good = (seed.wrap)(seed.content.clone());
        std::fs::write(&case, &good).expect("written");
        assert!((kind.read)(folder, &good), "a seed is refused");
    }
    limit_memory();
    let (mut numbers, mut cases, mut good) = (Numbers::new(seed()), 0_u64, 0_u64);
    let mut slowest = 0;
    while start.elapsed() < Duration::from_secs(seconds) {
        let bytes = mutate(&mut numbers, &kind.seeds, kind.words);
        std::fs::write(&case, &bytes).expect("written");
        let before = now();
        CASE_START.store(before, Ordering::Relaxed);
        good += u64::from((kind.read)(folder, &bytes));
        slowest = slowest.max(now() - before);
        cases += 1;
    }
    assert!(cases > 0, "no case was read");
    let peak = status("VmHWM") >> 10;
    println!("\n{cases} cases, {good} good, the slowest {slowest} ms, at most {peak} kB of memory");
}

/// Makes an allocation fail that brings this process further than 64 MB beyond its present data.
/// NB: RLIMIT_DATA counts private memory that can be written, RLIMIT_AS also what is only reserved.
fn limit_memory() {
    let most = status("VmData") + MEMORY + LONGEST as u64;
    let maximum = getrlimit(Resource::Data).maximum;
    let current = Some(most);
    setrlimit(Resource::Data, Rlimit { current, maximum }).expect("a limit");
}

/// A number of bytes that the kernel has about this process.
fn status(name: &str) -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").expect("the status of a process");
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    let words = line.and_then(|line| line.split_whitespace().nth(1));
    let kilobytes: u64 = words.expect("a size").parse().expect("a number");
    kilobytes << 10
}
