//! A page of documentation as Markdown: its code blocks, links and headings.

use std::collections::BTreeSet;
use std::path::Path;

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

use crate::common::folder::REPOSITORY;

/// A code block.
#[derive(Debug)]
pub struct Block {
    /// The first word after the fence; empty for an indented block.
    pub language: String,
    /// Whether the second word is `full`: `make full-test` runs the block, `make test` does not.
    pub full: bool,
    pub text: String,
}

/// A page, by its path in the repository.
#[derive(Debug)]
pub struct Page {
    pub path: String,
    pub blocks: Vec<Block>,
    /// The targets of its links and pictures.
    pub links: Vec<String>,
    /// The anchors of its headings.
    pub anchors: BTreeSet<String>,
}

impl Page {
    pub fn read(path: &str) -> Self {
        let place = Path::new(REPOSITORY).join(path);
        let text =
            std::fs::read_to_string(&place).unwrap_or_else(|error| panic!("{path}: {error}"));
        let mut page = Self {
            path: path.to_owned(),
            blocks: Vec::new(),
            links: Vec::new(),
            anchors: BTreeSet::new(),
        };
        let mut block: Option<Block> = None;
        let mut heading: Option<String> = None;
        for event in Parser::new_ext(&text, Options::ENABLE_TABLES) {
            match event {
                Event::Start(Tag::CodeBlock(kind)) => block = Some(Block::of_kind(&kind)),
                Event::End(TagEnd::CodeBlock) => page.blocks.extend(block.take()),
                Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
                Event::End(TagEnd::Heading(_)) => {
                    page.anchors.extend(heading.take().as_deref().map(anchor));
                }
                Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                    page.links.push(dest_url.into_string());
                }
                Event::Text(words) | Event::Code(words) => {
                    if let Some(block) = &mut block {
                        block.text += &words;
                    } else if let Some(heading) = &mut heading {
                        heading.push_str(&words);
                    }
                }
                _ => {}
            }
        }
        page
    }

    /// The blocks of a language.
    pub fn blocks_of<'a>(&'a self, language: &'a str) -> impl Iterator<Item = &'a Block> {
        self.blocks
            .iter()
            .filter(move |block| block.language == language)
    }
}

impl Block {
    fn of_kind(kind: &CodeBlockKind<'_>) -> Self {
        let info = match kind {
            CodeBlockKind::Fenced(info) => info.as_ref(),
            CodeBlockKind::Indented => "",
        };
        let mut words = info.split(' ');
        Self {
            language: words.next().unwrap_or_default().to_owned(),
            full: words.next() == Some("full"),
            text: String::new(),
        }
    }
}

/// The anchor of a heading, as mdbook and code hosts make it.
fn anchor(heading: &str) -> String {
    let kept = |letter: &char| letter.is_alphanumeric() || " -_".contains(*letter);
    let letters = heading.chars().filter(kept);
    letters.collect::<String>().to_lowercase().replace(' ', "-")
}

/// The Markdown files below folders of this repository that git knows, sorted.
pub fn markdown_files(folders: &[&str]) -> Vec<String> {
    let output = std::process::Command::new("git")
        .current_dir(REPOSITORY)
        .arg("ls-files")
        .args(folders)
        .output()
        .expect("git on the PATH");
    let files = String::from_utf8(output.stdout).expect("UTF-8");
    let pages = files.lines().filter(|file| file.ends_with(".md"));
    pages.map(str::to_owned).collect()
}
