//! Tells cargo which files the program holds inside, beside its sources.

use std::path::Path;

fn main() {
    for dir in ["lib", "nix", "templates"] {
        println!("cargo:rerun-if-changed={dir}");
    }
    watch_examples(Path::new("examples"));
}

/// Names the files of examples, and their folders except those that a build makes: cargo would
/// compile the program again after each build of an example.
fn watch_examples(examples: &Path) {
    let kernels = examples.read_dir().into_iter().flatten().flatten();
    for entry in kernels.flat_map(|kernel| kernel.path().read_dir().into_iter().flatten().flatten())
    {
        let name = entry.file_name();
        let is_made = ["build", "result", "build.nix"]
            .iter()
            .any(|made| name == *made);
        if !is_made && !name.to_string_lossy().starts_with('.') {
            println!("cargo:rerun-if-changed={}", entry.path().display());
        }
    }
}
