//! `ci-matrix` and the files that it writes for services. No service is at hand: a small runner
//! runs the steps of the files as written, job by job, against this program and a fake Hub.

mod common;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use common::folder::{Folder, copy, example};
use common::loopback::Server;
use common::program::{kernel_builder, printed, python, run, venv, words};
use serde_json::{Value, json};

const VARIANT: &str = "torch211-cxx11-cpu-x86_64-linux";

/// Parses a YAML text.
fn yaml(text: &str) -> Value {
    let read = "import json, sys, yaml; json.dump(yaml.safe_load(sys.argv[1]), sys.stdout)";
    let json = printed(python().args(["-c", read, text]));
    serde_json::from_str(&json).expect("JSON")
}

fn text(value: &Value) -> &str {
    value
        .as_str()
        .unwrap_or_else(|| panic!("{value} is no text"))
}

/// examples/relu with one variant for this machine, committed.
fn kernel() -> Folder {
    let folder = example("relu");
    let manifest = folder.read("build.toml");
    let (manifest, _) = manifest
        .split_once("[kernel.relu_cuda]")
        .expect("a section");
    folder.write("build.toml", manifest);
    folder.replace("build.toml", "\"cpu\", \"cuda\"", "\"cpu\"");
    folder.replace(
        "build.toml",
        "[torch]",
        "[torch]\nminver = \"2.11\"\nmaxver = \"2.11\"",
    );
    folder
}

fn commit(folder: &Path) {
    for arguments in [
        &["init", "--quiet"][..],
        &["add", "--all"],
        &["commit", "--quiet", "--message", "all"],
    ] {
        let mut git = Command::new("git");
        let identity = [
            "-c",
            "user.name=test",
            "-c",
            "user.email=test@example.invalid",
        ];
        run(git.current_dir(folder).args(identity).args(arguments));
    }
}

/// A service: a checkout for each job, and the artifacts that jobs hand over.
struct Service {
    origin: PathBuf,
    work: Folder,
    /// The values of `${{ … }}`, and variables of the environment.
    values: BTreeMap<String, String>,
    /// The commands that ran.
    ran: Vec<String>,
}

impl Service {
    /// A service that has the repository in a folder, and knows a Hub.
    fn new(origin: &Path, hub: &Server) -> Self {
        let work = Folder::new();
        let key = work.path().join("relu.key");
        run(kernel_builder("sign").arg("--generate-key").arg(&key));
        let secret = |name: &str| ["secrets.", ""].map(|room| format!("{room}{name}"));
        let mut values = BTreeMap::new();
        for (names, value) in [
            (secret("KERNEL_SIGNING_KEY"), work.read("relu.key")),
            (secret("HF_TOKEN"), "hf_ofTheTest".to_owned()),
        ] {
            values.extend(names.map(|name| (name, value.clone())));
        }
        values.insert("hashFiles('build.nix')".to_owned(), "0".to_owned());
        values.insert(
            "HF_ENDPOINT".to_owned(),
            hub.url("").trim_end_matches('/').to_owned(),
        );
        let home = work.path().join("home").to_str().expect("UTF-8").to_owned();
        values.insert("HF_HOME".to_owned(), home);
        Self {
            origin: origin.to_owned(),
            work,
            values,
            ran: Vec::new(),
        }
    }

    /// The repository as a job gets it.
    fn checkout(&self, job: &str) -> PathBuf {
        let folder = self.work.path().join("jobs").join(job);
        run(Command::new("git")
            .args(["clone", "--quiet"])
            .arg(&self.origin)
            .arg(&folder));
        folder
    }

    /// Runs commands in a shell, which ends at the first that fails.
    fn run(&mut self, shell: &[&str], folder: &Path, script: &str, own: &BTreeMap<String, String>) {
        let program = Path::new(env!("CARGO_BIN_EXE_kernel-builder"));
        let places = [
            program.parent().expect("a folder").to_owned(),
            venv().join("bin"),
        ];
        let path = std::env::var_os("PATH").expect("a PATH");
        let path = std::env::join_paths(places.into_iter().chain(std::env::split_paths(&path)));
        let mut command = Command::new(shell[0]);
        command.args(&shell[1..]).arg(script).current_dir(folder);
        command
            .env("PATH", path.expect("a PATH"))
            .env_remove("LOCAL_KERNELS")
            .env_remove("HF_TOKEN");
        for name in ["HF_ENDPOINT", "HF_HOME"] {
            command.env(name, &self.values[name]);
        }
        let output = command.envs(own).output().expect("a shell");
        let said = format!(
            "{}{}",
            String::from_utf8_lossy(&output.stdout),
            words(&output)
        );
        assert!(output.status.success(), "{script}\n{said}");
        assert!(!said.contains("hf_ofTheTest"), "{said}");
        self.ran.extend(script.lines().map(str::to_owned));
    }

    /// Replaces `${{ … }}` by its value.
    fn expand(&self, text: &str, matrix: &Value) -> String {
        let mut parts = text.split("${{ ");
        let mut whole = parts.next().expect("a part").to_owned();
        for part in parts {
            let (name, rest) = part.split_once(" }}").expect("an end");
            let value = match name.strip_prefix("matrix.") {
                Some(key) => self::text(&matrix[key]),
                None => self
                    .values
                    .get(name)
                    .unwrap_or_else(|| panic!("{name} is unknown")),
            };
            whole += value;
            whole += rest;
        }
        whole
    }

    /// Runs a job of GitHub's for one entry of its matrix. Programs are here already, so the step
    /// that installs them is left out.
    fn run_github(&mut self, name: &str, job: &Value, matrix: &Value) {
        let folder = self.checkout(&format!("github-{name}"));
        let artifacts = self.work.path().join("artifacts");
        let shell: &[&str] = match job["container"].is_null() {
            true => &["bash", "-e", "-c"],
            false => &["sh", "-e", "-c"],
        };
        for step in job["steps"].as_array().expect("steps") {
            let with = |key: &str| self.expand(text(&step["with"][key]), matrix);
            match step["uses"]
                .as_str()
                .map(|action| action.split('@').next().expect("a name"))
            {
                Some("actions/checkout" | "actions/cache") => {}
                Some("actions/upload-artifact") => {
                    copy(&folder.join(with("path")), &artifacts.join(with("name")));
                }
                Some("actions/download-artifact") => {
                    assert_eq!(
                        (with("pattern"), &step["with"]["merge-multiple"]),
                        ("build-*".to_owned(), &json!(true))
                    );
                    for artifact in std::fs::read_dir(&artifacts).expect("artifacts") {
                        copy(
                            &artifact.expect("an artifact").path(),
                            &folder.join(with("path")),
                        );
                    }
                }
                Some(other) => panic!("{other} is unknown"),
                None if step["name"] == "Install" => {}
                None => {
                    let own = step["env"].as_object().into_iter().flatten();
                    let own =
                        own.map(|(key, value)| (key.clone(), self.expand(text(value), matrix)));
                    let own = own.collect();
                    let script = self.expand(text(&step["run"]), matrix);
                    self.run(shell, &folder, &script, &own);
                }
            }
        }
    }

    /// Runs a job of GitLab's.
    fn run_gitlab(&mut self, name: &str, file: &Value) {
        let mut job = file[name].clone();
        while let Some(base) = job["extends"].as_str() {
            let mut merged = file[base].clone();
            job.as_object_mut().expect("a job").remove("extends");
            for (key, value) in job.as_object().expect("a job") {
                merged[key] = value.clone();
            }
            job = merged;
        }
        let folder = self.checkout(&format!("gitlab-{name}"));
        let artifacts = self.work.path().join("gitlab-artifacts");
        if artifacts.exists() {
            copy(&artifacts, &folder);
        }
        let variables = job["variables"].as_object().into_iter().flatten();
        let mut own: BTreeMap<String, String> = variables
            .map(|(key, value)| (key.clone(), text(value).to_owned()))
            .collect();
        for secret in ["HF_TOKEN", "KERNEL_SIGNING_KEY"] {
            own.insert(secret.to_owned(), self.values[secret].clone());
        }
        let script: Vec<&str> = job["script"]
            .as_array()
            .expect("a script")
            .iter()
            .map(text)
            .collect();
        self.run(
            &["bash", "-eo", "pipefail", "-c"],
            &folder,
            &script.join("\n"),
            &own,
        );
        for path in job["artifacts"]["paths"].as_array().into_iter().flatten() {
            copy(&folder.join(text(path)), &artifacts.join(text(path)));
        }
    }

    /// The first line of the kernel's module on the Hub.
    fn published(&self, hub: &Server) -> u16 {
        let path = format!("kernels/kernel-builder/relu/resolve/v1/build/{VARIANT}/metadata.json");
        let answer = ureq::get(hub.url(&path)).call();
        answer.map_or(404, |answer| answer.status().as_u16())
    }
}

/// Writes the file of a service for one variant, and commits it.
fn write_file(folder: &Folder, service: &str, path: &str) -> Value {
    let mut command = kernel_builder("ci-matrix");
    run(command
        .arg(folder.path())
        .args(["--variant", VARIANT, "--write", service]));
    run(kernel_builder("generate").arg(folder.path()));
    commit(folder.path());
    yaml(&folder.read(path))
}

#[test]
#[ignore = "builds with Nix: run by `make test`"]
fn the_steps_for_github_build_test_sign_and_upload() {
    let (folder, hub_folder) = (kernel(), Folder::new());
    let hub = Server::start_hub(hub_folder.path());
    let file = write_file(&folder, "github", ".github/workflows/kernel.yml");
    let mut service = Service::new(folder.path(), &hub);
    let jobs = &file["jobs"];
    let include = jobs["build"]["strategy"]["matrix"]["include"]
        .as_array()
        .expect("a list");
    assert_eq!(include.len(), 1);
    assert_eq!(
        (&include[0]["variants"], &include[0]["runner"]),
        (&json!(VARIANT), &json!("ubuntu-latest"))
    );
    service.run_github("build", &jobs["build"], &include[0]);
    assert_eq!(
        (&jobs["test"]["needs"], &jobs["upload"]["needs"]),
        (&json!("build"), &json!(["build", "test"]))
    );
    service.run_github("test", &jobs["test"], &json!({}));
    assert_eq!(service.published(&hub), 404);
    service.run_github("upload", &jobs["upload"], &json!({}));
    assert_eq!(service.published(&hub), 200);
    let signature = service
        .work
        .path()
        .join("jobs/github-upload/build")
        .join(format!("{VARIANT}.minisig"));
    assert!(signature.exists(), "signed");
    for line in [
        "kernel-builder generate --check",
        "kernel-builder upload --strict",
    ] {
        assert!(
            service.ran.iter().any(|ran| ran == line),
            "{line}: {:?}",
            service.ran
        );
    }
    // Secrets of pushes to branches and of pull requests: no job but the one for tags has any.
    for job in ["build", "test"] {
        assert!(!jobs[job].to_string().contains("secrets."), "{job}");
    }
    assert!(text(&jobs["upload"]["if"]).contains("startsWith(github.ref, 'refs/tags/v')"));
    assert_eq!(jobs["test"]["if"], "vars.GPU_RUNNER != ''");
}

#[test]
#[ignore = "builds with Nix: run by `make test`"]
fn the_steps_for_gitlab_build_test_sign_and_upload() {
    let (folder, hub_folder) = (kernel(), Folder::new());
    let hub = Server::start_hub(hub_folder.path());
    let file = write_file(&folder, "gitlab", ".gitlab-ci.yml");
    let mut service = Service::new(folder.path(), &hub);
    let job = "build-x86_64-linux-1";
    assert_eq!(file[job]["variables"]["VARIANTS"], VARIANT);
    service.run_gitlab(job, &file);
    service.run_gitlab("test", &file);
    service.run_gitlab("upload", &file);
    assert_eq!(service.published(&hub), 200);
    assert_eq!(file["test"]["rules"], json!([{ "if": "$GPU_RUNNER" }]));
    assert_eq!(
        file["upload"]["rules"],
        json!([{ "if": "$CI_COMMIT_TAG =~ /^v/" }])
    );
}

#[test]
#[ignore = "builds with Nix: run by `make test`"]
fn every_bundled_variant_is_in_one_job_and_files_of_users_stay() {
    let folder = example("relu");
    let json = printed(
        kernel_builder("ci-matrix")
            .arg(folder.path())
            .args(["--json", "--jobs", "3"]),
    );
    assert_eq!(json.lines().count(), 1, "GitHub's outputs are single lines");
    let matrix: Value = serde_json::from_str(&json).expect("JSON");
    let jobs = matrix["include"].as_array().expect("a list");
    assert_eq!(jobs.len(), 6, "three for each system: {json}");
    let listed = printed(
        kernel_builder("list-variants")
            .arg(folder.path())
            .args(["--all", "--json"]),
    );
    let listed: Vec<Value> = serde_json::from_str(&listed).expect("JSON");
    let is_here = |own: &&Value| {
        own["bundle"] == true && own["pinned"] == true && text(&own["system"]).ends_with("-linux")
    };
    let mut expected: Vec<&str> = listed
        .iter()
        .filter(is_here)
        .map(|own| text(&own["variant"]))
        .collect();
    let mut found: Vec<&str> = Vec::new();
    for job in jobs {
        let variants = job["variants"].as_array().expect("a list").iter().map(text);
        let system = text(&job["system"]);
        found.extend(variants.clone());
        assert!(variants.clone().all(|name| name.ends_with(system)), "{job}");
        assert!(job["seconds"].as_f64().expect("a number") > 0.0, "{job}");
    }
    expected.sort_unstable();
    found.sort_unstable();
    assert_eq!(found, expected);
    let plain = printed(
        kernel_builder("ci-matrix")
            .arg(folder.path())
            .args(["--jobs", "3"]),
    );
    assert_eq!(plain.lines().count(), 6);
    assert!(
        plain
            .lines()
            .all(|line| line.starts_with("kernel-builder build --variant ")),
        "{plain}"
    );

    // A file of the user's, and one of ours.
    folder.write(".gitlab-ci.yml", "mine: {}\n");
    let write = |service: &str| {
        let mut command = kernel_builder("ci-matrix");
        command
            .arg(folder.path())
            .args(["--write", service])
            .output()
            .expect("run")
    };
    let refused = write("gitlab");
    assert_eq!(refused.status.code(), Some(1), "{}", words(&refused));
    assert_eq!(folder.read(".gitlab-ci.yml"), "mine: {}\n");
    for word in ["written", "unchanged"] {
        let output = write("github");
        let line = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(line.trim_end().ends_with(word), "{line}{}", words(&output));
    }
}
