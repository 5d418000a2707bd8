//! Causes of failures of Nix, found by looking at the machine and at the store, and not by reading
//! messages.

use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};

use camino::{Utf8Path, Utf8PathBuf};
use miette::Diagnostic;
use rustix::fs::{Access, access, statvfs};
use thiserror::Error;

/// A state of the machine or of the store in which Nix fails.
#[derive(Clone, Debug, Diagnostic, Error, PartialEq, Eq)]
pub enum NixTrouble {
    /// The file system has almost no space left, or no place for another file.
    #[error("the disk of {folder} is full: {left}")]
    #[diagnostic(
        code(nix::full),
        help(
            "free some space: `nix-collect-garbage` removes the files of the store that nothing needs; NIX_REMOTE moves \
             the store, and TMPDIR the folder for temporary files"
        )
    )]
    Full { folder: Utf8PathBuf, left: String },

    /// This user can write neither to its database nor to its daemon.
    #[error("the Nix store in {store} belongs to {owner}, and no daemon of Nix runs there")]
    #[diagnostic(
        code(nix::not_writable),
        help(
            "run this as {owner}; or let a daemon write for all users (`apt-get install nix-setup-systemd`, or the \
             multi-user installer of nixos.org); or use a store of your own: `export NIX_REMOTE=$HOME/nix-store`"
        )
    )]
    NotWritable { store: Utf8PathBuf, owner: String },

    /// The socket of the daemon takes no connection.
    #[error("the daemon of Nix does not answer at {socket}: {why}")]
    #[diagnostic(
        code(nix::daemon),
        help(
            "start it: `systemctl start nix-daemon`, or `nix-daemon` as root where there is no systemd"
        )
    )]
    NoDaemon { socket: Utf8PathBuf, why: String },

    /// The namespaces of Linux that a sandbox is made of cannot be made.
    #[error("this machine does not allow the namespaces that Nix's sandbox is made of: {why}")]
    #[diagnostic(
        code(nix::sandbox),
        help(
            "in Docker, start the container with `--privileged`; on Ubuntu, run `sysctl \
             kernel.apparmor_restrict_unprivileged_userns=0`, or let a daemon of root build \
             (`apt-get install nix-setup-systemd`)"
        )
    )]
    NoSandbox { why: String },
}

/// Free bytes that Nix needs to work at all.
const NEEDED_BYTES: u64 = 64 << 20;

/// Free bytes below which a failed build may have filled the disk: Nix removes what a failed build
/// has written.
const SCARCE_BYTES: u64 = 512 << 20;

impl NixTrouble {
    /// Looks for a reason why Nix failed. `asks_daemon` says that Nix was told to ask its daemon,
    /// even if this user can write to the store.
    pub fn find(store: &Utf8Path, asks_daemon: bool) -> Option<Self> {
        let full = Self::full_disk(store, NEEDED_BYTES);
        full.or_else(|| Self::unreachable_store(store, asks_daemon))
    }

    /// Looks for a reason why builds failed before or while they ran.
    pub fn find_for_builds(store: &Utf8Path, asks_daemon: bool) -> Option<Self> {
        let full = Self::full_disk(store, SCARCE_BYTES);
        let found = full.or_else(|| Self::unreachable_store(store, asks_daemon));
        // A daemon builds as another user, who may make namespaces.
        let builds_here = !asks_daemon && is_writable(&state_folder(store).join("db"));
        found.or_else(|| builds_here.then(Self::refused_namespaces).flatten())
    }

    /// The disk of the store, or the one for temporary files, if it has less than `needed` bytes or
    /// no place for another file.
    fn full_disk(store: &Utf8Path, needed: u64) -> Option<Self> {
        let temporary = Utf8PathBuf::from_path_buf(std::env::temp_dir()).ok();
        let folders = [Some(store.to_owned()), temporary];
        folders.into_iter().flatten().find_map(|folder| {
            let found = statvfs(nearest_existing(&folder)?.as_str()).ok()?;
            let free = found.f_bavail * found.f_frsize;
            // Some file systems have no limit of files, and report 0.
            let has_no_file_left = found.f_files > 0 && found.f_favail == 0;
            let left = match has_no_file_left {
                true => "it takes no further file".to_owned(),
                false => format!("{} MB are left", free / 1_000_000),
            };
            // A file system without blocks, such as /proc, does not say.
            let is_full = found.f_blocks > 0 && (free < needed || has_no_file_left);
            is_full.then_some(Self::Full { folder, left })
        })
    }

    fn unreachable_store(store: &Utf8Path, asks_daemon: bool) -> Option<Self> {
        let state = state_folder(store);
        if !asks_daemon && is_writable(&state.join("db")) {
            return None;
        }
        let socket = state.join("daemon-socket/socket");
        let error = UnixStream::connect(&socket).err()?;
        if error.kind() == ErrorKind::NotFound && !asks_daemon {
            let uid = nearest_existing(&state)?.metadata().ok()?.uid();
            let owner = match uid {
                0 => "root".to_owned(),
                uid => format!("the user with the number {uid}"),
            };
            let store = store.to_owned();
            return Some(Self::NotWritable { store, owner });
        }
        let why = error.to_string();
        Some(Self::NoDaemon { socket, why })
    }

    /// Makes the namespaces that Nix makes for a build, with the program of util-linux.
    fn refused_namespaces() -> Option<Self> {
        if !cfg!(target_os = "linux") {
            return None;
        }
        let mut unshare = Command::new("unshare");
        unshare.args(["--user", "--map-root-user", "--mount", "--net", "--pid"]);
        unshare.args(["--fork", "--mount-proc", "true"]);
        let output = unshare.stdin(Stdio::null()).output().ok()?;
        if output.status.success() {
            return None;
        }
        let words = String::from_utf8_lossy(&output.stderr);
        let why = words.lines().last().unwrap_or("unshare failed").to_owned();
        Some(Self::NoSandbox { why })
    }
}

/// The folder of the state of Nix. The store is root/nix/store, its state root/nix/var/nix.
fn state_folder(store: &Utf8Path) -> Utf8PathBuf {
    store.with_file_name("var/nix")
}

/// The path, or the nearest folder above it that exists.
fn nearest_existing(path: &Utf8Path) -> Option<&Utf8Path> {
    path.ancestors().find(|path| path.exists())
}

fn is_writable(path: &Utf8Path) -> bool {
    let path = nearest_existing(path);
    path.is_some_and(|path| access(path.as_str(), Access::WRITE_OK).is_ok())
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;

    use super::*;

    #[test]
    fn a_store_is_looked_at() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let dir = Utf8Path::from_path(dir.path()).expect("UTF-8");
        let store = dir.join("nix/store");
        // A new store has no trouble, and one that exists has none either.
        assert_eq!(NixTrouble::find(&store, false), None);
        std::fs::create_dir_all(dir.join("nix/var/nix/db")).expect("created");
        assert_eq!(NixTrouble::find(&store, false), None);
        // Nobody can write to this file system, not even root.
        let nobodys = Utf8Path::new("/proc/sys/nix/store");
        let owner = "root".to_owned();
        let store = nobodys.to_owned();
        assert_eq!(
            NixTrouble::unreachable_store(nobodys, false),
            Some(NixTrouble::NotWritable { store, owner })
        );
    }

    #[test]
    fn a_daemon_that_is_asked_must_answer() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let dir = Utf8Path::from_path(dir.path()).expect("UTF-8");
        let store = dir.join("nix/store");
        let folder = dir.join("nix/var/nix/daemon-socket");
        std::fs::create_dir_all(&folder).expect("created");
        let code = |trouble: Option<NixTrouble>| {
            let trouble = trouble?;
            trouble.code().map(|code| code.to_string())
        };
        let find = || NixTrouble::unreachable_store(&store, true);
        assert_eq!(code(find()).as_deref(), Some("nix::daemon"));
        let listener = UnixListener::bind(folder.join("socket")).expect("a socket");
        assert_eq!(find(), None);
        // The socket stays behind when its daemon ends.
        drop(listener);
        assert_eq!(code(find()).as_deref(), Some("nix::daemon"));
    }

    /// A disk with less than any machine has left is full.
    #[test]
    fn a_full_disk_is_found() {
        let store = Utf8Path::new("/nix/store");
        let full = NixTrouble::full_disk(store, u64::MAX);
        assert!(matches!(full, Some(NixTrouble::Full { .. })), "{full:?}");
        assert_eq!(NixTrouble::full_disk(Utf8Path::new("/"), 1), None);
    }
}
