//! A folder that carries pins to a machine without a network: `<sha256>-<store name>` for each
//! archive, with `.nar` for each tree (Nix's archive format, whose hash is the tree's), so that
//! `sha256sum` can check all of them; index.json lists them.

use std::collections::BTreeMap;

use camino::{Utf8Path, Utf8PathBuf};
use serde::{Deserialize, Serialize};

use super::fetch::PlacedPin;
use super::{Pin, PinError, cache};
use crate::file::{UNFINISHED, replace_file};
use crate::nix::Nix;

const INDEX: &str = "index.json";
const FORMAT: u32 = 1;

#[derive(Debug, Deserialize, Serialize)]
struct CarriedIndex {
    format: u32,
    /// Files by name.
    files: BTreeMap<String, CarriedFile>,
}

#[derive(Debug, Deserialize, Serialize)]
struct CarriedFile {
    /// The name in the store.
    name: String,
    sha256: String,
}

/// A folder that `write` made.
#[derive(Debug)]
pub struct CarriedFolder {
    dir: Utf8PathBuf,
}

impl CarriedFolder {
    /// Opens a folder that `write` made.
    ///
    /// # Errors
    /// `PinError::Folder` for any other folder.
    pub fn open(dir: &Utf8Path) -> Result<Self, PinError> {
        match index(dir)? {
            Some(_) => Ok(Self {
                dir: dir.to_owned(),
            }),
            None => Err(PinError::Folder {
                dir: dir.to_owned(),
                why: format!("there is no {INDEX} in it"),
                help: "give the folder that `kernel-builder fetch --to` wrote",
            }),
        }
    }

    /// Whether the folder has a pin.
    pub fn has(&self, pin: &Pin) -> bool {
        self.dir.join(file_name(pin)).exists()
    }

    /// Adds a pin to the store. `staging` is an empty folder.
    ///
    /// # Errors
    /// `PinError::Folder` if the file is not what was pinned.
    pub fn add(&self, nix: &Nix, placed: &PlacedPin, staging: &Utf8Path) -> Result<(), PinError> {
        let file = self.dir.join(file_name(&placed.pin));
        let staged = staging.join(placed.pin.store_name());
        // NB: the copy is checked, since it goes to the store.
        let copy = match placed.pin {
            Pin::Archive(_) => staged.clone(),
            Pin::Tree(_) => staging.join("nar"),
        };
        std::fs::copy(&file, &copy).map_err(PinError::io("copy", &file))?;
        let right = cache::sha256_of_file(&copy)? == placed.pin.sha256();
        let tree = matches!(placed.pin, Pin::Tree(_));
        if right && tree {
            nix.restore(&copy, &staged)?;
        }
        if right && nix.add_fixed(&staged, tree)? == placed.path {
            return Ok(());
        }
        Err(PinError::Folder {
            dir: self.dir.clone(),
            why: format!("{} is damaged", file_name(&placed.pin)),
            help: "copy it again from where the folder was written",
        })
    }
}

/// The bytes that `write` would still add to a folder.
pub fn size(dir: &Utf8Path, pins: &[PlacedPin]) -> u64 {
    let absent = pins
        .iter()
        .filter(|placed| !dir.join(file_name(&placed.pin)).exists());
    absent.map(|placed| placed.pin.store_size()).sum()
}

/// Writes pins, which are in the store, to a folder that may have some of them already; returns how
/// many were written.
///
/// # Errors
/// `PinError::Folder` if the folder holds other files; the errors of Nix.
pub fn write(nix: &Nix, pins: &[PlacedPin], dir: &Utf8Path) -> Result<usize, PinError> {
    let mut index = writable(dir)?;
    for placed in pins {
        let entry = CarriedFile {
            name: placed.pin.store_name(),
            sha256: placed.pin.sha256().to_owned(),
        };
        index.files.insert(file_name(&placed.pin), entry);
    }
    let text = serde_json::to_string_pretty(&index).unwrap_or_default() + "\n";
    let staging = tempfile::Builder::new()
        .prefix(UNFINISHED)
        .tempdir_in(dir)
        .map_err(PinError::io("create a folder in", dir))?;
    let temporary = Utf8Path::from_path(staging.path())
        .unwrap_or(dir)
        .join("file");
    // The index comes first, so that a killed run is known to have begun.
    let path = dir.join(INDEX);
    replace_file(&path, text.as_bytes()).map_err(PinError::io("write", &path))?;

    let mut written = 0;
    for placed in pins {
        let target = dir.join(file_name(&placed.pin));
        if target.exists() && cache::sha256_of_file(&target)? == placed.pin.sha256() {
            continue;
        }
        match placed.pin {
            Pin::Archive(_) => nix.export(&placed.path, &temporary)?,
            Pin::Tree(_) => nix.dump(&placed.path, &temporary)?,
        }
        std::fs::rename(&temporary, &target).map_err(PinError::io("write", &target))?;
        written += 1;
    }
    Ok(written)
}

/// The index of a folder that `write` made, or an empty index for an empty folder.
fn writable(dir: &Utf8Path) -> Result<CarriedIndex, PinError> {
    std::fs::create_dir_all(dir).map_err(PinError::io("create", dir))?;
    if let Some(index) = index(dir)? {
        return Ok(index);
    }
    let mut entries = dir.read_dir_utf8().map_err(PinError::io("read", dir))?;
    // Folders of this name are left by a run that was killed before it wrote an index.
    let foreign = |name: &str| !name.starts_with(UNFINISHED);
    if entries.any(|entry| entry.is_ok_and(|entry| foreign(entry.file_name()))) {
        return Err(PinError::Folder {
            dir: dir.to_owned(),
            why: "it holds other files".to_owned(),
            help: "give a new folder, or one that `kernel-builder fetch --to` wrote",
        });
    }
    Ok(CarriedIndex {
        format: FORMAT,
        files: BTreeMap::new(),
    })
}

fn index(dir: &Utf8Path) -> Result<Option<CarriedIndex>, PinError> {
    let path = dir.join(INDEX);
    let text = match std::fs::read_to_string(&path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        result => result.map_err(PinError::io("read", &path))?,
    };
    let failed = |why: String| PinError::Folder {
        dir: dir.to_owned(),
        why,
        help: "give a folder that this version of `kernel-builder fetch --to` wrote",
    };
    let index: CarriedIndex =
        serde_json::from_str(&text).map_err(|error| failed(format!("{INDEX}: {error}")))?;
    if index.format != FORMAT {
        return Err(failed(format!("{INDEX} has the format {}", index.format)));
    }
    Ok(Some(index))
}

fn file_name(pin: &Pin) -> String {
    let suffix = match pin {
        Pin::Archive(_) => "",
        Pin::Tree(_) => ".nar",
    };
    format!("{}-{}{suffix}", pin.sha256(), pin.store_name())
}
