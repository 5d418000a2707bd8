//! Downloads of locked kernels into the cache that the `kernels` client reads, so that it then
//! needs no network.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, PoisonError};

use camino::{Utf8Path, Utf8PathBuf};
use sha2::{Digest, Sha256};

use super::api::HubRepository;
use super::client::HubClient;
use super::error::HubError;
use super::lock::{LockedFile, LockedKernel, variant_of};
use crate::file::read_pieces;
use crate::hex;
use crate::terminal::status;

/// Downloads at a time.
const WORKERS: usize = 4;

/// Downloads some variants of a locked kernel into the cache. Returns the number of files that were
/// not there. Every file has its locked hash, those that were there too.
///
/// # Errors
/// `HubError`
pub fn download(
    client: &HubClient,
    kernel: &LockedKernel,
    wanted: impl Fn(&str) -> bool,
) -> Result<usize, HubError> {
    let repository = HubRepository::kernel(&kernel.repo_id)?;
    let folder = cache_folder(client, kernel);
    let blobs = folder.join("blobs");
    let snapshot = snapshot(client, kernel);
    let of_variant = |path: &str| variant_of(path).is_some_and(&wanted);
    let files: Vec<(&String, &LockedFile)> = kernel
        .files
        .iter()
        .filter(|(path, _)| of_variant(path))
        .collect();
    let missing = missing_blobs(&blobs, &files)?;
    let number = missing.len();
    create(&blobs)?;
    fetch_all(client, &repository, &kernel.commit, &blobs, missing)?;
    for (path, file) in files {
        link(&snapshot.join(path), &file.blob)?;
    }
    if kernel.revision != kernel.commit {
        let name = folder.join("refs").join(&kernel.revision);
        create(name.parent().unwrap_or(&folder))?;
        crate::file::replace_file(&name, kernel.commit.as_bytes())
            .map_err(HubError::io(format!("write {name}")))?;
    }
    // NB: with a list of all files, huggingface_hub takes a snapshot without some variants for
    // incomplete. It asks for the list again when it has a network.
    let list = folder.join("trees").join(format!("{}.json", kernel.commit));
    if list.exists() {
        std::fs::remove_file(&list).map_err(HubError::io(format!("remove {list}")))?;
    }
    Ok(number)
}

/// The folder of a kernel in the cache, with all of its commits.
fn cache_folder(client: &HubClient, kernel: &LockedKernel) -> Utf8PathBuf {
    let name = format!("kernels--{}", kernel.repo_id.replace('/', "--"));
    client.settings.cache.join(name)
}

/// The folder in the cache with the downloaded files of a locked kernel.
pub fn snapshot(client: &HubClient, kernel: &LockedKernel) -> Utf8PathBuf {
    let snapshots = cache_folder(client, kernel).join("snapshots");
    snapshots.join(&kernel.commit)
}

/// The files whose content is not in the cache, by blob. A blob with another content is removed.
fn missing_blobs<'f>(
    blobs: &Utf8Path,
    files: &[(&'f String, &'f LockedFile)],
) -> Result<BTreeMap<&'f str, (&'f str, &'f LockedFile)>, HubError> {
    let mut missing = BTreeMap::new();
    for (path, file) in files {
        let blob = blobs.join(&file.blob);
        if blob.is_file() && has_hash(&blob, file)? {
            continue;
        }
        missing.insert(file.blob.as_str(), (path.as_str(), *file));
    }
    Ok(missing)
}

fn has_hash(path: &Utf8Path, file: &LockedFile) -> Result<bool, HubError> {
    let mut hash = Sha256::new();
    read_pieces(path, |piece| hash.update(piece)).map_err(HubError::io(format!("read {path}")))?;
    Ok(hex(&hash.finalize()) == file.sha256)
}

fn create(folder: &Utf8Path) -> Result<(), HubError> {
    std::fs::create_dir_all(folder).map_err(HubError::io(format!("create {folder}")))
}

fn fetch_all(
    client: &HubClient,
    repository: &HubRepository,
    commit: &str,
    blobs: &Utf8Path,
    missing: BTreeMap<&str, (&str, &LockedFile)>,
) -> Result<(), HubError> {
    let total = missing.len();
    let queue: Mutex<VecDeque<_>> = Mutex::new(missing.into_values().collect());
    let lock = || queue.lock().unwrap_or_else(PoisonError::into_inner);
    let work = || {
        loop {
            let (left, next) = {
                let mut queue = lock();
                (queue.len(), queue.pop_front())
            };
            let Some((path, file)) = next else {
                return Ok(());
            };
            status(format_args!(
                "[{}/{total}] {path} ({} bytes)",
                total - left + 1,
                file.size
            ));
            if let Err(error) = fetch(client, repository, commit, blobs, path, file) {
                // The others end after their files.
                lock().clear();
                return Err(error);
            }
        }
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..WORKERS.min(total)).map(|_| scope.spawn(work)).collect();
        let joined = workers.into_iter().map(|worker| {
            let panicked = |panic| std::panic::resume_unwind(panic);
            worker.join().unwrap_or_else(panicked)
        });
        let results: Vec<Result<(), HubError>> = joined.collect();
        results.into_iter().collect()
    })
}

/// Fetches one file to its blob, which has its name only with the right content.
fn fetch(
    client: &HubClient,
    repository: &HubRepository,
    commit: &str,
    blobs: &Utf8Path,
    path: &str,
    file: &LockedFile,
) -> Result<(), HubError> {
    let partial = blobs.join(format!("{}.kernel-builder", file.blob));
    let action = format!("download {path} of {repository}");
    let url = client.file_url(repository, commit, path);
    client.download(&action, &url, &partial, file.size)?;
    if !has_hash(&partial, file)? {
        std::fs::remove_file(&partial).map_err(HubError::io(format!("remove {partial}")))?;
        let why = "its content does not have the locked hash; nothing of it was kept".to_owned();
        return Err(HubError::Answer { action, why });
    }
    let blob = blobs.join(&file.blob);
    std::fs::rename(&partial, &blob).map_err(HubError::io(format!("write {blob}")))
}

/// Makes the link from a snapshot to a blob, as huggingface_hub does.
fn link(path: &Utf8Path, blob: &str) -> Result<(), HubError> {
    let folder = path.parent().unwrap_or(path);
    create(folder)?;
    let depth = path
        .ancestors()
        .take_while(|folder| folder.file_name() != Some("snapshots"))
        .count();
    let up: Utf8PathBuf = std::iter::repeat_n("..", depth).collect();
    let target = up.join("blobs").join(blob);
    if path.read_link_utf8().is_ok_and(|found| found == target) {
        return Ok(());
    }
    if path.symlink_metadata().is_ok() {
        std::fs::remove_file(path).map_err(HubError::io(format!("replace {path}")))?;
    }
    std::os::unix::fs::symlink(&target, path).map_err(HubError::io(format!("write {path}")))
}
