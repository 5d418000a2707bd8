//! The content of a served file: its names on the Hub, and how a change of it is noticed.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{Error, ErrorKind, Read, Result};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};

use camino::Utf8Path;
use rustix::fs::OFlags;
use sha1::Sha1;
use sha2::{Digest, Sha256};

use crate::hex;

/// The bytes at the start of a file in which git looks for a zero byte.
const HEAD: usize = 8000;

/// The facts of a file that change when somebody writes or replaces it. The content does not count.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ContentIdentity {
    pub size: u64,
    place: (u64, u64),
    written: (i64, i64),
    changed: (i64, i64),
}

impl ContentIdentity {
    pub fn new(metadata: &Metadata) -> Self {
        Self {
            size: metadata.len(),
            place: (metadata.dev(), metadata.ino()),
            written: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }
}

/// The names of a content on the Hub, which stores texts in git and binary files beside it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContentHash {
    /// The id of the file's blob in git: of the text, or of the pointer to a binary file.
    pub blob: String,
    /// The sha256 of a binary file, and the size of its pointer.
    pub large: Option<(String, usize)>,
}

impl ContentHash {
    /// Reads a file. `identity` is the one that the file must have before and after.
    ///
    /// # Errors
    /// The errors of the file system; `ErrorKind::ResourceBusy` for a file that changes.
    pub fn read(path: &Utf8Path, identity: &ContentIdentity) -> Result<Self> {
        let mut file = open(path, identity)?;
        let mut buffer = vec![0; 1 << 18];
        let mut head = 0;
        while head < HEAD {
            match file.read(&mut buffer[head..])? {
                0 => break,
                length => head += length,
            }
        }
        let is_binary = buffer[..head.min(HEAD)].contains(&0);
        let blob = |size: u64| Sha1::new_with_prefix(format!("blob {size}\0"));
        let (mut text, mut binary) = (blob(identity.size), Sha256::new());
        let mut length = head;
        while length > 0 {
            match is_binary {
                true => binary.update(&buffer[..length]),
                false => text.update(&buffer[..length]),
            }
            length = file.read(&mut buffer)?;
        }
        check_identity(&file, identity)?;
        if !is_binary {
            return Ok(Self {
                blob: hex(&text.finalize()),
                large: None,
            });
        }
        let sha256 = hex(&binary.finalize());
        let pointer = format!(
            "version https://git-lfs.github.com/spec/v1\noid sha256:{sha256}\nsize {}\n",
            identity.size
        );
        let mut blob = blob(pointer.len() as u64);
        blob.update(&pointer);
        Ok(Self {
            blob: hex(&blob.finalize()),
            large: Some((sha256, pointer.len())),
        })
    }
}

/// Opens a file that is still the one with this identity.
///
/// # Errors
/// The errors of the file system; `ErrorKind::ResourceBusy` for another file.
pub fn open(path: &Utf8Path, identity: &ContentIdentity) -> Result<File> {
    // NB: without NONBLOCK, a pipe that somebody put into the file's place would never open.
    let flags = (OFlags::NONBLOCK | OFlags::NOFOLLOW).bits();
    let mut options = OpenOptions::new();
    let file = options
        .read(true)
        .custom_flags(flags.cast_signed())
        .open(path)?;
    check_identity(&file, identity)?;
    Ok(file)
}

/// Compares an open file with an identity.
///
/// # Errors
/// `ErrorKind::ResourceBusy` if it differs.
pub fn check_identity(file: &File, identity: &ContentIdentity) -> Result<()> {
    match ContentIdentity::new(&file.metadata()?) == *identity {
        true => Ok(()),
        false => Err(Error::from(ErrorKind::ResourceBusy)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The ids that `git hash-object` and `sha256sum` print.
    #[test]
    fn contents_have_the_names_that_git_gives() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let path = Utf8Path::from_path(dir.path()).expect("UTF-8").join("file");
        let read = |content: &[u8]| {
            std::fs::write(&path, content).expect("written");
            let identity = ContentIdentity::new(&path.metadata().expect("a file"));
            ContentHash::read(&path, &identity).expect("a hash")
        };
        assert_eq!(
            read(b"hello\n").blob,
            "ce013625030ba8dba906f756967f9e9ca394464a"
        );
        assert_eq!(read(b"").blob, "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391");
        // A zero byte after the first 8000 is one of a text.
        let late = [&[b'a'; HEAD][..], b"\0"].concat();
        assert_eq!(read(&late).large, None);
        let (sha256, pointer) = read(b"\0").large.expect("a binary file");
        assert_eq!(
            sha256,
            "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d"
        );
        assert_eq!(pointer, 126);
    }

    #[test]
    fn a_file_that_was_written_again_is_not_opened() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let path = Utf8Path::from_path(dir.path()).expect("UTF-8").join("file");
        std::fs::write(&path, "one").expect("written");
        let identity = ContentIdentity::new(&path.metadata().expect("a file"));
        assert!(open(&path, &identity).is_ok());
        let other = path.with_extension("other");
        std::fs::write(&other, "two").expect("written");
        std::fs::rename(&other, &path).expect("renamed");
        let refused = open(&path, &identity).expect_err("another file");
        assert_eq!(refused.kind(), ErrorKind::ResourceBusy);
        std::os::unix::fs::symlink(&path, &other).expect("linked");
        assert!(open(&other, &identity).is_err(), "a link");
    }
}
