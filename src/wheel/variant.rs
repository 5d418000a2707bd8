//! A built variant as part of a wheel: its requirements, its tags, and its place in the wheel.

use std::collections::BTreeMap;

use crate::abi::AbiPromises;
use crate::artifact::check::CheckedVariant;
use crate::artifact::metadata::ArtifactMetadata;
use crate::artifact::native::NativeVariant;
use crate::words::python_depends::package_of;

use super::WheelError;

/// The framework that a variant is made for, with its major and minor version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WheelFramework {
    /// Any torch: a variant of Python alone.
    AnyTorch,
    Torch(u32, u32),
    /// A torch release and later ones.
    StableAbi(u32, u32),
    TvmFfi(u32, u32),
}

/// A variant that a wheel can hold.
#[derive(Debug)]
pub(super) struct WheelVariant<'a> {
    pub checked: &'a CheckedVariant,
    pub metadata: &'a ArtifactMetadata,
    framework: WheelFramework,
    native: Option<NativeVariant<'a>>,
}

impl<'a> WheelVariant<'a> {
    /// Reads the name and the metadata of a variant.
    pub fn new(checked: &'a CheckedVariant) -> Result<Self, WheelError> {
        let refused = |why: &str| WheelError::Variant {
            folder: checked.folder.clone(),
            why: why.to_owned(),
        };
        let metadata = checked.metadata.as_ref();
        let metadata = metadata.ok_or_else(|| refused("it has no metadata.json"))?;
        let framework = WheelFramework::read(&checked.name);
        let framework = framework.ok_or_else(|| refused("it has no name of a variant"))?;
        if !metadata.kernel_depends.is_empty() {
            return Err(WheelError::NeedsClient {
                folder: checked.folder.clone(),
            });
        }
        let mut packages = metadata.python_depends.iter();
        if let Some(unknown) = packages.find(|name| package_of(name).is_none()) {
            let why =
                format!("it needs the Python package `{unknown}`, which no index is known for");
            return Err(refused(&why));
        }
        let native = NativeVariant::read(&checked.name);
        let is_stable = |file: &&String| file.ends_with(".abi3.so") || file.ends_with(".pyd");
        if native.as_ref().is_some_and(|own| own.is_module)
            && !checked.files.iter().any(|file| is_stable(&file))
        {
            return Err(refused(
                "its library is for one version of Python: its name does not end with .abi3.so",
            ));
        }
        Ok(Self {
            checked,
            metadata,
            framework,
            native,
        })
    }

    /// The folder inside of the package. NB: templates/wheel/choose.py reads it.
    pub fn folder(&self) -> String {
        self.checked.name.replace('-', "_")
    }

    /// The system and the processor; `None` for all of them.
    pub fn platform(&self) -> Option<(&'a str, &'a str)> {
        self.native.as_ref().map(|own| (own.os, own.processor))
    }

    /// Whether its library uses Python's limited API.
    pub fn is_module(&self) -> bool {
        self.native.as_ref().is_some_and(|own| own.is_module)
    }

    /// The local version of a wheel of this variant alone: `torch211.cxx11.cu130`.
    pub fn local_version(&self) -> String {
        let name = &self.checked.name;
        let platform = self.platform().map(|(os, cpu)| format!("-{cpu}-{os}"));
        let name = name.strip_suffix(&*platform.unwrap_or_default());
        name.unwrap_or(&self.checked.name).replace('-', ".")
    }

    /// Packages of the index that it needs, besides torch and tvm-ffi.
    fn packages(&self) -> impl Iterator<Item = &'a str> {
        let names = self.metadata.python_depends.iter();
        names.filter_map(|name| package_of(name))
    }
}

impl WheelFramework {
    /// Reads the name of a variant.
    fn read(name: &str) -> Option<Self> {
        if NativeVariant::read(name).is_none() {
            let backend = name.strip_prefix("torch-")?;
            let is_word = backend.bytes().all(|byte| byte.is_ascii_lowercase());
            return (is_word && !backend.is_empty()).then_some(Self::AnyTorch);
        }
        let version = |prefix: &str| {
            let (digits, _) = name.strip_prefix(prefix)?.split_once('-')?;
            let (major, minor) = digits.split_at_checked(1)?;
            Some((major.parse().ok()?, minor.parse().ok()?))
        };
        if let Some((major, minor)) = version("torch-stable-abi") {
            return Some(Self::StableAbi(major, minor));
        }
        if let Some((major, minor)) = version("tvm-ffi") {
            return Some(Self::TvmFfi(major, minor));
        }
        version("torch").map(|(major, minor)| Self::Torch(major, minor))
    }
}

/// The `Requires-Dist` of a wheel of some variants, and its extras. Packages that only some
/// variants need are in an extra that has the name of their backend.
pub(super) fn requirements(variants: &[WheelVariant<'_>]) -> (Vec<String>, Vec<String>) {
    let mut lines = Vec::new();
    let frameworks: Vec<WheelFramework> = variants.iter().map(|own| own.framework).collect();
    lines.extend(torch_range(&frameworks).map(|range| format!("torch{range}")));
    let tvm_ffi = frameworks.iter().filter_map(|own| match own {
        WheelFramework::TvmFfi(major, minor) => Some((*major, *minor)),
        _ => None,
    });
    let range = range_of(&tvm_ffi.collect::<Vec<_>>(), None);
    lines.extend(range.map(|range| format!("apache-tvm-ffi{range}")));
    let mut needed: BTreeMap<&str, Vec<&WheelVariant<'_>>> = BTreeMap::new();
    for variant in variants {
        for package in variant.packages() {
            needed.entry(package).or_default().push(variant);
        }
    }
    let mut extras = Vec::new();
    for (package, by) in needed {
        if lines.iter().any(|line| line.starts_with(package)) {
            continue;
        }
        if by.len() == variants.len() {
            lines.push(package.to_owned());
            continue;
        }
        let mut backends: Vec<&String> =
            by.iter().map(|own| &own.metadata.backend.r#type).collect();
        backends.dedup();
        for backend in backends {
            lines.push(format!("{package}; extra == \"{backend}\""));
            extras.push(backend.clone());
        }
    }
    extras.sort();
    extras.dedup();
    (lines, extras)
}

/// The versions of torch that some variants run with; `None` if none is for torch.
fn torch_range(frameworks: &[WheelFramework]) -> Option<String> {
    if frameworks.contains(&WheelFramework::AnyTorch) {
        return Some(String::new());
    }
    let mut exact = Vec::new();
    let mut stable: Option<(u32, u32)> = None;
    for framework in frameworks {
        match *framework {
            WheelFramework::Torch(major, minor) => exact.push((major, minor)),
            WheelFramework::StableAbi(major, minor) => {
                stable = Some(stable.unwrap_or((major, minor)).min((major, minor)));
            }
            WheelFramework::AnyTorch | WheelFramework::TvmFfi(..) => {}
        }
    }
    range_of(&exact, stable)
}

/// Specifiers of some minor versions, and of all from one on. `None` without any.
fn range_of(exact: &[(u32, u32)], from: Option<(u32, u32)>) -> Option<String> {
    let mut versions = exact.to_vec();
    versions.extend(from);
    versions.sort_unstable();
    let (first, last) = (*versions.first()?, *versions.last()?);
    let mut text = format!(">={}.{}", first.0, first.1);
    let open = from.unwrap_or((u32::MAX, 0));
    // NB: within a major version alone: nobody knows how many minor versions another one has.
    for minor in first.1..last.1 {
        let version = (first.0, minor);
        if first.0 == last.0 && version < open && !versions.contains(&version) {
            text += &format!(",!={}.{minor}.*", first.0);
        }
    }
    if from.is_none() {
        text += &format!(",<{}.{}", last.0, last.1 + 1);
    }
    Some(text)
}

/// The tag of a wheel of some variants for one platform, by the promises that their check keeps.
pub(super) fn tag_of(variants: &[WheelVariant<'_>], platform: Option<(&str, &str)>) -> String {
    let promises = AbiPromises::default();
    let python = match variants.iter().any(WheelVariant::is_module) {
        true => format!("cp{}-abi3", promises.python.replace('.', "")),
        false => "py3-none".to_owned(),
    };
    let platform = match platform {
        None => "any".to_owned(),
        Some(("linux", cpu)) => format!("{}_{cpu}", promises.manylinux),
        Some(("darwin", "aarch64")) => format!("macosx_{}_arm64", promises.macos.replace('.', "_")),
        Some(("darwin", cpu)) => format!("macosx_{}_{cpu}", promises.macos.replace('.', "_")),
        Some((_, "aarch64")) => "win_arm64".to_owned(),
        Some(_) => "win_amd64".to_owned(),
    };
    format!("{python}-{platform}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_name_the_versions_and_no_others() {
        let exact = |minors: &[u32]| minors.iter().map(|minor| (2, *minor)).collect::<Vec<_>>();
        for (versions, from, expected) in [
            (exact(&[11]), None, ">=2.11,<2.12"),
            (exact(&[9, 11]), None, ">=2.9,!=2.10.*,<2.12"),
            (exact(&[]), Some((2, 11)), ">=2.11"),
            (exact(&[7, 13]), Some((2, 9)), ">=2.7,!=2.8.*"),
        ] {
            assert_eq!(range_of(&versions, from).as_deref(), Some(expected));
        }
        assert_eq!(range_of(&[], None), None);
    }

    #[test]
    fn frameworks_are_read_from_names() {
        for (name, expected) in [
            ("torch-cuda", Some(WheelFramework::AnyTorch)),
            (
                "torch211-cxx11-cu130-x86_64-linux",
                Some(WheelFramework::Torch(2, 11)),
            ),
            (
                "torch213-metal-aarch64-darwin",
                Some(WheelFramework::Torch(2, 13)),
            ),
            (
                "torch-stable-abi29-cpu-x86_64-linux",
                Some(WheelFramework::StableAbi(2, 9)),
            ),
            (
                "tvm-ffi01-cpu-x86_64-linux",
                Some(WheelFramework::TvmFfi(0, 1)),
            ),
            ("other", None),
            ("torch-", None),
            ("jax04-cpu-x86_64-linux", None),
        ] {
            assert_eq!(WheelFramework::read(name), expected, "{name}");
        }
    }
}
