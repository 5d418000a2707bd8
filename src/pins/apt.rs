//! Fetches Debian packages of any architecture through the machine's own apt configuration. It
//! keeps lists and a cache of its own, leaves apt's state alone and needs no root.

use std::collections::{BTreeMap, BTreeSet};
use std::process::{Command, Output, Stdio};
use std::sync::{Mutex, PoisonError};

use camino::{Utf8Path, Utf8PathBuf};

use super::apt_output::{installation_names, says_none_is_known, stanzas};
use super::locks::FileLock;
use super::program::{folder_size, run_watched};
use super::silence::{SourceWatch, stall_time};
use super::{Archive, PinError, cache};

/// The name of apt's sources among the sources of a run.
pub const SOURCE: &str = "apt's sources";

const HELP: &str = "check the network and that apt's sources hold Debian 12 (bookworm); then run the command again: what \
                    was fetched is kept";

/// apt in one run: it reads the lists of each architecture anew at most once.
#[derive(Default)]
pub struct AptRun {
    /// The outcome of new lists by architecture.
    updates: Mutex<BTreeMap<String, Result<(), PinError>>>,
}

impl AptRun {
    /// Downloads archives to `dir`, under the names that they are pinned with. Returns the archives
    /// that may not have come whole, each with an error.
    pub fn download<'a>(
        &self,
        archives: &[&'a Archive],
        dir: &Utf8Path,
        watch: &SourceWatch,
    ) -> Vec<(&'a Archive, PinError)> {
        // Several trees and packages may be fetched at once, and all use the same lists of apt.
        let mut updates = self.updates.lock().unwrap_or_else(PoisonError::into_inner);
        let mut by_architecture: BTreeMap<&str, Vec<&Archive>> = BTreeMap::new();
        for archive in archives {
            let group = by_architecture.entry(architecture_of(archive));
            group.or_default().push(archive);
        }
        let mut failed = Vec::new();
        for (architecture, archives) in by_architecture {
            match download_group(architecture, &archives, dir, watch, &mut updates) {
                Ok(unknown) => failed.extend(unknown),
                Err(error) => failed.extend(
                    archives
                        .into_iter()
                        .map(|archive| (archive, error.for_file(&archive.file))),
                ),
            }
        }
        failed
    }
}

/// Downloads archives of one architecture. Returns the archives that apt's sources do not have,
/// each with an error.
///
/// # Errors
/// An error that holds for every archive that did not come whole.
fn download_group<'a>(
    architecture: &str,
    archives: &[&'a Archive],
    dir: &Utf8Path,
    watch: &SourceWatch,
    updates: &mut BTreeMap<String, Result<(), PinError>>,
) -> Result<Vec<(&'a Archive, PinError)>, PinError> {
    let question = watch.ask_program(SOURCE).map_err(silent)?;
    let apt = Apt::for_architecture(architecture)?;
    // Lists of an earlier run usually still know the pinned versions.
    if apt.has_lists() {
        match apt.download(archives, dir, watch) {
            Ok(()) => return Ok(Vec::new()),
            Err(error) => {
                if let Some(why) = question.failed(first_line(&error.why())) {
                    return Err(silent(why));
                }
            }
        }
    }
    let update = updates.entry(architecture.to_owned());
    let update = update.or_insert_with(|| apt.update(watch));
    if let Err(error) = update
        && !question.was_answered()
    {
        return Err(match error {
            // The first of many lines is enough, as each source has one.
            PinError::Download { why, .. } => match question.gave_up(first_line(why)) {
                Some(why) => silent(why),
                None => error.for_file(""),
            },
            error => error.for_file(""),
        });
    }
    let listed = apt.listed(archives)?;
    let is_listed =
        |archive: &&Archive| listed.contains(&(archive.name.clone(), archive.version.clone()));
    let (known, unknown): (Vec<&Archive>, Vec<&Archive>) =
        archives.iter().copied().partition(is_listed);
    if !known.is_empty() {
        apt.download(&known, dir, watch)?;
    }
    // A source may have failed that has the others.
    let absent = |archive: &'a Archive| match update {
        Err(error) => (archive, error.for_file(&archive.file)),
        Ok(()) => (archive, not_listed(archive)),
    };
    Ok(unknown.into_iter().map(absent).collect())
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

/// Whether an earlier run has left lists for the architecture of a package.
pub fn has_lists_for(archive: &Archive) -> bool {
    has_lists(&state_folder(architecture_of(archive)))
}

fn has_lists(state: &Utf8Path) -> bool {
    state.join("lists").read_dir_utf8().is_ok_and(|entries| {
        entries.flatten().any(|entry| {
            entry.file_name().ends_with("_Packages") || entry.file_name().contains("_Packages.")
        })
    })
}

fn state_folder(architecture: &str) -> Utf8PathBuf {
    cache::dir().join(format!("apt-{architecture}"))
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
        Self::in_folder(architecture, &state_folder(architecture))
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
        has_lists(&self.state)
    }

    /// Downloads the current lists, after another run that does so now: both would remove each
    /// other's unfinished files.
    ///
    /// # Errors
    /// `PinError::Program` where there is no apt, `PinError::Download` with its own words if any
    /// source failed; `PinError::Io`.
    pub fn update(&self, watch: &SourceWatch) -> Result<(), PinError> {
        let _lock = FileLock::wait_for_file(&self.state.join("lists.lock"), || {})?;
        let mut command = self.command("apt-get")?;
        command.args(["update", "-o", "APT::Update::Error-Mode=any"]);
        let lists = self.state.join("lists");
        let question = watch.ask_program(SOURCE).map_err(silent)?;
        let output = run_watched(command, &question, None, || folder_size(&lists))
            .map_err(PinError::io("start", "apt-get"))?;
        check_success(&output, "the lists of Debian packages")?;
        question.answered();
        Ok(())
    }

    fn download(
        &self,
        archives: &[&Archive],
        dir: &Utf8Path,
        watch: &SourceWatch,
    ) -> Result<(), PinError> {
        let mut command = self.command("apt-get")?;
        command.arg("download").current_dir(dir);
        for archive in archives {
            command.arg(format!("{}={}", archive.name, archive.version));
        }
        let question = watch.ask_program(SOURCE).map_err(silent)?;
        let output = run_watched(command, &question, None, || folder_size(dir))
            .map_err(PinError::io("start", "apt-get"))?;
        check_success(&output, "Debian packages")
    }

    /// Names and versions of the packages in the lists that have the names of some archives.
    fn listed(&self, archives: &[&Archive]) -> Result<BTreeSet<(String, String)>, PinError> {
        let names: BTreeSet<&str> = archives.iter().map(|archive| &*archive.name).collect();
        let mut command = self.command("apt-cache")?;
        command.args(["show", "--all-versions"]).args(names);
        let found = show(command)?.into_iter();
        Ok(found
            .map(|archive| (archive.name, archive.version))
            .collect())
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
            command.args(["show", which]).args(packages);
            for archive in show(command)? {
                let versions = found.entry(archive.name.clone()).or_default();
                if !versions.contains(&archive) {
                    versions.push(archive);
                }
            }
        }
        Ok(found)
    }

    /// The names of the packages that an installation of some packages needs on a machine that has
    /// none: those that they depend on, too, in versions of a release of Debian (its codename).
    /// `?essential` stands for the packages that every Debian has.
    ///
    /// # Errors
    /// `PinError::Download` with apt's own words.
    pub fn installation(
        &self,
        packages: &[String],
        release: &str,
    ) -> Result<BTreeSet<String>, PinError> {
        let mut command = self.command("apt-get")?;
        command.args(["-o", &format!("APT::Default-Release={release}")]);
        command.args([
            "install",
            "--print-uris",
            "--yes",
            "--no-install-recommends",
        ]);
        let output = command
            .args(packages)
            .stdin(Stdio::null())
            .output()
            .map_err(PinError::io("start", "apt-get"))?;
        check_success(&output, "what Debian packages depend on")?;
        Ok(installation_names(&String::from_utf8_lossy(&output.stdout)))
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
        // Three tries end before other sources are given up.
        let timeout = (stall_time() / 2).as_secs().max(1);
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
            "Acquire::Retries=2",
            &format!("Acquire::http::Timeout={timeout}"),
            &format!("Acquire::https::Timeout={timeout}"),
        ] {
            command.args(["-o", option]);
        }
        Ok(command)
    }
}

/// The packages that an `apt-cache show` knows.
fn show(mut command: Command) -> Result<Vec<Archive>, PinError> {
    let output = command
        .stdin(Stdio::null())
        .output()
        .map_err(PinError::io("start", "apt-cache"))?;
    // apt-cache fails if it knows none of the packages; a mistyped option has other words.
    match check_success(&output, "what Debian packages there are") {
        Err(PinError::Download { why, .. }) if says_none_is_known(&why) => Ok(Vec::new()),
        result => result.map(|()| stanzas(&String::from_utf8_lossy(&output.stdout))),
    }
}

fn check_success(output: &Output, what: &str) -> Result<(), PinError> {
    if output.status.success() {
        return Ok(());
    }
    Err(PinError::download(what, output, |_| HELP))
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

/// The error of sources that are given up.
fn silent(why: String) -> PinError {
    PinError::Silent {
        name: "Debian packages".to_owned(),
        why,
    }
}

fn not_listed(archive: &Archive) -> PinError {
    PinError::Download {
        name: archive.file.clone(),
        why: format!("apt's sources have no {} {}", archive.name, archive.version),
        help: HELP.to_owned(),
    }
}
