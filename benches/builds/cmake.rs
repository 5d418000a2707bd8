//! Builds as the system does that this one is compatible with: a CMake project for each variant,
//! configured and built whole. Compilers, headers and flags are the same, read from our
//! derivations. The other steps of that system (strip, check, copy Python files, enter a sandbox)
//! are left out.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use kernel_builder::nix::Nix;
use kernel_builder::nix::derivation::Derivation;
use serde_json::Value;

use crate::measure::{Run, run};

/// The project of one variant.
pub struct Project {
    source: PathBuf,
    build: PathBuf,
    compiler: String,
}

fn words(derivation: &Derivation, attribute: &str) -> Vec<String> {
    match derivation.attributes.get(attribute) {
        Some(Value::Array(list)) => list
            .iter()
            .filter_map(|word| word.as_str().map(str::to_owned))
            .collect(),
        Some(Value::String(word)) if !word.is_empty() => vec![word.clone()],
        _ => Vec::new(),
    }
}

fn word(derivation: &Derivation, attribute: &str) -> String {
    words(derivation, attribute)
        .into_iter()
        .next()
        .unwrap_or_default()
}

/// A list of CMake arguments, quoted.
fn quoted(words: &[String]) -> String {
    let quote = |word: &String| format!(" [=[{word}]=]");
    words.iter().map(quote).collect()
}

impl Project {
    /// Writes the project of a variant whose steps `kernel-builder graph --json` printed, into a
    /// folder.
    pub fn write(nix: &Nix, kernel: &Path, graph: &Value, folder: &Path) -> Self {
        let steps = graph["steps"].as_array().expect("steps");
        let of = |kind: &str| {
            let steps = steps.iter().filter(|step| step["kind"] == kind);
            steps
                .filter_map(|step| step["derivation"].as_str().map(str::to_owned))
                .collect::<Vec<_>>()
        };
        let [package] = &of("package")[..] else {
            panic!("one variant at a time")
        };
        let all = nix
            .derivations(std::slice::from_ref(package))
            .expect("derivations");
        // The step that joins the parts of a unit has the flags of the whole unit.
        let units = [of("unit"), of("join")].concat();
        let units = units.iter().map(|path| &all[path]);
        let whole = units.filter(|unit| word(unit, "part") == "whole");
        let mut units: Vec<Derivation> = whole.map(|unit| with_environment(unit, &all)).collect();
        // CUDA objects are numbered: one of the same source keeps its name.
        units.sort_by_key(|unit| word(unit, "source"));
        let library = &all[&of("library")[0]];

        let source = folder.join("project");
        std::fs::create_dir_all(source.join("generated")).expect("create a folder");
        // The header that the build adds to bindings which bring none.
        let repository = Path::new(env!("CARGO_MANIFEST_DIR"));
        let header = source.join("generated/registration.h");
        if !header.exists() {
            let template = repository.join("templates/torch/registration.h");
            std::fs::copy(template, header).expect("copy a header");
        }

        let compiler = program(&word(library, "toolPath"), "g++");
        let text = lists(&units, library, kernel, &source);
        let file = source.join("CMakeLists.txt");
        // A file that is the same keeps its time.
        if std::fs::read_to_string(&file).ok().as_ref() != Some(&text) {
            std::fs::write(file, text).expect("write");
        }
        Self {
            source,
            build: folder.join("build"),
            compiler,
        }
    }

    /// Builds in an empty folder, which then stays as it is.
    pub fn fresh(&self, jobs: usize) -> Run {
        self.clean();
        self.again(jobs)
    }

    /// Builds in the folder of the build before. The other system has no such folder.
    pub fn again(&self, jobs: usize) -> Run {
        self.configure().then(self.build(jobs))
    }

    /// Removes all configured and built files.
    pub fn clean(&self) {
        if self.build.exists() {
            std::fs::remove_dir_all(&self.build).expect("remove");
        }
    }

    pub fn configure(&self) -> Run {
        let mut configure = in_store(&tool("cmake"));
        configure
            .arg("-S")
            .arg(&self.source)
            .arg("-B")
            .arg(&self.build)
            .args(["-G", "Ninja"]);
        configure.arg(format!("-DCMAKE_MAKE_PROGRAM={}", tool("ninja").display()));
        configure.arg(format!("-DCMAKE_CXX_COMPILER={}", self.compiler));
        run(&mut configure, |_| false)
    }

    /// Builds the configured project with Ninja alone.
    pub fn build(&self, jobs: usize) -> Run {
        let mut ninja = in_store(&tool("ninja"));
        ninja
            .arg("-C")
            .arg(&self.build)
            .args(["-j", &jobs.to_string()]);
        run(&mut ninja, |line| {
            line.contains("Building CXX object") || line.contains("Building CUDA object")
        })
    }
}

/// A unit with the attributes of the environment that it shares with others.
fn with_environment(unit: &Derivation, all: &BTreeMap<String, Derivation>) -> Derivation {
    let mut unit = unit.clone();
    let mut needs = unit.needs.iter().map(|path| &all[path]);
    let environment = needs.find(|need| need.attributes.contains_key("environmentOf"));
    let environment = environment.expect("the environment of a unit");
    for name in ["system_include", "cuda", "toolPath"] {
        let value = environment.attributes.get(name).cloned();
        unit.attributes
            .extend(value.map(|value| (name.to_owned(), value)));
    }
    unit
}

/// The text of CMakeLists.txt.
fn lists(units: &[Derivation], library: &Derivation, kernel: &Path, own: &Path) -> String {
    let mut text =
        "cmake_minimum_required(VERSION 3.26)\nproject(kernel LANGUAGES CXX)\n".to_owned();
    let mut groups: BTreeMap<Vec<Vec<String>>, Vec<&Derivation>> = BTreeMap::new();
    for unit in units {
        let alike = [
            "driver",
            "flags",
            "include",
            "system_include",
            "cuda",
            "toolPath",
        ];
        let alike = alike.map(|attribute| words(unit, attribute)).to_vec();
        groups.entry(alike).or_default().push(unit);
    }
    let absolute = |path: &String| kernel.join(path).display().to_string();
    let mut objects = String::new();
    for (number, (alike, units)) in groups.iter().enumerate() {
        let [driver, flags, include, system, cuda, tool_path] = &alike[..] else {
            unreachable!("six attributes")
        };
        let mut include: Vec<String> = include.iter().map(absolute).collect();
        include.push(own.join("generated").display().to_string());
        // The other system puts the commit here, so that nothing compiled for one is of use for the
        // next.
        let define = "-DTORCH_EXTENSION_NAME=kernel";
        let sources: Vec<String> = units
            .iter()
            .map(|unit| absolute(&word(unit, "source")))
            .collect();
        // Both take the options that follow.
        let cuda_compiler = match &*driver[0] {
            "nvcc" => Some(format!(
                "{}/bin/nvcc -ccbin ${{CMAKE_CXX_COMPILER}}",
                cuda[0]
            )),
            "clang" => Some(format!(
                "{} --cuda-path={}",
                program(&tool_path[0], "clang++"),
                cuda[0]
            )),
            _ => None,
        };
        if let Some(compiler) = cuda_compiler {
            for (index, source) in sources.iter().enumerate() {
                let object = format!("${{CMAKE_BINARY_DIR}}/cuda_{number}_{index}.o");
                let search = include.iter().map(|dir| format!("-I{dir}"));
                let system = system
                    .iter()
                    .flat_map(|dir| ["-isystem".to_owned(), dir.clone()]);
                let words: Vec<String> =
                    search.chain(system).chain(flags.iter().cloned()).collect();
                let _ = writeln!(
                    text,
                    "add_custom_command(OUTPUT {object} DEPFILE {object}.d COMMENT \"Building CUDA object {index}\"\n  \
                     COMMAND {compiler} {define}{} -MD -MF {object}.d -o {object} -c {source}\n  \
                     DEPENDS {source} VERBATIM)",
                    quoted(&words),
                );
                objects += &format!(" {object}");
            }
            continue;
        }
        let _ = writeln!(
            text,
            "add_library(group{number} OBJECT{})\ntarget_compile_options(group{number} PRIVATE {define}{})\n\
             target_include_directories(group{number} PRIVATE{})\n\
             target_include_directories(group{number} SYSTEM PRIVATE{})",
            quoted(&sources),
            quoted(flags),
            quoted(&include),
            quoted(system),
        );
        objects += &format!(" $<TARGET_OBJECTS:group{number}>");
    }
    let mut search = words(library, "search");
    search.splice(
        0..0,
        words(library, "platform")
            .iter()
            .map(|dir| format!("{dir}/lib")),
    );
    let mut libraries = vec!["-lstdc++".to_owned()];
    libraries.extend(words(library, "libraries"));
    libraries.push("-Wl,--exclude-libs,ALL".to_owned());
    let _ = writeln!(
        text,
        "add_library(kernel SHARED{objects})\nset_target_properties(kernel PROPERTIES PREFIX \"\" LINKER_LANGUAGE CXX)\n\
         target_link_options(kernel PRIVATE{})\ntarget_link_directories(kernel PRIVATE{})\n\
         target_link_libraries(kernel PRIVATE{})",
        quoted(&words(library, "flags")),
        quoted(&search),
        quoted(&libraries),
    );
    text
}

/// The path of a program of a derivation's `toolPath`.
fn program(tool_path: &str, name: &str) -> String {
    let places = tool_path.split(':').map(|dir| format!("{dir}/{name}"));
    let present = |path: &String| physical(path).exists();
    let found = places.into_iter().find(present);
    found.unwrap_or_else(|| panic!("no {name} in the store"))
}

/// A program of the environment that scripts/bench.sh makes.
fn tool(name: &str) -> PathBuf {
    let bin = std::env::var("KERNEL_BUILDER_BENCH_TOOLS")
        .expect("run `make bench`, which sets KERNEL_BUILDER_BENCH_TOOLS");
    Path::new(&bin).join(name)
}

/// The folder of a store that is not at /nix; `None` for a store at /nix.
fn store() -> Option<String> {
    std::env::var("NIX_REMOTE")
        .ok()
        .filter(|store| store.starts_with('/'))
}

/// The path at which this machine has a store path.
fn physical(path: &str) -> PathBuf {
    format!("{}{path}", store().unwrap_or_default()).into()
}

/// A command that sees the store at /nix.
fn in_store(program: &Path) -> Command {
    let Some(store) = store() else {
        return Command::new(program);
    };
    assert!(
        Path::new("/nix").is_dir(),
        "compilers of {store} need a folder /nix to be shown in; an empty one will do"
    );
    let mut command = Command::new("unshare");
    let script = "mount --rbind \"$1/nix\" /nix && shift && exec \"$@\"";
    command
        .args(["-r", "-m", "bash", "-c", script, "bash", &store])
        .arg(program);
    command
}
