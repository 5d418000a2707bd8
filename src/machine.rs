//! The facts of this machine that decide which variant suits it: its Python's torch and its GPU.
//! Builds do not depend on them.

use std::process::{Command, Stdio};

use crate::kernel::Backend;
use crate::matrix::{Rank, Variant, VariantKind};
use crate::version::Version;

/// The facts that were found.
#[derive(Clone, Debug, Default)]
pub struct ThisMachine {
    /// Version of the torch of the `python3` on the PATH.
    pub torch: Option<Version>,
    /// The newest CUDA that the NVIDIA driver runs.
    pub cuda: Option<Version>,
    /// Whether there is an AMD GPU for computing.
    pub rocm: bool,
}

impl ThisMachine {
    /// Looks for torch and GPUs; a fact that cannot be found out counts as absent.
    pub fn find() -> Self {
        let torch = program_output(
            "python3",
            &[
                "-c",
                "from importlib.metadata import version; print(version('torch').partition('+')[0])",
            ],
        );
        Self {
            torch: torch.and_then(|text| text.trim().parse().ok()),
            cuda: program_output("nvidia-smi", &[]).and_then(|text| cuda_version(&text)),
            rocm: std::path::Path::new("/dev/kfd").exists(),
        }
    }

    /// The variant that suits this machine best, and why, in words. `None` if there are no
    /// variants.
    pub fn choose<'a>(&self, variants: &[&'a Variant]) -> Option<(&'a Variant, String)> {
        let runs = |variant: &&&Variant| match (variant.backend, compute(variant)) {
            (Backend::Cuda, Some(toolkit)) => self
                .cuda
                .as_ref()
                .is_some_and(|driver| driver.major_minor().0 >= toolkit.major_minor().0),
            // A variant of Python alone runs with any CUDA driver.
            (Backend::Cuda, None) => self.cuda.is_some(),
            (Backend::Rocm, _) => self.rocm,
            (Backend::Cpu, _) => true,
            (Backend::Metal, _) => cfg!(target_os = "macos"),
            _ => false,
        };
        let usable: Vec<&&Variant> = variants.iter().filter(runs).collect();
        let machine = match (&self.cuda, self.rocm) {
            (Some(cuda), _) => format!("this machine's NVIDIA driver runs CUDA {cuda}"),
            (None, true) => "this machine has an AMD GPU".to_owned(),
            (None, false) => "this machine has no GPU driver".to_owned(),
        };
        if usable.is_empty() {
            // A machine without a GPU still compiles for one, so no variant is left out here.
            let best = variants
                .iter()
                .min_by(|a, b| self.rank(a).cmp(&self.rank(b)))?;
            return Some((
                best,
                format!("{machine}, and every variant needs another: it can be built, not run"),
            ));
        }
        let best = usable
            .into_iter()
            .min_by(|a, b| self.rank(a).cmp(&self.rank(b)))?;
        let torch = match (&self.torch, torch(best)) {
            (_, None) => "it fits every torch".to_owned(),
            (Some(own), Some(torch)) if same_release(own, torch) => {
                format!("torch {own} is installed")
            }
            (Some(own), Some(torch)) => {
                format!("the installed torch {own} has no variant, {torch} is the newest that has")
            }
            (None, Some(torch)) => format!("torch {torch} is the newest"),
        };
        Some((best, format!("{machine}; {torch}")))
    }

    /// Whether the torch of this machine's Python loads a variant.
    pub fn has_torch_of(&self, variant: &Variant) -> bool {
        match (&self.torch, torch(variant)) {
            (_, None) => true,
            (None, Some(_)) => false,
            (Some(own), Some(torch)) => match &variant.kind {
                VariantKind::Compiled(compilation) if compilation.stable_abi.is_some() => {
                    compilation.stable_abi.as_ref() <= Some(own)
                }
                _ => same_release(own, torch),
            },
        }
    }

    /// The place of a variant on this machine; the smallest is the best: a GPU comes first, then
    /// the installed torch, then the variants' own order.
    fn rank<'a>(&self, variant: &'a Variant) -> (bool, bool, Rank<'a>) {
        let installed = match (&self.torch, torch(variant)) {
            (Some(own), Some(torch)) => same_release(own, torch),
            _ => false,
        };
        (variant.backend == Backend::Cpu, !installed, variant.rank())
    }
}

fn torch(variant: &Variant) -> Option<&Version> {
    variant.row()?.torch()
}

fn compute(variant: &Variant) -> Option<&Version> {
    variant.row()?.compute.as_ref()
}

/// Whether two versions are of one minor release: extensions fit every patch release of a torch.
fn same_release(a: &Version, b: &Version) -> bool {
    a.major_minor() == b.major_minor()
}

/// The CUDA version in the head of nvidia-smi's output: `| NVIDIA-SMI 580.65    Driver Version:
/// 580.65    CUDA Version: 13.0 |`.
fn cuda_version(text: &str) -> Option<Version> {
    let (_, rest) = text.split_once("CUDA Version:")?;
    rest.split_whitespace().next()?.parse().ok()
}

fn program_output(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .ok()?;
    output
        .status
        .success()
        .then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::*;
    use crate::matrix::{Compilation, CxxAbi, FrameworkRelease, Profile, Row, table};

    fn variants(builds: &[(&str, Backend, Option<&str>)]) -> Vec<Variant> {
        let version = |text: &str| text.parse::<Version>().expect("a version");
        let row = table().rows.first().expect("a row");
        let build = |(torch, backend, compute): &(&str, Backend, Option<&str>)| Variant {
            name: format!("torch{torch}-{}{}", backend.as_str(), compute.unwrap_or("")),
            backend: *backend,
            bundle: true,
            kind: VariantKind::Compiled(Box::new(Compilation {
                row: Row {
                    release: FrameworkRelease::Torch {
                        version: version(torch),
                        cxx_abi: CxxAbi::Cxx11,
                    },
                    backend: *backend,
                    compute: compute.map(version),
                    ..row.clone()
                },
                stable_abi: None,
                header_families: BTreeSet::new(),
                header_archives: BTreeMap::new(),
            })),
        };
        builds.iter().map(build).collect()
    }

    fn chosen(machine: &ThisMachine) -> (String, String) {
        let variants = variants(&[
            ("2.10", Backend::Cpu, None),
            ("2.11", Backend::Cpu, None),
            ("2.10", Backend::Cuda, Some("12.6")),
            ("2.11", Backend::Cuda, Some("12.6")),
            ("2.11", Backend::Cuda, Some("13.0")),
        ]);
        let all: Vec<&Variant> = variants.iter().collect();
        let (variant, why) = machine.choose(&all).expect("a variant");
        (variant.name.clone(), why)
    }

    #[test]
    fn the_gpu_then_the_installed_torch_decide() {
        let version = |text: &str| text.parse::<Version>().ok();
        let (name, why) = chosen(&ThisMachine::default());
        assert_eq!(name, "torch2.11-cpu");
        assert_eq!(
            why,
            "this machine has no GPU driver; torch 2.11 is the newest"
        );

        let driver = ThisMachine {
            cuda: version("12.4"),
            ..ThisMachine::default()
        };
        assert_eq!(chosen(&driver).0, "torch2.11-cuda12.6");

        let (name, why) = chosen(&ThisMachine {
            torch: version("2.10.1"),
            ..driver
        });
        assert_eq!(name, "torch2.10-cuda12.6");
        assert_eq!(
            why,
            "this machine's NVIDIA driver runs CUDA 12.4; torch 2.10.1 is installed"
        );

        let (name, why) = chosen(&ThisMachine {
            torch: version("2.4"),
            ..ThisMachine::default()
        });
        assert_eq!(name, "torch2.11-cpu");
        assert!(
            why.ends_with("the installed torch 2.4 has no variant, 2.11 is the newest that has")
        );
    }

    /// A vendor's archives may be out of reach, and some toolkits have no pins at all.
    #[test]
    fn registry_rows_come_before_an_older_toolkit_of_a_vendor() {
        let mut variants = variants(&[
            ("2.7", Backend::Cuda, Some("11.8")),
            ("2.7", Backend::Cuda, Some("12.6")),
        ]);
        for variant in &mut variants {
            variant.bundle = false;
        }
        let VariantKind::Compiled(compilation) = &mut variants[0].kind else {
            panic!("a compiled variant");
        };
        compilation.row.profile = Profile::Vendor;
        let machine = ThisMachine {
            cuda: "13.0".parse().ok(),
            torch: "2.7.1".parse().ok(),
            rocm: false,
        };
        let all: Vec<&Variant> = variants.iter().collect();
        let (variant, _) = machine.choose(&all).expect("a variant");
        assert_eq!(variant.name, "torch2.7-cuda12.6");
    }

    #[test]
    fn a_kernel_for_gpus_is_chosen_without_one() {
        let variants = variants(&[("2.11", Backend::Cuda, Some("13.0"))]);
        let all: Vec<&Variant> = variants.iter().collect();
        let (_, why) = ThisMachine::default().choose(&all).expect("a variant");
        assert!(why.contains("it can be built, not run"), "{why}");
        assert!(ThisMachine::default().choose(&[]).is_none());
    }

    #[test]
    fn nvidia_smi_tells_the_cuda_version() {
        let text = "+---+\n| NVIDIA-SMI 580.65.06    Driver Version: 580.65.06    CUDA Version: 13.0     |\n";
        assert_eq!(cuda_version(text).expect("a version").as_str(), "13.0");
        assert!(cuda_version("no devices").is_none());
    }
}
