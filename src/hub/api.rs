//! The requests of the Hub's API that this program needs, and their answers as data.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use camino::Utf8Path;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::client::{HubBody, HubClient, HubRequest, text_of};
use super::error::HubError;

/// The most pages of one list.
const MOST_PAGES: usize = 1000;

/// The most files that one question about uploads names.
const FILES_AT_A_TIME: usize = 256;

const JSON: &str = "application/json";

/// The type of questions about large files.
pub(super) const LFS_JSON: &str = "application/vnd.git-lfs+json";

/// A repository of the Hub: `organisation/name`, of kernels or of models.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct HubRepository {
    pub id: String,
    /// Whether it is one of kernels; models are older kernels' kind.
    pub is_kernel: bool,
}

impl HubRepository {
    /// A repository of kernels.
    pub fn kernel(id: &str) -> Result<Self, HubError> {
        id.parse()
    }

    /// The start of its URLs of pages and files.
    pub fn page(&self) -> String {
        match self.is_kernel {
            true => format!("kernels/{}", self.id),
            false => self.id.clone(),
        }
    }

    fn api(&self) -> String {
        let kind = if self.is_kernel { "kernels" } else { "models" };
        format!("api/{kind}/{}", self.id)
    }
}

impl FromStr for HubRepository {
    type Err = HubError;

    fn from_str(text: &str) -> Result<Self, HubError> {
        let is_name = |name: &str| {
            let allowed = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
            !name.is_empty() && name.chars().all(allowed) && !name.starts_with(['.', '-'])
        };
        match text.split_once('/') {
            Some((owner, name)) if is_name(owner) && is_name(name) => Ok(Self {
                id: text.to_owned(),
                is_kernel: true,
            }),
            _ => Err(HubError::Repository {
                text: text.to_owned(),
            }),
        }
    }
}

impl fmt::Display for HubRepository {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.id)
    }
}

/// The branches and tags of a repository.
#[derive(Debug, Default, Deserialize)]
pub struct HubRefs {
    #[serde(default)]
    pub branches: Vec<HubRef>,
    #[serde(default)]
    pub tags: Vec<HubRef>,
}

/// A branch or a tag.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HubRef {
    pub name: String,
    /// The commit, in hexadecimal digits.
    pub target_commit: String,
}

impl HubRefs {
    /// The commit of a branch.
    pub fn branch(&self, name: &str) -> Option<&str> {
        let branch = self.branches.iter().find(|branch| branch.name == name)?;
        Some(&branch.target_commit)
    }
}

/// A file or folder of a commit.
#[derive(Clone, Debug, Deserialize)]
pub struct HubEntry {
    #[serde(rename = "type")]
    kind: String,
    pub path: String,
    /// The id of the file's blob in git: the file itself, or a pointer to a large file.
    pub oid: String,
    pub size: u64,
    pub lfs: Option<LargeFile>,
}

/// A large file, which is stored beside git.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq, Eq)]
pub struct LargeFile {
    /// Sha256 in hexadecimal digits.
    pub oid: String,
    pub size: u64,
}

impl HubEntry {
    /// The name of the file's content in caches: the sha256 of a large file, else the id in git.
    pub fn content_id(&self) -> &str {
        self.lfs.as_ref().map_or(&self.oid, |lfs| &lfs.oid)
    }
}

/// The store of the Hub's that takes a file.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum UploadMode {
    /// Git, for small texts. They are part of the commit.
    Regular,
    /// The storage of large files.
    Lfs,
}

/// An upload that the Hub asks for.
#[derive(Debug, Deserialize)]
pub struct LfsAction {
    pub href: String,
    #[serde(default)]
    pub header: BTreeMap<String, serde_json::Value>,
}

/// The Hub's answer for one large file. Without `upload`, it has the file.
#[derive(Debug, Deserialize)]
pub struct LfsObject {
    pub oid: String,
    #[serde(default)]
    pub actions: LfsActions,
    pub error: Option<LfsError>,
}

#[derive(Debug, Default, Deserialize)]
pub struct LfsActions {
    pub upload: Option<LfsAction>,
    pub verify: Option<LfsAction>,
}

#[derive(Debug, Deserialize)]
pub struct LfsError {
    pub message: String,
}

/// The result of a commit.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HubCommit {
    pub commit_oid: String,
    #[serde(default)]
    pub pr_url: Option<String>,
}

#[derive(Deserialize)]
struct PreuploadAnswer {
    files: Vec<PreuploadFile>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PreuploadFile {
    path: String,
    upload_mode: UploadMode,
    #[serde(default)]
    should_ignore: bool,
}

#[derive(Deserialize)]
struct LfsBatch {
    objects: Vec<LfsObject>,
}

impl HubClient {
    /// The branches and tags of a repository; `None` if there is no such repository.
    ///
    /// # Errors
    /// `HubError`
    pub fn refs(&self, repository: &HubRepository) -> Result<Option<HubRefs>, HubError> {
        let action = format!("read the branches of {repository}");
        let url = self.url(&format!("{}/refs", repository.api()));
        match self.ask(get(&action, &url))? {
            Ok(answer) => Ok(Some(answer.json(&action)?)),
            Err(refusal) if refusal.status == 404 => Ok(None),
            Err(refusal) => Err(refusal.error(&action)),
        }
    }

    /// The files below a folder of a commit or branch; the folder `""` is all of it.
    ///
    /// # Errors
    /// `HubError`
    pub fn files(
        &self,
        repository: &HubRepository,
        revision: &str,
        folder: &str,
    ) -> Result<Vec<HubEntry>, HubError> {
        let action = format!("list the files of {repository} at {revision}");
        let path = format!(
            "{}/tree/{}/{}",
            repository.api(),
            escape(revision),
            escape_path(folder)
        );
        let mut url = self.url(&format!(
            "{}?recursive=true&expand=false",
            path.trim_end_matches('/')
        ));
        let mut files = Vec::new();
        for _ in 0..MOST_PAGES {
            let answer = self.ask(get(&action, &url))?;
            let answer = match answer {
                // A commit without the folder has no files there.
                Err(refusal) if refusal.code == "EntryNotFound" => return Ok(files),
                answer => answer.map_err(|refusal| refusal.error(&action))?,
            };
            let page: Vec<HubEntry> = answer.json(&action)?;
            files.extend(page.into_iter().filter(|entry| entry.kind == "file"));
            let next = text_of(&answer.headers, "Link").and_then(next_page);
            match next {
                None => return Ok(files),
                Some(next) => url = self.on_this_hub(next, &action)?,
            }
        }
        Err(HubError::Answer {
            action,
            why: format!("the list has more than {MOST_PAGES} pages"),
        })
    }

    /// A URL of an answer. NB: a request to another server would carry the token there.
    fn on_this_hub(&self, url: &str, action: &str) -> Result<String, HubError> {
        match url.starts_with(&self.url("")) {
            true => Ok(url.to_owned()),
            false => Err(HubError::Answer {
                action: action.to_owned(),
                why: "the list goes on at another server".to_owned(),
            }),
        }
    }

    /// The content of a small file.
    ///
    /// # Errors
    /// `HubError`
    pub fn content(
        &self,
        repository: &HubRepository,
        commit: &str,
        path: &str,
    ) -> Result<Vec<u8>, HubError> {
        let action = format!("read {path} of {repository}");
        let url = self.file_url(repository, commit, path);
        Ok(self.send(get(&action, &url))?.body)
    }

    /// The URL of a file of a commit.
    pub fn file_url(&self, repository: &HubRepository, commit: &str, path: &str) -> String {
        let place = format!("{}/resolve/{}", repository.page(), escape(commit));
        self.url(&format!("{place}/{}", escape_path(path)))
    }

    /// Creates a repository, unless it is there.
    ///
    /// # Errors
    /// `HubError`
    pub fn create_repository(
        &self,
        repository: &HubRepository,
        private: bool,
    ) -> Result<(), HubError> {
        let action = format!("create the repository {repository}");
        let (organisation, name) = repository.id.split_once('/').unwrap_or_default();
        let kind = if repository.is_kernel {
            "kernel"
        } else {
            "model"
        };
        let question = json!({
            "name": name, "organization": organisation, "private": private, "type": kind,
        });
        let url = self.url("api/repos/create");
        match self.ask(post(
            &action,
            &url,
            HubBody::Text(question.to_string().as_bytes(), JSON),
        ))? {
            Err(refusal) if refusal.status != 409 => Err(refusal.error(&action)),
            _ => Ok(()),
        }
    }

    /// Creates a branch at a commit or branch, unless it is there.
    ///
    /// # Errors
    /// `HubError`
    pub fn create_branch(&self, repository: &HubRepository, branch: &str) -> Result<(), HubError> {
        let action = format!("create the branch {branch} of {repository}");
        let url = self.url(&format!("{}/branch/{}", repository.api(), escape(branch)));
        match self.ask(post(&action, &url, HubBody::Text(b"{}", JSON)))? {
            Err(refusal) if refusal.status != 409 => Err(refusal.error(&action)),
            _ => Ok(()),
        }
    }

    /// The stores that take some files: their paths in the repository, sizes and first bytes.
    ///
    /// # Errors
    /// `HubError`
    pub fn upload_modes(
        &self,
        repository: &HubRepository,
        revision: &str,
        files: &[(&str, u64, Vec<u8>)],
    ) -> Result<BTreeMap<String, UploadMode>, HubError> {
        let action = format!("ask how to upload to {repository}");
        let url = self.url(&format!(
            "{}/preupload/{}",
            repository.api(),
            escape(revision)
        ));
        let mut modes = BTreeMap::new();
        for files in files.chunks(FILES_AT_A_TIME) {
            let described = files.iter().map(|(path, size, sample)| {
                json!({ "path": path, "size": size, "sample": STANDARD.encode(&sample[..]) })
            });
            let question = json!({ "files": described.collect::<Vec<_>>() }).to_string();
            let request = post(&action, &url, HubBody::Text(question.as_bytes(), JSON));
            let answer: PreuploadAnswer = self.send(request)?.json(&action)?;
            for file in answer.files {
                if file.should_ignore {
                    let why = format!("its .gitignore leaves {} out", file.path);
                    return Err(HubError::Refused { action, why });
                }
                modes.insert(file.path, file.upload_mode);
            }
        }
        match files.iter().find(|(path, ..)| !modes.contains_key(*path)) {
            None => Ok(modes),
            Some((path, ..)) => Err(HubError::Answer {
                action,
                why: format!("it says nothing about {path}"),
            }),
        }
    }

    /// The uploads of large files that the Hub asks for.
    ///
    /// # Errors
    /// `HubError`
    pub fn large_file_uploads(
        &self,
        repository: &HubRepository,
        branch: &str,
        files: &[LargeFile],
    ) -> Result<Vec<LfsObject>, HubError> {
        let action = format!("ask which files {repository} lacks");
        let url = self.url(&format!("{}.git/info/lfs/objects/batch", repository.page()));
        let headers = [("Accept".to_owned(), LFS_JSON.to_owned())];
        let mut objects = Vec::new();
        for files in files.chunks(FILES_AT_A_TIME) {
            let question = json!({
                "operation": "upload", "transfers": ["basic", "multipart"], "objects": files,
                "hash_algo": "sha256", "ref": { "name": branch },
            });
            let question = question.to_string();
            let request = HubRequest {
                headers: &headers,
                ..post(&action, &url, HubBody::Text(question.as_bytes(), LFS_JSON))
            };
            let answer: LfsBatch = self.send(request)?.json(&action)?;
            objects.extend(answer.objects);
        }
        Ok(objects)
    }

    /// Makes a commit: `operations` is a file of JSON lines. `parent` is the commit that the branch
    /// must have.
    ///
    /// # Errors
    /// `HubError`; `HubError::Changed` if the branch has another commit.
    pub fn commit(
        &self,
        repository: &HubRepository,
        branch: &str,
        as_request: bool,
        operations: &Utf8Path,
    ) -> Result<HubCommit, HubError> {
        let action = format!("commit to {branch} of {repository}");
        let query = if as_request { "?create_pr=1" } else { "" };
        let url = self.url(&format!(
            "{}/commit/{}{query}",
            repository.api(),
            escape(branch)
        ));
        let size = operations
            .metadata()
            .map_err(HubError::io(format!("read {operations}")))?
            .len();
        let headers = [("Content-Type".to_owned(), "application/x-ndjson".to_owned())];
        let request = HubRequest {
            headers: &headers,
            ..post(&action, &url, HubBody::File(operations, 0, size))
        };
        self.send(request)?.json(&action)
    }
}

pub(super) fn get<'a>(action: &'a str, url: &'a str) -> HubRequest<'a> {
    HubRequest {
        action,
        method: "GET",
        url,
        headers: &[],
        body: HubBody::None,
    }
}

pub(super) fn post<'a>(action: &'a str, url: &'a str, body: HubBody<'a>) -> HubRequest<'a> {
    HubRequest {
        method: "POST",
        body,
        ..get(action, url)
    }
}

/// The URL of the next page in a header `Link`.
fn next_page(link: &str) -> Option<&str> {
    let mut links = link.split(',');
    let next = links.find(|link| link.contains("rel=\"next\""))?;
    next.trim()
        .strip_prefix('<')?
        .split_once('>')
        .map(|(url, _)| url)
}

/// One part of a path, with the characters escaped that a URL gives a meaning to.
fn escape(part: &str) -> String {
    let keeps = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
    let parts = part.bytes().map(|byte| match keeps(byte) {
        true => char::from(byte).to_string(),
        false => format!("%{byte:02X}"),
    });
    parts.collect()
}

/// A path, with its slashes.
fn escape_path(path: &str) -> String {
    path.split('/').map(escape).collect::<Vec<_>>().join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_pages_are_read() {
        let repository: HubRepository = "acme/relu".parse().expect("a name");
        assert_eq!(repository.page(), "kernels/acme/relu");
        for text in ["relu", "a/b/c", "/b", "a/", "a/..", "a b/c", "-a/b"] {
            assert!(text.parse::<HubRepository>().is_err(), "{text}");
        }
        assert_eq!(escape_path("build/a b/ü"), "build/a%20b/%C3%BC");
        assert_eq!(escape("refs/pr/1"), "refs%2Fpr%2F1");
        let link = r#"<http://a/x?cursor=1>; rel="first", <http://a/x?cursor=2>; rel="next""#;
        assert_eq!(next_page(link), Some("http://a/x?cursor=2"));
        assert_eq!(next_page(r#"<http://a/x>; rel="prev""#), None);
    }
}
