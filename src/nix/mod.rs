//! The only place that starts Nix. Nix's configuration needs no experimental feature for it.

pub mod build;
mod command_line;
pub mod derivation;
mod derivation_file;
mod event;
pub mod log;
pub mod memory;
mod progress;
pub mod schedule;
pub mod trial;
mod trouble;
mod words;

use std::collections::BTreeSet;
use std::fs::File;
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Output, Stdio};

use camino::{Utf8Path, Utf8PathBuf};
use miette::Diagnostic;
use sha2::{Digest, Sha256};
use thiserror::Error;

use self::command_line::verbose_line;
use crate::terminal::detail;

pub use self::build::{Built, Limits, Rebuilt, Work};
pub use self::progress::Finished;
pub use self::trouble::NixTrouble;
pub use self::words::NixWords;

#[derive(Debug, Diagnostic, Error)]
pub enum NixError {
    #[error("failed to find Nix ({program} is not on the PATH)")]
    #[diagnostic(
        code(nix::missing),
        help(
            "install it: `apt-get install nix-bin` on Debian and Ubuntu, `dnf install nix` on Fedora, or the installer \
             of nixos.org; then open a new shell"
        )
    )]
    Missing { program: &'static str },

    #[error("failed to start {program}")]
    #[diagnostic(
        code(nix::start),
        help("check that it is a Nix for this machine: `nix-store --version`")
    )]
    Start {
        program: &'static str,
        source: std::io::Error,
    },

    /// The machine or the store shows why Nix failed.
    #[error("failed to {action}: {trouble}")]
    #[diagnostic(forward(trouble))]
    Trouble {
        action: String,
        trouble: NixTrouble,
        #[source]
        words: NixWords,
    },

    #[error("failed to {action}")]
    #[diagnostic(
        code(nix::evaluate),
        help(
            "if these words name no cure, this is a defect of kernel-builder: please report it with them"
        )
    )]
    Evaluate {
        action: String,
        #[source]
        words: NixWords,
    },

    #[error("failed to {action}")]
    #[diagnostic(
        code(nix::store),
        help("if these words name no cure, `nix-store --verify` checks the records of the store")
    )]
    Store {
        action: String,
        #[source]
        words: NixWords,
    },
}

/// Store paths that one command gets. NB: all arguments of a program may take 2 MB on Linux.
const PATHS_AT_A_TIME: usize = 5000;

/// Nix on this machine.
#[derive(Clone, Debug)]
pub struct Nix {
    instantiate: PathBuf,
    store: PathBuf,
    nix: PathBuf,
    /// Binary caches to ask; `None` if Nix's configuration could not be read.
    substituters: Option<String>,
    /// The number of derivations that Nix builds here at a time, if it is configured to build on
    /// other machines, too; otherwise `None`.
    jobs_beside_builders: Option<usize>,
    /// Systems that it builds for, here or on other machines; `None` if its configuration could not
    /// be read.
    systems: Option<BTreeSet<String>>,
    /// Whether it has no users to run builds as, so that root has to run them.
    single_user: bool,
    /// A hash of its configuration; empty if it could not be read.
    configuration: String,
}

impl Nix {
    /// Finds Nix on the PATH.
    ///
    /// # Errors
    /// `NixError::Missing`, which says how to install it.
    pub fn find() -> Result<Self, NixError> {
        let find = |program| which::which(program).map_err(|_| NixError::Missing { program });
        let mut nix = Self {
            instantiate: find("nix-instantiate")?,
            store: find("nix-store")?,
            nix: find("nix")?,
            substituters: None,
            jobs_beside_builders: None,
            systems: None,
            single_user: false,
            configuration: String::new(),
        };
        if let Some(settings) = nix.settings() {
            nix.configuration = crate::hex(&Sha256::digest(settings.to_string()));
            nix.single_user = lacks_build_users(&settings);
            nix.substituters = configured_caches(&settings);
            nix.jobs_beside_builders = jobs_beside_builders(&settings);
            nix.systems = Some(systems(&settings));
        }
        // The next command says why a store cannot be created.
        let _ = nix.create_store();
        let (program, store) = (nix.instantiate.display(), nix.store_folder());
        let store = store.map_or("another machine".to_owned(), Utf8PathBuf::into_string);
        detail(format_args!("Nix: {program}; its store: {store}"));
        Ok(nix)
    }

    /// Creates the store of `NIX_REMOTE`, if it is a folder without one. NB: of two Nixes that
    /// create a store at the same time, one fails.
    fn create_store(&self) -> std::io::Result<()> {
        let root = PathBuf::from(std::env::var_os("NIX_REMOTE").unwrap_or_default());
        let is_there = || root.join("nix/var/nix/db/schema").exists();
        if !root.is_absolute() || is_there() {
            return Ok(());
        }
        std::fs::create_dir_all(&root)?;
        let folder = File::open(&root)?;
        folder.lock()?;
        if !is_there() {
            let mut command = self.store_command();
            command.arg("--verify").args(self.options());
            command.stdin(Stdio::null()).output()?;
        }
        Ok(())
    }

    /// The number of derivations that Nix builds here at a time, if it is configured to build on
    /// other machines, too; otherwise `None`. The number may be 0.
    pub fn jobs_beside_builders(&self) -> Option<usize> {
        self.jobs_beside_builders
    }

    /// Whether it has a machine that builds for a system. True if that is unknown, as for a store
    /// on another machine.
    pub fn builds_for(&self, system: &str) -> bool {
        let known = self
            .systems
            .as_ref()
            .filter(|_| self.store_folder().is_some());
        known.is_none_or(|systems| systems.contains(system))
    }

    /// Facts that tell one Nix and its store from others: the program's file, its configuration,
    /// and the variables that choose a store.
    pub fn identity(&self) -> String {
        let variable = |name| format!("{name}={:?}", std::env::var_os(name));
        let file = crate::file::identity(&self.instantiate);
        let variables = [
            "NIX_REMOTE",
            "NIX_STORE_DIR",
            "NIX_STATE_DIR",
            "NIX_DATA_DIR",
            "NIX_PATH",
        ];
        let mut facts = vec![file, self.configuration.clone()];
        facts.extend(variables.map(variable));
        facts.join("\n")
    }

    /// Whether it builds everything that the store lacks, since it has no binary cache to ask.
    pub fn asks_no_cache(&self) -> bool {
        self.substituters.as_deref().is_some_and(str::is_empty)
    }

    fn settings(&self) -> Option<serde_json::Value> {
        let mut command = self.nix_command();
        command.args(["show-config", "--json"]);
        tell(&command);
        let output = command.output().ok()?;
        serde_json::from_slice(&output.stdout).ok()
    }

    /// The options of every Nix: the binary caches to ask, and to build as root if there are no
    /// users for builds.
    fn options(&self) -> Vec<&str> {
        let mut options = Vec::new();
        if let Some(caches) = &self.substituters {
            options.extend(["--option", "substituters", caches]);
        }
        if self.single_user {
            options.extend(["--option", "build-users-group", ""]);
        }
        options
    }

    /// Evaluates a function of a file and returns its result as JSON. `arguments` are strings by
    /// name. Derivations whose paths are part of the result come into the store.
    ///
    /// # Errors
    /// `NixError::Evaluate` with Nix's own words.
    pub fn evaluate(
        &self,
        file: &Utf8Path,
        attribute: &str,
        arguments: &[(&str, &str)],
    ) -> Result<serde_json::Value, NixError> {
        let mut command = self.instantiate_command(file, arguments);
        command.args(["--eval", "--read-write-mode", "--strict", "--json"]);
        command.args(["-A", attribute]);
        let output = self.run(command, "nix-instantiate")?;
        let action = || format!("evaluate {attribute} with Nix");
        let fail = |text: String| NixError::Evaluate {
            action: action(),
            words: NixWords::shorten(&text),
        };
        if !output.status.success() {
            let text = error_text(&output);
            let troubled = self.trouble_error(&action(), &text);
            return Err(troubled.unwrap_or_else(|| fail(text)));
        }
        serde_json::from_slice(&output.stdout).map_err(|error| fail(error.to_string()))
    }

    fn instantiate_command(&self, file: &Utf8Path, arguments: &[(&str, &str)]) -> Command {
        let mut command = Command::new(&self.instantiate);
        command.arg(file);
        for (name, value) in arguments {
            command.args(["--argstr", name, value]);
        }
        command
    }

    /// Enters the shell of an attribute of an expression, in a folder, and returns its exit status.
    /// `command` runs instead of an interactive shell. `library` is the folder of the Nix library.
    pub fn develop(
        &self,
        library: &Utf8Path,
        expression: &str,
        attribute: &str,
        dir: &Utf8Path,
        command: &[String],
    ) -> Result<ExitStatus, NixError> {
        let mut nix = Command::new(&self.nix);
        nix.args(["--extra-experimental-features", "nix-command flakes"]);
        // The registry from which Nix takes an interactive bash, instead of nixpkgs and of a
        // registry on the network.
        let registry = library.join("nix/shell/registry.json");
        nix.args(["--option", "flake-registry", registry.as_str()]);
        nix.args(self.options());
        nix.arg("develop");
        // A checkout (KERNEL_BUILDER_LIBRARY) is another flake, and its shell takes the bash of the
        // PATH.
        if !library.join("Cargo.toml").exists() {
            let bash = format!("path:{library}");
            nix.args(["--override-flake", "nixpkgs", &bash]);
        }
        nix.args(["--impure", "--expr", expression, attribute]);
        if !command.is_empty() {
            nix.arg("--command").args(command);
        }
        // The folder of this program, which the shell adds to its PATH.
        if let Ok(program) = std::env::current_exe()
            && let Some(dir) = program.parent()
        {
            nix.env("KERNEL_BUILDER_TOOL", dir);
        }
        tell(&nix);
        nix.current_dir(dir)
            .status()
            .map_err(|source| NixError::Start {
                program: "nix",
                source,
            })
    }

    /// The paths of a list that are not in the store.
    pub fn invalid_paths(&self, paths: &[String]) -> Result<Vec<String>, NixError> {
        let mut invalid = Vec::new();
        for some in paths.chunks(PATHS_AT_A_TIME) {
            let mut command = self.store_command();
            command
                .args(["--check-validity", "--print-invalid"])
                .args(some);
            invalid.extend(output_lines(&self.run_store(command, "look up paths")?));
        }
        Ok(invalid)
    }

    /// The bytes of each of some paths in the store, in the same order.
    ///
    /// # Errors
    /// `NixError` with Nix's own words, for a path that is not in the store, too.
    pub fn sizes(&self, paths: &[String]) -> Result<Vec<u64>, NixError> {
        let mut sizes = Vec::new();
        for some in paths.chunks(PATHS_AT_A_TIME) {
            let mut command = self.store_command();
            command.args(["--query", "--size"]).args(some);
            let output = self.run_store(command, "look up sizes")?;
            let numbers = output_lines(&output).into_iter();
            sizes.extend(numbers.filter_map(|line| line.parse::<u64>().ok()));
        }
        Ok(sizes)
    }

    /// Adds a file, or with `recursive` a tree, under its own name and returns its store path.
    pub fn add_fixed(&self, path: &Utf8Path, recursive: bool) -> Result<String, NixError> {
        let mut command = self.store_command();
        command.arg("--add-fixed");
        if recursive {
            command.arg("--recursive");
        }
        command.args(["sha256", path.as_str()]);
        let output = self.run_store(command, "add a path")?;
        Ok(output_lines(&output).into_iter().next().unwrap_or_default())
    }

    /// The sha256 of a tree in Nix's archive format, lower-case hex.
    ///
    /// # Errors
    /// `NixError` with Nix's own words.
    pub fn hash_tree(&self, path: &Utf8Path) -> Result<String, NixError> {
        let mut command = self.store_command();
        command.args(["--dump", path.as_str()]);
        let output = self.run_store(command, "read a tree")?;
        Ok(crate::hex(&Sha256::digest(&output.stdout)))
    }

    /// Adds files under their own names and returns their store paths, in the same order.
    pub fn add_fixed_files(&self, files: &[Utf8PathBuf]) -> Result<Vec<String>, NixError> {
        let mut command = self.store_command();
        command.args(["--add-fixed", "sha256"]).args(files);
        Ok(output_lines(&self.run_store(command, "add files")?))
    }

    /// The derivations that building some derivations would build, dependencies first. Derivations
    /// whose output a binary cache has are not among them.
    pub fn to_build(&self, derivations: &[String]) -> Result<Vec<String>, NixError> {
        let mut command = self.store_command();
        command.args(["--realise", "--dry-run"]).args(derivations);
        let output = self.run_store(command, "plan a build")?;
        // NB: Nix lists them on stderr, indented, one a line. Only derivations end in .drv.
        let listed = String::from_utf8_lossy(&output.stderr);
        Ok(listed
            .lines()
            .filter_map(|line| line.strip_prefix("  "))
            .filter(|line| line.ends_with(".drv"))
            .map(str::to_owned)
            .collect())
    }

    /// The derivations of a list whose output is not in the store. NB: each has one output.
    pub fn unbuilt<'a>(
        &self,
        derivations: impl Iterator<Item = &'a String>,
    ) -> Result<BTreeSet<&'a String>, NixError> {
        let derivations: Vec<&String> = derivations.collect();
        if derivations.is_empty() {
            return Ok(BTreeSet::new());
        }
        let mut command = self.store_command();
        command.args(["--query", "--outputs"]).args(&derivations);
        let outputs = output_lines(&self.run_store(command, "query derivations")?);
        let invalid = self.invalid_paths(&outputs)?;
        let made = derivations.into_iter().zip(outputs);
        Ok(made
            .filter(|(_, output)| invalid.contains(output))
            .map(|(derivation, _)| derivation)
            .collect())
    }

    /// Copies a store path out of the store, to a path that does not exist yet.
    pub fn export(&self, path: &str, target: &Utf8Path) -> Result<(), NixError> {
        let mut dump = self.dump_command(path);
        tell(&dump);
        let mut dump = dump.stdout(Stdio::piped()).spawn().map_err(not_started)?;
        let mut restore = self.store_command();
        restore.args(["--restore", target.as_str()]);
        if let Some(archive) = dump.stdout.take() {
            restore.stdin(archive);
        }
        let restored = restore.output().map_err(not_started)?;
        let dumped = dump.wait().map_err(not_started)?;
        if dumped.success() {
            self.check_success(&restored, "copy a path out")
        } else {
            Err(self.store_error("copy a path out", &error_text(&restored)))
        }
    }

    /// Writes a store path to a file in Nix's archive format.
    pub fn dump(&self, path: &str, file: &Utf8Path) -> Result<(), NixError> {
        let output = File::create(file).map_err(not_started)?;
        let dumped = self.dump_command(path).stdout(output).output();
        self.check_success(&dumped.map_err(not_started)?, "copy a path out")
    }

    /// Unpacks a file in Nix's archive format to a path that does not exist yet.
    pub fn restore(&self, file: &Utf8Path, target: &Utf8Path) -> Result<(), NixError> {
        let mut command = self.store_command();
        command.args(["--restore", target.as_str()]);
        command.stdin(File::open(file).map_err(not_started)?);
        self.check_success(&command.output().map_err(not_started)?, "unpack an archive")
    }

    // NB: `nix-store --dump` reads a path of the file system, but a store may lie elsewhere.
    fn dump_command(&self, path: &str) -> Command {
        let mut command = self.nix_command();
        command
            .args(["store", "dump-path", path])
            .args(self.options());
        command
    }

    /// Uses no network from now on.
    pub fn stay_offline(&mut self) {
        self.substituters = Some(String::new());
    }

    /// The folder of the store on this machine; `None` for a store on another machine.
    pub fn store_folder(&self) -> Option<Utf8PathBuf> {
        let variable = |name| std::env::var(name).unwrap_or_default();
        let remote = variable("NIX_REMOTE");
        match remote.as_str() {
            "" | "auto" | "daemon" | "local" => {
                let folder = variable("NIX_STORE_DIR");
                Some(if folder.is_empty() {
                    "/nix/store".into()
                } else {
                    folder.into()
                })
            }
            root if root.starts_with('/') => Some(Utf8Path::new(root).join("nix/store")),
            _ => None,
        }
    }

    fn store_command(&self) -> Command {
        Command::new(&self.store)
    }

    /// The `nix` command, for the few actions that the older commands cannot do.
    fn nix_command(&self) -> Command {
        let mut command = Command::new(&self.nix);
        command
            .args(["--extra-experimental-features", "nix-command"])
            .stdin(Stdio::null());
        command
    }

    /// The reason why Nix failed, if the machine or the store shows one.
    pub fn trouble(&self) -> Option<NixTrouble> {
        NixTrouble::find(&self.store_folder()?, asks_daemon())
    }

    /// The reason why builds failed, if the machine or the store shows one.
    pub fn trouble_of_builds(&self) -> Option<NixTrouble> {
        NixTrouble::find_for_builds(&self.store_folder()?, asks_daemon())
    }

    fn trouble_error(&self, action: &str, text: &str) -> Option<NixError> {
        Some(NixError::Trouble {
            trouble: self.trouble()?,
            action: action.to_owned(),
            words: NixWords::shorten(text),
        })
    }

    /// An error of the store, with the likely cause.
    fn store_error(&self, action: &str, text: &str) -> NixError {
        let action = format!("{action} in the Nix store");
        let troubled = self.trouble_error(&action, text);
        troubled.unwrap_or_else(|| NixError::Store {
            words: NixWords::shorten(text),
            action,
        })
    }

    fn check_success(&self, output: &Output, action: &'static str) -> Result<(), NixError> {
        match output.status.success() {
            true => Ok(()),
            false => Err(self.store_error(action, &error_text(output))),
        }
    }

    fn run_store(&self, command: Command, action: &'static str) -> Result<Output, NixError> {
        let output = self.run(command, "nix-store")?;
        if output.status.success() {
            Ok(output)
        } else {
            Err(self.store_error(action, &error_text(&output)))
        }
    }

    fn run(&self, mut command: Command, program: &'static str) -> Result<Output, NixError> {
        command.args(self.options()).stdin(Stdio::null());
        tell(&command);
        command
            .output()
            .map_err(|source| NixError::Start { program, source })
    }
}

/// The configured binary caches without the one of nixpkgs. That cache has no file of kernels, and
/// asking it costs seconds if it cannot be reached.
fn configured_caches(settings: &serde_json::Value) -> Option<String> {
    let caches = settings["substituters"]["value"].as_array()?;
    let names = caches.iter().filter_map(|cache| cache.as_str());
    let ours: Vec<&str> = names
        .filter(|cache| !cache.contains("cache.nixos.org"))
        .collect();
    Some(ours.join(" "))
}

fn jobs_beside_builders(settings: &serde_json::Value) -> Option<usize> {
    let jobs = settings["max-jobs"]["value"].as_u64()?;
    let jobs = usize::try_from(jobs).ok()?;
    has_builders(settings).then_some(jobs)
}

fn has_builders(settings: &serde_json::Value) -> bool {
    !builders(settings).is_empty()
}

/// Other machines that Nix builds on, a line each: address, systems, and more. NB: the default
/// names a file that may not exist.
fn builders(settings: &serde_json::Value) -> Vec<String> {
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
fn systems(settings: &serde_json::Value) -> BTreeSet<String> {
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
fn lacks_build_users(settings: &serde_json::Value) -> bool {
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

/// Whether Nix is told to ask its daemon, even if this user can write to the store.
fn asks_daemon() -> bool {
    std::env::var("NIX_REMOTE").is_ok_and(|remote| remote == "daemon")
}

/// The name of a store path: the part after the hash, without `.drv`.
pub fn name_of(path: &str) -> &str {
    let base = path.rsplit('/').next().unwrap_or(path);
    let name = base.split_once('-').map_or(base, |(_, name)| name);
    name.strip_suffix(".drv").unwrap_or(name)
}

/// Prints a command that is about to run, with `-v`.
fn tell(command: &Command) {
    if let Some(line) = verbose_line(command) {
        detail(line);
    }
}

fn not_started(source: std::io::Error) -> NixError {
    NixError::Start {
        program: "nix-store",
        source,
    }
}

fn error_text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr)
        .trim_end()
        .to_owned()
}

fn output_lines(output: &Output) -> Vec<String> {
    String::from_utf8_lossy(&output.stdout)
        .lines()
        .map(str::to_owned)
        .collect()
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
