//! The parts that a variant was built with: a CycloneDX document of the packages of its
//! toolchains. It names neither time nor machine. nix/kernel/attest.py writes the same in builds of
//! flakes.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::families::{Archive, ArchiveKind};

/// The name of the file.
pub const SBOM: &str = "sbom.cdx.json";

/// The text of the document for a variant of a kernel. The same archive in two families is listed
/// once.
pub fn sbom<'a>(
    kernel: &str,
    variant: &str,
    archives: impl IntoIterator<Item = &'a Archive>,
) -> Vec<u8> {
    let archives = archives.into_iter();
    let by_hash: BTreeMap<(&str, &str), &Archive> = archives
        .map(|archive| ((&*archive.name, &*archive.sha256), archive))
        .collect();
    let components: Vec<Value> = by_hash.values().map(|archive| component(archive)).collect();
    let document = json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "component": {"type": "library", "name": kernel, "version": variant, "bom-ref": variant},
            "tools": {
                "components": [{
                    "type": "application",
                    "name": "kernel-builder",
                    "version": env!("CARGO_PKG_VERSION"),
                }],
            },
        },
        "components": components,
    });
    format!("{document:#}\n").into_bytes()
}

fn component(archive: &Archive) -> Value {
    let kind = match archive.kind {
        ArchiveKind::Deb => "deb/debian",
        ArchiveKind::Rpm => "rpm",
        ArchiveKind::Wheel | ArchiveKind::Sdist => "pypi",
        ArchiveKind::File | ArchiveKind::Tarball => "generic",
    };
    // The characters that a package URL must not have as they are.
    let escape = |text: &str| {
        text.replace('%', "%25")
            .replace('+', "%2B")
            .replace(':', "%3A")
            .replace('@', "%40")
    };
    let mut purl = format!("pkg:{kind}/{}", escape(&archive.name));
    if !archive.version.is_empty() {
        purl += &format!("@{}", escape(&archive.version));
    }
    let mut component = json!({
        "type": "file",
        "name": archive.name,
        "bom-ref": archive.sha256,
        "purl": purl,
        "properties": [{"name": "kernel-builder:file", "value": archive.file}],
    });
    if !archive.version.is_empty() {
        component["version"] = json!(archive.version);
    }
    // NB: the hash of a tarball is that of its members (`ArchiveKind::Tarball`).
    if archive.kind != ArchiveKind::Tarball {
        component["hashes"] = json!([{"alg": "SHA-256", "content": archive.sha256}]);
    }
    component
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_have_their_url_and_hash_once() {
        let archive = |kind, version: &str| Archive {
            kind,
            name: "gcc-12".to_owned(),
            version: version.to_owned(),
            file: "a.deb".to_owned(),
            sha256: "ab".repeat(32),
            size: None,
            urls: Vec::new(),
        };
        let deb = archive(ArchiveKind::Deb, "1:12.2+b1");
        let text = sbom("relu", "torch-cpu", [&deb, &deb]);
        let document: Value = serde_json::from_slice(&text).expect("JSON");
        let components = document["components"].as_array().expect("components");
        assert_eq!(components.len(), 1);
        let purl = "pkg:deb/debian/gcc-12@1%3A12.2%2Bb1";
        assert_eq!(components[0]["purl"], purl);
        assert_eq!(components[0]["hashes"][0]["content"], deb.sha256);
        let tarball = component(&archive(ArchiveKind::Tarball, "1"));
        assert_eq!(tarball.get("hashes"), None);
        let described = component(&archive(ArchiveKind::File, ""));
        assert_eq!(described["purl"], "pkg:generic/gcc-12");
        assert_eq!(described.get("version"), None);
    }
}
