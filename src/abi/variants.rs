//! Built variants, checked whole: their files and digests, and the rules for their native files.

use camino::Utf8PathBuf;

use super::{AbiError, AbiPromises, check};
use crate::artifact::check::{CheckedVariant, check_variant};
use crate::artifact::finding::{ArtifactFinding, ArtifactRule};
use crate::artifact::native::NativeVariant;

/// Checks the variants in some folders. `allows_links`: whether their files may be links into the
/// cache of a Hub client.
///
/// # Errors
/// `AbiError`; no finding is an error.
pub fn check_variants(
    folders: &[Utf8PathBuf],
    allows_links: bool,
) -> Result<Vec<CheckedVariant>, AbiError> {
    let native = folders.iter().filter(|folder| {
        let name = folder.file_name().unwrap_or_default();
        NativeVariant::read(name).is_some()
    });
    let native: Vec<Utf8PathBuf> = native.cloned().collect();
    let abi = match native.is_empty() {
        true => Vec::new(),
        false => check(&native, &AbiPromises::default())?.findings,
    };
    let check = |folder: &Utf8PathBuf| {
        let mut checked = check_variant(folder, allows_links).map_err(|source| AbiError::Read {
            folder: folder.clone(),
            source,
        })?;
        checked.findings.extend(abi.iter().filter_map(|finding| {
            let file = finding.file.strip_prefix(folder).ok()?;
            let name = finding.name.as_ref();
            let symbol = name.map_or_else(String::new, |name| format!("{name}: "));
            let message = format!("{}: {symbol}{}", finding.rule, finding.message);
            Some(ArtifactFinding::new(
                ArtifactRule::Abi,
                file.as_str(),
                message,
                &finding.cure,
            ))
        }));
        Ok(checked)
    };
    folders.iter().map(check).collect()
}
