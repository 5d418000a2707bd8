//! `upload` against a Hub on this machine (tests/fake_hub.py): what is sent, what each fault of the
//! Hub leads to, and what killed uploads leave. Most builds are made up, of Python alone; the real
//! client reads them.

mod common;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use common::folder::{Folder, example};
use common::loopback::Server;
use common::program::{build, built_library, kernel_builder, python, run, set_hub, words};
use kernel_builder::hub::api::{HubRef, HubRefs};
use kernel_builder::hub::requirement::requirements_of;
use kernel_builder::hub::resolve::LoaderFacts;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

const TOKEN: &str = "hf_secretOfTheTest";
const REPOSITORY: &str = "acme/made-up";
const VARIANTS: [&str; 2] = ["torch-universal", "torch-cpu"];

/// A Hub, and a built kernel to upload.
struct World {
    folder: Folder,
    hub: Server,
}

impl World {
    fn new() -> Self {
        let folder = Folder::new();
        let hub = Server::start_hub(folder.path());
        let world = Self { folder, hub };
        world.behave(json!({}));
        world.build(1, "one");
        world
    }

    /// Says how the Hub behaves (tests/fake_hub.py).
    fn behave(&self, mut behaviour: Value) {
        behaviour["token"] = TOKEN.into();
        self.folder.write("behaviour.json", behaviour.to_string());
    }

    fn fault(&self, on: &str, fault: &str, times: u32) {
        self.behave(json!({ "faults": [{ "on": on, "fault": fault, "times": times }] }));
    }

    /// Makes up a build whose files depend on a word.
    fn build(&self, version: u64, word: &str) {
        for variant in VARIANTS {
            let files = [
                ("__init__.py", format!("WORD = {word:?}\n").into_bytes()),
                ("layers/__init__.py", b"".to_vec()),
                (
                    "weights.bin",
                    [word.repeat(100_000).as_bytes(), b"\0", variant.as_bytes()].concat(),
                ),
            ];
            let mut digests = BTreeMap::new();
            for (path, content) in &files {
                self.folder
                    .write(&format!("kernel/build/{variant}/{path}"), content);
                digests.insert(*path, STANDARD.encode(Sha256::digest(content)));
            }
            let metadata = json!({
                "name": "made-up", "id": format!("_made_up_{word}"), "version": version, "license": "MIT",
                "python-depends": [], "backend": { "type": "cpu" },
                "digest": { "algorithm": "sha256", "files": digests },
            });
            let path = format!("kernel/build/{variant}/metadata.json");
            self.folder.write(&path, metadata.to_string());
        }
        self.folder
            .write("kernel/build/CARD.md", format!("# {word}\n"));
    }

    fn upload(&self, arguments: &[&str]) -> Command {
        let mut command = kernel_builder("upload");
        self.set_environment(&mut command);
        command.env("HF_TOKEN", TOKEN);
        command.arg(self.folder.path().join("kernel"));
        command.args(["--repo-id", REPOSITORY]).args(arguments);
        command
    }

    /// Lets a program know this Hub and no other.
    fn set_environment(&self, command: &mut Command) {
        let home = self.folder.path().join("home");
        set_hub(command, self.hub.url("").trim_end_matches('/'), &home);
        command
            .env("HF_HUB_DISABLE_XET", "1")
            .env("KERNEL_BUILDER_STALL_SECONDS", "2");
    }

    /// Uploads, and returns the result.
    fn succeed(&self) -> Value {
        let output = self.upload(&["--json"]).output().expect("run");
        let words = words(&output);
        assert_eq!(output.status.code(), Some(0), "{words}");
        assert!(!words.contains(TOKEN), "{words}");
        serde_json::from_slice(&output.stdout).expect("JSON")
    }

    /// Fails to upload, and returns the words without their lines.
    fn fail(&self, output: &Output, code: i32) -> String {
        let words = words(output).replace('│', " ");
        let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(output.status.code(), Some(code), "{words}");
        assert!(!words.contains(TOKEN), "{words}");
        words
    }

    /// The requests since the last call.
    fn requests(&self) -> Vec<Value> {
        let path = self.folder.path().join("log");
        let log = std::fs::read_to_string(&path).unwrap_or_default();
        let _ = std::fs::remove_file(path);
        let requests = log
            .lines()
            .map(|line| serde_json::from_str(line).expect("JSON"));
        requests.collect()
    }

    /// The words of both variants at a branch, as huggingface's API shows them: the old build or
    /// the new one, never a mixture.
    fn words_at(&self, branch: &str) -> Vec<String> {
        VARIANTS
            .map(|variant| {
                let path =
                    format!("kernels/{REPOSITORY}/resolve/{branch}/build/{variant}/__init__.py");
                let mut answer = ureq::get(self.hub.url(&path)).call().expect("an answer");
                answer.body_mut().read_to_string().expect("text")
            })
            .into()
    }
}

fn number_of(requests: &[Value], what: &str) -> usize {
    let is_it = |request: &&Value| request["request"].as_str().expect("text").contains(what);
    requests.iter().filter(is_it).count()
}

#[test]
fn only_differences_are_uploaded_and_one_commit_switches() {
    let world = World::new();
    let dry = world.upload(&["--dry-run"]).output().expect("run");
    let lines = String::from_utf8_lossy(&dry.stdout).into_owned();
    assert!(
        lines.starts_with(&format!(
            "create the repository {REPOSITORY}\ncreate the branch v1\n"
        )),
        "{lines}"
    );
    assert_eq!(lines.lines().count(), 2 + 8 + 1, "{lines}");
    let writes = |requests: &[Value]| number_of(requests, "POST") + number_of(requests, "PUT");
    assert_eq!(writes(&world.requests()), 0);

    let first = world.succeed();
    assert_eq!(
        (&first["status"], &first["branch"]),
        (&json!("uploaded"), &json!("v1"))
    );
    assert_eq!(first["uploaded"].as_array().map(Vec::len), Some(9));
    let requests = world.requests();
    assert_eq!(number_of(&requests, "/commit/v1"), 1);
    assert_eq!(number_of(&requests, "/commit/main"), 1);
    assert_eq!(number_of(&requests, "PUT /large/"), 2);
    // The storage of large files is another server, which gets no token.
    let is_storage = |request: &&Value| {
        request["request"]
            .as_str()
            .expect("text")
            .starts_with("PUT")
    };
    let mut storage = requests.iter().filter(is_storage);
    assert!(storage.all(|request| request["authorized"] == false));

    let second = world.succeed();
    assert_eq!(
        (&second["status"], &second["kept"]),
        (&json!("no_changes"), &json!(8))
    );
    assert_eq!(
        writes(&world.requests()),
        0,
        "the same build transfers nothing"
    );

    // A variant of another machine stays; a file that the build does not have any more goes.
    world.build(1, "two");
    std::fs::remove_dir_all(world.folder.path().join("kernel/build").join(VARIANTS[1]))
        .expect("removed");
    let variant = world.folder.path().join("kernel/build").join(VARIANTS[0]);
    std::fs::remove_file(variant.join("weights.bin")).expect("removed");
    let metadata = std::fs::read_to_string(variant.join("metadata.json")).expect("read");
    let mut metadata: Value = serde_json::from_str(&metadata).expect("JSON");
    metadata["digest"]["files"]
        .as_object_mut()
        .expect("files")
        .remove("weights.bin");
    std::fs::write(variant.join("metadata.json"), metadata.to_string()).expect("written");
    let third = world.succeed();
    assert_eq!(
        third["deleted"],
        json!([format!("build/{}/weights.bin", VARIANTS[0])])
    );
    assert_eq!(third["kept"], 1, "{third}");
    assert_eq!(
        world.words_at("v1"),
        ["WORD = \"two\"\n", "WORD = \"one\"\n"]
    );
}

#[test]
fn large_files_go_in_pieces_and_lists_in_pages() {
    let world = World::new();
    world.behave(json!({ "piece": 70_000, "page": 3 }));
    world.succeed();
    assert_eq!(number_of(&world.requests(), "PUT /large/"), 2 * 5);
    assert_eq!(world.succeed()["status"], "no_changes");
}

#[test]
fn a_build_that_was_changed_is_refused_before_the_first_byte() {
    let world = World::new();
    let file = world.folder.path().join("kernel/build").join(VARIANTS[0]);
    let changes: [(&dyn Fn(), &str); 4] = [
        (
            &|| std::fs::write(file.join("notes.txt"), "mine").expect("written"),
            "notes.txt cannot be published: metadata.json has no digest of it",
        ),
        (
            &|| std::fs::write(file.join("__init__.py"), "edited").expect("written"),
            "__init__.py cannot be published: it was changed after the build",
        ),
        (
            &|| std::fs::remove_file(file.join("weights.bin")).expect("removed"),
            "weights.bin cannot be published: metadata.json has its digest, and it is not there",
        ),
        (
            &|| std::os::unix::fs::symlink("/etc/passwd", file.join("link.py")).expect("linked"),
            "link.py cannot be published: it is a link to",
        ),
    ];
    for (change, expected) in changes {
        world.build(1, "one");
        change();
        let output = world.upload(&[]).output().expect("run");
        let said = world.fail(&output, 1);
        assert!(said.contains(expected), "{expected}\n{said}");
        std::fs::remove_dir_all(&file).expect("removed");
    }
    assert!(world.requests().is_empty());
}

#[test]
fn faults_that_pass_are_tried_again() {
    for (on, fault) in [
        ("GET .*/refs", "retry:429"),
        ("POST .*/preupload", "retry:500"),
        ("PUT /large", "retry:503"),
        ("PUT /large", "cut"),
        ("POST .*/commit/v1", "retry:429"),
        // The Hub has made the commit, and the answer is lost.
        ("POST .*/commit/v1", "lost"),
        ("POST .*/branch", "lost"),
        ("POST .*/create", "lost"),
    ] {
        let world = World::new();
        world.fault(on, fault, 1);
        world.succeed();
        world.behave(json!({}));
        assert_eq!(
            world.words_at("v1"),
            ["WORD = \"one\"\n"; 2],
            "{on} {fault}"
        );
        assert_eq!(world.succeed()["status"], "no_changes", "{on} {fault}");
    }
}

#[test]
fn faults_that_stay_are_clear_errors_and_change_nothing() {
    for (on, fault, expected) in [
        ("POST .*/commit/v1", "retry:429", "hub::busy"),
        ("GET .*/refs", "retry:500", "status 500"),
        ("PUT /large", "slow:30", "does not answer in time"),
        ("PUT /large", "lie", "hub::refused"),
        ("GET .*/refs", "garbage", "hub::answer"),
        ("POST .*/preupload", "garbage", "hub::answer"),
        ("POST .*/commit/v1", "status:403", "hub::forbidden"),
        ("POST .*/commit/v1", "status:401", "hub::token"),
    ] {
        let world = World::new();
        world.succeed();
        world.build(1, "two");
        world.fault(on, fault, 100);
        let mut upload = world.upload(&[]);
        upload.env("KERNEL_BUILDER_STALL_SECONDS", "1");
        let said = world.fail(&upload.output().expect("run"), 3);
        assert!(said.contains(expected), "{on} {fault}: {said}");
        world.behave(json!({}));
        assert_eq!(
            world.words_at("v1"),
            ["WORD = \"one\"\n"; 2],
            "{on} {fault}"
        );
        world.succeed();
        assert_eq!(
            world.words_at("v1"),
            ["WORD = \"two\"\n"; 2],
            "{on} {fault}"
        );
    }
}

#[test]
fn a_wrong_token_is_named_and_not_shown() {
    let world = World::new();
    let wrong = "hf_anotherSecret";
    let output = world
        .upload(&[])
        .env("HF_TOKEN", wrong)
        .output()
        .expect("run");
    let said = world.fail(&output, 3);
    assert!(
        said.contains("hub::token") && said.contains("Invalid credentials"),
        "{said}"
    );
    // The Hub repeats it in its answer.
    assert!(
        said.contains("Bearer ***") && !said.contains(wrong),
        "{said}"
    );
}

/// A commit that has other files than were sent.
#[test]
fn a_hub_that_stores_other_files_is_noticed() {
    let world = World::new();
    world.behave(json!({ "faults": [{ "on": "GET .*/tree/", "fault": "lie", "times": 9 }] }));
    let said = world.fail(&world.upload(&[]).output().expect("run"), 3);
    assert!(
        said.contains("hub::answer") && said.contains("has another file there"),
        "{said}"
    );
}

#[test]
fn a_pull_request_leaves_the_branch() {
    let world = World::new();
    world.succeed();
    world.build(1, "two");
    let output = world.upload(&["--create-pr"]).output().expect("run");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        said.starts_with("Pull request created: http://127.0.0.1:"),
        "{said}{}",
        words(&output)
    );
    assert_eq!(world.words_at("v1"), ["WORD = \"one\"\n"; 2]);
}

/// Kills uploads at moments spread over a whole one.
#[test]
fn a_killed_upload_leaves_the_old_build_and_is_completed() {
    kill_uploads(5);
}

#[test]
#[ignore = "kills many uploads: run by `make full-test`"]
fn twenty_killed_uploads_leave_the_old_build_and_are_completed() {
    kill_uploads(20);
}

fn kill_uploads(times: u32) {
    let world = World::new();
    world.succeed();
    let slow = || {
        world.behave(json!({ "faults": [{ "on": ".", "fault": "slow:0.1", "times": 100_000 }] }))
    };
    slow();
    world.build(1, "two");
    let began = Instant::now();
    world.succeed();
    let whole = began.elapsed();
    let mut before = "two".to_owned();
    let mut unfinished = 0;
    for number in 0..times {
        let word = format!("word{number}");
        world.build(1, &word);
        let mut upload = world.upload(&[]);
        let mut upload = upload
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("run");
        std::thread::sleep(whole.mul_f64((f64::from(number) + 0.5) / f64::from(times)));
        unfinished += u32::from(upload.try_wait().expect("a status").is_none());
        let _ = upload.kill();
        upload.wait().expect("an end");
        // A request that the Hub has is done.
        std::thread::sleep(Duration::from_millis(300));
        let there = world.words_at("v1");
        let [old, new] = [&before, &word].map(|word| vec![format!("WORD = {word:?}\n"); 2]);
        assert!(there == old || there == new, "{there:?}");
        world.requests();
        world.succeed();
        assert_eq!(world.words_at("v1"), new);
        before = word;
    }
    assert!(
        unfinished > times / 2,
        "{unfinished} of {times} were killed"
    );
}

/// A project that needs the kernel, and a command in it.
fn in_project(world: &World, command: &str, arguments: &[&str]) -> Output {
    let mut program = kernel_builder(command);
    world.set_environment(&mut program);
    let project = world.folder.path().join("project");
    program.arg(project).args(arguments).output().expect("run")
}

fn write_project(world: &World, version: &str) {
    let text = format!("[tool.kernels.dependencies]\n\"{REPOSITORY}\" = {version}\n");
    world.folder.write("project/pyproject.toml", text);
}

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
    let expected = common::archives::sha256(b"WORD = \"one\"\n");
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
    let program = common::program::venv().join("bin/python");
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

/// The real client, and huggingface_hub, against the same Hub.
#[test]
#[ignore = "needs the client: run by `make test`"]
fn the_real_client_loads_what_was_uploaded() {
    let world = World::new();
    world.succeed();
    let script = "\
import kernels
from huggingface_hub import HfApi
kernel = kernels.get_kernel('acme/made-up', version=1)
print(kernel.WORD, kernels.has_kernel('acme/made-up', version=1))
api = HfApi()
print(sorted(api.list_repo_files('acme/made-up', repo_type='kernel', revision='v1')))
";
    let mut client = python();
    world.set_environment(&mut client);
    let output = run(client.args(["-c", script]));
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(said.starts_with("one True\n"), "{said}");
    assert!(
        said.contains("'build/torch-universal/weights.bin'"),
        "{said}"
    );
    // huggingface_hub's own upload leaves nothing to send.
    world.build(2, "two");
    let script = format!(
        "\
import sys
from huggingface_hub import HfApi
api = HfApi(token={TOKEN:?})
api.create_branch('acme/made-up', branch='v2', repo_type='kernel')
api.upload_folder(repo_id='acme/made-up', repo_type='kernel', revision='v2', folder_path=sys.argv[1], path_in_repo='build',
                  ignore_patterns=['CARD.md'])
"
    );
    let mut client = python();
    world.set_environment(&mut client);
    run(client
        .args(["-c", &script])
        .arg(Path::new(&world.folder.path().join("kernel/build"))));
    let result = world.succeed();
    assert_eq!(
        (&result["kept"], &result["branch"]),
        (&json!(8), &json!("v2")),
        "{result}"
    );
}

/// A real build on its way: signed, uploaded, loaded by the real client in a fresh cache, locked,
/// downloaded, and loaded again without a network. Two versions of it load side by side.
#[test]
#[ignore = "builds with Nix: run by `make test`"]
fn a_real_build_is_published_and_loads_without_a_network() {
    const CPU: &str = "torch211-cxx11-cpu-x86_64-linux";
    const CUDA: &str = "torch211-cxx11-cu130-x86_64-linux";
    let mut world = World::new();
    let kernel = example("relu");
    run(&mut build(kernel.path(), &[CPU, CUDA]));
    let key = kernel.path().join("key");
    run(kernel_builder("sign").arg("--generate-key").arg(&key));
    run(kernel_builder("sign")
        .arg(kernel.path())
        .arg("--secret-key")
        .arg(&key));
    let upload = || {
        let mut command = kernel_builder("upload");
        world.set_environment(&mut command);
        command.env("HF_TOKEN", TOKEN).arg(kernel.path());
        command.args(["--repo-id", "acme/relu", "--json"]);
        command.output().expect("run")
    };
    let result = || {
        let output = upload();
        assert_eq!(output.status.code(), Some(0), "{}", words(&output));
        serde_json::from_slice::<Value>(&output.stdout).expect("JSON")
    };
    let first = result();
    for file in [
        format!("build/{CPU}.minisig"),
        format!("build/{CUDA}.minisig"),
        format!("build/{CPU}/provenance.intoto.json"),
        format!("build/{CPU}/sbom.cdx.json"),
        format!("build/{CPU}/metadata.json"),
    ] {
        let mut uploaded = first["uploaded"].as_array().expect("files").iter();
        assert!(uploaded.any(|own| *own == json!(file)), "{file}: {first}");
    }
    assert_eq!(result()["status"], "no_changes");

    std::fs::remove_dir_all(kernel.path().join("build").join(CUDA)).expect("removed");
    kernel.replace("build.toml", "version = 1", "version = 2");
    kernel.replace(
        "torch-ext/relu/__init__.py",
        "pass.\n",
        "pass. It is the second.\n",
    );
    run(kernel_builder("generate").arg(kernel.path()));
    run(&mut build(kernel.path(), &[CPU]));
    assert_eq!(result()["branch"], "v2");
    let script = "\
import kernels, torch
one, two = (kernels.get_kernel('acme/relu', version=version, backend='cpu') for version in (1, 2))
x = torch.randn(7)
assert torch.equal(one.relu(x), torch.relu(x)) and torch.equal(two.relu(x), torch.relu(x))
assert one.__name__ != two.__name__, one
assert 'second' in two.relu.__doc__ and 'second' not in one.relu.__doc__
";
    let mut client = python();
    world.set_environment(&mut client);
    run(client.args(["-c", script]));

    // A machine that never saw the kernel.
    std::fs::remove_dir_all(world.folder.path().join("home")).expect("removed");
    let text = "[tool.kernels.dependencies]\n\"acme/relu\" = 1\n";
    world.folder.write("project/pyproject.toml", text);
    for (command, arguments) in [("lock", &[][..]), ("download", &["--all"])] {
        let output = in_project(&world, command, arguments);
        assert_eq!(
            output.status.code(),
            Some(0),
            "{command}: {}",
            words(&output)
        );
    }
    world.hub.stop();
    let script = "\
import kernels, pathlib, sys, torch
lock = pathlib.Path(sys.argv[1])
x = torch.randn(7)
for kernel in (
    kernels.get_kernel('acme/relu', version=1, backend='cpu'),
    kernels.load_kernel('acme/relu', lockfile=lock, backend='cpu'),
):
    assert torch.equal(kernel.relu(x), torch.relu(x))
kernels.get_locked_kernel('acme/relu', lockfile=lock)
";
    let mut client = python();
    world.set_environment(&mut client);
    let lock = world.folder.path().join("project/kernels.lock");
    let client = client.env("HF_HUB_OFFLINE", "1").args(["-c", script]);
    run(client.arg(lock));
}

/// Before, `upload` compared digests alone: a library that no machine can load went to the Hub.
#[test]
#[ignore = "builds with Nix: run by `make test`"]
fn a_library_that_breaks_a_rule_is_not_uploaded() {
    const CPU: &str = "torch211-cxx11-cpu-x86_64-linux";
    let world = World::new();
    let kernel = example("relu");
    run(&mut build(kernel.path(), &[CPU]));
    std::fs::write(built_library(kernel.path(), CPU), "no library").expect("written");
    run(kernel_builder("hash").arg(kernel.path()));
    let mut upload = kernel_builder("upload");
    world.set_environment(&mut upload);
    upload.env("HF_TOKEN", TOKEN).arg(kernel.path());
    let output = upload
        .args(["--repo-id", "acme/relu"])
        .output()
        .expect("run");
    let said = world.fail(&output, 1);
    assert!(
        said.contains("hub::build") && said.contains("no ELF file"),
        "{said}"
    );
    assert!(world.requests().is_empty());
}
