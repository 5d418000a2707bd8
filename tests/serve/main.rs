//! `serve`: what clients of the Hub get from a folder, and what bad clients do not. The builds are
//! made up.

mod bad_clients;
#[path = "../common/mod.rs"]
mod common;
mod load;
mod mirror;

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use common::archives::sha256;
use common::folder::Folder;
use common::program::{kernel_builder, printed, python, run, rust_client, send, words};
use mirror::{Mirror, REPOSITORY, VARIANTS, build};
use serde_json::Value;

#[test]
fn answers_are_those_of_the_hub() {
    let mirror = Mirror::start();
    build(&mirror.folder, "v2/build", 2, "two");
    build(&mirror.folder, "v1.5.0/build", 1, "tag");
    let commits = loop {
        let commits = mirror.commits();
        if commits.len() == 4 {
            break commits;
        }
        std::thread::sleep(Duration::from_millis(100));
    };
    let names: Vec<&String> = commits.keys().collect();
    assert_eq!(
        names,
        [
            "refs/heads/main",
            "refs/heads/v1",
            "refs/heads/v2",
            "refs/tags/v1.5.0"
        ]
    );
    assert_eq!(commits["refs/heads/main"], commits["refs/heads/v2"]);
    let word_at = |revision: &str| {
        let path = format!(
            "/{REPOSITORY}/resolve/{revision}/build/{}/__init__.py",
            VARIANTS[0]
        );
        let (status, _, content) = mirror.get(&path, &[]);
        assert_eq!(status, 200, "{revision}");
        String::from_utf8(content).expect("text")
    };
    for (revision, word) in [
        ("main", "two"),
        ("v1", "one"),
        ("refs%2Fheads%2Fv1", "one"),
        ("v1.5.0", "tag"),
        ("refs%2Ftags%2Fv1.5.0", "tag"),
        (&commits["refs/heads/v1"], "one"),
    ] {
        assert_eq!(
            word_at(revision),
            format!("WORD = {word:?}\n"),
            "{revision}"
        );
    }

    // Texts have the id of git, binary files their sha256.
    let file = |name: &str| {
        format!(
            "/kernels/{REPOSITORY}/resolve/v1/build/{}/{name}",
            VARIANTS[0]
        )
    };
    let (_, headers, _) = mirror.get(&file("layers/__init__.py"), &[]);
    assert_eq!(
        headers["etag"],
        "\"e69de29bb2d1d6434b8b29ae775ad8c2e48c5391\""
    );
    assert_eq!(headers["x-repo-commit"], commits["refs/heads/v1"]);
    let (_, headers, whole) = mirror.get(&file("weights.bin"), &[]);
    let etag = format!("\"{}\"", sha256(&whole));
    assert_eq!(
        (&headers["etag"], &headers["x-linked-etag"]),
        (&etag, &etag)
    );
    assert_eq!(headers["x-linked-size"], whole.len().to_string());
    let tree = mirror.json(&format!("/api/kernels/{REPOSITORY}/tree/v1?recursive=true"));
    let listed = tree
        .as_array()
        .expect("a list")
        .iter()
        .filter(|entry| entry["type"] == "file");
    assert_eq!(listed.count(), 8);
    let tree = mirror.json(&format!(
        "/api/models/{REPOSITORY}/tree/v1/build?recursive=false"
    ));
    let paths: Vec<_> = tree
        .as_array()
        .expect("a list")
        .iter()
        .map(|own| &own["path"])
        .collect();
    assert_eq!(
        paths,
        VARIANTS
            .map(|variant| format!("build/{variant}"))
            .iter()
            .collect::<Vec<_>>()
    );

    // Conditions and ranges.
    let (status, _, content) = mirror.get(&file("weights.bin"), &[("If-None-Match", &etag)]);
    assert_eq!((status, content.len()), (304, 0));
    let size = whole.len();
    for (range, expected) in [
        ("bytes=0-0", 0..1),
        ("bytes=100-", 100..size),
        ("bytes=-7", size - 7..size),
        ("bytes=5-70000", 5..70_001),
    ] {
        let (status, headers, content) = mirror.get(&file("weights.bin"), &[("Range", range)]);
        assert_eq!(
            (status, &content[..]),
            (206, &whole[expected.clone()]),
            "{range}"
        );
        let words = format!("bytes {}-{}/{size}", expected.start, expected.end - 1);
        assert_eq!(headers["content-range"], words);
    }
    let (status, headers, _) = mirror.get(&file("weights.bin"), &[("Range", "bytes=9999999-")]);
    assert_eq!(
        (status, &headers["content-range"]),
        (416, &format!("bytes */{size}"))
    );
    let refs = format!("/api/kernels/{REPOSITORY}/refs");
    let etag = &mirror.get(&refs, &[]).1["etag"];
    assert_eq!(mirror.get(&refs, &[("If-None-Match", etag)]).0, 304);
    let head = format!(
        "HEAD {} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
        file("weights.bin")
    );
    let (status, headers, content) = mirror.say(head.as_bytes());
    assert_eq!((status, content.len()), (200, 0));
    assert_eq!(headers["content-length"], size.to_string());

    for (path, code) in [
        ("/api/kernels/acme/other/refs".to_owned(), "RepoNotFound"),
        (format!("/{REPOSITORY}/resolve/v9/a"), "RevisionNotFound"),
        (file("other.py"), "EntryNotFound"),
        (
            format!("/api/kernels/{REPOSITORY}/tree/v1/other"),
            "EntryNotFound",
        ),
    ] {
        let (status, headers, _) = mirror.get(&path, &[]);
        assert_eq!(
            (status, headers["x-error-code"].as_str()),
            (404, code),
            "{path}"
        );
    }
}

/// A stale hash would make clients keep a file under the name of another.
#[test]
fn a_changed_file_is_never_served_under_the_old_name() {
    let mirror = Mirror::start();
    let before = mirror.commits();
    build(&mirror.folder, "build", 1, "two");
    let path = format!("/{REPOSITORY}/resolve/v1/build/{}/__init__.py", VARIANTS[0]);
    let (_, headers, content) = mirror.get(&path, &[]);
    assert_eq!(content, b"WORD = \"two\"\n");
    assert_ne!(headers["x-repo-commit"], before["refs/heads/v1"]);
    let old = path.replace("v1", &before["refs/heads/v1"]);
    let (status, headers, _) = mirror.get(&old, &[]);
    assert_eq!(
        (status, headers["x-error-code"].as_str()),
        (404, "RevisionNotFound")
    );
    build(&mirror.folder, "build", 1, "one");
    std::thread::sleep(Duration::from_millis(1100));
    assert_eq!(
        mirror.commits(),
        before,
        "the same files have the same commit"
    );
}

#[test]
fn nothing_outside_of_the_folder_is_served() {
    let folder = Folder::new();
    build(&folder, "build", 1, "one");
    folder.write("outside/secret.py", "secret");
    folder.write(
        "outside/kernel/build/torch-cpu/metadata.json",
        "{\"version\":1}",
    );
    folder.write("outside/kernel/build/torch-cpu/secret.py", "secret");
    let variant = folder
        .path()
        .join("kernels")
        .join(REPOSITORY)
        .join("build")
        .join(VARIANTS[0]);
    let outside = folder.path().join("outside");
    let link = std::os::unix::fs::symlink::<std::path::PathBuf, std::path::PathBuf>;
    link(outside.join("secret.py"), variant.join("link.py")).expect("linked");
    link(outside.clone(), variant.join("folder")).expect("linked");
    link("../__init__.py".into(), variant.join("layers/inside.py")).expect("linked");
    link(
        outside.join("kernel"),
        folder.path().join("kernels/acme/linked"),
    )
    .expect("linked");
    link(
        outside.join("kernel/build/torch-cpu"),
        variant.with_file_name("torch-cpu"),
    )
    .expect("linked");
    let made = Command::new("mkfifo").arg(variant.join("pipe.py")).status();
    assert!(made.expect("mkfifo").success());
    let mirror = Mirror::serve(folder);
    let tree = mirror.json(&format!("/api/kernels/{REPOSITORY}/tree/v1?recursive=true"));
    let listed = tree.to_string();
    assert!(listed.contains("inside.py"), "{listed}");
    for name in ["link.py", "folder", "secret", "pipe", "torch-cpu/"] {
        assert!(!listed.contains(name), "{name}: {listed}");
    }
    let base = format!("/{REPOSITORY}/resolve/v1/build/{}", VARIANTS[0]);
    let (status, _, content) = mirror.get(&format!("{base}/layers/inside.py"), &[]);
    assert_eq!((status, &content[..]), (200, &b"WORD = \"one\"\n"[..]));
    for path in [
        format!("{base}/link.py"),
        format!("{base}/folder/secret.py"),
        format!("{base}/../../../../../../outside/secret.py"),
        format!("{base}/%2e%2e/%2E./..%2f/outside/secret.py"),
        format!("{base}/..%2F..%2F..%2F..%2F..%2F..%2Foutside%2Fsecret.py"),
        format!("{base}/layers%2Finside.py"),
        format!("{base}//layers/inside.py"),
        format!("{base}/__init__.py%00.txt"),
        format!("{base}/%ff.py"),
        format!("{base}/"),
        base,
        "/".to_owned(),
        "/acme".to_owned(),
        "/api/kernels/acme/linked/refs".to_owned(),
        "/api/kernels/../outside/refs".to_owned(),
        "/api/kernels/acme/%2e%2e/refs".to_owned(),
        "/api/kernels/acme%2Fmade-up/refs/refs".to_owned(),
        "/api/organizations/..%2Foutside/overview".to_owned(),
        "/etc/passwd/resolve/main/x".to_owned(),
    ] {
        let (status, _, content) = mirror.get(&path, &[]);
        assert!([400, 404].contains(&status), "{path}: {status}");
        assert!(
            !String::from_utf8_lossy(&content).contains("secret"),
            "{path}"
        );
    }
}

#[test]
fn lists_go_in_pages_and_own_commands_read_them() {
    let mirror = Mirror::start();
    for number in 0..1100 {
        let path = format!(
            "kernels/{REPOSITORY}/build/{}/data/{number}.txt",
            VARIANTS[0]
        );
        mirror.folder.write(&path, number.to_string());
    }
    std::thread::sleep(Duration::from_millis(1100));
    let tree = mirror.json(&format!("/api/kernels/{REPOSITORY}/tree/v1?recursive=true"));
    assert_eq!(tree.as_array().map(Vec::len), Some(1000));
    let project = mirror.folder.path().join("project");
    let text = format!("[tool.kernels.dependencies]\n\"{REPOSITORY}\" = \">=1\"\n");
    mirror.folder.write("project/pyproject.toml", text);
    for arguments in [&["lock"][..], &["download", "--variant", VARIANTS[0]]] {
        let mut command = kernel_builder(arguments[0]);
        mirror.set_environment(&mut command);
        let output = command
            .arg(&project)
            .args(&arguments[1..])
            .output()
            .expect("run");
        assert_eq!(output.status.code(), Some(0), "{}", words(&output));
    }
    let lock: Value =
        serde_json::from_str(&mirror.folder.read("project/kernel-builder.lock")).expect("JSON");
    let kernel = &lock["kernels"][0];
    assert_eq!(
        kernel["files"].as_object().map(serde_json::Map::len),
        Some(1108)
    );
    let snapshot = format!(
        "home/hub/kernels--acme--made-up/snapshots/{}",
        kernel["commit"].as_str().expect("text")
    );
    assert_eq!(
        mirror
            .folder
            .read(&format!("{snapshot}/build/{}/data/1099.txt", VARIANTS[0])),
        "1099"
    );
}

#[test]
fn a_folder_without_kernels_and_a_taken_port_are_errors() {
    let mirror = Mirror::start();
    let fails = |arguments: &[&str], code: i32, expected: &str| {
        let output = kernel_builder("serve")
            .args(arguments)
            .output()
            .expect("run");
        assert_eq!(output.status.code(), Some(code), "{}", words(&output));
        assert!(words(&output).contains(expected), "{}", words(&output));
    };
    let path = |name: &str| {
        mirror
            .folder
            .path()
            .join(name)
            .to_str()
            .expect("UTF-8")
            .to_owned()
    };
    fails(&[&path("kernels/acme")], 1, "mirror::empty");
    fails(&[&path("none")], 3, "mirror::io");
    fails(
        &[&path("kernels"), "--listen", &mirror.address],
        2,
        "mirror::listen",
    );
    fails(&[&path("kernels"), "--listen", "all"], 2, "invalid");
    // The folder of one kernel has no owner in its path.
    fails(&[&path("kernels/acme/made-up")], 2, "hub::repository");
}

/// The real client and huggingface_hub load from a mirror, then from their caches without it.
#[test]
#[ignore = "needs the client: run by `make test`"]
fn the_real_client_loads_from_a_mirror() {
    let mut mirror = Mirror::start();
    let script = "\
import kernels, pathlib
from huggingface_hub import HfApi, hf_hub_download, snapshot_download
kernel = kernels.get_kernel('acme/made-up', version=1)
print(kernel.WORD, kernels.has_kernel('acme/made-up', version=1))
for kind in ('kernel', 'model'):
    print(sorted(HfApi().list_repo_files('acme/made-up', repo_type=kind, revision='v1'))[1])
    file = hf_hub_download('acme/made-up', 'build/torch-universal/__init__.py', repo_type=kind)
    print(pathlib.Path(file).read_text().strip())
    folder = pathlib.Path(snapshot_download('acme/made-up', repo_type=kind, revision='v1'))
    print(len([path for path in folder.rglob('*') if path.is_file()]))
";
    let mut client = python();
    mirror.set_environment(&mut client);
    let output = run(client.args(["-c", script]));
    let listed = "build/torch-universal/layers/__init__.py\nWORD = \"one\"\n8\n";
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(
        said,
        format!("one True\n{listed}{listed}"),
        "{}",
        words(&output)
    );
    send("INT", mirror.process.id());
    assert_eq!(mirror.process.wait().expect("an end").code(), Some(0));
    let mut client = python();
    mirror.set_environment(&mut client);
    let script = "import kernels; print(kernels.get_kernel('acme/made-up', version=1).WORD)";
    let output = run(client.env("HF_HUB_OFFLINE", "1").args(["-c", script]));
    assert_eq!(String::from_utf8_lossy(&output.stdout), "one\n");
}

#[test]
#[ignore = "compiles hf-hub for minutes: run by `make full-test`"]
fn hf_hub_loads_from_a_mirror() {
    let mirror = Mirror::start();
    let mut client = rust_client();
    mirror.set_environment(&mut client);
    let folder = printed(client.args(["acme", "made-up", "v1"]));
    let path = format!("build/{}/weights.bin", VARIANTS[0]);
    let loaded = std::fs::read(Path::new(folder.trim()).join(&path));
    let kernel = mirror.folder.path().join("kernels").join(REPOSITORY);
    let served = std::fs::read(kernel.join(&path));
    assert_eq!(loaded.expect("a file"), served.expect("a file"));
}
