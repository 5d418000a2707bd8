//! The promises of manylinux policies, on real builds: tests/fixtures/heavy needs much that is
//! newer than its policy. Runs where tests/end_to_end runs, and is left out of a bare `cargo
//! test` like it.

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use common::folder::{Folder, fixture, fixture_path};
use common::program::{SANDBOXED, kernel_builder, on_disk, python, run, words};
use kernel_builder::matrix;
use object::Endianness;
use object::elf::FileHeader64;
use object::read::elf::{FileHeader, Sym};

/// A copy of tests/fixtures/heavy with a build.nix.
struct Heavy {
    dir: Folder,
}

impl Heavy {
    fn new() -> Self {
        let heavy = Self {
            dir: fixture("heavy"),
        };
        run(kernel_builder("generate").arg(heavy.path()));
        heavy
    }

    fn path(&self) -> &Path {
        self.dir.path()
    }

    /// `attribute` of tests/fixtures/link.nix, with more arguments of nix-build.
    fn link(&self, attribute: &str, arguments: &[&str]) -> Output {
        Command::new("nix-build")
            .arg(fixture_path("link.nix"))
            .args(["--no-out-link", "--attr", attribute])
            .args(["--arg", "kernel", &self.path().display().to_string()])
            .args(SANDBOXED)
            .args(arguments)
            .output()
            .expect("start nix-build")
    }
}

/// The demands of a library on the machine that loads it, as its loader reads them.
struct Needs {
    /// By library: versions of its symbols.
    versions: BTreeMap<String, BTreeSet<String>>,
    /// Symbols that may come from any library.
    unversioned: BTreeSet<String>,
}

impl Needs {
    fn read(library: &Path) -> Self {
        let data = std::fs::read(library).expect("a library");
        let elf = FileHeader64::<Endianness>::parse(&*data).expect("ELF");
        let endian = elf.endian().expect("an order of bytes");
        let sections = elf.sections(endian, &*data).expect("sections");
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("UTF-8");

        let mut versions = BTreeMap::<String, BTreeSet<String>>::new();
        let (mut needs, link) = sections
            .gnu_verneed(endian, &*data)
            .expect("readable")
            .expect("version needs");
        let strings = sections.strings(endian, &*data, link).expect("strings");
        while let Some((need, mut auxiliary)) = needs.next().expect("readable") {
            let file = text(need.file(endian, strings).expect("a name"));
            let of_file = versions.entry(file).or_default();
            while let Some(version) = auxiliary.next().expect("readable") {
                of_file.insert(text(version.name(endian, strings).expect("a name")));
            }
        }

        let symbols = sections
            .symbols(endian, &*data, object::elf::SHT_DYNSYM)
            .expect("symbols");
        let table = sections
            .versions(endian, &*data)
            .expect("readable")
            .expect("versions");
        let unversioned = symbols
            .enumerate()
            .filter(|(_, symbol)| symbol.is_undefined(endian))
            .filter(|(index, _)| table.version_index(endian, *index).is_global())
            .map(|(_, symbol)| text(symbol.name(endian, symbols.strings()).expect("a name")))
            .collect();
        Self {
            versions,
            unversioned,
        }
    }

    /// The versions that a policy does not allow.
    fn beyond(&self, policy: &BTreeMap<String, String>) -> Vec<String> {
        let numbers = |version: &str| -> Vec<u32> {
            let parts = version.split('.').map(str::parse);
            parts.collect::<Result<_, _>>().expect("a number")
        };
        let newer = |version: &String| {
            let (family, number) = version.split_once('_').expect("a family");
            policy
                .get(family)
                .is_some_and(|limit| numbers(number) > numbers(limit))
        };
        let all = self.versions.values().flatten();
        all.filter(|version| newer(version)).cloned().collect()
    }
}

fn policy() -> BTreeMap<String, String> {
    let table = matrix::table();
    let row = table.rows.first().expect("a row");
    assert_eq!(row.policy, "manylinux_2_28");
    table.policy(row).expect("limits").clone()
}

/// The place of the store path that Nix printed.
fn realised(output: &Output) -> PathBuf {
    assert!(output.status.success(), "{}", words(output));
    on_disk(&String::from_utf8_lossy(&output.stdout))
}

#[test]
#[ignore = "builds with Nix for a minute: run by `make full-test`"]
fn a_kernel_that_uses_newer_functions_keeps_its_policy_and_works() {
    let heavy = Heavy::new();
    // One for each C++ ABI; the tests below run the first.
    for name in [
        "torch211-cxx11-cpu-x86_64-linux",
        "torch26-cxx98-cpu-x86_64-linux",
    ] {
        run(kernel_builder("build")
            .arg(heavy.path())
            .args(["--variant", name]));
        let variant = heavy.path().join("build").join(name);
        let library = std::fs::read_dir(variant)
            .expect("a variant")
            .map(|entry| entry.expect("an entry").path())
            .find(|path| path.extension().is_some_and(|extension| extension == "so"))
            .expect("a library");

        let needs = Needs::read(&library);
        assert_eq!(needs.beyond(&policy()), Vec::<String>::new());
        // On systems as old as the policy these are libraries of their own.
        for name in ["libpthread.so.0", "libdl.so.2"] {
            assert!(needs.versions.contains_key(name), "{:?}", needs.versions);
        }
        // Without a version a symbol could come from anywhere: from torch, which exports parts of
        // its own libstdc++.
        for symbol in &needs.unversioned {
            assert!(
                !["_ZNSt", "_ZNKSt", "_ZSt", "_ZNSs", "_ZNKSs"]
                    .iter()
                    .any(|prefix| symbol.starts_with(prefix)),
                "{symbol}"
            );
            assert!(
                name.contains("-cxx11-") || !symbol.contains("__cxx11"),
                "{symbol}"
            );
        }
    }

    let tests = run(python().current_dir(heavy.path()).args([
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "tests",
    ]));
    let report = String::from_utf8_lossy(&tests.stdout).into_owned();
    assert!(
        report.contains(" passed") && !report.contains("skipped"),
        "{report}"
    );
}

/// The remedy is complete: everything of libstdc++ that is newer than the policy can be had at
/// once.
#[test]
#[ignore = "builds with Nix: run by `make test`"]
fn all_that_the_policy_lacks_of_libstdcxx_links_statically() {
    let heavy = Heavy::new();
    let platform = realised(&heavy.link("platform", &[]));
    // Made again, it has the same bytes.
    realised(&heavy.link("platform", &["--check"]));
    let names = defined(&platform.join("lib/beyond/libstdc++.so.6"));
    assert!(names.len() > 500, "{}", names.len());
    let mut flags = String::from("[");
    for name in &names {
        flags += &format!(" \"-Wl,-u,{name}\"");
    }
    flags += " ]";
    let library = realised(&heavy.link("library", &["--arg", "flags", &flags])).join("linked.so");
    let needs = Needs::read(&library);
    assert_eq!(needs.beyond(&policy()), Vec::<String>::new());
    for name in &names {
        assert!(!needs.unversioned.contains(name), "{name}");
    }
}

/// Regression: the check looked for words that readelf does not print, and let everything pass.
#[test]
#[ignore = "builds with Nix: run by `make test`"]
fn a_library_that_cannot_keep_its_policy_is_refused_with_a_list() {
    let heavy = Heavy::new();
    let older = "{ GLIBC = \"2.4\"; GLIBCXX = \"3.4.24\"; CXXABI = \"1.3.11\"; GCC = \"7.0.0\"; }";
    let output = heavy.link("library", &["--arg", "policy", older]);
    assert!(!output.status.success());
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    for line in [
        "GLIBC_2.6 (allowed: GLIBC_2.4) for\n",
        "    utimensat\n",
        "linked.so needs newer system libraries than its variant promises",
    ] {
        assert!(words.contains(line), "{words}");
    }
}

/// A shared library may have undefined symbols, so that a linker does not mind a forgotten source
/// file.
#[test]
#[ignore = "builds with Nix: run by `make test`"]
fn a_source_that_is_missing_is_noticed_when_the_library_is_linked() {
    let heavy = Heavy::new();
    let manifest = heavy.path().join("build.toml");
    let text = std::fs::read_to_string(&manifest).expect("build.toml");
    let boundary = "src = [\"boundary.cpp\", \"boundary.h\"]";
    assert!(text.contains(boundary));
    std::fs::write(&manifest, text.replace(boundary, "src = [\"other.cpp\"]")).expect("written");
    // A symbol of torch is no mistake, whatever its arguments.
    let other = "#include <ATen/ATen.h>\nat::Tensor mine(at::Tensor, int);\n\
                 at::Tensor theirs(at::Tensor x) { return at::relu(mine(x, 1)); }\n";
    std::fs::write(heavy.path().join("other.cpp"), other).expect("written");
    run(kernel_builder("generate").arg(heavy.path()));
    let output = heavy.link("library", &[]);
    assert!(!output.status.success());
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    for line in [
        "refuse(std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> > const&, int), used in\n",
        "    heavy-torch-ext-heavy.cpp.o\n",
        "mine(at::Tensor, int), used in\n",
        "    heavy-other.cpp.o\n",
        "nothing defines these: is a source file missing from build.toml?",
    ] {
        assert!(words.contains(line), "{line}\n{words}");
    }
    assert!(!words.contains("relu"), "{words}");
}

/// Regression: assembly could give every process that loads the library an executable stack, or
/// code that the loader writes to.
#[test]
#[ignore = "builds with Nix: run by `make test`"]
fn assembly_makes_neither_stacks_executable_nor_code_writable() {
    let heavy = Heavy::new();
    let manifest = heavy.path().join("build.toml");
    let text = std::fs::read_to_string(&manifest).expect("build.toml");
    let text = text.replace("\"boundary.cpp\"", "\"boundary.cpp\", \"other.cpp\"");
    std::fs::write(&manifest, text).expect("written");
    let link = |assembly: &str| {
        let other = format!("__asm__(\"{assembly}\");\n");
        std::fs::write(heavy.path().join("other.cpp"), other).expect("written");
        run(kernel_builder("generate").arg(heavy.path()));
        heavy.link("library", &[])
    };
    let linked = link(r#".section .note.GNU-stack,\"x\",@progbits\n.text"#);
    let data = std::fs::read(realised(&linked).join("linked.so")).expect("a library");
    let elf = FileHeader64::<Endianness>::parse(&*data).expect("ELF");
    let endian = elf.endian().expect("an order of bytes");
    let headers = elf.program_headers(endian, &*data).expect("headers");
    let mut stacks = headers
        .iter()
        .filter(|header| header.p_type.get(endian) == object::elf::PT_GNU_STACK);
    let stack = stacks.next().expect("a header of the stack");
    assert_eq!(stack.p_flags.get(endian).0 & object::elf::PF_X.0, 0);

    let refused = link(".text\\n.globl tr\\ntr: .quad tr2\\n.globl tr2\\ntr2: ret");
    assert!(!refused.status.success());
    let words = words(&refused);
    assert!(words.contains("read-only section"), "{words}");
}

/// The symbols that a library gives.
fn defined(library: &Path) -> BTreeSet<String> {
    let data = std::fs::read(library).expect("a library");
    let elf = FileHeader64::<Endianness>::parse(&*data).expect("ELF");
    let endian = elf.endian().expect("an order of bytes");
    let sections = elf.sections(endian, &*data).expect("sections");
    let symbols = sections
        .symbols(endian, &*data, object::elf::SHT_DYNSYM)
        .expect("symbols");
    symbols
        .iter()
        .filter(|symbol| !symbol.is_undefined(endian) && !symbol.is_absolute(endian))
        .map(|symbol| symbol.name(endian, symbols.strings()).expect("a name"))
        .map(|name| String::from_utf8(name.to_vec()).expect("UTF-8"))
        .filter(|name| !name.is_empty())
        .collect()
}
