//! Reads a wheel on a server as if it were a local file: only the parts that are read come over the
//! network. Each part is a file of its own, so that a run after a killed one does not download it
//! again.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Error, Read, Result, Seek, SeekFrom};
use std::os::unix::fs::FileExt;

use camino::{Utf8Path, Utf8PathBuf};
use zip::ZipArchive;

use super::http::{FilePart, HttpClient};

/// The size of a part that is read without a request for its bytes, such as a zip file's directory.
pub const BLOCK: u64 = 1 << 18;

/// Members with fewer bytes between them are one request.
const GAP: u64 = 1 << 16;

/// A file on a server.
pub struct RemoteFile<'a> {
    client: &'a HttpClient,
    url: String,
    size: u64,
    position: u64,
    /// The start of the names of the files that hold parts.
    prefix: Utf8PathBuf,
    /// The end and the content of each part, by its first byte.
    parts: BTreeMap<u64, (u64, File)>,
}

impl<'a> RemoteFile<'a> {
    /// A file of `size` bytes, whose parts are kept in files of names that start with `prefix`.
    pub fn new(client: &'a HttpClient, url: String, size: u64, prefix: &Utf8Path) -> Self {
        Self {
            client,
            url,
            size,
            position: 0,
            prefix: prefix.to_owned(),
            parts: BTreeMap::new(),
        }
    }

    /// The part that the position is in: the part's first byte, end and content.
    fn part(&self) -> Option<(u64, u64, &File)> {
        let (first, (end, file)) = self.parts.range(..=self.position).next_back()?;
        (*end > self.position).then_some((*first, *end, file))
    }

    /// Downloads the bytes from `first` to before `end`, none of which may be here yet.
    fn fetch(&mut self, first: u64, end: u64) -> Result<()> {
        let path = Utf8PathBuf::from(format!("{}-{first}-{end}", self.prefix));
        self.client
            .download(&self.url, FilePart::Span(first, end, self.size), &path)
            .map_err(Error::other)?;
        self.parts.insert(first, (end, File::open(&path)?));
        Ok(())
    }

    /// Downloads the missing bytes of some spans (first byte, end), which are in order and apart.
    fn fetch_all(&mut self, spans: &[(u64, u64)]) -> Result<()> {
        for &(first, end) in spans {
            let mut at = first;
            while at < end {
                if let Some((_, (known, _))) = self.parts.range(..=at).next_back()
                    && *known > at
                {
                    at = *known;
                    continue;
                }
                let next = self.parts.range(at..end).next();
                let stop = next.map_or(end, |(next, _)| *next);
                self.fetch(at, stop)?;
                at = stop;
            }
        }
        Ok(())
    }
}

impl Read for RemoteFile<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        if self.position >= self.size || buffer.is_empty() {
            return Ok(0);
        }
        if self.part().is_none() {
            let block = self.position / BLOCK * BLOCK;
            self.fetch_all(&[(block, (block + BLOCK).min(self.size))])?;
        }
        let (first, end, file) = self
            .part()
            .ok_or_else(|| Error::other("a part of the file is missing"))?;
        let count = buffer
            .len()
            .min(usize::try_from(end - self.position).unwrap_or(usize::MAX));
        let count = file.read_at(&mut buffer[..count], self.position - first)?;
        if count == 0 {
            return Err(Error::other("a part of the file was cut short"));
        }
        self.position += count as u64;
        Ok(count)
    }
}

impl Seek for RemoteFile<'_> {
    fn seek(&mut self, to: SeekFrom) -> Result<u64> {
        let position = match to {
            SeekFrom::Start(offset) => Some(offset),
            SeekFrom::Current(offset) => self.position.checked_add_signed(offset),
            SeekFrom::End(offset) => self.size.checked_add_signed(offset),
        };
        self.position = position.ok_or_else(|| Error::other("a place before the file"))?;
        Ok(self.position)
    }
}

/// A zip file on a server, with its wanted members downloaded.
///
/// # Errors
/// The errors of the network, and of a file that is no zip file.
pub fn open<'a>(
    remote: RemoteFile<'a>,
    wanted: impl Fn(&str) -> bool,
) -> zip::result::ZipResult<ZipArchive<RemoteFile<'a>>> {
    let directory = ZipArchive::new(remote)?;
    let mut members = Vec::new();
    for index in 0..directory.len() {
        let member = directory.by_index_data(index)?;
        members.push((member.header_start(), wanted(&member.name()?)));
    }
    let spans = spans(members, directory.central_directory_start());
    let mut remote = directory.into_inner();
    remote.fetch_all(&spans)?;
    ZipArchive::new(remote)
}

/// The spans of wanted members, from all members (first byte, whether it is wanted) and the end of
/// the last one.
fn spans(mut members: Vec<(u64, bool)>, end: u64) -> Vec<(u64, u64)> {
    members.sort_unstable();
    let ends: Vec<u64> = members.iter().skip(1).map(|(first, _)| *first).collect();
    let ends = ends.into_iter().chain([end]);
    let mut spans: Vec<(u64, u64)> = Vec::new();
    for ((first, wanted), end) in members.into_iter().zip(ends) {
        if !wanted {
            continue;
        }
        match spans.last_mut() {
            Some((_, last)) if first <= *last + GAP => *last = end,
            _ => spans.push((first, end)),
        }
    }
    spans
}

#[cfg(test)]
mod tests {
    use super::{GAP, spans};

    #[test]
    fn neighbours_are_one_request() {
        let far = 100 + GAP + 1;
        let members = vec![
            (0, false),
            (10, true),
            (40, false),
            (50, true),
            (100, false),
            (far, true),
        ];
        assert_eq!(spans(members, far + 5), [(10, 100), (far, far + 5)]);
    }
}
