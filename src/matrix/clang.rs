//! nvcc's flags as clang takes them, for the CUDA toolkits that clang compiles: `cuda-flags` is
//! written for nvcc. src/plan/flags.rs has the flags that every unit gets.

use super::nvcc::{self, ForClang, NvccArgument};

/// The result of translating a list of flags.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TranslatedFlags {
    pub flags: Vec<String>,
    /// Flags that only make code faster and that clang has no counterpart of.
    pub left_out: Vec<String>,
    /// Flags that clang has no counterpart of and that the code may depend on.
    pub unknown: Vec<String>,
}

/// Translates flags, in their order.
pub fn translate(flags: &[String]) -> TranslatedFlags {
    let mut translated = TranslatedFlags::default();
    for argument in nvcc::arguments(flags) {
        match argument {
            NvccArgument::Known {
                flag,
                written,
                value,
            } => translated.apply(flag.clang, written, value),
            NvccArgument::Common(words) => {
                translated
                    .flags
                    .extend(words.into_iter().map(str::to_owned));
            }
            NvccArgument::Host(flag) => {
                let words = ["-Xarch_host", flag];
                translated.flags.extend(words.map(str::to_owned));
            }
            NvccArgument::Unknown(flag) => translated.unknown.push(flag.to_owned()),
        }
    }
    translated
}

impl TranslatedFlags {
    /// Adds clang's counterpart of a flag.
    fn apply(&mut self, meaning: ForClang, written: &str, value: &str) {
        let mut add = |flags: &[&str]| {
            let filled = flags.iter().map(|flag| flag.replace("{}", value));
            self.flags.extend(filled);
        };
        match meaning {
            ForClang::Flags(flags) => add(flags),
            ForClang::Parts(target) => {
                for part in parts(value) {
                    self.flags.extend([target.to_owned(), part]);
                }
            }
            ForClang::Switch(on, off) => match value {
                "true" => add(on),
                "false" => add(off),
                _ => self.unknown.push(written.to_owned()),
            },
            ForClang::Architectures => match architectures(value) {
                Some(flags) => self.flags.extend(flags),
                None => self.unknown.push(format!("{written} {value}")),
            },
            ForClang::Nothing => {}
            ForClang::LeftOut => self.left_out.push(written.to_owned()),
        }
    }
}

/// A value split at its commas, without those behind a backslash.
fn parts(value: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut characters = value.chars().peekable();
    while let Some(character) = characters.next() {
        match (character, characters.peek(), parts.last_mut()) {
            ('\\', Some(','), Some(part)) => {
                part.push(',');
                characters.next();
            }
            (',', _, _) => parts.push(String::new()),
            (_, _, Some(part)) => part.push(character),
            (_, _, None) => {}
        }
    }
    parts.retain(|part| !part.is_empty());
    parts
}

/// The architectures of `arch=compute_90,code=sm_90` or `arch=compute_90,code=[sm_90,compute_90]`.
/// `None` for PTX alone, which clang does not make.
fn architectures(value: &str) -> Option<Vec<String>> {
    let (arch, code) = value.strip_prefix("arch=compute_")?.split_once(",code=")?;
    let codes: Vec<&str> = code
        .trim_start_matches('[')
        .trim_end_matches(']')
        .split(',')
        .collect();
    let machine = |code: &&str| code.strip_prefix("sm_") == Some(arch);
    let ptx = |code: &&str| code.strip_prefix("compute_") == Some(arch);
    if !codes.iter().any(machine) || !codes.iter().all(|code| machine(code) || ptx(code)) {
        return None;
    }
    let (mut flags, kept) = architecture(arch);
    if codes.iter().any(ptx) {
        flags.extend(kept);
    }
    Some(flags)
}

/// Whether a clang (its family of pins, `clang-22`) knows `__grid_constant__`: since release 20.
pub fn knows_grid_constants(family: &str) -> bool {
    let release = family.strip_prefix("clang-");
    release.is_some_and(|release| release.parse::<u32>().is_ok_and(|release| release >= 20))
}

/// The flags that make clang compile for an architecture (`90a`), and the flags that keep its PTX.
pub fn architecture(sm: &str) -> (Vec<String>, Vec<String>) {
    (
        vec![format!("--cuda-gpu-arch=sm_{sm}")],
        vec![format!("--cuda-include-ptx=sm_{sm}")],
    )
}

#[cfg(test)]
mod tests {
    use super::{TranslatedFlags, translate};

    fn translated(flags: &str) -> TranslatedFlags {
        translate(&flags.split(' ').map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn flags_mean_the_same_to_clang() {
        let cases = [
            ("-DX=1 -I dir -U X -O2 -Wall", "-DX=1 -I dir -U X -O2 -Wall"),
            ("--expt-relaxed-constexpr --extended-lambda", ""),
            ("-std=c++20 --std=c++20", "-std=c++20 -std=c++20"),
            (
                "-Xcompiler -fopenmp,-Wall --compiler-options=-g",
                "-Xarch_host -fopenmp -Xarch_host -Wall -Xarch_host -g",
            ),
            (r"-Xcompiler -DX=a\,b", "-Xarch_host -DX=a,b"),
            (
                "-Xptxas -v,-O3 --ptxas-options=--warn-on-spills",
                "-Xcuda-ptxas -v -Xcuda-ptxas -O3 -Xcuda-ptxas --warn-on-spills",
            ),
            (
                "-maxrregcount=64 --maxrregcount 32",
                "-Xcuda-ptxas --maxrregcount=64 -Xcuda-ptxas --maxrregcount=32",
            ),
            ("-Xcudafe --diag_suppress=177 -diag-suppress 186", ""),
            ("-t 4 --threads=2", ""),
            ("-fno-strict-aliasing", "-Xarch_host -fno-strict-aliasing"),
            ("-ftz=true", "-Xarch_device -fgpu-flush-denormals-to-zero"),
            ("--fmad=false", "-Xarch_device -ffp-contract=off"),
            (
                "-gencode arch=compute_90a,code=sm_90a",
                "--cuda-gpu-arch=sm_90a",
            ),
            (
                "--generate-code=arch=compute_90,code=[sm_90,compute_90]",
                "--cuda-gpu-arch=sm_90 --cuda-include-ptx=sm_90",
            ),
            ("-Xfatbin -compress-all", "-Xcuda-fatbinary -compress-all"),
            ("-lineinfo", "-Xarch_device -gline-directives-only"),
        ];
        for (nvcc, clang) in cases {
            let translated = translated(nvcc);
            assert_eq!(translated.flags.join(" "), clang, "{nvcc}");
            assert_eq!(translated.unknown, [""; 0], "{nvcc}");
            assert_eq!(translated.left_out, [""; 0], "{nvcc}");
        }
    }

    #[test]
    fn nothing_is_lost_without_a_word() {
        let cases = [
            "-rdc=true",
            "-dc",
            "-G",
            "--frobnicate=1",
            "-arch=sm_90",
            "-gencode arch=compute_90,code=compute_90",
            "-gencode arch=compute_80,code=sm_86",
            "-ftz=maybe",
            "-Xcompiler",
            "-D",
            "csrc/other.cu",
        ];
        for flag in cases {
            assert_eq!(translated(flag).unknown.len(), 1, "{flag}");
        }
        assert_eq!(translated("--restrict").left_out, ["--restrict"]);
        assert_eq!(translated("-rdc=true -O3 -G").unknown, ["-rdc=true", "-G"]);
    }
}
