//! Compares two states of a family's pins, for a person to read. A file that kept its name and
//! changed its hash is suspect.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::super::{Archive, Family, Tree};

/// One pin that differs between two states.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PinChange {
    /// The name of the pin in both states.
    pub name: String,
    pub old: Option<PinState>,
    pub new: Option<PinState>,
}

/// The facts of a pin that are compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PinState {
    /// The version; for a tree, its first source's if the tree is named after it.
    pub version: String,
    pub file: String,
    pub sha256: String,
    /// The members that a tree takes, as text; empty for archives.
    take: String,
}

impl PinChange {
    /// Whether a file kept its name and its taken members, and changed its content. Files of an
    /// index do not change, so a person must ask the index or the publisher.
    pub fn is_suspect(&self) -> bool {
        match (&self.old, &self.new) {
            (Some(old), Some(new)) => {
                old.file == new.file && old.take == new.take && old.sha256 != new.sha256
            }
            _ => false,
        }
    }
}

/// All changes between two states of a family, in the order of the new one; removed pins come last.
pub fn changes(old: Option<&Family>, new: &Family) -> Vec<PinChange> {
    let before: BTreeMap<String, PinState> = old.into_iter().flat_map(states).collect();
    let after = states(new);
    let mut changes: Vec<PinChange> = after
        .iter()
        .filter(|(name, state)| before.get(name) != Some(state))
        .map(|(name, state)| PinChange {
            name: name.clone(),
            old: before.get(name).cloned(),
            new: Some(state.clone()),
        })
        .collect();
    let gone = before
        .into_iter()
        .filter(|(name, _)| !after.iter().any(|(other, _)| other == name));
    changes.extend(gone.map(|(name, state)| PinChange {
        name,
        old: Some(state),
        new: None,
    }));
    changes
}

fn states(family: &Family) -> Vec<(String, PinState)> {
    let archives = family.archives.iter();
    let archives = archives.map(|archive| (archive.name.clone(), archive_state(archive)));
    let trees = family.trees.iter().flat_map(|tree| {
        let sources = tree.sources.iter().map(move |source| {
            let name = format!("{}: {}", stem(tree), source.archive.name);
            (name, archive_state(&source.archive))
        });
        std::iter::once((stem(tree), tree_state(tree))).chain(sources)
    });
    archives.chain(trees).collect()
}

fn archive_state(archive: &Archive) -> PinState {
    PinState {
        version: archive.version.clone(),
        file: archive.file.clone(),
        sha256: archive.sha256.clone(),
        take: String::new(),
    }
}

fn tree_state(tree: &Tree) -> PinState {
    let files = tree
        .sources
        .iter()
        .map(|source| source.archive.file.as_str());
    let first = tree.sources.first();
    let version = first.map(|source| source.archive.version.clone());
    PinState {
        version: version
            .filter(|version| tree.name.contains(version))
            .unwrap_or_default(),
        file: files.collect::<Vec<_>>().join(" "),
        sha256: tree.sha256.clone(),
        take: tree
            .sources
            .iter()
            .map(|source| format!("{:?}", source.take))
            .collect(),
    }
}

/// A tree's name without the version of its first source.
fn stem(tree: &Tree) -> String {
    let version = tree
        .sources
        .first()
        .map_or("", |source| source.archive.version.as_str());
    tree.name.replace(&format!("-{version}"), "")
}

/// The changes as lines: `+` added, `-` removed, `~` changed.
pub fn text(changes: &[PinChange]) -> String {
    let mut text = String::new();
    for change in changes {
        let name = &change.name;
        // Writing to a string cannot fail.
        let _ = match (&change.old, &change.new) {
            (None, Some(new)) => writeln!(
                text,
                "  + {}, {}",
                with_version(name, &new.version),
                short_hash(&new.sha256)
            ),
            (Some(old), None) => writeln!(
                text,
                "  - {}, {}",
                with_version(name, &old.version),
                short_hash(&old.sha256)
            ),
            (Some(old), Some(new)) => writeln!(
                text,
                "  ~ {}, {}",
                with_version(name, &arrow(&old.version, &new.version)),
                match old.sha256 == new.sha256 {
                    true => "same content".to_owned(),
                    false => arrow(short_hash(&old.sha256), short_hash(&new.sha256)),
                },
            ),
            (None, None) => Ok(()),
        };
    }
    text
}

/// A name with its version, if it has one.
fn with_version(name: &str, version: &str) -> String {
    format!("{name} {version}").trim_end().to_owned()
}

fn arrow(old: &str, new: &str) -> String {
    if old == new {
        new.to_owned()
    } else {
        format!("{old} -> {new}")
    }
}

/// The start of a hash, which is enough to tell two apart; the file has the whole one.
fn short_hash(sha256: &str) -> &str {
    sha256.get(..12).unwrap_or(sha256)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn family(version: &str, file: &str, sha256: &str) -> Family {
        let text = format!(
            r#"{{"family": "gcc-12", "archives": [
                {{"kind": "deb", "name": "libc6", "version": "{version}", "file": "{file}", "sha256": "{sha256}"}}
            ], "trees": []}}"#
        );
        serde_json::from_str(&text).expect("a family")
    }

    #[test]
    fn a_new_version_is_shown_with_both_hashes() {
        let old = family("2.36-1", "libc6_2.36-1_amd64.deb", "aaaaaaaaaaaaaaaa");
        let new = family("2.36-2", "libc6_2.36-2_amd64.deb", "bbbbbbbbbbbbbbbb");
        let found = changes(Some(&old), &new);
        assert_eq!(
            text(&found),
            "  ~ libc6 2.36-1 -> 2.36-2, aaaaaaaaaaaa -> bbbbbbbbbbbb\n"
        );
        assert!(!found[0].is_suspect());
        assert_eq!(
            text(&changes(None, &new)),
            "  + libc6 2.36-2, bbbbbbbbbbbb\n"
        );
        assert!(changes(Some(&new), &new).is_empty());
    }

    #[test]
    fn a_file_that_kept_its_name_and_lost_its_hash_is_suspect() {
        let old = family("2.36-1", "libc6_2.36-1_amd64.deb", "aaaaaaaaaaaaaaaa");
        let new = family("2.36-1", "libc6_2.36-1_amd64.deb", "bbbbbbbbbbbbbbbb");
        assert!(changes(Some(&old), &new).iter().all(PinChange::is_suspect));
    }

    #[test]
    fn removed_pins_are_shown() {
        let old = family("2.36-1", "libc6_2.36-1_amd64.deb", "aaaaaaaaaaaaaaaa");
        let empty = Family {
            archives: Vec::new(),
            ..old.clone()
        };
        assert_eq!(
            text(&changes(Some(&old), &empty)),
            "  - libc6 2.36-1, aaaaaaaaaaaa\n"
        );
    }
}
