//! Builds trees: some members of archives, laid out as the store holds them (modes: 755 below bin/,
//! else 644).

use std::fs::File;
use std::io::{Read, Seek};
use std::os::unix::fs::PermissionsExt;

use camino::{Utf8Path, Utf8PathBuf};
use flate2::read::GzDecoder;
use zip::ZipArchive;

use super::error::IndexError;
use super::sources::ArchiveSources;
use super::{Archive, ArchiveKind, PinError, Take, TreeSource, cache};

/// The way to get the members of a wheel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemberAccess {
    /// From parts of wheels, where the index serves parts.
    Parts,
    /// From whole archives, whose hashes are known.
    Wholes,
}

/// Builds a tree in `dir`.
///
/// # Errors
/// Errors of downloads, and of archives that lack the wanted members.
pub fn build(
    wanted: &[TreeSource],
    from: MemberAccess,
    sources: &ArchiveSources,
    dir: &Utf8Path,
) -> Result<(), PinError> {
    wanted.iter().try_for_each(|source| {
        sources.alone(&source.archive, || take_from(source, from, sources, dir))
    })
}

fn take_from(
    source: &TreeSource,
    from: MemberAccess,
    sources: &ArchiveSources,
    dir: &Utf8Path,
) -> Result<(), PinError> {
    let TreeSource { archive, take } = source;
    if from == MemberAccess::Parts
        && archive.kind == ArchiveKind::Wheel
        && !cache::path(archive).exists()
        && let Some(size) = archive.size
    {
        let picked = sources
            .members(archive, size, |name| taken(take, name).is_some())
            .and_then(|mut wheel| {
                pick_wheel(archive, &mut wheel, take, dir)
                    .map_err(|error| IndexError::Wheel(error.why()))
            });
        match picked {
            Ok(()) => return Ok(()),
            // The whole file is always an alternative: any index serves it.
            Err(error) => sources.note_whole(archive, &error),
        }
    }
    let file = sources.archive(archive)?;
    unpack(archive, &file, take, dir)
}

fn unpack(
    archive: &Archive,
    file: &Utf8Path,
    take: &[Take],
    dir: &Utf8Path,
) -> Result<(), PinError> {
    let failed = |why: &dyn std::fmt::Display| defect(archive, why);
    let opened = File::open(file).map_err(PinError::io("open", file))?;
    match archive.kind {
        ArchiveKind::Wheel => {
            let mut wheel = ZipArchive::new(opened).map_err(|error| failed(&error))?;
            pick_wheel(archive, &mut wheel, take, dir)
        }
        ArchiveKind::Deb => {
            let data = deb_data(opened).map_err(|error| failed(&error))?;
            pick_tar(archive, &data[..], take, dir)
        }
        ArchiveKind::Tarball => {
            let unpacked = unpack_all(opened, dir).map_err(|error| PinError::Download {
                name: archive.file.clone(),
                why: format!("its server has something that cannot be unpacked: {error}"),
                help: "find out why before you use it".to_owned(),
            });
            std::fs::remove_file(file).map_err(PinError::io("remove", file))?;
            unpacked
        }
        ArchiveKind::Sdist => pick_tar(archive, GzDecoder::new(opened), take, dir),
        ArchiveKind::Rpm | ArchiveKind::File => Err(failed(
            &"trees are taken from wheels, source distributions and Debian packages only",
        )),
    }
}

/// Unpacks a `.tar.gz` without its first folder, with links and executable files, as Nix's fetchers
/// do. NB: its hash is not known before. `tar::Archive::unpack` refuses members that lead out of
/// the folder, also by links.
fn unpack_all(file: File, dir: &Utf8Path) -> std::io::Result<()> {
    let whole = tempfile::tempdir_in(dir)?;
    tar::Archive::new(GzDecoder::new(file)).unpack(whole.path())?;
    for first in whole.path().read_dir()? {
        for entry in first?.path().read_dir()? {
            let entry = entry?;
            std::fs::rename(entry.path(), dir.as_std_path().join(entry.file_name()))?;
        }
    }
    Ok(())
}

fn pick_wheel(
    archive: &Archive,
    wheel: &mut ZipArchive<impl Read + Seek>,
    take: &[Take],
    dir: &Utf8Path,
) -> Result<(), PinError> {
    let failed = |why: &dyn std::fmt::Display| defect(archive, why);
    let mut found = 0;
    for index in 0..wheel.len() {
        let entry = wheel.by_index_data(index).map_err(|error| failed(&error))?;
        let name = entry.name().map_err(|error| failed(&error))?.into_owned();
        // NB: only wanted members may be opened: of a remote wheel, the others are not here.
        if let Some(target) = taken(take, &name)
            && entry.is_file()
        {
            let mut member = wheel.by_index(index).map_err(|error| failed(&error))?;
            write(&dir.join(target), &mut member).map_err(|error| failed(&error))?;
            found += 1;
        }
    }
    some(archive, found)
}

fn pick_tar(
    archive: &Archive,
    data: impl Read,
    take: &[Take],
    dir: &Utf8Path,
) -> Result<(), PinError> {
    let failed = |why: &dyn std::fmt::Display| defect(archive, why);
    let mut found = 0;
    let mut tar = tar::Archive::new(data);
    for entry in tar.entries().map_err(|error| failed(&error))? {
        let mut entry = entry.map_err(|error| failed(&error))?;
        let path = entry.path().map_err(|error| failed(&error))?;
        let name = path.to_string_lossy().trim_start_matches("./").to_owned();
        if let Some(target) = taken(take, &name)
            && entry.header().entry_type().is_file()
        {
            write(&dir.join(target), &mut entry).map_err(|error| failed(&error))?;
            found += 1;
        }
    }
    some(archive, found)
}

fn some(archive: &Archive, found: usize) -> Result<(), PinError> {
    if found == 0 {
        return Err(defect(archive, &"it holds none of the wanted members"));
    }
    Ok(())
}

fn defect(archive: &Archive, why: &dyn std::fmt::Display) -> PinError {
    PinError::Unpack {
        file: archive.file.clone(),
        why: why.to_string(),
        help: "the file matches its pin, so this is a defect of kernel-builder: please report it",
    }
}

/// The path of a member in the tree; `None` if it is not wanted.
fn taken<'a>(take: &'a [Take], name: &'a str) -> Option<&'a str> {
    // A name comes from an archive, so it may try to lead out of the tree.
    let inside = !name.starts_with('/') && name.split('/').all(|part| part != "..");
    let take = take.iter().find(|take| matches(&take.glob, name))?;
    let stripped = || name.splitn(take.strip + 1, '/').nth(take.strip);
    take.to.as_deref().or_else(stripped).filter(|_| inside)
}

/// The uncompressed data.tar of a Debian package.
fn deb_data(file: File) -> std::io::Result<Vec<u8>> {
    let mut package = ar::Archive::new(file);
    while let Some(entry) = package.next_entry() {
        let entry = entry?;
        if entry.header().identifier() == b"data.tar.xz" {
            let mut data = Vec::new();
            lzma_rs::xz_decompress(&mut std::io::BufReader::new(entry), &mut data)
                .map_err(|error| std::io::Error::other(format!("{error:?}")))?;
            return Ok(data);
        }
    }
    Err(std::io::Error::other("no data.tar.xz in it"))
}

fn write(path: &Utf8PathBuf, content: &mut dyn Read) -> std::io::Result<()> {
    if let Some(dir) = path.parent() {
        std::fs::create_dir_all(dir)?;
    }
    let mut file = File::create(path)?;
    std::io::copy(content, &mut file)?;
    let program = path.parent().and_then(Utf8Path::file_name) == Some("bin");
    file.set_permissions(std::fs::Permissions::from_mode(if program {
        0o755
    } else {
        0o644
    }))
}

/// Whether a pattern matches a whole name: `*` stands for any run of characters but `/`, `**` for
/// any run at all.
pub fn matches(glob: &str, name: &str) -> bool {
    let Some((prefix, rest)) = glob.split_once('*') else {
        return glob == name;
    };
    let Some(tail) = name.strip_prefix(prefix) else {
        return false;
    };
    let (rest, reach) = match rest.strip_prefix('*') {
        Some(rest) => (rest, tail.len()),
        None => (rest, tail.find('/').unwrap_or(tail.len())),
    };
    (0..=reach)
        .filter(|&at| tail.is_char_boundary(at))
        .any(|at| matches(rest, &tail[at..]))
}

#[cfg(test)]
mod tests {
    use super::super::Take;
    use super::{matches, taken};

    #[test]
    fn members_lose_leading_folders_and_stay_inside() {
        let take = [Take {
            glob: "*/third_party/include/**".to_owned(),
            to: None,
            strip: 2,
        }];
        let cases = [
            ("a-1.0/third_party/include/x/y.h", Some("include/x/y.h")),
            ("a-1.0/third_party/include/../../y.h", None),
            ("a-1.0/other/include/y.h", None),
        ];
        for (name, target) in cases {
            assert_eq!(taken(&take, name), target, "{name}");
        }
    }

    #[test]
    fn stars_do_not_cross_folders() {
        assert!(matches(
            "nvidia/*/include/*.h",
            "nvidia/cu13/include/cublas.h"
        ));
        assert!(!matches(
            "nvidia/*/include/*.h",
            "nvidia/cu13/include/thrust/cublas.h"
        ));
        assert!(!matches(
            "nvidia/*/include/*.h",
            "nvidia/cu13/include/cublas.hpp"
        ));
        assert!(matches("bin/bash-static", "bin/bash-static"));
    }

    #[test]
    fn double_stars_cross_folders() {
        assert!(matches(
            "torch/include/**",
            "torch/include/ATen/core/Tensor.h"
        ));
        assert!(matches("torch/include/**", "torch/include/a.h"));
        assert!(matches("torch/**.h", "torch/include/a.h"));
        assert!(!matches("torch/**.h", "torch/include/a.cuh"));
        assert!(!matches("torch/include/**", "torch/lib/libc10.so"));
    }
}
