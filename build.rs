//! Tells cargo which files the program holds inside, beside its sources.

fn main() {
    for dir in ["lib", "nix", "templates"] {
        println!("cargo:rerun-if-changed={dir}");
    }
}
