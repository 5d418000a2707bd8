//! Archives, each taken apart as a fetch does it. Nothing may be written beside the folder that is
//! meant for its members.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;

use camino::Utf8Path;
use flate2::Compression;
use flate2::write::GzEncoder;
use kernel_builder::families::{Archive, ArchiveKind, TakenMembers};
use kernel_builder::pins::unpack::{MemberSelection, UnpackRoom, unpack};
use tar::{EntryType, Header};
use walkdir::WalkDir;

use crate::common::archives::xz;
use crate::{Kind, Seed, common};

/// The bytes that a tree may have.
const ROOM: u64 = 1 << 20;

const WORDS: &[&[u8]] = &[
    b"../../outside",
    b"/tmp/kernel-builder-fuzz-outside",
    b"././@LongLink",
    b"99999999999\0",
    b"0000000000L",
    b"0000000000K",
    b"0000000000x",
    b"0000000000S",
    b"30 path=../../../../outside\n",
    b"26 size=99999999999999999\n",
    b"data.tar.xz/",
    b"//              ",
    b"9999999999",
    b"PK\x01\x02",
    b"PK\x05\x06",
    b"PK\x06\x06",
    b"PK\x06\x07",
    b"PK\x03\x04",
    b"\xfd7zXZ\0",
    b"\x1f\x8b\x08",
];

/// A tar file with a folder, files, links and long names.
fn tar() -> Vec<u8> {
    let mut tar = tar::Builder::new(Vec::new());
    let header = |kind: EntryType, size: u64, mode: u32| {
        let mut header = Header::new_gnu();
        header.set_entry_type(kind);
        header.set_size(size);
        header.set_mode(mode);
        header
    };
    let mut folder = header(EntryType::Directory, 0, 0o555);
    tar.append_data(&mut folder, "sample-1.0/include/", &b""[..])
        .expect("appended");
    let long = format!("sample-1.0/include/{}.h", "long".repeat(40));
    for name in ["sample-1.0/include/a.h", "sample-1.0/bin/tool", &long] {
        let mut file = header(EntryType::Regular, 4, 0o644);
        tar.append_data(&mut file, name, &b"text"[..])
            .expect("appended");
    }
    for (kind, target) in [
        (EntryType::Symlink, "a.h"),
        (EntryType::Link, "sample-1.0/include/a.h"),
    ] {
        let mut link = header(kind, 0, 0o777);
        let name = format!("sample-1.0/include/{}.h", kind.as_byte());
        tar.append_link(&mut link, name, target).expect("appended");
    }
    let extension = b"19 comment=nothing\n";
    let mut pax = header(EntryType::XGlobalHeader, extension.len() as u64, 0o644);
    tar.append_data(&mut pax, "pax_global_header", &extension[..])
        .expect("appended");
    tar.into_inner().expect("finished")
}

fn gzip(content: Vec<u8>) -> Vec<u8> {
    let mut writer = GzEncoder::new(Vec::new(), Compression::fast());
    writer.write_all(&content).expect("compressed");
    writer.finish().expect("compressed")
}

/// A Debian package with a data.tar.xz.
fn package(data: Vec<u8>) -> Vec<u8> {
    let mut package = b"!<arch>\n".to_vec();
    for (name, content) in [
        ("debian-binary", b"2.0\n".to_vec()),
        ("control.tar.xz", xz(b"odd")),
        ("data.tar.xz", xz(&data)),
    ] {
        let header = format!(
            "{name:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n",
            0,
            0,
            0,
            100_644,
            content.len()
        );
        package.extend(header.into_bytes());
        package.extend(&content);
        if content.len() % 2 == 1 {
            package.push(b'\n');
        }
    }
    package
}

pub fn wheel() -> Kind {
    let mut stored = vec![(
        "sample/include/a.h".to_owned(),
        b"text\n".repeat(40).to_vec(),
    )];
    stored.push(("sample/bin/tool".to_owned(), b"#!/bin/sh\n".to_vec()));
    let stored = common::archives::wheel(&stored);
    let mut deflated = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let options = zip::write::SimpleFileOptions::default().large_file(true);
    for name in ["sample/include/a.h", "sample/include/b.h"] {
        deflated.start_file(name, options).expect("a member");
        deflated.write_all(&b"text\n".repeat(400)).expect("written");
    }
    let deflated = deflated.finish().expect("a wheel").into_inner();
    let seeds = vec![Seed::plain(stored), Seed::plain(deflated)];
    kind(ArchiveKind::Wheel, seeds)
}

pub fn deb() -> Kind {
    let wrapped = Seed {
        content: tar(),
        wrap: package,
    };
    kind(ArchiveKind::Deb, vec![wrapped, Seed::plain(package(tar()))])
}

pub fn sdist() -> Kind {
    kind(ArchiveKind::Sdist, tar_seeds())
}

pub fn tarball() -> Kind {
    kind(ArchiveKind::Tarball, tar_seeds())
}

fn tar_seeds() -> Vec<Seed> {
    let wrapped = Seed {
        content: tar(),
        wrap: gzip,
    };
    vec![wrapped, Seed::plain(gzip(tar()))]
}

fn kind(kind: ArchiveKind, seeds: Vec<Seed>) -> Kind {
    let archive = Archive {
        kind,
        name: "sample".to_owned(),
        version: "1.0".to_owned(),
        file: "sample".to_owned(),
        sha256: String::new(),
        size: None,
        urls: Vec::new(),
    };
    let take = [TakenMembers {
        glob: "*/{include,bin}/**".to_owned(),
        to: None,
        strip: 1,
    }];
    Kind {
        seeds,
        words: WORDS,
        read: Box::new(move |folder, bytes| {
            let inside = folder.join("tree/inside");
            if folder.join("tree").exists() {
                std::fs::remove_dir_all(folder.join("tree")).expect("removed");
            }
            std::fs::create_dir_all(&inside).expect("created");
            let file = folder.join("archive");
            std::fs::write(&file, bytes).expect("written");
            let path = |path| Utf8Path::from_path(path).expect("UTF-8");
            let selection = MemberSelection::new(&archive, &take).expect("patterns");
            let mut room = UnpackRoom::new(Some(ROOM));
            let unpacked = unpack(&archive, path(&file), &selection, path(&inside), &mut room);
            assert_inside(folder);
            unpacked.is_ok()
        }),
    }
}

/// Asserts that a case wrote below its folder alone, and no more than it may.
fn assert_inside(folder: &Path) {
    let names = |folder: &Path| -> BTreeSet<_> {
        let entries = std::fs::read_dir(folder).expect("a folder");
        entries
            .map(|entry| entry.expect("an entry").file_name())
            .collect()
    };
    let known = ["archive", "case", "tree"].map(Into::into);
    assert!(
        names(folder).is_subset(&known.into()),
        "{:?}",
        names(folder)
    );
    assert_eq!(names(&folder.join("tree")), ["inside".into()].into());
    assert!(!Path::new("/tmp/kernel-builder-fuzz-outside").exists());
    let files = WalkDir::new(folder.join("tree")).into_iter().flatten();
    let sizes = files.filter_map(|file| file.metadata().ok().filter(|own| own.is_file()));
    // Links to one file count as often as they are.
    let bytes: u64 = sizes.map(|own| own.len()).sum();
    assert!(bytes <= 64 * ROOM, "{bytes} bytes");
}
