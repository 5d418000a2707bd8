//! `plan` and `graph` on a real kernel and a real store: the steps that they list, and the reasons.

mod common;

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use common::clone::Clone;
use common::folder::new_word;
use common::program::{kernel_builder, run};
use kernel_builder::nix::Nix;
use serde_json::Value;

const CPU: &str = "torch211-cxx11-cpu-x86_64-linux";

/// A kernel that was built once, and a cache that knows it.
struct Built {
    clone: Clone,
    cache: tempfile::TempDir,
}

impl Built {
    fn new() -> Self {
        let built = Self {
            clone: Clone::new(),
            cache: tempfile::tempdir().expect("a temporary folder"),
        };
        built.run("build", &[]);
        built
    }

    fn run(&self, command: &str, arguments: &[&str]) -> String {
        // The test's own: what others built does not count.
        let output = run(Command::new(env!("CARGO_BIN_EXE_kernel-builder"))
            .arg(command)
            .arg(self.clone.relu())
            .args(["--variant", CPU])
            .args(arguments)
            .env("KERNEL_BUILDER_CACHE", self.cache.path()));
        String::from_utf8(output.stdout).expect("UTF-8")
    }

    fn plan(&self) -> Value {
        serde_json::from_str(&self.run("plan", &["--json"])).expect("JSON")
    }

    /// The steps to build, as `name: reason`.
    fn reasons(&self) -> Vec<String> {
        let plan = self.plan();
        let steps = plan["steps"].as_array().expect("steps");
        let lines = steps.iter().flat_map(|step| {
            let reasons = step["reasons"].as_array().expect("reasons");
            let name = step["name"].as_str().expect("a name");
            let line = move |reason: &Value| format!("{name}: {}", reason.as_str().expect("words"));
            reasons.iter().map(line)
        });
        lines.collect()
    }
}

#[test]
#[ignore = "builds with Nix: run by `make test`"]
fn every_change_has_its_reason_and_nothing_is_built() {
    let built = Built::new();
    let plan = built.plan();
    assert_eq!(built.reasons(), [""; 0]);
    assert_eq!(plan["variants"][0]["state"], "cached");
    assert_eq!(plan["total"]["build"], 0);
    assert_eq!(plan["fetch"]["files"].as_array().map(Vec::len), Some(0));
    assert!(built.run("plan", &[]).contains("nothing to build"));

    let library = format!("{CPU} library");
    let words = new_word();
    built
        .clone
        .append("torch-ext/relu/__init__.py", &format!("\n# {words}\n"));
    let python = "torch-ext/relu/__init__.py changed";
    let package = [
        format!("{CPU}: {python}"),
        format!("{CPU}: library changed"),
    ];
    assert_eq!(built.reasons(), package[..1]);

    built
        .clone
        .append("csrc/relu_cpu.cpp", &format!("\n// {words}\n"));
    let source = "csrc/relu_cpu.cpp";
    let all = [
        &[
            format!("{source}: {source} changed"),
            format!("{library}: object changed: {source}"),
        ][..],
        &package,
    ]
    .concat();
    assert_eq!(built.reasons(), all);
    // `plan` changes neither the store nor the folder.
    assert_eq!(built.reasons(), all);
    let build_nix = built.clone.relu().join("build.nix");
    let before = std::fs::read(&build_nix).expect("build.nix");

    built
        .clone
        .append("torch-ext/torch_binding.h", &format!("\n// {words}\n"));
    let path = built.clone.relu().join("build.toml");
    let text = std::fs::read_to_string(&path).expect("build.toml");
    let flags = "backend = \"cpu\"\ncxx-flags = [\"-O2\"]";
    let text = text.replacen("backend = \"cpu\"", flags, 1);
    std::fs::write(&path, text).expect("write");
    let reasons: BTreeSet<String> = built.reasons().into_iter().collect();
    for reason in [
        format!("{source}: header torch-ext/torch_binding.h changed"),
        format!("{source}: flags changed: +-O2"),
        format!("{source}: {source} changed"),
    ] {
        assert!(reasons.contains(&reason), "{reason} in {reasons:#?}");
    }
    assert_eq!(std::fs::read(&build_nix).expect("build.nix"), before);

    // Times of this kernel's steps are known once they were built.
    let plan = built.plan();
    let steps = plan["steps"].as_array().expect("steps");
    let path = plan["critical_path"]["steps"].as_array().expect("a path");
    let units = steps.iter().filter(|step| step["kind"] == "unit");
    assert!(units.clone().all(|step| step["seconds"].is_number()));
    assert!(path.last() == Some(&plan["steps"][steps.len() - 1]["derivation"]));
}

#[test]
#[ignore = "evaluates with Nix: run by `make test`"]
fn an_empty_store_lacks_everything() {
    let clone = Clone::new();
    let store = tempfile::tempdir().expect("a temporary folder");
    let output = run(kernel_builder("plan")
        .arg(clone.relu())
        .args(["--json", "--variant", CPU])
        .env("NIX_REMOTE", store.path())
        .env("KERNEL_BUILDER_CACHE", store.path().join("cache")));
    let plan: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(plan["total"]["cached"], 0);
    assert!(plan["fetch"]["download"].as_u64() > Some(1_000_000));
    let steps = plan["steps"].as_array().expect("steps");
    for step in steps {
        let reason = match step["kind"].as_str() {
            Some("toolchain") => "not in the store",
            _ => "never built here",
        };
        assert_eq!(step["reasons"], serde_json::json!([reason]), "{step:#}");
    }
    // Nix makes its store read-only, which stops the folder from being removed.
    run(Command::new("chmod").args(["-R", "u+w"]).arg(store.path()));
}

/// Adds a section of sources to a kernel's build.toml.
fn add_section(kernel: &Path, name: &str, sources: impl Iterator<Item = String>) {
    let path = kernel.join("build.toml");
    let text = std::fs::read_to_string(&path).expect("build.toml");
    let sources: Vec<String> = sources.collect();
    let section = format!("[kernel.{name}]\nbackend = \"cpu\"\ndepends = []\nsrc = {sources:?}\n");
    std::fs::write(&path, format!("{text}\n{section}")).expect("write");
}

/// So many objects are one input of each library that they are linked into, and linked all the
/// same.
#[test]
#[ignore = "builds with Nix: run by `make test`"]
fn many_objects_are_one_input_of_their_library() {
    const MANY: usize = 51;
    let clone = Clone::new();
    let source = |number| format!("csrc/many_{number}.c");
    for number in 0..MANY {
        let text = format!("int many_{number}(void) {{ return {number}; }}\n");
        std::fs::write(clone.relu().join(source(number)), text).expect("write");
    }
    add_section(&clone.relu(), "many", (0..MANY).map(source));
    let command = |name: &str, more: &[&str]| {
        let output = run(Command::new(env!("CARGO_BIN_EXE_kernel-builder"))
            .arg(name)
            .arg(clone.relu())
            .args(["--variant", CPU])
            .args(more));
        String::from_utf8(output.stdout).expect("UTF-8")
    };
    command("build", &[]);
    let built = std::fs::read_dir(clone.relu().join("build").join(CPU)).expect("a variant");
    let mut files = built.map(|file| file.expect("a file").path());
    let library = files.find(|file| file.extension().is_some_and(|last| last == "so"));
    let library = std::fs::read(library.expect("a library")).expect("a library");
    let has = |name: &[u8]| library.windows(name.len()).any(|part| part == name);
    assert!((0..MANY).all(|number| has(format!("\0many_{number}\0").as_bytes())));

    let graph: Value = serde_json::from_str(&command("graph", &["--json"])).expect("JSON");
    let steps = graph["steps"].as_array().expect("steps");
    let needs = |kind: &str| {
        let mut own = steps.iter().filter(|step| step["kind"] == kind);
        let needs = own.next().expect("a step")["needs"].as_array();
        let is = |step: &Value, needed: &Value| step["derivation"] == *needed;
        let needs = needs.expect("needs").iter();
        let found = needs.map(|needed| steps.iter().find(|step| is(step, needed)));
        found
            .map(|step| &step.expect("a step")["kind"])
            .collect::<Vec<_>>()
    };
    let count = |kinds: &[&Value], kind: &str| kinds.iter().filter(|own| **own == kind).count();
    assert_eq!(count(&needs("objects"), "unit"), MANY);
    let library = needs("library");
    // The binding and relu_cpu.cpp.
    assert_eq!(
        [count(&library, "objects"), count(&library, "unit")],
        [1, 2]
    );
}

/// One Nix builds several short units; that some of them fail is no matter for the others.
#[test]
#[ignore = "builds with Nix: run by `make test`"]
fn short_units_are_built_together_and_fail_apart() {
    const SHORT: usize = 6;
    let built = Built {
        clone: Clone::new(),
        cache: tempfile::tempdir().expect("a temporary folder"),
    };
    let relu = built.clone.relu();
    let salt = tempfile::tempdir().expect("a name that no run before had");
    let write = |number: usize, more: &str| {
        let text = format!("// {:?}\nint short_{number};\n{more}\n", salt.path());
        let file = relu.join(format!("csrc/short_{number}.c"));
        std::fs::write(file, text).expect("write");
    };
    (0..SHORT).for_each(|number| write(number, ""));
    let sources = (0..SHORT).map(|number| format!("csrc/short_{number}.c"));
    add_section(&relu, "short", sources);
    // How long each takes is known from now on.
    built.run("build", &[]);

    // A nix-store that logs its arguments.
    let bin = tempfile::tempdir().expect("a temporary folder");
    let (log, shim) = (bin.path().join("log"), bin.path().join("nix-store"));
    let real = which::which("nix-store").expect("Nix");
    let script = format!(
        "#!/bin/sh\necho \"$*\" >>{}\nexec {} \"$@\"\n",
        log.display(),
        real.display()
    );
    std::fs::write(&shim, script).expect("write");
    run(Command::new("chmod").arg("+x").arg(&shim));
    (0..SHORT).for_each(|number| write(number, "// changed"));
    write(2, "#error a mistake");
    write(4, "#error out of memory");
    let path = std::env::var("PATH").expect("PATH");
    let output = kernel_builder("build")
        .args(["--max-jobs", "1", "--variant", CPU])
        .arg(&relu)
        .env("KERNEL_BUILDER_CACHE", built.cache.path())
        .env("PATH", format!("{}:{path}", bin.path().display()))
        .output()
        .expect("kernel-builder");
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success(), "{words}");
    let count = |line: &str| words.matches(line).count();
    for number in [2, 4] {
        let unit = format!("failed: csrc/short_{number}.c\n");
        assert_eq!(count(&unit), 1, "{words}");
        // The compiler says why: Nix's own words would be noise.
        assert_eq!(count(&format!("short_{number}.c.o.drv")), 0, "{words}");
    }
    assert_eq!(count("ran out of memory"), 1, "{words}");
    let alone = "csrc/short_4.c ran out of memory: it will run alone";
    assert!(words.contains(alone), "{words}");

    let log = std::fs::read_to_string(log).expect("what Nix was asked for");
    let builds = log.lines().filter(|line| line.contains("--keep-going"));
    let sizes: Vec<usize> = builds.map(|line| line.matches(".drv").count()).collect();
    assert_eq!(sizes.iter().sum::<usize>(), SHORT + 1, "{log}");
    assert!(sizes.len() <= SHORT && sizes.last() == Some(&1), "{log}");

    let plan = built.plan();
    let steps = plan["steps"].as_array().expect("steps");
    let left = steps.iter().filter(|step| step["state"] == "build");
    let left: BTreeSet<&str> = left.filter_map(|step| step["name"].as_str()).collect();
    let library = format!("{CPU} library");
    assert_eq!(
        left,
        BTreeSet::from(["csrc/short_2.c", "csrc/short_4.c", &library, CPU])
    );
}

#[test]
#[ignore = "evaluates with Nix: run by `make test`"]
fn device_code_with_headers_of_torch_gets_a_hint() {
    let clone = Clone::new();
    let hinted = || {
        let output = run(kernel_builder("plan").arg(clone.relu()).args([
            "--json",
            "--variant",
            "torch211-cxx11-cu130-x86_64-linux",
        ]));
        let plan: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let steps = plan["steps"].as_array().expect("steps").clone();
        let hinted = steps
            .into_iter()
            .filter(|step| step["hints"][0].is_string());
        let names = hinted.map(|step| step["name"].as_str().expect("a name").to_owned());
        names.collect::<BTreeSet<_>>()
    };
    // A binding may include torch: that is its task.
    assert_eq!(hinted(), BTreeSet::new());
    clone.append("csrc/relu_cuda.cu", "\n#include <ATen/core/Tensor.h>\n");
    // Each of its parts has the hint.
    let hinted = hinted();
    assert!(
        hinted.contains("csrc/relu_cuda.cu host+sm_121"),
        "{hinted:?}"
    );
    assert!(hinted.contains("csrc/relu_cuda.cu sm_90"), "{hinted:?}");
}

#[test]
#[ignore = "evaluates with Nix: run by `make test`"]
fn the_graph_is_whole_and_can_be_drawn() {
    let clone = Clone::new();
    let graph = |arguments: &[&str]| {
        let output = run(kernel_builder("graph").arg(clone.relu()).args(arguments));
        String::from_utf8(output.stdout).expect("UTF-8")
    };
    let json: Value = serde_json::from_str(&graph(&["--json"])).expect("JSON");
    let steps = json["steps"].as_array().expect("steps");
    let mut before = BTreeSet::new();
    let mut edges = 0;
    for step in steps {
        for needed in step["needs"].as_array().expect("needs") {
            assert!(
                before.contains(needed.as_str().expect("a path")),
                "{step:#}"
            );
            edges += 1;
        }
        before.insert(step["derivation"].as_str().expect("a path"));
    }
    for kind in ["toolchain", "unit", "library", "package"] {
        assert!(steps.iter().any(|step| step["kind"] == kind), "{kind}");
    }

    // Files of derivations are read as Nix shows them.
    let packages = steps.iter().filter(|step| step["kind"] == "package");
    let packages = packages.map(|step| step["derivation"].as_str().expect("a path").to_owned());
    let packages: Vec<String> = packages.collect();
    let nix = Nix::find().expect("Nix");
    let shown = nix.shown_derivations(&packages).expect("derivations");
    assert!(shown.len() > steps.len());
    assert_eq!(nix.derivations(&packages).expect("derivations"), shown);

    let dot = graph(&["--dot"]);
    assert_eq!(graph(&[]), dot);
    let (nodes, arrows) = read_dot(&dot);
    assert_eq!(nodes, before.iter().map(ToString::to_string).collect());
    assert_eq!(arrows.len(), edges);
    let known = |(from, to): &(String, String)| nodes.contains(from) && nodes.contains(to);
    assert!(arrows.iter().all(known));
}

/// The nodes and arrows of a digraph whose statements are a line each; anything else fails.
fn read_dot(dot: &str) -> (BTreeSet<String>, Vec<(String, String)>) {
    let string = r#""((?:[^"\\]|\\.)*)""#;
    let node = format!(r"^  {string} \[label = {string}, shape = \w+(, \w+ = \w+)+\];$");
    let node = regex_lite::Regex::new(&node).expect("a pattern");
    let arrow = regex_lite::Regex::new(&format!("^  {string} -> {string};$")).expect("a pattern");
    let lines: Vec<&str> = dot.lines().collect();
    assert_eq!((lines[0], lines[lines.len() - 1]), ("digraph build {", "}"));
    let (mut nodes, mut arrows) = (BTreeSet::new(), Vec::new());
    for line in &lines[1..lines.len() - 1] {
        if let Some(found) = arrow.captures(line) {
            arrows.push((found[1].to_owned(), found[2].to_owned()));
        } else if let Some(found) = node.captures(line) {
            assert!(nodes.insert(found[1].to_owned()), "{line}");
        } else {
            assert!(
                line.starts_with("  rankdir") || line.starts_with("  node "),
                "{line}"
            );
        }
    }
    (nodes, arrows)
}
