//! Stock CMake and Ninja from their wheels, nvcc from NVIDIA's, and the commands that they run.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Mutex;

use crate::common::folder::REPOSITORY;
use crate::common::program::{run, store, venv};

/// The variant of this machine's torch without CUDA, and with it.
pub const CPU: &str = "torch211-cxx11-cpu-x86_64-linux";
pub const CUDA: &str = "torch211-cxx11-cu130-x86_64-linux";

/// The lock of tests that make the tools, which all of them use.
static MAKING: Mutex<()> = Mutex::new(());

fn target(name: &str) -> PathBuf {
    Path::new(REPOSITORY).join("target").join(name)
}

/// The programs of the virtual environment with stock CMake, Ninja, torch and the client.
pub fn tools() -> PathBuf {
    let _lock = MAKING.lock();
    let folder = target("cmake-venv");
    let script = Path::new(REPOSITORY).join("scripts/cmake-venv.sh");
    run(Command::new(script).arg(&folder).arg(venv()));
    folder.join("bin")
}

/// A program of that environment, for work in a folder. It sees no other CMake and no compiler
/// cache of this machine.
pub fn tool(name: &str, folder: &Path) -> Command {
    let tools = tools();
    let mut command = Command::new(tools.join(name));
    let path = format!("{}:/usr/bin:/bin", tools.display());
    command.current_dir(folder).env("PATH", path);
    for variable in ["CUDACXX", "CMAKE_ARGS", "CMAKE_GENERATOR", "LOCAL_KERNELS"] {
        command.env_remove(variable);
    }
    command
}

/// nvcc 13.0 of the pinned wheels, which the store has, laid out as a toolkit.
pub fn nvcc() -> PathBuf {
    let _lock = MAKING.lock();
    let folder = target("cuda-13.0-wheels");
    let toolkit = folder.join("nvidia/cu13");
    if !folder.join(".complete").exists() {
        let script = "\
set -eu; shopt -s nullglob
mkdir -p \"$2\"
for name in nvidia_cuda_{nvcc,crt,runtime,cccl}-13.0 nvidia_nvvm-13.0; do
    wheels=(\"$1\"/nix/store/*-\"$name\".*x86_64.whl)
    unzip -q -o \"${wheels[0]}\" 'nvidia/*' -d \"$2\"
done
cd \"$2/nvidia/cu13\"
find bin nvvm/bin -type f -exec chmod 755 {} +
ln -sfn lib lib64; ln -sfn libcudart.so.13 lib/libcudart.so
touch \"$2/.complete\"";
        let mut unpack = Command::new("bash");
        run(unpack.args(["-c", script, "bash", &store()]).arg(&folder));
    }
    toolkit.join("bin/nvcc")
}

/// Configures a project with Ninja, in its folder `tree`.
pub fn configure(project: &Path, tree: &str, options: &[&str]) -> Output {
    let mut cmake = tool("cmake", project);
    cmake.args(["-G", "Ninja", "-B", tree]).args(options);
    if !options.contains(&"-DGPU_LANG=CPU") {
        cmake.env("CUDACXX", nvcc());
    }
    run(&mut cmake)
}

/// Builds a target of a configured project.
pub fn build(project: &Path, tree: &str, target: &str) -> Output {
    run(tool("cmake", project).args(["--build", tree, "--target", target]))
}

/// The words of the compiler's command for a source, as Ninja runs it.
pub fn command_of(project: &Path, tree: &str, source: &str) -> Vec<String> {
    let database = run(tool("ninja", project).args(["-C", tree, "-t", "compdb"]));
    let database = String::from_utf8(database.stdout).expect("UTF-8");
    let (_, database) = database.split_once('[').expect("a list");
    let entries: Vec<serde_json::Value> =
        serde_json::from_str(&format!("[{database}")).expect("JSON");
    let name = format!("/{source}");
    // NB: a generated file is an input of steps without a compiler, too.
    let is_wanted = |entry: &&serde_json::Value| {
        let has =
            |key: &str, matches: &dyn Fn(&str) -> bool| entry[key].as_str().is_some_and(matches);
        has("file", &|file| file.ends_with(&name))
            && has("command", &|words| words.contains(" -c "))
    };
    let entry = entries.iter().find(is_wanted).expect(source);
    // The shell that reads the command is the one to say which words it has.
    let script = "cd \"$1\" && eval \"set -- $2\" && printf '%s\\n' \"$@\"";
    let mut shell = Command::new("bash");
    let command = entry["command"].as_str().expect("a command");
    let words = run(shell.args(["-c", script, "bash"]).arg(project).arg(command));
    let words = String::from_utf8(words.stdout).expect("UTF-8");
    words.lines().map(str::to_owned).collect()
}

/// The words that `kernel-builder` decides about: not the compiler, files, folders of headers, the
/// build id, and what CMake adds for itself.
pub fn decided(words: &[String]) -> Vec<String> {
    let mut kept = Vec::new();
    // Programs that run the compiler end with this word.
    let compiler = words.iter().position(|word| word == "--");
    let first = compiler.map_or(1, |at| at + 2);
    let mut words = words.iter().skip(first).map(String::as_str);
    while let Some(word) = words.next() {
        match word {
            "-o" | "-c" | "-isystem" | "-x" | "-MT" | "-MF" => {
                words.next();
            }
            "-MD" => {}
            _ if word.starts_with("-I") || word.contains("_EXTENSION_NAME=") => {}
            _ => kept.push(word.to_owned()),
        }
    }
    kept
}
