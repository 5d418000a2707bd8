//! Sources that do not answer, and programs that are not there: one error for all files, soon.

use std::process::Output;

use crate::common::program::words;
use serde_json::{Value, json};

use crate::index::{GAMMA, Index, SIZE, events};

/// The pins of an index, and ten more of each of pip's and apt's files.
fn pin_many(index: &Index) {
    let mut archives = vec![index.alpha(), index.gamma(), index.delta()];
    for number in 0..10 {
        for (kind, file) in [
            ("wheel", format!("alpha{number}-1.0-py3-none-any.whl")),
            ("deb", format!("delta{number}_1.0_all.deb")),
        ] {
            index.write(&format!("files/{file}"), &file);
            let name = file.split(['-', '_']).next().expect("a name");
            archives.push(index.archive(kind, name, &file, &[]));
        }
    }
    index.pin_with_headers(&archives);
}

/// The first lines of the errors that a person reads.
fn errors(output: &Output) -> Vec<String> {
    let said = words(output);
    let lines = said
        .lines()
        .filter_map(|line| line.trim().strip_prefix("× "));
    lines.map(str::to_owned).collect()
}

/// It was five and a half minutes of silence, then 477 lines.
#[test]
fn an_index_that_cannot_be_reached_is_one_error_for_all_its_files() {
    let index = Index::new();
    pin_many(&index);
    index.write("sources.list", "deb [trusted=yes] http://apt.invalid/ ./\n");
    let mut command = index.fetch_command(&["--json"]);
    command.env("PIP_INDEX_URL", "http://index.invalid/simple");
    let output = command.output().expect("run");
    let said = words(&output);
    assert_eq!(output.status.code(), Some(3), "{said}");
    let errors = errors(&output);
    assert_eq!(errors.len(), 3, "{said}");
    assert!(
        errors[0].starts_with("failed to fetch 12 files: index.invalid: "),
        "{said}"
    );
    assert!(
        errors[1].starts_with("failed to fetch 11 files: apt's sources: "),
        "{said}"
    );
    assert!(
        errors[2].starts_with("failed to fetch 23 of the toolchains' files"),
        "{said}"
    );
    assert!(said.contains("no answer from index.invalid ("), "{said}");
    assert!(said.lines().count() <= 30, "{said}");
    // The vendor's file is there.
    let events = events(&output);
    let names = |kind: &str| -> Vec<&Value> {
        let found = events.iter().filter(|event| event["event"] == kind);
        found.collect()
    };
    assert_eq!(names("fetch_started")[0]["files"], 24);
    assert_eq!(
        names("fetched"),
        [&json!({ "event": "fetched", "name": GAMMA })]
    );
    let unanswered = names("unanswered");
    let mut sources = unanswered.iter().map(|event| &event["source"]);
    assert!(sources.any(|source| source == "index.invalid"), "{said}");
    let failed = names("fetch_failed");
    let files = failed[0]["files"].as_array().expect("names");
    assert_eq!(files.len(), 12);
    assert!(files.contains(&json!("beta-headers")), "{files:?}");
    assert_eq!(failed[1]["code"], "pins::download");
    assert_eq!(names("finished").len(), 0);
}

#[test]
fn an_index_that_accepts_and_never_answers_is_given_up() {
    let index = Index::new();
    pin_many(&index);
    index.behave(&json!({ "silent": true }));
    let output = index.fetch(&[]);
    let said = words(&output);
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(said.contains("24 of the toolchains' files"), "{said}");
    assert!(said.contains(": nothing came for 2 s"), "{said}");
    assert!(errors(&output).len() <= 4, "{said}");
    assert!(index.sent().is_empty());
    // It answers again.
    index.behave(&json!({}));
    index.pin_with_headers(&[index.alpha(), index.gamma(), index.delta()]);
    index.succeed(&[]);
}

/// It was one error and one help for each of 27 files.
#[test]
fn a_machine_without_apt_or_python_is_one_error_each() {
    for (program, kind, count) in [("apt-get", "deb", 11), ("python3", "wheel", 12)] {
        let index = Index::new();
        pin_many(&index);
        let mut command = index.fetch_command(&["--json"]);
        command.env("PATH", index.programs_without(program));
        let output = command.output().expect("run");
        let said = words(&output);
        assert_eq!(output.status.code(), Some(3), "{kind}: {said}");
        let missing = format!("failed to find {program}, which fetches");
        assert_eq!(said.matches(&missing).count(), 1, "{kind}: {said}");
        let total = format!("failed to fetch {count} of the toolchains' files");
        assert!(said.contains(&total), "{kind}: {said}");
        let events = events(&output);
        let failed = events.iter().find(|event| event["code"] == "pins::program");
        let failed = failed.expect("an event");
        assert_eq!(
            failed["files"].as_array().map(Vec::len),
            Some(count),
            "{said}"
        );
    }
}

#[test]
fn events_tell_of_each_file_and_end_with_the_report() {
    let index = Index::new();
    let output = index.fetch(&["--json"]);
    let events = events(&output);
    let kinds: Vec<&str> = events
        .iter()
        .filter_map(|event| event["event"].as_str())
        .filter(|kind| *kind != "fetch_progress")
        .collect();
    assert_eq!(
        kinds,
        [
            "fetch_started",
            "fetched",
            "fetched",
            "fetched",
            "fetched",
            "finished"
        ]
    );
    let started = &events[0];
    assert_eq!(
        (&started["files"], &started["unknown_sizes"]),
        (&json!(4), &json!(0))
    );
    let announced = started["download"].as_u64().expect("bytes");
    assert!(announced > 3 * SIZE as u64, "{started}");
    // Without a terminal, each of few files is a line.
    let said = words(&output);
    for number in 1..=4 {
        assert!(said.contains(&format!("[{number}/4] ")), "{said}");
    }
    assert!(
        said.contains(" MB and apt's package lists to download, "),
        "{said}"
    );
    index.forget();
    let refused = index.fetch(&["--json", "--offline"]);
    let last = crate::index::events(&refused).pop().expect("an event");
    assert_eq!(last["event"], "fetch_failed");
    assert_eq!(last["code"], "pins::offline");
}
