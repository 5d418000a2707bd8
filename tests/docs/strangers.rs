//! Kernels of strangers, as docs/security.md says: commands of the program do not evaluate Nix code
//! that lies in the kernel's folder.

use crate::common::clone::Clone;
use crate::common::program::{kernel_builder, run};

#[test]
#[ignore = "builds with Nix: run by `make test`"]
fn nix_code_of_a_kernel_is_not_evaluated() {
    let clone = Clone::new();
    // A stranger's build.nix has the first line of a generated one: others are not overwritten.
    let generated = std::fs::read_to_string(clone.relu().join("build.nix")).expect("build.nix");
    let first = generated.lines().next().expect("a line");
    for file in ["build.nix", "flake.nix"] {
        let text = format!("{first}\nthrow \"evaluated\"\n");
        std::fs::write(clone.relu().join(file), text).expect("write");
    }
    let variant = ["--variant", "torch211-cxx11-cpu-x86_64-linux"];
    for (command, arguments) in [
        ("check-config", &[][..]),
        ("list-variants", &[]),
        ("plan", &variant),
        ("fetch", &variant),
        ("build", &variant),
    ] {
        run(kernel_builder(command).arg(clone.relu()).args(arguments));
    }
}
