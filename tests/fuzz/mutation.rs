//! Changes of files: of bits, numbers, spans and words.

use crate::Seed;
use crate::common::numbers::Numbers;

/// The most bytes of a changed file.
pub const LONGEST: usize = 1 << 20;

/// Sizes and offsets at which readers go wrong.
const ODD_NUMBERS: [u64; 12] = [
    0,
    1,
    0x7f,
    0xff,
    0x7fff,
    0xffff,
    0x10_0000,
    0x7fff_ffff,
    0xffff_ffff,
    0x1_0000_0000,
    0x7fff_ffff_ffff_ffff,
    0xffff_ffff_ffff_ffff,
];

/// A changed copy of one of some files, in its wrapping.
pub fn mutate(numbers: &mut Numbers, seeds: &[Seed], words: &[&[u8]]) -> Vec<u8> {
    let seed = numbers.pick(seeds);
    let mut bytes = seed.content.clone();
    for _ in 0..=*numbers.pick(&[0, 0, 1, 3, 7]) {
        change(numbers, &mut bytes, seeds, words);
        bytes.truncate(LONGEST);
    }
    (seed.wrap)(bytes)
}

fn change(numbers: &mut Numbers, bytes: &mut Vec<u8>, seeds: &[Seed], words: &[&[u8]]) {
    // The tables that lead to everything else are at the start or at the end.
    let length = bytes.len();
    let at = match numbers.below(3) {
        0 => numbers.below(length.min(256)),
        1 => length - numbers.below(length.min(256)),
        _ => numbers.below(length),
    };
    let at = at.min(length);
    let span = *numbers.pick(&[4, 64, 1024]);
    let end = (at + numbers.below(span)).min(length);
    match numbers.below(9) {
        0 if at < length => bytes[at] ^= 1 << numbers.below(8),
        1 if at < length => bytes[at] = numbers.next() as u8,
        2 | 3 => {
            let number = *numbers.pick(&ODD_NUMBERS);
            let width = *numbers.pick(&[2, 4, 8]);
            let digits = match numbers.below(2) {
                0 => number.to_le_bytes()[..width].to_vec(),
                _ => number.to_be_bytes()[8 - width..].to_vec(),
            };
            overwrite(bytes, at, &digits);
        }
        4 => drop(bytes.drain(at..end)),
        5 => {
            let piece = bytes[at..end].repeat(*numbers.pick(&[1, 2, 50]));
            drop(bytes.splice(end..end, piece));
        }
        6 if !words.is_empty() => {
            let word = *numbers.pick(words);
            match numbers.below(2) {
                0 => drop(bytes.splice(at..at, word.iter().copied())),
                _ => overwrite(bytes, at, word),
            }
        }
        7 => bytes.truncate(at),
        _ => {
            let other = &numbers.pick(seeds).content;
            let from = numbers.below(other.len());
            let piece = other[from..(from + end - at).min(other.len())].to_vec();
            drop(bytes.splice(at..end, piece));
        }
    }
}

fn overwrite(bytes: &mut [u8], at: usize, new: &[u8]) {
    for (old, new) in bytes[at..].iter_mut().zip(new) {
        *old = *new;
    }
}
