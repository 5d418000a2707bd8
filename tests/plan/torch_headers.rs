//! The headers of torch that units were compiled with, as `kernel-builder plan` tells them.

use std::collections::BTreeSet;

use kernel_builder::steps::inputs::Inputs;
use kernel_builder::steps::record::{BuildRecord, HeaderUse};
use kernel_builder::steps::torch_headers::UmbrellaIncludes;
use kernel_builder::steps::{Step, StepKind, StepState, Steps};

use super::*;

const VARIANT: &str = "torch211-cxx11-cu130-x86_64-linux";

fn kind(source: &str) -> StepKind {
    StepKind::Unit {
        source: source.to_owned(),
        part: None,
        driver: "g++".to_owned(),
    }
}

/// A unit that took two seconds.
fn unit(source: &str) -> Step {
    Step {
        derivation: format!("/nix/store/{source}.drv"),
        name: source.to_owned(),
        kind: kind(source),
        variants: BTreeSet::from([VARIANT.to_owned()]),
        needs: Vec::new(),
        state: StepState::Cached,
        reasons: Vec::new(),
        seconds: Some(2.0),
        measured: true,
        hints: Vec::new(),
        torch_headers: None,
    }
}

/// The steps of a sample's sources, and a record that knows some of them.
fn steps(sample: &Sample, sources: &[&str], known: &[(&str, HeaderUse)]) -> Steps {
    let (plan, variant) = only(sample);
    assert_eq!(variant.variant, VARIANT);
    let dir = tempfile::tempdir().expect("a temporary folder");
    let cache = Utf8Path::from_path(dir.path()).expect("UTF-8");
    let root = sample.kernel().root;
    let mut record = BuildRecord::open(cache, &root);
    for (source, headers) in known {
        let inputs = Inputs::default();
        record.learn(VARIANT, &kind(source), inputs, Some(headers));
    }
    record.save(None).expect("written");
    let record = BuildRecord::open(cache, &root);
    let includes = UmbrellaIncludes::find(&plan, &root).expect("readable files");
    let mut all: Vec<Step> = sources.iter().map(|source| unit(source)).collect();
    for step in &mut all {
        step.torch_headers = includes.for_step(step, &record);
    }
    Steps {
        all,
        ..Steps::default()
    }
}

#[test]
fn plans_name_the_units_that_were_compiled_with_all_headers() {
    let section = "[kernel.gpu]\nbackend = \"cuda\"\ndepends = [\"torch\"]\n\
                   src = [\"full.cu\", \"lean.cu\", \"new.cu\", \"none.cu\", \"small.cu\", \"common.h\"]\n\n\
                   [kernel.off]\nbackend = \"cuda\"\ndepends = [\"torch\"]\nsrc = [\"off.cu\"]\nlean-headers = false\n";
    let sample = Sample::new(
        &format!("{CUDA}{section}"),
        &[
            (
                "common.h",
                "#pragma once\n\n  # include <torch/all.h> // everything\n",
            ),
            ("full.cu", "#include \"common.h\"\n"),
            ("lean.cu", "#include <torch/extension.h>\n"),
            ("new.cu", "#include <ATen/ATen.h>\n"),
            ("none.cu", "#include <cuda_fp16.h>\n"),
            ("off.cu", "#include <torch/torch.h>\n"),
            ("small.cu", "#include <ATen/core/Tensor.h>\n"),
            ("torch-ext/binding.cpp", "#include <torch/library.h>\n"),
        ],
    );
    let sources = [
        "full.cu",
        "lean.cu",
        "new.cu",
        "none.cu",
        "off.cu",
        "small.cu",
        "torch-ext/binding.cpp",
    ];
    let full = HeaderUse::All("it names torch::nn::Linear of torch/nn.h".to_owned());
    let known = [("full.cu", full), ("lean.cu", HeaderUse::Lean)];
    let steps = steps(&sample, &sources, &known);
    let headers = steps.all.iter().map(|step| &step.torch_headers);
    let json = serde_json::to_string_pretty(&headers.collect::<Vec<_>>()).expect("JSON");
    insta::assert_snapshot!("headers-of-units", json);
    insta::assert_snapshot!("headers-in-a-plan", steps.torch_headers_text());
}

#[test]
fn plans_name_ten_units_at_most() {
    let names: Vec<String> = (10..22).map(|number| format!("u{number}.cu")).collect();
    let section = format!(
        "[kernel.gpu]\nbackend = \"cuda\"\ndepends = [\"torch\"]\nsrc = {names:?}\nlean-headers = false\n"
    );
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let files: Vec<_> = names
        .iter()
        .map(|name| (*name, "#include <torch/all.h>\n"))
        .collect();
    let sample = Sample::new(&format!("{CUDA}{section}"), &files);
    let text = steps(&sample, &names, &[]).torch_headers_text();
    assert!(text.contains("12 with all headers in 24.0 s\n"), "{text}");
    let lines = text.lines().filter(|line| line.starts_with("  u"));
    assert_eq!(lines.count(), 10, "{text}");
    assert!(text.contains("\n  and 2 more\n"), "{text}");
}

#[test]
fn plans_of_kernels_without_umbrella_headers_say_nothing_of_them() {
    let section = "[kernel.gpu]\nbackend = \"cuda\"\ndepends = [\"torch\"]\nsrc = [\"small.cu\"]\n";
    let sample = Sample::new(
        &format!("{CUDA}{section}"),
        &[("small.cu", "#include <torch/library.h>\n")],
    );
    let steps = steps(&sample, &["small.cu", "torch-ext/binding.cpp"], &[]);
    assert_eq!(steps.torch_headers_text(), "");
}
