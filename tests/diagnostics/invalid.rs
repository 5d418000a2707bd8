//! One mistake, one located report: each case edits a kernel without mistakes in one place.

use std::collections::BTreeSet;

use kernel_builder::problem::{Problems, RenderOptions, code};

use crate::cases::{Case, GENERAL, SECTIONS, SHAPE, WIDE_CASES};
use crate::fixture::{Fixture, RELU, WIDE};
use crate::old_cases::{OLD, OldCase};

/// Every case of edition 5: its name, and the good file with its edit.
pub fn cases() -> Vec<(&'static str, String)> {
    let edited = |file: &str, (name, from, to): &Case| {
        assert!(file.contains(from), "{name}: nothing to replace");
        (*name, file.replacen(from, to, 1))
    };
    let small = [SHAPE, GENERAL, SECTIONS].into_iter().flatten();
    let small = small.map(|case| edited(RELU, case));
    let wide = WIDE_CASES.iter().map(|case| edited(WIDE, case));
    small.chain(wide).collect()
}

#[test]
fn every_mistake_is_reported_once_and_where_it_is() {
    let fixture = Fixture::new();
    fixture.write("csrc/relu_gpu.cu", "");
    let mut cascades = Vec::new();
    for (name, text) in cases() {
        let (kernel, problems) = fixture.check(text.as_bytes());
        let rendered = problems.render(RenderOptions::default());
        insta::assert_snapshot!(name, rendered);
        assert_eq!(kernel.is_some(), !problems.has_errors(), "{name}");
        if problems.iter().count() != 1 {
            cascades.push((name, problems.summary()));
        }
        for problem in problems.iter() {
            assert!(!problem.help.is_empty(), "{name} has no cure");
            assert!(
                !problem.message.ends_with('.'),
                "{name} ends with a full stop"
            );
        }
    }
    // A second report would be a consequence of the first and send the reader astray.
    assert!(cascades.is_empty(), "{cascades:#?}");
}

/// The file of an old format with the edit of one case.
pub fn edited_old((name, file, from, to): OldCase) -> String {
    assert!(file.contains(from), "{name}: nothing to replace");
    file.replacen(from, to, 1)
}

/// The problems of a file, without the one that every file of an old format has.
fn own(problems: &Problems) -> Problems {
    let mut own = Problems::new(problems.name(), problems.text());
    let general = [code::OLD_EDITION, code::ASSUMED];
    for problem in problems.iter().filter(|p| !general.contains(&p.code)) {
        own.push(problem.clone());
    }
    own
}

#[test]
fn mistakes_in_old_formats_are_mistakes_of_that_format() {
    let fixture = Fixture::new();
    fixture.write("torch-ext/my_relu/__init__.py", "");
    for (name, file, ..) in OLD {
        let (kernel, problems) = fixture.check(file.as_bytes());
        assert!(own(&problems).is_empty(), "{name}");
        assert!(kernel.is_some(), "{name}");
    }
    let mut cascades = Vec::new();
    for case in OLD.iter().copied() {
        let (name, ..) = case;
        let (kernel, problems) = fixture.check(edited_old(case).as_bytes());
        assert_eq!(kernel.is_some(), !problems.has_errors(), "{name}");
        let own = own(&problems);
        if own.iter().count() != 1 {
            cascades.push((name, own.summary()));
        }
        assert!(own.iter().all(|p| !p.help.is_empty()), "{name}");
        // How the file was read is part of every report.
        let read_as = |p: &&kernel_builder::problem::Problem| p.code == code::OLD_EDITION;
        let read_as = problems.iter().find(read_as).map_or("", |p| &p.message);
        let rendered = own.render(RenderOptions::default());
        insta::assert_snapshot!(name, format!("{read_as}\n\n{rendered}"));
    }
    assert!(cascades.is_empty(), "{cascades:#?}");
}

/// A code without a case is either dead or untested.
#[test]
fn every_code_has_a_case() {
    let fixture = Fixture::new();
    fixture.write("csrc/relu_gpu.cu", "");
    let mut seen = BTreeSet::new();
    let texts = cases().into_iter().map(|(_, text)| text.into_bytes());
    let texts = texts.chain(OLD.iter().map(|case| edited_old(*case).into_bytes()));
    for text in texts.chain([b"name = \"\xff\"".to_vec()]) {
        let (_, problems) = fixture.check(&text);
        seen.extend(problems.iter().map(|p| p.code));
    }
    // tests/diagnostics/loading.rs has these, which need odd files.
    seen.extend([code::PYTHON_LINK, code::PATH_SPECIAL]);
    // KB0xxx are the codes of build.toml; later stages have their own tests.
    let all = code::ALL
        .iter()
        .copied()
        .filter(|c| c.id.starts_with("KB0"));
    let unseen: Vec<_> = all.filter(|code| !seen.contains(code)).collect();
    assert!(unseen.is_empty(), "no case for {unseen:?}");
}

const FIVE_MISTAKES: &str = r#"[general]
name = "relu"
version = "1"
edition = 5
license = "Apache-2.0"
backends = ["cuda"]

[torch]
src = ["torch-ext/torch_binding.cpp"]
min-ver = "2.9"

[kernel.relu]
backend = "cuda"
depends = ["torch"]
src = ["csrc/rellu.cu"]
cuda-capabilities = ["7.5", "banana"]
include = ["/usr/include"]
"#;

#[test]
fn five_mistakes_are_five_reports() {
    let (kernel, problems) = Fixture::new().check(FIVE_MISTAKES.as_bytes());
    assert!(kernel.is_none());
    assert_eq!(problems.error_count(), 5);
    insta::assert_snapshot!("five-mistakes", problems.render(RenderOptions::default()));
    let json = serde_json::to_string_pretty(&problems.to_json()).expect("JSON");
    insta::assert_snapshot!("five-mistakes-json", json);
}

/// The parser alone stops at the first of these.
#[test]
fn syntax_errors_do_not_hide_each_other_or_the_rest() {
    let text = RELU
        .replace("version = 1", "version 1")
        .replace("depends = [\"torch\"]", "depends = torch")
        .replace("backend = \"cuda\"", "backend = \"cudaa\"");
    let (kernel, problems) = Fixture::new().check(text.as_bytes());
    assert!(kernel.is_none());
    insta::assert_snapshot!("syntax-and-more", problems.render(RenderOptions::default()));
}

#[test]
fn bytes_that_are_not_utf8() {
    let (_, problems) = Fixture::new().check(b"[general]\nname = \"re\xfflu\"\n");
    insta::assert_snapshot!("not-utf8", problems.render(RenderOptions::default()));
}

#[test]
fn an_empty_file() {
    let (_, problems) = Fixture::new().check(b"");
    insta::assert_snapshot!("empty-file", problems.render(RenderOptions::default()));
}

/// Columns count characters, and characters that could steer a terminal are not passed on.
#[test]
fn odd_characters() {
    let odd = RELU.replace(
        "src = [\"csrc/relu.cu\"]",
        "src = [\"csrc/größe\u{85}.cu\", \"\\u001b[31m\", \"/ä\u{202e}\"]",
    );
    let escape = RELU.replace("version = 1", "version = 1 # \u{1b}[31m");
    for (name, text) in [("odd-characters", odd), ("escape-sequence", escape)] {
        let (_, problems) = Fixture::new().check(text.as_bytes());
        let rendered = problems.render(RenderOptions::default());
        assert!(!rendered.contains(['\u{1b}', '\u{85}', '\u{202e}']));
        insta::assert_snapshot!(name, rendered);
    }
}

/// A section with a mistake of its own once hid that another backend had none.
#[test]
fn mistakes_in_one_section_do_not_hide_those_of_others() {
    let text = RELU.replace("backend = \"cpu\"", "backend = \"cuda\"\nfoo = 1");
    let (_, problems) = Fixture::new().check(text.as_bytes());
    let codes: Vec<_> = problems.iter().map(|p| p.code).collect();
    assert_eq!(codes, [code::BACKEND_WITHOUT_SECTION, code::UNKNOWN_KEY]);
}

#[cfg(unix)]
#[test]
fn a_link_out_of_the_kernel() {
    let fixture = Fixture::new();
    let outside = tempfile::NamedTempFile::new().expect("a file");
    std::os::unix::fs::symlink(outside.path(), fixture.root().join("csrc/link.cu"))
        .expect("a link");
    let text = RELU.replace("csrc/relu.cu", "csrc/link.cu");
    let (_, problems) = fixture.check(text.as_bytes());
    insta::assert_snapshot!("link-escapes", problems.render(RenderOptions::default()));
}
