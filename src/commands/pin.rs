//! `pin`: looks up newer files of toolchains in indexes, and shows or writes the changes of this
//! program's own repository.

use std::collections::BTreeSet;
use std::fmt::Write;

use similar::TextDiff;

use super::{CommandError, count, print};
use crate::cli::PinArgs;
use crate::emit::release_table::{self, ReleaseTable};
use crate::kernel::Backend;
use crate::matrix::Table;
use crate::pins::refresh::rows::PATH as TABLE;
use crate::pins::refresh::{
    FileUpdate, RefreshError, RefreshRequest, Repository, changes_text, refresh,
};
use crate::version::Version;

pub fn run(arguments: PinArgs) -> Result<(), CommandError> {
    let repository = Repository::find(&arguments.repository)?;
    let request = RefreshRequest {
        families: arguments.families,
        torch: arguments.torch,
        system: arguments.system,
        accept: arguments.accept,
    };
    let mut updates = refresh(&repository, &request)?;
    if updates.is_empty() {
        return print("every pin is what the indexes have\n");
    }
    print(&updates_text(&updates))?;
    let table = updates.iter().find(|update| update.path == TABLE);
    if let Some(table) = table {
        print(&variants_text(table)?)?;
        // nix/release-table.json follows from the table.
        let new = parse_table(&table.new)?;
        updates.push(FileUpdate {
            path: release_table::PATH.into(),
            old: None,
            new: ReleaseTable::new(&new).text(),
            changes: Vec::new(),
        });
    }
    let files = count(updates.len(), "file");
    if !arguments.write {
        return print(&format!("nothing was written: --write changes {files}\n"));
    }
    for update in &updates {
        repository.write(update)?;
    }
    print(&format!("{files} written; review them with `git diff`\n"))
}

fn parse_table(text: &str) -> Result<Table, RefreshError> {
    toml::from_str(text).map_err(|error| RefreshError::spec(TABLE, error))
}

/// Text about a change of the table: variants that are added and removed, and entries that people
/// still have to add.
fn variants_text(update: &FileUpdate) -> Result<String, CommandError> {
    let new = parse_table(&update.new)?;
    let old = update.old.as_deref().map(parse_table).transpose()?;
    let old = old.map(|table| table.variants()).unwrap_or_default();
    let lines = |names: &mut dyn Iterator<Item = &String>, sign| -> String {
        names.map(|name| format!("  {sign} {name}\n")).collect()
    };
    let added = lines(&mut new.variants().difference(&old), '+');
    let removed = lines(&mut old.difference(&new.variants()), '-');
    let mut text = match added.len() + removed.len() {
        0 => String::new(),
        _ => format!("variants\n{added}{removed}"),
    };
    let toolkits: BTreeSet<&str> = new
        .rows
        .iter()
        .filter(|row| row.backend == Backend::Cuda)
        .filter_map(|row| row.compute.as_ref())
        .filter(|toolkit| new.cuda(toolkit).is_none())
        .map(Version::as_str)
        .collect();
    for toolkit in toolkits {
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "to do: add CUDA {toolkit} to [[cuda]] of {TABLE}, with what its `nvcc --list-gpu-code` prints"
        );
    }
    Ok(text)
}

/// All changes as text for a person.
fn updates_text(updates: &[FileUpdate]) -> String {
    let mut text = String::new();
    for update in updates {
        let new = if update.old.is_none() { " (new)" } else { "" };
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{}{new}", update.path);
        let old = update.old.as_deref().unwrap_or_default();
        if !update.changes.is_empty() {
            text.push_str(&changes_text(&update.changes));
        } else if update.path.extension() == Some("json") {
            text.push_str("  ~ sizes or form only\n");
        } else {
            let diff = TextDiff::from_lines(old, &update.new);
            for change in diff.iter_all_changes() {
                if change.tag() != similar::ChangeTag::Equal {
                    let _ = write!(text, "  {}{}", change.tag(), change);
                }
            }
        }
    }
    text
}
