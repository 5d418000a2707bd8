//! The Nix library as flakes use it: what a kernel's flake offers, which variants it has. Nothing
//! is built here; tests/flake.rs does that.

mod common;

use camino::Utf8Path;
use common::nix;
use kernel_builder::emit::nix::string;
use serde_json::{Value, json};

const REPOSITORY: &str = env!("CARGO_MANIFEST_DIR");

fn path(relative: &str) -> String {
    format!(
        "(/. + {})",
        string(Utf8Path::new(REPOSITORY).join(relative).as_str())
    )
}

/// The value of an expression over `outputs`, the result of genFlakeOutputs for examples/relu with
/// more arguments. As in a flake, `self` holds this result, so whoever looks at it too early recurs
/// for ever, which is an error of Nix.
fn outputs(arguments: &str, expression: &str) -> Value {
    nix::evaluate(&format!(
        "let outputs = (import {}).genFlakeOutputs {{ self = outputs; path = {}; {arguments} }};
         in {expression}",
        path("lib"),
        path("examples/relu")
    ))
}

#[test]
fn every_exported_function_is_documented_and_tested() {
    let root = Utf8Path::new(REPOSITORY);
    let read = |path: &str| std::fs::read_to_string(root.join(path)).expect(path);
    let index = read("lib/default.nix");
    let tests: String = root
        .join("tests")
        .read_dir_utf8()
        .expect("tests")
        .flatten()
        .filter(|entry| entry.path().extension() == Some("rs"))
        .map(|entry| std::fs::read_to_string(entry.path()).expect("a test"))
        .collect();
    let names: Vec<&str> = index
        .lines()
        .filter_map(|line| line.trim().split_once(" = import ./"))
        .map(|(name, file)| {
            assert_eq!(file, format!("{name}.nix;"));
            name
        })
        .collect();
    assert!(names.is_sorted() && names.len() > 3, "{names:?}");
    let files = root.join("lib").read_dir_utf8().expect("lib").count();
    assert_eq!(files, names.len() + 1, "a file of lib/ is not in its index");
    for name in names {
        let text = read(&format!("lib/{name}.nix"));
        assert!(text.starts_with("/**\n"), "{name} has no RFC 145 comment");
        for part in ["\n  # Inputs\n", "\n*/\n"] {
            assert!(text.contains(part), "the comment of {name} lacks {part:?}");
        }
        assert!(tests.contains(name), "no test names {name}");
    }
}

/// Debian's folders and the loader of programs are named after an architecture, in nix/linux.nix
/// alone.
#[test]
fn names_of_architectures_have_one_owner() {
    let root = Utf8Path::new(REPOSITORY).join("nix");
    let mut read = 0;
    for entry in walkdir::WalkDir::new(&root) {
        let entry = entry.expect("an entry");
        let path = Utf8Path::from_path(entry.path()).expect("a UTF-8 path");
        let is_recipe = ["nix", "sh"].contains(&path.extension().unwrap_or_default());
        if !is_recipe || path.file_name() == Some("linux.nix") {
            continue;
        }
        let text = std::fs::read_to_string(path).expect("a recipe");
        for name in [
            "x86_64-linux-gnu",
            "aarch64-linux-gnu",
            "ld-linux-x86",
            "ld-linux-aarch64",
        ] {
            assert!(!text.contains(name), "{path} names {name}");
        }
        read += 1;
    }
    assert!(read > 100, "{read} recipes");
}

/// Each host compiler of each architecture has the loader and the libraries of that architecture.
#[test]
fn hosts_have_the_names_of_their_architecture() {
    let names = |system: &str| {
        nix::evaluate(&format!(
            "map (name: let host = (import {}).{system}.hostTools name; in
               [ (builtins.match \".*-sysroot/(.*)\" host.loader) (builtins.match \".*-sysroot/(.*)\" host.libraries) ])
             [ \"gcc-12\" \"gcc-toolset-14\" ]",
            path("nix/recipes.nix")
        ))
    };
    assert_eq!(
        names("aarch64-linux"),
        json!([
            [["lib/ld-linux-aarch64.so.1"], ["usr/lib/aarch64-linux-gnu"]],
            [["lib/ld-linux-aarch64.so.1"], ["usr/lib64"]],
        ])
    );
    assert_eq!(
        names("x86_64-linux"),
        json!([
            [["lib64/ld-linux-x86-64.so.2"], ["usr/lib/x86_64-linux-gnu"]],
            [["lib64/ld-linux-x86-64.so.2"], ["usr/lib64"]],
        ])
    );
}

/// Every build.nix calls `kernel`, and the build.nix of each example is evaluated here.
#[test]
fn examples_have_every_kind_of_output() {
    let value = outputs(
        "",
        "{
           kinds = builtins.attrNames outputs;
           packages = builtins.attrNames outputs.packages.x86_64-linux;
           derivations = builtins.all (p: p.type == \"derivation\") (builtins.attrValues outputs.packages.x86_64-linux);
           apps = builtins.attrNames outputs.apps.x86_64-linux;
           variants = builtins.length outputs.lib.variants;
           checks = builtins.attrNames outputs.checks.x86_64-linux == outputs.lib.archVariants.x86_64-linux
             || builtins.length (builtins.attrNames outputs.checks.x86_64-linux)
               == builtins.length outputs.lib.archVariants.x86_64-linux;
           shells = builtins.all (name: outputs.devShells.x86_64-linux ? ${name})
             ([ \"default\" \"test\" ] ++ outputs.lib.archVariants.x86_64-linux);
           legacy = {
             bundle = outputs.legacyPackages.x86_64-linux.backendBundle.cuda.type;
             ci = outputs.legacyPackages.x86_64-linux.backendCi.cpu.type;
             tests = builtins.length (builtins.attrNames outputs.legacyPackages.x86_64-linux.ciTests) > 1;
             one = outputs.packages.x86_64-linux.redistributable.torch211-cxx11-cpu-x86_64-linux.name;
             shell = outputs.devShells.x86_64-linux.devShells.torch211-cxx11-cpu-x86_64-linux.name;
             test = outputs.devShells.x86_64-linux.testShells.torch211-cxx11-cpu-x86_64-linux.name;
           };
         }",
    );
    let expected = [
        "apps",
        "checks",
        "devShells",
        "formatter",
        "legacyPackages",
        "lib",
        "packages",
    ];
    assert_eq!(value["kinds"], json!(expected));
    let packages = [
        "build-and-copy",
        "build-and-upload",
        "bundle",
        "bundle-cpu",
        "bundle-cuda",
        "ci",
        "ci-cpu",
        "ci-cuda",
        "ci-test",
        "default",
        "kernel-builder",
        "kernels",
        "redistributable",
    ];
    assert_eq!(value["packages"], json!(packages));
    let apps = [
        "build-and-copy",
        "build-and-upload",
        "ci-test",
        "kernel-builder",
        "kernels",
    ];
    assert_eq!(value["apps"], json!(apps));
    for flag in ["derivations", "checks", "shells"] {
        assert_eq!(value[flag], true, "{flag}: {value}");
    }
    let cpu = "relu-torch211-cxx11-cpu-x86_64-linux";
    let legacy = json!({
        "bundle": "derivation",
        "ci": "derivation",
        "tests": true,
        "one": cpu,
        "shell": format!("{cpu}-dev-shell"),
        "test": format!("{cpu}-test-shell"),
    });
    assert_eq!(value["legacy"], legacy);
}

#[test]
fn the_older_name_makes_the_same_outputs() {
    let same = nix::evaluate(&format!(
        "let
           library = import {};
           of = make: (make {{ self = {{ }}; path = {}; }}).packages.x86_64-linux.default.drvPath;
         in of library.genFlakeOutputs == of library.genKernelFlakeOutputs",
        path("lib"),
        path("examples/relu")
    ));
    assert_eq!(same, true);
}

/// Functions name packages as variables, so an unknown one would end the evaluation of the whole
/// flake.
#[test]
fn a_package_that_nobody_pinned_fails_what_needs_it_and_nothing_else() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let kernel = Utf8Path::from_path(dir.path())
        .expect("UTF-8")
        .join("kernel");
    let status = std::process::Command::new("cp")
        .args([
            "-r",
            &format!("{REPOSITORY}/examples/relu"),
            kernel.as_str(),
        ])
        .status();
    assert!(status.is_ok_and(|status| status.success()));
    let function = "packages: with packages; [ einops rare-package packages.other.package_2 or packages.package_2 ]";
    std::fs::write(
        kernel.join("flake.nix"),
        format!("{{ inputs = {function}; }}"),
    )
    .expect("written");
    let evaluate = |function: &str, expression: &str| {
        nix::evaluate(&format!(
            "let
               outputs = (import {}).genFlakeOutputs {{
                 self = outputs; path = /. + {}; pythonCheckInputs = {function};
               }};
               system = outputs.packages.x86_64-linux // outputs // builtins.mapAttrs (_: bySystem: bySystem.x86_64-linux or null) outputs;
               variant = \"torch211-cxx11-cpu-x86_64-linux\";
               drv = of: of.${{variant}}.drvPath;
             in {expression}",
            path("lib"),
            string(kernel.as_str())
        ))
    };
    let unpinned = "system.devShells.${variant}.KERNEL_BUILDER_UNPINNED or \"\"";
    assert_eq!(evaluate(function, unpinned), "package_2 rare-package");
    // The flake evaluates. Only outputs that need the packages differ.
    let same = "[ (drv system.checks) system.ci-test.drvPath system.default.drvPath system.kernels.drvPath ]";
    let (with, without) = (evaluate(function, same), evaluate("_: [ ]", same));
    let same: Vec<bool> = (0..4).map(|index| with[index] == without[index]).collect();
    assert_eq!(same, [false, false, true, true]);

    let pinned = r#"{ "comment": "", "requested": [], "systems": { "x86_64-linux": [
        { "kind": "wheel", "name": "rare-package", "version": "1", "file": "rare_package-1-py3-none-any.whl",
          "sha256": "0000000000000000000000000000000000000000000000000000000000000000" } ] } }"#;
    std::fs::write(kernel.join("python-packages.json"), pinned).expect("written");
    assert_eq!(evaluate(function, unpinned), "package_2");
    let one = "packages: [ packages.rare_package packages.rare-package ]";
    assert_eq!(evaluate(one, unpinned), "");
    assert_ne!(
        evaluate("_: [ ]", "drv system.devShells"),
        without[0],
        "shells have it"
    );
}

/// A build with another ptxas would differ from the one that its author tried.
#[test]
fn torch_versions_with_the_ptxas_of_another_toolkit_are_refused() {
    let words = nix::error(&format!(
        "((import {}).genFlakeOutputs {{ self = {{ }}; path = {};
           torchVersions = map (build: build // (if build ? cudaVersion then {{ ptxasVersion = \"12.8\"; }} else {{ }}));
         }}).lib.variants",
        path("lib"),
        path("examples/relu")
    ));
    for part in [
        "`ptxasVersion = \"12.8\"`",
        "with CUDA ",
        "remove `ptxasVersion`",
    ] {
        assert!(words.contains(part), "{words}");
    }
}

/// Patterns of names, and the function that older flakes have.
#[test]
fn torch_versions_select_variants() {
    let selected = |argument: &str| {
        let value = outputs(
            &format!("torchVersions = {argument};"),
            "outputs.lib.archVariants.x86_64-linux",
        );
        let names = value.as_array().expect("a list").iter();
        names
            .map(|name| name.as_str().expect("a name").to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        selected(r#"[ "torch211-*-cpu-x86_64-linux" "*211-cxx11-cu130-x86_*" ]"#),
        [
            "torch211-cxx11-cu130-x86_64-linux",
            "torch211-cxx11-cpu-x86_64-linux"
        ]
    );
    assert_eq!(
        selected(
            r#"versions: builtins.filter (v: v.torchVersion == "2.11" && v.cudaVersion or "" == "13.0") versions"#
        ),
        ["torch211-cxx11-cu130-x86_64-linux"]
    );
    assert_eq!(
        selected(
            r#"_: [ { torchVersion = "2.11"; cudaVersion = "13.0"; cxx11Abi = true; systems = [ "x86_64-linux" ]; }
                    { torchVersion = "1.0"; cudaVersion = "9.0"; systems = [ "x86_64-linux" ]; } ]"#
        ),
        ["torch211-cxx11-cu130-x86_64-linux"]
    );
    // The requested C++ ABI of the two; both if none is requested.
    let old = |more: &str| {
        selected(&format!(
            r#"_: [ {{ torchVersion = "2.6"; cpu = true; {more} systems = [ "x86_64-linux" ]; }} ]"#
        ))
    };
    let [cxx98, cxx11] = [
        "torch26-cxx98-cpu-x86_64-linux",
        "torch26-cxx11-cpu-x86_64-linux",
    ];
    assert_eq!(old("cxx11Abi = false;"), [cxx98]);
    assert_eq!(old("cxx11Abi = true;"), [cxx11]);
    assert_eq!(old(""), [cxx98, cxx11]);
    let filtered = "versions: builtins.filter (v: !v.cxx11Abi && v.cpu or false) versions";
    assert_eq!(selected(filtered), [cxx98]);
    assert_eq!(
        selected(
            r#"_: [ { torchVersion = "2.12"; cudaVersion = "12.6"; ptxasVersion = "12.6"; systems = [ "x86_64-linux" ]; } ]"#
        ),
        ["torch212-cxx11-cu126-x86_64-linux"]
    );
    let all = selected("null");
    assert!(all.len() > 10, "{all:?}");
    assert_eq!(selected("versions: versions"), all);
    // A pattern without a match is a mistake, and no empty build.
    for wrong in [r#"[ "torch999-*" ]"#, "versions: [ ]", "\"torch211\""] {
        let failed = nix::evaluate(&format!(
            "(builtins.tryEval (builtins.length
               ((import {}).genFlakeOutputs {{ path = {}; torchVersions = {wrong}; }}).lib.variants)).success",
            path("lib"),
            path("examples/relu")
        ));
        assert_eq!(failed, false, "{wrong}");
    }
}

#[test]
fn a_check_without_loading_is_the_package() {
    let cpu = "torch211-cxx11-cpu-x86_64-linux";
    let name = |arguments: &str| {
        outputs(
            arguments,
            &format!("outputs.checks.x86_64-linux.{cpu}.name"),
        )
    };
    assert_eq!(name(""), format!("relu-{cpu}-check"));
    assert_eq!(name("doGetKernelCheck = false;"), format!("relu-{cpu}"));
    // Packages that are not pinned are refused where they are asked for.
    let value = outputs(
        "pythonCheckInputs = packages: with packages; [ einops numpy ];",
        &format!("outputs.checks.x86_64-linux.{cpu}.drvPath"),
    );
    assert!(value.as_str().expect("a path").ends_with("-check.drv"));
}

/// The objects of examples/relu by variant and name, from the build.nix of a kernel in a folder.
fn objects() -> Value {
    nix::evaluate(&format!(
        r#"builtins.listToAttrs (map (variant: {{
             name = variant.variant;
             value = builtins.listToAttrs (map (object: {{ inherit (object) name; value = object.drvPath; }}) variant.objects);
           }}) (import {} {{ kernelBuilder = import {}; }}).variants)"#,
        path("examples/relu/build.nix"),
        path("lib")
    ))
}

/// A build.nix holds decisions for the rows of the release table as they were when it was
/// generated.
#[test]
fn a_row_that_is_gone_or_means_something_else_is_an_error() {
    let text = std::fs::read_to_string(format!("{REPOSITORY}/examples/relu/build.nix"));
    let text = text.expect("build.nix");
    let row = "torch211-cxx11-cpu-x86_64-linux = \"";
    let (_, rest) = text.split_once(row).expect("a row");
    let digest = &rest[..8];
    for (build_nix, why) in [
        (
            text.replace(row, "torch99-cxx11-cpu-x86_64-linux = \""),
            "torch99-cxx11-cpu-x86_64-linux, which the release table does not have",
        ),
        (
            text.replace(digest, "00000000"),
            "another torch211-cxx11-cpu-x86_64-linux",
        ),
    ] {
        let call = format!(
            "(({build_nix}) {{ kernelBuilder = import {}; root = {}; }}).variants",
            path("lib"),
            path("examples/relu")
        );
        let words = nix::error(&format!("map (own: own.variant) {call}"));
        assert!(words.contains(why), "{words}");
        assert!(words.contains("run `kernel-builder generate`"), "{words}");
    }
}

/// One more torch release compiles the units that include torch, and no other.
#[test]
fn units_without_torch_are_compiled_once_for_each_toolkit() {
    let objects = objects();
    let of = |variant: &str, unit: &str| {
        let name = format!("{variant}-x86_64-linux");
        let object = &objects[&name][format!("relu-{unit}.o")];
        object.as_str().expect(&name).to_owned()
    };
    let cuda = "csrc-relu_cuda.cu";
    let one = of("torch211-cxx11-cu130", cuda);
    for release in ["torch212", "torch213", "torch214"] {
        assert_eq!(of(&format!("{release}-cxx11-cu130"), cuda), one);
    }
    assert_ne!(of("torch215-cxx11-cu132", cuda), one);
    let device = objects.as_object().expect("variants").iter();
    let device = device.filter_map(|(_, objects)| objects[&format!("relu-{cuda}.o")].as_str());
    let (all, different): (Vec<_>, std::collections::BTreeSet<_>) =
        (device.clone().collect(), device.collect());
    assert!(
        different.len() * 2 < all.len(),
        "{} of {}",
        different.len(),
        all.len()
    );

    for unit in ["torch-ext-torch_binding.cpp", "csrc-relu_cpu.cpp"] {
        assert_ne!(
            of("torch211-cxx11-cpu", unit),
            of("torch213-cxx11-cpu", unit)
        );
    }
}

#[test]
fn toolchains_are_for_others_too() {
    let names = nix::evaluate(&format!(
        r#"let tools = (import {}).toolchain {{
             system = "x86_64-linux"; host = "gcc-12"; python = "python-3.11"; torch = "torch-2.11.0"; cuda = "cuda-13.0";
           }}; in [ tools.host.bin.name tools.cuda.toolkit.name ]"#,
        path("lib")
    ));
    assert_eq!(names, json!(["gcc-12", "cuda-13.0"]));
}
