//! A build whose units together need more memory than there is: each waits until it fits, and what
//! was compiled before the build was killed is not compiled again. Needs a control group with a
//! limit, which takes root.

mod common;

use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use common::program::kernel_builder;
use serde_json::Value;

const LIMIT: u64 = 4 << 30;
const UNITS: usize = 8;
const VARIANT: &str = "torch211-cxx11-cpu-x86_64-linux";

/// A control group with `LIMIT` as its limit, of either version.
struct Group {
    dir: PathBuf,
    limit: &'static str,
    peak: &'static str,
    events: &'static str,
}

impl Group {
    fn new() -> Self {
        let name = format!("kernel-builder-{}", std::process::id());
        let first = Path::new("/sys/fs/cgroup/memory");
        let group = if first.is_dir() {
            Self {
                dir: first.join(name),
                limit: "memory.limit_in_bytes",
                peak: "memory.max_usage_in_bytes",
                events: "memory.oom_control",
            }
        } else {
            Self {
                dir: Path::new("/sys/fs/cgroup").join(name),
                limit: "memory.max",
                peak: "memory.peak",
                events: "memory.events",
            }
        };
        fs::create_dir(&group.dir).expect("create a control group, as root");
        fs::write(group.dir.join(group.limit), LIMIT.to_string()).expect("set its limit");
        group
    }

    fn read(&self, file: &str) -> String {
        fs::read_to_string(self.dir.join(file)).expect("a file of the control group")
    }

    /// The number of processes of the group that the kernel killed.
    fn kills(&self) -> String {
        let events = self.read(self.events);
        let line = events
            .lines()
            .find_map(|line| line.strip_prefix("oom_kill "));
        line.expect("a count of killed processes").to_owned()
    }

    /// Builds a kernel in the group.
    fn build(&self, kernel: &Path) -> Child {
        Command::new("bash")
            .args(["-c", "echo $$ >$0/cgroup.procs && exec setsid \"$@\""])
            .arg(&self.dir)
            .arg(env!("CARGO_BIN_EXE_kernel-builder"))
            .arg("build")
            .arg(kernel)
            .args(["--variant", VARIANT, "--max-jobs", "8"])
            .stderr(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("start bash")
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // Its processes have ended.
        let _ = fs::remove_dir(&self.dir);
    }
}

/// A kernel of units that take 1.5 GB and about a second of CPU each: string literals that the
/// compiler drops again.
fn kernel(dir: &Path) {
    let doubled = (1..12).fold(String::new(), |mut text, n| {
        let m = n - 1;
        writeln!(text, "#define S{n} S{m} S{m}").expect("text");
        text
    });
    let literal = "x".repeat(1 << 16);
    let texts = (0..6).fold(String::new(), |mut text, n| {
        writeln!(text, "static const char text{n}[] = S11;").expect("text");
        text
    });
    fs::create_dir_all(dir.join("csrc")).expect("create");
    // New in each run: what was built before would not be built again.
    let nonce = format!("{:?}", std::time::SystemTime::now());
    for n in 0..UNITS {
        let source = format!(
            "// {nonce}\n#include <cstdlib>\n#define S0 \"{literal}\"\n{doubled}{texts}int unit{n}() {{ return std::getenv(\"PATH\") ? sizeof text0 : 0; }}\n"
        );
        fs::write(dir.join(format!("csrc/unit{n}.cpp")), source).expect("write");
    }
    let sources: Vec<String> = (0..UNITS)
        .map(|n| format!("\"csrc/unit{n}.cpp\""))
        .collect();
    let files = [
        (
            "build.toml",
            format!(
                "[general]\nname = \"memory-limit\"\nedition = 5\nversion = 1\nlicense = \"Apache-2.0\"\nbackends = [\"cpu\"]\n\
                 [torch]\nsrc = [\"torch-ext/binding.cpp\"]\n\
                 [kernel.units]\nbackend = \"cpu\"\ndepends = [\"torch\"]\nsrc = [{}]\n",
                sources.join(", ")
            ),
        ),
        (
            "torch-ext/binding.cpp",
            "#include \"registration.h\"\nREGISTER_EXTENSION(TORCH_EXTENSION_NAME)\n".to_owned(),
        ),
        ("torch-ext/memory_limit/__init__.py", String::new()),
    ];
    for (name, text) in files {
        let path = dir.join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("create");
        fs::write(path, text).expect("write");
    }
}

/// The unit that a line of progress says was built: `[3/12] csrc/unit0.cpp 1.5 s`.
fn unit_of(line: &str) -> Option<String> {
    let word = line.split_whitespace().nth(1)?;
    (line.starts_with('[') && word.starts_with("csrc/")).then(|| word.to_owned())
}

/// Units of the kernel that are in the store, as lines of progress name them.
fn finished(kernel: &Path) -> Vec<String> {
    let output = kernel_builder("graph")
        .arg(kernel)
        .args(["--json", "--variant", VARIANT])
        .output()
        .expect("start kernel-builder");
    let graph: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let steps = graph["steps"].as_array().expect("steps").iter();
    let units = steps.filter(|step| step["kind"] == "unit" && step["state"] == "cached");
    let sources = units.filter_map(|step| step["source"].as_str());
    let sources = sources.filter(|source| source.starts_with("csrc/"));
    sources.map(str::to_owned).collect()
}

#[test]
#[ignore = "needs root, a control group and 4 GB: run by `make full-test`"]
fn heavy_units_wait_for_memory_and_a_killed_build_goes_on() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    kernel(dir.path());
    let group = Group::new();

    // Killed when two units are done.
    let mut first = group.build(dir.path());
    let mut before = Vec::new();
    let mut lines = BufReader::new(first.stderr.take().expect("stderr")).lines();
    while before.len() < 2 {
        let line = lines.next().expect("two units are built").expect("text");
        before.extend(unit_of(&line));
    }
    for process in group.read("cgroup.procs").lines() {
        let _ = Command::new("kill").args(["-KILL", process]).status();
    }
    first.wait().expect("its end");
    before.extend(lines.filter_map(|line| unit_of(&line.ok()?)));
    println!("said before it was killed: {before:?}");
    // NB: it may not have come to say so of the last ones.
    let finished = finished(dir.path());
    println!("finished: {finished:?}");
    assert!(before.iter().all(|unit| finished.contains(unit)));
    assert!(finished.len() < UNITS, "it was killed too late");

    let second = group.build(dir.path()).wait_with_output().expect("its end");
    let words = String::from_utf8_lossy(&second.stderr).into_owned();
    assert!(second.status.success(), "{words}");
    let after: Vec<String> = words.lines().filter_map(unit_of).collect();
    println!("after: {after:?}");
    println!(
        "most memory: {} MB",
        group.read(group.peak).trim().parse::<u64>().expect("bytes") >> 20
    );
    assert!(finished.iter().all(|unit| !after.contains(unit)));
    assert_eq!(finished.len() + after.len(), UNITS);
    assert_eq!(group.kills(), "0");
}
