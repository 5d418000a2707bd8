//! Checks that sources still have the pinned files: by the hashes that indexes list, the sizes that
//! servers state, and the trees as they are now. It changes no file and downloads no whole archive.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use indicatif::ProgressBar;

use super::http::{HttpClient, HttpFailure};
use super::pip::without_password;
use super::refresh::index::{IndexReader, Pages, Unanswered, ask_each};
use super::refresh::trees;
use super::refresh::wheel::{newest_version, normalized};
use super::silence::SourceWatch;
use super::simple::ListedFile;
use super::{Archive, ArchiveKind, Family, PinError, Tree, apt};
use crate::nix::Nix;

/// The note for a file that is checked by URL alone.
pub const SIZE_ONLY: &str = "of its size; its hash is checked when it is fetched";

/// The state of a pin at its source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The source has the pin; with a note, if there is one.
    Good(Option<String>),
    /// The source has other content under the pin's name: the pinned and the found content, in
    /// words.
    Changed { pinned: String, found: String },
    /// The source does not have the pin any more; the newest version there, if any.
    Vanished { newest: Option<String> },
    /// The source did not answer.
    Unreached(String),
}

/// One pin, with the files that hold it.
#[derive(Clone, Debug)]
pub struct CheckedPin {
    /// File name of an archive, store name of a tree.
    pub name: String,
    /// The families that hold the pin: `x86_64-linux/gcc-12`.
    pub families: BTreeSet<String>,
    pub verdict: Verdict,
}

/// A family, after its system.
pub type SystemFamily = (String, Family);

/// Checks some families, and every archive once. `release` is Debian's; trees are built again where
/// there is a Nix.
///
/// # Errors
/// An error if no pin can be checked: no pip, no apt.
pub fn verify(
    families: &[SystemFamily],
    release: &str,
    deep: Option<&Nix>,
    bar: &ProgressBar,
) -> Result<Vec<CheckedPin>, PinError> {
    let mut archives: BTreeMap<String, (&Archive, BTreeSet<String>)> = BTreeMap::new();
    for (system, family) in families {
        for archive in family.every_archive() {
            let key = format!("{} {}", archive.file, archive.sha256);
            let (_, holders) = archives.entry(key).or_insert((archive, BTreeSet::new()));
            holders.insert(format!("{system}/{}", family.family));
        }
    }
    bar.set_length(archives.len() as u64);
    let all = || archives.values().map(|(archive, _)| *archive);

    bar.set_message("Debian packages");
    let debs = debs(
        all().filter(|archive| archive.kind == ArchiveKind::Deb),
        release,
    );
    bar.set_message("pages of pip's index");
    let of_python = all().filter(|archive| archive.kind.is_of_python());
    let projects: BTreeSet<String> = of_python.map(|archive| normalized(&archive.name)).collect();
    let index = IndexReader::open()?;
    let pages = index.pages(&projects);
    bar.set_message("files");
    let client = HttpClient::new(None, None, Arc::default());
    let mut verdicts = ask_each(&archives.keys().cloned().collect(), |key| {
        let (archive, _) = archives[key];
        let verdict = match archive.kind {
            ArchiveKind::Wheel | ArchiveKind::Sdist => wheel(archive, &index, &pages),
            ArchiveKind::Deb => deb(archive, &debs),
            ArchiveKind::Rpm | ArchiveKind::File | ArchiveKind::Tarball => {
                Verdict::Vanished { newest: None }
            }
        };
        // A file that an index lacks may be had by URL.
        let verdict = match verdict {
            Verdict::Vanished { .. } | Verdict::Unreached(_) if !archive.urls.is_empty() => {
                match &client {
                    Ok(client) => ask_urls(archive, client),
                    Err(error) => Verdict::Unreached(error.to_string()),
                }
            }
            verdict => verdict,
        };
        bar.inc(1);
        verdict
    });
    let mut checked: Vec<CheckedPin> = archives
        .iter()
        .filter_map(|(key, (archive, families))| {
            Some(CheckedPin {
                name: archive.file.clone(),
                families: families.clone(),
                verdict: verdicts.remove(key)?,
            })
        })
        .collect();
    if let Some(nix) = deep {
        bar.set_message("trees");
        checked.extend(read_again(families, nix)?);
    }
    Ok(checked)
}

/// The verdict of a size that a source states.
fn size(archive: &Archive, answer: Result<u64, HttpFailure>, note: Option<&str>) -> Verdict {
    match (answer, archive.size) {
        (Ok(found), Some(pinned)) if found != pinned => Verdict::Changed {
            pinned: format!("{pinned} bytes"),
            found: format!("{found} bytes"),
        },
        (Ok(_), _) => Verdict::Good(note.map(str::to_owned)),
        (Err(HttpFailure::Missing(_)), _) => Verdict::Vanished { newest: None },
        (Err(failure), _) => Verdict::Unreached(failure.to_string()),
    }
}

fn hashed(pinned: &str, found: &str) -> Option<Verdict> {
    (pinned != found).then(|| Verdict::Changed {
        pinned: format!("sha256 {pinned}"),
        found: format!("sha256 {found}"),
    })
}

fn wheel(archive: &Archive, index: &IndexReader, pages: &Pages) -> Verdict {
    let files: &[ListedFile] = match pages.get(&normalized(&archive.name)) {
        Some(Ok(files)) => files,
        Some(Err(Unanswered::Failed(error))) => return Verdict::Unreached(error.to_string()),
        Some(Err(Unanswered::Missing)) | None => &[],
    };
    let Some(listed) = files.iter().find(|listed| listed.file == archive.file) else {
        let newest = newest_version(files).map(|version| version.to_string());
        return Verdict::Vanished { newest };
    };
    let Some(sha256) = &listed.sha256 else {
        return Verdict::Unreached(format!("the index gives no sha256 of {}", archive.file));
    };
    let yanked = listed
        .yanked
        .as_ref()
        .map(|why| format!("its publisher withdrew it: {why}"));
    hashed(&archive.sha256, sha256)
        .unwrap_or_else(|| size(archive, index.size(&listed.url), yanked.as_deref()))
}

/// Every version of Debian packages, by architecture and name; the error of an architecture whose
/// lists cannot be had.
type DebianVersions = BTreeMap<String, Result<BTreeMap<String, Vec<Archive>>, PinError>>;

fn debs<'a>(archives: impl Iterator<Item = &'a Archive>, release: &str) -> DebianVersions {
    let mut names: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for archive in archives {
        let names = names.entry(apt::architecture_of(archive)).or_default();
        names.insert(&archive.name);
    }
    let look_up = |architecture: &str, names: &BTreeSet<&str>| -> Result<_, PinError> {
        let apt = apt::Apt::for_architecture(architecture)?;
        let updated = apt.update(&SourceWatch::default());
        let names: Vec<&str> = names.iter().copied().collect();
        let found = apt.versions(&names, release)?;
        // Without new lists, a missing version proves no fault.
        updated.map(|()| found)
    };
    // Each architecture has lists of its own.
    ask_each(
        &names.keys().map(|name| (*name).to_owned()).collect(),
        |architecture| look_up(architecture, &names[architecture]),
    )
}

fn deb(archive: &Archive, debs: &DebianVersions) -> Verdict {
    let versions = match debs.get(apt::architecture_of(archive)) {
        Some(Ok(found)) => found.get(&archive.name).map_or(&[][..], Vec::as_slice),
        Some(Err(error)) => return Verdict::Unreached(error.why()),
        None => &[],
    };
    match versions.iter().find(|found| found.file == archive.file) {
        Some(found) => hashed(&archive.sha256, &found.sha256)
            .unwrap_or_else(|| size(archive, Ok(found.size.unwrap_or_default()), None)),
        None => Verdict::Vanished {
            newest: versions.first().map(|found| found.version.clone()),
        },
    }
}

/// The verdict of the first URL that answers.
fn ask_urls(archive: &Archive, client: &HttpClient) -> Verdict {
    let mut last = Verdict::Vanished { newest: None };
    for url in &archive.urls {
        match size(archive, client.size(url), Some(SIZE_ONLY)) {
            Verdict::Unreached(why) => {
                last = Verdict::Unreached(format!("{}: {why}", without_password(url)))
            }
            Verdict::Vanished { .. } => {}
            verdict => return verdict,
        }
    }
    last
}

/// Checks trees by building them from the files that indexes have now.
fn read_again(families: &[SystemFamily], nix: &Nix) -> Result<Vec<CheckedPin>, PinError> {
    let mut pinned: BTreeMap<String, Tree> = BTreeMap::new();
    let mut holders: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (system, family) in families {
        for tree in &family.trees {
            let key = format!("{system} {}", tree.name);
            let holder = format!("{system}/{}", family.family);
            holders.entry(key.clone()).or_default().insert(holder);
            pinned.insert(key, tree.clone());
        }
    }
    let built = trees::build(nix, &pinned)?;
    let checked = built.into_iter().map(|(key, built)| {
        let tree = &pinned[&key];
        let verdict = match built {
            Ok(built) => hashed(&tree.sha256, &built.sha256).unwrap_or(Verdict::Good(None)),
            Err(error) => Verdict::Unreached(error.why()),
        };
        CheckedPin {
            name: tree.name.clone(),
            families: holders.remove(&key).unwrap_or_default(),
            verdict,
        }
    });
    Ok(checked.collect())
}
