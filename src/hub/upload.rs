//! Publishing: which files a branch of the Hub lacks, their transfer, and one commit at the end
//! that switches the branch from the old build to the new one. A killed run leaves the old build as
//! it was, and the next run transfers only what is still missing.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io::{Read, Write};
use std::sync::{Mutex, PoisonError};

use base64::engine::general_purpose::STANDARD;
use base64::write::EncoderWriter;
use camino::{Utf8Path, Utf8PathBuf};
use serde::Serialize;
use serde_json::json;
use sha1::Sha1;
use sha2::{Digest, Sha256};

use super::api::{
    HubCommit, HubEntry, HubRefs, HubRepository, LFS_JSON, LargeFile, LfsAction, UploadMode, get,
    post,
};
use super::build_folder::BuildFolder;
use super::client::{HubBody, HubClient, HubRequest};
use super::error::HubError;
use crate::hex;
use crate::terminal::{count, status};

/// The branch that shows the model card, and from which others start.
const MAIN: &str = "main";

/// The model card beside the variants, and its name on the Hub.
const CARD: (&str, &str) = ("CARD.md", "README.md");

/// Transfers at a time.
const WORKERS: usize = 4;

/// The words of every commit.
const MESSAGE: &str = "Uploaded using `kernel-builder`.";

/// The destination of an upload.
#[derive(Debug)]
pub struct UploadOptions {
    pub repository: HubRepository,
    pub branch: String,
    pub private: bool,
    /// Whether a pull request is opened, so that the branch stays as it is.
    pub as_request: bool,
}

/// A file to upload.
#[derive(Debug)]
pub struct UploadFile {
    /// Its path in the repository.
    pub path: String,
    local: Utf8PathBuf,
    pub size: u64,
    sha256: String,
}

/// The operations of an upload.
#[derive(Debug)]
pub struct UploadPlan {
    pub is_new_branch: bool,
    /// Whether the repository must be created.
    is_new_repository: bool,
    /// The commit that the branch has; `None` for a new branch.
    parent: Option<String>,
    /// New and changed files of the branch.
    pub files: Vec<UploadFile>,
    /// Files of the branch that the build does not have any more.
    pub deleted: Vec<String>,
    /// The number of files that the branch has already.
    pub kept: usize,
    /// The model card, if it differs from the one that is there.
    pub card: Option<UploadFile>,
}

/// The outcome of an upload, in upstream's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum UploadStatus {
    NoChanges,
    Planned,
    Uploaded,
    PullRequestCreated,
}

/// A pull request that was opened.
#[derive(Debug, Serialize)]
pub struct PullRequest {
    pub branch: String,
    pub url: String,
}

/// The result of an upload, also as JSON.
#[derive(Debug, Serialize)]
pub struct UploadResult {
    pub status: UploadStatus,
    pub repo_id: String,
    pub branch: String,
    pub url: String,
    pub pull_requests: Vec<PullRequest>,
    pub uploaded: Vec<String>,
    pub deleted: Vec<String>,
    pub kept: usize,
    /// The bytes of the uploaded files.
    pub bytes: u64,
}

/// Compares a build with the branch of the Hub. Writes nothing there.
///
/// # Errors
/// `HubError`
pub fn plan_upload(
    client: &HubClient,
    build: &BuildFolder,
    kernel: &Utf8Path,
    options: &UploadOptions,
) -> Result<UploadPlan, HubError> {
    let repository = &options.repository;
    let found = client.refs(repository)?;
    let is_new_repository = found.is_none();
    let refs: HubRefs = found.unwrap_or_default();
    let parent = refs.branch(&options.branch).map(str::to_owned);
    let there = match &parent {
        Some(commit) => client.files(repository, commit, "")?,
        None => Vec::new(),
    };
    let there: BTreeMap<&str, &HubEntry> = there
        .iter()
        .map(|entry| (entry.path.as_str(), entry))
        .collect();
    let mut ours = BTreeSet::new();
    let mut files = Vec::new();
    let mut kept = 0;
    for (path, local) in local_files(build, kernel)? {
        match upload_of(path.clone(), local, there.get(path.as_str()).copied())? {
            Some(file) => files.push(file),
            None => kept += 1,
        }
        ours.insert(path);
    }
    let stale = |path: &str| is_stale(path, build) && !ours.contains(path);
    let deleted = there
        .keys()
        .filter(|path| stale(path))
        .map(|path| (*path).to_owned());
    let deleted = deleted.collect();
    let card = build.path.join(CARD.0);
    let card = match card.is_file() && !options.as_request {
        false => None,
        true => {
            let there = match refs.branch(MAIN) {
                Some(commit) => client.files(repository, commit, "")?,
                None => Vec::new(),
            };
            upload_of(
                CARD.1.to_owned(),
                card,
                there.iter().find(|entry| entry.path == CARD.1),
            )?
        }
    };
    Ok(UploadPlan {
        is_new_branch: parent.is_none(),
        is_new_repository,
        parent,
        files,
        deleted,
        kept,
        card,
    })
}

/// The files of a build, by their paths in the repository: variants, and benchmarks of the kernel.
fn local_files(
    build: &BuildFolder,
    kernel: &Utf8Path,
) -> Result<BTreeMap<String, Utf8PathBuf>, HubError> {
    let mut files = BTreeMap::new();
    for variant in &build.variants {
        for file in &variant.files {
            let local = build.path.join(&variant.name).join(file);
            files.insert(format!("build/{}/{file}", variant.name), local);
        }
    }
    let folder = kernel.join("benchmarks");
    if folder.is_dir() {
        for entry in folder
            .read_dir_utf8()
            .map_err(HubError::io(format!("read {folder}")))?
        {
            let entry = entry.map_err(HubError::io(format!("read {folder}")))?;
            let path = format!("benchmarks/{}", entry.file_name());
            if is_benchmark(&path) && entry.path().is_file() {
                files.insert(path, entry.path().to_owned());
            }
        }
    }
    Ok(files)
}

fn is_benchmark(path: &str) -> bool {
    let name = path.strip_prefix("benchmarks/benchmark");
    name.is_some_and(|rest| rest.ends_with(".py") && !rest.contains('/'))
}

/// Whether a file of the branch is of a variant that is uploaded, or a benchmark.
fn is_stale(path: &str, build: &BuildFolder) -> bool {
    let variant = path
        .strip_prefix("build/")
        .and_then(|rest| rest.split_once('/'));
    let is_uploaded = |name: &str| build.variants.iter().any(|variant| variant.name == name);
    is_benchmark(path) || variant.is_some_and(|(name, _)| is_uploaded(name))
}

/// A file as an upload; `None` if the Hub has the same content.
fn upload_of(
    path: String,
    local: Utf8PathBuf,
    there: Option<&HubEntry>,
) -> Result<Option<UploadFile>, HubError> {
    let read = || format!("read {local}");
    let size = local.metadata().map_err(HubError::io(read()))?.len();
    let sha256 = sha256_of(&local).map_err(HubError::io(read()))?;
    let is_there = match there {
        None => false,
        Some(HubEntry { lfs: Some(lfs), .. }) => lfs.oid == sha256,
        Some(entry) => {
            entry.size == size
                && entry.oid == blob_id(&local, size).map_err(HubError::io(read()))?
        }
    };
    Ok((!is_there).then_some(UploadFile {
        path,
        local,
        size,
        sha256,
    }))
}

fn sha256_of(path: &Utf8Path) -> std::io::Result<String> {
    let mut hash = Sha256::new();
    read_pieces(path, |piece| hash.update(piece))?;
    Ok(hex(&hash.finalize()))
}

/// The id that git gives to the content of a file.
pub(super) fn blob_id(path: &Utf8Path, size: u64) -> std::io::Result<String> {
    let mut hash = Sha1::new();
    hash.update(format!("blob {size}\0"));
    read_pieces(path, |piece| hash.update(piece))?;
    Ok(hex(&hash.finalize()))
}

pub(super) fn read_pieces(path: &Utf8Path, mut each: impl FnMut(&[u8])) -> std::io::Result<()> {
    let mut file = std::fs::File::open(path)?;
    let mut buffer = vec![0; 1 << 18];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(()),
            length => each(&buffer[..length]),
        }
    }
}

impl UploadPlan {
    /// Whether the Hub has everything already.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
            && self.deleted.is_empty()
            && self.card.is_none()
            && !self.is_new_branch
    }

    /// The operations in words, one in each line.
    pub fn lines(&self, options: &UploadOptions) -> Vec<String> {
        let (repository, branch) = (&options.repository, &options.branch);
        let mut lines = Vec::new();
        if self.is_new_repository {
            lines.push(format!("create the repository {repository}"));
        }
        if self.is_new_branch && !options.as_request {
            lines.push(format!("create the branch {branch}"));
        }
        let upload = |file: &UploadFile, branch: &str| {
            format!("upload {} ({} bytes) to {branch}", file.path, file.size)
        };
        lines.extend(self.files.iter().map(|file| upload(file, branch)));
        let delete = |path: &String| format!("delete {path} from {branch}");
        lines.extend(self.deleted.iter().map(delete));
        lines.extend(self.card.iter().map(|card| upload(card, MAIN)));
        lines
    }

    /// The result before anything is done.
    pub fn result(&self, client: &HubClient, options: &UploadOptions) -> UploadResult {
        let uploads = || self.files.iter().chain(&self.card);
        let page = options.repository.page();
        UploadResult {
            status: match self.is_empty() {
                true => UploadStatus::NoChanges,
                false => UploadStatus::Planned,
            },
            repo_id: options.repository.id.clone(),
            branch: options.branch.clone(),
            url: client.url(&format!("{page}/tree/{}", options.branch)),
            pull_requests: Vec::new(),
            uploaded: uploads().map(|file| file.path.clone()).collect(),
            deleted: self.deleted.clone(),
            kept: self.kept,
            bytes: uploads().map(|file| file.size).sum(),
        }
    }
}

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
