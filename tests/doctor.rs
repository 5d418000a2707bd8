//! `doctor` on machines that can build and on machines that cannot: each with one thing wrong.

mod common;

use std::process::Output;

use common::archives::wheel;
use common::program::words;
use common::world::World;
use serde_json::{Value, json};

/// The file that apt takes for the release of a repository.
const RELEASE: &str = "Origin: test\nCodename: bookworm\nDate: Thu, 01 Jan 2026 00:00:00 UTC\n\
                       Architectures: amd64\nComponents: main\nSHA256:\n \
                       e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855 0 Packages\n";

/// A machine whose indexes have the files that `doctor` asks for, and whose Nix is set up.
fn good_machine() -> World {
    let mut world = World::with_own_store();
    let name = "tiny-1.0-py3-none-any.whl";
    let metadata = "Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n";
    let tags = "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n";
    let members = [
        ("tiny-1.0.dist-info/METADATA", metadata),
        ("tiny-1.0.dist-info/WHEEL", tags),
        ("tiny-1.0.dist-info/RECORD", ""),
    ];
    world.write(&format!("files/{name}"), wheel(&members));
    world.write("files/Release", RELEASE);
    world.write_library(&[]);
    let archive = json!({
        "kind": "wheel", "name": "tiny", "version": "1.0", "file": name, "size": 1, "sha256": world.sha256(name),
    });
    world.write_pins("library", "seed", &json!([archive]), &json!([]));
    world.write(
        "sources.list",
        format!("deb [trusted=yes] {} ./\n", world.url("deb")),
    );
    let sources = world.path("sources.list");
    world.write(
        "apt.conf",
        format!(
            "Dir::Etc::sourcelist \"{}\";\nDir::Etc::sourceparts \"/dev/null\";\nAcquire::http::Proxy \"false\";\n",
            sources.display()
        ),
    );
    world.set("APT_CONFIG", world.path("apt.conf"));
    world.set(
        "NIX_CONFIG",
        "experimental-features = nix-command flakes\nbuild-users-group =\n",
    );
    world
}

/// Runs `doctor --json`; returns its checks by name, and its exit code.
fn examine(world: &World) -> (Value, Option<i32>) {
    let output = world.run("doctor", &["--json"]);
    (report(&output), output.status.code())
}

fn report(output: &Output) -> Value {
    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let failed = |check: &Value| check["verdict"] == "failure";
    let checks = report["checks"].as_array().expect("checks");
    assert_eq!(
        report["ready"],
        json!(!checks.iter().any(failed)),
        "{report:#}"
    );
    assert_eq!(
        output.status.success(),
        report["ready"],
        "{}",
        words(output)
    );
    let by_name = checks.iter().map(|check| {
        let name = check["check"].as_str().expect("a name");
        (name.to_owned(), check.clone())
    });
    Value::Object(by_name.collect())
}

/// A check has a verdict, and its cure has some words.
fn assert_cure(checks: &Value, name: &str, verdict: &str, cure: &str) {
    let check = &checks[name];
    assert_eq!(check["verdict"], verdict, "{checks:#}");
    let words = check["cure"].as_str().unwrap_or_default();
    assert!(words.contains(cure), "{check:#}");
}

#[test]
#[ignore = "builds with Nix: run by `make test`"]
fn a_machine_that_can_build_is_said_to() {
    let world = good_machine();
    let (checks, code) = examine(&world);
    assert_eq!(code, Some(0), "{checks:#}");
    for name in [
        "Nix", "store", "sandbox", "features", "git", "GPU", "pip", "apt",
    ] {
        assert_eq!(checks[name]["verdict"], "ok", "{checks:#}");
        assert_eq!(checks[name]["cure"], Value::Null);
    }
    let output = world.run("doctor", &[]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        text.contains("sandbox      ok       a build ran in it"),
        "{text}"
    );
}

/// Reproduction 2 of issue 17: as root without build users, and without features, every `nix`
/// command fails, and nothing said how to cure it.
#[test]
fn missing_features_and_build_users_are_told_with_the_lines_to_add() {
    let mut world = good_machine();
    world.set(
        "NIX_CONFIG",
        "experimental-features =\nbuild-users-group = nobody-has-this-group\n",
    );
    let (checks, _) = examine(&world);
    let features = "extra-experimental-features = nix-command flakes";
    assert_cure(&checks, "features", "warning", features);
    if rustix::process::geteuid().is_root() {
        assert_cure(&checks, "build users", "warning", "build-users-group =");
        // The program passes that setting itself.
        assert_eq!(checks["store"]["verdict"], "ok", "{checks:#}");
    }
}

#[test]
fn without_nix_the_cure_is_to_install_it() {
    let mut world = good_machine();
    let tools = world.path("tools");
    std::fs::create_dir(&tools).expect("a folder");
    for name in ["git", "apt-config", "apt-get", "sh"] {
        let program = which::which(name).expect(name);
        std::os::unix::fs::symlink(program, tools.join(name)).expect("a link");
    }
    world.set("PATH", tools);
    let (checks, code) = examine(&world);
    assert_eq!(code, Some(3));
    assert_cure(&checks, "Nix", "failure", "apt-get install nix-bin");
    assert_eq!(checks["store"], Value::Null);
    // The other checks are made all the same.
    assert_eq!(checks["git"]["verdict"], "ok", "{checks:#}");
    assert_eq!(checks["apt"]["verdict"], "ok", "{checks:#}");
}

#[test]
fn indexes_out_of_reach_are_told_with_the_way_around() {
    let mut world = good_machine();
    world.stop();
    let (checks, code) = examine(&world);
    assert_eq!(code, Some(3));
    assert_cure(&checks, "pip", "failure", "fetch --from");
    assert_cure(&checks, "apt", "failure", "fetch --from");
}

#[test]
fn apt_without_the_pinned_release_is_told() {
    let world = good_machine();
    world.write("files/Release", RELEASE.replace("bookworm", "noble"));
    let (checks, code) = examine(&world);
    assert_eq!(code, Some(3));
    assert_cure(&checks, "apt", "failure", "bookworm main");
    let found = checks["apt"]["found"].as_str().unwrap_or_default();
    assert!(found.contains("noble"), "{found}");
}

#[test]
fn a_store_that_takes_no_files_is_told() {
    let mut world = good_machine();
    // Nobody can write there, not even root.
    world.set("NIX_REMOTE", "/proc/sys");
    let (checks, code) = examine(&world);
    assert_eq!(code, Some(3));
    let cure = checks["store"]["cure"].as_str().unwrap_or_default();
    // The file system of /proc has no space, either.
    let known = ["export NIX_REMOTE=", "nix-collect-garbage"];
    assert!(known.iter().any(|words| cure.contains(words)), "{checks:#}");
    assert_eq!(checks["sandbox"]["verdict"], "failure", "{checks:#}");
}
