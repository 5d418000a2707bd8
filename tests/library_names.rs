//! Libraries that get their build id in the package: nix/kernel/name-library.sh changes the name of
//! one symbol, and a loader must find all of them. Runs where tests/end_to_end runs, and is left
//! out of a bare `cargo test` like it.

mod common;

use std::path::Path;
use std::process::Command;

use common::clone::Clone;
use common::folder::REPOSITORY;
use common::program::{built_library, on_disk, printed, run};
use object::Endianness;
use object::elf::{FileHeader64, SHT_DYNSYM, hash};
use object::read::elf::{FileHeader, SectionHeader, Sym};

const CPU: &str = "torch211-cxx11-cpu-x86_64-linux";

/// The names of the symbols that a library defines. Panics if its hash table, by which a loader
/// looks them up, lacks one.
fn symbols_found(library: &Path) -> Vec<String> {
    let data = std::fs::read(library).expect("a library");
    let elf = FileHeader64::<Endianness>::parse(&*data).expect("ELF");
    let endian = elf.endian().expect("an order of bytes");
    let sections = elf.sections(endian, &*data).expect("sections");
    let symbols = sections.symbols(endian, &*data, SHT_DYNSYM);
    let symbols = symbols.expect("dynamic symbols");
    let versions = sections.versions(endian, &*data).expect("readable");
    let versions = versions.unwrap_or_default();
    let mut tables = sections.iter();
    let table = tables.find_map(|section| section.hash(endian, &*data).expect("readable"));
    let (table, _) = table.expect("a hash table");
    let mut names = Vec::new();
    for (index, symbol) in symbols.enumerate() {
        if symbol.is_undefined(endian) {
            continue;
        }
        let name = symbol.name(endian, symbols.strings()).expect("a name");
        let found = table.find(endian, name, hash(name), None, &symbols, &versions);
        let name = String::from_utf8(name.to_vec()).expect("UTF-8");
        assert_eq!(found.map(|(found, _)| found), Some(index), "{name}");
        names.push(name);
    }
    names
}

/// The functions among some symbols that make a Python module.
fn modules(symbols: &[String]) -> Vec<&str> {
    let names = symbols.iter().map(String::as_str);
    names.filter(|name| name.starts_with("PyInit_")).collect()
}

#[test]
#[ignore = "builds with Nix: run by `make test`"]
fn every_symbol_of_a_named_library_is_found() {
    let clone = Clone::new();
    clone.build(&["--variant", CPU]);
    let package = built_library(&clone.relu(), CPU);
    let module = package.file_name().and_then(|name| name.to_str());
    let module = module.and_then(|name| name.strip_suffix(".abi3.so"));
    let module = format!("PyInit_{}", module.expect("the name of a library"));
    assert_eq!(modules(&symbols_found(&package)), [module]);

    // The linked library, with many names.
    let derivations = clone.derivations(CPU);
    let link = &derivations[&format!("relu-{CPU}-library")];
    let link = printed(Command::new("nix-store").args(["--query", "--outputs", link]));
    let link = on_disk(link.trim());
    let linked = link.join("relu.abi3.so");
    let unnamed = symbols_found(&linked);
    assert!(unnamed.len() > 10, "{unnamed:?}");
    let script = Path::new(REPOSITORY).join("nix/kernel/name-library.sh");
    let folder = clone.path();
    let library = folder.join("named.so");
    for number in 0..64u32 {
        let namespace = format!("_relu_cpu_{:010x}", number.wrapping_mul(0x9E37_79B1));
        std::fs::copy(&linked, &library).expect("copied");
        run(Command::new("chmod").arg("u+w").arg(&library));
        run(Command::new("bash")
            .args(["-eu", "-c", "fail() { exit 1; }; . \"$script\""])
            .env("script", &script)
            .env("dir", folder)
            .env("libraryName", "named.so")
            .env("library", &link)
            .env("namespace", &namespace));
        let named = symbols_found(&library);
        let module = format!("PyInit_{namespace}");
        assert_eq!(modules(&named), [&module]);
        // Everything else stays as it was.
        let renamed = unnamed
            .iter()
            .map(|name| match name.starts_with("PyInit_") {
                true => &module,
                false => name,
            });
        assert!(renamed.eq(&named), "{named:?}");
        let bytes = [&linked, &library].map(|file| std::fs::read(file).expect("a library"));
        let changed = bytes[0].iter().zip(&bytes[1]).filter(|(a, b)| a != b);
        assert!(bytes[0].len() == bytes[1].len() && changed.count() <= 2 * 10 + 3 * 4);
        let places = bytes[1].windows(namespace.len());
        let places = places.filter(|bytes| *bytes == namespace.as_bytes());
        assert_eq!(places.count(), 2);
    }
}
