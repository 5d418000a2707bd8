//! Operators that a kernel's Python files register.

use kernel_builder::kernel::Kernel;
use kernel_builder::matrix::table;
use kernel_builder::problem::RenderOptions;

use crate::fixture::{Fixture, RELU};

const FILE: &str = "torch-ext/relu/ops/registered.py";

const OPS: &str = r#"import torch

from .._ops import add_op_namespace_prefix


@torch.library.custom_op("relu::double", mutates_args=())
def double(x: torch.Tensor) -> torch.Tensor:
    return 2 * x


@torch.library.register_fake("relu::double")
def _(x):
    return x


# Right, and somebody else's.
@torch.library.custom_op(add_op_namespace_prefix("triple"), mutates_args=())
def triple(x: torch.Tensor) -> torch.Tensor:
    return 3 * x


@torch.library.register_kernel("aten::relu", "cuda")
def relu(x):
    return x
"#;

#[test]
fn operators_of_a_fixed_namespace_are_errors_in_edition_5() {
    let fixture = Fixture::new();
    fixture.write("build.toml", RELU);
    fixture.write(FILE, OPS);
    let error = Kernel::load(fixture.root(), &table().toolkits).expect_err("a fixed namespace");
    let kernel_builder::kernel::LoadError::Problems(problems) = error else {
        panic!("{error:?}");
    };
    let shown = problems.render(RenderOptions::default());
    insta::assert_snapshot!(shown.replace(fixture.root().as_str(), "."));
    let json = problems.to_json();
    assert_eq!(json["problems"][0]["line"], 6);
    assert_eq!(
        json["problems"][0]["file"],
        fixture.root().join(FILE).as_str()
    );
}

#[test]
fn they_are_warnings_in_older_editions() {
    let fixture = Fixture::new();
    fixture.write("build.toml", &RELU.replace("edition = 5\n", ""));
    fixture.write(FILE, OPS);
    let loaded = Kernel::load(fixture.root(), &table().toolkits).expect("a kernel");
    let of_python = loaded
        .warnings
        .iter()
        .filter(|problem| problem.code.id == "KB1102");
    assert_eq!(of_python.count(), 2);
    assert!(
        loaded.warnings.summary().ends_with("registered.py"),
        "{}",
        loaded.warnings.summary()
    );
}
