//! Checks of the machine: disks, memory, git, GPU.

use camino::Utf8PathBuf;

use super::{Finding, Health, MachineCheck};
use crate::build::system;
use crate::machine::ThisMachine;
use crate::matrix::{Variant, table};
use crate::nix::memory;
use crate::pins::{cache, space};

/// Free bytes that one variant for the CPU needs with its toolchain.
const NEEDED: u64 = 1_000_000_000;

/// Free bytes that the bundled variants of a kernel need with their toolchains.
const COMFORTABLE: u64 = 15_000_000_000;

/// Memory of a unit with torch's headers, and of a CUDA unit that is compiled with them.
const PLAIN_UNIT: u64 = 1_000_000_000;
const HEAVY_UNIT: u64 = 3_000_000_000;

/// The checks of the machine. `store` is the folder of Nix's store, if it is here.
pub fn checks(store: Option<Utf8PathBuf>) -> Vec<MachineCheck> {
    vec![
        MachineCheck::new("disk", Health::Warning, move || check_disk(store)),
        MachineCheck::new("memory", Health::Warning, check_memory),
        MachineCheck::new("git", Health::Warning, check_git),
        MachineCheck::new("GPU", Health::Warning, check_gpu),
    ]
}

fn check_disk(store: Option<Utf8PathBuf>) -> Finding {
    let folders: Vec<Utf8PathBuf> = store.into_iter().chain([cache::dir()]).collect();
    let free = folders
        .iter()
        .filter_map(|folder| Some((folder, space::free_bytes(folder)?)));
    let free: Vec<(&Utf8PathBuf, u64)> = free.collect();
    let words = free
        .iter()
        .map(|(folder, bytes)| format!("{} free for {folder}", space::megabytes(*bytes)));
    let found = words.collect::<Vec<_>>().join(", ");
    let cure = "free some space (`nix-collect-garbage`), or move the cache: export KERNEL_BUILDER_CACHE=DIR";
    match free.iter().map(|(_, bytes)| *bytes).min() {
        Some(bytes) if bytes < NEEDED => Finding::failure("disk", found, cure),
        Some(bytes) if bytes < COMFORTABLE => Finding::warning("disk", found, cure),
        _ => Finding::ok("disk", found),
    }
}

fn check_memory() -> Finding {
    let cores = std::thread::available_parallelism().map_or(1, usize::from) as u64;
    let Some(bytes) = memory::available() else {
        return Finding::ok("memory", format!("{cores} cores"));
    };
    let units = |size: u64| cores.min(bytes / size);
    let found = format!(
        "{} available, {cores} cores: {} units at a time, {} heavy ones",
        space::megabytes(bytes),
        units(PLAIN_UNIT),
        units(HEAVY_UNIT).max(1)
    );
    let cure = "end other programs, or give the container more memory; `--max-jobs 1` builds one unit at a time";
    match units(PLAIN_UNIT) {
        0 => Finding::failure("memory", found, cure),
        _ if bytes < HEAVY_UNIT => Finding::warning("memory", found, cure),
        _ => Finding::ok("memory", found),
    }
}

fn check_git() -> Finding {
    match which::which("git") {
        Ok(path) => Finding::ok("git", path.to_string_lossy()),
        Err(_) => Finding::warning(
            "git",
            "missing: Nix cannot read flakes in git repositories",
            "apt-get install git",
        ),
    }
}

/// No machine needs a GPU to build.
fn check_gpu() -> Finding {
    let system = system();
    let rows = table().rows.iter();
    let variants: Vec<Variant> = rows
        .filter(|row| row.system == system && row.torch().is_some())
        .map(Variant::from_row)
        .filter(|variant| variant.unpinned().is_none())
        .collect();
    let variants: Vec<&Variant> = variants.iter().collect();
    let chosen = ThisMachine::find().choose(&variants);
    Finding::ok(
        "GPU",
        match chosen {
            Some((variant, why)) => format!("{why}; shells take {}", variant.name),
            None => format!("no variant is built on {system}"),
        },
    )
}
