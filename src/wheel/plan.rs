//! The wheels of a build, and the members of each: one wheel for each platform, with every
//! variant that it can run, or one for each variant.

use std::collections::{BTreeMap, BTreeSet};

use camino::{Utf8Path, Utf8PathBuf};

use super::WheelError;
use super::archive::{MemberContent, WheelMember};
use super::metadata::{metadata_text, wheel_text};
use super::variant::{WheelVariant, tag_of};
use crate::artifact::check::CheckedVariant;
use crate::artifact::metadata::METADATA;
use crate::library;

/// A wheel before it is written.
#[derive(Debug)]
pub struct WheelPlan<'a> {
    /// Its variants, in the order of their names; never empty.
    pub(super) variants: Vec<WheelVariant<'a>>,
    pub(super) platform: Option<(&'a str, &'a str)>,
    pub(super) tag: String,
    /// The local part of its version: that of its only variant.
    local: Option<String>,
    /// The names of files with licences, and the files.
    pub(super) licenses: Vec<(String, Utf8PathBuf)>,
}

/// Plans the wheels of checked variants. `is_split`: whether each variant gets a wheel of its own.
///
/// # Errors
/// `WheelError` for variants that cannot be in one wheel, or in any.
pub fn plan_wheels(
    checked: &[CheckedVariant],
    is_split: bool,
) -> Result<Vec<WheelPlan<'_>>, WheelError> {
    let read = || {
        let variants = checked.iter().map(WheelVariant::new);
        let mut variants = variants.collect::<Result<Vec<_>, _>>()?;
        variants.sort_by(|one, other| one.checked.name.cmp(&other.checked.name));
        Ok::<_, WheelError>(variants)
    };
    let variants = read()?;
    check_together(&variants)?;
    let licenses = licenses_of(checked)?;
    let plan = |variants: Vec<_>, platform, local| WheelPlan {
        tag: tag_of(&variants, platform),
        variants,
        platform,
        local,
        licenses: licenses.clone(),
    };
    if is_split {
        let plans = variants.into_iter().map(|variant| {
            let (platform, local) = (variant.platform(), variant.local_version());
            plan(vec![variant], platform, Some(local))
        });
        return Ok(plans.collect());
    }
    let platforms: BTreeSet<Option<(&str, &str)>> =
        variants.iter().map(WheelVariant::platform).collect();
    let plans = platforms.into_iter().map(|platform| {
        // NB: pip prefers the wheel of a platform, so it holds the variants of Python alone, too.
        let mut variants = read()?;
        variants.retain(|own| own.platform().is_none() || own.platform() == platform);
        Ok(plan(variants, platform, None))
    });
    plans.collect()
}

/// Refuses variants of several kernels or versions, and two builds of one variant.
fn check_together(variants: &[WheelVariant<'_>]) -> Result<(), WheelError> {
    let mut kernels = BTreeSet::new();
    let mut folders: BTreeMap<&str, &Utf8Path> = BTreeMap::new();
    for variant in variants {
        let metadata = variant.metadata;
        kernels.insert(format!("{} version {}", metadata.name, metadata.version));
        let folder = &variant.checked.folder;
        if let Some(other) = folders.insert(&variant.checked.name, folder) {
            let what = format!("{other} and {folder} are builds of one variant");
            return Err(WheelError::Mixed { what });
        }
    }
    match kernels.len() {
        1 => Ok(()),
        _ => Err(WheelError::Mixed {
            what: format!("there are {}", Vec::from_iter(kernels).join(", ")),
        }),
    }
}

/// The files with licences beside some variants, and in the kernel's folder around them.
fn licenses_of(checked: &[CheckedVariant]) -> Result<Vec<(String, Utf8PathBuf)>, WheelError> {
    let mut places = BTreeSet::new();
    for variant in checked {
        let failed = WheelError::io(format!("find {}", variant.folder));
        let folder = camino::absolute_utf8(&variant.folder).map_err(failed)?;
        let Some(builds) = folder.parent() else {
            continue;
        };
        places.insert(builds.to_owned());
        if let (Some("build" | "result"), Some(kernel)) = (builds.file_name(), builds.parent()) {
            places.insert(kernel.to_owned());
        }
    }
    let mut found = BTreeMap::new();
    for place in places {
        let failed = || WheelError::io(format!("read {place}"));
        for entry in place.read_dir_utf8().map_err(failed())? {
            let entry = entry.map_err(failed())?;
            let name = entry.file_name();
            let begins = ["LICENSE", "LICENCE", "COPYING", "NOTICE", "AUTHORS"];
            let is_license = begins
                .iter()
                .any(|begin| name.to_uppercase().starts_with(begin));
            if is_license && entry.path().is_file() {
                found.insert(name.to_owned(), entry.path().to_owned());
            }
        }
    }
    Ok(found.into_iter().collect())
}

impl WheelPlan<'_> {
    /// The name of the project on an index.
    pub fn project(&self) -> String {
        normalized(&self.variants[0].metadata.name)
    }

    /// The version: the kernel's, with a local part if the wheel has one variant alone.
    pub fn version(&self) -> String {
        let version = self.variants[0].metadata.version;
        match &self.local {
            None => version.to_string(),
            Some(local) => format!("{version}+{local}"),
        }
    }

    /// The name of the file.
    pub fn file_name(&self) -> String {
        format!("{}-{}.whl", self.stem(), self.tag)
    }

    /// The names of the variants.
    pub fn variant_names(&self) -> impl Iterator<Item = &str> {
        self.variants.iter().map(|own| own.checked.name.as_str())
    }

    fn stem(&self) -> String {
        format!("{}-{}", self.project().replace('-', "_"), self.version())
    }

    /// The path of RECORD in the wheel.
    pub(super) fn record(&self) -> String {
        format!("{}.dist-info/RECORD", self.stem())
    }

    /// The members in their order, without RECORD.
    pub(super) fn members(&self) -> Result<Vec<WheelMember>, WheelError> {
        let package = self.variants[0].metadata.python_name();
        let text = |path: String, text: String| WheelMember {
            path,
            content: MemberContent::Text(text),
        };
        let mut members = Vec::new();
        for (name, source) in [
            ("__init__.py", "templates/wheel/package.py"),
            ("_kernel_builder.py", "templates/wheel/choose.py"),
        ] {
            let content = library::text(source).ok_or(WheelError::Template(source))?;
            members.push(text(format!("{package}/{name}"), content.into_owned()));
        }
        for variant in &self.variants {
            let folder = format!("{package}/{}", variant.folder());
            let digests = variant.metadata.digest.as_ref();
            let files = variant.checked.files.iter().map(String::as_str);
            for file in files.chain([METADATA]) {
                members.push(WheelMember {
                    path: format!("{folder}/{file}"),
                    content: MemberContent::File {
                        path: variant.checked.folder.join(file),
                        sha256: digests.and_then(|own| own.sha256(file)),
                    },
                });
            }
        }
        members.sort_by(|one, other| one.path.cmp(&other.path));
        // As the format recommends, so that readers find them at the end.
        let folder = format!("{}.dist-info", self.stem());
        members.push(text(format!("{folder}/METADATA"), metadata_text(self)));
        members.push(text(format!("{folder}/WHEEL"), wheel_text(self)));
        for (name, path) in &self.licenses {
            members.push(WheelMember {
                path: format!("{folder}/licenses/{name}"),
                content: MemberContent::File {
                    path: path.clone(),
                    sha256: None,
                },
            });
        }
        Ok(members)
    }
}

/// A name as indexes compare it (PEP 503).
pub(super) fn normalized(name: &str) -> String {
    let parts = name.split(['-', '_', '.']).filter(|part| !part.is_empty());
    parts.collect::<Vec<_>>().join("-").to_lowercase()
}
