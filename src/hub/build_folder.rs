//! The folder of built variants that is to be published, after the checks of `check-builds`. Not
//! the Hub.

use std::collections::BTreeSet;

use camino::{Utf8Path, Utf8PathBuf};

use super::error::HubError;
use crate::abi::check_variants;
use crate::artifact::check::{CheckedVariant, find_variants};
use crate::artifact::metadata::{ArtifactMetadata, METADATA, SIGNATURE};
use crate::artifact::signature::signature_file;

/// Some built variants of one kernel in one folder.
#[derive(Debug)]
pub struct BuildFolder {
    pub path: Utf8PathBuf,
    /// The variants, in the order of their names; never empty.
    pub variants: Vec<BuiltVariant>,
}

/// A good variant with the facts that publishing needs.
#[derive(Debug)]
pub struct BuiltVariant {
    pub name: String,
    pub metadata: ArtifactMetadata,
    pub folder: Utf8PathBuf,
    /// Its files: paths from its folder.
    pub files: Vec<String>,
    /// The signature of `sign` beside its folder; `None` if it is not signed.
    pub signature: Option<Utf8PathBuf>,
}

impl BuiltVariant {
    /// Takes a checked variant, unless it breaks a rule.
    fn new(checked: CheckedVariant) -> Result<Self, HubError> {
        if let Some(mistake) = checked.first_mistake() {
            let help = &mistake.help;
            return Err(HubError::Build {
                path: checked.folder.join(mistake.place()),
                why: mistake.message.clone(),
                help: format!("{help}; `kernel-builder check-builds` lists every finding"),
            });
        }
        let Some(metadata) = checked.metadata else {
            let places = checked.folder.to_string();
            return Err(HubError::NoBuild { places });
        };
        let mut files = checked.files;
        let own = [METADATA, SIGNATURE].into_iter();
        let own = own.filter(|name| checked.folder.join(name).is_file());
        files.extend(own.map(str::to_owned));
        let failed = HubError::io(format!("find {}", checked.folder));
        let signature = signature_file(&checked.folder).map_err(failed)?;
        Ok(Self {
            name: checked.name,
            metadata,
            folder: checked.folder,
            files,
            signature: signature.is_file().then_some(signature),
        })
    }

    /// Whether it was built from files that git does not have.
    pub fn is_dirty(&self) -> bool {
        let provenance = self.metadata.provenance.as_ref();
        let kernel = provenance.and_then(|provenance| provenance.kernel.as_ref());
        kernel.is_some_and(|kernel| kernel.dirty)
    }
}

impl BuildFolder {
    /// The variants of the first of `result`, `build` and the kernel's folder itself that has some.
    ///
    /// # Errors
    /// `HubError::NoBuild`, and `HubError::Build` for a variant that must not be published.
    pub fn find(kernel: &Utf8Path) -> Result<Self, HubError> {
        let folders = find_variants(kernel).map_err(HubError::io(format!("read {kernel}")))?;
        let checked = check_variants(&folders, false)?;
        let variants = checked.into_iter().map(BuiltVariant::new);
        let variants = variants.collect::<Result<Vec<_>, _>>()?;
        let Some(path) = folders.first().and_then(|folder| folder.parent()) else {
            return Err(HubError::NoBuild {
                places: kernel.to_string(),
            });
        };
        Ok(Self {
            path: path.to_owned(),
            variants,
        })
    }

    /// The version of the kernel, which all variants have in common.
    ///
    /// # Errors
    /// `HubError::Build`
    pub fn version(&self) -> Result<u64, HubError> {
        let versions: BTreeSet<u64> = self
            .variants
            .iter()
            .map(|variant| variant.metadata.version)
            .collect();
        match versions.iter().next() {
            Some(version) if versions.len() == 1 => Ok(*version),
            _ => Err(HubError::Build {
                path: self.path.clone(),
                why: format!("its variants have several versions: {versions:?}"),
                help: "build all of them again, or move the old ones away".to_owned(),
            }),
        }
    }
}
