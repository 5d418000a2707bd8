//! Lean headers of torch as a user meets them in a build: notes, `plan`, metadata.json and the key
//! that switches them off. Whether lean headers change the code is tested elsewhere.

mod common;

use std::process::Command;

use common::folder::new_word;
use common::kernel::Sample;
use common::program::{build, kernel_builder, on_disk, printed, run, store, words};
use serde_json::{Value, json};

const CPU: &str = "torch211-cxx11-cpu-x86_64-linux";

const BUILD_TOML: &str = r#"
[general]
name = "sample"
edition = 5
version = 1
license = "MIT"
backends = ["cpu"]

[torch]
src = ["torch-ext/binding.cpp"]

[kernel.units]
backend = "cpu"
depends = ["torch"]
src = ["csrc/lean.cpp", "csrc/named.cpp"]

[kernel.failing]
backend = "cpu"
depends = ["torch"]
src = ["csrc/failing.cpp", "csrc/all.h"]
"#;

const LEAN: &str = "#include <torch/all.h>
at::Tensor lean(const at::Tensor &x) { return at::relu(x); }
";

const NAMED: &str = "#include <torch/all.h>
at::Tensor named(const at::Tensor &x) { return torch::nn::functional::relu(x); }
";

/// The name `relu` stands nowhere in the text, and the selection does not know this word for `##`.
const FAILING: &str = "#include \"all.h\"
#define JOIN(a, b) a%:%:b
at::Tensor failing(const at::Tensor &x) { return at::JOIN(re, lu)(x); }
";

const BINDING: &str = "#include <ATen/core/Tensor.h>
#include <torch/library.h>
#include \"registration.h\"
at::Tensor lean(const at::Tensor &x);
at::Tensor named(const at::Tensor &x);
at::Tensor failing(const at::Tensor &x);
TORCH_LIBRARY_EXPAND(TORCH_EXTENSION_NAME, ops) {
    ops.def(\"lean(Tensor x) -> Tensor\", &lean);
    ops.def(\"named(Tensor x) -> Tensor\", &named);
    ops.def(\"failing(Tensor x) -> Tensor\", &failing);
}
REGISTER_EXTENSION(TORCH_EXTENSION_NAME)
";

/// A comment that makes a source new to every store, so that there are logs to read.
fn new_comment() -> String {
    format!("// {}\n", new_word())
}

/// A kernel and a cache of its own.
struct KernelWithCache {
    sample: Sample,
    cache: tempfile::TempDir,
}

impl KernelWithCache {
    fn plan(&self, arguments: &[&str]) -> String {
        let mut plan = kernel_builder("plan");
        plan.arg(self.sample.path())
            .args(["--variant", CPU])
            .args(arguments);
        printed(plan.env("KERNEL_BUILDER_CACHE", self.cache.path()))
    }

    /// The step of a source, as JSON.
    fn step(&self, source: &str) -> Value {
        let plan: Value = serde_json::from_str(&self.plan(&["--json"])).expect("JSON");
        let steps = plan["steps"].as_array().expect("steps").clone();
        let mut steps = steps.into_iter().filter(|step| step["source"] == source);
        steps.next().expect("a step")
    }

    /// Builds the variant. Returns the words for the user.
    fn build(&self) -> String {
        let mut build = build(self.sample.path(), &[CPU]);
        words(&run(build.env("KERNEL_BUILDER_CACHE", self.cache.path())))
    }

    fn metadata(&self) -> Value {
        let path = self.sample.path().join("build").join(CPU);
        let text = std::fs::read(path.join("metadata.json")).expect("metadata.json");
        serde_json::from_slice(&text).expect("JSON")
    }
}

/// The object that a unit's derivation made.
fn object(step: &Value) -> Vec<u8> {
    let derivation = step["derivation"].as_str().expect("a path");
    let mut query = Command::new("nix-store");
    let output = printed(query.args(["--query", "--outputs", derivation]));
    std::fs::read(on_disk(&output)).expect("an object")
}

#[test]
#[ignore = "builds with Nix: run by `make test`"]
fn units_that_need_all_headers_get_them_and_the_user_is_told() {
    let new = new_comment();
    let kernel = KernelWithCache {
        sample: Sample::new(
            BUILD_TOML,
            &[
                ("csrc/all.h", "#pragma once\n#include <ATen/ATen.h>\n"),
                ("csrc/failing.cpp", &format!("{FAILING}{new}")),
                ("csrc/lean.cpp", &format!("{LEAN}{new}")),
                ("csrc/named.cpp", &format!("{NAMED}{new}")),
                ("torch-ext/binding.cpp", BINDING),
            ],
        ),
        cache: tempfile::tempdir().expect("a temporary folder"),
    };
    let headers = |source: &str| kernel.step(source)["torch_headers"].clone();
    let lean = |lean: Value| json!({ "include": "csrc/lean.cpp:1: #include <torch/all.h>", "lean": lean, "reason": null });
    assert_eq!(headers("csrc/lean.cpp"), lean(Value::Null));
    assert_eq!(headers("torch-ext/binding.cpp"), Value::Null);
    let unknown = "units with an umbrella header of torch: 3 not compiled here yet\n";
    assert!(kernel.plan(&[]).contains(unknown));

    let words = kernel.build();
    let note = |source: &str| {
        let start = format!("note: {source} is compiled with torch's own headers: ");
        let mut notes = words.lines().filter_map(|line| line.strip_prefix(&start));
        let note = notes.next().map(str::to_owned);
        assert_eq!(notes.next(), None, "{words}");
        note
    };
    assert_eq!(note("csrc/lean.cpp"), None, "{words}");
    assert_eq!(note("torch-ext/binding.cpp"), None, "{words}");
    let named = note("csrc/named.cpp").expect("a note");
    assert!(
        named.contains("names functional::relu of torch/nn/"),
        "{named}"
    );
    let failing = note("csrc/failing.cpp").expect("a note");
    assert!(failing.contains("csrc/failing.cpp:3:"), "{failing}");
    assert!(
        failing.contains("'relu' is not a member of 'at'"),
        "{failing}"
    );
    assert_eq!(kernel.metadata().get("lean-headers"), None);

    assert_eq!(headers("csrc/lean.cpp"), lean(json!(true)));
    let with_reason = |include: &str, reason: &str| json!({ "include": include, "lean": false, "reason": reason });
    let include = "csrc/named.cpp:1: #include <torch/all.h>";
    assert_eq!(headers("csrc/named.cpp"), with_reason(include, &named));
    let include = "csrc/all.h:2: #include <ATen/ATen.h>";
    assert_eq!(headers("csrc/failing.cpp"), with_reason(include, &failing));
    let plan = kernel.plan(&[]);
    assert!(plan.contains("torch: 1 with lean headers in "), "{plan}");
    assert!(plan.contains(", 2 with all headers in "), "{plan}");
    assert!(plan.contains(&format!("{failing}; {include}\n")), "{plan}");

    // The object of a failed attempt is the one of a compilation without lean headers.
    let (id, before) = (
        kernel.metadata()["id"].clone(),
        object(&kernel.step("csrc/failing.cpp")),
    );
    let section = "[kernel.failing]\n";
    let off = format!("{section}lean-headers = false\n");
    kernel
        .sample
        .write("build.toml", &BUILD_TOML.replace(section, &off));
    let words = kernel.build();
    assert!(
        !words.contains("is compiled with torch's own headers"),
        "{words}"
    );
    assert!(
        words.contains("] csrc/failing.cpp ") && !words.contains("csrc/named.cpp"),
        "{words}"
    );
    assert!(object(&kernel.step("csrc/failing.cpp")) == before);
    let reason = "build.toml says `lean-headers = false`";
    assert_eq!(headers("csrc/failing.cpp"), with_reason(include, reason));
    assert_eq!(kernel.metadata()["lean-headers"], json!(false));
    assert_ne!(kernel.metadata()["id"], id);

    // The object of the first build is still in the store, and its reason is known.
    kernel.sample.write("build.toml", BUILD_TOML);
    assert_eq!(kernel.step("csrc/failing.cpp")["state"], "cached");
    assert_eq!(headers("csrc/failing.cpp"), with_reason(include, &failing));
}

/// A unit that got no memory with lean headers would get them at another time, and have another
/// object.
#[test]
#[ignore = "builds with Nix: run by `make test`"]
fn a_unit_without_memory_is_no_reason_for_all_headers() {
    // The compiler's error shows the line, and so the words of a compiler that gets no memory.
    let words_of_gcc = " // virtual memory exhausted: Cannot allocate memory\n";
    let (start, name) = FAILING.trim_end().rsplit_once('\n').expect("lines");
    let source = format!("{start}\n{name}{words_of_gcc}{}", new_comment());
    let kernel = Sample::new(
        &BUILD_TOML.replace("\"csrc/named.cpp\"", ""),
        &[
            ("csrc/all.h", "#include <ATen/ATen.h>\n"),
            ("csrc/failing.cpp", &source),
            ("csrc/lean.cpp", LEAN),
        ],
    );
    store();
    let output = build(kernel.path(), &[CPU]).output().expect("start");
    assert_eq!(output.status.code(), Some(1));
    let words = words(&output);
    assert!(
        words.contains("ran out of memory: it will run alone"),
        "{words}"
    );
    assert!(
        !words.contains("is compiled with torch's own headers"),
        "{words}"
    );
}
