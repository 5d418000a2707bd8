//! Debian packages through the machine's own apt configuration, without touching its state: lists and cache of our
//! own, no root needed.

use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};

use camino::{Utf8Path, Utf8PathBuf};

use super::{Archive, PinError, cache};

/// Downloads archives to `dir`, under the names that they are pinned with.
///
/// # Errors
/// `PinError::Program` where there is no apt, `PinError::Download` with apt's own words.
pub fn download(archives: &[&Archive], dir: &Utf8Path) -> Result<(), PinError> {
    // Several trees and packages may be fetched at once; apt's lists are one.
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _guard = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let apt = Apt::find()?;
    // Lists of an earlier run usually still know the pinned versions.
    if apt.has_lists() && apt.download(archives, dir).is_ok() {
        return Ok(());
    }
    // A source that has nothing of ours may fail; if it matters, its words are the ones to show.
    let updated = apt.update();
    apt.download(archives, dir)
        .map_err(|error| updated.err().unwrap_or(error))
}

struct Apt {
    program: std::path::PathBuf,
    state: Utf8PathBuf,
}

impl Apt {
    fn find() -> Result<Self, PinError> {
        let program = which::which("apt-get").map_err(|_| PinError::Program {
            program: "apt-get",
            what: "the compilers (Debian packages)",
            help: "fetch on a Debian or Ubuntu machine or container that has Debian 12 among its apt sources",
        })?;
        let state = cache::dir().join("apt");
        for dir in ["lists/partial", "archives/partial"] {
            let dir = state.join(dir);
            std::fs::create_dir_all(&dir).map_err(PinError::io("create", &dir))?;
        }
        let status = state.join("status");
        if !status.exists() {
            std::fs::write(&status, "").map_err(PinError::io("create", &status))?;
        }
        Ok(Self { program, state })
    }

    fn has_lists(&self) -> bool {
        let lists = self.state.join("lists");
        lists.read_dir_utf8().is_ok_and(|entries| {
            entries.flatten().any(|entry| {
                entry.file_name().ends_with("_Packages") || entry.file_name().contains("_Packages.")
            })
        })
    }

    fn update(&self) -> Result<(), PinError> {
        self.run(
            Command::new(&self.program).args(["update", "-o", "APT::Update::Error-Mode=any"]),
            "the lists of Debian packages",
        )
    }

    fn download(&self, archives: &[&Archive], dir: &Utf8Path) -> Result<(), PinError> {
        let mut command = Command::new(&self.program);
        command.arg("download").current_dir(dir);
        for archive in archives {
            let architecture = match archive
                .file
                .strip_suffix(".deb")
                .and_then(|stem| stem.rsplit_once('_'))
            {
                Some((_, "all")) | None => String::new(),
                Some((_, architecture)) => format!(":{architecture}"),
            };
            command.arg(format!(
                "{}{architecture}={}",
                archive.name, archive.version
            ));
        }
        self.run(&mut command, "Debian packages")
    }

    fn run(&self, command: &mut Command, what: &str) -> Result<(), PinError> {
        let state = &self.state;
        let output = command
            .args([
                "-q",
                "-o",
                "Debug::NoLocking=1",
                "-o",
                "APT::Sandbox::User=root",
            ])
            .args([
                "-o",
                &format!("Dir::State={state}"),
                "-o",
                &format!("Dir::State::status={state}/status"),
            ])
            .args([
                "-o",
                &format!("Dir::State::lists={state}/lists"),
                "-o",
                &format!("Dir::Cache={state}"),
            ])
            .args(["-o", "Acquire::Languages=none"])
            .stdin(Stdio::null())
            .output()
            .map_err(PinError::io(
                "start",
                self.program.to_string_lossy().as_ref(),
            ))?;
        if output.status.success() {
            return Ok(());
        }
        Err(PinError::download(what, &output, |_| {
            "check the network and that apt's sources hold Debian 12 (bookworm); then run the command again: what was \
             fetched is kept"
        }))
    }
}
