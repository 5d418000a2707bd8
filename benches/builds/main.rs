//! Measures how long builds take beside a CMake project for each variant: `make bench`. It prints
//! tables for docs/benchmarks.md and asserts none of the figures.
//!
//! `BENCH=relu,60,60-cuda,400` chooses kernels: examples/relu (C++ and CUDA), or generated ones. A
//! number is the number of C++ units; with `-cuda`, ten of them are CUDA; with `-torch`, ten are
//! CUDA and all include `torch/all.h`. `BENCH_VARIANTS=8` is the number of variants of a generated
//! kernel; with 0, one variant is built from nothing, beside Ninja. `BENCH_FIRST=2` leaves out the
//! first two of its list, so that a measurement of hours can be made in parts. `BENCH_UNITS=heavy`
//! makes each unit take some 2 s instead of 0.3 s; a number says how many template instances a unit
//! has (synthetic.rs), for a faster machine. `BENCH_ROUNDS=3` builds one variant from nothing three
//! times. It measures each change three times for us and once for CMake, which takes minutes where
//! we take seconds. A row has our median.

mod cmake;
mod measure;
mod synthetic;

use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::process::Command;

use kernel_builder::nix::Nix;
use serde_json::Value;

use cmake::Project;
use measure::{Run, pin, run};
use synthetic::{ARCHS, LIGHT, Synthetic};

/// Instances in a unit that takes 2 s.
const HEAVY: usize = 100;

/// Variants for the CPU: torch 2.7 to 2.15. Where one variant is built, it is the first.
const CPU: [&str; 9] = [
    "211-cxx11-cpu",
    "212-cxx11-cpu",
    "213-cxx11-cpu",
    "214-cxx11-cpu",
    "215-cxx11-cpu",
    "210-cxx11-cpu",
    "29-cxx11-cpu",
    "28-cxx11-cpu",
    "27-cxx11-cpu",
];

/// Variants for CUDA: those whose torch the ordinary package index has. The first four are of one
/// toolkit, the first eight of four.
const CUDA: [&str; 9] = [
    "211-cxx11-cu130",
    "212-cxx11-cu130",
    "213-cxx11-cu130",
    "214-cxx11-cu130",
    "215-cxx11-cu132",
    "29-cxx11-cu128",
    "28-cxx11-cu128",
    "27-cxx11-cu126",
    "210-cxx11-cu128",
];

/// CUDA units of a generated kernel that has some.
const CUDA_UNITS: usize = 10;

fn main() {
    let variable = |name: &str, default: &str| std::env::var(name).unwrap_or(default.to_owned());
    let kernels = variable("BENCH", "60");
    let count: usize = variable("BENCH_VARIANTS", "8")
        .parse()
        .expect("a number of variants");
    let first: usize = variable("BENCH_FIRST", "0").parse().expect("a number");
    let rounds: usize = variable("BENCH_ROUNDS", "1").parse().expect("a number");
    assert!(
        rounds % 2 == 1,
        "BENCH_ROUNDS is odd, since medians are shown"
    );
    let instances = match &*variable("BENCH_UNITS", "light") {
        "light" => LIGHT,
        "heavy" => HEAVY,
        number => number
            .parse()
            .expect("BENCH_UNITS is light, heavy or a number of instances"),
    };
    assert!(
        first + count < CPU.len(),
        "BENCH_FIRST and BENCH_VARIANTS are at most {} together",
        CPU.len() - 1
    );
    let dir = tempfile::tempdir().expect("a temporary folder");
    for kernel in kernels.split(',') {
        let root = dir.path().join(kernel);
        match kernel {
            "relu" => relu(root, rounds),
            generated => {
                let (units, cuda, torch) = match generated.split_once('-') {
                    Some((units, "cuda")) => (units, CUDA_UNITS, false),
                    Some((units, "torch")) => (units, CUDA_UNITS, true),
                    _ => (generated, 0, false),
                };
                let kernel = Synthetic {
                    units: units.parse().expect("relu, or a number of units"),
                    cuda,
                    torch,
                    instances,
                };
                self::generated(root, kernel, first..=first + count, rounds);
            }
        }
    }
}

/// A text that no run before had in its files.
fn salt() -> String {
    let time = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    format!("run {} {:?}", std::process::id(), time.unwrap_or_default())
}

/// Measures a generated kernel: its variants are a range of those above, the last one of which is
/// the one that is added.
fn generated(root: PathBuf, kernel: Synthetic, range: RangeInclusive<usize>, rounds: usize) {
    synthetic::write(&root, kernel, &salt());
    let count = range.end() - range.start();
    let all = if kernel.cuda > 0 { CUDA } else { CPU };
    println!("\n### {kernel:?} and a binding, {count} variants\n");
    let mut bench = Bench::new(root, variants(&all[range]), rounds);
    // NB: with torch's headers, Ninja does not do the same work.
    if !kernel.torch {
        bench.beside_ninja(|bench| synthetic::write(&bench.root, kernel, &salt()));
    }
    if count == 0 {
        return;
    }
    bench.head();
    bench.all(count);
    if kernel.cuda > 0 {
        bench.incremental("one .cu file", "csrc/unit_7.cu", count);
    }
    let cpp = kernel.units - 1;
    bench.incremental("one .cpp file", &format!("csrc/unit_{cpp}.cpp"), count);
    if kernel.torch {
        // More rows would take CMake hours.
        return;
    }
    bench.incremental("a header that one unit includes", "csrc/leaf_7.h", count);
    bench.incremental("a header that ten units include", "csrc/group_0.h", count);
    if kernel.cuda > 0 {
        bench.one_more_arch(ARCHS, "csrc/device.h", count);
    }
    bench.one_more(count);
}

/// Names of variants that are built here.
fn variants(names: &[&str]) -> Vec<String> {
    let names = names.iter();
    names
        .map(|name| format!("torch{name}-x86_64-linux"))
        .collect()
}

fn relu(root: PathBuf, rounds: usize) {
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/relu");
    for entry in walkdir::WalkDir::new(&example)
        .into_iter()
        .filter_entry(|entry| entry.file_name() != "build")
    {
        let entry = entry.expect("an entry");
        let target = root.join(entry.path().strip_prefix(&example).expect("below"));
        if entry.file_type().is_dir() {
            std::fs::create_dir_all(target).expect("create a folder");
        } else {
            std::fs::copy(entry.path(), target).expect("copy a file");
        }
    }
    replace(
        &root.join("build.toml"),
        "backend = \"cuda\"",
        &format!("backend = \"cuda\"\ncuda-capabilities = [{ARCHS}]"),
    );
    let variants = variants(&["211-cxx11-cpu", "211-cxx11-cu130", "212-cxx11-cpu"]);
    let salted = |bench: &Bench| {
        for file in [
            "csrc/relu_cpu.cpp",
            "csrc/relu_cuda.cu",
            "torch-ext/torch_binding.cpp",
        ] {
            touch(&bench.root.join(file));
        }
    };
    println!("\n### examples/relu: C++, CUDA and a binding, 2 variants\n");
    let mut bench = Bench::new(root, variants, rounds);
    bench.beside_ninja(salted);
    bench.head();
    salted(&bench);
    bench.all(2);
    bench.incremental("one .cu file", "csrc/relu_cuda.cu", 2);
    bench.incremental("a header that two units include", "csrc/relu_cuda.h", 2);
    bench.one_more_arch(ARCHS, "csrc/relu_cuda.cu", 2);
    bench.one_more(2);
}

/// Changes a file so that no build before had it.
fn touch(file: &Path) {
    let old = std::fs::read_to_string(file).expect("a file");
    let comment = match file.extension().and_then(|extension| extension.to_str()) {
        Some("py" | "md") => "#",
        _ => "//",
    };
    std::fs::write(file, format!("{old}\n{comment} {}\n", salt())).expect("write");
}

fn replace(file: &Path, old: &str, new: &str) {
    let text = std::fs::read_to_string(file).expect("a file");
    assert!(text.contains(old), "{old} in {}", file.display());
    std::fs::write(file, text.replacen(old, new, 1)).expect("write");
}

/// A kernel that is built both ways.
struct Bench {
    root: PathBuf,
    variants: Vec<String>,
    nix: Nix,
    jobs: usize,
    rounds: usize,
    /// The run in which CMake builds all variants in empty folders, as for a new commit.
    fresh: Run,
    projects: Vec<Project>,
}

impl Bench {
    fn new(root: PathBuf, variants: Vec<String>, rounds: usize) -> Self {
        let bench = Self {
            root,
            variants,
            nix: Nix::find().expect("Nix"),
            jobs: std::thread::available_parallelism().map_or(1, usize::from),
            rounds,
            fresh: Run::default(),
            projects: Vec::new(),
        };
        // Toolchains are there before anything is measured, for both.
        bench.program("fetch", &bench.variants, &[]);
        for variant in &bench.variants {
            let graph = bench.graph(variant);
            let steps = graph["steps"].as_array().expect("steps");
            let toolchains = steps.iter().filter(|step| step["kind"] == "toolchain");
            let paths = toolchains.filter_map(|step| step["derivation"].as_str());
            let mut nix = Command::new("nix-store");
            nix.args([
                "--realise",
                "--option",
                "substituters",
                "",
                "--option",
                "sandbox",
                "true",
            ]);
            run(nix.args(paths), |_| false);
        }
        bench
    }

    fn command(&self, command: &str, variants: &[String], arguments: &[&str]) -> Command {
        let mut program = Command::new(env!("CARGO_BIN_EXE_kernel-builder"));
        program.arg(command).arg(&self.root).args(arguments);
        for variant in variants {
            program.args(["--variant", variant]);
        }
        program
    }

    fn program(&self, command: &str, variants: &[String], arguments: &[&str]) -> String {
        let output = self
            .command(command, variants, arguments)
            .output()
            .expect("start kernel-builder");
        let words = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.success(),
            "kernel-builder {command}:\n{words}"
        );
        String::from_utf8(output.stdout).expect("UTF-8")
    }

    fn graph(&self, variant: &String) -> Value {
        let json = self.program("graph", std::slice::from_ref(variant), &["--json"]);
        serde_json::from_str(&json).expect("JSON")
    }

    fn ours(&self, count: usize) -> Run {
        let variants = &self.variants[..count];
        let mut command = self.command("build", variants, &["--offline", "--json"]);
        // Parts of a unit are none: the object is what joins them.
        run(&mut command, |line| {
            let event: Value = serde_json::from_str(line).unwrap_or_default();
            let object = event["derivation"].as_str().unwrap_or_default();
            let part = object.contains("-sm_") || object.contains("-host");
            event["event"] == "step_ended" && object.ends_with(".o.drv") && !part
        })
    }

    /// The CMake projects of the variants, as build.toml says now. Those that did not change are
    /// not touched.
    fn project(&self, at: usize) -> Project {
        let folder = self.root.with_extension(format!("cmake-{at}"));
        Project::write(
            &self.nix,
            &self.root,
            &self.graph(&self.variants[at]),
            &folder,
        )
    }

    /// The cost of Nix: one variant from nothing, and the same with Ninja alone at the same time,
    /// so that other work of the machine slows both. Each has half of the cores, and then the other
    /// half, since halves differ too.
    fn beside_ninja(&mut self, salted: impl Fn(&Bench)) {
        let jobs = self.jobs / 2;
        assert!(jobs > 0, "it takes two cores");
        let halves = [0, jobs].map(|first| format!("{first}-{}", first + jobs - 1));
        // NB: the project is written before its sources change: writing it reads the derivations,
        // which must be new for us.
        let project = self.project(0);
        let mut all = Vec::new();
        for _ in 0..self.rounds {
            let mut sum = [Run::default(); 2];
            for [own, other] in [[0, 1], [1, 0]] {
                salted(self);
                project.clean();
                project.configure();
                std::thread::scope(|scope| {
                    let ours = scope.spawn(|| {
                        pin(&halves[own]);
                        self.ours(1)
                    });
                    let ninja = scope.spawn(|| {
                        pin(&halves[other]);
                        project.build(jobs)
                    });
                    for (sum, run) in sum.iter_mut().zip([ours, ninja]) {
                        *sum = sum.then(run.join().expect("a build"));
                    }
                });
            }
            let [ours, ninja] = sum;
            let over = (ours.seconds / ninja.seconds - 1.0) * 100.0;
            println!(
                "One variant from nothing, {jobs} at a time, twice: {:.1} s for {} units, Ninja {:.1} s for {}: {over:+.1} %.",
                ours.seconds, ours.units, ninja.seconds, ninja.units
            );
            all.push(over);
        }
        all.sort_by(f64::total_cmp);
        println!("Median: {:+.1} %.\n", all[all.len() / 2]);
        salted(self);
    }

    fn head(&self) {
        println!(
            "| | s | units | MB | CMake, fresh: s | units | MB | ratio | CMake, kept: s | units | ratio |"
        );
        println!("|---|---|---|---|---|---|---|---|---|---|---|");
    }

    /// Measures all variants from nothing, and changes that concern none of them.
    fn all(&mut self, count: usize) {
        let ours = self.ours(count);
        self.projects = (0..count).map(|at| self.project(at)).collect();
        self.fresh = self.all_fresh();
        row("from nothing", ours, self.fresh, None);
        self.compare("nothing changed", count, |_| {});
        self.incremental("README.md", "README.md", count);
        let python = self.root.join("torch-ext");
        let packages = std::fs::read_dir(python).expect("a folder").flatten();
        let names = packages.map(|entry| entry.file_name().into_string().expect("UTF-8"));
        let mut files = names.map(|name| format!("torch-ext/{name}/__init__.py"));
        let file = files.find(|file| self.root.join(file).exists());
        self.incremental("one .py file", &file.expect("a package"), count);
    }

    /// Measures a change of one file.
    fn incremental(&mut self, what: &str, file: &str, count: usize) {
        self.compare(what, count, |root| touch(&root.join(file)));
    }

    /// Measures a change; CMake builds in empty folders, or in the folders of the build before.
    fn compare(&mut self, what: &str, count: usize, change: impl Fn(&Path)) {
        let again = |bench: &mut Bench| {
            change(&bench.root);
            bench.ours(count)
        };
        let ours = self.median(again);
        let kept = self.again(count);
        row(what, ours, self.fresh, Some(kept));
    }

    /// The round with the median time.
    fn median(&mut self, round: impl Fn(&mut Bench) -> Run) -> Run {
        let mut runs: Vec<Run> = (0..self.rounds).map(|_| round(self)).collect();
        runs.sort_by(|a, b| a.seconds.total_cmp(&b.seconds));
        runs[runs.len() / 2]
    }

    /// The run of CMake in the folders of the build before.
    fn again(&mut self, count: usize) -> Run {
        self.projects = (0..count).map(|at| self.project(at)).collect();
        let again = |project: &Project| project.again(self.jobs);
        self.projects
            .iter()
            .map(again)
            .fold(Run::default(), Run::then)
    }

    /// The run of CMake for all variants in empty folders.
    fn all_fresh(&self) -> Run {
        let fresh = |project: &Project| project.fresh(self.jobs);
        self.projects
            .iter()
            .map(fresh)
            .fold(Run::default(), Run::then)
    }

    /// Measures one more architecture than build.toml has, which every toolkit knows.
    /// All units for the GPU include `shared`.
    fn one_more_arch(&mut self, archs: &str, shared: &str, count: usize) {
        let [before, after] = [format!("[{archs}]"), format!("[{archs}, \"9.0a\"]")];
        let ours = self.median(|bench| {
            let file = bench.root.join("build.toml");
            let text = std::fs::read_to_string(&file).expect("a file");
            if text.contains(&after) {
                // The files of the round before change back, so that all of them are new again.
                replace(&file, &after, &before);
                touch(&bench.root.join(shared));
                bench.ours(count);
            }
            replace(&file, &before, &after);
            bench.ours(count)
        });
        let kept = self.again(count);
        // NB: CMake takes longer with one more architecture, so it is measured again.
        self.fresh = self.all_fresh();
        row("one more architecture", ours, self.fresh, Some(kept));
    }

    /// Measures one more variant, for another torch.
    fn one_more(&mut self, count: usize) {
        let ours = self.ours(count + 1);
        let more = self.project(count).fresh(self.jobs);
        row(
            "one more torch release",
            ours,
            self.fresh.then(more),
            Some(more),
        );
    }
}

fn row(what: &str, ours: Run, fresh: Run, kept: Option<Run>) {
    let cells = |run: Run| {
        format!(
            "{:.1} | {} | {:.0}",
            run.seconds,
            run.units,
            run.peak as f64 / 1e6
        )
    };
    let ratio = |run: Run| format!("{:.1}", run.seconds / ours.seconds);
    let kept = kept.map_or("| |".to_owned(), |kept| {
        format!("{:.1} | {} | {}", kept.seconds, kept.units, ratio(kept))
    });
    println!(
        "| {what} | {} | {} | {} | {kept} |",
        cells(ours),
        cells(fresh),
        ratio(fresh)
    );
}
