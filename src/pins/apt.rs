//! Fetches Debian packages of any architecture through the machine's own apt configuration. It
//! keeps lists and a cache of its own, leaves apt's state alone and needs no root.

use std::collections::BTreeMap;
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};

use camino::{Utf8Path, Utf8PathBuf};

use super::{Archive, ArchiveKind, PinError, cache};

/// Downloads archives to `dir`, under the names that they are pinned with.
///
/// # Errors
/// `PinError::Program` where there is no apt, `PinError::Download` with apt's own words.
pub fn download(archives: &[&Archive], dir: &Utf8Path) -> Result<(), PinError> {
    // Several trees and packages may be fetched at once, and all use the same lists of apt.
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _guard = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let mut by_architecture: BTreeMap<&str, Vec<&Archive>> = BTreeMap::new();
    for archive in archives {
        let group = by_architecture.entry(architecture_of(archive));
        group.or_default().push(archive);
    }
    for (architecture, archives) in by_architecture {
        let apt = Apt::for_architecture(architecture)?;
        // Lists of an earlier run usually still know the pinned versions.
        if apt.has_lists() && apt.download(&archives, dir).is_ok() {
            continue;
        }
        // A source that has no wanted package may fail; the error is shown only if a package is
        // then missing.
        let updated = apt.update();
        apt.download(&archives, dir)
            .map_err(|error| updated.err().unwrap_or(error))?;
    }
    Ok(())
}

/// Debian's name of a system's architecture; `None` for a system that is not Linux.
pub fn architecture(system: &str) -> Option<&'static str> {
    match system {
        "x86_64-linux" => Some("amd64"),
        "aarch64-linux" => Some("arm64"),
        _ => None,
    }
}

/// The architecture whose lists have a package. This machine's own lists have packages for all
/// architectures.
pub fn architecture_of(archive: &Archive) -> &str {
    let stem = archive.file.strip_suffix(".deb");
    match stem.and_then(|stem| stem.rsplit_once('_')) {
        Some((_, "all")) | None => native_architecture(),
        Some((_, architecture)) => architecture,
    }
}

/// Debian's name of this machine's architecture.
pub fn native_architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}

/// The state of apt for one architecture.
pub struct Apt {
    architecture: String,
    state: Utf8PathBuf,
}

impl Apt {
    /// The state for Debian's name of an architecture; creates its folders.
    ///
    /// # Errors
    /// `PinError::Io`
    pub fn for_architecture(architecture: &str) -> Result<Self, PinError> {
        let state = cache::dir().join(format!("apt-{architecture}"));
        Self::in_folder(architecture, &state)
    }

    /// The same, with its lists and files in another folder.
    ///
    /// # Errors
    /// `PinError::Io`
    pub fn in_folder(architecture: &str, state: &Utf8Path) -> Result<Self, PinError> {
        for dir in ["lists/partial", "archives/partial"] {
            let dir = state.join(dir);
            std::fs::create_dir_all(&dir).map_err(PinError::io("create", &dir))?;
        }
        let status = state.join("status");
        if !status.exists() {
            std::fs::write(&status, "").map_err(PinError::io("create", &status))?;
        }
        Ok(Self {
            architecture: architecture.to_owned(),
            state: state.to_owned(),
        })
    }

    fn has_lists(&self) -> bool {
        let lists = self.state.join("lists");
        lists.read_dir_utf8().is_ok_and(|entries| {
            entries.flatten().any(|entry| {
                entry.file_name().ends_with("_Packages") || entry.file_name().contains("_Packages.")
            })
        })
    }

    /// Downloads the current lists.
    ///
    /// # Errors
    /// `PinError::Program` where there is no apt, `PinError::Download` with its own words if any
    /// source failed.
    pub fn update(&self) -> Result<(), PinError> {
        let mut command = self.command("apt-get")?;
        command.args(["update", "-o", "APT::Update::Error-Mode=any"]);
        run(command, "the lists of Debian packages").map(drop)
    }

    fn download(&self, archives: &[&Archive], dir: &Utf8Path) -> Result<(), PinError> {
        let mut command = self.command("apt-get")?;
        command.arg("download").current_dir(dir);
        for archive in archives {
            command.arg(format!("{}={}", archive.name, archive.version));
        }
        run(command, "Debian packages").map(drop)
    }

    /// Every version of some packages in the lists, the best first. The newest version of a release
    /// of Debian (its codename) comes before versions of other sources, such as security updates,
    /// which keep only their latest. A package that is not in the lists is left out.
    ///
    /// # Errors
    /// `PinError::Download` with apt's own words, also where no source has the release.
    pub fn versions(
        &self,
        packages: &[&str],
        release: &str,
    ) -> Result<BTreeMap<String, Vec<Archive>>, PinError> {
        let mut found: BTreeMap<String, Vec<Archive>> = BTreeMap::new();
        for which in ["--no-all-versions", "--all-versions"] {
            let mut command = self.command("apt-cache")?;
            command.args(["-o", &format!("APT::Default-Release={release}")]);
            // apt-cache fails if it knows none of the packages; a mistyped option has other words.
            command.args(["show", which]).args(packages);
            let output = match run(command, "what Debian packages there are") {
                Err(PinError::Download { why, .. }) if says_none_is_known(&why) => {
                    continue;
                }
                output => output?,
            };
            for archive in stanzas(&output) {
                let versions = found.entry(archive.name.clone()).or_default();
                if !versions.contains(&archive) {
                    versions.push(archive);
                }
            }
        }
        Ok(found)
    }

    /// A program of apt that uses this state and leaves the machine's alone.
    ///
    /// # Errors
    /// `PinError::Program` where it is missing.
    pub fn command(&self, program: &'static str) -> Result<Command, PinError> {
        let path = which::which(program).map_err(|_| PinError::Program {
            program,
            what: "the compilers (Debian packages)",
            help: "fetch on a Debian or Ubuntu machine or container that has Debian 12 among its apt sources",
        })?;
        let (state, architecture) = (&self.state, &self.architecture);
        let mut command = Command::new(path);
        command.arg("-q").env("LC_ALL", "C");
        for option in [
            &format!("APT::Architecture={architecture}"),
            &format!("APT::Architectures::={architecture}"),
            "Debug::NoLocking=1",
            "APT::Sandbox::User=root",
            &format!("Dir::State={state}"),
            &format!("Dir::State::status={state}/status"),
            &format!("Dir::State::lists={state}/lists"),
            &format!("Dir::Cache={state}"),
            "Acquire::Languages=none",
        ] {
            command.args(["-o", option]);
        }
        Ok(command)
    }
}

/// Runs a program of apt and returns its standard output.
fn run(mut command: Command, what: &str) -> Result<String, PinError> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command
        .stdin(Stdio::null())
        .output()
        .map_err(PinError::io("start", program))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    Err(PinError::download(what, &output, |_| {
        "check the network and that apt's sources hold Debian 12 (bookworm); then run the command again: what was \
         fetched is kept"
    }))
}

/// The packages that `apt-cache show` prints, one stanza each.
fn stanzas(text: &str) -> Vec<Archive> {
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

/// Whether apt-cache says that it knows none of the packages. NB: it ends with 100 for every error
/// and has no other output for programs; its words are those of the C locale (`command`).
fn says_none_is_known(why: &str) -> bool {
    why.contains("No packages found")
}

#[cfg(test)]
mod tests {
    use super::stanzas;

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
}
