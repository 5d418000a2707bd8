//! The files of tests/corpus, some of every edition; they are also the seeds of the fuzz target.

use camino::Utf8Path;

use super::{assert_kept, updated};
use crate::fixture::Fixture;

/// Names and texts, in order.
pub fn corpus() -> Vec<(String, String)> {
    let dir = Utf8Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus");
    let entries = dir.read_dir_utf8().expect("the corpus");
    let mut files: Vec<_> = entries
        .map(|entry| {
            let entry = entry.expect("an entry");
            let text = std::fs::read_to_string(entry.path()).expect("a text");
            (entry.file_name().to_owned(), text)
        })
        .collect();
    files.sort();
    files
}

#[test]
fn every_edition() {
    let fixture = Fixture::new();
    let mut rewritten = 0;
    let mut kernels = 0;
    for (name, text) in corpus() {
        let new = updated(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(new.is_none(), name.starts_with("v5"), "{name}");
        if let Some(new) = new {
            assert_kept(&fixture, &text, &new);
            insta::assert_snapshot!(name.trim_end_matches(".toml"), new.replace('\r', "␍"));
            rewritten += 1;
            kernels += usize::from(fixture.check(new.as_bytes()).0.is_some());
        }
    }
    assert!(rewritten >= 14, "{rewritten}");
    assert!(kernels >= 6, "{kernels}");
}

/// "13.0" once became "13", and every CUDA 13.0 variant was lost.
#[test]
fn versions_keep_their_zeros() {
    let (_, text) = corpus()
        .into_iter()
        .find(|(name, _)| name == "v2.toml")
        .expect("v2");
    let new = updated(&text).expect("no error").expect("an old file");
    assert!(
        new.contains("minver = \"12.0\" # old\nmaxver = \"13.0\" # new\n"),
        "{new}"
    );
    assert!(new.contains("maxver = \"2.10\" # not 2.1\n"), "{new}");
}

/// A section with a mistake was once dropped, and the file rewritten without it.
#[test]
fn a_file_with_a_mistake_is_refused() {
    for (name, text) in corpus() {
        let text = text.replace("src = [", "scr = [");
        if text.contains("scr = [") && !name.starts_with("v5") {
            assert!(updated(&text).is_err(), "{name}");
        }
    }
}
