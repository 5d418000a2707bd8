//! The variants that a machine loads: the client's own cases (kernels 0.17.2,
//! tests/test_variants.py) as data, and the client itself on every variant of the table.

mod common;

use std::collections::BTreeSet;

use common::client::{ClientMachine, accepted_names, read_name};
use common::kernel::all_backends;
use common::program::python;

use kernel_builder::kernel::{Backend, Framework, TvmFfi};
use kernel_builder::matrix::{self, CxxAbi, matrix};
use kernel_builder::version::Version;

/// The variants that most of the client's cases choose from.
const USUAL: [&str; 9] = [
    "torch210-cxx11-cu128-x86_64-linux",
    "torch210-cxx11-cu126-x86_64-linux",
    "torch210-cxx11-cu130-x86_64-linux",
    "torch210-cxx11-rocm70-x86_64-linux",
    "torch210-cxx11-cpu-x86_64-linux",
    "torch210-cpu-aarch64-darwin",
    "torch210-metal-aarch64-darwin",
    "torch-cuda",
    "torch-cpu",
];
const METAL: [&str; 3] = [
    "torch210-cpu-aarch64-darwin",
    "torch210-metal-aarch64-darwin",
    "torch-metal",
];
const UNIVERSAL: [&str; 2] = ["torch210-cxx11-cu128-x86_64-linux", "torch-universal"];
const CUDA: [&str; 3] = [
    "torch210-cxx11-cu126-x86_64-linux",
    "torch210-cxx11-cu128-x86_64-linux",
    "torch210-cxx11-cu130-x86_64-linux",
];
const OLD_ABI: [&str; 3] = [
    "torch26-cxx98-cu124-x86_64-linux",
    "torch26-cxx11-cu124-x86_64-linux",
    "torch26-cxx98-cpu-aarch64-darwin",
];
const STABLE: [&str; 3] = [
    "torch-stable-abi211-cu128-x86_64-linux",
    "torch210-cxx11-cu128-x86_64-linux",
    "torch-cuda",
];

/// `<backend> [<compute>] <system> torch <version> [abi 98] [macos <version>]`
fn machine(words: &str) -> ClientMachine {
    let version = |text: &str| -> Version { text.parse().expect("a version") };
    let words: Vec<&str> = words.split(' ').collect();
    let after = |word| {
        let at = words.iter().position(|own| *own == word)?;
        Some(version(words[at + 1]))
    };
    let compute = words[1].parse().ok();
    let system = words[1 + usize::from(compute.is_some())];
    let mut backends = Backend::ALL.iter().copied();
    ClientMachine {
        system: system.to_owned(),
        backend: backends
            .find(|backend| backend.as_str() == words[0])
            .expect("a backend"),
        compute,
        torch: after("torch"),
        cxx_abi: system.ends_with("-linux").then(|| match after("abi") {
            Some(_) => CxxAbi::Cxx98,
            None => CxxAbi::Cxx11,
        }),
        tvm_ffi: after("tvm-ffi"),
        macos: after("macos"),
    }
}

#[test]
fn the_clients_cases() {
    for (words, names, best) in [
        (
            "cuda 12.8 x86_64-linux torch 2.10",
            &USUAL[..],
            Some("torch210-cxx11-cu128-x86_64-linux"),
        ),
        (
            "cuda 12.9 x86_64-linux torch 2.10",
            &USUAL,
            Some("torch210-cxx11-cu128-x86_64-linux"),
        ),
        (
            "cuda 12.5 x86_64-linux torch 2.10",
            &USUAL,
            Some("torch-cuda"),
        ),
        (
            "cuda 11.8 x86_64-linux torch 2.10",
            &USUAL,
            Some("torch-cuda"),
        ),
        (
            "rocm 7.0 x86_64-linux torch 2.10",
            &USUAL,
            Some("torch210-cxx11-rocm70-x86_64-linux"),
        ),
        (
            "cpu x86_64-linux torch 2.10",
            &USUAL,
            Some("torch210-cxx11-cpu-x86_64-linux"),
        ),
        (
            "cpu aarch64-darwin torch 2.10",
            &USUAL,
            Some("torch210-cpu-aarch64-darwin"),
        ),
        (
            "metal aarch64-darwin torch 2.10 macos 26.0",
            &USUAL,
            Some("torch210-metal-aarch64-darwin"),
        ),
        (
            "metal aarch64-darwin torch 2.10 macos 15.7",
            &METAL,
            Some("torch-metal"),
        ),
        (
            "metal aarch64-darwin torch 2.10",
            &METAL,
            Some("torch-metal"),
        ),
        (
            "metal aarch64-darwin torch 2.10 macos 26.1",
            &METAL,
            Some("torch210-metal-aarch64-darwin"),
        ),
        (
            "cuda 12.8 aarch64-linux torch 2.10",
            &USUAL,
            Some("torch-cuda"),
        ),
        ("rocm 7.0 x86_64-linux torch 2.9", &USUAL, None),
        (
            "cuda 12.4 x86_64-linux torch 2.6 abi 98",
            &OLD_ABI,
            Some("torch26-cxx98-cu124-x86_64-linux"),
        ),
        (
            "cuda 12.4 x86_64-linux torch 2.6",
            &OLD_ABI,
            Some("torch26-cxx11-cu124-x86_64-linux"),
        ),
        ("cpu aarch64-darwin torch 2.6", &OLD_ABI, None),
        (
            "rocm 7.0 x86_64-linux torch 2.9",
            &UNIVERSAL,
            Some("torch-universal"),
        ),
        (
            "cuda 12.8 x86_64-linux torch 2.10",
            &UNIVERSAL,
            Some("torch210-cxx11-cu128-x86_64-linux"),
        ),
        (
            "cuda 12.8 x86_64-linux torch 2.9",
            &["torch-universal", "torch-cuda"],
            Some("torch-cuda"),
        ),
        ("cuda 12.5 x86_64-linux torch 2.10", &CUDA, None),
        ("cuda 11.8 x86_64-linux torch 2.10", &CUDA, None),
        (
            "cuda 12.8 x86_64-linux torch 2.11",
            &STABLE,
            Some("torch-stable-abi211-cu128-x86_64-linux"),
        ),
        (
            "cuda 12.8 x86_64-linux torch 2.12",
            &STABLE,
            Some("torch-stable-abi211-cu128-x86_64-linux"),
        ),
        (
            "cuda 12.8 x86_64-linux torch 2.10",
            &STABLE,
            Some("torch210-cxx11-cu128-x86_64-linux"),
        ),
        (
            "cuda 12.8 x86_64-linux torch 2.12",
            &[
                "torch-stable-abi29-cu128-x86_64-linux",
                "torch-stable-abi211-cu128-x86_64-linux",
            ],
            Some("torch-stable-abi211-cu128-x86_64-linux"),
        ),
        (
            "cuda 12.8 x86_64-linux torch 2.10",
            &[
                "torch210-cxx11-cu128-x86_64-linux",
                "torch210-cu128-x86_64-linux",
            ],
            Some("torch210-cu128-x86_64-linux"),
        ),
        (
            "cuda 12.8 x86_64-linux torch 2.11",
            &[
                "torch-stable-abi211-cu128-x86_64-linux",
                "torch211-cxx11-cu128-x86_64-linux",
            ],
            Some("torch-stable-abi211-cu128-x86_64-linux"),
        ),
    ] {
        assert_eq!(
            accepted_names(names, &machine(words)).first().copied(),
            best,
            "{words}"
        );
    }
}

#[test]
fn what_is_no_variant_is_not_read() {
    for name in [
        "",
        "relu",
        "torch",
        "torch29",
        "torch29-cxx14-cpu-x86_64-linux",
        "tvm-ffi-cpu-x86_64-linux",
        "benchmarks",
    ] {
        assert_eq!(read_name(name), None, "{name}");
    }
}

/// The names of all variants that some kernel may have: of torch with its own ABI and with a stable
/// one, of tvm-ffi, and of Python alone.
fn all_names() -> BTreeSet<String> {
    let torch = all_backends();
    let mut tvm_ffi = torch.clone();
    tvm_ffi.framework = Framework::TvmFfi(TvmFfi {
        src: Vec::new(),
        pyext: Vec::new(),
        include: Vec::new(),
        cxx_flags: Vec::new(),
    });
    let releases = matrix::table()
        .rows
        .iter()
        .filter_map(|row| row.torch().cloned());
    let stable = releases.collect::<BTreeSet<_>>().into_iter().map(|abi| {
        let mut kernel = torch.clone();
        let Framework::Torch(torch) = &mut kernel.framework else {
            panic!("not a torch kernel");
        };
        torch.stable_abi = Backend::ALL
            .iter()
            .map(|backend| (*backend, abi.clone()))
            .collect();
        kernel
    });
    let mut python = torch.clone();
    python.sections.clear();
    python.backends = Backend::ALL.iter().copied().collect();
    let kernels = stable.chain([torch.clone(), tvm_ffi, python]);
    let names = kernels.flat_map(|kernel| matrix(&kernel, matrix::table()).variants);
    names.map(|variant| variant.name).collect()
}

/// Every name that the table can give, on a machine for each of them, in the order in which the
/// client has them.
#[test]
#[ignore = "needs the kernels client (KERNEL_BUILDER_TEST_VENV)"]
fn the_client_accepts_the_same_in_the_same_order() {
    let names = all_names();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut machines = Vec::new();
    for system in ["x86_64-linux", "aarch64-linux", "aarch64-darwin"] {
        for torch in ["2.6", "2.6 abi 98", "2.7", "2.11", "2.13", "2.15"] {
            for backend in [
                "cpu",
                "cuda 11.8",
                "cuda 12.4",
                "cuda 12.7",
                "cuda 12.8",
                "cuda 13.0",
                "cuda 13.2",
                "rocm 7.1",
                "xpu 2025.3",
                "cann 8.1",
            ] {
                machines.push(format!("{backend} {system} torch {torch} tvm-ffi 0.1"));
            }
        }
    }
    machines.push("metal aarch64-darwin torch 2.13 macos 26.0".to_owned());
    machines.push("metal aarch64-darwin torch 2.13 macos 15.0".to_owned());
    let output = python()
        .args(["tests/common/accepted.py", &names.join(" ")])
        .args(&machines)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("python");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let theirs: Vec<Vec<String>> = serde_json::from_slice(&output.stdout).expect("JSON");
    for (words, theirs) in machines.iter().zip(&theirs) {
        assert_eq!(&accepted_names(&names, &machine(words)), theirs, "{words}");
    }
    assert!(theirs.iter().any(|names| names.len() > 2), "{theirs:?}");
}
