//! Compares the variants that Rust plans with those that Nix reads from build.nix, down to each
//! flag.

use std::collections::BTreeSet;

use camino::Utf8Path;
use kernel_builder::emit::build_nix;
use kernel_builder::emit::nix::string;
use kernel_builder::families::find_family;
use kernel_builder::kernel::Kernel;
use kernel_builder::matrix::{Matrix, matrix, table};
use kernel_builder::plan::{Plan, plan};

use super::nix;

const REPOSITORY: &str = env!("CARGO_MANIFEST_DIR");

/// The value of a Nix expression over `kernel`: the library's result for the build.nix of a plan.
fn evaluate(plan: &Plan, root: &Utf8Path, expression: &str) -> serde_json::Value {
    let build_nix = build_nix(plan, table()).expect("build.nix");
    let dir = tempfile::tempdir().expect("a temporary folder");
    let file = Utf8Path::from_path(dir.path()).expect("a UTF-8 path");
    let file = file.join("build.nix");
    std::fs::write(&file, build_nix).expect("written");
    nix::evaluate(&format!(
        "let kernel = import (/. + {1}) {{ kernelBuilder = import (/. + {0}); root = /. + {2}; }}; in {expression}",
        string(&format!("{REPOSITORY}/lib")),
        string(file.as_str()),
        string(root.as_str()),
    ))
}

/// The values of a function, written in Nix, of each variant of a plan, by the variant's name.
pub fn by_nix(plan: &Plan, root: &Utf8Path, function: &str) -> serde_json::Value {
    let expression = format!(
        "builtins.listToAttrs (map (variant: {{ name = variant.variant; value = ({function}) variant; }}) kernel.variants)"
    );
    evaluate(plan, root, &expression)
}

/// The names of a plan's variants in the order of Nix.
pub fn names_in_nix(plan: &Plan, root: &Utf8Path) -> serde_json::Value {
    evaluate(plan, root, "map (variant: variant.variant) kernel.variants")
}

/// A plan's variants in full.
fn variants_of_rust(plan: &Plan) -> serde_json::Value {
    let compiled = plan.variants.iter();
    let compiled = compiled.map(|built| (&built.variant, serde_json::to_value(built)));
    let noarch = plan.noarch.iter();
    let noarch = noarch.map(|built| (&built.variant, serde_json::to_value(built)));
    let all = compiled.chain(noarch);
    let all = all.map(|(name, value)| (name.clone(), value.expect("JSON")));
    all.collect::<serde_json::Map<_, _>>().into()
}

/// Asserts that Nix names the same families of pins for every variant of a kernel.
fn assert_nix_names_the_families(kernel: &Kernel, matrix: &Matrix, plan: &Plan) {
    let recipes = string(&format!("{REPOSITORY}/nix/recipes.nix"));
    let function = format!(
        "variant: (import (/. + {recipes})).${{variant.system or \"x86_64-linux\"}}.familiesOf variant"
    );
    let found = by_nix(plan, &kernel.root, &function);
    for variant in &matrix.variants {
        let system = variant.row().map_or("x86_64-linux", |row| &row.system);
        let names = variant.families().into_iter();
        let pinned = |name: &String| find_family(system, name).expect("a family").is_some();
        let expected: BTreeSet<String> = names.filter(pinned).collect();
        let found = found[&variant.name].as_array().expect("a list").iter();
        let found = found.map(|name| name.as_str().expect("a name").to_owned());
        assert_eq!(found.collect::<BTreeSet<_>>(), expected, "{}", variant.name);
    }
}

/// Asserts that Nix gets every variant of a kernel back from build.nix and the release table, with
/// every flag.
#[track_caller]
pub fn assert_nix_gets_the_plan(kernel: &Kernel) {
    let matrix = matrix(kernel, table());
    let plan = plan(kernel, &matrix, table()).expect("a plan");
    assert_nix_names_the_families(kernel, &matrix, &plan);
    let expected = variants_of_rust(&plan);
    let found = by_nix(&plan, &kernel.root, "variant: variant.plan");
    let names = expected.as_object().expect("variants").keys();
    for name in names {
        let found = serde_json::to_string_pretty(&found[name]).expect("JSON");
        let expected = serde_json::to_string_pretty(&expected[name]).expect("JSON");
        let diff = similar::TextDiff::from_lines(&expected, &found);
        let diff = diff.unified_diff().header("Rust", "Nix").to_string();
        assert!(diff.is_empty(), "{} {name}\n{diff}", kernel.name.as_str());
    }
    assert_eq!(found, expected);
}
