//! The pages of docs/ as a reader uses them: each code block is run, or compared with what it shows
//! or describes; each link leads somewhere; the book builds. README.md's own commands are not here.

#[path = "../common/mod.rs"]
mod common;

mod blocks;
mod book;
mod docker;
mod jobs;
mod links;
mod page;
mod strangers;
