//! The examples in help texts: every command has some, and each is right.

use clap::{CommandFactory, Parser};
use kernel_builder::cli::Cli;

/// The commands of the examples of a help text. A comment stands two spaces behind its command,
/// a file for its output behind `>`.
fn examples(help: &str) -> Vec<&str> {
    let lines = help.lines().filter(|line| line.starts_with("  "));
    lines
        .map(|line| {
            let line = line.trim();
            let command = line.split_once("  ").map_or(line, |(command, _)| command);
            command
                .split_once(" >")
                .map_or(command, |(command, _)| command)
        })
        .collect()
}

#[test]
fn every_example_parses() {
    let program = Cli::command();
    for command in program.get_subcommands().chain([&program]) {
        let name = command.get_name();
        let help = command
            .get_after_help()
            .unwrap_or_else(|| panic!("{name} has no example"));
        let help = help.to_string();
        assert!(
            help.starts_with("Examples:\n  kernel-builder "),
            "{name}: {help}"
        );
        let examples = examples(&help);
        for example in &examples {
            let words = example
                .split_whitespace()
                .map(|word| word.replace('\'', ""));
            if let Err(error) = Cli::try_parse_from(words) {
                panic!("{example}: {error}");
            }
        }
        let own = examples.iter().filter(|example| {
            let second = example.split_whitespace().nth(1);
            second == Some(name) || name == "kernel-builder"
        });
        assert_eq!(
            own.count(),
            examples.len(),
            "{name} has another command's example"
        );
        // Clap breaks longer lines on a terminal of 80 columns.
        let widest = help.lines().filter(|line| line.starts_with("  "));
        let widest = widest.map(str::len).max().expect("an example");
        assert!(widest <= 80, "{name}: a line of {widest} columns");
    }
}
