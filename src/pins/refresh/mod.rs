//! Makes pins from the indexes: looks up the archives that nix/pins/families.toml asks for, and
//! gives the families' new files with their changes. It writes no file and downloads no whole
//! archive.

mod closure;
mod diff;
mod error;
pub mod index;
mod lookup;
mod metadata;
mod repository;
pub mod rows;
pub mod spec;
mod toolkit;
pub mod trees;
pub mod wheel;

use std::collections::{BTreeMap, BTreeSet};

use camino::Utf8PathBuf;

pub use self::diff::PinChange;
pub use self::error::RefreshError;
use self::index::IndexReader;
use self::lookup::{ArchiveLookup, FamilyTarget};
pub use self::repository::Repository;
use self::rows::TorchRelease;
use self::spec::{FamilySpec, WantedArchive};
use super::{Archive, Family};
use crate::matrix::{Profile, Table};
use crate::nix::Nix;
use crate::problem::suggest::nearest;
use crate::terminal::status;

/// The families to look up.
#[derive(Clone, Debug, Default)]
pub struct RefreshRequest {
    /// The families by name; empty means all.
    pub families: Vec<String>,
    /// A torch release to add rows, facts and families of.
    pub torch: Option<String>,
    /// The only system; `None` means all.
    pub system: Option<String>,
    /// The names of files whose content may have changed.
    pub accept: Vec<String>,
}

/// A file of the repository that changes.
#[derive(Clone, Debug)]
pub struct FileUpdate {
    /// The path in the repository.
    pub path: Utf8PathBuf,
    /// The old text; `None` for a new file.
    pub old: Option<String>,
    pub new: String,
    /// The changed pins of a file of pins; empty for a file that people write.
    pub changes: Vec<PinChange>,
}

/// Looks up a request and returns the files that would change; files that people write come first.
///
/// # Errors
/// `RefreshError`; no hash of a file that kept its name is changed unless the request accepts it.
pub fn refresh(
    repository: &Repository,
    request: &RefreshRequest,
) -> Result<Vec<FileUpdate>, RefreshError> {
    let nix = Nix::find().map_err(super::PinError::from)?;
    let index = IndexReader::open()?;
    let old_spec = repository.required(spec::PATH)?;
    let old_table = repository.required(rows::PATH)?;
    let (mut new_spec, mut new_table) = (old_spec.clone(), old_table.clone());

    let mut added = BTreeSet::new();
    if let Some(version) = &request.torch {
        let release = read_release(&index, &FamilySpec::parse(&old_spec)?, version)?;
        new_spec = rows::add_toolkits(&old_spec, &release)?;
        new_table = rows::add(&old_table, &release)?;
        let computes = release.toolkits();
        added.insert(format!("torch-{version}"));
        for compute in computes.keys() {
            added.extend([format!("cuda-{compute}"), format!("cuda-{compute}-headers")]);
        }
    }
    let spec = FamilySpec::parse(&new_spec)?;
    let table: Table =
        toml::from_str(&new_table).map_err(|error| RefreshError::spec(rows::PATH, error))?;
    let mut targets = find_targets(repository, &spec, &table, request, &added)?;
    for target in &mut targets {
        if let Some(required) = target.recipe.required.take() {
            status(format_args!("reading what {} requires", required.by));
            let wheels = closure::wheels(&index, &target.system, &required)?;
            target.recipe.archives.extend(wheels);
        }
        let installed = std::mem::take(&mut target.recipe.installed);
        if !installed.is_empty() {
            status(format_args!("asking apt what {} needs", target.family));
            let debs = closure::debs(&target.system, &installed, spec.debian_release())?;
            target.recipe.archives.extend(debs);
        }
    }

    let mut updates = Vec::new();
    for (path, old, new) in [
        (spec::PATH, old_spec, new_spec),
        (rows::PATH, old_table, new_table),
    ] {
        if old != new {
            updates.push(FileUpdate {
                path: path.into(),
                old: Some(old),
                new,
                changes: Vec::new(),
            });
        }
    }
    let locks: Vec<Family> = targets
        .iter()
        .filter_map(|target| target.old.clone())
        .map(|(_, family)| family)
        .collect();
    let lookup = ArchiveLookup {
        index: &index,
        spec: &spec,
        known: known_archives(&locks),
    };
    let found = lookup.archives(&targets)?;
    let trees = trees::trees(&nix, &index, &targets, &found)?;
    for (target, trees) in targets.into_iter().zip(trees) {
        let archives = target.recipe.archives.iter();
        let archive =
            |want: &WantedArchive| found.get(&(target.system.clone(), want.clone())).cloned();
        let new = Family {
            archives: archives.filter_map(archive).collect(),
            family: target.family,
            trees,
            include: target.recipe.include,
            unpinned: None,
        };
        let text = file_text(&new);
        let (old_text, old) = target.old.unzip();
        if old_text.as_deref() != Some(&text) {
            updates.push(FileUpdate {
                path: target.path,
                changes: diff::changes(old.as_ref(), &new),
                old: old_text,
                new: text,
            });
        }
    }
    refuse_suspects(&updates, &request.accept)?;
    Ok(updates)
}

/// Every archive that is pinned, by name and hash.
fn known_archives(families: &[Family]) -> BTreeMap<(String, String), Archive> {
    let archives = families.iter().flat_map(Family::every_archive);
    archives
        .map(|archive| {
            (
                (archive.file.clone(), archive.sha256.clone()),
                archive.clone(),
            )
        })
        .collect()
}

/// The facts that the wheels of a torch release state.
fn read_release(
    index: &IndexReader,
    spec: &FamilySpec,
    version: &str,
) -> Result<TorchRelease, RefreshError> {
    let fail = |why: &dyn std::fmt::Display| {
        RefreshError::Torch {
        release: version.to_owned(),
        why: why.to_string(),
        help: "releases are named in full, for example 2.11.0; see what pip's index has with `pip index versions torch`"
            .to_owned(),
    }
    };
    let pages = index.pages(&["torch".to_owned()].into());
    let files = lookup::files(&pages, "torch").map_err(|error| fail(&error))?;
    let specifiers =
        lookup::specifiers("torch", &format!("=={version}")).map_err(|error| fail(&error))?;
    let mut wheels = Vec::new();
    let (systems, python) = spec.torch()?;
    for system in systems {
        let wheel = wheel::newest(files, Some(&specifiers), system, python);
        let wheel = wheel.ok_or_else(|| {
            fail(&format_args!(
                "no index has a wheel of it for {system} and {python}"
            ))
        })?;
        let members = index.read(&wheel.listed.url, &metadata::TORCH_MEMBERS);
        let torch = members.and_then(|members| metadata::TorchWheel::read(&members));
        let mut torch =
            torch.map_err(|error| fail(&format_args!("{}: {error}", wheel.listed.file)))?;
        if let (Some(cuda), None, Some(runtime)) = (&torch.cuda, &torch.toolkit, &torch.cudart) {
            torch.toolkit = toolkit::find_with_runtime(index, cuda, runtime)?;
        }
        wheels.push((system.clone(), torch));
    }
    Ok(TorchRelease {
        version: version.to_owned(),
        wheels,
    })
}

/// The families to look up: the requested ones, else all that families.toml names or that rows
/// need.
fn find_targets(
    repository: &Repository,
    spec: &FamilySpec,
    table: &Table,
    request: &RefreshRequest,
    added: &BTreeSet<String>,
) -> Result<Vec<FamilyTarget>, RefreshError> {
    // The CUDA toolkits in rows of the vendor profile come from the indexes, too.
    let of_rows = table.rows.iter().flat_map(|row| {
        let families = row.families().into_iter();
        let families = families
            .filter(|family| row.profile == Profile::Registry || family.starts_with("cuda-"));
        families.map(|family| (row.system.clone(), family))
    });
    let all: BTreeSet<(String, String)> = of_rows.chain(spec.named()).collect();

    let names: BTreeSet<&str> = all.iter().map(|(_, family)| family.as_str()).collect();
    for family in &request.families {
        if !names.contains(family.as_str()) {
            return Err(unknown_family(family, &names));
        }
    }

    let mut targets = Vec::new();
    for (system, family) in all {
        let Some(recipe) = spec.recipe(&system, &family) else {
            continue;
        };
        let path = Utf8PathBuf::from(format!("nix/pins/{system}/{family}.json"));
        let old = repository.family(&path)?;
        // A family with a reason for having no pins keeps it until it is requested by name.
        let unpinned = old.as_ref().is_some_and(|(_, old)| old.unpinned.is_some());
        let asked = request.families.contains(&family)
            || request.families.is_empty() && request.torch.is_none() && !unpinned;
        // A toolkit that is pinned already does not change for another torch release.
        let for_torch = added.contains(&family) && (!family.starts_with("cuda-") || old.is_none());
        let of_system = request
            .system
            .as_ref()
            .is_none_or(|wanted| wanted == &system);
        if of_system && (asked || for_torch) {
            targets.push(FamilyTarget {
                system,
                family,
                path,
                recipe,
                old,
            });
        }
    }
    Ok(targets)
}

/// The error for a name that no family has.
pub fn unknown_family(name: &str, known: &BTreeSet<&str>) -> RefreshError {
    let known: Vec<&str> = known.iter().copied().collect();
    RefreshError::UnknownFamily {
        name: name.to_owned(),
        help: match nearest(name, &known) {
            Some(near) => format!("did you mean {near}?"),
            None => format!(
                "families are those of {} and of the rows of {}",
                spec::PATH,
                rows::PATH
            ),
        },
    }
}

/// Refuses new content under an old name, with all such files in one error.
fn refuse_suspects(updates: &[FileUpdate], accept: &[String]) -> Result<(), RefreshError> {
    let mut suspects = Vec::new();
    for update in updates {
        for change in update.changes.iter().filter(|change| change.is_suspect()) {
            let (Some(old), Some(new)) = (&change.old, &change.new) else {
                continue;
            };
            if !new
                .file
                .split(' ')
                .any(|file| accept.iter().any(|accepted| accepted == file))
            {
                suspects.push(format!(
                    "{}: {} ({})\n    pinned  sha256 {}\n    now     sha256 {}",
                    update.path, new.file, change.name, old.sha256, new.sha256
                ));
            }
        }
    }
    if suspects.is_empty() {
        Ok(())
    } else {
        Err(RefreshError::Changed(suspects))
    }
}

/// A family as its file holds it.
fn file_text(family: &Family) -> String {
    // Values of these types can always be written as JSON.
    let text = serde_json::to_string_pretty(family).unwrap_or_default();
    format!("{text}\n")
}

/// The changes of a file of pins, a line each.
pub fn changes_text(changes: &[PinChange]) -> String {
    diff::text(changes)
}
