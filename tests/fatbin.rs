//! The reader of fatbins (src/artifact/fatbin.rs), on fatbins made by hand.

use std::collections::BTreeMap;

use kernel_builder::artifact::fatbin::{FatbinError, MAGIC, read_section};
use kernel_builder::kernel::capability::Feature::{Architecture, Baseline, Family};

/// The bit of architectures such as `sm_90a`.
const A: u64 = 1 << 20;
/// The bit of architectures such as `sm_100f`.
const F: u64 = 1 << 21;

/// A container of images: kind, architecture, flags.
fn container(images: &[(u16, u32, u64)]) -> Vec<u8> {
    let mut body = Vec::new();
    for (kind, arch, flags) in images {
        let mut image = vec![0; 64 + 8];
        image[0..2].copy_from_slice(&kind.to_le_bytes());
        image[4..8].copy_from_slice(&64_u32.to_le_bytes());
        image[8..16].copy_from_slice(&8_u64.to_le_bytes());
        image[28..32].copy_from_slice(&arch.to_le_bytes());
        image[40..48].copy_from_slice(&(flags | 0x11).to_le_bytes());
        body.extend(image);
    }
    let mut bytes = MAGIC.to_le_bytes().to_vec();
    bytes.extend([1, 0, 16, 0]);
    bytes.extend((body.len() as u64).to_le_bytes());
    bytes.extend(body);
    bytes
}

#[test]
fn images_of_all_containers_are_found() {
    let mut section = container(&[(2, 90, 0), (1, 90, 0), (2, 90, A)]);
    section.extend([0; 8]);
    section.extend(container(&[
        (2, 100, F | 1 << 24),
        (2, 121, 0),
        (1, 121, 0x8000),
    ]));
    let mut found = BTreeMap::new();
    read_section(&section, &mut found).expect("fatbins");
    let expected = [
        ((90, Baseline), true),
        ((90, Architecture), false),
        ((100, Family), false),
        ((121, Baseline), true),
    ];
    assert_eq!(found.into_iter().collect::<Vec<_>>(), expected);
}

#[test]
fn another_layout_is_an_error_and_never_a_crash() {
    let whole = container(&[(2, 90, 0), (1, 90, 0)]);
    for length in 1..whole.len() {
        let result = read_section(&whole[..length], &mut BTreeMap::new());
        assert!(
            matches!(result, Err(FatbinError::Container(_))),
            "{length}: {result:?}"
        );
    }
    let result = read_section(&container(&[(7, 90, 0)]), &mut BTreeMap::new());
    assert!(matches!(result, Err(FatbinError::Kind { kind: 7, .. })));
    for at in 0..whole.len() {
        let mut bytes = whole.clone();
        bytes[at] = !bytes[at];
        // Whatever it says, it ends.
        let _ = read_section(&bytes, &mut BTreeMap::new());
    }
}
