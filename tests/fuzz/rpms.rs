//! RPM packages, unpacked as recipes do it: by nix/toolchains/rpm.sh with the programs of the seed.

use std::os::unix::fs::symlink;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::Command;

use crate::common::archives::xz;
use crate::common::folder::REPOSITORY;
use crate::common::program::store;
use crate::{Kind, Seed};

/// A lead and two headers, up to the payload.
fn headers() -> Vec<u8> {
    let mut package = vec![0xed, 0xab, 0xee, 0xdb, 3, 0, 0, 0, 0, 1];
    package.resize(96, 0);
    package[76..80].copy_from_slice(&[0, 1, 0, 5]);
    // The signature ends at a multiple of eight bytes, the header need not.
    for is_signature in [true, false] {
        // A header of one tag: its magic, the numbers of tags and of bytes, the tag, and its value.
        package.extend([0x8e, 0xad, 0xe8, 1, 0, 0, 0, 0]);
        for number in [1_u32, 4, 1001, 6, 0, 1] {
            package.extend(number.to_be_bytes());
        }
        package.extend(b"1-1\0");
        if is_signature {
            package.resize(package.len().next_multiple_of(8), 0);
        }
    }
    package
}

fn package(files: Vec<u8>) -> Vec<u8> {
    [headers(), xz(&files)].concat()
}

/// Files as a cpio archive: a name, a mode and a content each.
fn cpio(members: &[(&str, u32, &[u8])]) -> Vec<u8> {
    let mut archive = Vec::new();
    for (number, (name, mode, content)) in members.iter().enumerate() {
        let (size, length) = (content.len(), name.len() + 1);
        let fields = [
            number + 1,
            *mode as usize,
            0,
            0,
            1,
            0,
            size,
            0,
            0,
            0,
            0,
            length,
            0,
        ];
        archive.extend(b"070701");
        let digits = fields.map(|field| format!("{field:08x}"));
        archive.extend(digits.concat().into_bytes());
        archive.extend(name.bytes());
        archive.push(0);
        archive.resize(archive.len().next_multiple_of(4), 0);
        archive.extend(*content);
        archive.resize(archive.len().next_multiple_of(4), 0);
    }
    archive
}

/// The seed's busybox, which needs no library of the machine.
fn busybox() -> PathBuf {
    let folder = PathBuf::from(store()).join("nix/store");
    let entries = std::fs::read_dir(&folder).expect("a store");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let mut paths = paths.filter(|path| path.to_string_lossy().ends_with("-seed-binaries"));
    paths
        .next()
        .expect("the seed: fetch a kernel")
        .join("bin/busybox")
}

pub fn rpm() -> Kind {
    let files = cpio(&[
        ("./opt", 0o040_755, b""),
        ("./opt/a.h", 0o100_644, b"text\n"),
        ("./opt/tool", 0o100_755, b"#!/bin/sh\n"),
        ("./opt/link", 0o120_777, b"a.h"),
        ("TRAILER!!!", 0, b""),
    ]);
    let programs = tempfile::tempdir().expect("a temporary folder");
    for name in ["cat", "chmod", "cpio", "mkdir", "rm", "rpm2cpio"] {
        symlink(busybox(), programs.path().join(name)).expect("linked");
    }
    Kind {
        seeds: vec![
            Seed::plain(package(files.clone())),
            Seed {
                content: files,
                wrap: package,
            },
        ],
        words: &[b"../../outside", b"TRAILER!!!", b"070701", b"\xfd7zXZ\0"],
        read: Box::new(move |folder, _| {
            let tree = folder.join("tree");
            if tree.exists() {
                std::fs::remove_dir_all(&tree).expect("removed");
            }
            let script = "set -euo pipefail; fail() { echo \"$*\" >&2; exit 1; }; . \"$0\"; unpack_rpm \"$1\" \"$2\"";
            let mut bash = Command::new("timeout");
            bash.args(["60", "bash", "-c", script]);
            bash.arg(format!("{REPOSITORY}/nix/toolchains/rpm.sh"));
            bash.arg(folder.join("case")).arg(tree.join("inside"));
            bash.env(
                "PATH",
                format!("{}:/usr/bin:/bin", programs.path().display()),
            );
            let output = bash.output().expect("bash");
            let words = String::from_utf8_lossy(&output.stderr);
            let code = output.status.code().unwrap_or_default();
            // 124: it took too long; from 128 on: a signal ended a program.
            assert!(output.status.signal().is_none() && code < 124, "{words}");
            output.status.success()
        }),
    }
}
