//! Edition 5 and v4 as the `kernels` client reads them: what is accepted here is accepted there and
//! means the same. `make test` prepares the client (`KERNEL_BUILDER_TEST_VENV`) and runs this; a
//! bare `cargo test` leaves it out.

use std::collections::{BTreeMap, BTreeSet};

use crate::common::program::python;
use kernel_builder::kernel::{Backend, Kernel, KernelDependency, KernelPin};
use serde_json::Value;

use crate::fixture::{Fixture, RELU, WIDE};
use crate::invalid::{cases, edited_old};
use crate::old_cases::{OLD, V4};
use crate::valid_cases;

/// Files that the client accepts and that are an error here on purpose, under the reason.
const STRICTER: &[(&str, &[&str])] = &[
    (
        "a backend would be built without native code, twice, or not at all",
        &[
            "backend-of-no-tvm-ffi-kernel",
            "backend-twice",
            "no-backends",
            "section-backend-unlisted",
            "sections-of-noarch",
        ],
    ),
    (
        "nothing could be built for what is asked",
        &[
            "bounds",
            "capability",
            "capability-of-no-toolkit",
            "rocm-arch-malformed",
            "rocm-arch-potato",
            "stable-abi-above-maxver",
        ],
    ),
    (
        "the compiler would fail, or leave a file out",
        &[
            "cuda-source-for-cpu",
            "dependency-of-other-backend",
            "hip-for-cuda",
            "metal-cpp-for-rocm",
            "metal-source-for-cuda",
            "no-binding",
            "two-cutlass-releases",
            "xpu-dependency",
        ],
    ),
    (
        "a source is compiled once, and it is unclear with which flags",
        &[
            "source-in-two-sections-with-other-flags",
            "source-of-the-binding-with-other-flags",
        ],
    ),
    (
        "a path is not there, or is of one machine only",
        &[
            "header-missing-near-a-source",
            "include-absolute",
            "include-is-file",
            "include-missing",
            "path-absolute",
            "path-empty",
            "path-escapes",
            "path-is-directory",
            "path-missing",
            "path-missing-near-a-listed-one",
            "path-newline",
            "python-package-missing",
        ],
    ),
    (
        "the library would run on some machines only",
        &["flag-native", "flag-native-gpu"],
    ),
    (
        "no file, target or process argument can be called so",
        &[
            "flag-nul",
            "pyext-dot",
            "pyext-empty",
            "pyext-path",
            "section-name",
        ],
    ),
    (
        "it would fail when the kernel is published or loaded",
        &[
            "license-control",
            "license-empty",
            "python-dependency",
            "python-dependency-elsewhere",
            "repo-id",
        ],
    ),
];

/// Files that are fine here and that the client does not accept.
const MORE_LENIENT: &[(&str, &str)] = &[
    ("v5-lean-headers", "`lean-headers` is a key of ours"),
    ("v5-lean-headers-of-tvm-ffi", "the same"),
    (
        "v5-noarch-archs-with-dashes",
        "the client reads these two keys with underscores only, against its documentation",
    ),
];

fn files() -> BTreeMap<&'static str, String> {
    let valid = [valid_cases::V4, valid_cases::V5].into_iter().flatten();
    let valid = valid.map(|(name, text)| (*name, (*text).to_owned()));
    let old = OLD.iter().filter(|(name, ..)| name.starts_with("v4-"));
    let good = [("relu", RELU), ("wide", WIDE), ("v4", V4)];
    let good = good.map(|(name, text)| (name, text.to_owned()));
    let mut files: BTreeMap<_, _> = valid.chain(good).chain(cases()).collect();
    files.extend(old.map(|case| (case.0, edited_old(*case))));
    files
}

#[test]
#[ignore = "needs the kernels client"]
fn the_client_agrees() {
    let files = files();
    let folder = tempfile::tempdir().expect("a temporary folder");
    for (name, text) in &files {
        let kernel = folder.path().join(name);
        std::fs::create_dir(&kernel).expect("create a folder");
        std::fs::write(kernel.join("build.toml"), text).expect("write a file");
    }
    let output = python()
        .arg(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/tests/diagnostics/conformance.py"
        ))
        .arg(folder.path())
        .output()
        .expect("Python");
    let why = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{why}");
    let client: BTreeMap<String, Value> = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(client.len(), files.len());

    let fixture = Fixture::new();
    for file in ["csrc/relu_gpu.cu", "torch-ext/re__lu/__init__.py"] {
        fixture.write(file, "");
    }
    let mut stricter = BTreeSet::new();
    let mut lenient = BTreeSet::new();
    for (name, text) in &files {
        let (kernel, _) = fixture.check(text.as_bytes());
        match (kernel, client[*name].get("error")) {
            (Some(kernel), None) => same(name, &kernel, &client[*name]),
            (Some(_), Some(_)) => {
                lenient.insert(*name);
            }
            (None, None) => {
                stricter.insert(*name);
            }
            (None, Some(_)) => {}
        }
    }
    assert_eq!(
        lenient,
        MORE_LENIENT.iter().map(|(name, _)| *name).collect()
    );
    let known = STRICTER.iter().flat_map(|(_, names)| *names);
    assert_eq!(stricter, known.copied().collect());
}

/// All that the client shows of a file: its backends, and the kernels that each depends on. Name,
/// version and bounds are read by it as well, so that a wrong one is an error, but cannot be seen.
fn same(name: &str, kernel: &Kernel, client: &Value) {
    let depends = |backend: &Backend| {
        let words = |dependency: &KernelDependency| match &dependency.pin {
            KernelPin::Version(version) => {
                format!(
                    "{} KernelVersion.Version(version={version})",
                    dependency.repo_id
                )
            }
            KernelPin::Revision(revision) => {
                format!(
                    "{} KernelVersion.Revision(revision={revision:?})",
                    dependency.repo_id
                )
            }
        };
        let mut depends: Vec<String> = kernel
            .kernel_depends
            .on_backend(*backend)
            .map(words)
            .collect();
        depends.sort();
        depends
    };
    let ours = kernel.backends.iter().map(|b| (b.to_string(), depends(b)));
    let ours: BTreeMap<String, Vec<String>> = ours.collect();
    assert_eq!(client, &serde_json::json!(ours), "{name}");
}
