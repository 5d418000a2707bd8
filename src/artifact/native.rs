//! The library of a variant: whether `_ops.py` finds it and its operators, and whether it has
//! code for the machine and the GPUs that the variant is for. Reads ELF files. The rules of the ABI
//! are those of `check-abi`.

use std::collections::BTreeSet;

use camino::Utf8Path;
use object::Endianness;
use object::elf::{EM_AARCH64, EM_X86_64, FileHeader64};
use object::read::elf::FileHeader;

use super::fatbin::{FatbinError, capabilities};
use super::finding::{ArtifactFinding, ArtifactRule};
use super::metadata::ArtifactMetadata;
use crate::file::{MAX_TEXT, read_at_most};
use crate::kernel::Capability;

/// The first bytes of ELF files, and of Mach-O files of 64 bits.
const ELF: &[u8] = b"\x7fELF";
const MACH_O: &[u8] = &[0xcf, 0xfa, 0xed, 0xfe];

const REBUILD: &str = "build the variant again: these files do not belong together";

/// A variant with native code, by its name.
#[derive(Debug)]
pub struct NativeVariant<'a> {
    /// Whether Python imports the library as a module, as it does for torch.
    pub is_module: bool,
    /// The processor, e.g. `x86_64`.
    pub processor: &'a str,
    pub is_linux: bool,
    /// `linux`, `darwin` or `windows`.
    pub os: &'a str,
}

impl<'a> NativeVariant<'a> {
    /// Reads `torch211-cxx11-cpu-x86_64-linux`. `None` for variants of Python alone, and for
    /// other names.
    pub fn read(name: &'a str) -> Option<Self> {
        let (rest, os) = name.rsplit_once('-')?;
        let (rest, processor) = rest.rsplit_once('-')?;
        let is_known = rest.contains('-')
            && ["linux", "darwin", "windows"].contains(&os)
            && ["x86_64", "aarch64"].contains(&processor);
        is_known.then_some(Self {
            is_module: !rest.starts_with("tvm-ffi"),
            processor,
            is_linux: os == "linux",
            os,
        })
    }
}

/// The findings about the native files of a variant. `files`: the paths of all its files.
///
/// # Errors
/// The errors of the file system.
pub fn check_native(
    folder: &Utf8Path,
    variant: &NativeVariant<'_>,
    metadata: &ArtifactMetadata,
    files: &[String],
) -> std::io::Result<Vec<ArtifactFinding>> {
    let mut findings = Vec::new();
    let id = &metadata.id;
    let layout =
        |file: &str, message| ArtifactFinding::new(ArtifactRule::Layout, file, message, REBUILD);
    let is_library = |file: &&String| {
        file.strip_prefix(id.as_str())
            .is_some_and(|rest| rest.starts_with('.') && !rest.contains('/'))
    };
    let Some(library) = files.iter().find(is_library) else {
        let message = format!("there is no library {id}.*, which `_ops.py` would load");
        findings.push(layout("metadata.json", message));
        return Ok(findings);
    };
    let mut archs: BTreeSet<Capability> = BTreeSet::new();
    let mut is_readable = true;
    for file in files {
        let Some("so" | "pyd" | "dylib") = file.rsplit('.').next() else {
            continue;
        };
        let content = std::fs::read(folder.join(file))?;
        if let Some(message) = wrong_machine(&content, variant) {
            let help = "build it for the variant's machine, or leave it out";
            let rule = ArtifactRule::Architecture;
            findings.push(ArtifactFinding::new(rule, file, message, help));
            continue;
        }
        if content.starts_with(ELF) {
            match capabilities(&content) {
                Ok(found) => archs.extend(found),
                Err(FatbinError::Elf(error)) => {
                    findings.push(layout(file, format!("no loader can read it: {error}")));
                }
                // A later compiler may lay out fatbins in another way.
                Err(FatbinError::Container(_) | FatbinError::Kind { .. }) => is_readable = false,
            }
        }
        if file == library {
            let wrong = wrong_names(folder, variant, id, &content);
            let finding = |(rule, message)| ArtifactFinding::new(rule, file, message, REBUILD);
            findings.extend(wrong.map(finding));
        }
    }
    if metadata.backend.r#type == "cuda" && is_readable {
        findings.extend(missing_archs(metadata, &archs, library));
    }
    Ok(findings)
}

/// The mistake in the format of a library; `None` if the variant's machines can load it.
fn wrong_machine(content: &[u8], variant: &NativeVariant<'_>) -> Option<String> {
    let found = if content.starts_with(ELF) {
        let elf = FileHeader64::<Endianness>::parse(content).ok()?;
        let machine = elf.e_machine.get(elf.endian().ok()?);
        match (variant.is_linux, variant.processor, machine) {
            (true, "x86_64", EM_X86_64) | (true, "aarch64", EM_AARCH64) => return None,
            _ => format!("a Linux library for machine {}", machine.0),
        }
    } else if content.starts_with(MACH_O) {
        match (variant.is_linux, variant.processor, content.get(4)) {
            (false, "x86_64", Some(7)) | (false, "aarch64", Some(12)) => return None,
            _ => "a macOS library".to_owned(),
        }
    } else if variant.is_linux {
        "no ELF file".to_owned()
    } else {
        // A universal binary, or one of Windows.
        return None;
    };
    let os = if variant.is_linux {
        "Linux"
    } else {
        "another system"
    };
    let processor = variant.processor;
    Some(format!(
        "it is {found}, and the variant is for {os} on {processor}"
    ))
}

/// The mistake in the names that a library has for Python and torch; `None` if `_ops.py` finds
/// them.
fn wrong_names(
    folder: &Utf8Path,
    variant: &NativeVariant<'_>,
    id: &str,
    content: &[u8],
) -> Option<(ArtifactRule, String)> {
    let module = format!("PyInit_{id}");
    if variant.is_module && !has_text(content, &module, None) {
        let message = format!("it has no {module}, so Python cannot import it");
        return Some((ArtifactRule::Layout, message));
    }
    let ops = read_at_most(&folder.join("_ops.py"), MAX_TEXT).ok()?;
    let ops = String::from_utf8(ops).ok()?;
    let (_, rest) = ops.split_once("torch.ops.")?;
    let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
    let namespace = &rest[..end.unwrap_or(rest.len())];
    // NB: the name of the module ends with the build id, and so with most namespaces.
    let is_there = has_text(content, namespace, Some("PyInit_"));
    (!is_there).then(|| {
        let message = format!(
            "it registers nothing under `{namespace}`, where `_ops.py` looks for operators"
        );
        (ArtifactRule::Namespace, message)
    })
}

/// Whether a file has a text with a zero byte behind it, and without a certain text before it.
fn has_text(content: &[u8], text: &str, before: Option<&str>) -> bool {
    let text = text.as_bytes();
    let Some(first) = text.first() else {
        return false;
    };
    let mut start = 0;
    while let Some(at) = content[start..].iter().position(|byte| byte == first) {
        let (front, rest) = content.split_at(start + at);
        let is_after = before.is_some_and(|before| front.ends_with(before.as_bytes()));
        if rest.starts_with(text) && rest.get(text.len()) == Some(&0) && !is_after {
            return true;
        }
        start += at + 1;
    }
    false
}

/// A finding for the architectures of metadata.json that no library has code for: the client would
/// choose the variant for GPUs on which it cannot run.
fn missing_archs(
    metadata: &ArtifactMetadata,
    found: &BTreeSet<Capability>,
    library: &str,
) -> Option<ArtifactFinding> {
    let has = |arch: &Capability| {
        let mut found = found.iter();
        found.any(|own| {
            let is_same =
                (own.major, own.minor, own.feature) == (arch.major, arch.minor, arch.feature);
            is_same && (own.ptx || !arch.ptx)
        })
    };
    let asked = metadata.backend.archs.iter();
    let missing: Vec<&str> = asked
        .filter(|arch| !arch.parse().is_ok_and(|arch| has(&arch)))
        .map(String::as_str)
        .collect();
    if missing.is_empty() {
        return None;
    }
    let found: Vec<String> = found.iter().map(ToString::to_string).collect();
    let found = match found.is_empty() {
        true => "no device code".to_owned(),
        false => format!("device code for {}", found.join(", ")),
    };
    let message = format!(
        "metadata.json lists {}, and the library has {found}",
        missing.join(", ")
    );
    let rule = ArtifactRule::Architecture;
    Some(ArtifactFinding::new(rule, library, message, REBUILD))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_native_variants() {
        for (name, is_module, processor, is_linux) in [
            ("torch211-cxx11-cu130-x86_64-linux", true, "x86_64", true),
            (
                "torch-stable-abi211-cpu-aarch64-linux",
                true,
                "aarch64",
                true,
            ),
            ("torch213-metal-aarch64-darwin", true, "aarch64", false),
            ("tvm-ffi01-cu130-x86_64-linux", false, "x86_64", true),
        ] {
            let found = NativeVariant::read(name).expect(name);
            let found = (found.is_module, found.processor, found.is_linux);
            assert_eq!(found, (is_module, processor, is_linux), "{name}");
        }
        for name in ["torch-cuda", "torch-universal", "", "a-b-c", "x86_64-linux"] {
            assert!(NativeVariant::read(name).is_none(), "{name}");
        }
    }

    #[test]
    fn a_text_counts_with_the_zero_byte_behind_it() {
        assert!(has_text(b"aab\0", "ab", None));
        assert!(has_text(b"xab\0ab\0", "ab", Some("x")));
        assert!(!has_text(b"xab\0", "ab", Some("x")));
        assert!(!has_text(b"abc\0ab", "ab", None));
        assert!(!has_text(b"\0", "", None));
    }
}
