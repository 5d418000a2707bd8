//! Questions to the store, and copies into it and out of it.

use std::collections::BTreeSet;
use std::fs::File;
use std::process::{Command, Stdio};

use camino::{Utf8Path, Utf8PathBuf};
use sha2::{Digest, Sha256};

use super::{Nix, NixError, error_text, not_started, output_lines, tell};

/// Store paths that one command gets. NB: all arguments of a program may take 2 MB on Linux.
pub(super) const PATHS_AT_A_TIME: usize = 5000;

impl Nix {
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
}
