//! The variants that a machine loads, best first: the rules of the PyPI client (kernels 0.17.2,
//! `kernels.variants`) written once more on names alone. tests/client.rs compares them with the
//! client itself.

use std::cmp::Reverse;

use kernel_builder::kernel::Backend;
use kernel_builder::matrix::CxxAbi;
use kernel_builder::version::Version;

/// The oldest macOS that loads compiled Metal variants (`_METAL_MIN_MACOS_VERSION`).
const METAL_MACOS: &str = "26.0";

/// The facts of a machine that the client looks at before it loads a kernel.
#[derive(Clone, Debug)]
pub struct ClientMachine {
    /// Nix's name of the system, e.g. `x86_64-linux`.
    pub system: String,
    pub backend: Backend,
    /// Version of the backend's toolkit; for CUDA, the one that torch was built with.
    pub compute: Option<Version>,
    /// Major and minor of the installed torch.
    pub torch: Option<Version>,
    /// The C++ ABI of the installed torch; `None` where there is only one.
    pub cxx_abi: Option<CxxAbi>,
    /// Major and minor of the installed tvm-ffi.
    pub tvm_ffi: Option<Version>,
    pub macos: Option<Version>,
}

/// The parts of a variant's name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VariantName<'a> {
    Compiled {
        framework: NamedFramework,
        /// `cpu`, `cu130`, `rocm72`, ...
        compute: &'a str,
        /// Nix's name of the system.
        system: String,
    },
    /// Python alone: `torch-<backend>`, with the client's name of the backend, or `universal`.
    Noarch(&'a str),
}

/// The framework that a compiled variant was built against.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NamedFramework {
    StableTorch(Version),
    Torch {
        version: Version,
        /// The C++ ABI that the name has, if any.
        cxx_abi: Option<CxxAbi>,
    },
    TvmFfi(Version),
}

/// Reads a variant's name; `None` if the client would not read it.
pub fn read_name(name: &str) -> Option<VariantName<'_>> {
    if let Some(backend) = name.strip_prefix("torch-")
        && !name.starts_with("torch-stable-abi")
    {
        return Some(VariantName::Noarch(backend));
    }
    let mut parts: Vec<&str> = name.split('-').collect();
    let (os, cpu, compute) = (parts.pop()?, parts.pop()?, parts.pop()?);
    let framework = match parts[..] {
        ["torch", "stable", abi] => NamedFramework::StableTorch(digits(abi.strip_prefix("abi")?)?),
        ["tvm", ffi] => NamedFramework::TvmFfi(digits(ffi.strip_prefix("ffi")?)?),
        [torch, ref abi @ ..] => NamedFramework::Torch {
            version: digits(torch.strip_prefix("torch")?)?,
            cxx_abi: match abi {
                [] => None,
                ["cxx98"] => Some(CxxAbi::Cxx98),
                ["cxx11"] => Some(CxxAbi::Cxx11),
                _ => return None,
            },
        },
        _ => return None,
    };
    Some(VariantName::Compiled {
        framework,
        compute,
        system: format!("{cpu}-{os}"),
    })
}

/// `210` is 2.10: the first digit is the major version.
fn digits(text: &str) -> Option<Version> {
    let (major, minor) = text.split_at_checked(1)?;
    format!("{major}.{minor}").parse().ok()
}

/// Major and minor of a compute such as `cu128`: its last digit is the minor version.
fn toolkit<'a>(compute: &'a str, prefix: &str) -> Option<(&'a str, u64)> {
    let (major, minor) = compute
        .strip_prefix(prefix)?
        .split_at_checked(compute.len() - prefix.len() - 1)?;
    Some((major, minor.parse().ok()?))
}

/// The names that a machine loads, the preferred ones first; equals keep their order.
pub fn accepted_names<'a>(names: &[&'a str], machine: &ClientMachine) -> Vec<&'a str> {
    let mut ranked: Vec<_> = names
        .iter()
        .filter_map(|name| Some((rank(name, machine).ok()?, *name)))
        .collect();
    ranked.sort_by(|(a, _), (b, _)| a.cmp(b));
    ranked.into_iter().map(|(_, name)| name).collect()
}

/// Sorts the preferred before others: kind of framework, then what is better within it.
type Rank = (u8, Reverse<Option<Version>>, bool, Reverse<u64>);

/// A variant's place among those that a machine loads.
///
/// # Errors
/// Why the machine does not load it.
pub fn rank(name: &str, machine: &ClientMachine) -> Result<Rank, String> {
    let read = read_name(name).ok_or_else(|| format!("{name} is not the name of a variant"))?;
    let (framework, compute, system) = match read {
        VariantName::Noarch(backend) => return rank_noarch(backend, machine),
        VariantName::Compiled {
            framework,
            compute,
            system,
        } => (framework, compute, system),
    };
    if system != machine.system {
        return Err(format!("it is for {system}, this is {}", machine.system));
    }
    let has = |installed: &Option<Version>| match installed {
        Some(version) => format!("{version} is installed"),
        None => "none is installed".to_owned(),
    };
    let (kind, newest, tagged) = match framework {
        NamedFramework::StableTorch(abi) => {
            if machine.torch.as_ref().is_none_or(|torch| &abi > torch) {
                return Err(format!(
                    "it needs torch {abi} or newer; {}",
                    has(&machine.torch)
                ));
            }
            (0, Some(abi), false)
        }
        NamedFramework::Torch { version, cxx_abi } => {
            if machine.torch.as_ref() != Some(&version) {
                return Err(format!("it needs torch {version}; {}", has(&machine.torch)));
            }
            if cxx_abi.is_some() && cxx_abi != machine.cxx_abi {
                return Err(match machine.cxx_abi {
                    Some(own) => format!("it has another C++ ABI than the installed torch, {own}"),
                    None => format!("{} has one C++ ABI only", machine.system),
                });
            }
            (1, None, cxx_abi.is_some())
        }
        NamedFramework::TvmFfi(version) => {
            if machine.tvm_ffi.as_ref() != Some(&version) {
                return Err(format!(
                    "it needs tvm-ffi {version}; {}",
                    has(&machine.tvm_ffi)
                ));
            }
            (2, None, false)
        }
    };
    let minor = rank_compute(compute, machine)?;
    Ok((kind, Reverse(newest), tagged, Reverse(minor)))
}

fn rank_noarch(backend: &str, machine: &ClientMachine) -> Result<Rank, String> {
    let wanted = match machine.backend {
        Backend::Cann => "npu",
        backend => backend.as_str(),
    };
    let universal = backend == "universal";
    if backend != wanted && !universal {
        return Err(format!("it is for {backend}, this machine has {wanted}"));
    }
    // NB: beside tvm-ffi, as the client has it.
    Ok((
        if universal { 3 } else { 2 },
        Reverse(None),
        false,
        Reverse(0),
    ))
}

/// The minor version of the toolkit, where newer ones are preferred.
fn rank_compute(compute: &str, machine: &ClientMachine) -> Result<u64, String> {
    let own = own_compute(machine);
    let differs = || Err(format!("it is for {compute}, this machine has {own}"));
    if machine.backend == Backend::Cuda && compute.starts_with("cu") {
        // Within a major version, an older toolkit's code runs with a newer one.
        return match (toolkit(compute, "cu"), toolkit(&own, "cu")) {
            (Some((major, minor)), Some((own_major, own_minor)))
                if major == own_major && minor <= own_minor =>
            {
                Ok(minor)
            }
            _ => differs(),
        };
    }
    if compute != own {
        return differs();
    }
    let oldest: Version = METAL_MACOS.parse().map_err(|error| format!("{error}"))?;
    if machine.backend == Backend::Metal
        && machine.macos.as_ref().is_none_or(|macos| macos < &oldest)
    {
        return Err(format!("it needs macOS {oldest} or newer"));
    }
    Ok(0)
}

/// The machine's own compute as names have it.
fn own_compute(machine: &ClientMachine) -> String {
    match &machine.compute {
        Some(version) => {
            let prefix = match machine.backend {
                Backend::Cuda => "cu",
                backend => backend.as_str(),
            };
            let (major, minor) = version.major_minor();
            format!("{prefix}{major}{minor}")
        }
        None => machine.backend.as_str().to_owned(),
    }
}
