//! `pin-python`: pins Python packages that a kernel's checks and shells need, in its own folder.

use std::fmt::Write;

use super::{CommandError, count, print};
use crate::build::system;
use crate::cli::PinPythonArgs;
use crate::emit::{self, Written};
use crate::kernel::Kernel;
use crate::matrix::table;
use crate::pins::packages::{FILE, PythonPackages};
use crate::terminal::status;

pub fn run(arguments: &PinPythonArgs) -> Result<(), CommandError> {
    let root = Kernel::load(&arguments.kernel, &table().toolkits)?
        .kernel
        .root;
    let added = &arguments.names;
    let old = PythonPackages::read(&root)?;
    let is_new = old.is_none();
    let old = old.unwrap_or_default();
    if added.is_empty() && old.is_empty() {
        return Err(CommandError::NoPackages);
    }
    status("asking pip for wheels and what they require");
    let (new, left_out) = old.with_packages(added, &system())?;
    for (system, why) in left_out {
        status(format_args!("{system} is left out: {why}"));
    }
    for request in added.iter().filter(|request| !new.requests(request)) {
        print(&format!(
            "{request}: every kernel's checks and shells have this package\n"
        ))?;
    }
    if is_new && new.is_empty() {
        return print(&format!("no {FILE} is needed\n"));
    }
    let written = emit::write(&root.join(FILE), &new.text())?;
    print(&text(written, &new))
}

fn text(written: Written, packages: &PythonPackages) -> String {
    let what = match written {
        Written::Created => "created",
        Written::Updated => "updated",
        Written::Unchanged => "unchanged",
    };
    let mut text = String::new();
    for (system, archives) in packages.systems() {
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "{FILE} {what}: {} for {system}",
            count(archives.len(), "package")
        );
        for archive in archives {
            let _ = writeln!(text, "  {} {}", archive.name, archive.version);
        }
    }
    if written != Written::Unchanged {
        text += "commit it; `kernel-builder fetch --check` brings the packages into the store\n";
    }
    text
}
