//! `ci-matrix`: the variants of a kernel as jobs of a service for continuous integration.

use std::collections::BTreeSet;

use serde::Serialize;

use super::{CommandError, count, print, print_json_line};
use crate::build::{self, Prepared};
use crate::cli::{CiMatrixArgs, CiWord};
use crate::emit::ci::{CiFile, CiFileJob, CiService, ci_file};
use crate::emit::{self, Written};
use crate::hub::api::HubRepository;
use crate::matrix::Variant;
use crate::nix::Nix;
use crate::steps::ci_jobs::{CiJob, share_among_jobs};
use crate::terminal::{note, status};

/// The machines of services: Nix's name of the system, GitHub's word and GitLab's.
const MACHINES: [(&str, &str, Option<&str>); 2] = [
    ("x86_64-linux", "ubuntu-latest", None),
    (
        "aarch64-linux",
        "ubuntu-24.04-arm",
        Some("saas-linux-small-arm64"),
    ),
];

/// The repository that services clone kernel-builder from.
const SOURCE: &str = "https://github.com/huggingface/kernel-builder";

/// GitHub's form of a matrix.
#[derive(Serialize)]
struct CiMatrix<'a> {
    include: &'a [CiJob],
}

pub fn run(arguments: &CiMatrixArgs) -> Result<(), CommandError> {
    let prepared = build::prepare(&arguments.kernel.path)?;
    let variants = wanted_variants(&prepared, &arguments.variants.names)?;
    let nix = Nix::find()?;
    let steps = build::survey(&nix, &prepared, &variants)?;
    let mut jobs = Vec::new();
    for (system, ..) in MACHINES {
        let names = names_by_compute(&variants, system);
        jobs.extend(share_among_jobs(
            &steps,
            system,
            &names,
            arguments.jobs.into(),
        ));
    }
    if let Some(service) = arguments.write {
        let service = match service {
            CiWord::Github => CiService::Github,
            CiWord::Gitlab => CiService::Gitlab,
        };
        return write(&prepared, service, &jobs, arguments.source.as_deref());
    }
    if arguments.json {
        return print_json_line(&CiMatrix { include: &jobs });
    }
    for job in &jobs {
        let options: Vec<String> = (job.variants.iter())
            .map(|name| format!("--variant {name}"))
            .collect();
        let (number, minutes) = (count(job.variants.len(), "variant"), minutes(job));
        print(&format!(
            "kernel-builder build {}  # {}: {number}, about {minutes} min of one core\n",
            options.join(" "),
            job.name
        ))?;
    }
    Ok(())
}

/// The variants to build: those that patterns match, or the bundled ones of every system that
/// services have machines of. Variants without pins are left out.
fn wanted_variants<'p>(
    prepared: &'p Prepared,
    patterns: &[String],
) -> Result<Vec<&'p Variant>, CommandError> {
    if !patterns.is_empty() {
        return Ok(prepared.select_pinned(patterns)?);
    }
    let mut seen = BTreeSet::new();
    let bundled = MACHINES
        .iter()
        .flat_map(|(system, ..)| prepared.matrix.bundled(system));
    let names: Vec<String> = bundled
        .filter(|variant| variant.unpinned().is_none() && seen.insert(&variant.name))
        .map(|variant| variant.name.clone())
        .collect();
    let all = prepared
        .matrix
        .variants
        .iter()
        .filter(|variant| variant.bundle);
    let rest = all.filter(|variant| !names.contains(&variant.name)).count();
    if rest > 0 {
        let rest = count(rest, "bundled variant");
        note(format_args!(
            "{rest} left out, without a machine of these services or without pins"
        ));
    }
    match names.is_empty() {
        // The error says which variants there are.
        true => Ok(prepared.select_pinned(&[])?),
        false => Ok(prepared.select(&names)?),
    }
}

/// The names of a system's variants, with those of one compute beside each other. A variant of
/// Python alone, which any system builds, is one of the first system's.
fn names_by_compute<'v>(variants: &[&'v Variant], system: &str) -> Vec<&'v str> {
    let of_system = |variant: &&&Variant| match variant.row() {
        Some(row) => row.system == system,
        None => system == MACHINES[0].0,
    };
    let mut of_system: Vec<&&Variant> = variants.iter().filter(of_system).collect();
    of_system.sort_by_key(|variant| variant.row().map(|row| row.compute_name()));
    of_system
        .into_iter()
        .map(|variant| variant.name.as_str())
        .collect()
}

fn minutes(job: &CiJob) -> u64 {
    (job.seconds / 60.0).ceil() as u64
}

/// Writes the file of a service. A file of the user's stays.
fn write(
    prepared: &Prepared,
    service: CiService,
    jobs: &[CiJob],
    source: Option<&str>,
) -> Result<(), CommandError> {
    let hub = &prepared.kernel.hub;
    let repository = hub.repo_id.as_ref().map(|id| id.parse::<HubRepository>());
    let repository = repository.transpose()?;
    let machine = |job: &CiJob| MACHINES.iter().find(|(system, ..)| *system == job.system);
    let jobs = jobs.iter().filter_map(|job| {
        let (_, runner, tag) = machine(job)?;
        Some(CiFileJob {
            name: &job.name,
            runner,
            tag: *tag,
            variants: &job.variants,
            minutes: minutes(job),
            measured: job.measured,
        })
    });
    let file = CiFile {
        jobs: jobs.collect(),
        source: source.unwrap_or(SOURCE),
        repo_id: repository.as_ref().map(|repository| repository.id.as_str()),
    };
    let path = prepared.root()?.join(service.path());
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(|source| CommandError::Io {
            action: format!("create {folder}"),
            source,
        })?;
    }
    let words = match emit::write(&path, &ci_file(service, &file)?)? {
        Written::Created => "written",
        Written::Updated => "written anew",
        Written::Unchanged => "unchanged",
    };
    if file.repo_id.is_none() {
        note("build.toml has no `[general.hub] repo-id`, so the file uploads nothing");
    }
    status("its jobs build the variants that build.toml has now: write it again when that changes");
    print(&format!("{path}: {words}\n"))
}
