//! The likely cause of a failure of the Nix store, found by looking at the store and not by reading
//! messages.

use camino::Utf8Path;
use rustix::fs::{Access, access, statvfs};

/// A state of the store in which commands fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreTrouble {
    /// The file system has almost no space left, or no place for another file.
    Full,
    /// This user can write neither to its database nor to its daemon.
    NotWritable,
    /// The cause is another one, or the store lies on another machine.
    Unknown,
}

/// Free bytes that Nix needs to work at all.
const NEEDED_BYTES: u64 = 16 << 20;

impl StoreTrouble {
    /// Looks at the folder of a store. It is `None` for a store on another machine.
    pub fn find(store: Option<&Utf8Path>) -> Self {
        let Some(store) = store else {
            return Self::Unknown;
        };
        if is_full(store) {
            return Self::Full;
        }
        // The store is root/nix/store, its state root/nix/var/nix.
        let state = store.with_file_name("var/nix");
        let state = [state.join("db"), state.join("daemon-socket/socket")];
        match state.iter().any(|path| is_writable(path)) {
            true => Self::Unknown,
            false => Self::NotWritable,
        }
    }

    /// The help text of the error.
    pub fn help(self) -> &'static str {
        match self {
            Self::Full => "free some space: `nix-collect-garbage` removes what nothing refers to",
            Self::NotWritable => {
                "the store belongs to somebody else: run as that user, set up Nix's daemon, or set NIX_REMOTE to a folder \
                 of your own"
            }
            Self::Unknown => "see the message of Nix above",
        }
    }
}

/// The path, or the nearest folder above it that exists.
fn nearest_existing(path: &Utf8Path) -> Option<&Utf8Path> {
    path.ancestors().find(|path| path.exists())
}

fn is_full(folder: &Utf8Path) -> bool {
    let found = nearest_existing(folder).and_then(|path| statvfs(path.as_str()).ok());
    // Some file systems have no limit of files, and report 0.
    found.is_some_and(|found| {
        let has_no_file_left = found.f_files > 0 && found.f_favail == 0;
        found.f_bavail * found.f_frsize < NEEDED_BYTES || has_no_file_left
    })
}

fn is_writable(path: &Utf8Path) -> bool {
    let is_socket = path.file_name() == Some("socket");
    let path = match is_socket {
        true => path.exists().then_some(path),
        false => nearest_existing(path),
    };
    path.is_some_and(|path| access(path.as_str(), Access::WRITE_OK).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_is_looked_at() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let dir = Utf8Path::from_path(dir.path()).expect("UTF-8");
        let store = dir.join("nix/store");
        // A new store has no trouble, and one that exists has none either.
        assert_eq!(StoreTrouble::find(Some(&store)), StoreTrouble::Unknown);
        std::fs::create_dir_all(dir.join("nix/var/nix/db")).expect("created");
        assert_eq!(StoreTrouble::find(Some(&store)), StoreTrouble::Unknown);
        assert_eq!(StoreTrouble::find(None), StoreTrouble::Unknown);
        // Nobody can write to this file system, not even root.
        let nobodys = Utf8Path::new("/proc/sys/nix/store");
        if is_full(nobodys) {
            assert_eq!(StoreTrouble::find(Some(nobodys)), StoreTrouble::Full);
        } else {
            assert_eq!(StoreTrouble::find(Some(nobodys)), StoreTrouble::NotWritable);
        }
    }
}
