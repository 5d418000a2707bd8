//! Names of variants, and the rows of the table that they are built from.

use crate::common::kernel::{all_backends, cpu_and_cuda};
use kernel_builder::kernel::{Backend, Kernel};
use kernel_builder::matrix::{self, Table, Variant, matrix};
use kernel_builder::version::Version;

use crate::{bounds, built, table, torch, torch_release};

/// The client finds a variant by its name alone, so a name that is one character off is never
/// loaded. The names on the right are those of published kernels.
#[test]
fn variants_have_the_names_that_the_client_looks_for() {
    let names = [
        ("2.11 cpu x86_64-linux", "torch211-cxx11-cpu-x86_64-linux"),
        (
            "2.12 cuda 12.6 x86_64-linux",
            "torch212-cxx11-cu126-x86_64-linux",
        ),
        (
            "2.9 cuda 13.0 aarch64-linux",
            "torch29-cxx11-cu130-aarch64-linux",
        ),
        (
            "2.10 cuda 13 x86_64-linux",
            "torch210-cxx11-cu130-x86_64-linux",
        ),
        (
            "2.12 rocm 7.1 x86_64-linux",
            "torch212-cxx11-rocm71-x86_64-linux",
        ),
        (
            "2.12 xpu 2025.3 x86_64-linux",
            "torch212-cxx11-xpu20253-x86_64-linux",
        ),
        (
            "2.12 xpu 2025.3.2 x86_64-linux",
            "torch212-cxx11-xpu20253-x86_64-linux",
        ),
        (
            "2.13 xpu 2026.0.0 x86_64-linux",
            "torch213-cxx11-xpu20260-x86_64-linux",
        ),
        ("2.13 cpu aarch64-darwin", "torch213-cpu-aarch64-darwin"),
        ("2.13 metal aarch64-darwin", "torch213-metal-aarch64-darwin"),
        (
            "2.7 cuda 12.8 x86_64-windows",
            "torch27-cu128-x86_64-windows",
        ),
    ];
    let table = table(&names.map(|(row, _)| row));
    let matrix = matrix(&all_backends(), &table);
    assert_eq!(built(&matrix), names.map(|(_, name)| name));
}

/// Up to torch 2.6, its wheels had the C++ ABI of GCC 4: the client loads what says so, and nothing
/// else.
#[test]
fn names_have_the_abi_of_their_row() {
    let names = |stable: bool| {
        let mut kernel = cpu_and_cuda();
        if stable {
            let abi = "2.6".parse().expect("a version");
            torch(&mut kernel).stable_abi.insert(Backend::Cpu, abi);
        }
        let row = |abi| {
            format!(
                "{{ torch = \"2.6.0\", {abi} backend = \"cpu\", system = \"x86_64-linux\", \
                 profile = \"registry\" }}, "
            )
        };
        let rows = [row("cxx-abi = \"cxx98\","), row("")].concat();
        let table: Table = toml::from_str(&format!(
            "cuda = []\nrows = [{rows}]\n[host.registry]\nx86_64-linux = {{ host = \"h\", policy = \"p\" }}\n\
             [torch]\n[policy]\n"
        ))
        .expect("a table");
        let matrix = matrix(&kernel, &table);
        built(&matrix)
            .into_iter()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let abis = [
        "torch26-cxx98-cpu-x86_64-linux",
        "torch26-cxx11-cpu-x86_64-linux",
    ];
    assert_eq!(names(false), abis);
    // A library of the stable ABI is built with one of the two C++ ABIs.
    assert_eq!(names(true), ["torch-stable-abi26-cpu-x86_64-linux"]);
}

/// The name says which torch the ABI is of, not which one it was built with, and never a C++ ABI.
#[test]
fn stable_abi_variants_are_named_after_the_abi() {
    let rows = [
        (
            "2.12 cpu aarch64-darwin",
            "torch-stable-abi211-cpu-aarch64-darwin",
        ),
        (
            "2.12 cuda 12.6 x86_64-linux",
            "torch-stable-abi211-cu126-x86_64-linux",
        ),
        (
            "2.12 rocm 7.2 x86_64-linux",
            "torch-stable-abi211-rocm72-x86_64-linux",
        ),
        (
            "2.12 xpu 2025.3.2 x86_64-linux",
            "torch-stable-abi211-xpu20253-x86_64-linux",
        ),
        (
            "2.13 xpu 2026.0.0 x86_64-linux",
            "torch-stable-abi211-xpu20260-x86_64-linux",
        ),
        ("2.12 metal aarch64-darwin", "torch212-metal-aarch64-darwin"),
    ];
    let mut kernel = all_backends();
    let abi: Version = "2.11".parse().expect("a version");
    let backends = [Backend::Cpu, Backend::Cuda, Backend::Rocm, Backend::Xpu];
    torch(&mut kernel).stable_abi = backends
        .map(|backend| (backend, Version::clone(&abi)))
        .into();
    let matrix = matrix(&kernel, &table(&rows.map(|(row, _)| row)));
    assert_eq!(built(&matrix), rows.map(|(_, name)| name));
}

/// The newest torch of each compute and system serves a stable ABI; another compute's torch may be
/// newer or older.
#[test]
fn the_stable_abi_is_built_once_per_compute_and_system() {
    let mut kernel = cpu_and_cuda();
    let abi = "2.9".parse().expect("a version");
    torch(&mut kernel).stable_abi = [(Backend::Cuda, abi)].into();
    let table = table(&[
        "2.12 cpu x86_64-linux",
        "2.13 cpu x86_64-linux",
        "2.12 cuda 12.6 x86_64-linux",
        "2.12 cuda 13.0 x86_64-linux",
        "2.13 cuda 13.0 x86_64-linux",
        "2.12 cuda 13.0 aarch64-linux",
    ]);
    let matrix = matrix(&kernel, &table);
    let from: Vec<_> = matrix
        .variants
        .iter()
        .map(|v| format!("{} from {}", v.name, torch_release(v)))
        .collect();
    assert_eq!(
        from,
        [
            "torch212-cxx11-cpu-x86_64-linux from 2.12",
            "torch213-cxx11-cpu-x86_64-linux from 2.13",
            "torch-stable-abi29-cu126-x86_64-linux from 2.12",
            "torch-stable-abi29-cu130-x86_64-linux from 2.13",
            "torch-stable-abi29-cu130-aarch64-linux from 2.12",
        ]
    );
}

/// Nix would silently build one of two variants with the same name.
#[test]
fn names_in_the_table_of_this_program_are_unique() {
    let mut stable = all_backends();
    let abi = |backend: &Backend| (*backend, "2.9".parse().expect("a version"));
    torch(&mut stable).stable_abi = Backend::ALL.iter().map(abi).collect();
    for kernel in [all_backends(), stable] {
        let matrix = matrix(&kernel, matrix::table());
        let mut names = built(&matrix);
        assert!(!names.is_empty());
        names.sort();
        let count = names.len();
        names.dedup();
        assert_eq!(names.len(), count, "{names:?}");
    }
}

/// A backend without a section is Python alone, beside compiled ones. The client looks for
/// `torch-npu`, not `torch-cann`.
#[test]
fn backends_without_sections_are_noarch() {
    let mut kernel = cpu_and_cuda();
    kernel.backends.extend([Backend::Xpu, Backend::Cann]);
    let table = table(&["2.11 cpu x86_64-linux", "2.11 xpu 2025.3 x86_64-linux"]);
    assert_eq!(
        built(&matrix(&kernel, &table)),
        ["torch-npu", "torch-xpu", "torch211-cxx11-cpu-x86_64-linux"]
    );
    let shells = matrix::arch_variants(&kernel, &table);
    let shells: Vec<_> = shells.iter().map(|variant| variant.name.as_str()).collect();
    assert_eq!(
        shells,
        [
            "torch211-cxx11-xpu20253-x86_64-linux",
            "torch211-cxx11-cpu-x86_64-linux"
        ]
    );
}

/// The profile of the package indexes builds a variant that both profiles could build.
#[test]
fn the_registry_is_preferred() {
    let row = |profile: &str, torch: &str| {
        format!(
            "{{ torch = {torch:?}, backend = \"cpu\", system = \"x86_64-linux\", profile = {profile:?} }},"
        )
    };
    let rows = [
        row("vendor", "2.10.0"),
        row("vendor", "2.11.0"),
        row("registry", "2.11.1"),
    ];
    let table: Table = toml::from_str(&format!(
        "cuda = []\nrows = [{}]\n[host]\nregistry.x86_64-linux = {{ host = \"r\", policy = \"p\" }}\n\
         vendor.x86_64-linux = {{ host = \"v\", policy = \"p\" }}\n[torch]\n[policy]\n",
        rows.concat()
    ))
    .expect("a table");
    let matrix = matrix(&cpu_and_cuda(), &table);
    let from: Vec<_> = matrix
        .variants
        .iter()
        .map(|v| {
            (
                v.name.as_str(),
                v.row().expect("a row").toolchain.torch.as_deref(),
            )
        })
        .collect();
    assert_eq!(
        from,
        [
            ("torch210-cxx11-cpu-x86_64-linux", Some("torch-2.10.0-cpu")),
            ("torch211-cxx11-cpu-x86_64-linux", Some("torch-2.11.1")),
        ]
    );
}

/// A kernel without a bundled variant would have an empty default build.
#[test]
fn where_nothing_is_bundled_the_best_of_each_backend_is() {
    let mut kernel = all_backends();
    kernel
        .backends
        .retain(|b| matches!(b, Backend::Rocm | Backend::Cuda));
    kernel
        .sections
        .retain(|section| section.backend.backend() != Backend::Cpu);
    let bundled = |kernel: &Kernel| -> Vec<String> {
        let matrix = matrix(kernel, matrix::table());
        let variants = matrix.bundled("x86_64-linux");
        variants.map(|variant| variant.name.clone()).collect()
    };
    // Its CUDA variants are bundled.
    let cuda = bundled(&kernel);
    assert!(cuda.iter().all(|name| name.contains("-cu13")), "{cuda:?}");
    // The registry's rows win among older releases: any index serves their files.
    torch(&mut kernel).bounds = bounds("", "2.10");
    // Nobody has pinned ROCm 6.3 and 6.4.
    assert_eq!(bundled(&kernel), ["torch210-cxx11-cu128-x86_64-linux"]);
    torch(&mut kernel).bounds = bounds("", "2.11");
    assert!(
        bundled(&kernel)
            .iter()
            .all(|name| name.starts_with("torch211-cxx11-cu130"))
    );
    kernel.backends.remove(&Backend::Cuda);
    kernel
        .sections
        .retain(|section| section.backend.backend() == Backend::Rocm);
    assert_eq!(bundled(&kernel), ["torch211-cxx11-rocm71-x86_64-linux"]);
}

/// Names and globs, and the messages for those without a match.
#[test]
fn variants_are_selected_by_name_and_by_glob() {
    let mut kernel = cpu_and_cuda();
    torch(&mut kernel).bounds = bounds("2.9", "");
    let table = table(&[
        "2.8 cpu x86_64-linux",
        "2.9 cpu x86_64-linux",
        "2.9 cuda 12.8 x86_64-linux",
        "2.10 cuda 12.8 x86_64-linux",
        "2.11 cuda 13.0 x86_64-linux",
        "2.12 cuda 13.0 aarch64-linux",
    ]);
    let matrix = matrix(&kernel, &table);
    let selected = |patterns: &[&str]| {
        let patterns: Vec<_> = patterns
            .iter()
            .map(|pattern| (*pattern).to_owned())
            .collect();
        let names =
            |variants: Vec<&Variant>| variants.iter().map(|v| v.name.clone()).collect::<Vec<_>>();
        matrix::select(&matrix, &patterns).map(names)
    };
    assert_eq!(
        selected(&["torch21?-*-cu130-*", "torch29-cxx11-cpu-x86_64-linux"]),
        Ok(vec![
            "torch29-cxx11-cpu-x86_64-linux".to_owned(),
            "torch211-cxx11-cu130-x86_64-linux".to_owned(),
            "torch212-cxx11-cu130-aarch64-linux".to_owned(),
        ])
    );
    let unknown = [
        "torch29-cxx11-cu12-x86_64-linux",
        "torch28-*",
        "*-cu131-*",
        "torch3*",
        "torch[",
        "quux",
    ];
    let words = unknown.map(|pattern| {
        let error = selected(&[pattern]).expect_err("no such variant");
        format!("{error}\n{}", error.help)
    });
    insta::assert_snapshot!("unknown", words.join("\n\n"));
}

/// `13.0` that became `13` on the way, or was compared as text with `9.9`, once dropped variants
/// without a word.
#[test]
fn bounds_include_both_ends() {
    let rows = [
        "2.9 cuda 12.9 x86_64-linux",
        "2.10 cuda 12.9 x86_64-linux",
        "2.10 cuda 13.0 x86_64-linux",
        "2.11 cuda 13 x86_64-linux",
        "2.11 cuda 13.2 x86_64-linux",
    ];
    let all = [
        "torch29-cxx11-cu129-x86_64-linux",
        "torch210-cxx11-cu129-x86_64-linux",
        "torch210-cxx11-cu130-x86_64-linux",
        "torch211-cxx11-cu130-x86_64-linux",
        "torch211-cxx11-cu132-x86_64-linux",
    ];
    let table = table(&rows);
    for (torch_bounds, cuda_bounds, kept) in [
        (("", ""), ("", ""), &all[..]),
        (("2.9", "2.11"), ("12.9", "13.2"), &all),
        (("", ""), ("13.0", ""), &all[2..]),
        (("", ""), ("13", ""), &all[2..]),
        (("", ""), ("", "13.0"), &all[..4]),
        (("", ""), ("", "13"), &all[..4]),
        (("", ""), ("9.9", "12.10"), &all[..2]),
        (("2.10", ""), ("", ""), &all[1..]),
        (("", "2.10"), ("", ""), &all[..3]),
        (("2.10", "2.10"), ("13.0", "13.0"), &all[2..3]),
        (("2.12", ""), ("", ""), &[]),
    ] {
        let mut kernel = cpu_and_cuda();
        torch(&mut kernel).bounds = bounds(torch_bounds.0, torch_bounds.1);
        kernel.cuda = bounds(cuda_bounds.0, cuda_bounds.1);
        let matrix = matrix(&kernel, &table);
        assert_eq!(
            built(&matrix),
            kept,
            "torch {torch_bounds:?} cuda {cuda_bounds:?}"
        );
        assert_eq!(matrix.excluded.len() + kept.len(), rows.len());
    }
}
