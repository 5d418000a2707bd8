//! Checks of Nix: its version, store, sandbox, users and features.

use miette::Diagnostic;
use rustix::process::geteuid;

use super::{Finding, Health, MachineCheck, PROGRAM_LIMIT};
use crate::nix::{Nix, NixError, NixTrouble};
use crate::version::Version;

/// The oldest Nix that evaluates the library (docs/nix.md).
const OLDEST: (u64, u64) = (2, 8);

/// Nix's settings for all users of a machine.
const CONFIGURATION: &str = "/etc/nix/nix.conf";

/// Settings of Linux that keep users from making namespaces, each with the value that does and the
/// value that does not.
const NAMESPACE_SETTINGS: [(&str, &str, &str); 3] = [
    ("user.max_user_namespaces", "0", "15000"),
    ("kernel.unprivileged_userns_clone", "0", "1"),
    ("kernel.apparmor_restrict_unprivileged_userns", "1", "0"),
];

/// The checks of a Nix.
pub fn checks(nix: &Nix) -> Vec<MachineCheck> {
    let check = |name, overdue, run: fn(&Nix) -> Finding| {
        let nix = nix.clone();
        MachineCheck::new(name, overdue, move || run(&nix))
    };
    vec![
        check("Nix", Health::Failure, check_version),
        check("store", Health::Failure, check_store),
        check("sandbox", Health::Failure, check_sandbox),
        check("build users", Health::Warning, check_users),
        check("features", Health::Warning, check_features),
    ]
}

/// The finding where Nix is missing.
pub fn missing(error: &NixError) -> Finding {
    let cure = miette::Diagnostic::help(error).map(|help| help.to_string());
    Finding::failure("Nix", error.to_string(), cure.unwrap_or_default())
}

fn check_version(nix: &Nix) -> Finding {
    let text = match nix.version(PROGRAM_LIMIT) {
        Ok(text) => text,
        Err(why) => return Finding::failure("Nix", last_line(&why), "install Nix again"),
    };
    match text.parse::<Version>() {
        Ok(version) if version.major_minor() < OLDEST => Finding::failure(
            "Nix",
            format!("{text}: too old"),
            format!("install Nix {}.{} or newer", OLDEST.0, OLDEST.1),
        ),
        _ => Finding::ok("Nix", text),
    }
}

fn check_store(nix: &Nix) -> Finding {
    let place = match nix.store_folder() {
        Some(folder) => folder.to_string(),
        None => "the store of another machine (NIX_REMOTE)".to_owned(),
    };
    let tried = scratch_file().and_then(|(_dir, file)| nix.try_store(&file, PROGRAM_LIMIT));
    let Err(why) = tried else {
        return Finding::ok("store", format!("{place} takes new files"));
    };
    let cure = match nix.trouble() {
        // NB: a store of the user's own needs neither root nor a daemon.
        Some(NixTrouble::NotWritable { .. }) => "for a store of your own: export NIX_REMOTE=$HOME/nix; for one of all users, set up Nix's \
             daemon: sudo apt-get install nix-setup-systemd && sudo usermod -aG nix-users $USER, then log in again"
            .to_owned(),
        Some(trouble) => trouble.help().map(|help| help.to_string()).unwrap_or_default(),
        None => "see the message of Nix above".to_owned(),
    };
    Finding::failure("store", format!("{place}: {}", last_line(&why)), cure)
}

/// A file for the store, in a folder that lives as long as the first value.
fn scratch_file() -> Result<(tempfile::TempDir, camino::Utf8PathBuf), String> {
    let words = |error: std::io::Error| error.to_string();
    let dir = tempfile::tempdir().map_err(words)?;
    let file = dir.path().join("kernel-builder-doctor");
    std::fs::write(&file, "a file to try the store\n").map_err(words)?;
    let file = camino::Utf8PathBuf::try_from(file).map_err(|error| error.to_string())?;
    Ok((dir, file))
}

fn check_sandbox(nix: &Nix) -> Finding {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let nonce = now.unwrap_or_default().as_nanos().to_string();
    let why = match nix.try_build(&nonce, PROGRAM_LIMIT) {
        Ok(true) => return Finding::ok("sandbox", "a build ran in it"),
        Ok(false) => {
            let configuration = std::fs::read_to_string(CONFIGURATION).unwrap_or_default();
            let set = match asks_for_sandbox(&configuration) {
                true => String::new(),
                false => format!("echo 'sandbox = true' | sudo tee -a {CONFIGURATION}, then "),
            };
            let cure = format!("{set}restart the daemon: sudo systemctl restart nix-daemon");
            return Finding::warning("sandbox", "Nix's daemon builds without it", cure);
        }
        Err(why) => why,
    };
    let value = |name: &str| {
        let path = format!("/proc/sys/{}", name.replace('.', "/"));
        std::fs::read_to_string(path).unwrap_or_default()
    };
    let mut settings = NAMESPACE_SETTINGS.iter();
    let wrong = settings.find(|(name, wrong, _)| value(name).trim() == *wrong);
    let cure = match wrong {
        Some((name, _, right)) => format!("sudo sysctl -w {name}={right}"),
        None => "in a container, start it with the right to make namespaces: docker run --privileged ...".to_owned(),
    };
    // Nix's error ends with advice; the lines of the build, if it printed any, are quoted before.
    let mut quoted = why
        .lines()
        .rev()
        .filter_map(|line| line.trim().strip_prefix("> "));
    let last = quoted.find(|line| !line.trim().is_empty());
    Finding::failure("sandbox", last_line(last.unwrap_or(&why)), cure)
}

/// Whether a configuration of Nix asks for the sandbox. Of several lines, the last one counts.
fn asks_for_sandbox(configuration: &str) -> bool {
    let settings = configuration
        .lines()
        .filter_map(|line| line.split_once('='));
    let mut values = settings.filter(|(name, _)| name.trim() == "sandbox");
    values
        .next_back()
        .is_some_and(|(_, value)| value.trim() == "true")
}

fn check_users(nix: &Nix) -> Finding {
    let name = "build users";
    match (nix.lacks_build_users(), geteuid().is_root()) {
        (true, true) => Finding::warning(
            name,
            "none: kernel-builder builds as root, but `nix build` and the like fail",
            setting_command("build-users-group ="),
        ),
        (_, true) => Finding::ok(name, "root builds as they do"),
        (_, false) => Finding::ok(name, "not needed: you are not root"),
    }
}

fn check_features(nix: &Nix) -> Finding {
    let name = "features";
    let features = match nix.features(PROGRAM_LIMIT) {
        Ok(features) => features,
        Err(why) => return Finding::warning(name, last_line(&why), "look at `nix show-config`"),
    };
    let all = [
        ("nix-command", features.nix_command),
        ("flakes", features.flakes),
    ];
    let off: Vec<&str> = all
        .iter()
        .filter(|(_, on)| !on)
        .map(|(name, _)| *name)
        .collect();
    if off.is_empty() {
        return Finding::ok(name, "nix-command and flakes are on");
    }
    let found = format!(
        "{} off: kernel-builder needs neither, `nix build` and `nix develop` do",
        off.join(" and ")
    );
    let cure = setting_command("extra-experimental-features = nix-command flakes");
    Finding::warning(name, found, cure)
}

/// The command that adds a line to Nix's configuration, for all users or for this one.
fn setting_command(line: &str) -> String {
    match geteuid().is_root() {
        true => format!("mkdir -p /etc/nix && echo '{line}' >>{CONFIGURATION}"),
        false => format!("mkdir -p ~/.config/nix && echo '{line}' >>~/.config/nix/nix.conf"),
    }
}

/// The last line of a program's words, which is its error.
pub(super) fn last_line(words: &str) -> String {
    let line = words.trim_end().lines().next_back().unwrap_or_default();
    line.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The cure for a daemon that had not been started again was to add the line once more.
    #[test]
    fn the_last_line_about_the_sandbox_counts() {
        for (configuration, expected) in [
            ("", false),
            ("# sandbox = true\nsandbox-fallback = true\n", false),
            ("sandbox = false\nsandbox = true\n", true),
            ("sandbox=true\nsandbox = false\n", false),
        ] {
            assert_eq!(asks_for_sandbox(configuration), expected, "{configuration}");
        }
    }
}
