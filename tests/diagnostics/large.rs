//! Files with as many mistakes as they have lines. All are counted, the first ones are shown, and
//! no check looks at all of them for each: these files took minutes and a gigabyte of memory.

use std::fmt::Write;

use kernel_builder::problem::{MAX_SHOWN, Problems, RenderOptions, code};

use crate::fixture::{Fixture, RELU};

/// A list of texts in TOML.
fn list(items: impl Iterator<Item = String>) -> String {
    items.fold(String::new(), |mut list, item| {
        write!(list, "\"{item}\", ").expect("written");
        list
    })
}

fn problems(text: &str) -> Problems {
    let (_, problems) = Fixture::new().check(text.as_bytes());
    problems
}

#[test]
fn all_mistakes_are_counted_and_the_first_are_shown() {
    const MANY: usize = 20_000;
    let numbers = || 0..MANY;
    let sources =
        |items: String| RELU.replace("\"csrc/relu.cu\"", &format!("\"csrc/relu.cu\", {items}"));
    let capabilities = |items: String| {
        RELU.replace(
            "src = [\"csrc/relu.cu\"]",
            &format!("src = [\"csrc/relu.cu\"]\ncuda-capabilities = [\"9.0\", {items}]"),
        )
    };
    let lines = |line: &dyn Fn(usize) -> String| numbers().map(line).collect::<String>();
    let keys = RELU.replace(
        "[torch]",
        &format!("{}[torch]", lines(&|n| format!("key{n} = 1\n"))),
    );
    let sections = format!(
        "{RELU}{}",
        lines(&|n| format!("[kernel.s{n}]\nbackend = \"none\"\n"))
    );
    for (text, code) in [
        (
            sources(list(numbers().map(|_| "csrc/relu.cu".to_owned()))),
            code::SOURCE_TWICE,
        ),
        (
            sources(list(numbers().map(|n| format!("csrc/{n}.cu")))),
            code::PATH_MISSING,
        ),
        (
            capabilities(list(numbers().map(|_| "9.0".to_owned()))),
            code::LISTED_TWICE,
        ),
        (
            capabilities(list(numbers().map(|_| "1.0".to_owned()))),
            code::CAPABILITY,
        ),
        (keys, code::UNKNOWN_KEY),
        (sections, code::UNKNOWN_VALUE),
    ] {
        let problems = problems(&text);
        let found = problems.iter().filter(|problem| problem.code == code);
        assert_eq!(found.count(), MANY, "{code}");
        let all = problems.iter().count();
        let shown = problems.render(RenderOptions::default());
        let more = format!(
            "and {} more: `kernel-builder check-config --json` lists all",
            all - MAX_SHOWN
        );
        assert!(shown.contains(&more), "{code}");
        assert!(shown.len() < 1_000_000, "{code}: {} bytes", shown.len());
        let json = problems.to_json();
        assert_eq!(json["problems"].as_array().map(Vec::len), Some(all));
    }
}

/// An error behind a hundred warnings must be seen.
#[test]
fn errors_are_shown_before_warnings() {
    let twice = list((0..500).map(|_| "csrc/relu.cu".to_owned()));
    let text = RELU.replace("\"csrc/relu.cu\"", &format!("\"csrc/relu.cu\", {twice}"));
    let text = text.replace("csrc/relu_cpu.cpp", "csrc/gone.cpp");
    let shown = problems(&text).render(RenderOptions::default());
    assert!(shown.contains("`csrc/gone.cpp` does not exist"), "{shown}");
    assert!(shown.contains("1 error and 500 warnings in build.toml"));
}

/// A text of 200 kB was compared with every license, and shown.
#[test]
fn a_long_text_is_neither_compared_nor_shown() {
    let long = "MIT OR ".repeat(30_000) + "MIT";
    let problems = problems(&RELU.replace("Apache-2.0", &long));
    let codes: Vec<_> = problems.iter().map(|problem| problem.code).collect();
    assert_eq!(codes, [code::LICENSE_ODD]);
    let shown = problems.render(RenderOptions::default());
    assert!(shown.contains("in line 5"), "{shown}");
    assert!(shown.len() < 2000, "{} bytes", shown.len());
}
