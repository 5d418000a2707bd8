//! The inputs of each unit: flags, headers, torch and the namespace.

use super::*;

/// The author's flags come last, so that they win, in the order written, and each reaches its own
/// compiler only.
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

/// The link lets functions of a runtime through for code that was compiled for it alone. Xcode's
/// clang takes the flag in another form, and omp.h from torch's headers.
#[test]
fn openmp_reaches_compilers_and_the_link() {
    let build_toml = |flag: &str| {
        format!(
            "[general]\nname = \"sample\"\nedition = 5\nversion = 1\nlicense = \"MIT\"\nbackends = [\"cpu\"]\n\n\
             [torch]\nsrc = [\"torch-ext/binding.cpp\"]\n\n\
             [kernel.host]\nbackend = \"cpu\"\ndepends = []\nsrc = [\"csrc/host.cpp\"]\ncxx-flags = [{flag:?}]\n"
        )
    };
    let of = |flag: &str, system: &str| {
        let files = [("csrc/host.cpp", "#include <omp.h>")];
        let sample = Sample::new(&build_toml(flag), &files);
        let kernel = sample.kernel();
        let mut matrix = matrix(&kernel, table());
        matrix.variants.retain(|variant| {
            let row = variant.row();
            row.is_some_and(|row| row.system == system)
        });
        matrix.variants.truncate(1);
        let plan = plan(&kernel, &matrix, table()).expect("a plan");
        let variant = &plan.variants[0];
        let group = groups(variant, "host")[0].clone();
        // build.nix of other kernels need not know what the runtime has.
        let limited = variant.link.policy.contains_key("GOMP");
        assert_eq!(limited, variant.link.openmp && system.ends_with("-linux"));
        (variant.link.openmp, group.framework, group.flags)
    };
    let ends = |flags: &[String], with: &[&str]| {
        flags.ends_with(
            &with
                .iter()
                .map(|flag| (*flag).to_owned())
                .collect::<Vec<_>>(),
        )
    };
    let (openmp, framework, flags) = of("-fopenmp", "x86_64-linux");
    assert!(
        openmp && !framework && ends(&flags, &["-fno-gnu-unique", "-fopenmp"]),
        "{flags:?}"
    );
    let (openmp, framework, flags) = of("-fopenmp", "aarch64-darwin");
    assert!(
        openmp && framework && ends(&flags, &["-Xclang", "-fopenmp"]),
        "{flags:?}"
    );
    let (openmp, framework, _) = of("-fopenmp-simd", "x86_64-linux");
    assert!(!openmp && !framework);
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

/// A unit's sandbox holds every header that the unit may include, and no other file: a change of
/// any file in it compiles the unit again.
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

    // An include of a macro may be any header.
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
    // `.` is a folder like others, without the files of builds in it.
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

    // A file that a flag includes may be any header, too.
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

/// A link would dangle where a unit is compiled, or point at the machine.
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
        assert!(matches!(error, ScanError::Link { path } if path == "csrc/linked"));
    }
}

/// A unit that includes no header of torch is the same for all releases: no difference between them
/// may reach its flags.
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
    // Two releases for one toolkit differ in their C++ standard.
    let gpu = || {
        let kernel = sample.kernel();
        let matrix = matrix(&kernel, table());
        let plan = plan(&kernel, &matrix, table()).expect("a plan");
        ["torch211", "torch213"].map(|release| {
            let name = format!("{release}-cxx11-cu130-x86_64-linux");
            let mut variants = plan.variants.iter();
            let variant = variants.find(|variant| variant.variant == name);
            groups(variant.expect("a variant"), "gpu").to_vec()
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

/// `lean-headers = false` concerns the units of its section that include headers of torch, and
/// gives the build another id, so that one process can load it beside the build with lean headers.
#[test]
fn lean_headers_are_switched_off_by_section() {
    let sections = |relu: &str, more: &str| {
        format!(
            "{CUDA}[kernel.relu]\nbackend = \"cuda\"\ndepends = [\"torch\"]\n\
             src = [\"a.cu\", \"b.cu\", \"common.cu\"]\n{relu}\n\
             [kernel.more]\nbackend = \"cuda\"\ndepends = [\"torch\"]\nsrc = [\"common.cu\"]\n{more}\n"
        )
    };
    let torch = "#include <torch/all.h>\n";
    let files = [
        ("a.cu", torch),
        ("b.cu", ""),
        ("common.cu", torch),
        ("torch-ext/binding.cpp", torch),
    ];
    let of = |build_toml: &str| {
        let (_, variant) = only(&Sample::new(build_toml, &files));
        let groups = variant
            .components
            .iter()
            .flat_map(|component| &component.units);
        let full = groups.filter(|group| !group.lean_headers);
        let full: Vec<String> = full.flat_map(|group| group.sources.clone()).collect();
        (full, variant.metadata.lean_headers, variant.id.salt)
    };
    let (full, metadata, lean_salt) = of(&sections("", ""));
    assert_eq!((full.len(), metadata), (0, None));
    let (_, _, salt) = of(&sections("lean-headers = true", ""));
    assert_eq!(salt, lean_salt);
    // A source of two sections is compiled with all headers if one of them asks for it.
    for (relu, more, expected) in [
        ("lean-headers = false", "", &["a.cu", "common.cu"][..]),
        ("", "lean-headers = false", &["common.cu"]),
    ] {
        let (mut full, metadata, salt) = of(&sections(relu, more));
        full.sort();
        assert_eq!(full, expected);
        assert_eq!(metadata, Some(false));
        assert_ne!(salt, lean_salt);
    }
    let binding = sections("", "").replacen("[torch]\n", "[torch]\nlean-headers = false\n", 1);
    let (full, metadata, salt) = of(&binding);
    assert_eq!(full, ["torch-ext/binding.cpp"]);
    assert_eq!(metadata, Some(false));
    assert_ne!(salt, lean_salt);
}

/// Units that know the op namespace compile again with every change of the kernel; other units do
/// not.
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
    // A header brings the namespace to every unit that includes it.
    sample.write("csrc/ops.h", "#define NAME TORCH_EXTENSION_NAME\n");
    assert_eq!(namespaces(), [vec![Linked], vec![Linked, None]]);
    sample.write("csrc/gpu.cu", "#include \"ops.h\"\n");
    assert_eq!(namespaces(), [vec![Linked], vec![Linked, Compiled]]);
}

/// CUDA 12 is compiled by clang, and authors write flags for nvcc. The C++ ABI is one of a whole
/// library: units without torch have it too, and share objects with no library of the other.
#[test]
fn every_cxx_unit_has_the_abi_of_its_torch() {
    let section = "\n[kernel.gpu]\nbackend = \"cuda\"\ndepends = []\nsrc = [\"csrc/gpu.cu\", \"csrc/host.cpp\", \"csrc/plain.c\"]\n";
    let sample = Sample::new(
        &format!("{CUDA}{section}"),
        &[
            ("csrc/gpu.cu", ""),
            ("csrc/host.cpp", "#include <string>\n"),
            ("csrc/plain.c", ""),
        ],
    );
    let kernel = sample.kernel();
    let matrix = matrix(&kernel, table());
    let plan = plan(&kernel, &matrix, table()).expect("a plan");
    let define = "-D_GLIBCXX_USE_CXX11_ABI=0";
    let mut old = 0;
    for variant in &plan.variants {
        let is_old = variant.variant.contains("-cxx98-");
        old += usize::from(is_old);
        for component in &variant.components {
            for group in &component.units {
                let expected = is_old && group.driver != Driver::Gcc;
                let found = group.flags.iter().filter(|flag| *flag == define).count();
                assert_eq!(
                    found,
                    usize::from(expected),
                    "{}: {group:?}",
                    variant.variant
                );
            }
        }
    }
    assert!(old > 0);
    let flags = |abi: &str| -> Vec<(Driver, Vec<String>)> {
        let name = format!("torch26-{abi}-cu124-x86_64-linux");
        let variant = plan.variants.iter().find(|variant| variant.variant == name);
        let components = variant.expect("a variant").components.iter();
        let units = components.flat_map(|component| component.units.iter());
        let free = units.filter(|group| !group.framework);
        free.map(|group| (group.driver, group.flags.clone()))
            .collect()
    };
    let (old, new) = (flags("cxx98"), flags("cxx11"));
    let same: Vec<Driver> = old
        .iter()
        .filter(|group| new.contains(group))
        .map(|group| group.0)
        .collect();
    assert_eq!(same, [Driver::Gcc]);
}

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
    let variant = &plan.variants[0];
    assert_eq!(variant.toolchain.clang.as_deref(), Some("clang-19"));
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
