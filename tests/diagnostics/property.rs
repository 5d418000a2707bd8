//! Whatever the text, reading it ends with a kernel or with located problems, never with a panic.

use kernel_builder::manifest::Manifest;
use kernel_builder::problem::{Problems, RenderOptions};
use proptest::prelude::*;

use crate::fixture::{Fixture, RELU, WIDE};
use crate::old_cases::{V1, V2, V3, V4};

const FILES: [&str; 6] = [RELU, WIDE, V1, V2, V3, V4];

/// Both forms of the report can be made, and every span is inside the text.
fn assert_sound(problems: &Problems) {
    for problem in problems.iter() {
        let span = &problem.place.span;
        assert!(span.start <= span.end, "{problem:?}");
        assert!(span.end <= problems.text().len(), "{problem:?}");
    }
    let rendered = problems.render(RenderOptions::default());
    assert_eq!(rendered.is_empty(), problems.is_empty());
    assert!(!rendered.contains('\u{1b}'));
    problems.to_json();
}

/// A small edit of a good file: some bytes go, some text comes.
fn mutated() -> impl Strategy<Value = String> {
    let fragment = prop_oneof![
        Just("[".to_owned()),
        Just("]]".to_owned()),
        Just("\"".to_owned()),
        Just("'''".to_owned()),
        Just("=".to_owned()),
        Just("{ a.b = 1, }".to_owned()),
        Just("\n[kernel.x]\n".to_owned()),
        Just("\n[[general]]\n".to_owned()),
        Just("a.b.c".to_owned()),
        Just("\u{1b}[31mä\r".to_owned()),
        "\\PC{0,8}",
    ];
    let edit = (any::<prop::sample::Index>(), 0..12_usize, fragment);
    let edits = prop::collection::vec(edit, 1..5);
    (prop::sample::select(&FILES[..]), edits).prop_map(|(file, edits)| {
        edits
            .iter()
            .fold(file.to_owned(), |mut text, (at, length, new)| {
                let at = at.index(text.len() + 1);
                let floor = |mut at: usize| {
                    while !text.is_char_boundary(at) {
                        at -= 1;
                    }
                    at
                };
                let start = floor(at.min(text.len()));
                let end = floor((start + length).min(text.len())).max(start);
                text.replace_range(start..end, new);
                text
            })
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn arbitrary_bytes(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        assert_sound(&Manifest::read("build.toml", &bytes).problems);
    }

    #[test]
    fn arbitrary_text(text in "(?s).{0,200}") {
        assert_sound(&Manifest::read("build.toml", text.as_bytes()).problems);
    }

    #[test]
    fn arbitrary_toml_signs(text in "[\\[\\]{}=.,\"'#\n a-c1-]{0,60}") {
        assert_sound(&Manifest::read("build.toml", text.as_bytes()).problems);
    }

    #[test]
    fn mutated_files(text in mutated()) {
        let (kernel, problems) = Fixture::new().check(text.as_bytes());
        assert_sound(&problems);
        prop_assert_eq!(kernel.is_some(), !problems.has_errors());
    }
}

/// Values of one edition in the keys of another.
fn mixed() -> impl Strategy<Value = String> {
    let lines: Vec<&str> = FILES.iter().flat_map(|file| file.lines()).collect();
    prop::collection::vec(prop::sample::select(lines), 0..30).prop_map(|lines| lines.join("\n"))
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn mixed_editions(text in mixed()) {
        let (kernel, problems) = Fixture::new().check(text.as_bytes());
        assert_sound(&problems);
        prop_assert_eq!(kernel.is_some(), !problems.has_errors());
    }
}

#[test]
fn deep_nesting() {
    for text in ["[", "{a=", "[a.", "a."] {
        let text = format!("x = {}", text.repeat(20_000));
        assert_sound(&Manifest::read("build.toml", text.as_bytes()).problems);
    }
}
