//! A kernel as the tutorials of 2025 had it, updated with its sources, built and loaded by the real
//! client.

use std::path::Path;
use std::process::Command;

use crate::common::folder::{Folder, REPOSITORY, copy};
use crate::common::program::{printed, python, run};

/// The CPU form of the first tutorial's kernel.
const KERNEL: &str = "tests/cmd/update-build.in/sources";

/// The steps of its users; its operators are in the build's own namespace alone.
const USE: &str = "
import pathlib, torch, kernels
kernel = kernels.get_local_kernel(pathlib.Path('.'), backend='cpu')
image = torch.arange(60, dtype=torch.uint8).reshape(4, 5, 3)
expected = (image.float() @ torch.tensor([0.21, 0.72, 0.07])).to(torch.uint8)
torch.testing.assert_close(kernel.img2gray(image), expected)
assert not hasattr(torch.ops.img2gray, 'img2gray')
print('same')
";

#[test]
#[ignore = "builds with Nix: run by `make test`"]
fn an_updated_kernel_of_2025_builds_and_loads() {
    let folder = Folder::new();
    copy(&Path::new(REPOSITORY).join(KERNEL), folder.path());
    let kernel = folder.path();
    // The edits that the update leaves to the author.
    let module = kernel.join("torch-ext/img2gray/__init__.py");
    let text = std::fs::read_to_string(&module).expect("the module");
    let (text, _) = text
        .split_once("\n\n@torch.library")
        .expect("an operator by name");
    std::fs::write(&module, text).expect("written");

    let program = |arguments: &[&str]| {
        let mut program = Command::new(env!("CARGO_BIN_EXE_kernel-builder"));
        run(program.current_dir(kernel).args(arguments));
    };
    program(&["update-build", "--sources"]);
    program(&["build", "--variant", "torch211-cxx11-cpu-x86_64-linux"]);
    let text = printed(python().current_dir(kernel).args(["-c", USE]));
    assert!(text.contains("same"), "{text}");
}
