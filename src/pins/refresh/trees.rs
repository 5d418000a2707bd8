//! Builds trees that are not pinned yet to get their hash and sizes, then removes them.

use std::collections::BTreeMap;
use std::sync::Arc;

use camino::Utf8Path;

use super::super::error::IndexError;
use super::super::progress::FetchProgress;
use super::super::run::FetchRun;
use super::super::worker::{empty, remove_parts};
use super::super::{ArchiveKind, PinError, Tree, TreeSource, tree};
use super::RefreshError;
use super::index::{IndexReader, ask_each};
use super::lookup::{FamilyTarget, FoundArchives, files};
use super::spec::TreeRecipe;
use crate::nix::Nix;
use crate::terminal::status;

/// The hash and the size of a tree that was built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BuiltTree {
    /// The sha256 of its Nix archive, in lower-case hexadecimal digits.
    pub sha256: String,
    /// The bytes of its files.
    pub size: u64,
}

/// The trees of each target. A tree that takes the same members of the same pinned sources stays as
/// it is.
///
/// # Errors
/// The errors of downloads, of archives and of Nix.
pub fn trees(
    nix: &Nix,
    index: &IndexReader,
    targets: &[FamilyTarget],
    found: &FoundArchives,
) -> Result<Vec<Vec<Tree>>, RefreshError> {
    let mut trees: Vec<Vec<Tree>> = Vec::new();
    let mut missing = BTreeMap::new();
    for target in targets {
        let pinned = |tree: &Tree| {
            let old = target.old.iter().flat_map(|(_, family)| &family.trees);
            let mut same = old.filter(|old| old.name == tree.name && old.sources == tree.sources);
            same.find(|old| old.download.is_some()).cloned()
        };
        let of_target = target.recipe.trees.iter().map(|recipe| {
            let tree = unbuilt_tree(&target.system, recipe, found);
            pinned(&tree).unwrap_or_else(|| {
                missing.insert(key(target, &tree), tree.clone());
                tree
            })
        });
        trees.push(of_target.collect());
    }
    let mut read = build(nix, &missing)?;
    let downloads = ask_each(&missing.keys().cloned().collect(), |key| {
        download(index, &missing[key])
    });
    for (target, trees) in targets.iter().zip(&mut trees) {
        for tree in trees {
            let key = key(target, tree);
            if let (Some(built), Some(download)) = (read.remove(&key), downloads.get(&key)) {
                let download = download
                    .clone()
                    .map_err(|error| RefreshError::Unanswered(vec![error.to_string()]))?;
                tree.download = Some(download);
                let built = built?;
                (tree.sha256, tree.size) = (built.sha256, Some(built.size));
            }
        }
    }
    Ok(trees)
}

/// The key of a tree: its system and its name, since several systems may have the same name.
fn key(target: &FamilyTarget, tree: &Tree) -> String {
    format!("{} {}", target.system, tree.name)
}

/// Builds trees, several at a time, and removes them. Returns the result of each tree by its key.
///
/// # Errors
/// The errors of the cache.
pub fn build(
    nix: &Nix,
    trees: &BTreeMap<String, Tree>,
) -> Result<BTreeMap<String, Result<BuiltTree, PinError>>, PinError> {
    if trees.is_empty() {
        return Ok(BTreeMap::new());
    }
    let run = FetchRun::open(Arc::new(FetchProgress::hidden()), &[])?;
    let numbers: BTreeMap<&String, usize> = trees.keys().zip(0..).collect();
    Ok(ask_each(&trees.keys().cloned().collect(), |key| {
        status(format_args!("reading {key}"));
        let dir = run.staging.join(numbers[&key.to_owned()].to_string());
        let built = build_one(nix, &run, &trees[key], &dir);
        empty(&dir).and(built)
    }))
}

fn build_one(
    nix: &Nix,
    run: &FetchRun,
    tree: &Tree,
    dir: &Utf8Path,
) -> Result<BuiltTree, PinError> {
    empty(dir)?;
    tree::build(
        &tree.sources,
        tree.size,
        tree::MemberAccess::Parts,
        &run.sources,
        dir,
    )?;
    for source in &tree.sources {
        run.sources
            .with_archive_lock(&source.archive, || remove_parts(&source.archive))?;
    }
    let mut size = 0;
    for entry in walkdir::WalkDir::new(dir) {
        let metadata = entry.and_then(|entry| entry.metadata());
        let metadata = metadata.map_err(|error| PinError::io("read", dir)(error.into()))?;
        size += if metadata.is_file() {
            metadata.len()
        } else {
            0
        };
    }
    Ok(BuiltTree {
        sha256: nix.hash_tree(dir)?,
        size,
    })
}

/// The bytes to download for the members of a tree.
fn download(index: &IndexReader, tree: &Tree) -> Result<u64, IndexError> {
    let sizes = tree.sources.iter().map(|TreeSource { archive, take }| {
        // Only zip files can be read in parts.
        if archive.kind != ArchiveKind::Wheel {
            return Ok(archive.size.unwrap_or_default());
        }
        let pages = index.pages(&[archive.name.clone()].into());
        let mut listed = files(&pages, &archive.name)?.iter();
        let listed = listed.find(|listed| listed.file == archive.file);
        let listed = listed.ok_or_else(|| IndexError::NoFile {
            file: archive.file.clone(),
        })?;
        let patterns: Vec<&str> = take.iter().map(|take| take.glob.as_str()).collect();
        index.measure(&listed.url, &patterns)
    });
    sizes.sum()
}

/// A tree with its name and its sources, without hash and sizes.
fn unbuilt_tree(system: &str, recipe: &TreeRecipe, found: &FoundArchives) -> Tree {
    let sources = recipe.sources.iter().filter_map(|(want, take)| {
        Some(TreeSource {
            archive: found.get(&(system.to_owned(), want.clone()))?.clone(),
            take: take.clone(),
        })
    });
    let sources: Vec<TreeSource> = sources.collect();
    let (wheel, version) = sources.first().map_or(("", ""), |source| {
        (
            source.archive.name.as_str(),
            source.archive.version.as_str(),
        )
    });
    Tree {
        name: recipe
            .name
            .replace("{wheel}", wheel)
            .replace("{version}", version),
        sha256: String::new(),
        size: None,
        download: None,
        sources,
    }
}
