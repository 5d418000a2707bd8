//! The bytes of a wheel: members in a fixed order with a fixed time, compressed in parallel, and
//! their RECORD. The same members give the same bytes.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::thread::{ScopedJoinHandle, available_parallelism, scope};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use camino::Utf8PathBuf;
use sha2::{Digest, Sha256};
use tempfile::NamedTempFile;
use zip::write::{SimpleFileOptions, ZipFileBuilder};
use zip::{CompressionMethod, DateTime, PreparedZipFile, ZipWriter};

/// The content of a member.
#[derive(Clone, Debug)]
pub(super) enum MemberContent {
    Text(String),
    /// A file that must still have a sha256, in hexadecimal digits.
    File {
        path: Utf8PathBuf,
        sha256: Option<String>,
    },
}

/// A file of a wheel.
#[derive(Clone, Debug)]
pub(super) struct WheelMember {
    /// Its path in the wheel.
    pub path: String,
    pub content: MemberContent,
}

/// The most bytes of members that are compressed in memory at a time. Larger members go straight
/// to the file.
const IN_MEMORY: u64 = 512 << 20;

/// The size from which a member needs the longer headers of zip.
const LARGE: u64 = u32::MAX as u64;

/// Writes members in their order, then RECORD, at a path in the wheel.
///
/// # Errors
/// The errors of the file system, and an error for a file that has changed.
pub(super) fn write_members(
    file: &mut NamedTempFile,
    members: &[WheelMember],
    record: &str,
) -> io::Result<()> {
    let time = time();
    let mut archive = ZipWriter::new(BufWriter::with_capacity(1 << 20, file.as_file_mut()));
    let mut lines = String::new();
    scope(|scope| {
        let threads = available_parallelism().map_or(1, usize::from);
        let mut waiting = members.iter();
        let mut next = waiting.next();
        let mut started: VecDeque<(&WheelMember, u64, Option<Compression<'_>>)> = VecDeque::new();
        let mut in_memory = 0;
        loop {
            while let Some(member) = next {
                let size = member.size()?;
                let is_room = started.len() < 4 * threads && in_memory + size <= IN_MEMORY;
                if !is_room && !started.is_empty() {
                    break;
                }
                // A large member is compressed when its turn comes.
                let task =
                    (size <= IN_MEMORY).then(|| scope.spawn(move || member.compress(size, time)));
                started.push_back((member, size, task));
                in_memory += size;
                next = waiting.next();
            }
            let Some((member, size, task)) = started.pop_front() else {
                return Ok::<(), io::Error>(());
            };
            let hash = match task {
                Some(task) => {
                    let (prepared, hash) = task.join().map_err(|_| panicked())??;
                    archive.add_prepared_file(prepared)?;
                    hash
                }
                None => {
                    archive.start_file(member.path.as_str(), options(size, time))?;
                    member.copy(&mut archive)?
                }
            };
            in_memory -= size;
            lines += &format!("{},sha256={hash},{size}\n", quoted(&member.path));
        }
    })?;
    lines += &format!("{},,\n", quoted(record));
    archive.start_file(record, options(0, time))?;
    archive.write_all(lines.as_bytes())?;
    archive.finish()?.flush()
}

/// A member that another thread compresses, and its hash.
type Compression<'scope> = ScopedJoinHandle<'scope, io::Result<(PreparedZipFile, String)>>;

impl WheelMember {
    fn size(&self) -> io::Result<u64> {
        match &self.content {
            MemberContent::Text(text) => Ok(text.len() as u64),
            MemberContent::File { path, .. } => Ok(path.metadata()?.len()),
        }
    }

    fn compress(&self, size: u64, time: DateTime) -> io::Result<(PreparedZipFile, String)> {
        let mut builder = ZipFileBuilder::new(&self.path, options(size, time))?;
        let hash = self.copy(&mut builder)?;
        Ok((builder.finish()?, hash))
    }

    /// Copies the content. Returns the hash in RECORD's form.
    fn copy(&self, target: &mut impl Write) -> io::Result<String> {
        let mut hash = Sha256::new();
        let (path, expected) = match &self.content {
            MemberContent::Text(text) => {
                target.write_all(text.as_bytes())?;
                hash.update(text);
                return Ok(URL_SAFE_NO_PAD.encode(hash.finalize()));
            }
            MemberContent::File { path, sha256 } => (path, sha256),
        };
        let mut file = File::open(path)?;
        let mut piece = vec![0; 1 << 18];
        loop {
            let length = file.read(&mut piece)?;
            if length == 0 {
                break;
            }
            hash.update(&piece[..length]);
            target.write_all(&piece[..length])?;
        }
        let hash = hash.finalize();
        if expected
            .as_ref()
            .is_some_and(|own| *own != crate::hex(&hash))
        {
            return Err(io::Error::other(format!("{path} was changed meanwhile")));
        }
        Ok(URL_SAFE_NO_PAD.encode(&hash[..]))
    }
}

fn panicked() -> io::Error {
    io::Error::other("the compression of a file ended early")
}

fn options(size: u64, time: DateTime) -> SimpleFileOptions {
    SimpleFileOptions::default()
        .compression_method(CompressionMethod::Deflated)
        .compression_level(Some(6))
        .last_modified_time(time)
        .large_file(size >= LARGE)
        .unix_permissions(0o644)
}

/// The time of every member: `SOURCE_DATE_EPOCH`, else the first that zip knows, 1980.
fn time() -> DateTime {
    let epoch = std::env::var("SOURCE_DATE_EPOCH").ok();
    let seconds = epoch.and_then(|text| text.parse::<u64>().ok());
    seconds.and_then(date_time).unwrap_or_default()
}

/// The time that is some seconds after 1970, in UTC; `None` outside of the years that zip knows.
fn date_time(seconds: u64) -> Option<DateTime> {
    let text = humantime::format_rfc3339_seconds(
        std::time::UNIX_EPOCH.checked_add(std::time::Duration::from_secs(seconds))?,
    )
    .to_string();
    let mut parts = text
        .split(|c: char| !c.is_ascii_digit())
        .map_while(|part| part.parse::<u16>().ok());
    let year = parts.next()?;
    let mut next = || parts.next().and_then(|part| u8::try_from(part).ok());
    let (month, day, hour, minute, second) = (next()?, next()?, next()?, next()?, next()?);
    DateTime::from_date_and_time(year, month, day, hour, minute, second).ok()
}

/// A path as a field of RECORD.
fn quoted(path: &str) -> String {
    match path.contains([',', '"']) {
        true => format!("\"{}\"", path.replace('"', "\"\"")),
        false => path.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_those_of_zip() {
        let time = date_time(1_700_000_000).expect("a time");
        let found = (
            time.year(),
            time.month(),
            time.day(),
            time.hour(),
            time.minute(),
        );
        assert_eq!(found, (2023, 11, 14, 22, 13));
        assert_eq!(date_time(0), None);
    }

    #[test]
    fn fields_with_commas_are_quoted() {
        assert_eq!(quoted("a/b.py"), "a/b.py");
        assert_eq!(quoted("a,\"b\".py"), "\"a,\"\"b\"\".py\"");
    }
}
