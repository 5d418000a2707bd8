//! Code blocks by their languages: `sh` runs in the folder of a kernel, `nix` is its flake.nix,
//! `ini` is nix.conf, `toml` parses, `cpp` and `python` are excerpts of examples/relu. docker.rs is
//! for `dockerfile`, jobs.rs for `yaml`. `console` is not run, so it is listed here.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::clone::Clone;
use crate::common::folder::REPOSITORY;
use crate::common::program::{run, venv};
use crate::page::{Page, markdown_files};

const LANGUAGES: [&str; 9] = [
    "console",
    "cpp",
    "dockerfile",
    "ini",
    "nix",
    "python",
    "sh",
    "toml",
    "yaml",
];

/// Blocks that no test runs, by their pages and first lines: they need programs that a test has
/// not.
const NOT_RUN: [(&str, &str); 6] = [
    // tests/image.rs builds both images, and runs containers of them without Docker.
    ("docs/docker.md", "kernel-builder fetch --image"),
    (
        "docs/docker.md",
        "docker run --rm --privileged --volume \"$PWD:/kernel\" kernel-builder:0.1.0 build --variant torch211-cxx11-cpu-x86_64-linux",
    ),
    (
        "docs/docker.md",
        "nix build --out-link image --impure --expr '(import ./lib).image { variants = [ \"torch211-cxx11-cpu-x86_64-linux\" ]; }'",
    ),
    ("docs/docker.md", "docker build --tag relu-builder ."),
    // tests/project runs them, with CMake of its own.
    (
        "docs/local-development.md",
        "kernel-builder create-pyproject",
    ),
    (
        "docs/nix.md",
        "kernel-builder pin-python transformers py-cpuinfo",
    ),
];

/// The pages whose `sh` blocks this file runs. tests/distribution.rs runs those of
/// docs/distribution.md.
const RUN: [&str; 9] = [
    "docs/artifacts.md",
    "docs/continuous-integration.md",
    "docs/local-development.md",
    "docs/manifest.md",
    "docs/migrating.md",
    "docs/nix.md",
    "docs/security.md",
    "docs/why-nix.md",
    "docs/writing-kernels.md",
];

/// The URL of this repository on the pages.
const URL: &str = "git+https://git.example.org/kernel-builder";

/// Pages of results: their indented blocks are what programs printed.
const RESULTS: [&str; 5] = [
    "docs/gpu.md",
    "docs/lean-headers.md",
    "docs/measurements/",
    "docs/plan.md",
    "docs/report.md",
];

fn pages() -> Vec<Page> {
    let names = markdown_files(&["docs"]);
    names.iter().map(|name| Page::read(name)).collect()
}

#[test]
fn every_block_is_of_a_language_that_a_test_knows() {
    for page in pages() {
        let prints = RESULTS.iter().any(|name| page.path.starts_with(name));
        for block in &page.blocks {
            let known = LANGUAGES.contains(&block.language.as_str());
            assert!(
                known || (prints && block.language.is_empty()),
                "{}: {block:?}",
                page.path
            );
        }
        let has_commands = page.blocks_of("sh").next().is_some();
        let is_run = RUN.contains(&page.path.as_str()) || page.path == "docs/distribution.md";
        assert_eq!(has_commands, is_run, "{}", page.path);
    }
}

#[test]
fn blocks_that_are_not_run_are_listed() {
    let mut found = Vec::new();
    for page in pages() {
        for block in page.blocks_of("console") {
            let first = block.text.lines().next().unwrap_or_default().to_owned();
            found.push((page.path.clone(), first));
        }
    }
    let listed = NOT_RUN.map(|(page, line)| (page.to_owned(), line.to_owned()));
    assert_eq!(found, listed);
}

/// The page shows what the example has, so that a reader who copies it has code that compiles.
#[test]
fn excerpts_are_in_the_example() {
    let mut sources = String::new();
    for file in walkdir::WalkDir::new(Path::new(REPOSITORY).join("examples/relu")) {
        let file = file.expect("an entry");
        let extension = file.path().extension().unwrap_or_default();
        if ["cpp", "cu", "h", "py"].iter().any(|own| extension == *own) {
            sources += &std::fs::read_to_string(file.path()).expect("a source");
        }
    }
    let mut count = 0;
    for page in pages() {
        for language in ["cpp", "python"] {
            for block in page.blocks_of(language) {
                assert!(sources.contains(&block.text), "{}: {block:?}", page.path);
                count += 1;
            }
        }
    }
    assert!(count > 4);
}

#[test]
fn toml_parses() {
    for page in pages() {
        for block in page.blocks_of("toml") {
            let parsed = block.text.parse::<toml::Table>();
            assert!(parsed.is_ok(), "{}: {parsed:?}", page.path);
        }
    }
}

/// The folder in which a reader of a page is: a kernel in a copy of this repository.
fn folder(page: &Page, clone: &Clone) -> PathBuf {
    match &*page.path {
        "docs/migrating.md" => clone.add_tutorial(),
        _ => clone.relu(),
    }
}

/// Runs the commands of a page in order, each block in a shell of its own.
fn run_page(name: &str, with_full: bool) {
    run_page_times(1, name, with_full);
}

/// Runs the commands of a page, and all of them again in the same folder.
fn run_page_times(times: usize, name: &str, with_full: bool) {
    assert!(RUN.contains(&name), "{name}");
    let page = Page::read(name);
    let clone = Clone::new();
    let folder = folder(&page, &clone);
    // The configuration of a user. The PATH has this program, and a Python with torch and the
    // client.
    let config = "experimental-features = nix-command flakes\nsubstituters =\nsandbox = true\nsandbox-fallback = false\n";
    let config = config.to_owned() + &std::env::var("NIX_CONFIG").unwrap_or_default();
    let program = Path::new(env!("CARGO_BIN_EXE_kernel-builder"));
    let own = program.parent().expect("a folder").to_owned();
    let mut path = vec![own, venv().join("bin")];
    path.extend(std::env::split_paths(
        &std::env::var_os("PATH").expect("PATH"),
    ));
    let path = std::env::join_paths(path).expect("a PATH");
    let url = format!("path:{}", clone.path().display());
    let blocks = page.blocks_of("sh");
    let blocks: Vec<_> = (blocks.filter(|block| with_full || !block.full)).collect();
    assert!(!blocks.is_empty());
    for block in std::iter::repeat_n(blocks, times).flatten() {
        let commands = block.text.replace(URL, &url);
        run(Command::new("bash")
            .args(["-euo", "pipefail", "-c", &commands])
            .current_dir(&folder)
            .env("PATH", &path)
            .env("NIX_CONFIG", &config));
    }
}

#[test]
#[ignore = "builds with Nix: run by `make test`"]
fn continuous_integration_runs() {
    // The second job takes the folder that the first one has written.
    run_page_times(2, "docs/continuous-integration.md", false);
}

#[test]
#[ignore = "builds with Nix: run by `make test`"]
fn artifacts_runs() {
    run_page("docs/artifacts.md", false);
}

#[test]
#[ignore = "builds with Nix: run by `make test`"]
fn local_development_runs() {
    run_page("docs/local-development.md", false);
}

#[test]
#[ignore = "needs the store of `make test`"]
fn manifest_runs() {
    run_page("docs/manifest.md", false);
}

#[test]
#[ignore = "evaluates with Nix: run by `make test`"]
fn migrating_runs() {
    run_page("docs/migrating.md", false);
}

#[test]
#[ignore = "builds with Nix: run by `make test`"]
fn nix_runs() {
    run_page("docs/nix.md", false);
}

#[test]
#[ignore = "builds with Nix: run by `make test`"]
fn security_runs() {
    run_page("docs/security.md", false);
}

#[test]
#[ignore = "builds with Nix: run by `make test`"]
fn why_nix_runs() {
    run_page("docs/why-nix.md", false);
}

#[test]
#[ignore = "builds with Nix: run by `make test`"]
fn writing_kernels_runs() {
    run_page("docs/writing-kernels.md", false);
}

#[test]
#[ignore = "opens shells with a whole torch: run by `make full-test`"]
fn pages_run_with_their_shells_and_checks() {
    let with_full = pages().into_iter().filter(|page| {
        let mut commands = page.blocks_of("sh");
        commands.any(|block| block.full)
    });
    let names: Vec<String> = with_full.map(|page| page.path).collect();
    assert!(names.len() > 2, "{names:?}");
    for name in names {
        run_page(&name, true);
    }
}

#[test]
#[ignore = "evaluates with Nix: run by `make test`"]
fn flakes_evaluate() {
    let clone = Clone::new();
    for block in Page::read("docs/nix.md").blocks_of("nix") {
        std::fs::write(clone.relu().join("flake.nix"), &block.text).expect("write");
        clone.nix(&["eval", "--raw", ".#packages.x86_64-linux.default.drvPath"]);
        clone.nix(&["flake", "check", "--no-build"]);
    }
}

#[test]
#[ignore = "starts Nix: run by `make test`"]
fn settings_are_known_to_nix() {
    let mut count = 0;
    for page in pages() {
        for block in page.blocks_of("ini") {
            let more = std::env::var("NIX_CONFIG").unwrap_or_default();
            let output = run(Command::new("nix")
                .args(["--extra-experimental-features", "nix-command"])
                .arg("show-config")
                .env("NIX_CONFIG", format!("{more}\n{}", block.text)));
            let words = String::from_utf8_lossy(&output.stderr);
            assert!(!words.contains("unknown setting"), "{words}");
            count += 1;
        }
    }
    assert!(count > 1);
}
