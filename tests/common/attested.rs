//! The origin that variants name, compared between a copy of `kernel-builder build` and the build
//! of a flake.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::clone::{Clone, nix};
use super::folder::{Folder, copy, write};
use super::program::{kernel_builder, on_disk, printed, run};

/// Writes the flake of a kernel, which has the library from a clone of this repository.
pub fn write_flake(kernel: &Path, library: &Clone) {
    let flake = format!(
        "{{\n  inputs.kernel-builder.url = \"path:{}\";\n  outputs = {{ self, kernel-builder }}: \
         kernel-builder.lib.genFlakeOutputs {{ inherit self; path = ./.; }};\n}}\n",
        library.path().display()
    );
    write(&kernel.join("flake.nix"), flake);
}

/// A kernel of a clone's examples/ in a git repository of its own, locked and committed.
pub fn repository(example: &str, library: &Clone) -> Folder {
    let kernel = Folder::new();
    copy(
        &library.path().join("examples").join(example),
        kernel.path(),
    );
    write_flake(kernel.path(), library);
    git(kernel.path(), &["init", "--quiet"]);
    git(kernel.path(), &["add", "--all"]);
    let mut lock = Command::new("nix");
    lock.args(["--extra-experimental-features", "nix-command flakes"]);
    run(lock.args(["flake", "lock"]).current_dir(kernel.path()));
    git(kernel.path(), &["add", "--all"]);
    commit(&kernel);
    kernel
}

/// Commits the changes of a kernel. Returns the commit.
pub fn commit(kernel: &Folder) -> String {
    let message = ["--quiet", "--all", "--message", "more"];
    git(kernel.path(), &[&["commit"], &message[..]].concat());
    git(kernel.path(), &["rev-parse", "HEAD"]).trim().to_owned()
}

fn git(folder: &Path, arguments: &[&str]) -> String {
    let mut git = Command::new("git");
    git.args(["-c", "user.name=test"]);
    git.args(["-c", "user.email=test@example.invalid"]);
    printed(git.args(arguments).current_dir(folder))
}

/// The folder that an attribute of a kernel's flake builds, on this machine.
pub fn built(kernel: &Path, attribute: &str, more: &[&str]) -> PathBuf {
    let build = ["build", "--no-link", attribute];
    run(nix(&[&build[..], more].concat()).current_dir(kernel));
    let path = format!("{attribute}.outPath");
    on_disk(&printed(nix(&["eval", "--raw", &path]).current_dir(kernel)))
}

/// Asserts that a variant is the same, to the byte, if the program and if the kernel's flake builds
/// it. Returns the flake's folder of the variant.
pub fn assert_same(kernel: &Path, variant: &str) -> PathBuf {
    run(kernel_builder("build")
        .arg(kernel)
        .args(["--variant", variant]));
    let attribute = format!(".#redistributable.{variant}");
    let by_flake = built(kernel, &attribute, &[]).join(variant);
    let by_program = kernel.join("build").join(variant);
    for file in ["metadata.json", "provenance.intoto.json", "sbom.cdx.json"] {
        let read = |folder: &Path| std::fs::read_to_string(folder.join(file)).expect("a file");
        let (ours, theirs) = (read(&by_program), read(&by_flake));
        let diff = similar::TextDiff::from_lines(&ours, &theirs);
        let diff = diff.unified_diff().header("program", "flake").to_string();
        assert!(diff.is_empty(), "{variant} {file}\n{diff}");
    }
    // It exits with 1 if any file differs.
    run(kernel_builder("diff").args([&by_program, &by_flake]));
    by_flake
}
