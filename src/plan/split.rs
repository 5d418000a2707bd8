//! The split of CUDA units by architecture: each part is compiled by itself, so that the parts
//! compile side by side and a new architecture compiles alone. nix/kernel/join.sh makes one object
//! of the parts.
//!
//! A unit is split if it has several architectures, and no flag of its `cuda-flags` has an effect
//! beyond one architecture ([`FlagReach`]). Text and flags do not tell everything. The build
//! notices parts that do not fit together, discards them and compiles the unit whole.
//! docs/measurements has the cost of splitting.

use std::collections::BTreeSet;

use super::flags::{self, ArchFlags};
use super::{DeviceArch, Driver, Split};
use crate::matrix::nvcc::{self, FlagReach, NvccArgument};
use crate::scan::ARCH_LIST;

/// The parts of units with these flags of their own; `None` if the units stay whole. `depends` says
/// whether the set of their kernels may depend on the architecture.
pub(super) fn split(
    driver: Driver,
    own_flags: &[String],
    archs: &[DeviceArch],
    depends: bool,
) -> Option<Split> {
    if !matches!(driver, Driver::Nvcc | Driver::Clang) {
        return None;
    }
    let fatbinary = flags_for_fatbinary(driver, own_flags)?;
    let part = |arch| ArchFlags {
        number: None,
        ..flags::architecture(driver, arch)
    };
    let parts: Vec<ArchFlags> = archs.iter().map(part).collect();
    let different: BTreeSet<&str> = parts.iter().map(|part| part.sm.as_str()).collect();
    if different.len() < 2 || different.len() < parts.len() {
        return None;
    }
    // NB: nvcc's host code knows the kernels of one architecture. In a whole unit, it is the last
    // one. If all architectures have the same kernels, the host part takes the first, so that a
    // newer one compiles alone. clang's host code is the same for each architecture.
    let host = match driver {
        Driver::Nvcc if depends => parts.last(),
        _ => parts.first(),
    };
    Some(Split {
        host: host?.sm.clone(),
        archs: parts,
        fatbinary,
        arch_list: None,
    })
}

/// The value that compilers give `__CUDA_ARCH_LIST__` in a unit that is compiled for all of its
/// architectures at once. CUB and Thrust put it into the names of their kernels, so device and host
/// code must agree on it.
pub(super) fn arch_list(archs: &[DeviceArch]) -> String {
    let number = |arch| flags::architecture(Driver::Nvcc, arch).number;
    let numbers: BTreeSet<u32> = archs.iter().filter_map(number).collect();
    let numbers: Vec<String> = numbers.iter().map(ToString::to_string).collect();
    numbers.join(",")
}

/// The options of fatbinary that the flags of build.toml ask for. `None` if a flag may have an
/// effect beyond one architecture, so that the unit is compiled whole.
pub fn flags_for_fatbinary(driver: Driver, own_flags: &[String]) -> Option<Vec<String>> {
    match driver {
        Driver::Clang => fatbinary_of_clang(own_flags),
        _ => fatbinary_of_nvcc(own_flags),
    }
}

fn fatbinary_of_nvcc(own_flags: &[String]) -> Option<Vec<String>> {
    let mut options = Vec::new();
    for argument in nvcc::arguments(own_flags) {
        match argument {
            NvccArgument::Known { value, .. } if value.contains(ARCH_LIST) => return None,
            NvccArgument::Known { flag, value, .. } => match flag.reach {
                FlagReach::Architecture => {}
                FlagReach::Fatbinary(option) => {
                    let option = option.replace("{}", value);
                    options.extend(option.split(',').map(str::to_owned));
                }
                FlagReach::Unit => return None,
            },
            NvccArgument::Common(words) => {
                if words.iter().any(|word| word.contains(ARCH_LIST)) {
                    return None;
                }
            }
            NvccArgument::Host(flag) => {
                if UNLIKE_HOST.iter().any(|prefix| flag.starts_with(prefix)) {
                    return None;
                }
            }
            NvccArgument::Unknown(_) => return None,
        }
    }
    Some(options)
}

/// The options of fatbinary in flags of clang. These are all flags that src/matrix/clang.rs makes
/// of nvcc's.
fn fatbinary_of_clang(own_flags: &[String]) -> Option<Vec<String>> {
    const VALUED: [&str; 7] = [
        "-D",
        "-I",
        "-U",
        "-Xarch_device",
        "-Xarch_host",
        "-Xcuda-ptxas",
        "-isystem",
    ];
    const PREFIXES: [&str; 8] = ["-D", "-U", "-I", "-O", "-W", "-f", "-m", "-std="];
    let mut options = Vec::new();
    let mut rest = own_flags.iter().map(String::as_str);
    while let Some(flag) = rest.next() {
        if flag.contains(ARCH_LIST) {
            return None;
        } else if flag == "-Xcuda-fatbinary" {
            options.extend(rest.next()?.split(',').map(str::to_owned));
        } else if VALUED.contains(&flag) {
            rest.next().filter(|value| !value.contains(ARCH_LIST))?;
        } else if flag != "-w"
            && (!PREFIXES.iter().any(|prefix| flag.starts_with(prefix))
                || UNLIKE_HOST.iter().any(|prefix| flag.starts_with(prefix)))
        {
            return None;
        }
    }
    Some(options)
}

/// Prefixes of flags that look like flags of the host compiler, but are about device code.
const UNLIKE_HOST: [&str; 5] = ["-fatbin", "-fdevice", "-fgpu", "-foffload", "-fuse"];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::Capability;

    fn archs(text: &str) -> Vec<DeviceArch> {
        let parse = |text: &str| text.parse::<Capability>().expect("a capability");
        text.split(' ').map(parse).map(DeviceArch::Cuda).collect()
    }

    fn parts_of(driver: Driver, flags: &str, archs_text: &str) -> Option<Split> {
        let flags: Vec<String> = flags.split_whitespace().map(str::to_owned).collect();
        split(driver, &flags, &archs(archs_text), false)
    }

    #[test]
    fn several_architectures_are_split() {
        let parts = parts_of(Driver::Nvcc, "", "8.0 9.0a+PTX").expect("parts");
        assert_eq!(
            parts.archs[0].flags,
            ["-gencode", "arch=compute_80,code=sm_80"]
        );
        assert_eq!(parts.archs[0].ptx, [""; 0]);
        assert_eq!(parts.archs[1].sm, "90a");
        assert_eq!(
            parts.archs[1].ptx,
            ["-gencode", "arch=compute_90a,code=compute_90a"]
        );
        assert_eq!(parts.host, "80");
        let parts = parts_of(Driver::Clang, "", "8.0 9.0+PTX").expect("parts");
        assert_eq!(parts.host, "80");
        assert_eq!(parts.archs[0].flags, ["--cuda-gpu-arch=sm_80"]);
        assert_eq!(parts.archs[1].ptx, ["--cuda-include-ptx=sm_90"]);

        for whole in ["9.0", "9.0+PTX", "9.0 9.0+PTX"] {
            assert_eq!(parts_of(Driver::Nvcc, "", whole), None, "{whole}");
        }
        assert_eq!(parts_of(Driver::Gxx, "", "8.0 9.0"), None);
    }

    #[test]
    fn host_code_knows_the_kernels_of_the_last_architecture_where_that_matters() {
        let host = |driver| Some(split(driver, &[], &archs("8.0 9.0"), true)?.host);
        assert_eq!(host(Driver::Nvcc).as_deref(), Some("90"));
        assert_eq!(host(Driver::Clang).as_deref(), Some("80"));
    }

    /// NB: a flag that is wrongly taken for harmless gives code that differs from the compiler's
    /// own.
    #[test]
    fn flags_that_reach_beyond_one_architecture_keep_a_unit_whole() {
        for (flags, fatbinary) in [
            ("-DX=1 -I dir -O2 -Xcompiler -Wall,-g -std=c++20", ""),
            ("--use_fast_math --expt-relaxed-constexpr -Xptxas=-v", ""),
            (
                "--maxrregcount 64 -t 4 --threads=2 -fno-strict-aliasing",
                "",
            ),
            ("-Xfatbin -compress-all", "-compress-all"),
            ("--compress-mode=size", "--compress-mode=size"),
        ] {
            let parts = parts_of(Driver::Nvcc, flags, "8.0 9.0").expect(flags);
            assert_eq!(parts.fatbinary.join(" "), fatbinary, "{flags}");
        }
        for flags in [
            "-rdc=true",
            "-dc",
            "-G",
            "-lineinfo",
            "-gencode arch=compute_86,code=sm_86",
            "-arch=sm_90",
            "-fatbin",
            "-include config.h",
            "--frobnicate",
            "csrc/other.cu",
            "-D__CUDA_ARCH_LIST__=900",
            "-Xcompiler -U__CUDA_ARCH_LIST__",
        ] {
            assert_eq!(parts_of(Driver::Nvcc, flags, "8.0 9.0"), None, "{flags}");
        }
        let clang = "-Xarch_device -ffp-contract=off -Xcuda-fatbinary -compress-all";
        let parts = parts_of(Driver::Clang, clang, "8.0 9.0").expect("parts");
        assert_eq!(parts.fatbinary, ["-compress-all"]);
        assert_eq!(
            parts_of(Driver::Clang, "--cuda-gpu-arch=sm_86", "8.0 9.0"),
            None
        );
    }

    #[test]
    fn the_list_of_architectures_is_that_of_compilers() {
        let list = arch_list(&archs("8.0 9.0 9.0a+PTX 12.1"));
        assert_eq!(list, "800,900,1210");
    }
}
