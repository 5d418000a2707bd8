//! RPM packages as vendors make them: a lead, two headers, and files as a cpio archive, compressed.
//! Only as much as an unpacker reads.

use std::os::unix::fs::PermissionsExt;

use crate::common::archives::xz;

/// A file of a package: its path below /, its content, and whether it can be run.
pub struct Member {
    pub path: String,
    pub content: Vec<u8>,
    pub mode: u32,
}

impl Member {
    pub fn file(path: &str, content: impl Into<Vec<u8>>) -> Self {
        Self {
            path: path.to_owned(),
            content: content.into(),
            mode: 0o100_644,
        }
    }

    pub fn program(path: &str, content: impl Into<Vec<u8>>) -> Self {
        Self {
            mode: 0o100_755,
            ..Self::file(path, content)
        }
    }

    pub fn link(path: &str, target: &str) -> Self {
        Self {
            mode: 0o120_777,
            ..Self::file(path, target)
        }
    }

    /// A copy of a file of this machine.
    pub fn copy(path: &str, from: &std::path::Path) -> Self {
        let mode = std::fs::metadata(from)
            .expect("a file")
            .permissions()
            .mode();
        Self {
            mode: 0o100_000 | (mode & 0o755),
            ..Self::file(path, std::fs::read(from).expect("a file"))
        }
    }
}

/// A package, with its files compressed by xz as AlmaLinux 8 does.
pub fn package(members: &[Member]) -> Vec<u8> {
    let payload = xz(&cpio(members));
    // The lead: magic, version, type, architecture, name, system, type of signature, padding.
    let mut package = vec![0xed, 0xab, 0xee, 0xdb, 3, 0, 0, 0, 0, 1];
    package.resize(96, 0);
    package[76..80].copy_from_slice(&[0, 1, 0, 5]);
    // The signature is padded to eight bytes, the header is not.
    let header = header("1-1");
    package.extend(&header);
    package.resize(package.len().next_multiple_of(8), 0);
    package.extend(&header);
    package.extend(payload);
    package
}

/// A header of one tag, which is a text.
fn header(value: &str) -> Vec<u8> {
    let mut header = vec![0x8e, 0xad, 0xe8, 1, 0, 0, 0, 0];
    let length = u32::try_from(value.len() + 1).expect("short");
    // How many tags, and how many bytes of values; then number, type, place and count of the tag.
    for number in [1, length, 1001, 6, 0, 1] {
        header.extend(number.to_be_bytes());
    }
    header.extend(value.bytes());
    header.push(0);
    header
}

fn cpio(members: &[Member]) -> Vec<u8> {
    let end = Member {
        path: "TRAILER!!!".to_owned(),
        content: Vec::new(),
        mode: 0,
    };
    let mut archive = Vec::new();
    for (inode, member) in members.iter().chain([&end]).enumerate() {
        let name = match member.mode {
            0 => member.path.clone(),
            _ => format!("./{}", member.path),
        };
        let fields = [
            inode + 1,
            member.mode as usize,
            0,
            0,
            1,
            0,
            member.content.len(),
            0,
            0,
            0,
            0,
            name.len() + 1,
            0,
        ];
        archive.extend(b"070701");
        archive.extend(
            fields
                .iter()
                .flat_map(|field| format!("{field:08x}").into_bytes()),
        );
        archive.extend(name.bytes());
        archive.push(0);
        archive.resize(archive.len().next_multiple_of(4), 0);
        archive.extend(&member.content);
        archive.resize(archive.len().next_multiple_of(4), 0);
    }
    archive
}
