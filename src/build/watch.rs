//! Waits for changes of a kernel's files and for the request to end. Builds nothing.

use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use camino::{Utf8Path, Utf8PathBuf};
use notify::event::{MetadataKind, ModifyKind};
use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use super::error::{EngineError, failed_to};
use crate::file::UNFINISHED;
use crate::terminal::keep_running_on_signals;

/// The pause after the last change: editors and version control write several files at once.
const PAUSE: Duration = Duration::from_millis(80);

/// The reason why a wait is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wake {
    Change,
    /// Ctrl-C, or the request to end.
    End,
}

/// A watch over the files of a kernel.
pub struct Watch {
    root: Utf8PathBuf,
    watcher: RecommendedWatcher,
    events: Receiver<Wake>,
    /// The folders of the root that are watched with everything below.
    folders: Vec<Utf8PathBuf>,
    has_change: bool,
    is_ended: bool,
}

impl Watch {
    /// Starts to watch the files below a folder, and takes over Ctrl-C.
    ///
    /// # Errors
    /// `EngineError::Watch`; `EngineError::Io` if signals cannot be handled.
    pub fn start(root: &Utf8Path) -> Result<Self, EngineError> {
        let (sender, events) = channel();
        end_on_signals(sender.clone())?;
        let own_root = root.to_owned();
        let tell = move |event: notify::Result<notify::Event>| {
            // NB: after an error, such as too many events at once, there may have been a change.
            let is_change = event.map_or(true, |event| {
                is_change_of_content(event.kind)
                    && (event.need_rescan()
                        || event.paths.iter().any(|path| counts(&own_root, path)))
            });
            if is_change {
                // Nobody listens after the end.
                let _ = sender.send(Wake::Change);
            }
        };
        let failed = |source| EngineError::Watch {
            path: root.to_owned(),
            source,
        };
        let mut watcher = notify::recommended_watcher(tell).map_err(failed)?;
        watcher
            .watch(root.as_std_path(), RecursiveMode::NonRecursive)
            .map_err(failed)?;
        let mut watch = Self {
            root: root.to_owned(),
            watcher,
            events,
            folders: Vec::new(),
            has_change: false,
            is_ended: false,
        };
        watch.watch_new_folders()?;
        Ok(watch)
    }

    /// Watches the folders of the root that are not watched yet. NB: not the root with everything
    /// below: virtual environments and builds have many folders.
    fn watch_new_folders(&mut self) -> Result<(), EngineError> {
        let failed = || failed_to(format!("read {}", self.root));
        for entry in self.root.read_dir_utf8().map_err(failed())? {
            let entry = entry.map_err(failed())?;
            let path = entry.into_path();
            if !path.is_dir()
                || !counts(&self.root, path.as_std_path())
                || self.folders.contains(&path)
            {
                continue;
            }
            self.watcher
                .watch(path.as_std_path(), RecursiveMode::Recursive)
                .map_err(|source| EngineError::Watch {
                    path: path.clone(),
                    source,
                })?;
            self.folders.push(path);
        }
        Ok(())
    }

    /// Waits until files have changed and nobody writes any more, or until the end. Changes since
    /// the last wait count.
    pub fn wait(&mut self) -> Wake {
        let mut wake = match (self.is_ended, std::mem::take(&mut self.has_change)) {
            (true, _) => Wake::End,
            (false, true) => Wake::Change,
            (false, false) => self.events.recv().unwrap_or(Wake::End),
        };
        while wake == Wake::Change {
            match self.events.recv_timeout(PAUSE) {
                Ok(next) => wake = next,
                Err(RecvTimeoutError::Timeout) => break,
                Err(RecvTimeoutError::Disconnected) => wake = Wake::End,
            }
        }
        self.is_ended |= wake == Wake::End;
        // A folder that is gone again has no changes to miss.
        let folders = std::mem::take(&mut self.folders);
        self.folders = folders.into_iter().filter(|path| path.is_dir()).collect();
        let _ = self.watch_new_folders();
        wake
    }

    /// Whether the end was asked for.
    pub fn is_ended(&mut self) -> bool {
        for wake in self.events.try_iter() {
            match wake {
                Wake::Change => self.has_change = true,
                Wake::End => self.is_ended = true,
            }
        }
        self.is_ended
    }
}

/// Sends the end for Ctrl-C and for the request to end, instead of ending at once.
fn end_on_signals(sender: Sender<Wake>) -> Result<(), EngineError> {
    let mut signals = Signals::new([SIGINT, SIGTERM]).map_err(failed_to("handle Ctrl-C"))?;
    keep_running_on_signals();
    std::thread::spawn(move || {
        for _ in signals.forever() {
            let _ = sender.send(Wake::End);
        }
    });
    Ok(())
}

/// Whether an event may change the content of a file. Reading a file is an event, too.
fn is_change_of_content(kind: EventKind) -> bool {
    match kind {
        EventKind::Access(_)
        | EventKind::Modify(ModifyKind::Metadata(MetadataKind::AccessTime)) => false,
        EventKind::Any
        | EventKind::Create(_)
        | EventKind::Modify(_)
        | EventKind::Remove(_)
        | EventKind::Other => true,
    }
}

/// Whether a file below the root may be part of the kernel. Builds, environments, repositories and
/// what this program writes are not.
fn counts(root: &Utf8Path, path: &Path) -> bool {
    const TOP: [&str; 4] = ["build", "build.nix", "result", "target"];
    let relative = path.strip_prefix(root).unwrap_or(path);
    let mut names = relative.iter().map(|name| name.to_string_lossy());
    let is_own = |name: &str| TOP.contains(&name) || name.starts_with("result-");
    let is_foreign =
        |name: &str| name.starts_with('.') || name.starts_with(UNFINISHED) || name == "__pycache__";
    let Some(first) = names.next() else {
        // The root itself.
        return false;
    };
    !is_own(&first) && !is_foreign(&first) && !names.any(|name| is_foreign(&name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_of_the_kernel_count() {
        let counts = |path: &str| counts(Utf8Path::new("/k"), Path::new(path));
        for path in [
            "/k/build.toml",
            "/k/csrc/a.cu",
            "/k/torch-ext/relu/__init__.py",
            "/k/csrc/build/x.h",
        ] {
            assert!(counts(path), "{path}");
        }
        for path in [
            "/k",
            "/k/build/torch-cpu/x.py",
            "/k/build.nix",
            "/k/.git/index",
            "/k/.kernel-builder-1a",
            "/k/result",
            "/k/result-1/x",
            "/k/torch-ext/relu/__pycache__/a.pyc",
            "/k/csrc/.a.cu.swp",
        ] {
            assert!(!counts(path), "{path}");
        }
    }
}
