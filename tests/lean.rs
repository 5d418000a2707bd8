//! Units that are compiled with lean headers of torch, built for real: their objects have the
//! functions and the device code of full compilations. tests/fixtures/lean/compare.py says what is
//! compared.

mod common;

use std::path::Path;
use std::process::Command;

use common::folder::{Folder, REPOSITORY, example, fixture};
use common::program::{SANDBOXED, kernel_builder, on_disk, printed, words};

const CPU: &str = "torch211-cxx11-cpu-x86_64-linux";
const NVCC: &str = "torch211-cxx11-cu130-x86_64-linux";
/// The oldest and the newest torch; clang compiles the device code of the first.
const OTHERS: [&str; 4] = [
    "torch27-cxx11-cpu-x86_64-linux",
    "torch27-cxx11-cu126-x86_64-linux",
    "torch215-cxx11-cpu-x86_64-linux",
    "torch215-cxx11-cu132-x86_64-linux",
];
/// Units of the fixture that are compiled for every change.
const SAMPLE: [&str; 4] = [
    "accessors.cpp",
    "adl.cpp",
    "overload_free.cpp",
    "reductions.cpp",
];
const DEVICE_SAMPLE: &str = "streams.cu";

/// One unit, compiled with all of torch's headers and with lean ones.
struct Pair {
    name: String,
    full: String,
    lean: String,
}

#[test]
#[ignore = "builds with Nix: run by `make test`"]
fn some_lean_units_have_the_code_of_full_ones() {
    check(&fixture("lean"), CPU, |unit| SAMPLE.contains(&unit));
    check(&fixture("lean"), NVCC, |unit| unit == DEVICE_SAMPLE);
}

#[test]
#[ignore = "compiles some 60 units twice: run by `make full-test`"]
fn every_lean_unit_has_the_code_of_a_full_one() {
    for variant in [CPU, NVCC] {
        check(&fixture("lean"), variant, |_| true);
    }
}

#[test]
#[ignore = "compiles some 60 units four times: run by `make full-test`"]
fn lean_units_of_the_oldest_and_the_newest_torch_have_the_code_of_full_ones() {
    for variant in OTHERS {
        check(&fixture("lean"), variant, |_| true);
    }
}

#[test]
#[ignore = "compiles kernels twice: run by `make full-test`"]
fn lean_units_of_kernels_have_the_code_of_full_ones() {
    for kernel in [example("relu"), fixture("openmp")] {
        for variant in [CPU, NVCC] {
            check(&kernel, variant, |_| true);
        }
    }
    for kernel in [example("img2gray"), fixture("tutorials/img2gray")] {
        check(&kernel, NVCC, |_| true);
    }
    check(&fixture("heavy"), CPU, |_| true);
    // The units with CUTLASS include nothing of torch.
    check(&fixture("cutlass"), NVCC, |unit| unit.ends_with(".cpp"));
}

/// Which units get all headers is chosen before anything is compiled.
#[test]
#[ignore = "builds with Nix: run by `make test`"]
fn every_unit_gets_the_headers_that_its_first_line_says() {
    let lean = pairs(&fixture("lean"), CPU).remove(0).lean;
    let needed = printed(Command::new("nix-store").args(["--query", "--requisites", &lean]));
    let mut needed = needed.lines();
    let headers = needed.find(|path| path.ends_with("-lean-headers.drv"));
    let headers = realise(&[&headers.expect("lean headers").to_owned()]).remove(0);
    let scratch = Folder::new();
    let sources = common::folder::fixture_path("lean").join("csrc");
    let is_of = |text: &str, file: &Path| {
        let name = file.file_name().and_then(|name| name.to_str());
        text.contains(&format!("\"{}\"", name.expect("a name")))
    };
    let files: Vec<_> = std::fs::read_dir(&sources)
        .expect("a folder")
        .map(|file| file.expect("a file").path())
        .collect();
    let mut count = 0;
    for unit in &files {
        let Some(expected) = expected(unit) else {
            continue;
        };
        let text = std::fs::read_to_string(unit).expect("a source");
        let chosen = printed(
            Command::new("awk")
                .args(["-v", &format!("out={}", scratch.path().display())])
                .arg("-f")
                .arg(Path::new(REPOSITORY).join("templates/lean-headers/select.awk"))
                .arg(headers.join("index"))
                .arg(unit)
                .args(files.iter().filter(|file| is_of(&text, file))),
        );
        assert_eq!(
            chosen.split_whitespace().next(),
            Some(expected.replace("fallback", "lean").as_str()),
            "{}: {chosen}",
            unit.display()
        );
        count += 1;
    }
    assert!(count > 60, "{count}");
}

/// The comparison finds each kind of change that its own list has.
#[test]
#[ignore = "runs a compiler: run by `make test`"]
fn the_comparison_finds_changes() {
    let pairs = pairs(&fixture("lean"), NVCC);
    let pair = pairs.iter().find(|pair| pair.name == DEVICE_SAMPLE);
    let object = &realise(&[&pair.expect("the unit").lean])[0];
    let words = printed(compare().arg("--self-test").arg(object));
    assert_eq!(words.trim(), "every change is found");
}

/// Compares the chosen units of a kernel. A unit of the fixture says in its first line what becomes
/// of it.
fn check(kernel: &Folder, variant: &str, is_chosen: impl Fn(&str) -> bool) {
    let mut pairs = pairs(kernel, variant);
    pairs.retain(|pair| is_chosen(&pair.name));
    assert!(!pairs.is_empty(), "{variant}");
    let derivations: Vec<&String> = pairs
        .iter()
        .flat_map(|pair| [&pair.full, &pair.lean])
        .collect();
    let objects = realise(&derivations);
    let mut failures = String::new();
    for (pair, objects) in pairs.iter().zip(objects.chunks(2)) {
        let output = compare().args(objects).output().expect("start Python");
        let report = String::from_utf8_lossy(&output.stdout);
        println!(
            "{variant} {}: {}",
            pair.name,
            report.lines().last().unwrap_or_default()
        );
        if !output.status.success() {
            failures += &format!("{variant} {}:\n{report}{}", pair.name, words(&output));
        }
        let unit = kernel.path().join("csrc").join(&pair.name);
        let Some(expected) = expected(&unit) else {
            continue;
        };
        let outcome = outcome(&pair.lean);
        if outcome.0 != expected {
            failures += &format!("{variant} {}: {outcome:?}, and not {expected}\n", pair.name);
        }
    }
    assert!(failures.is_empty(), "{failures}");
}

/// The word before the colon of a unit's first line.
fn expected(unit: &Path) -> Option<String> {
    let text = std::fs::read_to_string(unit).ok()?;
    let (outcome, _) = text.strip_prefix("// ")?.split_once(':')?;
    ["lean", "full", "fallback"]
        .contains(&outcome)
        .then(|| outcome.to_owned())
}

/// The outcome of a lean compilation, by its log, and the reason.
fn outcome(derivation: &str) -> (&'static str, String) {
    let log = printed(Command::new("nix-store").args(["--read-log", derivation]));
    let Some((_, reason)) = log.split_once("is compiled with torch's own headers: ") else {
        return ("lean", String::new());
    };
    let reason = reason.lines().next().unwrap_or_default();
    let is_named = reason.starts_with("it names ") || reason.starts_with("it includes ");
    (
        if is_named { "full" } else { "fallback" },
        reason.to_owned(),
    )
}

/// The units of a kernel, in the order of their names.
fn pairs(kernel: &Folder, variant: &str) -> Vec<Pair> {
    let [full, lean] = [false, true].map(|is_lean| objects(kernel, variant, is_lean));
    assert_eq!(full.len(), lean.len());
    let mut pairs: Vec<Pair> = Vec::new();
    for ((name, full), (lean_name, lean)) in full.into_iter().zip(lean) {
        assert_eq!(name, lean_name);
        // The store name of an object begins with the kernel's name and the unit's folder.
        let name = name
            .rsplit_once("csrc-")
            .map_or(name.as_str(), |(_, unit)| unit);
        let name = name.trim_end_matches(".o").to_owned();
        pairs.push(Pair { name, full, lean });
    }
    pairs.sort_by(|a, b| a.name.cmp(&b.name));
    pairs
}

/// The names and derivations of a kernel's objects. NB: host code is not optimized, and any memory
/// access may throw. It then depends on nothing but the function's own meaning: what gcc inlines
/// depends on all classes of the unit, and whether it knows that a function cannot throw depends on
/// the functions before. Functions that would be inlined are compared, too.
fn objects(kernel: &Folder, variant: &str, is_lean: bool) -> Vec<(String, String)> {
    let copy = Folder::new();
    common::folder::copy(kernel.path(), copy.path());
    // Manifests of tutorials are of formats that do not know `lean-headers`.
    printed(kernel_builder("update-build").arg(copy.path()));
    let mut manifest: toml_edit::DocumentMut = copy.read("build.toml").parse().expect("TOML");
    let change = |section: &mut toml_edit::Item, is_cuda: bool| {
        let section = section.as_table_mut().expect("a section");
        section.insert("lean-headers", toml_edit::value(is_lean));
        let mut add = |key: &str, flags: &[&str]| {
            let empty = toml_edit::value(toml_edit::Array::new());
            let known = section.entry(key).or_insert(empty);
            known
                .as_array_mut()
                .expect("flags")
                .extend(flags.iter().copied());
        };
        add("cxx-flags", &["-O0", "-fnon-call-exceptions"]);
        if is_cuda {
            // The last -O counts for nvcc, which puts it after the flags of -Xcompiler.
            add(
                "cuda-flags",
                &["-O0", "-Xcompiler", "-fnon-call-exceptions"],
            );
        }
    };
    change(&mut manifest["torch"], false);
    for (_, section) in manifest["kernel"]
        .as_table_mut()
        .expect("sections")
        .iter_mut()
    {
        let is_cuda = section["backend"].as_str() == Some("cuda");
        change(section, is_cuda);
    }
    copy.write("build.toml", manifest.to_string());
    let variants = ["--variant", variant];
    printed(kernel_builder("fetch").arg(copy.path()).args(variants));
    printed(kernel_builder("generate").arg(copy.path()));
    let expression = format!(
        "map (object: [ object.name object.drvPath ])
           (builtins.head (builtins.filter (variant: variant.variant == \"{variant}\")
             (import {} {{ kernelBuilder = import {REPOSITORY}/lib; }}).variants)).objects",
        copy.path().join("build.nix").display(),
    );
    let json = printed(
        Command::new("nix-instantiate")
            .args(["--eval", "--strict", "--json", "--read-write-mode"])
            .args(["--expr", &expression]),
    );
    serde_json::from_str(&json).expect("JSON")
}

/// Builds derivations and gives where their outputs lie, in their order.
fn realise(derivations: &[&String]) -> Vec<std::path::PathBuf> {
    let mut nix = Command::new("nix-store");
    nix.args(["--realise", "--keep-going", "--max-jobs", "auto"]);
    nix.args(derivations).args(SANDBOXED);
    printed(&mut nix).lines().map(on_disk).collect()
}

fn compare() -> Command {
    let mut python = Command::new("python3");
    python.arg(common::folder::fixture_path("lean").join("compare.py"));
    python
}
