//! From a path on disk: directories, files, and what is not there.

use camino::Utf8Path;
use kernel_builder::kernel::{Kernel, LoadError};
use kernel_builder::matrix::table;
use kernel_builder::problem::RenderOptions;

use crate::fixture::{Fixture, RELU};

#[test]
fn a_directory_or_its_build_toml() {
    let fixture = Fixture::new();
    fixture.write("build.toml", RELU);
    for path in [fixture.root().to_owned(), fixture.root().join("build.toml")] {
        let loaded = Kernel::load(&path, &table().toolkits).expect("a kernel");
        assert_eq!(loaded.kernel.root, fixture.root());
        assert!(loaded.warnings.is_empty());
    }
}

#[test]
fn errors_in_the_file_name_it_as_given() {
    let fixture = Fixture::new();
    fixture.write("build.toml", "");
    let error = Kernel::load(fixture.root(), &table().toolkits).expect_err("an empty file");
    assert_eq!(error.exit_code(), 1);
    let shown = error.to_string();
    assert_eq!(shown, format!("1 error in {}/build.toml", fixture.root()));
}

#[test]
fn no_such_file() {
    let fixture = Fixture::new();
    for path in ["", "missing", "missing/build.toml", "README.md/build.toml"] {
        let error =
            Kernel::load(&fixture.root().join(path), &table().toolkits).expect_err("no such file");
        assert!(
            matches!(error, LoadError::NotFound { .. }),
            "{path}: {error:?}"
        );
    }
    let error =
        Kernel::load(Utf8Path::new("no/such/kernel"), &table().toolkits).expect_err("no such file");
    insta::assert_snapshot!(error, @"there is no file no/such/kernel");
}

/// A pipe would be read forever, and a device without an end.
#[test]
fn a_build_toml_that_is_no_file_or_too_large_is_not_read() {
    let fixture = Fixture::new();
    let path = fixture.root().join("build.toml");
    let failure = || {
        let error = Kernel::load(fixture.root(), &table().toolkits).expect_err("no text");
        let LoadError::Read { source, .. } = error else {
            panic!("{error:?}");
        };
        source.to_string()
    };
    make_pipe(&path);
    assert_eq!(failure(), "it is not a file");
    std::fs::remove_file(&path).expect("removed");
    std::os::unix::fs::symlink("/dev/zero", &path).expect("linked");
    assert_eq!(failure(), "it is not a file");
    std::fs::remove_file(&path).expect("removed");
    fixture.write("build.toml", &"#".repeat(1_000_001));
    assert_eq!(failure(), "it is larger than 1000 kB");
}

#[test]
fn files_that_no_build_can_copy_are_errors() {
    let fixture = Fixture::new();
    let package = fixture.root().join("torch-ext/relu");
    let link = |to: &str, name: &str| {
        std::os::unix::fs::symlink(to, package.join(name)).expect("linked");
    };
    // A link that is not packaged does no harm.
    link("/elsewhere", "notes.txt");
    fixture.write("torch-ext/relu/__pycache__/a\tb.py", "");
    assert!(fixture.check(RELU.as_bytes()).0.is_some());
    fixture.write("torch-ext/relu/a\tb.py", "");
    link("__init__.py", "alias.py");
    link("/elsewhere/secret.txt", "secret.py");
    fixture.write("layers/a.py", "");
    link("../../layers", "layers");
    make_pipe(&package.join("pipe.py"));
    make_pipe(&fixture.root().join("csrc/pipe.cu"));
    let text = RELU.replace("csrc/relu.cu", "csrc/pipe.cu");
    let (_, problems) = fixture.check(text.as_bytes());
    insta::assert_snapshot!(problems.render(RenderOptions::default()));
}

fn make_pipe(path: &Utf8Path) {
    let made = std::process::Command::new("mkfifo").arg(path).status();
    assert!(made.expect("mkfifo").success());
}
