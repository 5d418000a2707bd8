//! The book that scripts/book.sh builds of docs/: each link in it leads to a file and an anchor.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use regex_lite::Regex;

use crate::common::folder::REPOSITORY;
use crate::common::program::run;

/// A page of the book.
struct BookPage {
    links: Vec<String>,
    ids: BTreeSet<String>,
}

/// The pages of a folder, by their paths.
fn book_pages(folder: &Path) -> BTreeMap<PathBuf, BookPage> {
    let link = Regex::new(r#" (?:href|src)="([^"]*)""#).expect("an expression");
    let id = Regex::new(r#" id="([^"]*)""#).expect("an expression");
    let texts = |expression: &Regex, html: &str| -> Vec<String> {
        let found = expression.captures_iter(html);
        found.map(|captures| captures[1].to_owned()).collect()
    };
    let mut pages = BTreeMap::new();
    for file in walkdir::WalkDir::new(folder) {
        let path = file.expect("an entry").into_path();
        // NB: the links of 404.html start at the root of a server.
        if path.extension().is_none_or(|extension| extension != "html")
            || path.ends_with("404.html")
        {
            continue;
        }
        let html = std::fs::read_to_string(&path).expect("a page");
        let page = BookPage {
            links: texts(&link, &html),
            ids: texts(&id, &html).into_iter().collect(),
        };
        pages.insert(path.canonicalize().expect("a path"), page);
    }
    pages
}

#[test]
#[ignore = "installs mdbook: run by `make test`"]
fn links_of_the_book_lead_somewhere() {
    run(Command::new("scripts/book.sh").current_dir(REPOSITORY));
    let pages = book_pages(&Path::new(REPOSITORY).join("target/book"));
    let nix = |path: &&PathBuf| path.ends_with("book/nix.html");
    assert!(pages.keys().any(|path| nix(&path)));
    let mut wrong = Vec::new();
    for (path, page) in &pages {
        for link in page.links.iter().filter(|link| !link.contains(':')) {
            let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
            let target = match file {
                "" => Ok(path.clone()),
                file => path.parent().expect("a folder").join(file).canonicalize(),
            };
            let has_anchor = |target: &PathBuf| {
                let there = pages.get(target);
                anchor.is_empty() || there.is_some_and(|page| page.ids.contains(anchor))
            };
            if !target.as_ref().is_ok_and(has_anchor) {
                wrong.push(format!("{}: {link}", path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
