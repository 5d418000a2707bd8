//! Reads the output of programs of apt.

use std::collections::BTreeSet;

use super::{Archive, ArchiveKind};

/// The packages that `apt-cache show` prints, one stanza each.
pub fn stanzas(text: &str) -> Vec<Archive> {
    let stanzas = text.split("\n\n");
    stanzas
        .filter_map(|stanza| {
            let field = |name: &str| {
                let mut lines = stanza.lines();
                lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
            };
            let (name, version) = (field("Package")?, field("Version")?);
            let architecture = field("Architecture")?;
            Some(Archive {
                kind: ArchiveKind::Deb,
                name: name.to_owned(),
                version: version.to_owned(),
                // The name under which apt saves the file.
                file: format!("{name}_{}_{architecture}.deb", version.replace(':', "%3a")),
                sha256: field("SHA256")?.to_owned(),
                size: Some(field("Size")?.parse().ok()?),
                urls: Vec::new(),
            })
        })
        .collect()
}

/// The names of packages that `apt-get --print-uris` prints: a line for each has its URI in quotes,
/// its file name, its size and its hash.
pub fn installation_names(text: &str) -> BTreeSet<String> {
    let lines = text.lines().filter(|line| line.starts_with('\''));
    let files = lines.filter_map(|line| line.split(' ').nth(1));
    let names = files.filter_map(|file| file.split_once('_'));
    names.map(|(name, _)| name.to_owned()).collect()
}

/// Whether apt-cache says that it knows none of the packages. NB: it ends with 100 for every error
/// and has no other output for programs; its words are those of the C locale (`command`).
pub fn says_none_is_known(why: &str) -> bool {
    why.contains("No packages found")
}

#[cfg(test)]
mod tests {
    use super::{installation_names, stanzas};

    #[test]
    fn packages_are_read_from_the_output_of_apt() {
        let text = "Package: libcrypt1\nVersion: 1:4.4.33-2\nArchitecture: arm64\nDescription: x\n Version: no\n\
                    Size: 90044\nSHA256: eea0\n\nPackage: virtual\n";
        let [crypt] = &stanzas(text)[..] else {
            panic!("one package has all fields");
        };
        assert_eq!(crypt.file, "libcrypt1_1%3a4.4.33-2_arm64.deb");
        assert_eq!((crypt.size, crypt.sha256.as_str()), (Some(90044), "eea0"));
    }

    #[test]
    fn names_are_read_from_the_uris_of_an_installation() {
        let text = "Reading package lists...\nThe following NEW packages will be installed:\n  libcap2\n\
                    'http://a.example/pool/libc/libcap2_2.66-4_amd64.deb' libcap2_1%3a2.66-4+b1_amd64.deb 27 MD5Sum:0b\n\
                    'file:/a/bash_5_amd64.deb' bash_5_amd64.deb 1490044 SHA256:ab\n";
        let names: Vec<String> = installation_names(text).into_iter().collect();
        assert_eq!(names, ["bash", "libcap2"]);
    }
}
