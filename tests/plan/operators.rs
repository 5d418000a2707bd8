//! The namespaces of operators: the build's own, or one that the author chose.

use kernel_builder::plan::warnings;
use kernel_builder::problem::RenderOptions;

use super::*;

const BINDING: &str = "torch-ext/binding.cpp";

/// A kernel with a binding, a section, and flags of its own.
fn kernel(binding: &str, source: &str, flags: &str) -> Sample {
    let section = "[kernel.gpu]\nbackend = \"cuda\"\ndepends = []\nsrc = [\"csrc/gpu.cu\"]\n";
    let files = [(BINDING, binding), ("csrc/gpu.cu", source)];
    Sample::new(&format!("{CUDA}cxx-flags = [{flags}]\n{section}"), &files)
}

/// The namespace that build.nix names, and the warnings.
fn found(sample: &Sample) -> (Option<String>, String) {
    let (plan, variant) = only(sample);
    let root = sample.path().display().to_string();
    let rendered = plan.warnings.iter().map(|problems| {
        let text = problems.render(RenderOptions::default());
        text.replace(&root, "")
    });
    (variant.op_namespace, rendered.collect())
}

#[test]
fn a_fixed_namespace_is_where_ops_are_and_is_warned_of() {
    let binding = "TORCH_LIBRARY(img2gray, ops) {\n  ops.def(\"f(Tensor x) -> ()\");\n}\n\n\
                   TORCH_LIBRARY_IMPL(img2gray, CUDA, ops) {\n  ops.impl(\"f\", &f);\n}\n";
    let sample = kernel(binding, "", "");
    let (namespace, warnings) = found(&sample);
    assert_eq!(namespace.as_deref(), Some("img2gray"));
    insta::assert_snapshot!("fixed-namespace", warnings);

    // A fragment in another file, and a header.
    sample.write("csrc/gpu.cu", "#include \"more.h\"\n");
    sample.write("csrc/more.h", "TORCH_LIBRARY_FRAGMENT(img2gray, ops) {}\n");
    assert_eq!(found(&sample).0.as_deref(), Some("img2gray"));

    // `check-config` gives the same without a plan.
    let kernel = sample.kernel();
    let only = self::warnings(&kernel, &some(&kernel), table());
    assert_eq!(
        only.iter()
            .map(|problems| problems.warning_count())
            .sum::<usize>(),
        1
    );
}

#[test]
fn operators_are_the_builds_own_where_that_is_not_certain() {
    let own = "TORCH_LIBRARY_EXPAND(TORCH_EXTENSION_NAME, ops) {}\n";
    let fixed = "TORCH_LIBRARY(mine, ops) {}\n";
    let none = |sample: Sample, warnings: usize| {
        let (namespace, rendered) = found(&sample);
        assert_eq!(namespace, None, "{rendered}");
        assert_eq!(rendered.matches("KB1101").count(), warnings, "{rendered}");
        rendered
    };
    none(kernel(own, "", ""), 0);
    // Authors look for the build's own operators in a mix.
    let mixed = none(kernel(own, fixed, ""), 1);
    let mixed = mixed.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        mixed.contains("`ops` of `_ops.py` has no operators of `mine`"),
        "{mixed}"
    );
    none(
        kernel(
            "TORCH_LIBRARY(first, ops) {}\nTORCH_LIBRARY(second, ops) {}\n",
            "",
            "",
        ),
        2,
    );
    // A macro may be anything.
    let included = "#include \"names.h\"\nTORCH_LIBRARY(mine, ops) {}\n";
    let sample = kernel(included, "", "");
    sample.write("csrc/names.h", "#define mine TORCH_EXTENSION_NAME\n");
    none(sample, 0);
    none(kernel(fixed, "", "\"-Dmine=TORCH_EXTENSION_NAME\""), 0);
}
