//! Mutated files: whatever the text, reading and rewriting it ends, without a panic, in a rewritten
//! file or in located problems. `make fuzz` runs it for FUZZ_MINUTES; without that variable it is a
//! short run for every day.

use std::panic::catch_unwind;
use std::time::{Duration, Instant};

use kernel_builder::manifest::Manifest;
use kernel_builder::manifest::update::{UpdateError, flake, update};

use super::corpus::corpus;
use crate::cases::{Case, GENERAL, SECTIONS, SHAPE, WIDE_CASES};
use crate::common::numbers::Numbers;
use crate::fixture::{RELU, WIDE};

const FRAGMENTS: &[&str] = &[
    "[",
    "]",
    "[[",
    "]]",
    "{",
    "}",
    "\"",
    "'''",
    "\"\"\"",
    "=",
    ".",
    ",",
    "\n",
    "\r\n",
    "\r",
    "#",
    "# c\n",
    "\\u0000",
    "\u{feff}",
    "[kernel.x]\n",
    "[[general]]\n",
    "[general.cuda]\n",
    "edition = 5\n",
    "universal = true\n",
    "language = \"cuda-hipify\"\n",
    "cuda-minver = \"12.0\"\n",
    "a.b.c = 1\n",
    "{ a = 1, }",
    "1e9",
    "0x10",
    "1979-05-27",
    "true",
    "-1",
    "9223372036854775808",
    "kernel.relu.",
    "_rocm",
    "torch",
    "ä\u{202e}",
    "\u{0}",
    "nan",
];

fn seeds() -> Vec<String> {
    let edit = |good: &str, (_, from, to): &Case| good.replacen(from, to, 1);
    let relu = [SHAPE, GENERAL, SECTIONS].into_iter().flatten();
    let edited = relu.map(|case| edit(RELU, case));
    let edited = edited.chain(WIDE_CASES.iter().map(|case| edit(WIDE, case)));
    corpus()
        .into_iter()
        .map(|(_, text)| text)
        .chain(edited)
        .collect()
}

fn mutate(numbers: &mut Numbers, seeds: &[String], corpus_size: usize) -> Vec<u8> {
    // The corpus comes first in the seeds, and only its files are rewritten: half of the time one
    // of them.
    let some = [seeds.len(), corpus_size][numbers.below(2)];
    let mut bytes = seeds[numbers.below(some)].clone().into_bytes();
    // One small change leaves many files without an error, and only such files are rewritten.
    for _ in 0..=[0, 0, 1, 5][numbers.below(4)] {
        let at = numbers.below(bytes.len() + 1);
        let end = (at + numbers.below(24)).min(bytes.len());
        match numbers.below(7) {
            0 => drop(bytes.drain(at..end)),
            1 => drop(bytes.splice(at..at, FRAGMENTS[numbers.below(FRAGMENTS.len())].bytes())),
            2 => drop(bytes.splice(at..end, FRAGMENTS[numbers.below(FRAGMENTS.len())].bytes())),
            3 => bytes.insert(at, numbers.below(256) as u8),
            4 => {
                // A line of another file.
                let other = &seeds[numbers.below(seeds.len())];
                let lines: Vec<&str> = other.lines().collect();
                let line = lines
                    .get(numbers.below(lines.len()))
                    .copied()
                    .unwrap_or_default();
                let start = bytes[..at]
                    .iter()
                    .rposition(|b| *b == b'\n')
                    .map_or(0, |n| n + 1);
                drop(bytes.splice(start..start, format!("{line}\n").bytes()));
            }
            5 => {
                // A piece twice.
                let piece = bytes[at..end].to_vec();
                drop(bytes.splice(end..end, piece));
            }
            _ => {
                // Two lines change places.
                let mut lines: Vec<Vec<u8>> =
                    bytes.split(|b| *b == b'\n').map(<[u8]>::to_vec).collect();
                let (a, b) = (numbers.below(lines.len()), numbers.below(lines.len()));
                lines.swap(a, b);
                bytes = lines.join(&b'\n');
            }
        }
    }
    bytes
}

/// Reads and rewrites; whether the file was rewritten.
fn run(bytes: &[u8]) -> bool {
    let manifest = Manifest::read("build.toml", bytes);
    manifest.problems.render(Default::default());
    let text = String::from_utf8_lossy(bytes);
    let _ = flake::update("flake.nix", &text);
    match update(&manifest, &text) {
        Ok(Some(updated)) => {
            let again = Manifest::read("build.toml", updated.text.as_bytes());
            assert!(
                matches!(update(&again, &updated.text), Ok(None)),
                "a second run changes it"
            );
            true
        }
        Ok(None) => false,
        Err(UpdateError::Problems(problems)) => {
            assert!(problems.has_errors(), "refused without an error");
            false
        }
        Err(error) => panic!("{error}"),
    }
}

fn fuzz(seed: u64, length: Duration) {
    let seeds = seeds();
    let corpus_size = corpus().len();
    let mut numbers = Numbers::new(seed);
    let start = Instant::now();
    let (mut files, mut rewritten, mut slowest) = (0_u64, 0_u64, Duration::ZERO);
    while start.elapsed() < length {
        let bytes = mutate(&mut numbers, &seeds, corpus_size);
        let before = Instant::now();
        let outcome = catch_unwind(|| run(&bytes));
        slowest = slowest.max(before.elapsed());
        let Ok(changed) = outcome else {
            let path = concat!(env!("CARGO_TARGET_TMPDIR"), "/fuzz-finding.toml");
            std::fs::write(path, &bytes).expect("written");
            panic!(
                "seed {seed}, file {files}: see {path}\n{}",
                String::from_utf8_lossy(&bytes)
            );
        };
        rewritten += u64::from(changed);
        files += 1;
    }
    println!("{files} files, {rewritten} rewritten, slowest {slowest:?}, seed {seed}");
}

#[test]
fn mutated_files() {
    fuzz(1, Duration::from_secs(1));
}

#[test]
#[ignore = "as long as FUZZ_MINUTES says; `make fuzz`"]
fn mutated_files_for_minutes() {
    let minutes = std::env::var("FUZZ_MINUTES")
        .ok()
        .and_then(|n| n.parse().ok());
    let seed = std::env::var("FUZZ_SEED").ok().and_then(|n| n.parse().ok());
    fuzz(
        seed.unwrap_or(2),
        Duration::from_secs(60 * minutes.unwrap_or(10)),
    );
}

/// Prints how long files of 1, 2, 4 and 8 times a size take; a reader looks whether the times
/// double as well.
#[test]
#[ignore = "prints times"]
fn time_by_size() {
    let base = 500;
    for old in [false, true] {
        for factor in [1, 2, 4, 8] {
            let text = large(base * factor, old);
            let start = Instant::now();
            let manifest = Manifest::read("build.toml", text.as_bytes());
            let read = start.elapsed();
            let start = Instant::now();
            let updated = update(&manifest, &text).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(updated.is_some(), old);
            let format = if old { "v1, hipify" } else { "edition 5" };
            println!(
                "{format}: {} sections, {} bytes: read {read:?}, update {:?}",
                base * factor,
                text.len(),
                start.elapsed()
            );
        }
    }
    for (name, piece) in [
        ("broken lines", "x 1\n"),
        ("unknown keys", "x\u{e9}y = [1"),
        ("open brackets", "["),
    ] {
        for factor in [1, 2, 4, 8] {
            let text = format!("[general]\n{}", piece.repeat(2_000 * factor));
            let start = Instant::now();
            let problems = Manifest::read("build.toml", text.as_bytes()).problems;
            println!(
                "{name}: {} bytes: {:?}, {}",
                text.len(),
                start.elapsed(),
                problems.summary()
            );
        }
    }
}

fn large(sections: usize, old: bool) -> String {
    let mut text = match old {
        true => "[general]\nname = \"large\"\n".to_owned(),
        false => "[general]\nname = \"large\"\nedition = 5\nversion = 1\nlicense = \"MIT\"\nbackends = [\"cuda\"]\n".to_owned(),
    };
    text.push_str("[torch]\nsrc = [\"b.cpp\"]\n");
    let key = if old {
        "language = \"cuda-hipify\""
    } else {
        "backend = \"cuda\""
    };
    for n in 0..sections {
        text.push_str(&format!(
            "# {n}\n[kernel.s{n}]\n{key}\ndepends = [\"torch\"]\nsrc = [\"a{n}.cu\", \"b{n}.cu\"]\n"
        ));
    }
    text
}
