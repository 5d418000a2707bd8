//! Sources that two sections list, and sections without a source: compiled once, for what both ask.

use super::{CUDA, VariantPlan, gencode, only};
use crate::common::kernel::Sample;
use kernel_builder::matrix::{matrix, table};
use kernel_builder::plan::{Component, plan};

fn sample(sections: &str) -> Sample {
    let files = ["csrc/common.cu", "csrc/old.cu", "csrc/new.cu", "csrc/a.cuh"];
    Sample::new(&format!("{CUDA}{sections}"), &files.map(|file| (file, "")))
}

/// The sources of each component, and the architectures that they are compiled for.
fn compiled(variant: &VariantPlan) -> Vec<String> {
    let components = variant.components.iter().skip(1);
    let line = |component: &Component| {
        let sources = component.units.iter().flat_map(|group| &group.sources);
        let sources: Vec<&str> = sources.map(String::as_str).collect();
        let archs: Vec<String> = component.archs.iter().map(ToString::to_string).collect();
        format!(
            "{}: {} for {}",
            component.name,
            sources.join(" "),
            archs.join(" ")
        )
    };
    components.map(line).collect()
}

const TWO: &str = r#"
[kernel.new]
backend = "cuda"
depends = []
src = ["csrc/new.cu", "csrc/common.cu", "csrc/a.cuh"]
cuda-capabilities = ["10.0a"]
cuda-minver = "12.8"

[kernel.old]
backend = "cuda"
depends = []
src = ["csrc/a.cuh", "csrc/common.cu", "csrc/old.cu"]
cuda-capabilities = ["8.0", "9.0a"]
"#;

#[test]
fn a_source_of_two_sections_is_compiled_once_for_both() {
    let (_, variant) = only(&sample(TWO));
    let all = [
        "new: csrc/new.cu for 10.0a",
        "new+old: csrc/common.cu for 8.0 9.0a 10.0a",
        "old: csrc/old.cu for 8.0 9.0a",
    ];
    assert_eq!(compiled(&variant), all);
    assert_eq!(gencode(&variant, "new+old").len(), 3);
    assert_eq!(variant.link.archs, ["8.0", "9.0a", "10.0a"]);
    assert_eq!(variant.metadata.backend.archs, ["8.0", "9.0a", "10.0a"]);
}

/// A toolkit that is too old for one of the sections compiles the source for the other one alone.
#[test]
fn a_source_of_two_sections_respects_the_oldest_toolkit_of_each() {
    let sample = sample(TWO);
    let kernel = sample.kernel();
    let mut matrix = matrix(&kernel, table());
    matrix
        .variants
        .retain(|variant| variant.name == "torch27-cxx11-cu126-x86_64-linux");
    let plan = plan(&kernel, &matrix, table()).expect("a plan");
    let variant = plan.variants[0].clone();
    let old = [
        "new+old: csrc/common.cu for 8.0 9.0a",
        "old: csrc/old.cu for 8.0 9.0a",
    ];
    assert_eq!(compiled(&variant), old);
    let note = "CUDA 12.6: kernel.new is left out: its cuda-minver is 12.8";
    assert_eq!(plan.notes, [note]);
}

/// A section without GPUs asks for the default ones. A section whose sources are all shared
/// becomes no component of its own.
#[test]
fn the_usual_gpus_are_part_of_the_union() {
    let (_, variant) = only(&sample(
        r#"
[kernel.special]
backend = "cuda"
depends = []
src = ["csrc/common.cu"]
cuda-capabilities = ["9.0a"]

[kernel.usual]
backend = "cuda"
depends = []
src = ["csrc/common.cu"]
"#,
    ));
    let usual = "7.5 8.0 8.6 8.7 8.9 9.0 9.0a 10.0 11.0 12.0 12.1+PTX";
    let all = [format!("special+usual: csrc/common.cu for {usual}")];
    assert_eq!(compiled(&variant), all);
}

#[test]
fn what_is_listed_twice_is_compiled_once_and_headers_alone_compile_nothing() {
    let (_, variant) = only(&sample(
        r#"
[kernel.headers]
backend = "cuda"
depends = []
src = ["csrc/a.cuh", "./csrc/a.cuh"]
cuda-capabilities = ["9.0"]

[kernel.old]
backend = "cuda"
depends = []
src = ["csrc/old.cu", "csrc/../csrc/old.cu", "torch-ext/binding.cpp"]
cuda-capabilities = ["8.0", "11.8"]
"#,
    ));
    let all = ["headers:  for 9.0", "old: csrc/old.cu for 8.0"];
    assert_eq!(compiled(&variant), all);
    assert_eq!(variant.link.archs, ["8.0"]);
}
