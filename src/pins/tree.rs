//! Trees: some members of archives, laid out as the store holds them (modes: 755 below bin/, else 644).

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;

use camino::{Utf8Path, Utf8PathBuf};

use super::{Archive, Kind, PinError, Source, Take, apt, cache, pip};

/// Builds a tree in `dir`, downloading as little as the indexes allow. `staging` takes whole archives.
///
/// # Errors
/// Those of downloads and of archives that do not hold what is asked of them.
pub fn build(sources: &[Source], dir: &Utf8Path, staging: &Utf8Path) -> Result<(), PinError> {
    for source in sources {
        let archive = &source.archive;
        let cached = cache::path(archive);
        if !cached.exists() {
            let renames = source.take.iter().any(|take| take.to.is_some());
            if archive.kind == Kind::Wheel && !renames && pip::members(source, dir).is_ok() {
                continue;
            }
            // Ranges are an optimisation: any index serves whole files.
            match archive.kind {
                Kind::Deb => apt::download(&[archive], staging)?,
                Kind::Wheel => pip::download(archive, staging)?,
            }
            cache::adopt(archive, &staging.join(&archive.file))?;
        }
        unpack(archive, &cached, &source.take, dir)?;
    }
    Ok(())
}

fn unpack(
    archive: &Archive,
    file: &Utf8Path,
    take: &[Take],
    dir: &Utf8Path,
) -> Result<(), PinError> {
    let failed = |why: String| PinError::Unpack {
        file: archive.file.clone(),
        why,
        help: "the file matches its pin, so this is a defect of kernel-builder: please report it",
    };
    let mut found = 0;
    let mut keep = |name: &str, content: &mut dyn Read| -> std::io::Result<()> {
        let Some(take) = take.iter().find(|take| matches(&take.glob, name)) else {
            return Ok(());
        };
        found += 1;
        write(&dir.join(take.to.as_deref().unwrap_or(name)), content)
    };
    let opened = File::open(file).map_err(PinError::io("open", file))?;
    match archive.kind {
        Kind::Wheel => {
            let mut wheel =
                zip::ZipArchive::new(opened).map_err(|error| failed(error.to_string()))?;
            for index in 0..wheel.len() {
                let mut member = wheel
                    .by_index(index)
                    .map_err(|error| failed(error.to_string()))?;
                if member.is_file() {
                    let name = member
                        .name()
                        .map_err(|error| failed(error.to_string()))?
                        .into_owned();
                    keep(&name, &mut member).map_err(|error| failed(error.to_string()))?;
                }
            }
        }
        Kind::Deb => {
            let data = deb_data(opened).map_err(|error| failed(error.to_string()))?;
            let mut tar = tar::Archive::new(&data[..]);
            for entry in tar.entries().map_err(|error| failed(error.to_string()))? {
                let mut entry = entry.map_err(|error| failed(error.to_string()))?;
                let path = entry
                    .path()
                    .map_err(|error| failed(error.to_string()))?
                    .to_string_lossy()
                    .into_owned();
                if entry.header().entry_type().is_file() {
                    keep(path.trim_start_matches("./"), &mut entry)
                        .map_err(|error| failed(error.to_string()))?;
                }
            }
        }
    }
    if found == 0 {
        return Err(failed("it holds none of the wanted members".to_owned()));
    }
    Ok(())
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

/// Whether a pattern in which `*` stands for any run of characters but `/` matches a whole name.
fn matches(glob: &str, name: &str) -> bool {
    match glob.split_once('*') {
        None => glob == name,
        Some((prefix, rest)) => name.strip_prefix(prefix).is_some_and(|tail| {
            let reach = tail.find('/').unwrap_or(tail.len());
            (0..=reach)
                .filter(|&at| tail.is_char_boundary(at))
                .any(|at| matches(rest, &tail[at..]))
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::matches;

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
}
