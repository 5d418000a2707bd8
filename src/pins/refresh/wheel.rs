//! Chooses a project's wheel for a version and a system, or its source distribution of a version.
//! File names follow PEP 427, PEP 425 and PEP 625, versions PEP 440.

use std::str::FromStr;

use pep440_rs::{Version, VersionSpecifiers};

use super::super::simple::ListedFile;

/// A wheel, or a source distribution, among a project's files.
#[derive(Clone, Debug)]
pub struct FoundWheel<'a> {
    pub listed: &'a ListedFile,
    pub version: Version,
}

/// The newest wheel for a system that fits some specifiers; `None` allows any release. `python` is
/// the tag of the Python version to take where a project has wheels of several.
pub fn newest<'a>(
    files: &'a [ListedFile],
    specifiers: Option<&VersionSpecifiers>,
    system: &str,
    python: &str,
) -> Option<FoundWheel<'a>> {
    let wheels = files.iter().filter(|listed| listed.yanked.is_none());
    let wheels = wheels.filter_map(|listed| {
        let name = WheelName::parse(&listed.file)?;
        let wheel = FoundWheel {
            listed,
            version: Version::from_str(name.version).ok()?,
        };
        (name.is_for(system, python) && fits(specifiers, &wheel.version)).then_some(wheel)
    });
    // The wheel with most platform tags wins among those of one version: publishers add the tags
    // that older tools know. Then the name decides, so that the answer does not depend on the
    // page's order.
    let rank = |wheel: &FoundWheel<'_>| {
        let file = wheel.listed.file.clone();
        (
            wheel.version.clone(),
            file.matches("manylinux").count(),
            file,
        )
    };
    wheels.max_by_key(rank)
}

/// The newest source distribution that fits some specifiers.
pub fn newest_sdist<'a>(
    files: &'a [ListedFile],
    specifiers: Option<&VersionSpecifiers>,
) -> Option<FoundWheel<'a>> {
    let sdists = files.iter().filter(|listed| listed.yanked.is_none());
    let sdists = sdists.filter_map(|listed| {
        let (_, version) = listed.file.strip_suffix(".tar.gz")?.rsplit_once('-')?;
        let version = Version::from_str(version).ok()?;
        fits(specifiers, &version).then_some(FoundWheel { listed, version })
    });
    sdists.max_by(|a, b| a.version.cmp(&b.version))
}

/// Whether a version is among those that some specifiers allow; `None` allows every one that is no
/// pre-release.
fn fits(specifiers: Option<&VersionSpecifiers>, version: &Version) -> bool {
    match specifiers {
        Some(specifiers) => specifiers.contains(version),
        None => !version.any_prerelease(),
    }
}

/// The newest version that any wheel of a project has.
pub fn newest_version(files: &[ListedFile]) -> Option<Version> {
    versions(files).max()
}

/// The versions of a project's wheels, without pre-releases.
pub fn versions(files: &[ListedFile]) -> impl Iterator<Item = Version> {
    let names = files
        .iter()
        .filter_map(|listed| WheelName::parse(&listed.file));
    let versions = names.filter_map(|name| Version::from_str(name.version).ok());
    versions.filter(|version| !version.any_prerelease())
}

/// A project's name as indexes know it (PEP 503).
pub fn normalized(name: &str) -> String {
    let words = name.split(['-', '_', '.']).filter(|word| !word.is_empty());
    words
        .map(str::to_ascii_lowercase)
        .collect::<Vec<_>>()
        .join("-")
}

/// The parts of a wheel's file name.
struct WheelName<'a> {
    version: &'a str,
    python: &'a str,
    platform: &'a str,
}

impl<'a> WheelName<'a> {
    fn parse(file: &'a str) -> Option<Self> {
        let mut parts = file.strip_suffix(".whl")?.split('-');
        let (_, version) = (parts.next()?, parts.next()?);
        // A build number may stand between version and tags.
        let mut tags = parts.rev();
        let (platform, _, python) = (tags.next()?, tags.next()?, tags.next()?);
        Some(Self {
            version,
            python,
            platform,
        })
    }

    fn is_for(&self, system: &str, python: &str) -> bool {
        let of_python = |tag: &str| tag == python || tag == "py3";
        let of_system = |tag: &str| match (system, tag) {
            (_, "any") => true,
            ("x86_64-linux", tag) => tag.starts_with("manylinux") && tag.ends_with("_x86_64"),
            ("aarch64-linux", tag) => tag.starts_with("manylinux") && tag.ends_with("_aarch64"),
            ("aarch64-darwin", tag) => {
                tag.starts_with("macosx_")
                    && (tag.ends_with("_arm64") || tag.ends_with("_universal2"))
            }
            _ => false,
        };
        self.python.split('.').any(of_python) && self.platform.split('.').any(of_system)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(files: &[&str]) -> Vec<ListedFile> {
        let one = |file: &&str| ListedFile {
            file: (*file).to_owned(),
            url: String::new(),
            sha256: None,
            yanked: file.contains("9.9").then(String::new),
        };
        files.iter().map(one).collect()
    }

    fn file(files: &[ListedFile], specifiers: &str, system: &str) -> Option<String> {
        let specifiers = VersionSpecifiers::from_str(specifiers).expect("specifiers");
        let specifiers = (!specifiers.is_empty()).then_some(&specifiers);
        newest(files, specifiers, system, "cp311").map(|wheel| wheel.listed.file.clone())
    }

    #[test]
    fn system_python_and_version_choose_a_wheel() {
        let torch = listed(&[
            "torch-2.7.1-cp311-cp311-win_amd64.whl",
            "torch-2.7.1-cp311-cp311-manylinux_2_28_aarch64.whl",
            "torch-2.7.1-cp311-none-macosx_11_0_arm64.whl",
            "torch-2.7.1-cp311-cp311-manylinux_2_28_x86_64.whl",
            "torch-2.7.1-cp312-cp312-manylinux_2_28_x86_64.whl",
            "torch-2.10.0-cp311-cp311-manylinux_2_28_x86_64.whl",
            "torch-2.11.0rc1-cp311-cp311-manylinux_2_28_x86_64.whl",
            "torch-9.9-cp311-cp311-manylinux_2_28_x86_64.whl",
        ]);
        let found = |specifiers, system| file(&torch, specifiers, system).unwrap_or_default();
        assert_eq!(found("==2.7.1", "x86_64-linux"), torch[3].file);
        assert_eq!(found("==2.7.1", "aarch64-linux"), torch[1].file);
        assert_eq!(found("==2.7.1", "aarch64-darwin"), torch[2].file);
        // 2.10 is newer than 2.7; pre-releases and withdrawn files are left alone.
        assert_eq!(found("", "x86_64-linux"), torch[5].file);
        assert_eq!(found("==2.10.0", "aarch64-linux"), "");
    }

    #[test]
    fn wheels_with_several_platforms_and_of_any_python() {
        let files = listed(&[
            "nvidia_cuda_nvcc_cu12-12.6.85-py3-none-manylinux2014_aarch64.manylinux_2_17_aarch64.whl",
            "nvidia_cuda_nvcc_cu12-12.6.85-py3-none-manylinux1_x86_64.manylinux_2_5_x86_64.whl",
            "cuda_toolkit-12.6.3-py2.py3-none-any.whl",
        ]);
        let found = |specifiers, system| file(&files, specifiers, system).unwrap_or_default();
        assert_eq!(found("==12.6.85.*", "x86_64-linux"), files[1].file);
        assert_eq!(found("==12.6.85.*", "aarch64-linux"), files[0].file);
        assert_eq!(found("==12.6.3", "aarch64-linux"), files[2].file);
    }

    #[test]
    fn of_two_wheels_of_one_version_the_one_with_more_tags_is_taken() {
        let files = listed(&[
            "nvidia_cuda_runtime_cu12-12.6.77-py3-none-manylinux2014_x86_64.whl",
            "nvidia_cuda_runtime_cu12-12.6.77-py3-none-manylinux2014_x86_64.manylinux_2_17_x86_64.whl",
        ]);
        assert_eq!(
            file(&files, "==12.6.77.*", "x86_64-linux").as_ref(),
            Some(&files[1].file)
        );
    }

    #[test]
    fn source_distributions_are_chosen_by_version() {
        let files = listed(&[
            "a_b-0.2.7.tar.gz",
            "a_b-0.2.8rc1.tar.gz",
            "a_b-0.2.8-py3-none-any.whl",
            "a_b-0.2.10.tar.gz",
            "a_b-9.9.tar.gz",
        ]);
        let found = |specifiers: &str| {
            let specifiers = VersionSpecifiers::from_str(specifiers).expect("specifiers");
            let specifiers = (!specifiers.is_empty()).then_some(&specifiers);
            newest_sdist(&files, specifiers).map(|sdist| sdist.listed.file.clone())
        };
        assert_eq!(found("==0.2.7").as_ref(), Some(&files[0].file));
        assert_eq!(found("").as_ref(), Some(&files[3].file));
        assert_eq!(found("==0.2.8"), None);
    }

    #[test]
    fn project_names_are_normalized() {
        assert_eq!(normalized("NVIDIA_cuda.nvcc"), "nvidia-cuda-nvcc");
    }
}
