//! The GPU architectures that an object or a library holds code for, read from its fatbins.
//! nix/kernel/archs.sh reads them at the link; tests compare the two.
//!
//! NVIDIA documents no layout. This one is that of nvcc 13.0 and of libnvfatbin 12.6 and 12.8 (for
//! clang), found by compiling for known architectures; all numbers are little-endian:
//!
//! | container | at | | image | at |
//! |---|---|---|---|---|
//! | magic `0xBA55ED50` | 0, 4 bytes | | kind: 1 PTX, 2 ELF | 0, 2 bytes |
//! | size of this header | 6, 2 bytes | | size of this header | 4, 4 bytes |
//! | size of what follows | 8, 8 bytes | | size of the code behind it, compressed or not | 8, 8 bytes |
//! | | | | architecture, e.g. 90 | 28, 4 bytes |
//! | | | | flags: bit 20 `a`, bit 21 `f` | 40, 8 bytes |

use std::collections::BTreeMap;

use object::Endianness;
use object::elf::FileHeader64;
use object::read::elf::{FileHeader, SectionHeader};
use thiserror::Error;

use crate::kernel::Capability;
use crate::kernel::capability::Feature;

/// The section in which compilers put fatbins.
const SECTION: &[u8] = b".nv_fatbin";

/// The first four bytes of a fatbin.
pub const MAGIC: u32 = 0xBA55_ED50;

/// Why the architectures of a file cannot be read.
#[derive(Debug, Error)]
pub enum FatbinError {
    #[error("not an ELF file")]
    Elf(#[from] object::Error),
    #[error(".nv_fatbin is not a series of fatbins at byte {0}")]
    Container(usize),
    #[error("an image of unknown kind {kind} at byte {at}")]
    Kind { kind: u16, at: usize },
}

/// The architectures of an object or a library, in order; empty if it has no device code. `ptx`
/// says that there is PTX beside the machine code.
///
/// # Errors
/// `FatbinError` for a file that is no ELF file, or has fatbins of another layout.
pub fn capabilities(file: &[u8]) -> Result<Vec<Capability>, FatbinError> {
    let elf = FileHeader64::<Endianness>::parse(file)?;
    let endian = elf.endian()?;
    let sections = elf.sections(endian, file)?;
    let mut found = BTreeMap::new();
    for section in sections.iter() {
        if sections.section_name(endian, section)? == SECTION {
            read_section(section.data(endian, file)?, &mut found)?;
        }
    }
    let capabilities = found.into_iter().map(|((arch, feature), ptx)| Capability {
        major: arch / 10,
        minor: arch % 10,
        feature,
        ptx,
    });
    Ok(capabilities.collect())
}

/// Adds the images of a section to those found.
pub fn read_section(
    section: &[u8],
    found: &mut BTreeMap<(u32, Feature), bool>,
) -> Result<(), FatbinError> {
    let mut at = 0;
    while at < section.len() {
        // A linker aligns the fatbins of several objects.
        if section[at] == 0 {
            at += 1;
            continue;
        }
        let container = Numbers {
            bytes: section,
            base: at,
        };
        if container.number::<4>(0)? != u64::from(MAGIC) {
            return Err(FatbinError::Container(at));
        }
        let mut image = container.skip(container.number::<2>(6)?, at)?;
        let end = container.skip(
            container
                .number::<2>(6)?
                .saturating_add(container.number::<8>(8)?),
            at,
        )?;
        while image < end {
            let header = Numbers {
                bytes: section,
                base: image,
            };
            let flags = header.number::<8>(40)?;
            let feature = match (flags >> 20 & 1, flags >> 21 & 1) {
                (1, _) => Feature::Architecture,
                (_, 1) => Feature::Family,
                _ => Feature::Baseline,
            };
            let ptx = match header.number::<2>(0)? {
                1 => true,
                2 => false,
                kind => {
                    let kind = u16::try_from(kind).unwrap_or_default();
                    return Err(FatbinError::Kind { kind, at: image });
                }
            };
            let arch = u32::try_from(header.number::<4>(28)?).unwrap_or_default();
            *found.entry((arch, feature)).or_insert(false) |= ptx;
            let next = header.skip(
                header
                    .number::<4>(4)?
                    .saturating_add(header.number::<8>(8)?),
                image,
            )?;
            if next == image {
                return Err(FatbinError::Container(image));
            }
            image = next;
        }
        at = end.max(at + 1);
    }
    Ok(())
}

/// Numbers of a header that starts at `base`.
struct Numbers<'a> {
    bytes: &'a [u8],
    base: usize,
}

impl Numbers<'_> {
    /// The number of `N` bytes at an offset.
    fn number<const N: usize>(&self, offset: usize) -> Result<u64, FatbinError> {
        let start = self.base + offset;
        let bytes = self.bytes.get(start..start + N);
        let bytes = bytes.ok_or(FatbinError::Container(self.base))?;
        let digits = bytes.iter().rev();
        Ok(digits.fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }

    /// The place behind `size` bytes from `from` on, which must be inside of the section.
    fn skip(&self, size: u64, from: usize) -> Result<usize, FatbinError> {
        usize::try_from(size)
            .ok()
            .and_then(|size| from.checked_add(size))
            .filter(|end| *end <= self.bytes.len())
            .ok_or(FatbinError::Container(self.base))
    }
}
