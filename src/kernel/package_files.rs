//! The files of the kernel's Python package: each must be one that a build can copy and that the
//! digests of metadata.json can name.

use walkdir::WalkDir;

use super::check::Check;
use super::{Framework, KernelName};
use crate::manifest::Spanned;
use crate::problem::{Problem, code};

/// Reports files whose names hold control characters, symbolic links, and whatever else is no file.
/// `written` is the kernel's name in build.toml, after which the package is named.
pub(super) fn check(
    check: &mut Check<'_>,
    written: &Spanned<String>,
    name: &KernelName,
    framework: &Framework,
) {
    let package = check
        .root
        .join(framework.packages())
        .join(name.python_name());
    let walk = WalkDir::new(&package).min_depth(1).sort_by_file_name();
    // NB: an entry that cannot be read is reported where it is packaged.
    let entries = walk
        .into_iter()
        .filter_entry(|entry| entry.file_name() != "__pycache__")
        .flatten();
    for entry in entries {
        let kind = entry.file_type();
        let leads_to_folder = kind.is_symlink() && entry.path().is_dir();
        let extension = entry.path().extension().and_then(|word| word.to_str());
        let is_packaged = extension
            .is_some_and(|extension| framework.pyext().iter().any(|known| known == extension));
        if kind.is_dir() || !is_packaged && !leads_to_folder {
            continue;
        }
        let path = entry.path().strip_prefix(&check.root);
        let path = path.unwrap_or(entry.path()).to_string_lossy();
        let (code, message, help) = if path.chars().any(char::is_control) {
            let message = format!("{path:?} contains a control character");
            (code::PATH_CONTROL, message, "rename the file")
        } else if kind.is_symlink() {
            let message = format!("`{path}` is a symbolic link");
            let help = "copy the file or folder into the package: a link would be missing, or lead elsewhere, where \
                        the kernel is used";
            (code::PYTHON_LINK, message, help)
        } else if !kind.is_file() {
            let message = format!("`{path}` is neither a file nor a folder");
            (code::PATH_SPECIAL, message, "remove it")
        } else {
            continue;
        };
        let problem = Problem::error(code, &written.place, message);
        check.report(problem.label("in the Python package").help(help));
    }
}
