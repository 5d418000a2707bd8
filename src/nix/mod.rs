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
mod settings;
mod store;
pub mod trial;
mod trouble;
mod words;

use std::fs::File;
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Output, Stdio};

use camino::{Utf8Path, Utf8PathBuf};
use miette::Diagnostic;
use thiserror::Error;

use self::command_line::verbose_line;
use self::settings::NixSettings;
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

/// Nix on this machine.
#[derive(Clone, Debug)]
pub struct Nix {
    instantiate: PathBuf,
    store: PathBuf,
    nix: PathBuf,
    settings: NixSettings,
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
            settings: NixSettings::default(),
        };
        if let Some(configuration) = nix.show_configuration() {
            nix.settings = NixSettings::new(&configuration);
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
        self.settings.jobs_beside_builders
    }

    /// Whether it has a machine that builds for a system. True if that is unknown, as for a store
    /// on another machine.
    pub fn builds_for(&self, system: &str) -> bool {
        let known = self.settings.systems.as_ref();
        let known = known.filter(|_| self.store_folder().is_some());
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
        let mut facts = vec![file, self.settings.digest.clone()];
        facts.extend(variables.map(variable));
        facts.join("\n")
    }

    /// Whether it builds everything that the store lacks, since it has no binary cache to ask.
    pub fn asks_no_cache(&self) -> bool {
        self.settings
            .substituters
            .as_deref()
            .is_some_and(str::is_empty)
    }

    /// Nix's configuration as it prints it; `None` if it fails.
    fn show_configuration(&self) -> Option<serde_json::Value> {
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
        if let Some(caches) = &self.settings.substituters {
            options.extend(["--option", "substituters", caches]);
        }
        if self.settings.single_user {
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

    /// Uses no network from now on.
    pub fn stay_offline(&mut self) {
        self.settings.substituters = Some(String::new());
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
