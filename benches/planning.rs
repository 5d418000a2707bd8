//! Measures how long it takes to plan a large kernel, and Nix to evaluate it: `cargo bench --bench
//! planning`. It prints figures and asserts none; docs/benchmarks.md keeps them.

#[path = "builds/synthetic.rs"]
mod synthetic;

use std::time::{Duration, Instant};

use camino::Utf8Path;
use kernel_builder::emit::build_nix;
use kernel_builder::kernel::Kernel;
use kernel_builder::matrix::{matrix, table};
use kernel_builder::nix::Nix;
use kernel_builder::plan::plan;
use synthetic::Synthetic;

const UNITS: usize = 400;
/// Torch 2.9 to 2.15, for three systems.
const BOUNDS: &str = "[torch]\nminver = \"2.9\"\n";
const ROUNDS: usize = 21;

fn main() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let root = Utf8Path::from_path(dir.path())
        .expect("a UTF-8 path")
        .join("kernel");
    let kernel = Synthetic {
        units: UNITS,
        cuda: 0,
        torch: false,
        instances: synthetic::LIGHT,
    };
    synthetic::write(root.as_std_path(), kernel, "planning");
    let file = root.join("build.toml");
    let text = std::fs::read_to_string(&file).expect("build.toml");
    std::fs::write(&file, text.replacen("[torch]\n", BOUNDS, 1)).expect("write");

    let all = || {
        let kernel = Kernel::load(&root, &table().toolkits)
            .unwrap_or_else(|error| panic!("{error}"))
            .kernel;
        let plan = plan(&kernel, &matrix(&kernel, table()), table()).expect("a plan");
        let text = build_nix(&plan, table()).expect("build.nix");
        (plan, text)
    };
    let (plan, text) = all();
    println!(
        "{UNITS} units and a binding, {} variants, build.nix of {} kB",
        plan.variants.len(),
        text.len() / 1000
    );
    let [min, median] = times(ROUNDS, || drop(all()));
    println!("read, check, plan and emit: min {min:.1?}, median {median:.1?}");

    std::fs::write(root.join("build.nix"), text).expect("write build.nix");
    let nix = Nix::find().expect("Nix");
    let library = Utf8Path::new(env!("CARGO_MANIFEST_DIR"));
    let evaluate = |names: &[&str]| {
        let arguments = [
            ("root", root.as_str()),
            ("system", "x86_64-linux"),
            ("variants", &names.join(" ")),
        ];
        nix.evaluate(&library.join("nix/cli.nix"), "derivations", &arguments)
            .expect("derivations");
    };
    let names = plan.variants.iter().map(|variant| &*variant.variant);
    let names: Vec<&str> = names.collect();
    let own = names.iter().filter(|name| name.ends_with("-x86_64-linux"));
    let own: Vec<&str> = own.copied().collect();
    // NB: an empty store, in which every derivation is new.
    let store = dir.path().join("store");
    // SAFETY: no other thread runs in this program.
    unsafe { std::env::set_var("NIX_REMOTE", &store) };
    let [cold, _] = times(1, || evaluate(&names));
    let [warm, median] = times(5, || evaluate(&names));
    println!("Nix evaluates all: cold {cold:.1?}; warm min {warm:.1?}, median {median:.1?}");
    let [warm, median] = times(5, || evaluate(&own));
    let count = own.len();
    println!(
        "the {count} of one system, as a build does: warm min {warm:.1?}, median {median:.1?}"
    );
}

/// The shortest and the middle time of many runs.
fn times(rounds: usize, run: impl Fn()) -> [Duration; 2] {
    let time = |_| {
        let start = Instant::now();
        run();
        start.elapsed()
    };
    let mut times: Vec<Duration> = (0..rounds).map(time).collect();
    times.sort();
    [times[0], times[rounds / 2]]
}
