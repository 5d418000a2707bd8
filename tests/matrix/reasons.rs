//! Variants that are left out, and the reasons that a user reads.

use std::collections::BTreeSet;

use crate::common::kernel::{Sample, all_backends, cpu_and_cuda};
use kernel_builder::kernel::{Backend, Dependency, Kernel, KnownDependency, SectionBackend};
use kernel_builder::matrix::{self, Profile, matrix, other_releases};

use crate::{bounds, built, excluded, table, torch, torch_release};

/// Bounds on CUDA are of no concern to other backends.
#[test]
fn every_exclusion_has_its_reason() {
    let mut kernel = cpu_and_cuda();
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
    assert_eq!(torch_release(&matrix.variants[0]), "2.12");
    insta::assert_snapshot!("excluded", excluded(&matrix).join("\n"));
}

/// A kernel is right or wrong whatever can be built; what cannot be built yet is said here.
#[test]
fn what_cannot_be_built_yet_has_its_reason() {
    let table = table(&["2.11 cpu x86_64-linux", "2.11 cuda 13.0 x86_64-linux"]);
    let mut kernel = all_backends();
    for section in &mut kernel.sections {
        let library = Dependency::Known(KnownDependency::Cutlass4_0);
        section.depends.insert(library);
    }
    let matrix = matrix(&kernel, &table);
    assert!(built(&matrix).is_empty());
    insta::assert_snapshot!("not-yet", matrix.reasons().join("\n"));
}

/// Compilers make OpenMP code for different runtimes, and a process has but one: the others would
/// ignore pragmas, or bring threads of their own.
#[test]
fn openmp_that_torch_has_no_runtime_for_has_its_reason() {
    let flags = || vec!["-Xcompiler=-fopenmp".to_owned()];
    let mut kernel = all_backends();
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
    // g++ and Xcode's clang compile these.
    for variant in [
        "cpu-x86_64-linux",
        "cu130-x86_64-linux",
        "cpu-aarch64-darwin",
    ] {
        assert!(built.contains(variant), "{variant}: {built}");
    }

    // icpx compiles the binding of XPU.
    let mut kernel = all_backends();
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

/// One line names the variants whose absence may surprise the author.
#[test]
fn what_is_left_out_is_one_line_without_the_authors_own_bounds() {
    let mut kernel = all_backends();
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
    // A bound that leaves no variant of a backend is a mistake.
    kernel.sections[0].depends.clear();
    kernel.cuda = bounds("14.0", "");
    let line = left_out(&kernel).expect("a line");
    assert!(
        line.contains(" cuda variants: general.cuda.minver leaves none; "),
        "{line}"
    );
}

/// A library leaves out the rows of the sections that name it and of the profile that has no pins
/// of it, and no others.
#[test]
fn a_library_without_pins_leaves_out_its_backend_alone() {
    let table = matrix::table();
    let mut kernel = cpu_and_cuda();
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

/// A note names the release of a library if other builders use another release for the same word.
#[test]
fn a_library_of_another_release_is_said() {
    let mut kernel = cpu_and_cuda();
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

/// Code of an older clang with CUTLASS for sm_90a fails when it runs: its toolkit is left out, with
/// the key to change.
#[test]
fn cutlass_for_one_architecture_alone_needs_a_newer_clang() {
    let mut kernel = cpu_and_cuda();
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
