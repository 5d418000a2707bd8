//! `build`: everything from build.toml to build/<variant>, and a table of what was done.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use camino::Utf8Path;
use walkdir::WalkDir;

use super::prepare::prepare;
use super::{CommandError, fetch, generate, print};
use crate::library;
use crate::matrix::Variant;
use crate::nix::{Built, Limits, Nix, name_of};
use crate::pins::cache;
use crate::pins::fetch::{Options, missing};

/// Memory that a compilation may need: nvcc with torch's headers takes 2.7 GB.
const BYTES_PER_JOB: u64 = 3 << 30;

pub fn run(
    path: &Utf8Path,
    names: &[String],
    max_jobs: Option<u16>,
    cores: u16,
    offline: bool,
    print_logs: bool,
) -> Result<(), CommandError> {
    let start = Instant::now();
    let prepared = prepare(path)?;
    let variants = prepared.select(names)?;
    let mut nix = Nix::find()?;
    if offline {
        nix.stay_offline();
    }
    let output = prepared.kernel.root.join("build");
    for variant in &variants {
        check_replaceable(&output.join(&variant.name))?;
    }
    generate::write(&prepared)?;

    let io = |action: &str| {
        let action = action.to_owned();
        move |source| CommandError::Io { action, source }
    };
    let library =
        library::unpack(&cache::dir()).map_err(io("unpack the Nix library into the cache"))?;
    let root = prepared
        .kernel
        .root
        .canonicalize_utf8()
        .map_err(io("find the kernel's folder"))?;
    let attributes: Vec<String> = variants
        .iter()
        .map(|variant| format!("packages.{}", variant.name))
        .collect();
    let derivations = nix.instantiate(
        &library.join("nix/cli.nix"),
        &attributes,
        &[("root", root.as_str())],
    )?;

    let mut planned = nix.to_build(&derivations)?;
    if !planned.is_empty() {
        // Only pins that something still to be built needs.
        let needed: BTreeSet<&str> = planned
            .iter()
            .map(|derivation| name_of(derivation))
            .collect();
        let wanted: Vec<_> = missing(&nix, &fetch::pins(&nix, &variants)?)
            .map_err(|error| CommandError::Pins(vec![error]))?
            .into_iter()
            .filter(|missing| needed.contains(missing.pin.store_name().as_str()))
            .collect();
        if !wanted.is_empty() {
            let options = Options {
                offline,
                ..Options::default()
            };
            fetch::bring(&nix, &wanted, &options)?;
            planned = nix.to_build(&derivations)?;
        }
    }
    let limits = Limits {
        max_jobs: max_jobs.map_or_else(default_jobs, usize::from),
        cores: usize::from(cores),
        print_logs,
    };
    let built = nix.build(&derivations, planned.len(), &limits)?;

    report_failures(&nix, &built, print_logs)?;
    let seconds: BTreeMap<&str, f64> = built
        .finished
        .iter()
        .map(|finished| (finished.derivation.as_str(), finished.seconds))
        .collect();
    let mut rows = vec![["variant", "result", "seconds", "size"].map(str::to_owned)];
    let mut failed = 0;
    for (variant, derivation) in variants.iter().zip(&derivations) {
        let row = finish(&nix, variant, derivation, &seconds, &output)?;
        failed += usize::from(row.is_none());
        let [result, time, size] = row.unwrap_or_else(|| ["failed", "-", "-"].map(str::to_owned));
        rows.push([variant.name.clone(), result, time, size]);
    }
    print(&table(&rows))?;
    anstream::eprintln!("{} in {:.1} s", output, start.elapsed().as_secs_f64());
    if failed > 0 {
        return Err(CommandError::Build {
            failed,
            of: variants.len(),
        });
    }
    Ok(())
}

/// Copies a built variant to its place: result, seconds and size for the table, or nothing if it was not built.
fn finish(
    nix: &Nix,
    variant: &Variant,
    derivation: &str,
    seconds: &BTreeMap<&str, f64>,
    output: &Utf8Path,
) -> Result<Option<[String; 3]>, CommandError> {
    let Some(path) = nix.output_of(derivation)? else {
        return Ok(None);
    };
    let io = |action: String| move |source| CommandError::Io { action, source };
    std::fs::create_dir_all(output).map_err(io(format!("create {output}")))?;
    let target = output.join(&variant.name);
    // Beside its place, then renamed: a killed run leaves the old build or the new one.
    let staging = tempfile::Builder::new()
        .prefix(".kernel-builder-")
        .tempdir_in(output)
        .map_err(io(format!("create a folder in {output}")))?;
    let exported = Utf8Path::from_path(staging.path())
        .unwrap_or(output)
        .join("export");
    nix.export(&path, &exported)?;
    make_writable(&exported).map_err(io(format!("change the modes of {exported}")))?;
    if target.exists() {
        std::fs::remove_dir_all(&target).map_err(io(format!("replace {target}")))?;
    }
    std::fs::rename(exported.join(&variant.name), &target)
        .map_err(io(format!("create {target}")))?;

    let own: Vec<f64> = nix
        .requisites(derivation)?
        .iter()
        .filter_map(|needed| seconds.get(needed.as_str()).copied())
        .collect();
    let result = if own.is_empty() { "cached" } else { "built" };
    let size = WalkDir::new(&target)
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.metadata().ok())
        .filter(std::fs::Metadata::is_file)
        .map(|metadata| metadata.len())
        .sum::<u64>();
    Ok(Some([
        result.to_owned(),
        format!("{:.1}", own.iter().fold(0.0, |sum, seconds| sum + seconds)),
        format!("{:.1} kB", size as f64 / 1e3),
    ]))
}

/// A folder that a build made may be replaced, nothing else.
fn check_replaceable(target: &Utf8Path) -> Result<(), CommandError> {
    if target.exists() && !target.join("metadata.json").exists() {
        return Err(CommandError::Foreign {
            path: target.to_owned(),
        });
    }
    Ok(())
}

/// The last lines of every derivation that was started and gave nothing.
fn report_failures(nix: &Nix, built: &Built, print_logs: bool) -> Result<(), CommandError> {
    if built.errors.is_empty() {
        return Ok(());
    }
    for finished in &built.finished {
        if nix.output_of(&finished.derivation)?.is_none() {
            anstream::eprintln!("failed: {}", name_of(&finished.derivation));
            if !print_logs {
                for line in &finished.last_lines {
                    anstream::eprintln!("  {line}");
                }
            }
        }
    }
    for error in &built.errors {
        anstream::eprintln!("{error}");
    }
    Ok(())
}

/// Cores, as far as memory allows.
fn default_jobs() -> usize {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let memory = std::fs::read_to_string("/proc/meminfo")
        .ok()
        .and_then(|text| {
            let line = text
                .lines()
                .find(|line| line.starts_with("MemAvailable:"))?;
            line.split_whitespace().nth(1)?.parse::<u64>().ok()
        });
    let by_memory = memory.map_or(cores, |kilobytes| {
        (kilobytes * 1024 / BYTES_PER_JOB) as usize
    });
    cores.min(by_memory).max(1)
}

/// Files of the store are read-only; a user's own are not.
fn make_writable(dir: &Utf8Path) -> std::io::Result<()> {
    for entry in WalkDir::new(dir) {
        let entry = entry?;
        let mut permissions = entry.metadata()?.permissions();
        let mode = std::os::unix::fs::PermissionsExt::mode(&permissions);
        std::os::unix::fs::PermissionsExt::set_mode(&mut permissions, mode | 0o200);
        std::fs::set_permissions(entry.path(), permissions)?;
    }
    Ok(())
}

/// Columns as wide as their widest cell; numbers to the right.
fn table(rows: &[[String; 4]]) -> String {
    let width = |column: usize| {
        rows.iter()
            .map(|row| row[column].len())
            .max()
            .unwrap_or_default()
    };
    let widths: Vec<usize> = (0..4).map(width).collect();
    rows.iter()
        .map(|[name, result, seconds, size]| {
            format!(
                "{name:0$}  {result:1$}  {seconds:>2$}  {size:>3$}\n",
                widths[0], widths[1], widths[2], widths[3]
            )
        })
        .collect()
}
