//! Asks pip's indexes about files: the files of a project, their sizes, and small members of wheels
//! by range. It asks many questions at a time, and for each page once. It downloads no whole file.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use camino::Utf8Path;
use zip::ZipArchive;

use super::super::PinError;
use super::super::error::IndexError;
use super::super::http::HttpFailure;
use super::super::members::NamePatterns;
use super::super::pip::PipIndexes;
use super::super::ranges::{self, RemoteFile};
use super::super::simple::ListedFile;
use crate::file::MAX_TEXT;

/// The number of questions at a time. NB: more does not help with one index and is unfriendly to
/// it.
const WORKERS: usize = 8;

/// The files of projects by name; for a project that could not be looked up, the reason.
pub type Pages = BTreeMap<String, Result<Vec<ListedFile>, Unanswered>>;

/// The reason why a project has no files.
#[derive(Clone, Debug)]
pub enum Unanswered {
    /// No index has the project.
    Missing,
    /// An index did not answer.
    Failed(IndexError),
}

/// The indexes that pip is configured with.
pub struct IndexReader {
    indexes: PipIndexes,
    /// The folder of parts of wheels that were read.
    parts: tempfile::TempDir,
    /// The number of wheels that were read.
    asked: AtomicU64,
}

impl IndexReader {
    /// A reader of the indexes in pip's configuration.
    ///
    /// # Errors
    /// Errors of pip's configuration.
    pub fn open() -> Result<Self, PinError> {
        let temporary = std::env::temp_dir();
        let parts = tempfile::tempdir().map_err(PinError::io(
            "create a folder in",
            temporary.to_string_lossy().as_ref(),
        ))?;
        Ok(Self {
            indexes: PipIndexes::configured(Arc::default())?,
            parts,
            asked: AtomicU64::new(0),
        })
    }

    /// The pages of some projects.
    pub fn pages(&self, projects: &BTreeSet<String>) -> Pages {
        ask_each(projects, |project| match self.indexes.files(project) {
            Ok(Some(files)) => Ok(files),
            Ok(None) => Err(Unanswered::Missing),
            Err(error) => Err(Unanswered::Failed(error)),
        })
    }

    /// The sizes of some files in bytes, by URL.
    pub fn sizes(&self, urls: &BTreeSet<String>) -> BTreeMap<String, Result<u64, HttpFailure>> {
        ask_each(urls, |url| self.size(url))
    }

    /// The size of one file in bytes.
    ///
    /// # Errors
    /// The failure of the server.
    pub fn size(&self, url: &str) -> Result<u64, HttpFailure> {
        self.indexes.client.size(url)
    }

    /// The text of a wheel's members that match some patterns, by name.
    ///
    /// # Errors
    /// `IndexError` for a wheel that cannot be read.
    pub fn read(
        &self,
        url: &str,
        patterns: &[&str],
    ) -> Result<BTreeMap<String, String>, IndexError> {
        let patterns = compile(patterns)?;
        let wanted = |name: &str| patterns.matches(name);
        let text = |error: zip::result::ZipError| IndexError::Wheel(error.to_string());
        let mut wheel = ranges::open(self.remote(url)?, wanted).map_err(text)?;
        let mut found = BTreeMap::new();
        for index in 0..wheel.len() {
            let name = {
                let entry = wheel.by_index_data(index).map_err(text)?;
                entry.name().map_err(text)?.into_owned()
            };
            if wanted(&name) {
                let mut member = String::new();
                let reader = wheel.by_index(index).map_err(text)?;
                // NB: a small wheel of a hostile index may unpack to any size.
                let mut reader = std::io::Read::take(reader, MAX_TEXT);
                std::io::Read::read_to_string(&mut reader, &mut member)
                    .map_err(|error| IndexError::Wheel(error.to_string()))?;
                if member.len() as u64 == MAX_TEXT {
                    return Err(IndexError::Wheel(format!("its {name} is too large")));
                }
                found.insert(name, member);
            }
        }
        Ok(found)
    }

    /// The compressed size, in bytes, of a wheel's members that match some patterns.
    ///
    /// # Errors
    /// `IndexError` for a wheel that cannot be read.
    pub fn measure(&self, url: &str, patterns: &[&str]) -> Result<u64, IndexError> {
        let patterns = compile(patterns)?;
        let text = |error: zip::result::ZipError| IndexError::Wheel(error.to_string());
        let wheel = ZipArchive::new(self.remote(url)?).map_err(text)?;
        let mut bytes = 0;
        for index in 0..wheel.len() {
            let entry = wheel.by_index_data(index).map_err(text)?;
            let name = entry.name().map_err(text)?;
            if patterns.matches(&name) {
                bytes += entry.compressed_size();
            }
        }
        Ok(bytes)
    }

    fn remote(&self, url: &str) -> Result<RemoteFile<'_>, IndexError> {
        let size = self.size(url)?;
        // NB: a part whose name exists is continued, also by a thread that reads the same file at
        // the same time.
        let name = self.asked.fetch_add(1, Ordering::Relaxed).to_string();
        let dir = Utf8Path::from_path(self.parts.path()).ok_or(IndexError::TemporaryFolder)?;
        Ok(RemoteFile::new(
            &self.indexes.client,
            url.to_owned(),
            size,
            &dir.join(name),
        ))
    }
}

/// Patterns of members.
fn compile(patterns: &[&str]) -> Result<NamePatterns, IndexError> {
    NamePatterns::new(patterns.iter().copied())
        .map_err(|error| IndexError::Pattern(error.to_string()))
}

/// Asks some questions, several at a time, and returns the answers.
pub fn ask_each<T: Send>(
    questions: &BTreeSet<String>,
    ask: impl Fn(&str) -> T + Sync,
) -> BTreeMap<String, T> {
    let queue = Mutex::new(questions.iter());
    let answers = Mutex::new(BTreeMap::new());
    std::thread::scope(|scope| {
        for _ in 0..WORKERS.min(questions.len()) {
            scope.spawn(|| {
                loop {
                    let next = queue.lock().unwrap_or_else(PoisonError::into_inner).next();
                    let Some(question) = next else { return };
                    let answer = ask(question);
                    answers
                        .lock()
                        .unwrap_or_else(PoisonError::into_inner)
                        .insert(question.clone(), answer);
                }
            });
        }
    });
    answers.into_inner().unwrap_or_else(PoisonError::into_inner)
}
