//! A world for one run of the program: a scratch folder, an index on this machine, and an
//! environment. Pip and apt in it know no other index.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use kernel_builder::matrix;
use serde_json::{Value, json};

use super::archives::file_sha256;
use super::folder::{Folder, REPOSITORY, make_writable};
use super::loopback::Server;
use super::program::{kernel_builder, store};

/// The system whose pins a world's library has.
pub const SYSTEM: &str = "x86_64-linux";

/// A scratch folder with an index of the files in `files/`.
pub struct World {
    folder: Folder,
    server: Server,
    environment: BTreeMap<&'static str, OsString>,
}

impl World {
    /// A world whose program uses the store that all tests share.
    pub fn new() -> Self {
        let folder = Folder::new();
        std::fs::create_dir(folder.path().join("files")).expect("a folder");
        let server = Server::start(folder.path());
        let mut world = Self {
            folder,
            server,
            environment: BTreeMap::new(),
        };
        world.set("PIP_CONFIG_FILE", "/dev/null");
        world.set("PIP_INDEX_URL", world.url("simple"));
        world
    }

    /// A world whose program has an empty store and an empty cache.
    pub fn with_own_store() -> Self {
        let mut world = Self::new();
        world.set("NIX_REMOTE", world.path("store"));
        world.set("KERNEL_BUILDER_CACHE", world.path("cache"));
        // NB: a busy machine answers late, and a source is given up after twice this time.
        world.set("KERNEL_BUILDER_STALL_SECONDS", "2");
        world
    }

    /// A folder of the programs on the PATH, except one.
    pub fn programs_without(&self, absent: &str) -> PathBuf {
        let folder = self.path("programs");
        std::fs::create_dir(&folder).expect("a folder");
        let path = std::env::var_os("PATH").expect("a PATH");
        let folders = std::env::split_paths(&path).filter_map(|folder| folder.read_dir().ok());
        for program in folders.flatten().flatten() {
            if program.file_name() != absent {
                // The first of two programs with the same name counts.
                let link = folder.join(program.file_name());
                let _ = std::os::unix::fs::symlink(program.path(), link);
            }
        }
        folder
    }

    /// Sets an environment variable of the program.
    pub fn set(&mut self, name: &'static str, value: impl Into<OsString>) {
        self.environment.insert(name, value.into());
    }

    pub fn root(&self) -> &Path {
        self.folder.path()
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        self.folder.write(path, content);
    }

    pub fn read(&self, path: &str) -> String {
        self.folder.read(path)
    }

    /// The URL of a path of the index.
    pub fn url(&self, path: &str) -> String {
        self.server.url(path)
    }

    /// Stops the index.
    pub fn stop(&mut self) {
        self.server.stop();
    }

    /// Says how the index behaves (tests/loopback_index.py).
    pub fn behave(&self, behaviour: &Value) {
        self.write("behaviour.json", behaviour.to_string());
    }

    /// The sha256 of a file of the index.
    pub fn sha256(&self, file: &str) -> String {
        file_sha256(&self.path("files").join(file))
    }

    /// Writes a library in `library/` that has the pins of this repository's rows, all of them
    /// empty, and some of its files.
    pub fn write_library(&mut self, files: &[&str]) {
        for name in files {
            let source = Path::new(REPOSITORY).join("nix").join(name);
            let content = std::fs::read(source).expect("a file of the library");
            self.write(&format!("library/nix/{name}"), content);
        }
        let rows = matrix::table().rows.iter();
        let rows = rows.filter(|row| row.system == SYSTEM);
        for family in rows.flat_map(|row| row.families()) {
            self.write_pins("library", &family, &json!([]), &json!([]));
        }
        self.set("KERNEL_BUILDER_LIBRARY", self.path("library"));
    }

    /// Writes the pins of a family.
    pub fn write_pins(&self, library: &str, family: &str, archives: &Value, trees: &Value) {
        let pins = json!({ "family": family, "archives": archives, "trees": trees });
        let path = format!("{library}/nix/pins/{SYSTEM}/{family}.json");
        self.write(&path, pins.to_string());
    }

    /// The program with one of its commands, in this world.
    pub fn command(&self, command: &str) -> Command {
        if !self.environment.contains_key("NIX_REMOTE") {
            store();
        }
        let mut program = kernel_builder(command);
        for (name, _) in std::env::vars() {
            let lower = name.to_lowercase();
            if lower.starts_with("pip_") || lower.ends_with("_proxy") {
                program.env_remove(name);
            }
        }
        program.envs(&self.environment);
        program
    }

    /// Runs a command of the program.
    pub fn run(&self, command: &str, arguments: &[&str]) -> Output {
        let mut program = self.command(command);
        program.args(arguments).output().expect("start the program")
    }

    /// Empties the store and the cache.
    pub fn forget(&self) {
        for name in ["store", "cache"] {
            let path = self.path(name);
            if path.exists() {
                make_writable(&path);
                std::fs::remove_dir_all(path).expect("removed");
            }
        }
    }
}
