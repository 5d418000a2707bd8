//! `report`: the data of the page, its HTML as a parser reads it, and where the file goes.

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::{Command, Output};

use camino::Utf8Path;
use common::clone::Clone;
use common::folder::REPOSITORY;
use common::kernel::Sample;
use common::program::{kernel_builder, words};
use kernel_builder::kernel::Kernel;
use kernel_builder::matrix::{Matrix, matrix, table};
use kernel_builder::plan::{Plan, plan};
use kernel_builder::report::{ReportFacts, ReportPage};
use kernel_builder::steps::history::{
    BuildHistory, LastResult, StepOutcome, TimedBuild, TimedStep, ToolchainCost, VariantOutcome,
};
use serde_json::Value;

const STARTED: &str = "2026-11-22T21:05:07Z";

/// A kernel of one torch release, for the CPU and CUDA.
fn sample() -> Sample {
    let build_toml = r#"[general]
name = "sample"
edition = 5
version = 1
license = "MIT"
backends = ["cpu", "cuda"]

[torch]
minver = "2.11"
maxver = "2.11"
src = ["torch-ext/binding.cpp"]

[kernel.host]
backend = "cpu"
depends = []
src = ["csrc/host.cpp"]

[kernel.gpu]
backend = "cuda"
cuda-capabilities = ["8.0", "9.0"]
depends = []
src = ["csrc/gpu.cu"]
"#;
    Sample::new(build_toml, &[("csrc/host.cpp", ""), ("csrc/gpu.cu", "")])
}

/// A kernel with all that its report is made of.
struct Facts {
    kernel: Kernel,
    matrix: Matrix,
    plan: Plan,
    history: BuildHistory,
    recorded: BTreeSet<String>,
}

impl Facts {
    fn new(kernel: Kernel) -> Self {
        let matrix = matrix(&kernel, table());
        let plan = plan(&kernel, &matrix, table()).expect("a plan");
        Self {
            matrix,
            plan,
            kernel,
            history: BuildHistory::default(),
            recorded: BTreeSet::new(),
        }
    }

    fn page(&self) -> ReportPage {
        let facts = ReportFacts {
            kernel: &self.kernel,
            matrix: &self.matrix,
            plan: Some(&self.plan),
            history: &self.history,
            recorded: &self.recorded,
        };
        ReportPage::new(&facts).expect("a page")
    }

    fn html(&self) -> String {
        self.page().html().expect("HTML")
    }

    /// Adds a variant to the last build.
    fn add(&mut self, variant: &str, outcome: VariantOutcome, steps: Vec<TimedStep>) {
        let last = self.history.last.get_or_insert_with(|| TimedBuild {
            started: STARTED.to_owned(),
            manifest: self.kernel.build_toml_sha256.clone(),
            system: "x86_64-linux".to_owned(),
            jobs: 2,
            cores: 1,
            seconds: 60.0,
            cached: 7,
            ..TimedBuild::default()
        });
        last.variants.insert(variant.to_owned());
        last.steps.extend(steps);
        let is_there = outcome != VariantOutcome::Failed;
        let result = LastResult {
            outcome,
            started: STARTED.to_owned(),
            seconds: 12.3,
            bytes: if is_there { 62_800 } else { 0 },
            build_id: is_there.then(|| "_sample_cpu_0123abc".to_owned()),
        };
        self.history.variants.insert(variant.to_owned(), result);
    }
}

fn step(variant: &str, kind: &str, title: &str, start: f64, seconds: f64) -> TimedStep {
    TimedStep {
        title: title.to_owned(),
        kind: kind.to_owned(),
        variants: BTreeSet::from([variant.to_owned()]),
        start,
        seconds,
        peak: (kind == "unit").then_some(640_000_000),
        ..TimedStep::default()
    }
}

const CPU: &str = "torch211-cxx11-cpu-x86_64-linux";
const CUDA: &str = "torch211-cxx11-cu130-x86_64-linux";

/// A kernel whose last build made one variant and failed to make another.
fn half_built() -> Facts {
    let sample = sample();
    let mut facts = Facts::new(sample.kernel());
    let unit = format!("csrc/host.cpp ({CPU})");
    let mut compiled = step(CPU, "unit", &unit, 5.0, 20.0);
    compiled.critical = true;
    let packaged = step(CPU, "package", CPU, 25.0, 0.5);
    facts.add(CPU, VariantOutcome::Built, vec![compiled, packaged]);
    let mut failed = step(CUDA, "unit", &format!("csrc/gpu.cu ({CUDA})"), 6.0, 9.0);
    failed.outcome = StepOutcome::Failed;
    failed.last_lines = [
        "In file included",
        "\u{1b}[01mgpu.cu:1: \u{1b}[31merror\u{1b}[0m: no such thing\u{7}",
        "1 error",
    ]
    .map(str::to_owned)
    .to_vec();
    let mut second = failed.clone();
    second.title = "csrc/gpu.cu sm_90".to_owned();
    facts.add(CUDA, VariantOutcome::Failed, vec![failed, second]);
    let cost = ToolchainCost {
        seconds: Some(3.5),
        bytes: 250_000_000,
    };
    let costs = [("gcc-12-sysroot", cost), ("torch-stubs", cost)];
    let costs = costs.map(|(name, cost)| (name.to_owned(), cost));
    facts.history.toolchains = BTreeMap::from(costs);
    facts
}

/// The findings of Python's parser in a page (tests/report/page.py).
fn parsed(html: &str) -> Value {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let file = dir.path().join("report.html");
    std::fs::write(&file, html).expect("written");
    let output = Command::new("python3")
        .arg(Path::new(REPOSITORY).join("tests/report/page.py"))
        .arg(file)
        .output()
        .expect("start python3");
    assert!(output.status.success(), "{}", words(&output));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

fn texts(list: &Value) -> Vec<&str> {
    let texts = list.as_array().expect("a list").iter();
    texts.map(|text| text.as_str().expect("a text")).collect()
}

/// Checks that a page is sound for a parser, and that it names no other file.
fn assert_sound(page: &Value) {
    assert_eq!(texts(&page["errors"]), [""; 0]);
    let ids: BTreeSet<&str> = texts(&page["ids"]).into_iter().collect();
    assert_eq!(ids.len(), texts(&page["ids"]).len(), "ids are unique");
    for target in texts(&page["targets"]) {
        assert!(ids.contains(target), "no element has the id {target}");
    }
    assert_eq!(texts(&page["links"]), [""; 0], "the page names other files");
    let tags = texts(&page["tags"]);
    for tag in ["script", "link", "img", "iframe", "object", "base"] {
        assert!(!tags.contains(&tag), "the page has <{tag}>");
    }
}

/// Toolchains, flags and the rest of the matrix are left out: they follow pins and the release
/// table.
#[test]
fn the_data_of_a_build_and_of_its_variants() {
    let page = serde_json::to_value(half_built().page()).expect("JSON");
    let details = page["details"].as_array().expect("details").iter();
    let asked = details.filter(|variant| variant["steps"] != serde_json::json!([]));
    let asked: Vec<_> = asked.collect();
    let data = serde_json::json!({ "build": page["build"], "variants": asked });
    insta::assert_snapshot!(format!("{data:#}"));
}

#[test]
fn a_page_is_sound_and_the_same_each_time() {
    let facts = half_built();
    let html = facts.html();
    assert_eq!(html, facts.html());
    let page = parsed(&html);
    assert_sound(&page);
    let text = page["text"].as_str().expect("text");
    for words in [
        "gpu.cu:1: error: no such thing",
        "1 failed",
        "1 built",
        "torch.minver",
        "gcc-12",
        "critical path",
    ] {
        assert!(text.contains(words), "{words}");
    }
    // Compilers print in colours, and parts of a unit fail with the same words.
    assert!(!text.chars().any(|c| c.is_control() && c != '\n'), "{text}");
    assert_eq!(text.matches("Last lines").count(), 1, "{text}");
    assert!(!text.contains("has changed since"));
    let mut changed = half_built();
    changed.kernel.build_toml_sha256 = "other".to_owned();
    assert!(changed.html().contains("build.toml has changed since."));
}

/// A page is HTML made of a user's and of compilers' words.
#[test]
fn hostile_words_stay_text() {
    const WORDS: &str = r#"</title><script>alert("1")</script> & 'x' {{ 7 * 7 }}"#;
    let mut facts = half_built();
    let last = facts.history.last.as_mut().expect("a build");
    for step in &mut last.steps {
        step.title = WORDS.to_owned();
        step.machine = Some(WORDS.to_owned());
        step.last_lines = vec![WORDS.to_owned()];
        step.seconds = 30.0;
    }
    last.copied.insert(WORDS.to_owned(), 1);
    facts.plan.variants[0].components[0].units[0]
        .flags
        .push(WORDS.to_owned());
    let results = facts.history.variants.values_mut();
    for result in results.filter(|result| result.build_id.is_some()) {
        result.build_id = Some(WORDS.to_owned());
    }
    let html = facts.html();
    let page = parsed(&html);
    assert_sound(&page);
    let text = page["text"].as_str().expect("text");
    assert!(text.matches(WORDS).count() > 8, "{text}");
    assert!(!html.contains("<script"));
}

#[test]
fn a_kernel_that_was_never_built_shows_its_matrix() {
    let mut facts = Facts::new(sample().kernel());
    let page = parsed(&facts.html());
    assert_sound(&page);
    let text = page["text"].as_str().expect("text").to_owned();
    assert!(text.contains("No build is recorded"), "{text}");
    assert!(text.contains(&format!("{CPU}: not built")), "{text}");
    facts.recorded.insert(CPU.to_owned());
    let page = parsed(&facts.html());
    let text = page["text"].as_str().expect("text");
    assert!(text.contains("an earlier kernel-builder"), "{text}");
    assert!(text.contains(&format!("{CPU}: built earlier")), "{text}");
}

/// A page of the largest example is sent by mail and kept for each release.
#[test]
fn every_variant_of_relu_fits_into_300_kb() {
    let path = Utf8Path::new(REPOSITORY).join("examples/relu");
    let loaded = Kernel::load(&path, &table().toolkits).expect("an example");
    let mut facts = Facts::new(loaded.kernel);
    let names: Vec<String> = facts
        .matrix
        .variants
        .iter()
        .map(|variant| variant.name.clone())
        .collect();
    assert!(names.len() > 70, "{}", names.len());
    for (number, name) in names.iter().enumerate() {
        let start = number as f64 * 10.0;
        let unit = |at: usize| {
            let title = format!("csrc/relu_cuda.cu sm_{at}0 ({name})");
            step(name, "unit", &title, start + at as f64, 9.0)
        };
        let mut steps: Vec<TimedStep> = (0..6).map(unit).collect();
        let library = format!("{name} library");
        steps.push(step(name, "library", &library, start + 9.0, 1.0));
        steps.push(step(name, "package", name, start + 10.0, 0.2));
        facts.add(name, VariantOutcome::Built, steps);
    }
    let html = facts.html();
    assert!(html.len() < 300_000, "{} bytes", html.len());
    assert_sound(&parsed(&html));
}

/// The colours of the page by name: those of the light page, then those of the dark one.
fn colours() -> [BTreeMap<String, String>; 2] {
    let css = std::fs::read_to_string(Path::new(REPOSITORY).join("templates/report/report.css"));
    let css = css.expect("a style");
    let (light, rest) = css
        .split_once("@media (prefers-color-scheme: dark)")
        .expect("two parts");
    let (dark, _) = rest.split_once("\n}\n").expect("an end");
    let colour = regex_lite::Regex::new("--([a-z-]+): #([0-9a-f]+);").expect("an expression");
    let read = |text: &str| -> BTreeMap<String, String> {
        let found = colour.captures_iter(text);
        found
            .map(|one| (one[1].to_owned(), one[2].to_owned()))
            .collect()
    };
    let (light, dark) = (read(light), read(dark));
    assert!(
        light.len() > 25 && light.keys().eq(dark.keys()),
        "{light:?} {dark:?}"
    );
    [light, dark]
}

/// The contrast of two colours, as WCAG 2 defines it.
fn contrast(first: &str, second: &str) -> f64 {
    let luminance = |colour: &str| {
        let width = colour.len() / 3;
        let parts = [0.2126, 0.7152, 0.0722].iter().enumerate();
        let part = |(at, weight): (usize, &f64)| {
            let digits = colour[at * width..][..width].repeat(3 - width);
            let value = f64::from(u8::from_str_radix(&digits, 16).expect("a colour")) / 255.0;
            let linear = match value {
                ..=0.03928 => value / 12.92,
                _ => ((value + 0.055) / 1.055).powf(2.4),
            };
            weight * linear
        };
        parts.map(part).sum::<f64>()
    };
    let (first, second) = (luminance(first), luminance(second));
    (first.max(second) + 0.05) / (first.min(second) + 0.05)
}

/// WCAG AA asks for 4.5 between text and its background, and for 3 beside shapes and frames.
#[test]
fn colours_have_enough_contrast() {
    assert!((contrast("fff", "000000") - 21.0).abs() < 0.01);
    let kinds = ["toolchain", "unit", "join", "library", "package"];
    for colours in colours() {
        let check = |first: &str, second: &str, least: f64| {
            let found = contrast(&colours[first], &colours[second]);
            assert!(found >= least, "{first} on {second}: {found:.2}");
        };
        for words in ["text", "muted", "link"] {
            check(words, "bg", 4.5);
            check(words, "panel", 4.5);
        }
        for state in ["built", "cached", "earlier", "failed"] {
            check(&format!("{state}-text"), state, 4.5);
        }
        for frame in [
            "built-line",
            "cached-line",
            "earlier-line",
            "none-line",
            "failed",
        ] {
            check(frame, "bg", 3.0);
        }
        for kind in kinds {
            check("text", kind, 4.5);
            check("on-dark", &format!("{kind}-dark"), 4.5);
            check(&format!("{kind}-line"), "bg", 3.0);
            check(&format!("{kind}-dark"), kind, 3.0);
        }
    }
}

/// Runs `report` on a kernel with a cache of its own.
fn report(sample: &Sample, cache: &Path, arguments: &[&str]) -> Output {
    kernel_builder("report")
        .args(arguments)
        .current_dir(sample.path())
        .env("KERNEL_BUILDER_CACHE", cache)
        .output()
        .expect("start the program")
}

#[test]
fn the_file_is_where_it_says_and_replaces_only_reports() {
    let (sample, cache) = (sample(), tempfile::tempdir().expect("a temporary folder"));
    let report = |arguments: &[&str]| report(&sample, cache.path(), arguments);
    let output = report(&[]);
    assert!(output.status.success(), "{}", words(&output));
    let printed = String::from_utf8(output.stdout).expect("UTF-8");
    assert!(printed.contains("/reports/sample-"), "{printed}");
    let first = std::fs::read(printed.trim()).expect("a report");
    assert!(!sample.path().join("build").exists());

    let own = sample.path().join("own.html");
    assert_eq!(report(&["--output", "own.html"]).stdout, b"own.html\n");
    assert_eq!(std::fs::read(&own).expect("a report"), first);
    // A report of another state is replaced; the file of another command or program is not.
    let other = String::from_utf8(first).expect("UTF-8") + "<!-- older -->\n";
    std::fs::write(&own, other).expect("written");
    assert!(report(&["--output", "own.html"]).status.success());
    for content in [
        "<!DOCTYPE html>\n",
        "# @generated by `kernel-builder generate`\n",
        "",
    ] {
        std::fs::write(&own, content).expect("written");
        let output = report(&["--output", "own.html"]);
        assert_eq!(output.status.code(), Some(1), "{}", words(&output));
        assert!(
            words(&output).contains("emit::foreign"),
            "{}",
            words(&output)
        );
        assert_eq!(std::fs::read_to_string(&own).expect("read"), content);
    }
}

#[test]
fn a_browser_that_cannot_be_started_is_an_error() {
    let (sample, cache) = (sample(), tempfile::tempdir().expect("a temporary folder"));
    let empty = tempfile::tempdir().expect("a temporary folder");
    let output = kernel_builder("report")
        .args(["--open", "--output", "own.html"])
        .current_dir(sample.path())
        .env("KERNEL_BUILDER_CACHE", cache.path())
        .env("PATH", empty.path())
        .output()
        .expect("start the program");
    assert_eq!(output.status.code(), Some(3), "{}", words(&output));
    assert!(words(&output).contains("open the file in a browser"));
    assert!(sample.path().join("own.html").exists());
}

/// A history that another program wrote, or half of one, is no reason to fail or to be silent.
#[test]
fn a_history_that_cannot_be_read_is_said_to_be_absent() {
    let (sample, cache) = (sample(), tempfile::tempdir().expect("a temporary folder"));
    let root = sample.path().canonicalize().expect("a folder");
    let root = Utf8Path::from_path(&root).expect("UTF-8");
    let cache_path = Utf8Path::from_path(cache.path()).expect("UTF-8");
    let mut history = BuildHistory::default();
    history.save(cache_path, root).expect("written");
    assert_eq!(words(&report(&sample, cache.path(), &[])), "");
    let records = std::fs::read_dir(cache.path().join("records")).expect("a folder");
    for file in records {
        std::fs::write(file.expect("a file").path(), "{").expect("written");
    }
    let output = report(&sample, cache.path(), &[]);
    assert!(output.status.success());
    let said = words(&output);
    assert!(said.contains("history of builds cannot be read"), "{said}");
}

#[test]
#[ignore = "builds with Nix: run by `make test`"]
fn a_build_and_its_failure_are_in_the_report() {
    let clone = Clone::new();
    let cache = tempfile::tempdir().expect("a temporary folder");
    let run = |command: &str, arguments: &[&str]| {
        let mut program = kernel_builder(command);
        let program = program.arg(clone.relu()).args(arguments);
        let output = program.env("KERNEL_BUILDER_CACHE", cache.path()).output();
        output.expect("start the program")
    };
    let page = || {
        let output = run("report", &[]);
        assert!(output.status.success(), "{}", words(&output));
        let path = String::from_utf8(output.stdout).expect("UTF-8");
        let page = parsed(&std::fs::read_to_string(path.trim()).expect("a report"));
        assert_sound(&page);
        page["text"].as_str().expect("text").to_owned()
    };
    // NB: a step that failed is never in the store, so the failing build always runs one.
    let source = clone.relu().join("csrc/relu_cpu.cpp");
    let before = std::fs::read_to_string(&source).expect("a source");
    clone.append(
        "csrc/relu_cpu.cpp",
        "\nint broken = a_name_that_no_one_declares;\n",
    );
    assert_eq!(run("build", &["--variant", CPU]).status.code(), Some(1));
    let text = page();
    assert!(text.contains("1 failed"), "{text}");
    assert!(text.contains("a_name_that_no_one_declares"), "{text}");
    assert!(text.contains("csrc/relu_cpu.cpp"), "{text}");

    std::fs::write(&source, before).expect("written");
    let output = run("build", &["--variant", CPU]);
    assert!(output.status.success(), "{}", words(&output));
    let text = page();
    assert!(text.contains("_relu_cpu_"), "{text}");
    assert!(!text.contains(&format!("{CPU}: failed")), "{text}");
}
