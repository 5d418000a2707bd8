//! Checks of a section that depend on its backend: its own keys and its dependencies.

use std::collections::BTreeSet;
use std::str::FromStr;

use super::capability::Capability;
use super::check::Check;
use super::{Backend, CudaToolkits, Dependency, KnownDependency, SectionBackend, Target};
use crate::manifest::section::WrittenBackend;
use crate::manifest::v5::BuildToml;
use crate::manifest::{List, Spanned};
use crate::problem::{Problem, Severity, code, suggest};
use crate::version::Version;
use crate::words::rocm_arch::{self, RocmArch, UnknownArch};

impl Check<'_> {
    /// The backend with the keys that only its sections have.
    pub fn section_backend(
        &mut self,
        written: &WrittenBackend,
        name: &str,
        file: &BuildToml,
    ) -> SectionBackend {
        match written {
            WrittenBackend::Cpu => SectionBackend::Cpu,
            WrittenBackend::Metal => SectionBackend::Metal,
            WrittenBackend::Cuda {
                capabilities,
                flags,
                minver,
            } => {
                self.check_minver(minver.as_ref(), file.general.cuda.maxver.as_ref());
                SectionBackend::Cuda {
                    targets: vec![Target {
                        section: name.to_owned(),
                        archs: self.capabilities(capabilities.as_ref()),
                        minver: self.minor(minver.as_ref()),
                    }],
                    flags: self.flags(flags.as_ref()),
                }
            }
            WrittenBackend::Rocm { archs, flags } => SectionBackend::Rocm {
                targets: vec![Target {
                    section: name.to_owned(),
                    archs: self.rocm_archs(archs.as_ref()),
                    minver: None,
                }],
                flags: self.flags(flags.as_ref()),
            },
            WrittenBackend::Xpu { flags } => SectionBackend::Xpu {
                flags: self.flags(flags.as_ref()),
            },
        }
    }

    /// A section that needs a newer toolkit than the kernel is built with is never compiled.
    fn check_minver(
        &mut self,
        minver: Option<&Spanned<Version>>,
        maxver: Option<&Spanned<Version>>,
    ) {
        let Some((min, max)) = minver.zip(maxver) else {
            return;
        };
        if min.value > max.value {
            self.report(
                Problem::warning(
                    code::SECTION_OUT_OF_REACH,
                    &min.place,
                    format!(
                        "the section is never compiled: the newest CUDA of this kernel is {}",
                        max.value
                    ),
                )
                .label("above the maximum")
                .related(&max.place, "the maximum")
                .help("lower `cuda-minver`, raise `general.cuda.maxver`, or remove the section"),
            );
        }
    }

    /// NVIDIA capabilities that at least one toolkit compiles for.
    pub fn capabilities(&mut self, list: Option<&List<String>>) -> Vec<Capability> {
        let toolkits = self.toolkits;
        let known = toolkits.capabilities();
        let is_known = |capability: &Capability| {
            known.contains(&Capability {
                ptx: false,
                ..*capability
            })
        };
        self.known_gpus(list, is_known, |written| {
            unknown_capability(written, toolkits)
        })
    }

    /// AMD architectures.
    pub fn rocm_archs(&mut self, list: Option<&List<String>>) -> Vec<RocmArch> {
        self.known_gpus(list, |_| true, unknown_architecture)
    }

    /// GPUs of a list, sorted, without unknown ones. A list without any known GPU is an error.
    /// Otherwise an unknown name that has the form of a GPU's is left out with a warning, since
    /// only owners of that GPU miss it. In a file older than edition 5, so is any other text.
    fn known_gpus<Arch: FromStr + Ord>(
        &mut self,
        list: Option<&List<String>>,
        is_known: impl Fn(&Arch) -> bool,
        unknown: impl Fn(&Spanned<String>) -> UnknownGpu,
    ) -> Vec<Arch> {
        let mut found = BTreeSet::new();
        let mut others = Vec::new();
        for written in list.map_or(&[][..], |list| &list.value) {
            match written.value.parse().ok().filter(&is_known) {
                Some(arch) => self.warn_if_repeated(found.insert(arch), written),
                None => others.push(unknown(written)),
            }
        }
        for UnknownGpu {
            mut problem,
            is_name,
        } in others
        {
            if !found.is_empty() && (is_name || self.older) {
                problem.severity = Severity::Warning;
                problem.label = "not compiled for".to_owned();
            }
            self.report(problem);
        }
        self.report_empty(list);
        found.into_iter().collect()
    }

    /// An empty list of GPUs reads like "none", and means "the usual ones".
    fn report_empty(&mut self, list: Option<&List<String>>) {
        let Some(list) = list else {
            return;
        };
        if list.value.is_empty() && !self.is_blamed(&list.place.key) {
            let message = format!(
                "`{}` is empty, which stands for the usual GPUs",
                list.place.key
            );
            self.report(
                Problem::warning(code::NO_EFFECT, &list.place, message)
                    .label("as if it was not there")
                    .help("remove it, or list the GPUs that are meant"),
            );
        }
    }

    /// Libraries that sections of a backend can compile against.
    pub fn depends(
        &mut self,
        list: Option<&List<Dependency>>,
        backend: Backend,
        file: &BuildToml,
    ) -> BTreeSet<Dependency> {
        let list: &[_] = list.map_or(&[], |list| &list.value);
        let mut found = BTreeSet::new();
        let mut cutlass: Option<&Spanned<Dependency>> = None;
        for written in list {
            let Spanned { value, place } = written;
            self.warn_if_repeated(found.insert(value.clone()), written);
            let owner = match value {
                Dependency::Known(KnownDependency::Torch) => continue,
                Dependency::Known(KnownDependency::SyclTla) => Backend::Xpu,
                Dependency::Known(KnownDependency::MetalCpp) => Backend::Metal,
                Dependency::Known(_) => Backend::Cuda,
                Dependency::Own(name) => {
                    self.own_dependency(name, place, file);
                    continue;
                }
            };
            if owner != backend {
                let message =
                    format!("`{value}` is for {owner} sections, this one is for {backend}");
                self.report(
                    Problem::error(code::DEPENDENCY, place, message)
                        .label("cannot be used here")
                        .help("remove it, or move it to a section of that backend"),
                );
            } else if owner == Backend::Cuda {
                match cutlass {
                    Some(first) if first.value != *value => {
                        let message = format!("`{value}` and `{}` exclude each other", first.value);
                        self.report(
                            Problem::error(code::DEPENDENCY, place, message)
                                .label("another release of the same headers")
                                .related(&first.place, "first one")
                                .help("keep one of the two"),
                        );
                    }
                    _ => cutlass = Some(written),
                }
            }
        }
        found
    }
}

/// A GPU that no toolkit knows.
struct UnknownGpu {
    problem: Problem,
    /// Whether the text has the form of a GPU's name.
    is_name: bool,
}

fn unknown_architecture(written: &Spanned<String>) -> UnknownGpu {
    let error = UnknownArch(written.value.clone());
    let digits = written.value.strip_prefix("gfx").unwrap_or_default();
    let hex = |c: char| c.is_ascii_digit() || matches!(c, 'a'..='f');
    UnknownGpu {
        problem: Problem::error(code::ROCM_ARCH, &written.place, error.to_string())
            .label("not a known architecture")
            .help(suggest::suggest(&written.value, rocm_arch::KNOWN)),
        is_name: matches!(digits.len(), 3 | 4) && digits.chars().all(hex),
    }
}

/// The fault of a capability, and the toolkits that know the capability that was meant.
fn unknown_capability(written: &Spanned<String>, toolkits: &CudaToolkits) -> UnknownGpu {
    let known = toolkits.capabilities();
    let names: Vec<String> = known.iter().map(ToString::to_string).collect();
    let version = written.value.parse::<Version>();
    let toolkit = version.is_ok_and(|version| toolkits.has(&version));
    let near = nearest_capability(&written.value, &known).filter(|_| !toolkit);
    let near = near.and_then(|near| Some((near, toolkits.compiling_for(&near)?)));
    let help = match near {
        Some((near, compiling)) => format!(
            "did you mean `{near}`, which {compiling} compiles for? Known are: {}",
            names.join(", ")
        ),
        None if toolkit => format!(
            "{} is the version of a CUDA toolkit, not the capability of a GPU: `cuda-minver` and `general.cuda` take it. Known are: {}",
            written.value,
            names.join(", ")
        ),
        None => format!("known are: {}", names.join(", ")),
    };
    let message = format!(
        "no CUDA toolkit knows the GPU capability `{}`",
        written.value
    );
    UnknownGpu {
        problem: Problem::error(code::CAPABILITY, &written.place, message)
            .label("not a known capability")
            .help(help),
        is_name: written.value.parse::<Capability>().is_ok(),
    }
}

/// The capability of the nearest GPU; for a text that is no capability, the one with the nearest
/// name.
fn nearest_capability(text: &str, known: &BTreeSet<Capability>) -> Option<Capability> {
    if let Ok(meant) = text.parse::<Capability>() {
        let number = |c: &Capability| (c.major * 10 + c.minor).cast_signed();
        let distance = |c: &&Capability| (number(c) - number(&meant)).abs();
        return known.iter().min_by_key(distance).copied();
    }
    if let Some(capability) = parse_compiler_name(text)
        && known.contains(&capability)
    {
        return Some(capability);
    }
    let names: Vec<String> = known.iter().map(ToString::to_string).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    suggest::nearest(text.strip_suffix("+PTX").unwrap_or(text), &names)?
        .parse()
        .ok()
}

/// The capability that compilers call `sm_90a`, `compute_90a` or `90a`.
fn parse_compiler_name(text: &str) -> Option<Capability> {
    let prefixes = ["sm_", "compute_"].into_iter();
    let bare = prefixes.fold(text, |text, prefix| {
        text.strip_prefix(prefix).unwrap_or(text)
    });
    let digits = bare.trim_end_matches(['a', 'f']);
    let (major, minor) = digits.split_at_checked(digits.len().checked_sub(1)?)?;
    let feature = &bare[digits.len()..];
    format!("{major}.{minor}{feature}").parse().ok()
}
