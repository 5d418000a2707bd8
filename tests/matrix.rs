//! Which variants a kernel is built for, what they are called, and why the others are not.

#[path = "common/kernel.rs"]
mod kernel;

use std::collections::BTreeSet;

use kernel_builder::kernel::{
    Backend, Bounds, Dependency, Framework, Kernel, KnownDependency, SectionBackend, Target, Torch,
};
use kernel_builder::matrix::{
    self, Excluded, Matrix, Profile, Table, Variant, matrix, other_releases,
};
use kernel_builder::version::Version;

use self::kernel::Sample;

/// A kernel for CPU and CUDA, without bounds.
fn sample() -> Kernel {
    let build_toml = r#"
[general]
name = "sample"
edition = 5
version = 1
license = "MIT"
backends = ["cpu", "cuda"]

[torch]
src = ["torch-ext/binding.cpp"]

[kernel.host]
backend = "cpu"
depends = []
src = ["csrc/host.cpp"]

[kernel.gpu]
backend = "cuda"
depends = []
src = ["csrc/gpu.cu"]
"#;
    Sample::new(build_toml, &[("csrc/host.cpp", ""), ("csrc/gpu.cu", "")]).kernel()
}

/// The same with a section for every backend that can have one.
fn for_all() -> Kernel {
    let mut kernel = sample();
    let rocm = SectionBackend::Rocm {
        targets: vec![Target {
            section: "host".to_owned(),
            archs: Vec::new(),
            minver: None,
        }],
        flags: Vec::new(),
    };
    let xpu = SectionBackend::Xpu { flags: Vec::new() };
    for backend in [rocm, xpu, SectionBackend::Metal] {
        let mut section = kernel.sections[0].clone();
        kernel.backends.insert(backend.backend());
        section.backend = backend;
        kernel.sections.push(section);
    }
    kernel
}

fn torch(kernel: &mut Kernel) -> &mut Torch {
    match &mut kernel.framework {
        Framework::Torch(torch) => torch,
        other => panic!("not a torch kernel: {other:?}"),
    }
}

fn bounds(minver: &str, maxver: &str) -> Bounds {
    let version = |text: &str| (!text.is_empty()).then(|| text.parse().expect("a version"));
    Bounds {
        minver: version(minver),
        maxver: version(maxver),
    }
}

/// A table of rows written as `<torch> <backend> [<compute>] <system>`.
fn table(rows: &[&str]) -> Table {
    let mut systems = BTreeSet::new();
    let mut row = |row: &&str| {
        let words: Vec<_> = row.split(' ').collect();
        let (torch, backend, compute, system) = match words[..] {
            [torch, backend, system] => (torch, backend, String::new(), system),
            [torch, backend, compute, system] => {
                (torch, backend, format!("compute = {compute:?}, "), system)
            }
            _ => panic!("not a row: {row}"),
        };
        systems.insert(system.to_owned());
        format!(
            "{{ torch = {torch:?}, backend = {backend:?}, {compute}system = {system:?}, \
             profile = \"registry\", bundle = true }},\n"
        )
    };
    let rows: String = rows.iter().map(&mut row).collect();
    let host = |system: &String| format!("{system} = {{ host = \"h\", policy = \"p\" }}\n");
    let hosts: String = systems.iter().map(host).collect();
    toml::from_str(&format!(
        "cuda = []\nrows = [\n{rows}]\n[host.registry]\n{hosts}[torch]\n[policy]\n"
    ))
    .expect("a table")
}

/// The torch release that a variant is built with.
fn torch_of(variant: &Variant) -> &str {
    let torch = variant.row().and_then(|row| row.torch());
    torch.expect("a torch row").as_str()
}

fn built(matrix: &Matrix) -> Vec<&str> {
    matrix.variants.iter().map(|v| v.name.as_str()).collect()
}

/// Rows of which some are left out, and why, one text per row of the table.
fn excluded(matrix: &Matrix) -> Vec<String> {
    let words = |Excluded { name, why, .. }: &Excluded| format!("{name}: {why}");
    matrix.excluded.iter().map(words).collect()
}

/// The client finds a variant by its name alone, so a name that is one character off is never loaded. The names on the
/// right are those of published kernels.
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
    let matrix = matrix(&for_all(), &table);
    assert_eq!(built(&matrix), names.map(|(_, name)| name));
}

/// Up to torch 2.6, its wheels had the C++ ABI of GCC 4: the client loads what says so, and nothing else.
#[test]
fn names_have_the_abi_of_their_row() {
    let names = |stable: bool| {
        let mut kernel = sample();
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
    // Of both, the stable ABI's library is built with one.
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
    let mut kernel = for_all();
    let abi: Version = "2.11".parse().expect("a version");
    let backends = [Backend::Cpu, Backend::Cuda, Backend::Rocm, Backend::Xpu];
    torch(&mut kernel).stable_abi = backends
        .map(|backend| (backend, Version::clone(&abi)))
        .into();
    let matrix = matrix(&kernel, &table(&rows.map(|(row, _)| row)));
    assert_eq!(built(&matrix), rows.map(|(_, name)| name));
}

/// `13.0` that became `13` on the way, or was compared as text with `9.9`, once dropped variants without a word.
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
        let mut kernel = sample();
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

/// Bounds on CUDA are of no concern to other backends.
#[test]
fn every_exclusion_has_its_reason() {
    let mut kernel = sample();
    kernel.cuda = bounds("12.6", "13.0");
    torch(&mut kernel).bounds = bounds("2.9", "2.13");
    torch(&mut kernel).stable_abi = [(Backend::Cpu, "2.10".parse().expect("a version"))].into();
    let table = table(&[
        "2.9 cpu x86_64-linux",
        "2.11 cpu x86_64-linux",
        "2.12 cpu x86_64-linux",
        "2.14 cpu x86_64-linux",
        "2.12 cuda 12.4 x86_64-linux",
        "2.12 cuda 13.0 x86_64-linux",
        "2.12 rocm 7.1 x86_64-linux",
    ]);
    let matrix = matrix(&kernel, &table);
    assert_eq!(
        built(&matrix),
        [
            "torch-stable-abi210-cpu-x86_64-linux",
            "torch212-cxx11-cu130-x86_64-linux"
        ]
    );
    assert_eq!(torch_of(&matrix.variants[0]), "2.12");
    insta::assert_snapshot!("excluded", excluded(&matrix).join("\n"));
}

/// The newest torch of each compute and system serves a stable ABI; another compute's torch may be newer or older.
#[test]
fn the_stable_abi_is_built_once_per_compute_and_system() {
    let mut kernel = sample();
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
        .map(|v| format!("{} from {}", v.name, torch_of(v)))
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

/// Of two variants with one name, Nix would silently build one.
#[test]
fn names_in_the_table_of_this_program_are_unique() {
    let mut stable = for_all();
    let abi = |backend: &Backend| (*backend, "2.9".parse().expect("a version"));
    torch(&mut stable).stable_abi = Backend::ALL.iter().map(abi).collect();
    for kernel in [for_all(), stable] {
        let matrix = matrix(&kernel, matrix::table());
        let mut names = built(&matrix);
        assert!(!names.is_empty());
        names.sort();
        let count = names.len();
        names.dedup();
        assert_eq!(names.len(), count, "{names:?}");
    }
}

/// A kernel is right or wrong whatever can be built; what cannot be built yet is said here.
#[test]
fn what_cannot_be_built_yet_has_its_reason() {
    let table = table(&["2.11 cpu x86_64-linux", "2.11 cuda 13.0 x86_64-linux"]);
    let mut kernel = for_all();
    for section in &mut kernel.sections {
        let library = Dependency::Known(KnownDependency::Cutlass4_0);
        section.depends.insert(library);
    }
    let matrix = matrix(&kernel, &table);
    assert!(built(&matrix).is_empty());
    insta::assert_snapshot!("not-yet", matrix.reasons().join("\n"));
}

/// Compilers make OpenMP code for different runtimes, and a process has but one: the others would ignore pragmas, or bring
/// threads of their own.
#[test]
fn openmp_that_torch_has_no_runtime_for_has_its_reason() {
    let flags = || vec!["-Xcompiler=-fopenmp".to_owned()];
    let mut kernel = for_all();
    for section in &mut kernel.sections {
        section.cxx_flags = flags();
        match &mut section.backend {
            SectionBackend::Cuda {
                flags: own,
                targets,
            } => {
                *own = flags();
                targets[0].minver = Some("12.8".parse().expect("a version"));
            }
            SectionBackend::Rocm { flags: own, .. } => *own = flags(),
            _ => {}
        }
    }
    let reasons = |kernel: &Kernel| {
        let matrix = matrix(kernel, matrix::table());
        let openmp = excluded(&matrix).into_iter();
        let mut openmp: Vec<_> = openmp.filter(|why| why.contains("OpenMP")).collect();
        openmp.retain(|why| why.contains("torch211-") || why.starts_with("tvm-ffi"));
        (openmp.join("\n"), built(&matrix).join(" "))
    };
    let (left_out, built) = reasons(&kernel);
    insta::assert_snapshot!("openmp", left_out);
    // What g++ and Xcode's clang compile.
    for variant in [
        "cpu-x86_64-linux",
        "cu130-x86_64-linux",
        "cpu-aarch64-darwin",
    ] {
        assert!(built.contains(variant), "{variant}: {built}");
    }

    // Of the binding: icpx compiles that of XPU.
    let mut kernel = for_all();
    torch(&mut kernel).cxx_flags = flags();
    let (left_out, built) = reasons(&kernel);
    assert!(
        left_out.contains("xpu20253-x86_64-linux: torch.cxx-flags"),
        "{left_out}"
    );
    assert!(
        !left_out.contains("-cu1") && built.contains("rocm72"),
        "{left_out}"
    );

    let build_toml = "[general]\nname = \"sample\"\nedition = 5\nversion = 1\nlicense = \"MIT\"\nbackends = [\"cpu\"]\n\
                      [tvm-ffi]\nsrc = [\"tvm-ffi-ext/binding.cpp\"]\n[kernel.host]\nbackend = \"cpu\"\ndepends = []\n\
                      src = [\"csrc/host.cpp\"]\ncxx-flags = [\"-fopenmp\"]\n";
    let files = [
        "tvm-ffi-ext/sample/__init__.py",
        "tvm-ffi-ext/binding.cpp",
        "csrc/host.cpp",
    ];
    let kernel = Sample::new(build_toml, &files.map(|file| (file, ""))).kernel();
    let (left_out, built) = reasons(&kernel);
    assert!(
        left_out.contains("tvm-ffi brings no OpenMP runtime"),
        "{left_out}"
    );
    assert_eq!(built, "");
}

/// A backend without a section is Python alone, beside compiled ones. The client looks for `torch-npu`, not `torch-cann`.
#[test]
fn backends_without_sections_are_noarch() {
    let mut kernel = sample();
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

/// Of two profiles that build a variant, the one that needs nothing but package indexes does.
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
    let matrix = matrix(&sample(), &table);
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

/// A kernel of which nothing is bundled would be built for nothing by default.
#[test]
fn where_nothing_is_bundled_the_best_of_each_backend_is() {
    let mut kernel = for_all();
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
    // With its CUDA variants, all is well.
    let cuda = bundled(&kernel);
    assert!(cuda.iter().all(|name| name.contains("-cu13")), "{cuda:?}");
    // Of older releases: what any index serves is better than what vendors serve.
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

/// One line of what the author may not expect to be missing.
#[test]
fn what_is_left_out_is_one_line_without_the_authors_own_bounds() {
    let mut kernel = for_all();
    kernel.backends = [Backend::Cpu, Backend::Cuda].into();
    kernel.sections.truncate(2);
    torch(&mut kernel).bounds = bounds("2.9", "");
    let left_out = |kernel: &Kernel| matrix(kernel, matrix::table()).left_out();
    assert_eq!(left_out(&kernel), None);
    let library = Dependency::Known(KnownDependency::MetalCpp);
    kernel.sections[0].depends.insert(library);
    let line = left_out(&kernel).expect("a line");
    assert!(line.starts_with("left out: "), "{line}");
    assert!(
        line.contains(
            " cuda variants: kernel.gpu.depends has metal-cpp, which has no pins: nobody has recorded its hash; `"
        ),
        "{line}"
    );
    assert_eq!(line.matches(" variants: ").count(), 1, "{line}");
    // A bound that leaves nothing of a backend is not what was meant.
    kernel.sections[0].depends.clear();
    kernel.cuda = bounds("14.0", "");
    let line = left_out(&kernel).expect("a line");
    assert!(
        line.contains(" cuda variants: general.cuda.minver leaves none; "),
        "{line}"
    );
}

/// Names, globs, and what is said of those that match nothing.
#[test]
fn variants_are_selected_by_name_and_by_glob() {
    let mut kernel = sample();
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

/// A library leaves out the rows of the sections that name it and of the profile that has no pins of it, and no others.
#[test]
fn a_library_without_pins_leaves_out_its_backend_alone() {
    let table = matrix::table();
    let mut kernel = sample();
    let everything = matrix(&kernel, table);
    let all = built(&everything);
    for (library, unpinned) in [
        (KnownDependency::Cutlass4_0, false),
        (KnownDependency::Cutlass2_10, true),
    ] {
        let section = kernel.sections.iter_mut();
        let section = section.filter(|section| section.backend.backend() == Backend::Cuda);
        let library = BTreeSet::from([Dependency::Known(library)]);
        section.for_each(|section| section.depends.clone_from(&library));
        let found = matrix(&kernel, table);
        assert!(other_releases(&kernel, &found, table).is_empty());
        let built = built(&found);
        let left_out = || all.iter().filter(|name| !built.contains(name));
        assert!(left_out().all(|name| unpinned && name.contains("-cu")));
        assert_eq!(left_out().count() > 0, unpinned);
        let rows = found.variants.iter().filter_map(|variant| variant.row());
        let mut cuda = rows.filter(|row| row.backend == Backend::Cuda);
        assert!(cuda.all(|row| !unpinned || row.profile == Profile::Vendor));
        let reasons = found.reasons();
        let because = "kernel.gpu.depends has cutlass_2_10, which has no pins: no package index has CUTLASS 2.10";
        assert_eq!(
            reasons.iter().any(|reason| reason == because),
            unpinned,
            "{reasons:?}"
        );
    }
}

/// Who compares builds has to know of a release that is not the one that the word means elsewhere.
#[test]
fn a_library_of_another_release_is_said() {
    let mut kernel = sample();
    let library = Dependency::Known(KnownDependency::Cutlass4_5);
    for section in &mut kernel.sections {
        if section.backend.backend() == Backend::Cuda {
            section.depends.insert(library.clone());
        }
    }
    let found = matrix(&kernel, matrix::table());
    let notes = other_releases(&kernel, &found, matrix::table());
    let expected = "kernel.gpu: cutlass_4_5 is release 4.5.0 here, 4.5.2 elsewhere";
    assert_eq!(notes, BTreeSet::from([expected.to_owned()]));
}

/// What an older clang makes of CUTLASS for sm_90a fails when it runs: its toolkit is left out, with the key to change.
#[test]
fn cutlass_for_one_architecture_alone_needs_a_newer_clang() {
    let mut kernel = sample();
    for section in &mut kernel.sections {
        if let SectionBackend::Cuda { targets, .. } = &mut section.backend {
            let capabilities = ["8.0", "9.0a"].map(|text| text.parse().expect("one"));
            targets[0].archs = capabilities.to_vec();
            let library = Dependency::Known(KnownDependency::Cutlass3_8);
            section.depends = BTreeSet::from([library]);
        }
    }
    let found = matrix(&kernel, matrix::table());
    let names = built(&found);
    let has = |name: &str| names.contains(&name);
    assert!(!has("torch27-cxx11-cu126-x86_64-linux"));
    // It does not know sm_90a: what is left of the list needs nothing of clang.
    assert!(has("torch27-cxx11-cu118-x86_64-linux"));
    assert!(has("torch29-cxx11-cu128-x86_64-linux") && has("torch211-cxx11-cu130-x86_64-linux"));
    let because = "kernel.gpu.cuda-capabilities has 9.0a, and the clang that compiles CUDA 12.6 is too old for cutlass_3_8 on it";
    assert!(
        found.reasons().iter().any(|reason| reason == because),
        "{:?}",
        found.reasons()
    );
}
