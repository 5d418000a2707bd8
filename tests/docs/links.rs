//! Links between the pages of this repository, on the files themselves.

use std::path::{Component, Path, PathBuf};

use clap::CommandFactory;
use kernel_builder::cli::Cli;

use crate::common::folder::REPOSITORY;
use crate::page::{Page, markdown_files};

/// The path of a link's target, relative to the repository; `None` if the link leaves it.
fn target(page: &str, link: &str) -> Option<PathBuf> {
    let folder = Path::new(page).parent().expect("a folder");
    let mut path = PathBuf::new();
    for component in folder.join(link).components() {
        match component {
            Component::ParentDir if !path.pop() => return None,
            Component::ParentDir => {}
            other => path.push(other),
        }
    }
    Some(path)
}

#[test]
fn links_of_pages_lead_to_files_and_headings() {
    let pages = markdown_files(&[]);
    assert!(pages.contains(&"docs/nix.md".to_owned()), "{pages:?}");
    let mut wrong = Vec::new();
    for name in &pages {
        for link in Page::read(name).links {
            if link.contains("://") {
                continue;
            }
            let (path, anchor) = link.split_once('#').unwrap_or((&link, ""));
            let found = match path {
                "" => Some(PathBuf::from(name)),
                path => target(name, path),
            };
            let is_right = found.is_some_and(|found| {
                let found = found.to_str().expect("UTF-8");
                Path::new(REPOSITORY).join(found).exists()
                    && (anchor.is_empty() || Page::read(found).anchors.contains(anchor))
            });
            if !is_right {
                wrong.push(format!("{name}: {link}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_page_is_in_the_book_and_in_the_readme() {
    let listed = Page::read("docs/SUMMARY.md").links;
    let in_readme = Page::read("README.md").links;
    for name in markdown_files(&["docs"]) {
        let in_book = name.strip_prefix("docs/").expect("a page");
        if in_book == "SUMMARY.md" {
            continue;
        }
        assert!(listed.iter().any(|link| link == in_book), "{name}");
        let below = in_book.contains('/');
        assert!(
            below || in_readme.contains(&name),
            "{name} is not in README.md"
        );
    }
}

/// README.md is short, and names each command.
#[test]
fn the_readme_names_every_command_in_at_most_120_lines() {
    let text = std::fs::read_to_string(Path::new(REPOSITORY).join("README.md")).expect("README.md");
    let lines = text.lines().count();
    assert!(lines <= 120, "{lines} lines");
    for command in Cli::command().get_subcommands() {
        let name = command.get_name();
        let named = text.contains(&format!("`{name}`")) || text.contains(&format!("`{name} "));
        assert!(named || command.is_hide_set(), "{name} is not named");
    }
}
