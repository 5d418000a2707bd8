//! Loads a kernel with the Hub's own client for Rust, and prints the folder of a branch's files.
//!
//! `rust-client OWNER NAME BRANCH [TEXT]`: `HF_ENDPOINT` names the Hub. With a text, commits it as
//! build/NOTE first.

use hf_hub::repository::{AddSource, RepoTreeEntry};
use hf_hub::{HFClientSync, HFResult};

fn main() -> HFResult<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [owner, name, branch, text @ ..] = &arguments[..] else {
        panic!("usage: rust-client OWNER NAME BRANCH [TEXT]");
    };
    let kernel = HFClientSync::new()?.kernel(owner, name);
    for text in text {
        let commit = kernel.upload_file().source(AddSource::bytes(text.clone()));
        commit.path_in_repo("build/NOTE").revision(branch).send()?;
    }
    let info = kernel.info().revision(branch).send()?;
    assert_eq!(info.id, format!("{owner}/{name}"));
    let tree = kernel.list_tree().revision(branch).recursive(true).send()?;
    let folder = kernel.snapshot_download().revision(branch).send()?;
    for entry in tree {
        if let RepoTreeEntry::File { path, size, .. } = entry {
            let file = folder.join(&path).metadata().expect("a file of the list");
            assert_eq!(file.len(), size, "{path}");
        }
    }
    println!("{}", folder.display());
    Ok(())
}
