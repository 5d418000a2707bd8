//! Nix's configuration, as far as this program goes by it.

use std::collections::BTreeSet;
use std::process::{Command, Output};

use serde_json::Value;
use sha2::{Digest, Sha256};

/// Nix's configuration; the default for one that could not be read.
#[derive(Clone, Debug, Default)]
pub(super) struct NixSettings {
    /// Binary caches to ask; `None` if they are unknown.
    pub substituters: Option<String>,
    /// The number of derivations that Nix builds here at a time, if it is configured to build on
    /// other machines, too; otherwise `None`.
    pub jobs_beside_builders: Option<usize>,
    /// Systems that it builds for, here or on other machines; `None` if they are unknown.
    pub systems: Option<BTreeSet<String>>,
    /// Whether it has no users to run builds as, so that root has to run them.
    pub single_user: bool,
    /// A hash of all settings; empty if they could not be read.
    pub digest: String,
}

impl NixSettings {
    /// Reads the output of `nix show-config --json`.
    pub fn new(settings: &Value) -> Self {
        Self {
            substituters: configured_caches(settings),
            jobs_beside_builders: jobs_beside_builders(settings),
            systems: Some(systems(settings)),
            single_user: lacks_build_users(settings),
            digest: crate::hex(&Sha256::digest(settings.to_string())),
        }
    }
}

/// The configured binary caches without the one of nixpkgs. That cache has no file of kernels, and
/// asking it costs seconds if it cannot be reached.
fn configured_caches(settings: &Value) -> Option<String> {
    let caches = settings["substituters"]["value"].as_array()?;
    let names = caches.iter().filter_map(|cache| cache.as_str());
    let ours: Vec<&str> = names
        .filter(|cache| !cache.contains("cache.nixos.org"))
        .collect();
    Some(ours.join(" "))
}

fn jobs_beside_builders(settings: &Value) -> Option<usize> {
    let jobs = settings["max-jobs"]["value"].as_u64()?;
    let jobs = usize::try_from(jobs).ok()?;
    has_builders(settings).then_some(jobs)
}

fn has_builders(settings: &Value) -> bool {
    !builders(settings).is_empty()
}

/// Other machines that Nix builds on, a line each: address, systems, and more. NB: the default
/// names a file that may not exist.
fn builders(settings: &Value) -> Vec<String> {
    let builders = settings["builders"]["value"].as_str().unwrap_or_default();
    let parts = builders.split([';', '\n']).map(str::trim);
    let texts = parts.map(|part| match part.strip_prefix('@') {
        Some(file) => std::fs::read_to_string(file).unwrap_or_default(),
        None => part.to_owned(),
    });
    let mut lines = Vec::new();
    for text in texts {
        let of_text = text.lines().map(str::trim);
        let of_text = of_text.filter(|line| !line.is_empty() && !line.starts_with('#'));
        lines.extend(of_text.map(str::to_owned));
    }
    lines
}

/// This machine's systems, and those of the machines that Nix builds on.
fn systems(settings: &Value) -> BTreeSet<String> {
    let system = settings["system"]["value"].as_str().into_iter();
    let extra = settings["extra-platforms"]["value"].as_array();
    let extra = extra.into_iter().flatten().filter_map(|name| name.as_str());
    let mut systems: BTreeSet<String> = system.chain(extra).map(str::to_owned).collect();
    for line in builders(settings) {
        let named = line.split_whitespace().nth(1).unwrap_or_default();
        systems.extend(named.split(',').map(str::to_owned));
    }
    systems
}

/// Whether Nix lacks the users of a group as which root's Nix runs builds. Containers with only
/// Debian's nix-bin have no such group, others a group without users, and Nix then fails to build.
fn lacks_build_users(settings: &Value) -> bool {
    const NOT_FOUND: i32 = 2;
    // Nix then makes up users as it needs them.
    if settings["auto-allocate-uids"]["value"] == true {
        return false;
    }
    let group = settings["build-users-group"]["value"].as_str();
    group.is_some_and(|group| {
        let found = Command::new("getent").args(["group", group]).output();
        let lacks = |found: Output| match found.status.code() {
            Some(NOT_FOUND) => true,
            Some(0) => names_no_user(&String::from_utf8_lossy(&found.stdout)),
            _ => false,
        };
        !group.is_empty() && found.is_ok_and(lacks)
    })
}

/// Whether the line of a group, `name:password:number:users`, has no user.
fn names_no_user(group: &str) -> bool {
    group.trim_end().ends_with(':')
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// A container has no group `nixbld`, or one without users, and Nix then refuses to build.
    #[test]
    fn a_group_without_users_runs_no_builds() {
        let lacks = |group: &str, allocates: bool| {
            lacks_build_users(&json!({
                "build-users-group": { "value": group },
                "auto-allocate-uids": { "value": allocates },
            }))
        };
        assert!(lacks("no-such-group-of-builds", false));
        assert!(!lacks("no-such-group-of-builds", true));
        assert!(!lacks("", false));
        assert!(names_no_user("nixbld:x:30000:\n"));
        assert!(!names_no_user("nixbld:x:30000:nixbld1\n"));
    }
}
