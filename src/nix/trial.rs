//! Trials of the Nix on this machine, for `doctor`: its version and settings, a file for its store,
//! and a build of one line. Each ends within a time limit.

use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use camino::Utf8Path;

use super::{Nix, error_text};
use crate::deadline::output_within;

/// A build of one line: it writes the folder in which it runs. NB: `shell` is a folder with a
/// shell, since a sandbox may have none, and a daemon adds folders to it for trusted users only.
const ONE_LINE: &str = r#"{ nonce, shell }: let
  folder = builtins.path { path = /. + shell; name = "kernel-builder-doctor-shell"; };
  words = [ "${folder}/sh" "-c" "echo $NIX_BUILD_TOP >$out" ];
  all = if builtins.pathExists (/. + shell + "/loader")
    then [ "${folder}/loader" "--library-path" folder ] ++ words else words;
in derivation {
  inherit nonce;
  name = "kernel-builder-doctor";
  system = builtins.currentSystem;
  builder = builtins.head all;
  args = builtins.tail all;
}"#;

/// The folder of a build in Nix's sandbox. Builds without a sandbox have one in /tmp.
const SANDBOX_FOLDER: &str = "/build";

/// The outcome of a trial, with Nix's words if it failed.
pub type Trial<T> = Result<T, String>;

/// The experimental features that the `nix` commands of README.md use, and whether they are on.
#[derive(Clone, Copy, Debug)]
pub struct NixFeatures {
    pub nix_command: bool,
    pub flakes: bool,
}

impl Nix {
    /// The version as Nix prints it.
    pub fn version(&self, limit: Duration) -> Trial<String> {
        let mut command = Command::new(&self.nix);
        let text = printed(command.arg("--version"), limit)?;
        Ok(text
            .split_whitespace()
            .last()
            .unwrap_or_default()
            .to_owned())
    }

    /// Whether root's Nix is configured to build as users who do not exist.
    pub fn lacks_build_users(&self) -> bool {
        self.settings.single_user
    }

    /// The experimental features that are on without an option.
    pub fn features(&self, limit: Duration) -> Trial<NixFeatures> {
        // NB: as JSON, Nix 2.8 prints the numbers of features.
        let mut command = self.nix_command();
        let settings = printed(command.arg("show-config"), limit)?;
        let mut lines = settings.lines();
        let on = lines.find_map(|line| line.strip_prefix("experimental-features = "));
        let flakes = on.is_some_and(|on| on.split_whitespace().any(|feature| feature == "flakes"));
        // The command above turns nix-command on, so only one without its option tells.
        let mut command = Command::new(&self.nix);
        let tried = output_within(command.arg("show-config"), limit);
        let tried = tried.map_err(|error| error.to_string())?;
        Ok(NixFeatures {
            nix_command: tried.is_some_and(|output| output.status.success()),
            flakes,
        })
    }

    /// Adds a file to the store.
    pub fn try_store(&self, file: &Utf8Path, limit: Duration) -> Trial<()> {
        let mut command = self.store_command();
        command.arg("--add").arg(file).args(self.options());
        printed(&mut command, limit).map(drop)
    }

    /// Runs a build of one line, as builds of kernels run. Returns whether it ran in Nix's sandbox:
    /// a daemon takes that option from trusted users only. `nonce` makes it a new build.
    pub fn try_build(&self, nonce: &str, limit: Duration) -> Trial<bool> {
        let shell = tempfile::tempdir().map_err(|error| error.to_string())?;
        copy_shell(shell.path(), limit)?;
        let mut command = Command::new(&self.instantiate);
        command.args(["--expr", ONE_LINE, "--argstr", "nonce", nonce]);
        command.args(["--argstr", "shell"]).arg(shell.path());
        let derivation = printed(command.args(self.options()), limit)?;
        let mut command = self.store_command();
        command.args(["--realise", "--quiet", derivation.trim()]);
        command.args(["--option", "sandbox", "true"]);
        command.args(["--option", "sandbox-fallback", "false"]);
        let built = printed(command.args(self.options()), limit)?;
        let mut command = self.nix_command();
        command
            .args(["store", "cat", built.trim()])
            .args(self.options());
        Ok(printed(&mut command, limit)?.trim() == SANDBOX_FOLDER)
    }
}

/// Copies this machine's shell into a folder as `sh`, with its libraries and their loader as
/// `loader`, if it has any.
fn copy_shell(folder: &Path, limit: Duration) -> Trial<()> {
    const SHELL: &str = "/bin/sh";
    let copy = |from: &str, name: &OsStr| {
        let copied = std::fs::copy(from, folder.join(name));
        copied.map(drop).map_err(|error| format!("{from}: {error}"))
    };
    copy(SHELL, "sh".as_ref())?;
    // ldd fails for a program that needs no library.
    let libraries = printed(Command::new("ldd").arg(SHELL), limit).unwrap_or_default();
    for line in libraries.lines() {
        let (name, path) = line.split_once("=>").unwrap_or(("", line));
        let path = path.split_whitespace().next().unwrap_or_default();
        match Path::new(path).file_name() {
            Some(file) if path.starts_with('/') => {
                let loader = "loader".as_ref();
                copy(path, if name.is_empty() { loader } else { file })?;
            }
            // The kernel's own library has no file.
            _ => {}
        }
    }
    Ok(())
}

/// The standard output of a program that succeeds within a time, else its words.
fn printed(command: &mut Command, limit: Duration) -> Trial<String> {
    let output = output_within(command, limit).map_err(|error| error.to_string())?;
    let Some(output) = output else {
        return Err(format!("no answer in {} s", limit.as_secs()));
    };
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(error_text(&output)),
    }
}
