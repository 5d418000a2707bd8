//! Reads a wheel's own metadata: the releases that it requires, and the flags that a torch wheel
//! asks of extensions.

use std::collections::{BTreeMap, BTreeSet};
use std::str::FromStr;

use pep440_rs::VersionSpecifiers;

use super::super::error::IndexError;
use super::wheel::normalized;
use crate::matrix::CxxAbi;
use crate::pins::requirement::read_requirement;
use crate::version::Version;

/// Members of a torch wheel that `TorchWheel` is read from, as patterns.
pub const TORCH_MEMBERS: [&str; 4] = [
    "torch/version.py",
    "torch-*.dist-info/METADATA",
    "torch/share/cmake/Torch/TorchConfig.cmake",
    "torch/share/cmake/Caffe2/Caffe2Targets.cmake",
];

/// The facts that a torch wheel states.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TorchWheel {
    /// The CUDA that it was built with, major and minor; `None` for a wheel without CUDA.
    pub cuda: Option<String>,
    /// The release of cuda-toolkit that it requires, if it names one.
    pub toolkit: Option<String>,
    /// The project and the version of the CUDA runtime that it requires, which older releases name
    /// instead.
    pub cudart: Option<(String, String)>,
    pub cxx_abi: CxxAbi,
    /// The C++ standard of its headers.
    pub cxx: u32,
    /// The compile definitions of its C++ libraries.
    pub defines: BTreeSet<String>,
    /// The further compile definitions of its CUDA libraries.
    pub cuda_defines: BTreeSet<String>,
}

impl TorchWheel {
    /// Reads the members that `TORCH_MEMBERS` names.
    ///
    /// # Errors
    /// `IndexError::NoMember` and `IndexError::UnknownFacts` for members that lack a fact.
    pub fn read(members: &BTreeMap<String, String>) -> Result<Self, IndexError> {
        let member = |end: &str| {
            let mut found = members.iter().filter(|(name, _)| name.ends_with(end));
            found
                .next()
                .map(|(_, text)| text.as_str())
                .ok_or_else(|| IndexError::NoMember {
                    member: end.to_owned(),
                })
        };
        let config = member("TorchConfig.cmake")?;
        let targets = member("Caffe2Targets.cmake")?;
        let requirements = requirements(member("/METADATA")?);
        let exact = |project: &str| {
            let specifiers = requirements.get(project)?;
            specifiers.strip_prefix("==").map(str::to_owned)
        };
        let cuda = cuda(member("torch/version.py")?);
        let major = cuda.as_ref().and_then(|cuda| cuda.split('.').next());
        let cudart = major.map(|major| format!("nvidia-cuda-runtime-cu{major}"));
        Ok(Self {
            toolkit: exact(super::spec::CUDA_TOOLKIT),
            cudart: cudart.and_then(|project| Some((project.clone(), exact(&project)?))),
            cxx_abi: cxx_abi(config),
            cuda,
            cxx: [config, targets]
                .into_iter()
                .filter_map(standard)
                .max()
                .ok_or(IndexError::UnknownFacts(
                    "TorchConfig.cmake names no C++ standard",
                ))?,
            defines: definitions(targets, "torch_cpu").ok_or(IndexError::UnknownFacts(
                "Caffe2Targets.cmake has no definitions of torch_cpu",
            ))?,
            cuda_defines: definitions(targets, "torch_cuda").unwrap_or_default(),
        })
    }
}

/// The version specifiers of the projects that a wheel requires, by normalized name; the first if
/// there are several.
pub fn requirements(metadata: &str) -> BTreeMap<String, String> {
    // An empty line ends the headers.
    let headers = metadata.lines().take_while(|line| !line.is_empty());
    let mut found = BTreeMap::new();
    for requirement in headers.filter_map(|line| line.strip_prefix("Requires-Dist:")) {
        let requirement = read_requirement(requirement);
        if VersionSpecifiers::from_str(requirement.versions).is_ok() {
            let first = found.entry(normalized(requirement.name));
            first.or_insert_with(|| requirement.versions.to_owned());
        }
    }
    found
}

/// The CUDA of version.py, major and minor: `cuda: Optional[str] = '13.0'`.
fn cuda(version: &str) -> Option<String> {
    let line = version.lines().find(|line| line.starts_with("cuda"))?;
    let (_, value) = line.split_once('=')?;
    let version: Version = value.trim().trim_matches(['\'', '"']).parse().ok()?;
    Some(version.minor_release().to_string())
}

/// The C++ ABI that TorchConfig.cmake asks of extensions; releases with one ABI do not say.
fn cxx_abi(config: &str) -> CxxAbi {
    match config.contains("-D_GLIBCXX_USE_CXX11_ABI=0") {
        true => CxxAbi::Cxx98,
        false => CxxAbi::Cxx11,
    }
}

/// The newest C++ standard that CMake code asks for: `CXX_STANDARD 20`, `cxx_std_20`.
fn standard(cmake: &str) -> Option<u32> {
    let after = |words: &'static str| {
        cmake
            .match_indices(words)
            .map(move |(at, _)| at + words.len())
    };
    let numbers = after("CXX_STANDARD ")
        .chain(after("cxx_std_"))
        .filter_map(|at| {
            let digits = cmake[at..].split(|c: char| !c.is_ascii_digit()).next()?;
            digits.parse().ok()
        });
    numbers.max()
}

/// The INTERFACE_COMPILE_DEFINITIONS of a CMake target.
fn definitions(targets: &str, target: &str) -> Option<BTreeSet<String>> {
    let (_, properties) =
        targets.split_once(&format!("set_target_properties({target} PROPERTIES"))?;
    let (properties, _) = properties.split_once("\n)")?;
    let (_, value) = properties.split_once("INTERFACE_COMPILE_DEFINITIONS \"")?;
    let (value, _) = value.split_once('"')?;
    Some(value.split(';').map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TARGETS: &str = "\
set_target_properties(torch_cpu PROPERTIES\n  INTERFACE_COMPILE_DEFINITIONS \"USE_RPC;USE_C10D_GLOO\"\n  \
INTERFACE_COMPILE_OPTIONS \"-x\"\n)\nset_target_properties(torch_cpu_library PROPERTIES\n  \
INTERFACE_COMPILE_DEFINITIONS \"other\"\n)\n";

    fn members(cuda: &str) -> BTreeMap<String, String> {
        let metadata = "Name: torch\nRequires-Dist: cuda-toolkit[cublas,cudart]==13.0.3; \
                        platform_system == \"Linux\"\nRequires-Dist: filelock\n\nRequires-Dist: prose==1\n";
        [
            (
                "torch/version.py",
                format!("debug = False\ncuda: Optional[str] = {cuda}\nhip = None\n"),
            ),
            ("torch-9.9.0.dist-info/METADATA", metadata.to_owned()),
            (
                "torch/share/cmake/Torch/TorchConfig.cmake",
                "set_property(TARGET torch PROPERTY CXX_STANDARD 20)".to_owned(),
            ),
            (
                "torch/share/cmake/Caffe2/Caffe2Targets.cmake",
                TARGETS.to_owned(),
            ),
        ]
        .map(|(name, text)| (name.to_owned(), text))
        .into()
    }

    #[test]
    fn a_torch_wheel_tells_its_flags_for_extensions() {
        let torch = TorchWheel::read(&members("'13.0'")).expect("all members");
        assert_eq!(torch.cuda.as_deref(), Some("13.0"));
        assert_eq!(torch.toolkit.as_deref(), Some("13.0.3"));
        assert_eq!((torch.cudart, torch.cxx_abi), (None, CxxAbi::Cxx11));
        assert_eq!(torch.cxx, 20);
        assert_eq!(
            torch.defines.into_iter().collect::<Vec<_>>(),
            ["USE_C10D_GLOO", "USE_RPC"]
        );
        assert!(torch.cuda_defines.is_empty());
        assert_eq!(
            TorchWheel::read(&members("None"))
                .expect("all members")
                .cuda,
            None
        );
    }

    #[test]
    fn an_older_torch_wheel_tells_the_cuda_runtime_and_the_abi() {
        let mut older = members("'12.4'");
        older.insert(
            "torch-9.9.0.dist-info/METADATA".to_owned(),
            "Requires-Dist: nvidia-cuda-runtime-cu12 (==12.4.127) ; platform_system == \"Linux\"\n"
                .to_owned(),
        );
        let config = "torch/share/cmake/Torch/TorchConfig.cmake";
        let flags = "  set(TORCH_CXX_FLAGS \"-D_GLIBCXX_USE_CXX11_ABI=0\")\n";
        older.get_mut(config).expect("the file").push_str(flags);
        let torch = TorchWheel::read(&older).expect("all members");
        let cudart = ("nvidia-cuda-runtime-cu12".to_owned(), "12.4.127".to_owned());
        assert_eq!(torch.cudart, Some(cudart));
        assert_eq!(torch.toolkit, None);
        assert_eq!(torch.cxx_abi, CxxAbi::Cxx98);
    }

    #[test]
    fn facts_that_a_wheel_lacks_are_named() {
        let mut without = members("None");
        without.remove("torch/version.py");
        assert_eq!(
            TorchWheel::read(&without).map_err(|error| error.to_string()),
            Err("no torch/version.py in it".to_owned())
        );
    }

    #[test]
    fn requirements_have_specifiers() {
        let metadata = "Requires-Dist: A_b (>=1,<2)\nRequires-Dist: c==1.2.*; extra == 'all'\nRequires-Dist: d\n";
        let found = requirements(metadata);
        assert_eq!(found["a-b"], ">=1,<2");
        assert_eq!(found["c"], "==1.2.*");
        assert_eq!(found["d"], "");
    }
}
