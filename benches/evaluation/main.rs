//! Measures how long `plan` of all variants of a large kernel takes: `cargo bench --bench
//! evaluation`. It prints figures and asserts none.
//!
//! The floor is measured beside it: as many bare derivations with inputs and texts of the same
//! sizes, written by the same Nix (floor.nix). Every round measures both once, each in a store that
//! is empty at first. `BENCH_SHAPES=58-cuda,2816-hip` chooses kernels, and `BENCH_ROUNDS=3` the
//! number of rounds. The bench prints medians, with the shortest and the longest time, and compares
//! processor time with the floor. It measures the Nix of the PATH and that of target/nix-2.26
//! (scripts/newer-nix.sh).

mod shapes;
#[path = "../watch.rs"]
mod watch;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use kernel_builder::nix::Nix;
use serde_json::{Value, json};
use shapes::Shape;
use watch::{Watched, watch};

/// The folder of the programs of a newer Nix, if there is one.
const NEWER: &str = "target/nix-2.26/bin";

fn main() {
    let variable = |name: &str, default: &str| std::env::var(name).unwrap_or(default.to_owned());
    let wanted = variable("BENCH_SHAPES", "58-cuda,2816-hip");
    let rounds: usize = variable("BENCH_ROUNDS", "3").parse().expect("a number");
    let path = variable("PATH", "");
    let newer = Path::new(env!("CARGO_MANIFEST_DIR")).join(NEWER);
    let mut paths = vec![path.clone()];
    if newer.exists() {
        paths.push(format!("{}:{path}", newer.display()));
    }
    let shapes = [shapes::CUDA, shapes::HIP].into_iter();
    let shapes: Vec<Shape> = shapes
        .filter(|shape| wanted.split(',').any(|name| name == shape.name))
        .collect();
    assert!(!shapes.is_empty(), "BENCH_SHAPES is of 58-cuda, 2816-hip");
    for shape in shapes {
        for path in &paths {
            // SAFETY: no other thread runs now.
            unsafe { std::env::set_var("PATH", path) };
            measure_shape(shape, rounds);
        }
    }
}

/// The time and the memory of a program's run.
struct Figures {
    seconds: f64,
    /// Seconds of processor time, which other work of the machine changes less than the wall time.
    cpu: f64,
    /// The most memory, in bytes.
    peak: u64,
}

fn figures(command: &mut Command) -> Figures {
    let before = children();
    let Watched { seconds, peak, .. } = watch(command);
    Figures {
        seconds,
        cpu: children() - before,
        peak,
    }
}

/// A kernel, and the folder of its stores.
struct Bench {
    root: PathBuf,
    stores: PathBuf,
    shape: Shape,
    /// Names of the variants, separated by blanks.
    variants: String,
}

fn measure_shape(shape: Shape, rounds: usize) {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let mut bench = Bench {
        root: dir.path().join("kernel"),
        stores: dir.path().to_owned(),
        shape,
        variants: String::new(),
    };
    shapes::write(&bench.root, shape);
    // SAFETY: no other thread runs now.
    unsafe { std::env::set_var("KERNEL_BUILDER_CACHE", dir.path().join("cache")) };
    let generation = watch(bench.program().arg("generate").arg(&bench.root));
    let text = std::fs::read_to_string(bench.root.join("build.nix")).expect("build.nix");

    let (sizes, steps) = bench.learn();
    println!(
        "\n### {}, {}: {} variants, {steps} steps\n",
        shape.name,
        version(),
        bench.variants.split(' ').count()
    );
    println!(
        "build.nix: {} lines, {} kB, written in {:.2} s\n",
        text.lines().count(),
        text.len() / 1000,
        generation.seconds
    );
    let mut runs: [Vec<Figures>; 4] = Default::default();
    for _ in 0..rounds {
        bench.empty();
        runs[0].push(bench.plan());
        runs[1].push(bench.plan());
        bench.empty();
        runs[2].push(bench.evaluate());
        bench.empty();
        runs[3].push(bench.floor(&sizes));
    }
    println!("| what | s | shortest to longest | of processors | times the floor | peak MB |");
    println!("|---|--:|--:|--:|--:|--:|");
    let names = [
        "`plan` in an empty store",
        "`plan` again",
        "evaluation alone, in an empty store",
        "the floor of evaluation",
    ];
    let floor = sorted(&runs[3], |run| run.cpu)[rounds / 2];
    for (name, runs) in names.iter().zip(&runs) {
        let (wall, cpu) = (sorted(runs, |run| run.seconds), sorted(runs, |run| run.cpu));
        let peak = runs.iter().map(|run| run.peak).max().unwrap_or_default();
        println!(
            "| {name} | {:.2} | {:.2} to {:.2} | {:.2} | {:.2} | {} |",
            wall[rounds / 2],
            wall[0],
            wall[rounds - 1],
            cpu[rounds / 2],
            cpu[rounds / 2] / floor,
            peak / 1_000_000
        );
    }
}

/// A figure of each run, the smallest first.
fn sorted(runs: &[Figures], figure: impl Fn(&Figures) -> f64) -> Vec<f64> {
    let mut sorted: Vec<f64> = runs.iter().map(figure).collect();
    sorted.sort_by(f64::total_cmp);
    sorted
}

impl Bench {
    fn program(&self) -> Command {
        Command::new(env!("CARGO_BIN_EXE_kernel-builder"))
    }

    /// Makes the next run begin in an empty store.
    fn empty(&self) {
        let store = self.stores.join("store");
        if store.exists() {
            // Nix makes all files of a store read-only.
            watch(Command::new("chmod").args(["-R", "u+w"]).arg(&store));
            std::fs::remove_dir_all(&store).expect("remove a store");
        }
        // SAFETY: no other thread runs now.
        unsafe { std::env::set_var("NIX_REMOTE", store) };
    }

    fn plan(&self) -> Figures {
        let mut command = self.program();
        command.args(["plan", "--json", "--variant", self.shape.variants]);
        figures(command.arg(&self.root))
    }

    fn evaluate(&self) -> Figures {
        let library = Path::new(env!("CARGO_MANIFEST_DIR"));
        let mut command = Command::new("nix-instantiate");
        command.arg(library.join("nix/cli.nix")).args([
            "--eval",
            "--read-write-mode",
            "--strict",
            "--json",
            "-A",
            "derivations",
        ]);
        command.arg("--argstr").arg("root").arg(&self.root);
        command.args(["--argstr", "system", "x86_64-linux"]);
        figures(command.args(["--argstr", "variants", &self.variants]))
    }

    fn floor(&self, sizes: &Path) -> Figures {
        let mut command = Command::new("nix-instantiate");
        let floor = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/evaluation/floor.nix");
        command.arg(floor).arg("--argstr").arg("sizes").arg(sizes);
        command.args(["--eval", "--read-write-mode", "--strict", "--json"]);
        figures(&mut command)
    }

    /// Plans once: sets the names of the variants, and writes the sizes of all derivations to a
    /// file for floor.nix. Returns the file and the number of steps.
    fn learn(&mut self) -> (PathBuf, usize) {
        self.empty();
        let mut command = self.program();
        command.args(["plan", "--json", "--variant", self.shape.variants]);
        let output = watch(command.arg(&self.root)).output;
        let report: Value = serde_json::from_slice(&output.stdout).expect("a plan as JSON");
        let list = |key: &str| report[key].as_array().expect("a list").clone();
        let text = |value: &Value| value.as_str().expect("a text").to_owned();
        let names = list("variants");
        let names: Vec<String> = names.iter().map(|own| text(&own["variant"])).collect();
        self.variants = names.join(" ");

        let packages = list("steps").into_iter();
        let packages: Vec<String> = packages
            .filter(|step| step["kind"] == "package")
            .map(|step| text(&step["derivation"]))
            .collect();
        let nix = Nix::find().expect("Nix");
        let derivations = nix.derivations(&packages).expect("derivations");
        let numbers = |paths: &mut dyn Iterator<Item = &String>| -> BTreeMap<String, usize> {
            paths.cloned().zip(0..).collect()
        };
        let size = |path: &str| {
            let folder = nix.store_folder().expect("a store of its own");
            let file = folder.join(path.rsplit('/').next().expect("a name"));
            std::fs::metadata(file).expect("a file of the store").len()
        };
        let by_path = numbers(&mut derivations.keys());
        let mut sources: Vec<&String> = derivations.values().flat_map(|it| &it.sources).collect();
        sources.sort();
        sources.dedup();
        let by_source = numbers(&mut sources.iter().copied());
        let rows = derivations.iter().map(|(path, derivation)| {
            let needs = derivation.needs.iter().map(|path| by_path[path]);
            let sources = derivation.sources.iter().map(|path| by_source[path]);
            json!([
                size(path),
                needs.collect::<Vec<_>>(),
                sources.collect::<Vec<_>>()
            ])
        });
        let sizes = json!({
            "derivations": rows.collect::<Vec<_>>(),
            "sources": sources.iter().map(|path| size(path)).collect::<Vec<_>>(),
            "roots": packages.iter().map(|path| by_path[path]).collect::<Vec<_>>(),
        });
        let file = self.stores.join("sizes.json");
        std::fs::write(&file, sizes.to_string()).expect("write a file");
        (file, list("steps").len())
    }
}

/// The name and the version that the Nix of the PATH prints.
fn version() -> String {
    let output = Command::new("nix-instantiate").arg("--version").output();
    let text = String::from_utf8_lossy(&output.expect("start Nix").stdout).into_owned();
    text.trim().to_owned()
}

/// Seconds of processor time of the ended children of this process, and of their children.
fn children() -> f64 {
    /// The unit of Linux in /proc, the same on every machine.
    const TICKS_PER_SECOND: f64 = 100.0;
    let text = std::fs::read_to_string("/proc/self/stat").expect("/proc/self/stat");
    let (_, after_name) = text.rsplit_once(')').expect("the name of this program");
    let fields = after_name.split_whitespace();
    // Fields 16 and 17, counted from 1; the name is the second.
    let ticks = fields.skip(13).take(2);
    ticks
        .map(|field| field.parse::<f64>().expect("a number"))
        .sum::<f64>()
        / TICKS_PER_SECOND
}
