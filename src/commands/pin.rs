//! `pin`: what the indexes have for the toolchains, as changes of this program's own repository.

use std::collections::BTreeSet;
use std::fmt::Write;

use camino::Utf8Path;
use similar::TextDiff;

use super::{CommandError, count, print};
use crate::matrix::Table;
use crate::pins::refresh::rows::PATH as TABLE;
use crate::pins::refresh::{RefreshError, Repository, Request, Update, refresh, text_of};

pub fn run(from: &Utf8Path, request: &Request, write: bool) -> Result<(), CommandError> {
    let repository = Repository::find(from)?;
    let updates = refresh(&repository, request)?;
    if updates.is_empty() {
        return print("every pin is what the indexes have\n");
    }
    print(&text(&updates))?;
    print(&variants(&updates)?)?;
    let files = count(updates.len(), "file");
    if !write {
        return print(&format!("nothing was written: --write changes {files}\n"));
    }
    for update in &updates {
        repository.write(update)?;
    }
    print(&format!("{files} written; review them with `git diff`\n"))
}

/// The variants that some kernel may have and that come or go.
fn variants(updates: &[Update]) -> Result<String, CommandError> {
    let mut updates = updates.iter();
    let Some(update) = updates.find(|update| update.path == TABLE) else {
        return Ok(String::new());
    };
    let names = |text: &str| -> Result<BTreeSet<String>, RefreshError> {
        let table: Table =
            toml::from_str(text).map_err(|error| RefreshError::spec(TABLE, error))?;
        Ok(table.variants())
    };
    let old = names(update.old.as_deref().unwrap_or_default())?;
    let new = names(&update.new)?;
    let lines = |names: &mut dyn Iterator<Item = &String>, sign| -> String {
        names.map(|name| format!("  {sign} {name}\n")).collect()
    };
    let added = lines(&mut new.difference(&old), '+');
    let removed = lines(&mut old.difference(&new), '-');
    Ok(match (added.as_str(), removed.as_str()) {
        ("", "") => String::new(),
        _ => format!("variants\n{added}{removed}"),
    })
}

/// All changes, for a person.
fn text(updates: &[Update]) -> String {
    let mut text = String::new();
    for update in updates {
        let new = if update.old.is_none() { " (new)" } else { "" };
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{}{new}", update.path);
        let old = update.old.as_deref().unwrap_or_default();
        if !update.changes.is_empty() {
            text.push_str(&text_of(&update.changes));
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
