//! Plans: from a kernel's folder to what build.nix will say, and the facts that Rust and Nix must agree on.

#[path = "common/kernel.rs"]
mod kernel;
#[path = "common/nix.rs"]
mod nix;

use self::kernel::Sample;
use camino::Utf8Path;
use kernel_builder::emit::nix::string;
use kernel_builder::kernel::Kernel;
use kernel_builder::matrix::{Matrix, matrix, table};
use kernel_builder::pins::{Family, Pin};
use kernel_builder::plan::id::Identity;
use kernel_builder::plan::{
    Driver, Namespace, NoarchPlan, Plan, PlanError, UnitGroup, VariantPlan, plan,
};

const REPOSITORY: &str = env!("CARGO_MANIFEST_DIR");

/// A kernel for CUDA only, less its sections.
const CUDA: &str = r#"
[general]
name = "sample"
edition = 5
version = 1
license = "MIT"
backends = ["cuda"]

[torch]
src = ["torch-ext/binding.cpp"]
"#;

/// A kernel's variants of one release, less those of other systems.
fn some(kernel: &Kernel) -> Matrix {
    let mut matrix = matrix(kernel, table());
    matrix.variants.retain(|variant| {
        variant.row.as_ref().is_none_or(|row| {
            let release = row
                .torch
                .as_ref()
                .is_none_or(|torch| torch.as_str() == "2.11");
            let compute = row
                .compute
                .as_ref()
                .is_none_or(|compute| compute.as_str() == "13.0");
            row.system == "x86_64-linux" && release && compute
        })
    });
    matrix
}

fn try_plan(sample: &Sample) -> Result<Plan, PlanError> {
    let kernel = sample.kernel();
    plan(&kernel, &some(&kernel), table())
}

/// The plan of a kernel for one backend, and its variant.
fn only(sample: &Sample) -> (Plan, VariantPlan) {
    let plan = try_plan(sample).expect("a plan");
    let [variant] = &plan.variants[..] else {
        panic!("{} variants", plan.variants.len());
    };
    let variant = whole(&plan, variant);
    (plan, variant)
}

/// A variant with all of its units, its own and those that it shares.
fn whole(plan: &Plan, variant: &VariantPlan) -> VariantPlan {
    let mut whole = variant.clone();
    for (whole, component) in whole.components.iter_mut().zip(&variant.components) {
        whole.units = plan.units(component).cloned().collect();
        whole
            .units
            .sort_by_key(|group| (group.driver, group.namespace, group.framework));
        whole.shared.clear();
    }
    whole
}

/// The groups of one component.
fn groups<'a>(variant: &'a VariantPlan, component: &str) -> &'a [UnitGroup] {
    let mut components = variant.components.iter();
    let found = components.find(|found| found.name == component);
    &found.expect("a component").units
}

/// What nvcc is told to generate for a component, in one piece or in parts.
fn gencode(variant: &VariantPlan, component: &str) -> Vec<String> {
    let group = &groups(variant, component)[0];
    let mut flags = group.flags.clone();
    for part in group.split.iter().flat_map(|split| &split.archs) {
        flags.extend(part.flags.iter().chain(&part.ptx).cloned());
    }
    let pairs = flags.windows(2).filter(|pair| pair[0] == "-gencode");
    pairs.map(|pair| pair[1].clone()).collect()
}

#[test]
fn examples() {
    for example in ["relu", "relu-tvm-ffi", "silu-and-mul"] {
        let plan = example_plan(example);
        assert!(plan.notes.is_empty(), "{:?}", plan.notes);
        for variant in &plan.variants {
            let json = serde_json::to_string_pretty(&whole(&plan, variant)).expect("JSON");
            insta::assert_snapshot!(variant.variant.clone(), json);
        }
        // The others differ in the name of the backend.
        for variant in plan.noarch.iter().take(1) {
            let json = serde_json::to_string_pretty(variant).expect("JSON");
            insta::assert_snapshot!(variant.variant.clone(), json);
        }
    }
}

fn example_plan(example: &str) -> Plan {
    let root = Utf8Path::new(REPOSITORY).join("examples").join(example);
    let kernel = Kernel::load(&root).expect("an example").kernel;
    plan(&kernel, &some(&kernel), table()).expect("a plan")
}

/// Compiled for one backend, Python alone on others: an author's Triton code for GPUs that he has no compiler for.
#[test]
fn a_kernel_may_be_compiled_for_some_backends_only() {
    let sample = mixed();
    let (plan, variant) = only(&sample);
    assert_eq!(variant.variant, "torch211-cxx11-cu130-x86_64-linux");
    let names: Vec<_> = plan.noarch.iter().map(|v| v.variant.as_str()).collect();
    assert_eq!(names, ["torch-npu", "torch-xpu"]);
    let types = plan.noarch.iter().map(|v| v.metadata.backend.r#type);
    assert_eq!(types.collect::<Vec<_>>(), ["cann", "xpu"]);

    // What is compiled for one backend is no part of the builds for others.
    let ids = |plan: &Plan| -> Vec<String> {
        let root = sample.kernel().root;
        let id = |v: &NoarchPlan| v.id.id(&root, &plan.python).expect("an id");
        plan.noarch.iter().map(id).collect()
    };
    let before = ids(&plan);
    sample.write("csrc/gpu.cu", "// new\n");
    sample.write("build.toml", &format!("{MIXED}cuda-flags = [\"-O1\"]\n"));
    assert_eq!(ids(&only(&sample).0), before);
    sample.write("torch-ext/sample/__init__.py", "new = 1\n");
    assert_ne!(ids(&only(&sample).0), before);
}

const MIXED: &str = r#"
[general]
name = "sample"
edition = 5
version = 1
license = "MIT"
backends = ["cuda", "xpu", "cann"]

[torch]
src = ["torch-ext/binding.cpp"]

[kernel.gpu]
backend = "cuda"
depends = []
src = ["csrc/gpu.cu"]
"#;

fn mixed() -> Sample {
    Sample::new(MIXED, &[("csrc/gpu.cu", "")])
}

/// Nothing says at build time for which GPUs Python will compile, so build.toml may.
#[test]
fn architectures_of_python_come_from_build_toml() {
    let sample = Sample::new(
        r#"
[general]
name = "sample"
edition = 5
version = 1
license = "MIT"
backends = ["cpu", "cuda", "rocm"]

[torch-noarch]
cuda-capabilities = ["9.0", "8.0"]
rocm-archs = ["gfx942"]
"#,
        &[],
    );
    let plan = try_plan(&sample).expect("a plan");
    let archs = plan.noarch.iter().map(|v| v.metadata.backend.archs.clone());
    assert_eq!(
        archs.collect::<Vec<_>>(),
        [vec![], vec!["8.0", "9.0"], vec!["gfx942"]]
    );
}

/// _ops.py of a tvm-ffi kernel imports a package that the client can ask for before it does, so it is listed, once.
#[test]
fn tvm_ffi_kernels_depend_on_tvm_ffi() {
    let build_toml = |depends: &str| {
        format!(
            r#"
[general]
name = "sample"
edition = 5
version = 1
license = "MIT"
backends = ["cpu"]
python-depends = {depends}

[tvm-ffi]
src = ["csrc/binding.cpp"]

[kernel.host]
backend = "cpu"
depends = []
src = ["csrc/host.cpp"]
"#
        )
    };
    let sample = Sample::new(
        &build_toml("[]"),
        &[
            ("tvm-ffi-ext/sample/__init__.py", ""),
            ("csrc/binding.cpp", "TVM_FFI_EXTENSION_NAME"),
            ("csrc/host.cpp", "// TVM_FFI_EXTENSION_NAME"),
        ],
    );
    for (depends, expected) in [
        ("[]", vec!["tvm-ffi"]),
        (r#"["einops"]"#, vec!["einops", "tvm-ffi"]),
        (r#"["tvm-ffi", "einops"]"#, vec!["tvm-ffi", "einops"]),
    ] {
        sample.write("build.toml", &build_toml(depends));
        let variant = only(&sample).1;
        assert_eq!(variant.metadata.python_depends, expected, "{depends}");
        assert_eq!(
            groups(&variant, "tvm-ffi")[0].namespace,
            Namespace::Compiled
        );
        assert_eq!(groups(&variant, "host")[0].namespace, Namespace::None);
    }
}

/// What is compiled and linked for each backend, in full for the newest toolkit of each, and that no row lacks a plan.
#[test]
fn every_backend() {
    let fixture = Utf8Path::new(REPOSITORY).join("tests/fixtures/all-backends");
    let kernel = Kernel::load(&fixture).expect("a fixture").kernel;
    let matrix = matrix(&kernel, table());
    assert!(matrix.without_toolchain.is_empty());
    let plan = plan(&kernel, &matrix, table()).expect("a plan");
    assert_eq!(plan.variants.len(), matrix.variants.len());
    for name in [
        "torch213-cpu-aarch64-darwin",
        "torch213-cxx11-rocm72-x86_64-linux",
        "torch213-cxx11-xpu20260-x86_64-linux",
        "torch213-metal-aarch64-darwin",
    ] {
        let mut variants = plan.variants.iter();
        let variant = variants.find(|variant| variant.variant == name);
        let variant = whole(&plan, variant.expect(name));
        let json = serde_json::to_string_pretty(&variant).expect("JSON");
        insta::assert_snapshot!(name, json);
    }
}

/// The reference passes flags for C++ to every backend but ROCm.
#[test]
fn flags_of_rocm_sections_reach_hip_and_cxx() {
    let sample = Sample::new(
        &format!(
            "{}\n[kernel.relu]\nbackend = \"rocm\"\ndepends = []\nsrc = [\"a.hip\", \"b.cpp\"]\n\
             cxx-flags = [\"-DCXX\"]\nhip-flags = [\"-DHIP\"]\nrocm-archs = [\"gfx942\", \"gfx906\"]\n",
            CUDA.replace("cuda", "rocm")
        ),
        &[("a.hip", ""), ("b.cpp", "")],
    );
    let kernel = sample.kernel();
    let plan = plan(&kernel, &matrix(&kernel, table()), table()).expect("a plan");
    let variant = &whole(&plan, plan.variants.last().expect("a variant"));
    let of = |driver| {
        let mut found = groups(variant, "relu").iter();
        &found
            .find(|group| group.driver == driver)
            .expect("units")
            .flags
    };
    let archs = ["--offload-arch=gfx906", "--offload-arch=gfx942", "-DHIP"];
    assert!(of(Driver::Hip).ends_with(&archs.map(str::to_owned)));
    assert_eq!(of(Driver::Gxx).last().expect("flags"), "-DCXX");
    assert!(!of(Driver::Gxx).iter().any(|flag| flag.contains("gfx")));
    assert_eq!(variant.metadata.backend.archs, ["gfx906", "gfx942"]);
}

/// ROCm 6 does not know every GPU of today, ROCm 7 not every one of old.
#[test]
fn rocm_compiles_what_it_knows() {
    let section = |archs: &str| {
        Sample::new(
            &format!(
                "{}\n[kernel.relu]\nbackend = \"rocm\"\ndepends = []\nsrc = [\"a.hip\"]\nrocm-archs = [{archs}]\n",
                CUDA.replace("cuda", "rocm")
            ),
            &[("a.hip", "")],
        )
    };
    let names = |archs: &str| {
        let sample = section(archs);
        let kernel = sample.kernel();
        let matrix = matrix(&kernel, table());
        let plan = plan(&kernel, &matrix, table()).expect("a plan");
        let excluded = matrix
            .excluded
            .iter()
            .map(|excluded| excluded.why.to_string());
        let mut why: Vec<String> = excluded.filter(|why| why.contains("ROCm")).collect();
        why.dedup();
        let six = plan
            .variants
            .iter()
            .any(|variant| variant.variant.contains("rocm63"));
        (six, why, plan.notes)
    };
    let (six, why, _) = names("\"gfx950\"");
    assert!(!six);
    assert_eq!(
        why,
        [
            "ROCm 6.3 compiles nothing of kernel.relu.rocm-archs (gfx950)",
            "ROCm 6.4 compiles nothing of kernel.relu.rocm-archs (gfx950)"
        ]
    );
    let (six, why, notes) = names("\"gfx90a\", \"gfx950\"");
    assert!(six && why.is_empty());
    assert_eq!(
        notes[0],
        "ROCm 6.3: kernel.relu is not compiled for gfx950, which it does not know"
    );
}

#[test]
fn each_section_has_its_own_capabilities() {
    let sample = Sample::new(
        &format!(
            r#"{CUDA}
[kernel.new]
backend = "cuda"
depends = []
src = ["csrc/new.cu"]
cuda-capabilities = ["7.0", "9.0a", "10.0+PTX"]

[kernel.old]
backend = "cuda"
depends = []
src = ["csrc/old.cu"]
cuda-capabilities = ["8.0"]
"#
        ),
        &[("csrc/new.cu", ""), ("csrc/old.cu", "")],
    );
    let (plan, variant) = only(&sample);
    assert_eq!(
        gencode(&variant, "new"),
        [
            "arch=compute_90a,code=sm_90a",
            "arch=compute_100,code=sm_100",
            "arch=compute_100,code=compute_100",
        ]
    );
    assert_eq!(gencode(&variant, "old"), ["arch=compute_80,code=sm_80"]);
    assert_eq!(variant.metadata.backend.archs, ["8.0", "9.0a", "10.0+PTX"]);
    assert_eq!(variant.link.archs, ["8.0", "9.0a", "10.0+PTX"]);
    assert_eq!(
        plan.notes,
        ["CUDA 13.0: kernel.new is not compiled for 7.0, which it does not know"]
    );
}

/// A section without any architecture would be compiled for nvcc's default one, which is nobody's GPU.
#[test]
fn toolkits_that_compile_nothing_of_a_section_are_left_out() {
    let sample = Sample::new(
        &format!(
            "{CUDA}\n[kernel.old]\nbackend = \"cuda\"\ndepends = []\nsrc = [\"csrc/old.cu\"]\n\
             cuda-capabilities = [\"6.0\", \"7.0+PTX\"]\n"
        ),
        &[("csrc/old.cu", "")],
    );
    let kernel = sample.kernel();
    let matrix = matrix(&kernel, table());
    let toolkits = matrix
        .variants
        .iter()
        .filter_map(|variant| variant.row.as_ref());
    let mut toolkits = toolkits.filter_map(|row| row.compute.as_ref());
    assert!(toolkits.all(|toolkit| !toolkit.as_str().starts_with("13.")));
    insta::assert_snapshot!("no-capability", matrix.reasons().join("\n"));
}

#[test]
fn a_section_for_newer_toolkits_is_left_out() {
    let sample = Sample::new(
        &format!(
            r#"{CUDA}
[kernel.later]
backend = "cuda"
depends = []
src = ["csrc/later.cu"]
cuda-capabilities = ["12.0"]
cuda-minver = "13.1"

[kernel.now]
backend = "cuda"
depends = []
src = ["csrc/now.cu"]
cuda-capabilities = ["9.0"]
cuda-minver = "13.0"
"#
        ),
        &[("csrc/later.cu", ""), ("csrc/now.cu", "")],
    );
    let (plan, variant) = only(&sample);
    let names: Vec<_> = variant.components.iter().map(|c| c.name.as_str()).collect();
    assert_eq!(names, ["torch", "now"]);
    // Nor does what is left out count anywhere else.
    assert_eq!(variant.metadata.backend.archs, ["9.0"]);
    assert!(!variant.id.files.contains(&"csrc/later.cu".to_owned()));
    assert_eq!(
        plan.notes,
        ["CUDA 13.0: kernel.later is left out: its cuda-minver is 13.1"]
    );
}

/// The author's flags come last, so that they win, in the order written, and each reaches its own compiler only.
#[test]
fn flags_go_to_their_compiler_in_order() {
    let sample = Sample::new(
        &format!(
            r#"{}
cxx-flags = ["-O1", "-DB", "-DA"]

[kernel.mixed]
backend = "cuda"
depends = []
src = ["csrc/a.cu", "csrc/b.cpp", "csrc/c.c", "csrc/d.cpp"]
cxx-flags = ["-O2", "-O0"]
cuda-flags = ["--use_fast_math", "-Xptxas", "-v"]
"#,
            CUDA.trim_end()
        ),
        &[
            ("csrc/a.cu", ""),
            ("csrc/b.cpp", ""),
            ("csrc/c.c", ""),
            ("csrc/d.cpp", ""),
        ],
    );
    let (_, variant) = only(&sample);
    let mixed = groups(&variant, "mixed");
    let sources: Vec<_> = mixed.iter().map(|group| group.sources.clone()).collect();
    assert_eq!(
        sources,
        [
            vec!["csrc/c.c"],
            vec!["csrc/b.cpp", "csrc/d.cpp"],
            vec!["csrc/a.cu"]
        ]
    );
    assert!(mixed[1].flags.ends_with(&["-O2", "-O0"].map(str::to_owned)));
    let device = ["--use_fast_math", "-Xptxas", "-v"].map(str::to_owned);
    assert!(mixed[2].flags.ends_with(&device));
    let torch = &groups(&variant, "torch")[0].flags;
    assert!(torch.ends_with(&["-O1", "-DB", "-DA"].map(str::to_owned)));
    // A C++ standard is an error to a C compiler, and neither kind of own flag is meant for it.
    insta::assert_snapshot!("c-flags", mixed[0].flags.join("\n"));
}

/// The files that a source of a plan reaches, as build.nix has them.
fn reached(plan: &Plan, include: &[&str], source: &str) -> Vec<String> {
    let mut searches = plan.searches.iter();
    let search = searches.find(|search| search.include == include);
    let search = search.expect("a search");
    let mut reached = vec![source.to_owned()];
    let mut at = 0;
    while let Some(file) = reached.get(at) {
        for included in search.includes.get(file).into_iter().flatten() {
            if !reached.contains(included) {
                reached.push(included.clone());
            }
        }
        at += 1;
    }
    let headers = &search
        .reach(Utf8Path::new(source))
        .expect("a source")
        .headers;
    reached.remove(0);
    reached.sort();
    assert_eq!(&reached, headers);
    reached
}

/// Every header that a unit may include has to be in its sandbox, and no other file: each one more compiles it again.
#[test]
fn units_have_the_headers_that_they_reach() {
    let sample = Sample::new(
        &format!(
            r#"{}
include = ["include", "."]

[kernel.gpu]
backend = "cuda"
depends = []
src = ["csrc/a.cu", "csrc/b.cu", "csrc/data/weights.bin"]
include = ["include"]
"#,
            CUDA.trim_end()
        ),
        &[
            (
                "csrc/a.cu",
                "#include \"x.h\"\n#include <y.h>\n#include \"../top.h\"\n#include <cuda_fp16.h>\n\
                 #include \"data/weights.bin\"\n#include \"b.cu\"\n#include \"../../outside.h\"",
            ),
            ("csrc/b.cu", "#include \"b.cu\"\n#include \"/etc/passwd\""),
            ("csrc/data/weights.bin", "1, 2"),
            ("csrc/x.h", "#include \"deep/z.h\""),
            ("csrc/deep/z.h", "#include \"x.h\"\n#include \"w.h\""),
            ("csrc/unused.h", ""),
            ("csrc/y.h", ""),
            ("include/sibling.h", "#pragma once"),
            ("include/w.h", ""),
            ("include/x.h", ""),
            ("include/y.h", "#include \"sibling.h\""),
            ("top.h", ""),
            // Left behind by builds, version control and environments.
            ("build/old/stale.h", ""),
            (".git/hook.h", ""),
            ("venv/include/python.h", ""),
        ],
    );
    let (plan, variant) = only(&sample);
    let folders = ["include", "csrc"];
    let expected = [
        "csrc/b.cu",
        "csrc/data/weights.bin",
        "csrc/deep/z.h",
        "csrc/x.h",
        "include/sibling.h",
        "include/w.h",
        // Not csrc/x.h: only the folder of the including file is searched first.
        "include/x.h",
        "include/y.h",
        "top.h",
    ];
    assert_eq!(reached(&plan, &folders, "csrc/a.cu"), expected);
    assert!(reached(&plan, &folders, "csrc/b.cu").is_empty());
    assert!(plan.notes.is_empty(), "{:?}", plan.notes);
    assert!(!variant.id.files.contains(&"csrc/unused.h".to_owned()));

    // What only the preprocessor knows may be any header.
    sample.write("csrc/deep/z.h", "#include CONFIG");
    let (plan, _) = only(&sample);
    let all = reached(&plan, &folders, "csrc/a.cu");
    assert!(all.contains(&"csrc/unused.h".to_owned()), "{all:?}");
    assert!(reached(&plan, &folders, "csrc/b.cu").is_empty());
    assert_eq!(
        plan.notes,
        [
            "csrc/deep/z.h includes what only the preprocessor knows: units that include it are compiled again when any \
             header changes"
        ]
    );
    // `.` is a folder like others, less what is left behind there.
    sample.write("torch-ext/binding.cpp", "#include CONFIG");
    let (plan, _) = only(&sample);
    let all = reached(&plan, &["include", ".", "csrc"], "torch-ext/binding.cpp");
    let mut expected = vec![
        "csrc/data/weights.bin",
        "csrc/deep/z.h",
        "csrc/unused.h",
        "csrc/x.h",
        "csrc/y.h",
        "include/sibling.h",
        "include/w.h",
        "include/x.h",
        "include/y.h",
        "top.h",
    ];
    assert_eq!(all, expected);

    // So may what a flag brings.
    sample.write("torch-ext/binding.cpp", "");
    sample.write("csrc/deep/z.h", "");
    let build_toml = std::fs::read_to_string(sample.kernel().root.join("build.toml"));
    let flags = "cuda-flags = [\"-include\", \"csrc/y.h\"]\n";
    sample.write("build.toml", &(build_toml.expect("build.toml") + flags));
    let (plan, _) = only(&sample);
    expected.retain(|header| *header != "top.h");
    assert_eq!(reached(&plan, &folders, "csrc/b.cu"), expected);
    assert_eq!(
        plan.notes,
        [
            "kernel.gpu has the flag -include: each of its files is compiled again when any header changes"
        ]
    );
}

/// A link would point at nothing where a unit is compiled, or at the machine.
#[test]
fn headers_that_are_links_are_refused() {
    let sample = Sample::new(
        &format!(
            "{CUDA}\n[kernel.gpu]\nbackend = \"cuda\"\ndepends = []\nsrc = [\"csrc/gpu.cu\"]\n"
        ),
        &[("csrc/gpu.cu", ""), ("other/a.h", "")],
    );
    let root = sample.kernel().root;
    std::os::unix::fs::symlink("../other", root.join("csrc/linked")).expect("a link");
    only(&sample);
    for include in ["#include \"linked/a.h\"", "#include COMPUTED"] {
        sample.write("csrc/gpu.cu", include);
        let error = try_plan(&sample).expect_err(include);
        assert!(matches!(error, PlanError::Link { path } if path == "csrc/linked"));
    }
}

/// A unit that reaches nothing of torch is the same for all of its releases: nothing that differs between them may reach
/// its flags.
#[test]
fn units_without_torch_know_nothing_of_its_release() {
    let section = "\n[kernel.gpu]\nbackend = \"cuda\"\ndepends = []\nsrc = [\"csrc/gpu.cu\", \"csrc/host.cpp\"]\n\
                   cxx-flags = [\"-DMINE\"]\n";
    let sample = Sample::new(
        &format!("{CUDA}{section}"),
        &[
            ("csrc/gpu.cu", "#include <cuda_fp16.h>\n"),
            ("csrc/host.cpp", "#include <vector>\n#include \"maybe.h\"\n"),
            ("csrc/maybe.h", ""),
        ],
    );
    // Of two releases that differ in their C++ standard, for one toolkit.
    let gpu = || {
        let kernel = sample.kernel();
        let matrix = matrix(&kernel, table());
        let plan = plan(&kernel, &matrix, table()).expect("a plan");
        ["torch211", "torch213"].map(|release| {
            let name = format!("{release}-cxx11-cu130-x86_64-linux");
            let mut variants = plan.variants.iter();
            let variant = variants.find(|variant| variant.variant == name);
            groups(&whole(&plan, variant.expect("a variant")), "gpu").to_vec()
        })
    };
    let json = |groups: &[UnitGroup]| serde_json::to_value(groups).expect("JSON");
    let [old, new] = gpu();
    assert_eq!(json(&old), json(&new));
    assert!(old.iter().all(|group| !group.framework && !group.is_slow()));
    let host = &old[0].flags;
    for flag in ["-DCUDA_KERNEL", "-DUSE_CUDA=1", "-DMINE", "-std=gnu++17"] {
        assert!(host.iter().any(|found| found == flag), "{flag}: {host:?}");
    }
    assert!(
        !host.iter().any(|flag| flag.contains("USE_RPC")),
        "{host:?}"
    );

    for (text, torch) in [
        ("#include <torch/all.h>", true),
        ("#include <ATen/ATen.h>", true),
        ("#include <c10/cuda/CUDAStream.h>", true),
        ("#include <Python.h>", true),
        ("#include \"registration.h\"", true),
        ("#ifdef USE_RPC", true),
        ("#include COMPUTED", true),
        ("#include <cub/cub.cuh>", false),
        ("// torch/all.h", false),
    ] {
        sample.write("csrc/maybe.h", text);
        let [old, new] = gpu();
        assert_eq!(old[0].framework, torch, "{text}");
        assert_eq!(json(&old[..1]) != json(&new[..1]), torch, "{text}");
        // The other unit does not include it.
        assert_eq!(json(&old[1..]), json(&new[1..]), "{text}");
    }
    sample.write("csrc/gpu.cu", "#include <torch/all.h>\n");
    let slow = gpu()[0].iter().filter(|group| group.is_slow()).count();
    assert_eq!(slow, 1);
}

#[test]
fn device_code_with_headers_of_torch_or_of_libraries_is_heavy() {
    let section = "[kernel.units]\nbackend = \"cuda\"\ndepends = [\"torch\"]\n\
                   src = [\"cub.cu\", \"plain.cu\", \"torch.cpp\", \"torch.cu\"]\n";
    let sample = Sample::new(
        &format!("{CUDA}{section}"),
        &[
            ("cub.cu", "#include <cub/cub.cuh>\n"),
            ("plain.cu", "#include <cuda_fp16.h>\n"),
            ("torch.cpp", "#include <torch/all.h>\n"),
            ("torch.cu", "#include <torch/all.h>\n"),
        ],
    );
    let (_, variant) = only(&sample);
    let mut heavy: Vec<&str> = groups(&variant, "units")
        .iter()
        .filter(|group| group.heavy)
        .flat_map(|group| group.sources.iter().map(String::as_str))
        .collect();
    heavy.sort_unstable();
    assert_eq!(heavy, ["cub.cu", "torch.cu"]);
}

/// A build refuses files that the plan does not know, by the same digests.
#[test]
fn rust_and_the_shell_compute_the_same_digests() {
    let texts = [
        "",
        "\n",
        "#include \"a.h\"",
        "#include \"a.h\"\r\n\r\n",
        "#inc\\\nlude \"a.h\"\n#include \\ \t\r\n <b.h>\n",
        "// a \\\\\n\n#include <c>\n\\",
        "int x; /* #include */ // ends in \\\n #include <d>  \t\r\u{c}\nint include;\n",
        "%:import <e>\n#  if __has_include(<f>)\nasm(\".incbin \\\"g\\\"\");\n#pragma once",
        "PYBIND11_MODULE(TORCH_EXTENSION_NAME, m)\n#ifdef USE_RPC\nPy_LIMITED_API\nTORCH_LIBRARY_EXPAND\n",
        "\u{e4} # \u{2028} include \u{a0}\n#embed \u{1f980}\\",
    ];
    let source = |at: usize| format!("csrc/a {at}=$.cpp");
    let files: Vec<_> = texts.iter().enumerate().collect();
    let files: Vec<(String, &str)> = files
        .iter()
        .map(|(at, text)| (source(*at), **text))
        .collect();
    let list: Vec<String> = files.iter().map(|file| string(&file.0)).collect();
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (&**path, *text)).collect();
    let sample = Sample::new(
        &format!(
            "{CUDA}\n[kernel.gpu]\nbackend = \"cuda\"\ndepends = []\nsrc = [{}]\n",
            list.join(", ").replace("\\$", "$")
        ),
        &files,
    );
    let (plan, _) = only(&sample);
    let root = sample.kernel().root;
    let recorded = |wrong: &str| {
        let files = &plan.searches[0].digests;
        assert!(files.len() >= texts.len(), "{files:?}");
        let line = |(path, digest): (&String, &String)| match path == wrong {
            true => format!("0000000000000000 {path}\n"),
            false => format!("{digest} {path}\n"),
        };
        files.iter().skip(1).map(line).collect::<String>()
    };
    let first = plan.searches[0]
        .digests
        .keys()
        .next()
        .expect("a file")
        .clone();
    let check = |wrong: &str| {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let list = dir.path().join("list");
        std::fs::write(&list, recorded(wrong)).expect("written");
        let work = dir.path().join("kernel");
        let copied = std::process::Command::new("cp")
            .arg("-r")
            .arg(&root)
            .arg(&work)
            .status();
        assert!(copied.expect("cp").success());
        let output = std::process::Command::new("bash")
            .args(["-euo", "pipefail", "-c"])
            .arg("fail() { printf '%s\n' \"$*\" && exit 1; }; . \"$0\"")
            .arg(format!("{REPOSITORY}/nix/kernel/includes.sh"))
            .current_dir(work)
            .env("source", &first)
            .env("digests", &plan.searches[0].digests[&first])
            .env("headerTree", "all others")
            .env("headerDigests", list)
            .output()
            .expect("bash");
        String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
    };
    assert_eq!(check(""), "");
    let words = check(&source(3));
    assert!(
        words.starts_with(&source(3)) && words.contains("kernel-builder generate"),
        "{words}"
    );
}

/// Units that know the op namespace compile again with every change of the kernel; the others do not.
#[test]
fn only_units_that_use_the_namespace_know_it() {
    use Namespace::{Compiled, Linked, None};
    let section = "\n[kernel.gpu]\nbackend = \"cuda\"\ndepends = []\nsrc = [\"csrc/gpu.cu\", \"csrc/ops.cpp\"]\n";
    let sample = Sample::new(
        &format!("{CUDA}{section}"),
        &[
            ("csrc/gpu.cu", ""),
            ("csrc/ops.cpp", "#include \"registration.h\"\n"),
        ],
    );
    let namespaces = || {
        let (_, variant) = only(&sample);
        let of = |component| {
            groups(&variant, component)
                .iter()
                .map(|group| group.namespace)
                .collect::<Vec<_>>()
        };
        [of("torch"), of("gpu")]
    };
    assert_eq!(namespaces(), [vec![None], vec![Linked, None]]);
    sample.write(
        "torch-ext/binding.cpp",
        "TORCH_LIBRARY_EXPAND(TORCH_EXTENSION_NAME, ops) {}\n",
    );
    assert_eq!(namespaces(), [vec![Linked], vec![Linked, None]]);
    // A header brings it to who includes it.
    sample.write("csrc/ops.h", "#define NAME TORCH_EXTENSION_NAME\n");
    assert_eq!(namespaces(), [vec![Linked], vec![Linked, None]]);
    sample.write("csrc/gpu.cu", "#include \"ops.h\"\n");
    assert_eq!(namespaces(), [vec![Linked], vec![Linked, Compiled]]);
}

/// The ids of a plan's variants, as this program computes them.
fn ids_of_rust(plan: &Plan, root: &Utf8Path) -> serde_json::Value {
    let compiled = plan.variants.iter().map(|v| (&v.variant, &v.id));
    let noarch = plan.noarch.iter().map(|v| (&v.variant, &v.id));
    let id = |id: &Identity| id.id(root, &plan.python).expect("an id");
    compiled
        .chain(noarch)
        .map(|(name, identity)| (name.clone(), id(identity).into()))
        .collect::<serde_json::Map<_, _>>()
        .into()
}

/// The same as Nix computes them, from the build.nix of the plan.
fn ids_of_nix(plan: &Plan, root: &Utf8Path) -> serde_json::Value {
    let build_nix = kernel_builder::emit::nix::build_nix(plan).expect("build.nix");
    let dir = tempfile::tempdir().expect("a temporary folder");
    let file = Utf8Path::from_path(dir.path()).expect("a UTF-8 path");
    let file = file.join("build.nix");
    std::fs::write(&file, build_nix).expect("written");
    nix::evaluate(&format!(
        r#"
        let
          id = kernel: variant: {{
            name = variant.variant;
            value = (import (/. + {0} + "/content.nix") {{
              inherit (kernel) name python;
              sources = import (/. + {0} + "/sources.nix") (kernel // {{ root = /. + {1}; }});
            }} variant.id).namespace;
          }};
        in
        builtins.listToAttrs (import (/. + {2}) {{
          kernelBuilder = {{
            kernel = {{ variants, ... }}: variants;
            torchExtension = id;
            torchNoarch = id;
            tvmFfiExtension = id;
          }};
        }})
        "#,
        string(&format!("{REPOSITORY}/nix/kernel")),
        string(root.as_str()),
        string(file.as_str()),
    ))
}

#[test]
fn rust_and_nix_compute_the_same_id_of_every_kind_of_variant() {
    for example in ["relu-tvm-ffi", "silu-and-mul"] {
        let plan = example_plan(example);
        let root = Utf8Path::new(REPOSITORY).join("examples").join(example);
        let ids = ids_of_rust(&plan, &root);
        assert!(ids.as_object().is_some_and(|ids| ids.len() >= 2));
        assert_eq!(ids_of_nix(&plan, &root), ids);
    }
    let sample = mixed();
    let (plan, _) = only(&sample);
    let root = sample.kernel().root;
    let ids = ids_of_rust(&plan, &root);
    assert_eq!(ids.as_object().map(serde_json::Map::len), Some(3));
    assert_eq!(ids_of_nix(&plan, &root), ids);
}

/// create-pyproject (Rust) and a build (Nix) once disagreed on the id, so that ops registered by one were looked up under
/// the name of the other.
#[test]
fn rust_and_nix_compute_the_same_id() {
    let section = "\n[kernel.gpu]\nbackend = \"cuda\"\ndepends = []\nsrc = [\"csrc/a b$.cu\", \"csrc/gpu.h\"]\n";
    let sample = Sample::new(
        &format!("{CUDA}{section}"),
        &[
            ("csrc/a b$.cu", "#include \"gpu.h\"\r\n"),
            ("csrc/gpu.h", "#pragma once\n"),
        ],
    );
    let root = sample.kernel().root;
    sample.write("torch-ext/sample/z/deep.pyi", "x: int\n");
    sample.write("torch-ext/sample/__pycache__/cached.py", "");
    sample.write("torch-ext/sample/data.txt", "not Python\n");
    let current = || {
        let (plan, variant) = only(&sample);
        variant.id.id(&root, &plan.python).expect("an id")
    };
    let first = current();

    assert!(first.starts_with("_sample_cuda_"), "{first}");
    let (plan, _) = only(&sample);
    assert_eq!(ids_of_nix(&plan, &root), ids_of_rust(&plan, &root));

    sample.write("README.md", "new\n");
    sample.write("torch-ext/sample/data.txt", "new\n");
    assert_eq!(current(), first, "documents are not part of a build");
    sample.write("torch-ext/sample/more.py", "");
    let with_python = current();
    assert_ne!(with_python, first, "a Python file is new");
    sample.write("csrc/gpu.h", "#pragma once\n#define NEW\n");
    let second = current();
    assert_ne!(second, with_python, "a header changed");
    sample.write(
        "build.toml",
        &format!("{CUDA}{section}cuda-flags = [\"-O1\"]\n"),
    );
    assert_ne!(current(), second, "a flag changed");
}

/// The families of some pin files, as this program and as nix/pins.nix name their pins.
fn pin_names(nix: &Utf8Path) -> (Vec<Vec<String>>, serde_json::Value) {
    let mut ours = Vec::new();
    let files = walkdir::WalkDir::new(nix.join("pins")).sort_by_file_name();
    for entry in files.into_iter().map(|entry| entry.expect("nix/pins")) {
        if entry.path().extension() != Some("json".as_ref()) {
            continue;
        }
        let text = std::fs::read_to_string(entry.path()).expect("a pin file");
        let family: Family = serde_json::from_str(&text).expect("a family");
        if family.unpinned.is_some() {
            ours.push(vec![family.family]);
            continue;
        }
        let archives = family.archives.into_iter().map(Pin::Archive);
        let pins = archives.chain(family.trees.into_iter().map(Pin::Tree));
        ours.push(pins.map(|pin| pin.store_name()).collect());
    }
    let theirs = nix::evaluate(&format!(
        r#"
        let
          nix = /. + {};
          names = dir: builtins.attrNames (builtins.readDir dir);
          systems = builtins.filter (name: (builtins.readDir (nix + "/pins")).${{name}} == "directory") (names (nix + "/pins"));
          family = system: file:
            map (pin: pin.name) ((import (nix + "/pins.nix") {{ inherit system; }}).family
              (builtins.head (builtins.match "(.*)[.]json" file)));
        in
        builtins.concatMap (system: map (family system) (names (nix + "/pins/${{system}}"))) systems
        "#,
        string(nix.as_str())
    ));
    (ours, theirs)
}

/// A pin under another name than Nix expects is fetched and then still missing.
#[test]
fn rust_and_nix_name_pins_alike() {
    let real = Utf8Path::new(REPOSITORY).join("nix");
    // The rule for odd names, too, which no pin may need at the moment.
    let dir = tempfile::tempdir().expect("a temporary folder");
    let odd = Utf8Path::from_path(dir.path()).expect("a UTF-8 path");
    std::fs::copy(real.join("pins.nix"), odd.join("pins.nix")).expect("copied");
    std::fs::create_dir_all(odd.join("pins/system")).expect("create a folder");
    let archive = |file: &str| {
        serde_json::json!({
            "kind": "deb", "name": "a", "version": "1", "file": file, "sha256": "00", "size": 1
        })
    };
    let files = [
        "g++_4%3a12.2~rc1-3_amd64.deb",
        "a%2b%3A!~~%3a%3a.whl",
        "Plain-1.0+cpu_x.whl",
    ];
    let archives: Vec<_> = files.iter().map(|file| archive(file)).collect();
    let family = serde_json::json!({ "family": "odd", "archives": archives, "trees": [] });
    std::fs::write(odd.join("pins/system/odd.json"), family.to_string()).expect("written");

    let allowed = |c: char| c.is_ascii_alphanumeric() || "+-._?=".contains(c);
    for nix in [&real, odd] {
        let (ours, theirs) = pin_names(nix);
        assert_eq!(theirs, serde_json::json!(ours));
        assert!(!ours.is_empty());
        for name in ours.iter().flatten() {
            assert!(
                name.chars().all(allowed) && !name.starts_with('.'),
                "{name} cannot be in a store"
            );
        }
    }
}

/// CUDA 12 is compiled by clang, and authors write flags for nvcc.
#[test]
fn clang_gets_flags_of_its_own() {
    let sample = Sample::new(
        &format!(
            "{CUDA}\n[kernel.gpu]\nbackend = \"cuda\"\ndepends = []\nsrc = [\"gpu.cu\", \"host.cpp\"]\n\
             cuda-capabilities = [\"8.0\", \"9.0a+PTX\", \"12.0\"]\n\
             cuda-flags = [\"--use_fast_math\", \"-Xptxas\", \"-v\", \"--restrict\"]\n"
        ),
        &[("gpu.cu", ""), ("host.cpp", "")],
    );
    let kernel = sample.kernel();
    let mut matrix = matrix(&kernel, table());
    let name = "torch27-cxx11-cu126-x86_64-linux";
    matrix.variants.retain(|variant| variant.name == name);
    let plan = plan(&kernel, &matrix, table()).expect("a plan");
    let variant = &whole(&plan, &plan.variants[0]);
    assert_eq!(variant.toolchain["clang"], "clang-19");
    let drivers = groups(variant, "gpu").iter().map(|group| group.driver);
    assert_eq!(drivers.collect::<Vec<_>>(), [Driver::Gxx, Driver::Clang]);
    insta::assert_snapshot!(groups(variant, "gpu")[1].flags.join("\n"));
    assert_eq!(
        plan.notes,
        [
            "CUDA 12.6: kernel.gpu is compiled without --restrict, which clang has nothing for",
            "CUDA 12.6: kernel.gpu is not compiled for 12.0, which it does not know",
        ]
    );
}

/// Nothing is left out of a library without a word: a flag that clang has nothing for costs the variants that need it.
#[test]
fn a_flag_that_clang_has_nothing_for_excludes_its_variants() {
    let sample = Sample::new(
        &format!(
            "{CUDA}\n[kernel.gpu]\nbackend = \"cuda\"\ndepends = []\nsrc = [\"gpu.cu\"]\n\
             cuda-flags = [\"-O3\", \"-rdc=true\"]\n"
        ),
        &[("gpu.cu", "")],
    );
    let matrix = matrix(&sample.kernel(), table());
    let clang = |name: &str| name.contains("-cu12");
    assert!(!matrix.variants.iter().any(|variant| clang(&variant.name)));
    assert!(matrix.variants.iter().any(|v| v.name.contains("-cu130-")));
    let mut excluded = matrix.excluded.iter();
    let why = &excluded
        .find(|excluded| excluded.name.contains("-cu126-"))
        .expect("a reason")
        .why;
    assert_eq!(
        why.to_string(),
        "kernel.gpu.cuda-flags has -rdc=true, and clang, which compiles CUDA 12.6, has nothing for that"
    );
}
