//! Publishing after a plan (upload_plan.rs): the transfer of files, and one commit at the end that
//! switches the branch from the old build to the new one. A killed run leaves the old build as it
//! was, and the next run transfers only the files that are still missing.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io::{Read, Write};
use std::sync::{Mutex, PoisonError};

use base64::engine::general_purpose::STANDARD;
use base64::write::EncoderWriter;
use camino::Utf8Path;
use serde_json::json;

use super::api::{HubCommit, HubEntry, LFS_JSON, LargeFile, LfsAction, UploadMode, get, post};
use super::client::{HubBody, HubClient, HubRequest};
use super::error::HubError;
use super::upload_plan::{
    MAIN, PullRequest, UploadFile, UploadOptions, UploadPlan, UploadResult, UploadStatus, blob_id,
};
use crate::terminal::{count, status};

/// Transfers at a time.
const WORKERS: usize = 4;

/// The words of every commit.
const MESSAGE: &str = "Uploaded using `kernel-builder`.";

/// Does the operations of a plan.
///
/// # Errors
/// `HubError`; the branch then has its old files, unless the error says otherwise.
pub fn upload(
    client: &HubClient,
    plan: &UploadPlan,
    options: &UploadOptions,
) -> Result<UploadResult, HubError> {
    let mut result = plan.result(client, options);
    if plan.is_empty() {
        return Ok(result);
    }
    if !options.as_request {
        client.create_repository(&options.repository, options.private)?;
    }
    let files: Vec<&UploadFile> = plan.files.iter().collect();
    let branch = if plan.is_new_branch {
        MAIN
    } else {
        &options.branch
    };
    let modes = transfer(client, options, branch, &files)?;
    let card: Vec<&UploadFile> = plan.card.iter().collect();
    let card_modes = transfer(client, options, MAIN, &card)?;
    if plan.is_new_branch && !options.as_request {
        client.create_branch(&options.repository, &options.branch)?;
    }
    if plan.is_new_branch || !files.is_empty() || !plan.deleted.is_empty() {
        let parent = plan.parent.as_deref();
        let made = commit(
            client,
            options,
            &options.branch,
            parent,
            &files,
            &plan.deleted,
            &modes,
        )?;
        check_commit(client, options, &made, &files, &modes)?;
        result.status = match made.pr_url {
            None => UploadStatus::Uploaded,
            Some(url) => {
                let branch = options.branch.clone();
                result.pull_requests.push(PullRequest { branch, url });
                UploadStatus::PullRequestCreated
            }
        };
    }
    // The card comes last: it describes the build that is now there.
    if !card.is_empty() {
        let made = commit(client, options, MAIN, None, &card, &[], &card_modes)?;
        check_commit(client, options, &made, &card, &card_modes)?;
        result.status = UploadStatus::Uploaded;
    }
    Ok(result)
}

/// Transfers the large ones of some files. Returns the store that takes each file.
fn transfer(
    client: &HubClient,
    options: &UploadOptions,
    branch: &str,
    files: &[&UploadFile],
) -> Result<BTreeMap<String, UploadMode>, HubError> {
    const SAMPLE: u64 = 512;
    if files.is_empty() {
        return Ok(BTreeMap::new());
    }
    let mut described = Vec::new();
    for file in files {
        let mut sample = Vec::new();
        let opened = std::fs::File::open(&file.local);
        let read = opened.and_then(|opened| opened.take(SAMPLE).read_to_end(&mut sample));
        read.map_err(HubError::io(format!("read {}", file.local)))?;
        described.push((file.path.as_str(), file.size, sample));
    }
    let modes = client.upload_modes(&options.repository, branch, &described)?;
    let large = files
        .iter()
        .filter(|file| modes[&file.path] == UploadMode::Lfs);
    let large: BTreeMap<&str, &UploadFile> =
        large.map(|file| (file.sha256.as_str(), *file)).collect();
    if large.is_empty() {
        return Ok(modes);
    }
    let questions: Vec<LargeFile> = large
        .values()
        .map(|file| LargeFile {
            oid: file.sha256.clone(),
            size: file.size,
        })
        .collect();
    let objects = client.large_file_uploads(&options.repository, branch, &questions)?;
    let action = format!("upload to {}", options.repository);
    let answered: BTreeSet<&str> = objects.iter().map(|object| object.oid.as_str()).collect();
    if let Some((_, file)) = large.iter().find(|(oid, _)| !answered.contains(*oid)) {
        let why = format!("it says nothing about {}", file.path);
        return Err(HubError::Answer { action, why });
    }
    let mut queue = VecDeque::new();
    for object in &objects {
        if let Some(error) = &object.error {
            let why = error.message.clone();
            return Err(HubError::Refused { action, why });
        }
        if let (Some(put), Some(file)) = (&object.actions.upload, large.get(object.oid.as_str())) {
            queue.push_back((*file, put, object.actions.verify.as_ref()));
        }
    }
    let total = queue.len();
    let queue = Mutex::new(queue);
    let lock = || queue.lock().unwrap_or_else(PoisonError::into_inner);
    let work = || {
        loop {
            let (left, next) = {
                let mut queue = lock();
                (queue.len(), queue.pop_front())
            };
            let Some((file, put, verify)) = next else {
                return Ok(());
            };
            let number = total - left + 1;
            status(format_args!(
                "[{number}/{total}] {} ({} bytes)",
                file.path, file.size
            ));
            if let Err(error) = put_file(client, file, put, verify) {
                // The others end after their files.
                lock().clear();
                return Err(error);
            }
        }
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..WORKERS.min(total)).map(|_| scope.spawn(work)).collect();
        let ended = workers.into_iter().map(|worker| {
            let panicked = |panic| std::panic::resume_unwind(panic);
            worker.join().unwrap_or_else(panicked)
        });
        // NB: every worker is waited for.
        let results: Vec<Result<(), HubError>> = ended.collect();
        results.into_iter().collect::<Result<(), _>>()
    })?;
    Ok(modes)
}

/// Sends one large file, in one piece or in as many as its storage asks for.
fn put_file(
    client: &HubClient,
    file: &UploadFile,
    put: &LfsAction,
    verify: Option<&LfsAction>,
) -> Result<(), HubError> {
    let action = format!("upload {}", file.path);
    let mut headers: Vec<(String, String)> = Vec::new();
    let mut parts = Vec::new();
    let mut piece = None;
    for (name, value) in &put.header {
        let value = value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned);
        if name == "chunk_size" {
            piece = value.parse::<u64>().ok().filter(|size| *size > 0);
        } else if let Ok(number) = name.parse::<u32>() {
            parts.push((number, value));
        } else {
            headers.push((name.clone(), value));
        }
    }
    parts.sort();
    let request = |method, url| HubRequest {
        method,
        ..get(&action, url)
    };
    match piece {
        None => {
            let whole = HubRequest {
                headers: &headers,
                body: HubBody::File(&file.local, 0, file.size),
                ..request("PUT", &put.href)
            };
            client.send(whole)?;
        }
        Some(piece) => {
            let mut etags = Vec::new();
            if parts.len() as u64 != file.size.div_ceil(piece) {
                let why = format!(
                    "{} pieces of {piece} bytes are no file of {}",
                    parts.len(),
                    file.size
                );
                return Err(HubError::Answer { action, why });
            }
            for (index, (number, url)) in (0..).zip(&parts) {
                let first = index * piece;
                let part = HubRequest {
                    body: HubBody::File(&file.local, first, piece.min(file.size - first)),
                    ..request("PUT", url)
                };
                let answer = client.send(part)?;
                let etag = super::client::text_of(&answer.headers, "ETag").unwrap_or_default();
                etags.push(json!({ "partNumber": number, "etag": etag }));
            }
            let end = json!({ "oid": file.sha256, "parts": etags }).to_string();
            client.send(post(
                &action,
                &put.href,
                HubBody::Text(end.as_bytes(), LFS_JSON),
            ))?;
        }
    }
    if let Some(verify) = verify {
        let question = json!({ "oid": file.sha256, "size": file.size }).to_string();
        let body = HubBody::Text(question.as_bytes(), LFS_JSON);
        client.send(post(&action, &verify.href, body))?;
    }
    Ok(())
}

/// Makes one commit of some files and deletions.
fn commit(
    client: &HubClient,
    options: &UploadOptions,
    branch: &str,
    parent: Option<&str>,
    files: &[&UploadFile],
    deleted: &[String],
    modes: &BTreeMap<String, UploadMode>,
) -> Result<HubCommit, HubError> {
    let writing = || HubError::io("write the commit to a temporary file");
    let mut operations = tempfile::NamedTempFile::new().map_err(writing())?;
    let mut header = json!({ "summary": MESSAGE, "description": "" });
    if let Some(parent) = parent {
        header["parentCommit"] = parent.into();
    }
    writeln!(
        operations,
        "{}",
        json!({ "key": "header", "value": header })
    )
    .map_err(writing())?;
    for file in files {
        match modes.get(&file.path) {
            Some(UploadMode::Lfs) => {
                let value = json!({
                    "path": file.path, "algo": "sha256", "oid": file.sha256, "size": file.size,
                });
                writeln!(
                    operations,
                    "{}",
                    json!({ "key": "lfsFile", "value": value })
                )
                .map_err(writing())?;
            }
            _ => write_inline(&mut operations, file).map_err(writing())?,
        }
    }
    for path in deleted {
        let value = json!({ "path": path });
        writeln!(
            operations,
            "{}",
            json!({ "key": "deletedFile", "value": value })
        )
        .map_err(writing())?;
    }
    operations.flush().map_err(writing())?;
    let path = Utf8Path::from_path(operations.path()).ok_or_else(|| {
        writing()(std::io::Error::other(
            "the folder for temporary files is not UTF-8",
        ))
    })?;
    let number = count(files.len() + deleted.len(), "operation");
    status(format_args!("committing {number} to {branch}"));
    client.commit(&options.repository, branch, options.as_request, path)
}

/// Writes a file as a line of a commit, without having all of it in memory.
fn write_inline(operations: &mut impl Write, file: &UploadFile) -> std::io::Result<()> {
    let path = json!(file.path);
    write!(
        operations,
        r#"{{"key":"file","value":{{"path":{path},"encoding":"base64","content":""#
    )?;
    let mut encoder = EncoderWriter::new(&mut *operations, &STANDARD);
    std::io::copy(&mut std::fs::File::open(&file.local)?, &mut encoder)?;
    encoder.finish()?;
    drop(encoder);
    writeln!(operations, r#""}}}}"#)
}

/// Checks that a commit has the files that were sent: a broken proxy or storage is found before
/// anyone loads them.
fn check_commit(
    client: &HubClient,
    options: &UploadOptions,
    made: &HubCommit,
    files: &[&UploadFile],
    modes: &BTreeMap<String, UploadMode>,
) -> Result<(), HubError> {
    let there = client.files(&options.repository, &made.commit_oid, "")?;
    let there: BTreeMap<&str, &HubEntry> = there
        .iter()
        .map(|entry| (entry.path.as_str(), entry))
        .collect();
    for file in files {
        let found = there.get(file.path.as_str());
        let is_right = match (found, modes.get(&file.path)) {
            (None, _) => false,
            (Some(entry), Some(UploadMode::Lfs)) => entry.content_id() == file.sha256,
            (Some(entry), _) => {
                let id = blob_id(&file.local, file.size);
                entry.oid == id.map_err(HubError::io(format!("read {}", file.local)))?
            }
        };
        if !is_right {
            return Err(HubError::Answer {
                action: format!("upload {}", file.path),
                why: format!("the new commit {} has another file there", made.commit_oid),
            });
        }
    }
    Ok(())
}
