//! `lock`, `download`, `resolve` and wheels of the Hub's kernels.

use std::collections::BTreeMap;
use std::process::Stdio;

use kernel_builder::hub::api::{HubRef, HubRefs};
use kernel_builder::hub::requirement::requirements_of;
use kernel_builder::hub::resolve::LoaderFacts;
use serde_json::{Value, json};

use crate::common::folder::Folder;
use crate::common::program::{kernel_builder, python, run, words};
use crate::{REPOSITORY, VARIANTS, World, in_project, write_project};

#[test]
fn locked_files_are_downloaded_with_their_hashes() {
    let world = World::new();
    world.succeed();
    world.build(2, "two");
    world.succeed();
    for (version, chosen) in [("1", "v1"), ("\">=1,<3\"", "v2"), ("\"<2\"", "v1")] {
        write_project(&world, version);
        let output = in_project(&world, "lock", &[]);
        assert_eq!(output.status.code(), Some(0), "{}", words(&output));
        let line = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(
            line.starts_with(&format!("{REPOSITORY} {chosen} ")),
            "{line}"
        );
    }
    let lock = world.folder.read("project/kernel-builder.lock");
    let lock: Value = serde_json::from_str(&lock).expect("JSON");
    let kernel = &lock["kernels"][0];
    let client: Value =
        serde_json::from_str(&world.folder.read("project/kernels.lock")).expect("JSON");
    assert_eq!(
        client,
        json!([{
            "dependency": { "repo-id": REPOSITORY, "version": 1 }, "lock": { "commit": kernel["commit"] },
        }])
    );
    let path = format!("build/{}/__init__.py", VARIANTS[0]);
    let expected = crate::common::archives::sha256(b"WORD = \"one\"\n");
    assert_eq!(kernel["files"][&path]["sha256"], expected);

    // A server that lies, before and while files come.
    let download = |arguments: &[&str]| in_project(&world, "download", arguments);
    world.fault("GET .*/resolve/.*bin", "lie", 100);
    let said = world.fail(&download(&["--all"]), 3);
    assert!(said.contains("does not have the locked hash"), "{said}");
    world.behave(json!({}));
    let fetched = |arguments: &[&str]| {
        let output = download(arguments);
        assert_eq!(output.status.code(), Some(0), "{}", words(&output));
        let line = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        line.rsplit_once(", ").expect("a number").1.to_owned()
    };
    fetched(&["--all"]);
    assert_eq!(fetched(&["--all"]), "0 files fetched");
    let folder = world.folder.path().join("home/hub/kernels--acme--made-up");
    let commit = kernel["commit"].as_str().expect("a commit");
    assert_eq!(
        std::fs::read_to_string(folder.join("refs/v1")).expect("a file"),
        commit
    );
    let file = folder.join("snapshots").join(commit).join(&path);
    assert_eq!(
        std::fs::read_to_string(&file).expect("a file"),
        "WORD = \"one\"\n"
    );
    // A file of the cache that was changed is fetched again.
    std::fs::write(file.canonicalize().expect("a file"), "evil").expect("written");
    assert_eq!(fetched(&["--variant", VARIANTS[0]]), "1 file fetched");
    assert_eq!(
        std::fs::read_to_string(&file).expect("a file"),
        "WORD = \"one\"\n"
    );

    let wrong = world
        .folder
        .read("project/kernel-builder.lock")
        .replace("build/torch-universal/", "build/../");
    world.folder.write("project/kernel-builder.lock", wrong);
    let said = world.fail(&download(&["--all"]), 1);
    assert!(said.contains("a hash or a path"), "{said}");
    write_project(&world, "\">3\"");
    let said = world.fail(&in_project(&world, "lock", &[]), 3);
    assert!(said.contains("it has v1, v2"), "{said}");
}

/// A kernel on the Hub becomes the wheels that its folder became, of the version that is asked for.
#[test]
fn wheels_are_packed_of_kernels_on_the_hub() {
    let world = World::new();
    world.succeed();
    world.build(2, "two");
    world.succeed();
    let wheels = |kernel: &str, out: &str, arguments: &[&str]| {
        let mut program = kernel_builder("to-wheel");
        world.set_environment(&mut program);
        program.current_dir(world.folder.path());
        program.env_remove("SOURCE_DATE_EPOCH").arg(kernel);
        let output = program.args(["--out", out]).args(arguments).output();
        output.expect("run")
    };
    let bytes = |out: &str| {
        let files = std::fs::read_dir(world.folder.path().join(out)).expect("wheels");
        let files = files.map(|file| file.expect("a wheel").path());
        let read = |path: std::path::PathBuf| {
            let content = std::fs::read(&path).expect("a wheel");
            (path.file_name().expect("a name").to_owned(), content)
        };
        files.map(read).collect::<BTreeMap<_, _>>()
    };
    let asked = |kernel: &str, out: &str, arguments: &[&str]| {
        let output = wheels(kernel, out, arguments);
        assert_eq!(
            output.status.code(),
            Some(0),
            "{kernel}: {}",
            words(&output)
        );
        bytes(out)
    };
    let two = asked("kernel", "of-folder", &[]);
    assert_eq!(asked(REPOSITORY, "newest", &[]), two);
    for (number, version) in ["1", "<2", "v1"].into_iter().enumerate() {
        let one = asked(&format!("{REPOSITORY}@{version}"), &number.to_string(), &[]);
        let names = one.keys().map(|name| name.to_string_lossy().into_owned());
        let names: Vec<String> = names.collect();
        assert!(
            !names.is_empty() && names.iter().all(|name| name.starts_with("made_up-1-")),
            "{names:?}"
        );
    }

    // Only the chosen variant comes from the Hub.
    std::fs::remove_dir_all(world.folder.path().join("home/hub")).expect("removed");
    asked(REPOSITORY, "some", &["--variant", VARIANTS[0]]);
    let cache = world.folder.path().join("home/hub/kernels--acme--made-up");
    let snapshot = std::fs::read_dir(cache.join("snapshots")).expect("snapshots");
    let snapshot = snapshot.map(|entry| entry.expect("an entry").path());
    let builds = snapshot.flat_map(|path| std::fs::read_dir(path.join("build")).expect("builds"));
    let builds: Vec<_> = builds
        .map(|build| build.expect("a build").file_name())
        .collect();
    assert_eq!(builds, [VARIANTS[0]]);

    let said = world.fail(&wheels(&format!("{REPOSITORY}@>2"), "none", &[]), 3);
    assert!(said.contains("it has v1, v2"), "{said}");
    let said = world.fail(&wheels("no/such/folder", "none", &[]), 3);
    assert!(said.contains("read the builds in no/such/folder"), "{said}");
    let unknown = ["--variant", "torch-none"];
    let said = world.fail(&wheels(REPOSITORY, "none", &unknown), 2);
    assert!(said.contains(VARIANTS[0]), "{said}");
}

/// The client takes downloaded kernels with the Hub switched off.
#[test]
#[ignore = "needs the client: run by `make test`"]
fn the_real_client_loads_downloaded_kernels_without_a_network() {
    let mut world = World::new();
    world.succeed();
    write_project(&world, "\">=1,<2\"");
    assert!(in_project(&world, "lock", &[]).status.success());
    let program = crate::common::program::venv().join("bin/python");
    let program = program.to_str().expect("UTF-8");
    // The client was here first, and left its list of all files.
    let mut client = python();
    world.set_environment(&mut client);
    run(client.args([
        "-c",
        "import kernels; kernels.get_kernel('acme/made-up', version=1)",
    ]));
    let output = in_project(&world, "download", &["--python", program]);
    assert_eq!(output.status.code(), Some(0), "{}", words(&output));
    let line = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(line.contains(": torch-universal, "), "{line}");
    world.hub.stop();
    let script = "\
import kernels, pathlib, sys
lock = pathlib.Path(sys.argv[1])
for load in (
    lambda: kernels.get_kernel('acme/made-up', version=1),
    lambda: kernels.get_locked_kernel('acme/made-up', lockfile=lock),
    lambda: kernels.load_kernel('acme/made-up', lockfile=lock),
):
    print(load().WORD)
";
    let mut client = python();
    world.set_environment(&mut client);
    let lock = world.folder.path().join("project/kernels.lock");
    let output = run(client
        .env("HF_HUB_OFFLINE", "1")
        .args(["-c", script])
        .arg(lock));
    assert_eq!(String::from_utf8_lossy(&output.stdout), "one\none\none\n");
}

/// `resolve` and `download` decide as the client does.
#[test]
#[ignore = "needs the client: run by `make test`"]
fn decisions_are_those_of_the_client() {
    let script = "\
import json, logging, sys
from packaging.version import Version
from kernels import backends, variants
logging.disable()
names, systems = json.load(sys.stdin)
parsed = [variants.parse_variant(name) for name in sorted(names)]
version = lambda pair: pair and Version('.'.join(map(str, pair)))
for system in systems:
    kind, pair = system['own']
    backend = getattr(backends, kind)(*([version(pair)] if pair else []))
    accepted, _ = variants._resolve_variant_for_system(
        parsed, backend, system['cpu'], system['os'], version(system['torch']), system['cxx11'], version(system['tvm_ffi'])
    )
    print(json.dumps([variant.variant_str for variant in accepted]))
";
    let mut names = Vec::new();
    for compute in [
        "cpu", "cu118", "cu126", "cu128", "cu130", "cu132", "rocm71", "xpu20253",
    ] {
        for framework in [
            "torch26-cxx98",
            "torch27-cxx11",
            "torch210-cxx11",
            "torch211",
            "torch211-cxx11",
        ] {
            names.push(format!("{framework}-{compute}-x86_64-linux"));
        }
        for framework in ["torch-stable-abi29", "torch-stable-abi211", "tvm-ffi01"] {
            names.push(format!("{framework}-{compute}-x86_64-linux"));
        }
        names.push(format!("torch211-cxx11-{compute}-aarch64-linux"));
    }
    for kind in ["universal", "cpu", "cuda", "rocm", "xpu"] {
        names.push(format!("torch-{kind}"));
    }
    let mut systems = Vec::new();
    for (backend, own) in [
        ("cpu", json!(["CPU", null])),
        ("cu126", json!(["CUDA", [12, 6]])),
        ("cu130", json!(["CUDA", [13, 0]])),
        ("cu132", json!(["CUDA", [13, 2]])),
        ("rocm71", json!(["ROCm", [7, 1]])),
        ("xpu20253", json!(["XPU", [2025, 3]])),
    ] {
        for (torch, cxx11) in [
            (json!([2, 6]), false),
            (json!([2, 7]), true),
            (json!([2, 11]), true),
            (json!([2, 12]), true),
            (json!(null), true),
        ] {
            for tvm_ffi in [json!(null), json!([0, 1])] {
                let cxx11 = if torch.is_null() {
                    json!(null)
                } else {
                    json!(cxx11)
                };
                systems.push(json!({
                    "own": own, "backend": backend, "cpu": "x86_64", "os": "linux", "torch": torch,
                    "cxx11": cxx11, "tvm_ffi": tvm_ffi,
                }));
            }
        }
    }
    let mut client = python();
    client
        .args(["-c", script])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    let mut client = client.spawn().expect("start Python");
    let question = json!([names, systems]).to_string();
    let mut input = client.stdin.take().expect("a pipe");
    std::io::Write::write_all(&mut input, question.as_bytes()).expect("written");
    drop(input);
    let output = client.wait_with_output().expect("an end");
    assert!(output.status.success());
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(text.lines().count(), systems.len());
    for (line, system) in text.lines().zip(&systems) {
        let facts: LoaderFacts = serde_json::from_value(system.clone()).expect("facts");
        let decisions = facts.decide(names.iter().map(String::as_str));
        let taken = decisions
            .iter()
            .filter(|decision| decision.refused.is_none());
        let taken: Vec<&str> = taken.map(|decision| decision.variant.as_str()).collect();
        let accepted: Vec<&str> = serde_json::from_str(line).expect("JSON");
        assert_eq!(taken, accepted, "{system}");
    }
}

/// Specifiers mean what they mean in Python: 200 of them choose the version that `packaging` does.
#[test]
#[ignore = "needs packaging, which comes with the client: run by `make test`"]
fn specifiers_choose_as_those_of_python() {
    let versions = ["1", "1.2", "1.2.0", "1.10", "2", "2.0.1", "3"];
    let mut clauses = Vec::new();
    for version in versions {
        for operator in ["==", "!=", ">=", "<=", ">", "<", "~="] {
            // NB: `~=1` is no specifier.
            if operator != "~=" || version.contains('.') {
                clauses.push(format!("{operator}{version}"));
            }
        }
        clauses.extend([format!("=={version}.*"), format!("!={version}.*")]);
    }
    let pairs = clauses.iter().enumerate().flat_map(|(number, one)| {
        let others = clauses.iter().skip(number % 7).step_by(7);
        others.map(move |other| format!("{one},{other}"))
    });
    let mut asked = clauses.clone();
    asked.extend(pairs);
    asked.truncate(200);
    assert_eq!(asked.len(), 200);

    let folder = Folder::new();
    let lines = asked.iter().enumerate();
    let lines = lines.map(|(number, text)| format!("\"acme/k{number:03}\" = \"{text}\"\n"));
    let text = format!("[tool.kernels.dependencies]\n{}", lines.collect::<String>());
    folder.write("pyproject.toml", text);
    let path = camino::Utf8Path::from_path(folder.path()).expect("UTF-8");
    let requirements = requirements_of(path).expect("requirements");
    let names = [
        "v1", "v2", "v3", "v1.2.1", "v1.2.9", "v1.9.0", "v1.10.4", "v2.0.1", "v2.3.0",
    ];
    let refs = |is_wanted: &dyn Fn(&str) -> bool| {
        let wanted = names.into_iter().filter(|name| is_wanted(name));
        let one = |name: &str| HubRef {
            name: name.to_owned(),
            target_commit: "0".repeat(40),
        };
        wanted.map(one).collect()
    };
    let refs = HubRefs {
        branches: refs(&|name| !name.contains('.')),
        tags: refs(&|name| name.contains('.')),
    };
    let chosen = requirements.iter().map(|own| own.choose(&refs));
    let chosen: Vec<String> = chosen
        .map(|found| found.map(|one| one.name).unwrap_or_default())
        .collect();

    let script = "\
import json, sys
from packaging.specifiers import SpecifierSet
from packaging.version import Version
asked, names = json.loads(sys.argv[1])
names.sort(key=lambda name: Version(name))
fitting = ([name for name in names if SpecifierSet(text).contains(name[1:])] for text in asked)
print(json.dumps([found[-1] if found else '' for found in fitting]))
";
    let question = json!([asked, names]).to_string();
    let output = run(python().args(["-c", script, &question]));
    let expected: Vec<String> = serde_json::from_slice(&output.stdout).expect("JSON");
    for ((text, ours), theirs) in asked.iter().zip(&chosen).zip(&expected) {
        assert_eq!(ours, theirs, "{text}");
    }
    let different: std::collections::BTreeSet<&String> = expected.iter().collect();
    assert!(different.len() > 5, "{different:?}");
}
