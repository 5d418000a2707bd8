//! The plan of an upload: the files that a branch of the Hub lacks, and those that it has no more
//! use for.

use std::collections::{BTreeMap, BTreeSet};

use camino::{Utf8Path, Utf8PathBuf};
use serde::Serialize;
use sha1::{Digest, Sha1};

use super::api::{HubEntry, HubRefs, HubRepository};
use super::build_folder::BuildFolder;
use super::client::HubClient;
use super::error::HubError;
use crate::file::{read_pieces, sha256_of};
use crate::hex;

/// The branch that shows the model card, and from which others start.
pub(super) const MAIN: &str = "main";

/// The model card beside the variants, and its name on the Hub.
const CARD: (&str, &str) = ("CARD.md", "README.md");

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
    pub(super) local: Utf8PathBuf,
    pub size: u64,
    pub(super) sha256: String,
}

/// The operations of an upload.
#[derive(Debug)]
pub struct UploadPlan {
    pub is_new_branch: bool,
    /// Whether the repository must be created.
    is_new_repository: bool,
    /// The commit that the branch has; `None` for a new branch.
    pub(super) parent: Option<String>,
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
        let entry = there.get(path.as_str()).copied();
        match upload_of(path.clone(), local.path, local.sha256, entry)? {
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
            let entry = there.iter().find(|entry| entry.path == CARD.1);
            upload_of(CARD.1.to_owned(), card, None, entry)?
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

/// A file of this machine.
struct LocalFile {
    path: Utf8PathBuf,
    /// Its sha256 in hexadecimal digits, where the check of its variant has just compared it.
    sha256: Option<String>,
}

impl LocalFile {
    /// A file that nobody has hashed.
    fn unknown(path: Utf8PathBuf) -> Self {
        Self { path, sha256: None }
    }
}

/// The files of a build, by their paths in the repository: variants, and benchmarks of the kernel.
fn local_files(
    build: &BuildFolder,
    kernel: &Utf8Path,
) -> Result<BTreeMap<String, LocalFile>, HubError> {
    let mut files = BTreeMap::new();
    for variant in &build.variants {
        let digests = variant.metadata.digest.as_ref();
        for file in &variant.files {
            let local = LocalFile {
                path: variant.folder.join(file),
                sha256: digests.and_then(|digests| digests.sha256(file)),
            };
            files.insert(format!("build/{}/{file}", variant.name), local);
        }
        if let Some(signature) = &variant.signature {
            let path = signature_path(&variant.name);
            files.insert(path, LocalFile::unknown(signature.clone()));
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
                files.insert(path, LocalFile::unknown(entry.path().to_owned()));
            }
        }
    }
    Ok(files)
}

/// The path of a variant's signature in the repository: beside its folder, as on this machine.
fn signature_path(variant: &str) -> String {
    format!("build/{variant}.minisig")
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
    let mut variants = build.variants.iter();
    let is_signature = variants.any(|variant| signature_path(&variant.name) == path);
    is_benchmark(path) || is_signature || variant.is_some_and(|(name, _)| is_uploaded(name))
}

/// A file as an upload; `None` if the Hub has the same content. `sha256`: its hash, if that is
/// known.
fn upload_of(
    path: String,
    local: Utf8PathBuf,
    sha256: Option<String>,
    there: Option<&HubEntry>,
) -> Result<Option<UploadFile>, HubError> {
    let read = || format!("read {local}");
    let size = local.metadata().map_err(HubError::io(read()))?.len();
    let sha256 = match sha256 {
        Some(sha256) => sha256,
        None => sha256_of(&local).map_err(HubError::io(read()))?,
    };
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

/// The id that git gives to the content of a file.
pub(super) fn blob_id(path: &Utf8Path, size: u64) -> std::io::Result<String> {
    let mut hash = Sha1::new();
    hash.update(format!("blob {size}\0"));
    read_pieces(path, |piece| hash.update(piece))?;
    Ok(hex(&hash.finalize()))
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
