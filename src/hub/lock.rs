//! Locks: the commit of each kernel that a project needs, and the hash of each of its files. The
//! file `kernels.lock` of the `kernels` client has the commits alone.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Mutex;
use std::sync::PoisonError;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use camino::Utf8Path;
use serde::{Deserialize, Serialize};
use serde_json::json;
use sha1::Sha1;
use sha2::{Digest, Sha256};

use super::api::{HubEntry, HubRepository};
use super::client::HubClient;
use super::error::HubError;
use super::requirement::{KernelRequirement, WantedKernelVersion};
use crate::artifact::metadata::METADATA;
use crate::hex;
use crate::terminal::status;

/// The name of the lock with hashes.
pub const LOCK: &str = "kernel-builder.lock";

/// The name of the lock of the `kernels` client.
pub const CLIENT_LOCK: &str = "kernels.lock";

/// The form of the file; another form is refused.
const FORMAT: u32 = 1;

/// Requests at a time.
const WORKERS: usize = 8;

/// The kernels of a project.
#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ProjectLock {
    format: u32,
    /// In the order of their names.
    pub kernels: Vec<LockedKernel>,
}

/// One kernel, with the files of all its variants.
#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct LockedKernel {
    pub repo_id: String,
    /// The branch, tag or commit that was chosen.
    pub revision: String,
    pub commit: String,
    /// By path in the repository.
    pub files: BTreeMap<String, LockedFile>,
}

/// A file of a kernel.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct LockedFile {
    /// In hexadecimal digits.
    pub sha256: String,
    pub size: u64,
    /// The name of the content in the cache of the Hub's clients.
    pub blob: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct VariantFacts {
    #[serde(default)]
    kernel_depends: Vec<KernelOfKernel>,
    digest: Option<VariantDigest>,
}

#[derive(Deserialize)]
struct VariantDigest {
    algorithm: String,
    files: BTreeMap<String, String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct KernelOfKernel {
    repo_id: String,
    version: Option<u64>,
    revision: Option<String>,
}

impl LockedKernel {
    /// The names of its variants.
    pub fn variants(&self) -> BTreeSet<&str> {
        let names = self.files.keys().filter_map(|path| variant_of(path));
        names.collect()
    }

    /// The version, if the branch is one of the client's.
    fn version(&self) -> Option<u64> {
        self.revision.strip_prefix('v')?.parse().ok()
    }
}

/// The variant that a file of a repository is part of.
pub fn variant_of(path: &str) -> Option<&str> {
    let (variant, file) = path.strip_prefix("build/")?.split_once('/')?;
    let is_plain = |part: &str| !matches!(part, "" | "." | "..");
    // NB: paths come from a server, and become paths of the cache.
    let is_safe = is_plain(variant) && file.split('/').all(is_plain) && !path.contains('\\');
    let is_bytecode = file.ends_with(".pyc") || file.split('/').any(|part| part == "__pycache__");
    (is_safe && !is_bytecode).then_some(variant)
}

impl ProjectLock {
    /// Reads the lock of a project.
    ///
    /// # Errors
    /// `HubError::Project`
    pub fn read(project: &Utf8Path) -> Result<Self, HubError> {
        const LARGEST: u64 = 1 << 28;
        let path = project.join(LOCK);
        let wrong = |why: String| HubError::Project {
            path: path.clone(),
            why,
        };
        let text =
            crate::file::read_at_most(&path, LARGEST).map_err(|error| wrong(error.to_string()))?;
        let lock: Self = serde_json::from_slice(&text).map_err(|error| wrong(error.to_string()))?;
        if lock.format != FORMAT {
            return Err(wrong(format!(
                "its format is {}, and {FORMAT} is known",
                lock.format
            )));
        }
        let is_hex = |text: &str, length| {
            text.len() == length && text.bytes().all(|byte| byte.is_ascii_hexdigit())
        };
        for kernel in &lock.kernels {
            kernel.repo_id.parse::<HubRepository>()?;
            let mut files = kernel.files.iter();
            let is_right = |(path, file): (&String, &LockedFile)| {
                variant_of(path).is_some()
                    && is_hex(&file.sha256, 64)
                    && (is_hex(&file.blob, 40) || is_hex(&file.blob, 64))
            };
            if !is_hex(&kernel.commit, 40) || !files.all(is_right) {
                return Err(wrong(format!(
                    "a hash or a path of {} is wrong",
                    kernel.repo_id
                )));
            }
        }
        Ok(lock)
    }

    /// The text of the lock.
    pub fn text(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }

    /// The text of the client's lock.
    pub fn client_text(&self) -> String {
        let kernels = self.kernels.iter().map(|kernel| {
            let dependency = match kernel.version() {
                Some(version) => json!({ "repo-id": kernel.repo_id, "version": version }),
                None => json!({ "repo-id": kernel.repo_id, "revision": kernel.revision }),
            };
            json!({ "dependency": dependency, "lock": { "commit": kernel.commit } })
        });
        let kernels: Vec<_> = kernels.collect();
        serde_json::to_string_pretty(&kernels).unwrap_or_default() + "\n"
    }
}

/// Locks kernels, and the kernels that these need.
///
/// # Errors
/// `HubError`
pub fn lock(
    client: &HubClient,
    requirements: Vec<KernelRequirement>,
) -> Result<ProjectLock, HubError> {
    let mut queue = VecDeque::from(requirements);
    let mut locked: BTreeMap<(String, String), LockedKernel> = BTreeMap::new();
    while let Some(requirement) = queue.pop_front() {
        let repository = &requirement.repository;
        let refs = client.refs(repository)?.ok_or_else(|| HubError::Missing {
            action: format!("find {repository}"),
            why: "there is no such repository".to_owned(),
        })?;
        let chosen = requirement.choose(&refs)?;
        let key = (repository.id.clone(), chosen.name.clone());
        if locked.contains_key(&key) {
            continue;
        }
        status(format_args!(
            "locking {repository} {} at {}",
            chosen.name, chosen.target_commit
        ));
        let entries = client.files(repository, &chosen.target_commit, "build")?;
        let entries = entries
            .iter()
            .filter(|entry| variant_of(&entry.path).is_some());
        let entries: Vec<&HubEntry> = entries.collect();
        let small: Vec<&&HubEntry> = entries.iter().filter(|entry| entry.lfs.is_none()).collect();
        let contents = read_all(client, repository, &chosen.target_commit, &small)?;
        let files: BTreeMap<String, LockedFile> = entries
            .iter()
            .map(|entry| {
                let sha256 = match &entry.lfs {
                    Some(lfs) => lfs.oid.clone(),
                    None => hex(&Sha256::digest(&contents[&entry.path])),
                };
                let file = LockedFile {
                    sha256,
                    size: entry.lfs.as_ref().map_or(entry.size, |lfs| lfs.size),
                    blob: entry.content_id().to_owned(),
                };
                (entry.path.clone(), file)
            })
            .collect();
        let kernel = LockedKernel {
            repo_id: repository.id.clone(),
            revision: chosen.name,
            commit: chosen.target_commit,
            files,
        };
        for variant in kernel.variants() {
            let facts = facts_of(&kernel, variant, &contents)?;
            for needed in facts.kernel_depends {
                let wanted = match (needed.version, needed.revision) {
                    (Some(version), _) => WantedKernelVersion::Revision(format!("v{version}")),
                    (None, revision) => WantedKernelVersion::Revision(revision.unwrap_or_default()),
                };
                queue.push_back(KernelRequirement {
                    repository: needed.repo_id.parse()?,
                    wanted,
                });
            }
        }
        locked.insert(key, kernel);
    }
    Ok(ProjectLock {
        format: FORMAT,
        kernels: locked.into_values().collect(),
    })
}

/// The facts of a variant's metadata.json. Compares its digests with the files.
fn facts_of(
    kernel: &LockedKernel,
    variant: &str,
    contents: &BTreeMap<String, Vec<u8>>,
) -> Result<VariantFacts, HubError> {
    let folder = format!("build/{variant}/");
    let path = format!("{folder}{METADATA}");
    let wrong = |why: String| HubError::Answer {
        action: format!("lock {}", kernel.repo_id),
        why,
    };
    let text = contents
        .get(&path)
        .ok_or_else(|| wrong(format!("there is no {path}")))?;
    let facts: VariantFacts =
        serde_json::from_slice(text).map_err(|error| wrong(format!("{path}: {error}")))?;
    let digests = facts
        .digest
        .as_ref()
        .filter(|digest| digest.algorithm == "sha256");
    for (name, expected) in digests.into_iter().flat_map(|digest| &digest.files) {
        let found = kernel.files.get(&format!("{folder}{name}"));
        let digest = found.map(|file| STANDARD.encode(bytes_of(&file.sha256)));
        if digest.as_ref() != Some(expected) {
            return Err(wrong(format!(
                "{folder}{name} does not have the digest of its {METADATA}"
            )));
        }
    }
    Ok(facts)
}

/// The bytes that hexadecimal digits stand for.
fn bytes_of(digits: &str) -> Vec<u8> {
    let pairs = digits.as_bytes().chunks(2);
    let byte = |pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    pairs.filter_map(byte).collect()
}

/// The contents of small files by path, several requests at a time. Each has its id of git.
fn read_all(
    client: &HubClient,
    repository: &HubRepository,
    commit: &str,
    entries: &[&&HubEntry],
) -> Result<BTreeMap<String, Vec<u8>>, HubError> {
    let queue = Mutex::new(entries.iter());
    let work = || {
        let mut read = Vec::new();
        loop {
            let next = queue.lock().unwrap_or_else(PoisonError::into_inner).next();
            let Some(entry) = next else {
                return Ok(read);
            };
            let content = client.content(repository, commit, &entry.path)?;
            let mut hash = Sha1::new();
            hash.update(format!("blob {}\0", content.len()));
            hash.update(&content);
            if hex(&hash.finalize()) != entry.oid {
                return Err(HubError::Answer {
                    action: format!("read {} of {repository}", entry.path),
                    why: "it has another content than the list of files says".to_owned(),
                });
            }
            read.push((entry.path.clone(), content));
        }
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..WORKERS).map(|_| scope.spawn(work)).collect();
        let mut all = BTreeMap::new();
        for worker in workers {
            let read = worker
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
            all.extend(read);
        }
        Ok(all)
    })
}
