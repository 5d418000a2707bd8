//! Builds trees: some members of archives, from parts of wheels or from whole files.

use camino::Utf8Path;

use super::error::IndexError;
use super::http::HttpFailure;
use super::sources::ArchiveSources;
use super::unpack::{MemberSelection, UnpackRoom, pick_wheel, unpack};
use super::{ArchiveKind, PinError, TreeSource, cache};

/// The way to get the members of a wheel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemberAccess {
    /// From parts of wheels, where the index serves parts.
    Parts,
    /// From whole archives, whose hashes are known.
    Wholes,
}

/// Builds a tree in `dir`. Its files may have `size` bytes.
///
/// # Errors
/// Errors of downloads, and of archives that lack the wanted members or unpack to more.
pub fn build(
    wanted: &[TreeSource],
    size: Option<u64>,
    from: MemberAccess,
    sources: &ArchiveSources,
    dir: &Utf8Path,
) -> Result<(), PinError> {
    let mut room = UnpackRoom::new(size);
    wanted.iter().try_for_each(|source| {
        let take = || take_from(source, from, sources, dir, &mut room);
        sources.with_archive_lock(&source.archive, take)
    })
}

fn take_from(
    source: &TreeSource,
    from: MemberAccess,
    sources: &ArchiveSources,
    dir: &Utf8Path,
    room: &mut UnpackRoom,
) -> Result<(), PinError> {
    let TreeSource { archive, take } = source;
    let take = &MemberSelection::new(archive, take)?;
    if from == MemberAccess::Parts
        && archive.kind == ArchiveKind::Wheel
        && !cache::path(archive).exists()
        && let Some(size) = archive.size
    {
        let mut rest = *room;
        let picked = sources
            .members(archive, size, |name| take.target(name).is_some())
            .and_then(|mut wheel| {
                let _adding = sources.progress.adding(&archive.file);
                pick_wheel(archive, &mut wheel, take, dir, &mut rest)
                    .map_err(|error| IndexError::Wheel(error.why()))
            });
        match picked {
            Ok(()) => {
                *room = rest;
                return Ok(());
            }
            // Without pip or its index, other sources may have the whole file.
            Err(IndexError::Configuration(_) | IndexError::Http(HttpFailure::Silent(_))) => {}
            // The whole file is always an alternative, since any index serves it.
            Err(error) => sources.note_whole(archive, &error),
        }
    }
    let file = sources.archive(archive)?;
    let _adding = sources.progress.adding(&archive.file);
    unpack(archive, &file, take, dir, room)
}
