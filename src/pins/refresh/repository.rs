//! A checkout of this program's own repository: its pins, and the files that people write beside
//! them.

use camino::{Utf8Path, Utf8PathBuf};

use super::super::Family;
use super::spec::{self, FamilySpec};
use super::{FileUpdate, RefreshError, rows};
use crate::file::replace_file;
use crate::matrix::Table;

/// A checkout of kernel-builder, whose files are read and compared.
#[derive(Clone, Debug)]
pub struct Repository {
    root: Utf8PathBuf,
}

impl Repository {
    /// The checkout that a folder is in.
    ///
    /// # Errors
    /// `RefreshError::Repository` if the folder is in no checkout.
    pub fn find(from: &Utf8Path) -> Result<Self, RefreshError> {
        let full = from.canonicalize_utf8().unwrap_or_else(|_| from.to_owned());
        let is_root = |dir: &&Utf8Path| {
            [spec::PATH, rows::PATH]
                .iter()
                .all(|path| dir.join(path).is_file())
        };
        let root = full.ancestors().find(is_root).map(Utf8Path::to_owned);
        root.map(|root| Self { root })
            .ok_or_else(|| RefreshError::Repository {
                from: from.to_owned(),
            })
    }

    /// A file's text; `None` if the file does not exist.
    ///
    /// # Errors
    /// The errors of the file system.
    pub fn text(&self, path: impl AsRef<Utf8Path>) -> Result<Option<String>, RefreshError> {
        let path = self.root.join(path);
        match std::fs::read_to_string(&path) {
            Ok(text) => Ok(Some(text)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(RefreshError::Io {
                action: "read",
                path,
                source,
            }),
        }
    }

    /// Every file of pins: the system and the family.
    ///
    /// # Errors
    /// Errors of the file system, and of files that are no pins.
    pub fn families(&self) -> Result<Vec<(String, Family)>, RefreshError> {
        let mut found = Vec::new();
        let pins = self.root.join("nix/pins");
        for entry in walkdir::WalkDir::new(pins).sort_by_file_name() {
            let Some(path) = entry
                .as_ref()
                .ok()
                .and_then(|entry| Utf8Path::from_path(entry.path()))
            else {
                continue;
            };
            let below = path.strip_prefix(&self.root).unwrap_or(path);
            let system = below.parent().and_then(Utf8Path::file_name);
            if let (Some("json"), Some(system)) = (path.extension(), system)
                && let Some((_, family)) = self.family(below)?
            {
                found.push((system.to_owned(), family));
            }
        }
        Ok(found)
    }

    /// The release table.
    ///
    /// # Errors
    /// The errors of its file.
    pub fn table(&self) -> Result<Table, RefreshError> {
        let text = self.required(rows::PATH)?;
        toml::from_str(&text).map_err(|error| RefreshError::spec(rows::PATH, error))
    }

    /// The content of families.toml.
    ///
    /// # Errors
    /// The errors of its file.
    pub fn spec(&self) -> Result<FamilySpec, RefreshError> {
        FamilySpec::parse(&self.required(spec::PATH)?)
    }

    /// Writes a file, whole or not at all.
    ///
    /// # Errors
    /// The errors of the file system.
    pub fn write(&self, update: &FileUpdate) -> Result<(), RefreshError> {
        let path = self.root.join(&update.path);
        let write = || {
            let dir = path.parent().unwrap_or(&self.root);
            std::fs::create_dir_all(dir)?;
            replace_file(&path, update.new.as_bytes())
        };
        write().map_err(|source| RefreshError::Io {
            action: "write",
            path: path.clone(),
            source,
        })
    }

    pub(super) fn required(&self, path: &str) -> Result<String, RefreshError> {
        self.text(path)?
            .ok_or_else(|| RefreshError::spec(path, "no such file"))
    }

    /// The pins of a family; `None` if it has none yet.
    pub(super) fn family(&self, path: &Utf8Path) -> Result<Option<(String, Family)>, RefreshError> {
        let Some(text) = self.text(path)? else {
            return Ok(None);
        };
        let family =
            serde_json::from_str(&text).map_err(|error| RefreshError::spec(path, error))?;
        Ok(Some((text, family)))
    }
}
