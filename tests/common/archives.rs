//! Archives made up for a test: wheels, and the hashes that pins know files by.

use std::io::{Cursor, Write};
use std::path::Path;

use lzma_rust2::{XzOptions, XzWriter};
use sha2::{Digest, Sha256};
use zip::CompressionMethod;
use zip::write::SimpleFileOptions;

/// A wheel of some members. It is not compressed: compressed bytes differ between releases of a
/// compressor, and snapshots hold hashes.
pub fn wheel<Name: AsRef<str>, Content: AsRef<[u8]>>(members: &[(Name, Content)]) -> Vec<u8> {
    let mut wheel = zip::ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
    for (name, content) in members {
        let name = name.as_ref();
        match name.strip_suffix('/') {
            Some(folder) => wheel.add_directory(folder, options).expect("a member"),
            None => wheel.start_file(name, options).expect("a member"),
        }
        if !name.ends_with('/') {
            wheel.write_all(content.as_ref()).expect("written");
        }
    }
    wheel.finish().expect("a wheel").into_inner()
}

/// Some bytes compressed as `xz` does.
pub fn xz(content: &[u8]) -> Vec<u8> {
    let mut writer = XzWriter::new(Vec::new(), XzOptions::with_preset(0)).expect("options");
    writer.write_all(content).expect("compressed");
    writer.finish().expect("compressed")
}

/// The sha256 of some bytes, in hexadecimal digits.
pub fn sha256(content: &[u8]) -> String {
    kernel_builder::hex(&Sha256::digest(content))
}

/// The sha256 of a file.
pub fn file_sha256(path: &Path) -> String {
    sha256(&std::fs::read(path).expect("a file"))
}
