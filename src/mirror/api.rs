//! The answers of the Hub's API, as far as clients load with it. Uploads are refused before they
//! get here.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use sha1::{Digest, Sha1};

use super::content;
use super::folder::{MAIN, MirrorFile, MirrorFolder, MirrorKernel};
use super::http::{MirrorAnswer, MirrorRequest};
use crate::hex;

/// The most entries of a page of a list, as on the Hub.
const PAGE: usize = 1000;

/// Answers a request.
pub fn answer(folder: &MirrorFolder, request: &MirrorRequest) -> MirrorAnswer {
    let Some(parts) = request.parts() else {
        return MirrorAnswer::refusal(400, "", "This path is not one of the Hub's");
    };
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    match &parts[..] {
        ["api", "organizations", owner, "overview"] => overview(folder, owner),
        ["api", "kernels" | "models", owner, name, rest @ ..] => {
            let Some(kernel) = folder.find(&format!("{owner}/{name}")) else {
                return no_repository();
            };
            match rest {
                [] => info(&kernel, owner, name, MAIN),
                ["revision", revision] => info(&kernel, owner, name, revision),
                ["refs"] => refs(&kernel),
                ["tree", revision, path @ ..] => tree(&kernel, request, revision, path),
                _ => no_page(),
            }
        }
        ["kernels", owner, name, "resolve", revision, path @ ..]
        | [owner, name, "resolve", revision, path @ ..] => {
            file(folder, &format!("{owner}/{name}"), revision, path)
        }
        _ => no_page(),
    }
}

fn no_page() -> MirrorAnswer {
    MirrorAnswer::refusal(404, "", "This mirror has no such page")
}

fn no_repository() -> MirrorAnswer {
    MirrorAnswer::refusal(404, "RepoNotFound", "Repository not found")
}

fn no_revision() -> MirrorAnswer {
    MirrorAnswer::refusal(404, "RevisionNotFound", "Invalid rev id")
}

fn no_entry() -> MirrorAnswer {
    MirrorAnswer::refusal(404, "EntryNotFound", "Entry not found")
}

/// An owner. NB: the client runs code of trusted publishers only; whoever sets HF_ENDPOINT to a
/// mirror trusts what it serves.
fn overview(folder: &MirrorFolder, owner: &str) -> MirrorAnswer {
    match folder.has_owner(owner) {
        false => MirrorAnswer::refusal(404, "", "Organization not found"),
        true => MirrorAnswer::json(&json!({
            "avatarUrl": "", "name": owner, "fullname": owner, "trustedKernelPublisher": true,
        })),
    }
}

fn info(kernel: &MirrorKernel, owner: &str, name: &str, revision: &str) -> MirrorAnswer {
    let Some(commit) = kernel.commit_of(revision) else {
        return no_revision();
    };
    // NB: without a list of files, which versions of huggingface_hub before 1.20 take for models.
    MirrorAnswer::json(&json!({
        "_id": "0".repeat(24), "id": format!("{owner}/{name}"), "author": owner, "sha": commit,
        "private": false, "gated": false, "downloads": 0, "likes": 0,
        "lastModified": "1970-01-01T00:00:00.000Z",
    }))
}

fn refs(kernel: &MirrorKernel) -> MirrorAnswer {
    let listed = |is_tag: bool| -> Vec<Value> {
        let folder = if is_tag { "tags" } else { "heads" };
        let refs = kernel.refs.iter().filter(|own| own.is_tag == is_tag);
        refs.map(|own| {
            let name = &own.name;
            json!({ "name": name, "ref": format!("refs/{folder}/{name}"), "targetCommit": own.commit })
        })
        .collect()
    };
    MirrorAnswer::json(&json!({
        "branches": listed(false), "converts": [], "tags": listed(true),
    }))
}

/// A page of the files and folders of a commit, below a folder.
fn tree(
    kernel: &MirrorKernel,
    request: &MirrorRequest,
    revision: &str,
    path: &[&str],
) -> MirrorAnswer {
    let Some(commit) = kernel.commit_of(revision) else {
        return no_revision();
    };
    let start = match path {
        [] => String::new(),
        path => path.join("/") + "/",
    };
    let is_recursive = request
        .query("recursive")
        .is_some_and(|value| value == "1" || value.eq_ignore_ascii_case("true"));
    let first: usize = request
        .query("cursor")
        .map_or(Ok(0), str::parse)
        .unwrap_or(usize::MAX);
    let mut seen = BTreeSet::new();
    let mut entries = Vec::new();
    let mut number = 0;
    // Only the entries of the page are made.
    let mut add = |entry: &dyn Fn() -> Value| {
        if (first..first.saturating_add(PAGE)).contains(&number) {
            entries.push(entry());
        }
        number += 1;
    };
    let files = kernel.commits[commit].range(start.clone()..);
    for (path, file) in files.take_while(|(path, _)| path.starts_with(&start)) {
        let rest = &path[start.len()..];
        for (at, _) in rest.match_indices('/') {
            let folder = &path[..start.len() + at];
            if seen.insert(folder) {
                add(&|| folder_entry(folder));
            }
            if !is_recursive {
                break;
            }
        }
        if is_recursive || !rest.contains('/') {
            add(&|| file_entry(path, file));
        }
    }
    if number == 0 && !path.is_empty() {
        return no_entry();
    }
    let answer = MirrorAnswer::json(&entries);
    let next = first.saturating_add(PAGE);
    match next < number {
        false => answer,
        true => {
            let url = request.url_with(&format!("recursive={is_recursive}&cursor={next}"));
            answer.with("link", &format!("<{url}>; rel=\"next\""))
        }
    }
}

fn folder_entry(path: &str) -> Value {
    let oid = hex(&Sha1::digest(path));
    json!({ "type": "directory", "oid": oid, "size": 0, "path": path })
}

fn file_entry(path: &str, file: &MirrorFile) -> Value {
    let size = file.identity.size;
    let mut entry = json!({ "type": "file", "oid": file.hash.blob, "size": size, "path": path });
    if let Some((sha256, pointer)) = &file.hash.large {
        entry["lfs"] = json!({ "oid": sha256, "size": size, "pointerSize": pointer });
    }
    entry
}

/// The content of a file.
fn file(folder: &MirrorFolder, name: &str, revision: &str, path: &[&str]) -> MirrorAnswer {
    let is_plain = |part: &&str| !part.contains(['/', '\\']);
    if !path.iter().all(is_plain) {
        return MirrorAnswer::refusal(400, "", "This path is not one of the Hub's");
    }
    let path = path.join("/");
    // A file that changed since its folder was looked at is looked up again.
    for find in [MirrorFolder::find, MirrorFolder::find_now] {
        let Some(kernel) = find(folder, name) else {
            return no_repository();
        };
        let Some(commit) = kernel.commit_of(revision) else {
            return no_revision();
        };
        let Some(file) = kernel.commits[commit].get(&path) else {
            return no_entry();
        };
        let Ok(opened) = content::open(&file.place, &file.identity) else {
            continue;
        };
        let size = file.identity.size;
        let large = file.hash.large.as_ref();
        let etag = large.map_or(&file.hash.blob, |(sha256, _)| sha256);
        let etag = format!("\"{etag}\"");
        let answer = MirrorAnswer::file(opened, file.identity.clone())
            .with("etag", &etag)
            .with("x-repo-commit", commit);
        return match large {
            None => answer,
            Some(_) => answer
                .with("x-linked-etag", &etag)
                .with("x-linked-size", &size.to_string()),
        };
    }
    MirrorAnswer::refusal(503, "", "The file changes at this moment").with("retry-after", "1")
}
