//! nvcc's flags as clang takes them, for the CUDA toolkits that clang compiles: `cuda-flags` is written for nvcc.
//! Not the flags that every unit gets; those are in flags.rs.

/// What became of a list of flags.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Translated {
    pub flags: Vec<String>,
    /// Flags that only make code faster and that clang has nothing for.
    pub left_out: Vec<String>,
    /// Flags that clang has nothing for and that the code may depend on.
    pub unknown: Vec<String>,
}

/// What a flag of nvcc is to clang.
#[derive(Clone, Copy)]
enum Meaning {
    /// These flags; `{}` stands for the value.
    Flags(&'static [&'static str]),
    /// For each part of the value, which nvcc splits at commas: this flag and the part.
    Parts(&'static str),
    /// Flags for `true` and for `false`.
    Switch(&'static [&'static str], &'static [&'static str]),
    /// Architectures in addition to those of the variant.
    Architectures,
    /// Nothing: clang always does it, or it is about how nvcc works and what it warns of.
    Nothing,
    /// Nothing, and code may be slower for it.
    LeftOut,
}

use Meaning::{Architectures, Flags, LeftOut, Nothing, Parts, Switch};

/// NB: not -ffast-math, for which NaN and infinity do not exist; nvcc keeps both.
const FAST_MATH: &[&str] = &[
    "-Xarch_device",
    "-fgpu-flush-denormals-to-zero",
    "-Xarch_device",
    "-mllvm=-nvptx-prec-divf32=0",
    "-DKERNEL_BUILDER_APPROXIMATE_SQRT",
    "-Xarch_device",
    "-fgpu-approx-transcendentals",
];

/// Flags that stand alone, without their dashes.
const ALONE: &[(&str, Meaning)] = &[
    ("expt-extended-lambda", Nothing),
    ("expt-relaxed-constexpr", Nothing),
    ("extended-lambda", Nothing),
    ("extra-device-vectorization", LeftOut),
    ("forward-unknown-to-host-compiler", Nothing),
    ("g", Flags(&["-Xarch_host", "-g"])),
    ("generate-line-info", Flags(LINE_INFO)),
    ("k", Nothing),
    ("keep", Nothing),
    ("lineinfo", Flags(LINE_INFO)),
    ("m64", Nothing),
    ("res-usage", Flags(&["-Xcuda-ptxas", "-v"])),
    ("resource-usage", Flags(&["-Xcuda-ptxas", "-v"])),
    ("restrict", LeftOut),
    ("use_fast_math", Flags(FAST_MATH)),
    ("w", Flags(&["-w"])),
];

const LINE_INFO: &[&str] = &["-Xarch_device", "-gline-directives-only"];

/// Flags that have a value: behind `=` or as the next argument.
const VALUED: &[(&str, Meaning)] = &[
    ("Werror", Nothing),
    ("Xcompiler", Parts("-Xarch_host")),
    ("Xcudafe", Nothing),
    ("Xfatbin", Parts("-Xcuda-fatbinary")),
    ("Xptxas", Parts("-Xcuda-ptxas")),
    ("compiler-options", Parts("-Xarch_host")),
    (
        "compress-mode",
        Flags(&["-Xcuda-fatbinary", "-compress-mode={}"]),
    ),
    ("default-stream", Flags(&["-fgpu-default-stream={}"])),
    ("define-macro", Flags(&["-D{}"])),
    ("diag-error", Nothing),
    ("diag-suppress", Nothing),
    ("diag-warn", Nothing),
    ("fatbin-options", Parts("-Xcuda-fatbinary")),
    (
        "fmad",
        Switch(
            &["-Xarch_device", "-ffp-contract=fast"],
            &["-Xarch_device", "-ffp-contract=off"],
        ),
    ),
    (
        "ftz",
        Switch(
            &["-Xarch_device", "-fgpu-flush-denormals-to-zero"],
            &["-Xarch_device", "-fno-gpu-flush-denormals-to-zero"],
        ),
    ),
    ("gencode", Architectures),
    ("generate-code", Architectures),
    ("include", Flags(&["-include", "{}"])),
    ("include-path", Flags(&["-I{}"])),
    ("isystem", Flags(&["-isystem", "{}"])),
    ("keep-dir", Nothing),
    (
        "maxrregcount",
        Flags(&["-Xcuda-ptxas", "--maxrregcount={}"]),
    ),
    ("optimize", Flags(&["-O{}"])),
    ("pre-include", Flags(&["-include", "{}"])),
    (
        "prec-div",
        Switch(
            &["-Xarch_device", "-mllvm=-nvptx-prec-divf32=2"],
            &["-Xarch_device", "-mllvm=-nvptx-prec-divf32=0"],
        ),
    ),
    (
        "prec-sqrt",
        Switch(
            &["-UKERNEL_BUILDER_APPROXIMATE_SQRT"],
            &["-DKERNEL_BUILDER_APPROXIMATE_SQRT"],
        ),
    ),
    ("ptxas-options", Parts("-Xcuda-ptxas")),
    ("split-compile", Nothing),
    ("std", Flags(&["-std={}"])),
    ("system-include", Flags(&["-isystem", "{}"])),
    ("t", Nothing),
    ("threads", Nothing),
    ("undefine-macro", Flags(&["-U{}"])),
];

/// First letters of flags that clang has too; their value may be the next argument.
const SHARED: &[char] = &['D', 'I', 'U'];

/// First letters of flags that clang has too, without values.
const SHARED_ALONE: &[char] = &['O', 'W'];

/// First letters of flags that nvcc passes to the host compiler.
const HOST: &[char] = &['f', 'm'];

/// Translates flags, in their order.
pub fn translate(flags: &[String]) -> Translated {
    let mut translated = Translated::default();
    let mut rest = flags.iter();
    while let Some(flag) = rest.next() {
        if !translated.one(flag, &mut rest) {
            translated.unknown.push(flag.clone());
        }
    }
    translated
}

impl Translated {
    /// Translates a flag, and takes its value from `rest` if it is there. False: clang has nothing for it.
    fn one<'a>(&mut self, flag: &str, rest: &mut impl Iterator<Item = &'a String>) -> bool {
        let Some(body) = flag.strip_prefix("--").or_else(|| flag.strip_prefix('-')) else {
            return false;
        };
        let (name, attached) = match body.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (body, None),
        };
        if attached.is_none()
            && let Some(meaning) = find(ALONE, name)
        {
            return self.apply(flag, meaning, "");
        }
        if let Some(meaning) = find(VALUED, name) {
            return match attached.or_else(|| rest.next().map(String::as_str)) {
                Some(value) => self.apply(flag, meaning, value),
                None => false,
            };
        }
        let short = !flag.starts_with("--");
        let Some(first) = body.chars().next().filter(|_| short) else {
            return false;
        };
        if SHARED.contains(&first) {
            self.flags.push(flag.to_owned());
            if body.len() == 1 {
                let Some(value) = rest.next() else {
                    return false;
                };
                self.flags.push(value.clone());
            }
        } else if SHARED_ALONE.contains(&first) {
            self.flags.push(flag.to_owned());
        } else if HOST.contains(&first) && body.len() > 1 {
            self.flags
                .extend(["-Xarch_host".to_owned(), flag.to_owned()]);
        } else {
            return false;
        }
        true
    }

    fn apply(&mut self, flag: &str, meaning: Meaning, value: &str) -> bool {
        let mut add = |flags: &[&str]| {
            let filled = flags.iter().map(|flag| flag.replace("{}", value));
            self.flags.extend(filled);
        };
        match meaning {
            Flags(flags) => add(flags),
            Parts(target) => {
                for part in parts(value) {
                    self.flags.extend([target.to_owned(), part]);
                }
            }
            Switch(on, off) => match value {
                "true" => add(on),
                "false" => add(off),
                _ => return false,
            },
            Architectures => match architectures(value) {
                Some(flags) => self.flags.extend(flags),
                None => {
                    self.unknown.push(format!("{flag} {value}"));
                }
            },
            Nothing => {}
            LeftOut => self.left_out.push(flag.to_owned()),
        }
        true
    }
}

fn find(table: &[(&str, Meaning)], name: &str) -> Option<Meaning> {
    let mut entries = table.iter();
    entries
        .find(|(known, _)| *known == name)
        .map(|(_, meaning)| *meaning)
}

/// A value split at its commas, less those behind a backslash.
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

/// `arch=compute_90,code=sm_90`, `arch=compute_90,code=[sm_90,compute_90]`. PTX alone is not among clang's products.
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

/// What makes clang compile for an architecture (`90a`), and what keeps PTX for it.
pub fn architecture(sm: &str) -> (Vec<String>, Vec<String>) {
    (
        vec![format!("--cuda-gpu-arch=sm_{sm}")],
        vec![format!("--cuda-include-ptx=sm_{sm}")],
    )
}

#[cfg(test)]
mod tests {
    use super::{Translated, translate};

    fn of(flags: &str) -> Translated {
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
            let translated = of(nvcc);
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
            assert_eq!(of(flag).unknown.len(), 1, "{flag}");
        }
        assert_eq!(of("--restrict").left_out, ["--restrict"]);
        assert_eq!(of("-rdc=true -O3 -G").unknown, ["-rdc=true", "-G"]);
    }
}
