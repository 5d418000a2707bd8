//! Real builds: Nix, its sandbox, the pinned compilers, the real client. `make test` prepares what
//! they need (a store of the repository's own, a virtual environment) and runs them; a bare `cargo
//! test` leaves them out.

mod common;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use common::clone::{Clone, nix};
use common::program::{
    SANDBOXED, assert_no_process_has, built_library, kernel_builder, python, run, send, store,
    words,
};
use serde_json::Value;

const CPU: &str = "torch211-cxx11-cpu-x86_64-linux";
const CUDA: &str = "torch211-cxx11-cu130-x86_64-linux";

/// The names of the derivations that differ between two listings.
fn changed(before: &BTreeMap<String, String>, after: &BTreeMap<String, String>) -> Vec<String> {
    assert_eq!(
        before.keys().collect::<Vec<_>>(),
        after.keys().collect::<Vec<_>>()
    );
    before
        .iter()
        .filter(|(name, path)| after[*name] != **path)
        .map(|(name, _)| name.clone())
        .collect()
}

#[test]
#[ignore = "builds with Nix: run by `make test`"]
fn both_variants_build_load_and_are_cached() {
    let clone = Clone::new();
    let first = clone.build(&[]);
    let table = String::from_utf8_lossy(&first.stdout).into_owned();
    for variant in [CPU, CUDA] {
        assert!(table.contains(variant), "{table}");
        let metadata = std::fs::read_to_string(
            clone
                .relu()
                .join("build")
                .join(variant)
                .join("metadata.json"),
        );
        let metadata: Value =
            serde_json::from_str(&metadata.expect("metadata.json")).expect("JSON");
        assert_eq!(metadata["name"], "relu");
        assert_eq!(metadata["digest"]["algorithm"], "sha256");
    }

    let second = clone.build(&[]);
    let table = String::from_utf8_lossy(&second.stdout).into_owned();
    assert_eq!(table.matches("cached").count(), 2, "{table}");

    // The kernel's own tests, through the unmodified client.
    let tests = run(python()
        .current_dir(clone.relu())
        .args(["-m", "pytest", "-q", "tests"]));
    let report = String::from_utf8_lossy(&tests.stdout).into_owned();
    assert!(report.contains(" passed"), "{report}");

    // The client's own reader of metadata.json, and its own digest of the files.
    let check = "\
import pathlib
from kernels._rust import Digest, Metadata
for variant in pathlib.Path('build').iterdir():
    digest = Metadata.read_from_file(variant / 'metadata.json').digest
    digest.validate(Digest.hash_variant(digest.algorithm, variant))
";
    run(python().current_dir(clone.relu()).args(["-c", check]));

    // Our own check, which also refuses a library that somebody changed and hashed again.
    let check = |command: &str| {
        kernel_builder(command)
            .arg(clone.relu())
            .output()
            .expect("run")
    };
    for command in ["check-builds", "verify"] {
        let output = check(command);
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(output.status.code(), Some(0), "{text}");
        assert_eq!(text.lines().count(), 2, "nothing but the variants: {text}");
    }
    let variant = clone.relu().join("build").join(CUDA);
    let metadata = std::fs::read_to_string(variant.join("metadata.json")).expect("read");
    let id = serde_json::from_str::<Value>(&metadata).expect("JSON")["id"].clone();
    let id = id.as_str().expect("an id");
    for (text, at, message) in [
        (format!("PyInit_{id}"), 6, "Python cannot import it"),
        (id.to_owned(), 0, "it registers nothing"),
        ("\u{7f}ELF".to_owned(), 1, "it is no ELF file"),
    ] {
        let library = built_library(&clone.relu(), CUDA);
        let good = std::fs::read(&library).expect("read");
        let mut bad = good.clone();
        let text = text.as_bytes();
        let mut places = good.windows(text.len()).enumerate();
        let is_whole = |place: usize| !good[..place].ends_with(b"PyInit_");
        while let Some((place, _)) = places.find(|(place, own)| *own == text && is_whole(*place)) {
            bad[place + at] = b'x';
        }
        std::fs::write(&library, bad).expect("written");
        let text = String::from_utf8_lossy(&check("check-builds").stdout).into_owned();
        assert!(text.contains("was changed after the build"), "{text}");
        assert_eq!(check("hash").status.code(), Some(0));
        let output = check("check-builds");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(
            text.contains(message) && !text.contains("was changed"),
            "{text}"
        );
        // The statement about the build is still about the library that was built.
        assert!(text.contains("it is about another _relu"), "{text}");
        assert_eq!(output.status.code(), Some(1));
        std::fs::write(library, good).expect("written");
    }
    // A library that needs one more, hashed again: the rules of `check-abi` find it.
    let library = built_library(&clone.relu(), CUDA);
    let good = std::fs::read(&library).expect("read");
    let stored = std::fs::read_dir(store() + "/nix/store")
        .expect("a store")
        .flatten();
    let mut stored = stored.map(|entry| entry.path().join("bin/patchelf"));
    let patchelf = stored.find(|file| file.to_string_lossy().contains("-seed-binaries/"));
    run(Command::new(patchelf.expect("the seed"))
        .args(["--add-needed", "libmore.so.1"])
        .arg(&library));
    assert_eq!(check("hash").status.code(), Some(0));
    let output = check("check-builds");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.contains("libmore.so.1"), "{text}");
    assert_eq!(output.status.code(), Some(1));
    std::fs::write(library, good).expect("written");

    let other = metadata.replace("\"9.0\"", "\"9.9\"");
    assert_ne!(other, metadata);
    std::fs::write(variant.join("metadata.json"), other).expect("written");
    let text = String::from_utf8_lossy(&check("check-builds").stdout).into_owned();
    assert!(
        text.contains("metadata.json lists 9.9, and the library has"),
        "{text}"
    );
}

#[test]
#[ignore = "builds with Nix: run by `make test`"]
fn the_flake_builds_one_variant_all_variants_and_copies_them() {
    let clone = Clone::new();
    let one = clone.nix(&[
        "build",
        &format!(".#redistributable.{CUDA}"),
        "--no-link",
        "--json",
    ]);
    assert!(String::from_utf8_lossy(&one.stdout).contains("outputs"));
    clone.nix(&["build", ".#redistributable", "--no-link"]);
    clone.nix(&["build", ".", "--no-link"]);
    clone.nix(&["run", ".#build-and-copy"]);
    for variant in [CPU, CUDA] {
        assert!(
            clone
                .relu()
                .join("build")
                .join(variant)
                .join("metadata.json")
                .exists()
        );
    }
    // The command line and the flake build the same derivations, so no step is left.
    let table = clone.build(&[]);
    assert_eq!(
        String::from_utf8_lossy(&table.stdout)
            .matches("cached")
            .count(),
        2
    );

    // A folder of the user's with this name was removed, and a file of theirs in a variant's
    // folder.
    let notes = clone.relu().join(format!("build/{CPU}.new/notes.txt"));
    let own = clone.relu().join(format!("build/{CPU}/notes.txt"));
    std::fs::create_dir(notes.parent().expect("a folder")).expect("created");
    std::fs::write(&notes, "mine").expect("written");
    clone.nix(&["run", ".#build-and-copy"]);
    assert!(notes.exists());
    std::fs::write(&own, "mine").expect("written");
    let mut copy = nix(&["run", ".#build-and-copy"]);
    let output = copy.current_dir(clone.relu()).output().expect("start nix");
    assert!(!output.status.success() && own.exists());
    let said = words(&output);
    assert!(said.contains("no build made"), "{said}");
    assert!(said.contains("notes.txt: move it away first"), "{said}");
    let entries = clone.relu().join("build").read_dir().expect("a folder");
    assert_eq!(entries.count(), 3, "nothing unfinished is left");
    std::fs::remove_file(own).expect("removed");

    // Files of the user's are never deleted, and edits of a build are mentioned.
    let build = || {
        kernel_builder("build")
            .arg(clone.relu())
            .output()
            .expect("run")
    };
    let place = clone.relu().join("build").join(CUDA);
    let wrapper = place.join("__init__.py");
    std::fs::write(place.join("notes.txt"), "mine").expect("write");
    std::fs::write(&wrapper, "edited = True").expect("write");
    let refused = build();
    assert_eq!(refused.status.code(), Some(1));
    assert!(words(&refused).contains("notes.txt"), "{}", words(&refused));
    assert!(place.join("notes.txt").exists());
    std::fs::rename(place.join("notes.txt"), clone.relu().join("notes.txt")).expect("rename");
    let replaced = build();
    assert_eq!(replaced.status.code(), Some(0));
    let note = "__init__.py was edited: the new build replaces it";
    assert!(words(&replaced).contains(note), "{}", words(&replaced));
    let text = std::fs::read_to_string(&wrapper).expect("read");
    assert_ne!(text, "edited = True");

    // A folder that no build made is never overwritten.
    let foreign = clone.relu().join("build").join(CPU);
    std::fs::remove_file(foreign.join("metadata.json")).expect("remove");
    assert_eq!(build().status.code(), Some(1));
    assert!(foreign.join("__init__.py").exists());
}

/// A killed copy of a build was never replaced, and its temporary folder stayed.
#[test]
#[ignore = "builds with Nix: run by `make test`"]
fn a_copy_that_any_signal_ends_is_completed() {
    end_copies(6);
}

#[test]
#[ignore = "ends many builds: run by `make full-test`"]
fn twenty_copies_that_any_signal_ends_are_completed() {
    end_copies(21);
}

fn end_copies(times: u32) {
    let clone = Clone::new();
    // Enough files that a signal comes before the last one.
    for number in 0..300 {
        let name = format!("torch-ext/relu/data_{number}.py");
        std::fs::write(clone.relu().join(name), "# data\n".repeat(3000)).expect("written");
    }
    let build = || {
        let mut build = kernel_builder("build");
        build.arg(clone.relu()).args(["--variant", CPU]);
        build
    };
    run(&mut build());
    let output = clone.relu().join("build");
    let place = output.join(CPU);
    let right = nix_hash(&place);
    let mut in_the_copy = 0;
    for number in 0..times {
        // The old build is replaced, or there is none.
        match number % 2 {
            0 => std::fs::remove_file(place.join("data_7.py")).expect("removed"),
            _ => std::fs::remove_dir_all(&place).expect("removed"),
        }
        let mut build_again = build();
        let build_again = build_again.stdout(Stdio::null()).stderr(Stdio::null());
        let mut killed = build_again.spawn().expect("run");
        let staged = || {
            let mut entries = output.read_dir().expect("a folder").flatten();
            entries.any(|entry| entry.file_name().to_string_lossy().starts_with(".kernel"))
        };
        while !staged() && killed.try_wait().expect("a status").is_none() {}
        std::thread::sleep(Duration::from_millis(2) * (number / 3));
        let signal = ["TERM", "INT", "KILL"][number as usize % 3];
        send(signal, killed.id());
        let status = killed.wait().expect("an end");
        in_the_copy += u32::from(!status.success());
        assert_no_process_has(&clone.relu());
        run(&mut build());
        assert_eq!(nix_hash(&place), right, "build {number}, ended by {signal}");
        let names: Vec<_> = output.read_dir().expect("a folder").flatten().collect();
        assert_eq!(
            names.len(),
            1,
            "build {number}, ended by {signal}: {names:?}"
        );
    }
    assert!(
        in_the_copy >= times / 2,
        "{in_the_copy} of {times} were ended"
    );
}

/// The hash of a folder, as Nix itself computes it.
fn nix_hash(folder: &Path) -> String {
    let output = run(Command::new("nix-hash").arg(folder));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
#[ignore = "evaluates with Nix: run by `make test`"]
fn only_what_changed_is_compiled_again() {
    let clone = Clone::new();
    let before = [clone.derivations(CPU), clone.derivations(CUDA)];
    let changes = || {
        let after = [clone.derivations(CPU), clone.derivations(CUDA)];
        [
            changed(&before[0], &after[0]),
            changed(&before[1], &after[1]),
        ]
    };

    clone.append("README.md", "\nMore words.\n");
    clone.append("tests/test_relu.py", "\n# More words.\n");
    assert_eq!(changes(), [Vec::<String>::new(), Vec::new()]);

    clone.append("torch-ext/relu/__init__.py", "\n# More words.\n");
    // The package writes the new id into the library, so nothing is linked.
    let packaged = |variant: &str| vec![format!("relu-{variant}")];
    assert_eq!(changes(), [packaged(CPU), packaged(CUDA)]);

    let relinked =
        |variant: &str| vec![format!("relu-{variant}"), format!("relu-{variant}-library")];

    let with = |units: &[&str], variant: &str| {
        let units = units.iter().map(|unit| format!("relu-{unit}.o"));
        let mut all: Vec<String> = units.chain(relinked(variant)).collect();
        all.sort();
        all
    };
    // A change of a header compiles the units that include it.
    let (binding, cpu_unit) = ("torch-ext-torch_binding.cpp", "csrc-relu_cpu.cpp");
    clone.append("torch-ext/torch_binding.h", "\n// More words.\n");
    let included = [with(&[cpu_unit, binding], CPU), with(&[binding], CUDA)];
    assert_eq!(changes(), included);

    // One unit is compiled in its parts, joined and linked: the binding does not know the
    // namespace, which holds a hash of this file.
    clone.append("csrc/relu_cuda.cu", "\n// More words.\n");
    let [cpu, cuda] = changes();
    assert_eq!(cpu, with(&[cpu_unit, binding], CPU));
    let (parts, others): (Vec<String>, _) = cuda
        .into_iter()
        .partition(|name| name.starts_with("relu-csrc-relu_cuda.cu-"));
    assert_eq!(others, with(&[binding, "csrc-relu_cuda.cu"], CUDA));
    for part in ["host+sm_75", "sm_121"] {
        let part = format!("relu-csrc-relu_cuda.cu-{part}.o");
        assert!(parts.contains(&part), "{parts:?}");
    }
}

/// Two builds differ in a symbol, a section and a needed library, and their statements name the
/// source that made them differ. The revision is that of git, and no step depends on it.
#[test]
#[ignore = "builds with Nix: run by `make test`"]
fn a_diff_names_the_symbol_and_the_source_that_caused_it() {
    let clone = Clone::new();
    let build = clone.relu().join("build").join(CPU);
    let read = |file: &str| {
        let text = std::fs::read_to_string(build.join(file)).expect("a file");
        serde_json::from_str::<Value>(&text).expect("JSON")
    };
    let commit = |directory: &std::path::Path| {
        let output = run(Command::new("git")
            .arg("-C")
            .arg(directory)
            .args(["rev-parse", "HEAD"]));
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    };
    clone.build(&["--variant", CPU]);
    let revision = &read("metadata.json")["provenance"]["kernel"];
    assert_eq!(revision["commit"], commit(clone.path()));
    assert_eq!(revision["dirty"], false);
    let statement = read("provenance.intoto.json");
    let inputs = &statement["predicate"]["buildDefinition"]["resolvedDependencies"];
    let names: Vec<&str> = inputs
        .as_array()
        .expect("inputs")
        .iter()
        .filter_map(|input| input["name"].as_str())
        .collect();
    for name in [
        "source:build.toml",
        "source:csrc/relu_cpu.cpp",
        "source:torch-ext/relu/__init__.py",
    ] {
        assert!(names.contains(&name), "{names:?}");
    }
    assert!(
        names
            .iter()
            .any(|name| name.starts_with("pin:gcc-12:gcc-12_")),
        "{names:?}"
    );
    assert!(
        names.contains(&"derivation:relu-csrc-relu_cpu.cpp.o"),
        "{names:?}"
    );
    assert_eq!(read("sbom.cdx.json")["bomFormat"], "CycloneDX");

    let before = clone.path().join("before");
    common::folder::copy(&build, &before);
    clone.append(
        "csrc/relu_cpu.cpp",
        "\nextern \"C\" __attribute__((visibility(\"default\"))) int more_of_relu() { return 1; }\n",
    );
    clone.build(&["--variant", CPU]);
    assert_eq!(read("metadata.json")["provenance"]["kernel"]["dirty"], true);
    let output = kernel_builder("diff")
        .args([&before, &build])
        .arg("--json")
        .output();
    let output = output.expect("run");
    assert_eq!(output.status.code(), Some(1), "{}", words(&output));
    let json: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let differences = &json["variants"][0]["differences"];
    let changed = |value: &Value, how: &str| -> Vec<String> {
        let names = value[how].as_array().into_iter().flatten();
        names.filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let inputs = changed(&differences["inputs"], "changed");
    assert!(
        inputs.contains(&"source:csrc/relu_cpu.cpp".to_owned()),
        "{inputs:?}"
    );
    assert!(
        !inputs.contains(&"source:build.toml".to_owned()),
        "{inputs:?}"
    );
    // The library has another name, as the build id is a hash of the sources.
    assert_eq!(changed(&differences["files"], "added").len(), 1);

    // The same library under one name: to the symbol.
    let rename = |folder: &std::path::Path| {
        let library = std::fs::read_dir(folder).expect("a folder").flatten();
        let mut library = library.filter(|file| file.path().extension().is_some_and(|e| e == "so"));
        let library = library.next().expect("a library").path();
        std::fs::rename(library, folder.join("library.so")).expect("renamed");
    };
    rename(&before);
    rename(&build);
    let diff = |arguments: &[&str]| {
        let output = kernel_builder("diff")
            .args([&before, &build])
            .args(arguments)
            .output();
        String::from_utf8_lossy(&output.expect("run").stdout).into_owned()
    };
    let text = diff(&[]);
    for line in [
        "symbol added: more_of_relu",
        "input changed: source:csrc/relu_cpu.cpp",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
    let json: Value = serde_json::from_str(&diff(&["--json"])).expect("JSON");
    let details = json["variants"][0]["differences"]["details"].as_array();
    let library = details
        .into_iter()
        .flatten()
        .find(|own| own["file"] == "library.so");
    let sections = changed(&library.expect("the library")["sections"], "changed");
    assert!(sections.contains(&".text".to_owned()), "{sections:?}");
}

/// A binding may use the namespace for more than registering: it is then compiled for it.
#[test]
#[ignore = "builds with Nix: run by `make test`"]
fn a_binding_that_needs_the_namespace_gets_it() {
    let clone = Clone::new();
    let binding = "#include <string>\nextern \"C\" const char *relu_namespace() {\n  \
                   static const std::string name = STRINGIFY(TORCH_EXTENSION_NAME);\n  return name.c_str();\n}\n";
    clone.append("torch-ext/torch_binding.cpp", binding);
    clone.build(&["--variant", CPU]);
    let check = "\
import ctypes, pathlib, kernels, torch
relu = kernels.get_local_kernel(pathlib.Path('.'), backend='cpu')
assert relu.relu(torch.tensor([-1.0, 2.0])).tolist() == [0.0, 2.0]
[library] = pathlib.Path('build').glob('*/*.so')
name = ctypes.CDLL(str(library)).relu_namespace
name.restype = ctypes.c_char_p
assert name().decode() == library.name.split('.')[0], name()
";
    run(python().current_dir(clone.relu()).args(["-c", check]));
}

/// Regression: bindings that only register operators were built, and could not be imported.
#[test]
#[ignore = "builds with Nix: run by `make test`"]
fn a_binding_need_not_write_a_python_module() {
    let clone = Clone::new();
    let binding = clone.relu().join("torch-ext/torch_binding.cpp");
    let text = std::fs::read_to_string(&binding).expect("the binding");
    let module = "\nREGISTER_EXTENSION(TORCH_EXTENSION_NAME)\n";
    assert!(text.contains(module));
    std::fs::write(&binding, text.replace(module, "")).expect("written");
    clone.build(&["--variant", CPU]);
    let check = "\
import pathlib, kernels, torch
relu = kernels.get_local_kernel(pathlib.Path('.'), backend='cpu')
assert relu.relu(torch.tensor([-1.0, 2.0])).tolist() == [0.0, 2.0]
";
    run(python().current_dir(clone.relu()).args(["-c", check]));

    // An empty module would hide the author's.
    clone.append(
        "torch-ext/torch_binding.cpp",
        "PyMODINIT_FUNC PyInit_relu(void) { return nullptr; }\n",
    );
    let refused = kernel_builder("build")
        .arg(clone.relu())
        .args(["--variant", CPU])
        .output()
        .expect("start kernel-builder");
    assert_eq!(refused.status.code(), Some(1));
    let words = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(
        words.contains("the library holds the Python module relu, which nothing imports"),
        "{words}"
    );
}

/// Builds with the same id once shared Python modules, and a namespace can be registered only once
/// in a process.
#[test]
#[ignore = "builds with Nix: run by `make test`"]
fn several_builds_of_a_kernel_live_in_one_process() {
    let clone = Clone::new();
    let keep = |name: &str| {
        clone.build(&["--variant", CPU]);
        std::fs::rename(clone.relu().join("build"), clone.relu().join(name)).expect("rename");
    };
    keep("first");
    clone.append("torch-ext/relu/__init__.py", "\nEDITED = True\n");
    keep("python");
    clone.append("csrc/relu_cpu.cpp", "\n// Other code.\n");
    keep("native");
    let check = "\
import pathlib, kernels, torch
builds = [kernels.get_local_kernel(pathlib.Path(name), backend='cpu') for name in ('first', 'python', 'native')]
assert [hasattr(build, 'EDITED') for build in builds] == [False, True, True]
assert len({build.__name__ for build in builds}) == 3
namespaces = [build._ops.add_op_namespace_prefix('') for build in builds]
assert len(set(namespaces)) == 3, namespaces
for build in builds:
    assert build.relu(torch.tensor([-1.0, 2.0])).tolist() == [0.0, 2.0]
";
    run(python().current_dir(clone.relu()).args(["-c", check]));
}

#[test]
#[ignore = "builds with Nix: run by `make test`"]
fn a_rebuild_gives_the_same_bytes() {
    let clone = Clone::new();
    clone.build(&[]);
    for variant in [CPU, CUDA] {
        for derivation in clone.derivations(variant).values() {
            let mut nix = Command::new("nix-store");
            run(nix
                .args(["--realise", "--check", derivation])
                .args(SANDBOXED));
        }
    }
}

/// A build.nix that does not know what the files include would leave a header out, and another be
/// found in its place.
#[test]
#[ignore = "builds with Nix: run by `make test`"]
fn a_stale_build_nix_says_what_to_run() {
    let clone = Clone::new();
    let build = || {
        nix(&["build", &format!(".#redistributable.{CPU}"), "--no-link"])
            .current_dir(clone.relu())
            .output()
            .expect("run")
    };
    let refused = |what: &str| {
        let output = build();
        assert!(!output.status.success());
        let words = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(
            words.contains(what) && words.contains("run `kernel-builder generate`"),
            "{words}"
        );
    };
    let git = |arguments: &[&str]| {
        run(Command::new("git")
            .current_dir(clone.relu())
            .args(arguments));
    };

    clone.append("csrc/relu_cpu.cpp", "\n// Other code.\n");
    assert!(build().status.success());
    clone.append("csrc/relu_cpu.cpp", "#include \"relu_cuda.h\"\n");
    refused("csrc/relu_cpu.cpp includes or registers other things");
    git(&["checkout", "--quiet", "csrc"]);
    // So may a header of the unit.
    clone.append(
        "torch-ext/torch_binding.h",
        "#if __has_include(<cuda.h>)\n#endif\n",
    );
    refused("torch-ext/torch_binding.h includes or registers other things");
    git(&["checkout", "--quiet", "torch-ext"]);

    // No include has changed, but this one is found first.
    let header = clone.relu().join("csrc/ATen/Dispatch.h");
    std::fs::create_dir_all(header.parent().expect("a folder")).expect("create a folder");
    std::fs::write(&header, "#include <not_of_torch.h>\n").expect("written");
    git(&["add", "csrc"]);
    refused("build.nix does not know every file below csrc, torch-ext");
    run(kernel_builder("generate").arg(clone.relu()));
    let words = String::from_utf8_lossy(&build().stderr).into_owned();
    assert!(words.contains("not_of_torch.h: No such file"), "{words}");

    clone.append("build.toml", "\n# Another comment.\n");
    refused("build.nix is older than build.toml");
}

#[test]
#[ignore = "evaluates with Nix: run by `make test`"]
fn a_missing_pin_says_what_to_run() {
    let clone = Clone::new();
    let store = tempfile::tempdir().expect("a temporary folder");
    let attribute = format!(".#redistributable.{CPU}");
    let output = nix(&["build", &attribute, "--no-link"])
        .current_dir(clone.relu())
        .env("NIX_REMOTE", store.path())
        .output()
        .expect("run");
    assert!(!output.status.success());
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(words.contains("run `kernel-builder fetch`"), "{words}");
    // Nix makes its store read-only, which stops the folder from being removed.
    run(Command::new("chmod").args(["-R", "u+w"]).arg(store.path()));
}
