//! Files of a built variant, each changed while the others are right.

use std::path::{Path, PathBuf};
use std::process::Command;

use camino::Utf8Path;
use kernel_builder::artifact::check::check_variant;
use kernel_builder::artifact::compare::compare_variants;
use kernel_builder::artifact::fatbin::capabilities;
use kernel_builder::artifact::metadata::FileDigests;
use kernel_builder::artifact::provenance::{BuildInputs, STATEMENT, statement};
use kernel_builder::artifact::rehash::rehash;
use kernel_builder::artifact::sections::{first_difference, store_paths};
use kernel_builder::artifact::signature::{
    check_signature, generate_key, read_public_key, read_secret_key, sign_variant,
};
use serde_json::json;

use crate::common::folder::{copy, write};
use crate::{Kind, Seed};

const VARIANT: &str = "torch211-cxx11-cu130-x86_64-linux";
const ID: &str = "_relu_cuda_0123456";

const WORDS: &[&[u8]] = &[
    b"/dev/zero",
    b"../../../../../../dev/zero",
    b"pipe",
    b"",
    b"\"\\u0000\"",
    b"\"\\ud800\"",
    b"1e999",
    b"-1",
    b"null",
    b"{}",
    b"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[",
    b"\"a\":{\"a\":{\"a\":",
    b"sha512",
    b"\xff\xfe",
    b"\n",
    b"=",
    b"trusted comment: ",
];

/// A library with device code, by the machine's compiler.
fn library_file() -> Vec<u8> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    // A container of one image for 9.0: headers of 16 and 64 bytes, and 8 bytes of code.
    let source = format!(
        "__attribute__((section(\".nv_fatbin\"))) unsigned char fatbin[88] = {{\n\
         0x50, 0xED, 0x55, 0xBA, 1, 0, 16, 0, 72, [16] = 2, [20] = 64, [24] = 8, [44] = 90}};\n\
         void *PyInit_{ID}(void) {{ return fatbin; }}\nconst char *path = \"/nix/store/0123-a\";\n"
    );
    write(&folder.path().join("a.c"), source);
    let file = folder.path().join("a.so");
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-nostdlib", "-s", "a.c", "-o", "a.so"]);
    let status = compiler.current_dir(folder.path()).status();
    assert!(status.expect("cc").success());
    std::fs::read(file).expect("a library")
}

fn metadata_text() -> Vec<u8> {
    let metadata = json!({
        "name": "relu", "id": ID, "version": 1, "license": "MIT", "python-depends": ["einops"],
        "backend": {"type": "cuda", "archs": ["9.0"]},
        "provenance": {"kernel-builder": {"version": "0.1.0"},
                       "kernel": {"commit": "0123456789012345678901234567890123456789", "dirty": true}},
    });
    format!("{metadata:#}\n").into_bytes()
}

/// A good variant below a folder, and a copy of it to compare with. Returns both.
fn variants(root: &Path) -> [PathBuf; 2] {
    let variant = root.join(VARIANT);
    write(&variant.join("__init__.py"), "from . import _ops\n");
    write(&variant.join("_ops.py"), "# empty\n");
    write(&variant.join(format!("{ID}.abi3.so")), library_file());
    write(&variant.join("metadata.json"), metadata_text());
    rehash(utf8(&variant)).expect("digests");
    let digests = FileDigests::read(utf8(&variant)).expect("digests");
    write(
        &variant.join(STATEMENT),
        statement(&BuildInputs::default(), &digests),
    );
    rehash(utf8(&variant)).expect("digests");
    let other = root.join("other");
    copy(&variant, &other);
    // Digests of it may be asked for, and its end never comes.
    let made = Command::new("mkfifo").arg(variant.join("pipe")).status();
    assert!(made.expect("mkfifo").success());
    [variant, other]
}

fn utf8(path: &Path) -> &Utf8Path {
    Utf8Path::from_path(path).expect("UTF-8")
}

/// Reads a variant in every way. Returns whether only the pipe is wrong.
fn read_variant([variant, other]: &[PathBuf; 2]) -> bool {
    let folder = utf8(variant);
    let checked = check_variant(folder, true).expect("a folder");
    if let Some(digests) = FileDigests::read(folder) {
        digests.unknown_files(folder).expect("a folder");
        digests.edited_files(folder);
    }
    compare_variants(utf8(other), folder).expect("a folder");
    checked.findings.len() == 1
}

/// A kind of which a file in the folder of a variant is changed.
fn file_kind(name: &'static str, seeds: Vec<Seed>, words: &'static [&'static [u8]]) -> Kind {
    let root = tempfile::tempdir().expect("a temporary folder");
    let both = variants(root.path());
    Kind {
        seeds,
        words,
        read: Box::new(move |_, bytes| {
            // NB: the folder lives as long as this function.
            let _ = &root;
            std::fs::write(both[0].join(name), bytes).expect("written");
            if name.ends_with(".so") {
                let _ = capabilities(bytes);
                store_paths(bytes, "/nix/store");
                let file = utf8(&both[1]).join(name);
                first_difference(&file, &utf8(&both[0]).join(name)).expect("readable");
            }
            read_variant(&both)
        }),
    }
}

/// The content of a file of a good variant.
fn content(name: &str) -> Vec<u8> {
    let root = tempfile::tempdir().expect("a temporary folder");
    std::fs::read(variants(root.path())[0].join(name)).expect("a file")
}

pub fn metadata() -> Kind {
    let seeds = vec![Seed::plain(content("metadata.json"))];
    file_kind("metadata.json", seeds, WORDS)
}

pub fn statement_file() -> Kind {
    file_kind(STATEMENT, vec![Seed::plain(content(STATEMENT))], WORDS)
}

pub fn library() -> Kind {
    let name = "_relu_cuda_0123456.abi3.so";
    file_kind(name, vec![Seed::plain(content(name))], &[b".nv_fatbin"])
}

/// Signatures of minisign, the public keys that check them, and signatures of sigstore, which no
/// command reads.
pub fn signature() -> Kind {
    let root = tempfile::tempdir().expect("a temporary folder");
    let both = variants(root.path());
    let folder = utf8(&both[0]).to_owned();
    let key_file = utf8(root.path()).join("key");
    let public = generate_key(&key_file).expect("a key");
    let key = read_public_key(public.as_str()).expect("a key");
    let secret = read_secret_key(&key_file).expect("a key");
    let signature = sign_variant(&folder, VARIANT, &secret).expect("signed");
    let text = |file: &Utf8Path| std::fs::read(file).expect("a file");
    let sigstore = json!({"mediaType": "application/vnd.dev.sigstore.bundle.v0.3+json"});
    let seeds = vec![
        Seed::plain(text(&signature)),
        Seed::plain(text(&public)),
        Seed::plain(sigstore.to_string()),
    ];
    let findings = check_variant(&folder, false).expect("a folder").findings;
    Kind {
        seeds,
        words: WORDS,
        read: Box::new(move |_, bytes| {
            let _ = &root;
            std::fs::write(folder.join("metadata.json.sigstore"), bytes).expect("written");
            let now = check_variant(&folder, false).expect("a folder").findings;
            assert_eq!(now, findings, "a signature of sigstore is of no account");
            std::fs::write(&signature, bytes).expect("written");
            std::fs::write(&public, bytes).expect("written");
            let is_signed = check_signature(&folder, VARIANT, &key).is_none();
            is_signed || read_public_key(public.as_str()).is_ok() || bytes.starts_with(b"{")
        }),
    }
}
