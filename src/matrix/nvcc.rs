//! nvcc's flags: how they are read, which flags of clang replace them, and whether units that have
//! them are compiled in parts. src/matrix/clang.rs and src/plan/split.rs use this list.

/// A flag of nvcc that has a name.
#[derive(Debug)]
pub struct NvccFlag {
    /// The name without dashes.
    pub name: &'static str,
    /// Whether the flag has a value: behind `=`, or as the next argument.
    pub has_value: bool,
    pub reach: FlagReach,
    pub clang: ForClang,
}

/// The reach of a flag's effect, which decides whether a unit that has the flag is compiled in
/// parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlagReach {
    /// Each architecture is compiled as if it were the only one.
    Architecture,
    /// The flag tells fatbinary how to store the device code of all architectures. These are
    /// fatbinary's options; `{}` stands for the value.
    Fatbinary(&'static str),
    /// The flag may affect the whole unit, so the unit is not compiled in parts.
    Unit,
}

/// The flags that clang is given in place of one of nvcc's.
#[derive(Clone, Copy, Debug)]
pub enum ForClang {
    /// Fixed flags; `{}` stands for the value.
    Flags(&'static [&'static str]),
    /// A flag and one part of the value, for each part between commas.
    Parts(&'static str),
    /// Flags for `true` and for `false`.
    Switch(&'static [&'static str], &'static [&'static str]),
    /// Architectures in addition to those of the variant.
    Architectures,
    /// No flag: clang always has the effect, or the flag is about how nvcc works and which warnings
    /// it prints.
    Nothing,
    /// No flag, and code may be slower.
    LeftOut,
}

/// One argument of nvcc, after reading.
#[derive(Debug)]
pub enum NvccArgument<'a> {
    /// A flag of the list, with its value; the value is empty if it has none.
    Known {
        flag: &'static NvccFlag,
        /// The argument as it was written, dashes included.
        written: &'a str,
        value: &'a str,
    },
    /// A flag that every compiler has, in one or two words: `-DX=1`, `-I dir`, `-O2`, `-Wall`.
    Common(Vec<&'a str>),
    /// A flag that nvcc passes to the host compiler: `-fno-strict-aliasing`.
    Host(&'a str),
    /// Any other word, or a flag whose value is missing.
    Unknown(&'a str),
}

/// Reads flags, in their order.
pub fn arguments(flags: &[String]) -> Vec<NvccArgument<'_>> {
    let mut arguments = Vec::new();
    let mut rest = flags.iter().map(String::as_str);
    while let Some(written) = rest.next() {
        let argument = argument(written, &mut rest);
        arguments.push(argument.unwrap_or(NvccArgument::Unknown(written)));
    }
    arguments
}

/// Reads a flag, and takes its value from `rest` if the flag has one. `None` if nvcc has no such
/// flag.
fn argument<'a>(
    written: &'a str,
    rest: &mut impl Iterator<Item = &'a str>,
) -> Option<NvccArgument<'a>> {
    let long = written.strip_prefix("--");
    let body = long.or_else(|| written.strip_prefix('-'))?;
    let (name, attached) = match body.split_once('=') {
        Some((name, value)) => (name, Some(value)),
        None => (body, None),
    };
    let known = FLAGS.iter().find(|flag| flag.name == name);
    if let Some(flag) = known.filter(|flag| flag.has_value || attached.is_none()) {
        let value = match flag.has_value {
            true => attached.or_else(|| rest.next())?,
            false => "",
        };
        return Some(NvccArgument::Known {
            flag,
            written,
            value,
        });
    }
    if long.is_some() {
        return None;
    }
    match body.as_bytes() {
        [b'D' | b'I' | b'U'] => Some(NvccArgument::Common(vec![written, rest.next()?])),
        [b'D' | b'I' | b'U' | b'O' | b'W', ..] => Some(NvccArgument::Common(vec![written])),
        [b'f' | b'm', _, ..] => Some(NvccArgument::Host(written)),
        _ => None,
    }
}

use FlagReach::{Architecture, Fatbinary, Unit};
use ForClang::{Architectures, Flags, LeftOut, Nothing, Parts, Switch};

const fn flag(name: &'static str, reach: FlagReach, clang: ForClang) -> NvccFlag {
    NvccFlag {
        name,
        has_value: false,
        reach,
        clang,
    }
}

const fn flag_with_value(name: &'static str, reach: FlagReach, clang: ForClang) -> NvccFlag {
    NvccFlag {
        name,
        has_value: true,
        reach,
        clang,
    }
}

/// nvcc's flags, without those that [`NvccArgument::Common`] and [`NvccArgument::Host`] stand for.
/// NB: a flag must not be listed as reaching one architecture if it reaches further: the code would
/// differ from nvcc's own.
const FLAGS: &[NvccFlag] = &[
    flag("disable-warnings", Architecture, Flags(&["-w"])),
    flag("expt-extended-lambda", Architecture, Nothing),
    flag("expt-relaxed-constexpr", Architecture, Nothing),
    flag("extended-lambda", Architecture, Nothing),
    flag("extra-device-vectorization", Architecture, LeftOut),
    flag("forward-unknown-to-host-compiler", Architecture, Nothing),
    flag("g", Unit, Flags(&["-Xarch_host", "-g"])),
    flag("generate-line-info", Unit, Flags(LINE_INFO)),
    flag("k", Unit, Nothing),
    flag("keep", Unit, Nothing),
    flag("lineinfo", Unit, Flags(LINE_INFO)),
    flag("m64", Architecture, Nothing),
    flag("res-usage", Architecture, Flags(RESOURCE_USAGE)),
    flag("resource-usage", Architecture, Flags(RESOURCE_USAGE)),
    flag("restrict", Architecture, LeftOut),
    flag("use_fast_math", Architecture, Flags(FAST_MATH)),
    flag("w", Architecture, Flags(&["-w"])),
    flag_with_value("Werror", Architecture, Nothing),
    flag_with_value("Xcompiler", Architecture, Parts("-Xarch_host")),
    flag_with_value("Xcudafe", Architecture, Nothing),
    flag_with_value("Xfatbin", Fatbinary("{}"), Parts("-Xcuda-fatbinary")),
    flag_with_value("Xptxas", Architecture, Parts("-Xcuda-ptxas")),
    flag_with_value("compiler-options", Architecture, Parts("-Xarch_host")),
    flag_with_value(
        "compress-mode",
        Fatbinary("--compress-mode={}"),
        Flags(COMPRESS_MODE),
    ),
    flag_with_value(
        "default-stream",
        Architecture,
        Flags(&["-fgpu-default-stream={}"]),
    ),
    flag_with_value("define-macro", Architecture, Flags(&["-D{}"])),
    flag_with_value("diag-error", Architecture, Nothing),
    flag_with_value("diag-suppress", Architecture, Nothing),
    flag_with_value("diag-warn", Architecture, Nothing),
    flag_with_value("fatbin-options", Fatbinary("{}"), Parts("-Xcuda-fatbinary")),
    flag_with_value("fmad", Architecture, CONTRACT),
    flag_with_value("ftz", Architecture, FLUSH),
    flag_with_value("gencode", Unit, Architectures),
    flag_with_value("generate-code", Unit, Architectures),
    flag_with_value("include", Unit, Flags(&["-include", "{}"])),
    flag_with_value("include-path", Architecture, Flags(&["-I{}"])),
    flag_with_value("isystem", Architecture, Flags(&["-isystem", "{}"])),
    flag_with_value("keep-dir", Unit, Nothing),
    flag_with_value(
        "maxrregcount",
        Architecture,
        Flags(&["-Xcuda-ptxas", "--maxrregcount={}"]),
    ),
    flag_with_value("optimize", Architecture, Flags(&["-O{}"])),
    flag_with_value("pre-include", Unit, Flags(&["-include", "{}"])),
    flag_with_value("prec-div", Architecture, PRECISE_DIVISION),
    flag_with_value("prec-sqrt", Architecture, PRECISE_SQRT),
    flag_with_value("ptxas-options", Architecture, Parts("-Xcuda-ptxas")),
    flag_with_value("split-compile", Unit, Nothing),
    flag_with_value("std", Architecture, Flags(&["-std={}"])),
    flag_with_value("system-include", Architecture, Flags(&["-isystem", "{}"])),
    flag_with_value("t", Architecture, Nothing),
    flag_with_value("threads", Architecture, Nothing),
    flag_with_value("undefine-macro", Architecture, Flags(&["-U{}"])),
];

/// NB: -ffast-math is not in the list, because it assumes that NaN and infinity do not exist; nvcc
/// keeps both.
const FAST_MATH: &[&str] = &[
    "-Xarch_device",
    "-fgpu-flush-denormals-to-zero",
    "-Xarch_device",
    "-mllvm=-nvptx-prec-divf32=0",
    "-DKERNEL_BUILDER_APPROXIMATE_SQRT",
    "-Xarch_device",
    "-fgpu-approx-transcendentals",
];

const LINE_INFO: &[&str] = &["-Xarch_device", "-gline-directives-only"];

const RESOURCE_USAGE: &[&str] = &["-Xcuda-ptxas", "-v"];

const COMPRESS_MODE: &[&str] = &["-Xcuda-fatbinary", "-compress-mode={}"];

const CONTRACT: ForClang = Switch(
    &["-Xarch_device", "-ffp-contract=fast"],
    &["-Xarch_device", "-ffp-contract=off"],
);

const FLUSH: ForClang = Switch(
    &["-Xarch_device", "-fgpu-flush-denormals-to-zero"],
    &["-Xarch_device", "-fno-gpu-flush-denormals-to-zero"],
);

const PRECISE_DIVISION: ForClang = Switch(
    &["-Xarch_device", "-mllvm=-nvptx-prec-divf32=2"],
    &["-Xarch_device", "-mllvm=-nvptx-prec-divf32=0"],
);

const PRECISE_SQRT: ForClang = Switch(
    &["-UKERNEL_BUILDER_APPROXIMATE_SQRT"],
    &["-DKERNEL_BUILDER_APPROXIMATE_SQRT"],
);
