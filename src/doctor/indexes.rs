//! Checks of pip and apt, and of the indexes that they are configured with. Both are asked for
//! little, by their own programs.

use std::collections::BTreeSet;
use std::process::{Command, Output};

use camino::Utf8Path;

use super::nix::last_line;
use super::{Finding, Health, MachineCheck, PROGRAM_LIMIT};
use crate::build::system;
use crate::deadline::output_within;
use crate::families::{Archive, ArchiveKind, family_pins};
use crate::pins::apt::{Apt, native_architecture};

/// The release of Debian that the pinned packages are of.
const RELEASE: &str = "bookworm";

/// The seconds that a server may be silent.
const SILENCE: &str = "4";

const NETWORK: &str = "check the network, or run `kernel-builder doctor` again when the machine is less busy; without a network, \
`kernel-builder fetch --from DIR` takes files that `fetch --to DIR` wrote elsewhere";

const CARRY: &str = "without a network, `kernel-builder fetch --from DIR` takes files that `fetch --to DIR` wrote elsewhere";

/// The checks of package indexes.
pub fn checks() -> Vec<MachineCheck> {
    vec![
        MachineCheck::new("pip", Health::Failure, check_pip).with_overdue_cure(NETWORK),
        MachineCheck::new("apt", Health::Failure, check_apt).with_overdue_cure(NETWORK),
    ]
}

/// Downloads the smallest pinned wheel, which every build needs.
fn check_pip() -> Finding {
    let missing = |why: String| Finding::failure("pip", why, "apt-get install python3-pip");
    let Ok(python) = which::which("python3") else {
        return missing("python3 is missing".to_owned());
    };
    let Some(wheel) = wheel_of_seed() else {
        return Finding::ok("pip", "no wheel is pinned for this system");
    };
    let Ok(dir) = tempfile::tempdir() else {
        let cure = "set TMPDIR to a folder of yours";
        return Finding::failure("pip", "no temporary folder", cure);
    };
    let requirement = format!("{}=={}", wheel.name, wheel.version);
    let mut pip = Command::new(&python);
    pip.args(["-m", "pip", "--disable-pip-version-check", "--no-input"]);
    pip.args(["--no-cache-dir", "--timeout", SILENCE, "--retries", "0"]);
    pip.args(["download", "--quiet", "--no-deps", "--only-binary", ":all:"]);
    pip.arg("--dest").arg(dir.path()).arg(&requirement);
    let Err(why) = finish(&mut pip) else {
        return Finding::ok("pip", format!("its index has {requirement}"));
    };
    let mut version = Command::new(&python);
    if finish(version.args(["-m", "pip", "--version"])).is_err() {
        return missing(why);
    }
    let cure = format!("check the network and `pip config list`; {CARRY}");
    Finding::failure("pip", why, cure)
}

/// The wheel among the first programs of this system.
fn wheel_of_seed() -> Option<Archive> {
    let pins = family_pins(&system(), &["seed".to_owned()]).ok()?;
    let mut archives = pins.values().flat_map(|pin| pin.archives());
    archives
        .find(|archive| archive.kind == ArchiveKind::Wheel)
        .cloned()
}

/// Reads the release files of apt's sources, not their lists of packages.
fn check_apt() -> Finding {
    if which::which("apt-get").is_err() {
        let cure = format!("use a machine or container of Debian or Ubuntu; {CARRY}");
        return Finding::failure("apt", "apt-get is missing", cure);
    }
    let network = format!("check the network and /etc/apt/sources.list.d; {CARRY}");
    match read_releases() {
        Ok(releases) if releases.contains(RELEASE) => {
            Finding::ok("apt", format!("its sources have Debian 12 ({RELEASE})"))
        }
        Ok(releases) if releases.is_empty() => {
            Finding::failure("apt", "no source of packages answered", network)
        }
        Ok(releases) => {
            let releases: Vec<String> = releases.into_iter().collect();
            let found = format!(
                "its sources have {}, not Debian 12 ({RELEASE})",
                releases.join(", ")
            );
            let keyring = "/usr/share/keyrings/debian-archive-keyring.gpg";
            let cure = format!(
                "add a mirror of Debian: apt-get install debian-archive-keyring && echo 'deb [signed-by={keyring}] MIRROR \
                 {RELEASE} main' >/etc/apt/sources.list.d/{RELEASE}.list"
            );
            Finding::failure("apt", found, cure)
        }
        Err(why) => Finding::failure("apt", why, network),
    }
}

/// The codenames of the releases that apt's sources have. Sources that do not answer are left out.
fn read_releases() -> Result<BTreeSet<String>, String> {
    let words = |error: std::io::Error| error.to_string();
    let dir = tempfile::tempdir().map_err(words)?;
    let state = Utf8Path::from_path(dir.path()).ok_or("the temporary folder is not UTF-8")?;
    let apt = Apt::in_folder(native_architecture(), state).map_err(|error| error.to_string())?;
    let command = |program| apt.command(program).map_err(|error| error.to_string());

    let mut config = command("apt-config")?;
    let settings = finish(config.args(["dump", "--no-empty", "Acquire::IndexTargets"]))?;
    let mut update = command("apt-get")?;
    update.args(["update", "-o", "Acquire::Retries=0"]);
    for scheme in ["http", "https"] {
        let option = format!("Acquire::{scheme}::Timeout={SILENCE}");
        update.args(["-o", &option]);
    }
    for option in options_without_lists(&String::from_utf8_lossy(&settings.stdout)) {
        update.args(["-o", &option]);
    }
    let updated = finish(&mut update);
    let lists = state.join("lists").read_dir_utf8().map_err(words)?;
    let releases: BTreeSet<String> = lists
        .flatten()
        .filter(|file| file.file_name().ends_with("Release"))
        .filter_map(|file| codename(&std::fs::read_to_string(file.path()).ok()?))
        .collect();
    match updated {
        Err(why) if releases.is_empty() => Err(why),
        _ => Ok(releases),
    }
}

/// The options that keep apt from downloading lists of packages, and lists that other programs have
/// it download, from the output of `apt-config dump Acquire::IndexTargets`.
fn options_without_lists(settings: &str) -> Vec<String> {
    let names = settings.lines().filter_map(|line| {
        let rest = line.strip_prefix("Acquire::IndexTargets::deb::")?;
        Some(rest.split_once("::")?.0)
    });
    let names: BTreeSet<&str> = names.collect();
    let off = |name| format!("Acquire::IndexTargets::deb::{name}::DefaultEnabled=false");
    names.into_iter().map(off).collect()
}

/// The codename in a release file of a Debian archive.
fn codename(release: &str) -> Option<String> {
    let mut lines = release.lines();
    let name = lines.find_map(|line| line.strip_prefix("Codename: "))?;
    Some(name.trim().to_owned())
}

/// The output of a program that succeeds in time, else the last line of its words.
fn finish(command: &mut Command) -> Result<Output, String> {
    match output_within(command, PROGRAM_LIMIT) {
        Ok(Some(output)) if output.status.success() => Ok(output),
        Ok(Some(output)) => Err(last_line(&String::from_utf8_lossy(&output.stderr))),
        Ok(None) => Err(format!("no answer in {} s", PROGRAM_LIMIT.as_secs())),
        Err(error) => Err(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::{codename, options_without_lists};

    #[test]
    fn release_files_tell_their_codename() {
        let text = "-----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA256\n\nOrigin: Debian\nSuite: oldstable\n\
                    Codename: bookworm\nMD5Sum:\n";
        assert_eq!(codename(text).as_deref(), Some("bookworm"));
        assert_eq!(codename("Origin: a flat repository\n"), None);
    }

    /// appstream has apt download 5 MB, which took most of the time of `doctor`.
    #[test]
    fn no_list_is_downloaded() {
        let settings = "Acquire::IndexTargets::deb::Packages::MetaKey \"x\";\n\
                        Acquire::IndexTargets::deb::Packages::flatMetaKey \"Packages\";\n\
                        Acquire::IndexTargets::deb::DEP-11::MetaKey \"y\";\n\
                        Acquire::IndexTargets::deb-src::Sources::MetaKey \"z\";\n";
        let off = |name| format!("Acquire::IndexTargets::deb::{name}::DefaultEnabled=false");
        assert_eq!(
            options_without_lists(settings),
            ["DEP-11", "Packages"].map(off)
        );
    }
}
