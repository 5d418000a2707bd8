//! Plans: from a kernel's folder to the facts that build.nix will hold.

#[path = "../common/mod.rs"]
mod common;

mod agreement;
mod operators;
mod shared;
mod torch_headers;
mod units;

use self::agreement::build_id;
use camino::Utf8Path;
use common::kernel::Sample;
use common::nix;
use kernel_builder::kernel::Kernel;
use kernel_builder::matrix::{Matrix, matrix, table};
use kernel_builder::plan::{Driver, NoarchPlan, Plan, UnitGroup, VariantPlan, plan};

use kernel_builder::scan::{Namespace, ScanError};

const REPOSITORY: &str = env!("CARGO_MANIFEST_DIR");

/// A kernel for CUDA only, without its sections.
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

/// A kernel's variants of one release for one system.
fn some(kernel: &Kernel) -> Matrix {
    let mut matrix = matrix(kernel, table());
    matrix.variants.retain(|variant| {
        variant.row().is_none_or(|row| {
            let release = row.torch().is_none_or(|torch| torch.as_str() == "2.11");
            let compute = row
                .compute
                .as_ref()
                .is_none_or(|compute| compute.as_str() == "13.0");
            row.system == "x86_64-linux" && release && compute
        })
    });
    matrix
}

fn try_plan(sample: &Sample) -> Result<Plan, ScanError> {
    let kernel = sample.kernel();
    plan(&kernel, &some(&kernel), table())
}

/// The plan of a kernel for one backend, and its variant.
fn only(sample: &Sample) -> (Plan, VariantPlan) {
    let plan = try_plan(sample).expect("a plan");
    let [variant] = &plan.variants[..] else {
        panic!("{} variants", plan.variants.len());
    };
    let variant = variant.clone();
    (plan, variant)
}

/// The groups of one component.
fn groups<'a>(variant: &'a VariantPlan, component: &str) -> &'a [UnitGroup] {
    let mut components = variant.components.iter();
    let found = components.find(|found| found.name == component);
    &found.expect("a component").units
}

/// The `-gencode` flags of a component, in one piece or in parts.
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
            let json = serde_json::to_string_pretty(variant).expect("JSON");
            insta::assert_snapshot!(variant.variant.clone(), json);
        }
        // The other variants differ in the name of the backend.
        for variant in plan.noarch.iter().take(1) {
            let json = serde_json::to_string_pretty(variant).expect("JSON");
            insta::assert_snapshot!(variant.variant.clone(), json);
        }
    }
}

fn example_plan(example: &str) -> Plan {
    let root = Utf8Path::new(REPOSITORY).join("examples").join(example);
    let kernel = Kernel::load(&root, &table().toolkits)
        .expect("an example")
        .kernel;
    plan(&kernel, &some(&kernel), table()).expect("a plan")
}

/// A kernel may be compiled for one backend and be Python alone for others, such as Triton code for
/// GPUs that its author has no compiler for.
#[test]
fn a_kernel_may_be_compiled_for_some_backends_only() {
    let sample = mixed();
    let (plan, variant) = only(&sample);
    assert_eq!(variant.variant, "torch211-cxx11-cu130-x86_64-linux");
    let names: Vec<_> = plan.noarch.iter().map(|v| v.variant.as_str()).collect();
    assert_eq!(names, ["torch-npu", "torch-xpu"]);
    let types = plan.noarch.iter().map(|v| v.metadata.backend.r#type);
    assert_eq!(types.collect::<Vec<_>>(), ["cann", "xpu"]);

    // Sources of one backend are no part of the builds for others.
    let ids = |plan: &Plan| -> Vec<String> {
        let root = sample.kernel().root;
        let id = |v: &NoarchPlan| build_id(&v.id, &root, &plan.python);
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

/// No build knows for which GPUs Python will compile, so build.toml may say it.
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

/// _ops.py of a tvm-ffi kernel imports a package that the client can ask for before it does, so it
/// is listed, once.
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

/// The compile and link steps of each backend, in full for its newest toolkit; every row has a
/// plan.
#[test]
fn every_backend() {
    let fixture = Utf8Path::new(REPOSITORY).join("tests/fixtures/all-backends");
    let kernel = Kernel::load(&fixture, &table().toolkits)
        .expect("a fixture")
        .kernel;
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
        let variant = variant.expect(name);
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
    let variant = plan.variants.last().expect("a variant");
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

/// ROCm 6 lacks some newer GPUs, and ROCm 7 lacks some older ones.
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

/// A section without any architecture would be compiled for nvcc's default architecture, which no
/// user's GPU has.
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
    let toolkits = matrix.variants.iter().filter_map(|variant| variant.row());
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
    // A left-out section does not count anywhere else.
    assert_eq!(variant.metadata.backend.archs, ["9.0"]);
    assert!(!variant.id.files.contains(&"csrc/later.cu".to_owned()));
    assert_eq!(
        plan.notes,
        ["CUDA 13.0: kernel.later is left out: its cuda-minver is 13.1"]
    );
}

/// No part of a library is left out without a word: a flag that clang lacks leaves out the variants
/// that need it.
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
