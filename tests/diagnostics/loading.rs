//! From a path on disk: directories, files, and what is not there.

use camino::Utf8Path;
use kernel_builder::kernel::{Kernel, LoadError};
use kernel_builder::matrix::table;

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
    insta::assert_snapshot!(error, @"there is no file no/such/kernel; give the directory of a kernel, or its build.toml");
}
