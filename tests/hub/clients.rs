//! The real client and huggingface_hub, and real builds, with the same Hub.

use std::path::Path;

use serde_json::{Value, json};

use crate::common::folder::example;
use crate::common::program::{
    build, built_library, kernel_builder, printed, python, run, rust_client, words,
};
use crate::{TOKEN, VARIANTS, World, in_project};

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

/// The Hub's client for Rust loads an uploaded build, and commits to the same branch.
#[test]
#[ignore = "compiles hf-hub for minutes: run by `make full-test`"]
fn hf_hub_loads_what_was_uploaded() {
    let world = World::new();
    world.succeed();
    let mut client = rust_client();
    world.set_environment(&mut client);
    client.env("HF_TOKEN", TOKEN);
    let folder = printed(client.args(["acme", "made-up", "v1", "a note"]));
    let folder = Path::new(folder.trim());
    for variant in VARIANTS {
        let path = format!("build/{variant}/weights.bin");
        let sent = std::fs::read(world.folder.path().join("kernel").join(&path));
        let loaded = std::fs::read(folder.join(&path));
        assert_eq!(loaded.expect("a file"), sent.expect("a file"));
    }
    let note = std::fs::read_to_string(folder.join("build/NOTE"));
    assert_eq!(note.expect("a file"), "a note");
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
