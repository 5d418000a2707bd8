//! `upload` and `build-and-upload`: from built variants to a branch of the Hub.

use std::collections::BTreeSet;

use camino::Utf8Path;

use super::{CommandError, build, print, print_json, print_json_line};
use crate::cli::{BuildAndUploadArgs, RepositoryKind, UploadArgs, UploadFlags};
use crate::emit;
use crate::hub::api::HubRepository;
use crate::hub::{
    BuildFolder, HubClient, HubError, UploadOptions, UploadResult, UploadStatus, plan_upload,
    upload,
};
use crate::kernel::Kernel;
use crate::manifest::locate;
use crate::matrix::{matrix, table};
use crate::terminal::{count, note, status};

pub fn run(arguments: &UploadArgs) -> Result<(), CommandError> {
    let path = &arguments.kernel.path;
    let (result, lines) = upload_kernel(path, &arguments.flags, arguments.dry_run)?;
    if arguments.json {
        return print_json(&result);
    }
    for line in lines {
        print(&format!("{line}\n"))?;
    }
    print_result(&result)
}

/// Builds a kernel, then uploads it.
pub fn build_and_run(arguments: &BuildAndUploadArgs) -> Result<(), CommandError> {
    if arguments.build.watch {
        return Err(HubError::Watch.into());
    }
    build::run(&arguments.build)?;
    if arguments.build.dry_run {
        return Ok(());
    }
    let path = &arguments.build.kernel.path;
    let (result, _) = upload_kernel(path, &arguments.flags, false)?;
    match arguments.build.json {
        true => print_json_line(&serde_json::json!({ "event": "uploaded", "result": result })),
        false => print_result(&result),
    }
}

fn print_result(result: &UploadResult) -> Result<(), CommandError> {
    for request in &result.pull_requests {
        print(&format!("Pull request created: {}\n", request.url))?;
    }
    let kept = count(result.kept, "file");
    match result.status {
        UploadStatus::NoChanges => status(format_args!("No changes to upload: {kept} are there.")),
        UploadStatus::Planned => status(format_args!(
            "dry run: {} bytes would be sent, {kept} are there already",
            result.bytes
        )),
        UploadStatus::Uploaded => print(&format!("Kernel uploaded: {}\n", result.url))?,
        UploadStatus::PullRequestCreated => {}
    }
    Ok(())
}

/// Uploads the built variants of a kernel, or only plans it. Returns the result, and the planned
/// operations in words.
fn upload_kernel(
    path: &Utf8Path,
    flags: &UploadFlags,
    is_dry: bool,
) -> Result<(UploadResult, Vec<String>), CommandError> {
    let (root, _) = locate(path);
    let build = BuildFolder::find(&root)?;
    let number = count(build.variants.len(), "built variant");
    status(format_args!("found {number} in {}", build.path));
    let version = build.version()?;
    // Files that are uploaded with all their facts need no build.toml.
    let kernel = match Kernel::load(path, &table().toolkits) {
        Ok(loaded) => Some(loaded.kernel),
        Err(error) if flags.repo_id.is_none() => return Err(error.into()),
        Err(_) => None,
    };
    check_origin(&build, kernel.as_ref(), flags.strict)?;
    let hub = kernel.map(|kernel| kernel.hub).unwrap_or_default();
    let id = flags.repo_id.clone().or(hub.repo_id);
    let mut repository: HubRepository = id.ok_or(HubError::NoRepository)?.parse()?;
    repository.is_kernel = flags.repo_type == RepositoryKind::Kernel;
    let branch = flags.branch.clone().or(hub.branch);
    let options = UploadOptions {
        repository,
        branch: branch.unwrap_or_else(|| format!("v{version}")),
        private: flags.private,
        as_request: flags.create_pr,
    };
    let client = HubClient::open(&format!("upload to {}", options.repository))?;
    let plan = plan_upload(&client, &build, &root, &options)?;
    let new = if plan.is_new_branch { " (new)" } else { "" };
    status(format_args!("using branch `{}`{new}", options.branch));
    let result = match is_dry {
        true => plan.result(&client, &options),
        false => match upload(&client, &plan, &options) {
            // The commit of a try whose answer was lost may have changed the branch.
            Err(HubError::Changed { .. }) => {
                let plan = plan_upload(&client, &build, &root, &options)?;
                upload(&client, &plan, &options)?
            }
            result => result?,
        },
    };
    if let Some(file) = &flags.output_json {
        let json = serde_json::to_string_pretty(&result).unwrap_or_default();
        emit::replace_or_create(file, &(json + "\n"))?;
    }
    let lines = if is_dry {
        plan.lines(&options)
    } else {
        Vec::new()
    };
    Ok((result, lines))
}

/// Mentions variants that were built from changed files, and variants that are missing; refuses
/// both if `strict`.
fn check_origin(
    build: &BuildFolder,
    kernel: Option<&Kernel>,
    strict: bool,
) -> Result<(), CommandError> {
    let findings = [
        (
            names_of(
                build
                    .variants
                    .iter()
                    .filter(|variant| variant.is_dirty())
                    .map(|variant| &variant.name),
            ),
            "built from files that git does not have",
            "commit, then build again",
        ),
        (
            kernel
                .map(|kernel| missing_variants(build, kernel))
                .unwrap_or_default(),
            "missing in the build",
            "build them: `kernel-builder build`",
        ),
    ];
    for (names, what, help) in findings {
        if names.is_empty() {
            continue;
        }
        let (number, names) = (count(names.len(), "variant"), names.join(", "));
        let what = format!("{number} {what}: {names}");
        if strict {
            return Err(HubError::Strict { what, help }.into());
        }
        note(what);
    }
    Ok(())
}

fn names_of<'a>(names: impl Iterator<Item = &'a String>) -> Vec<String> {
    names.cloned().collect()
}

/// The bundled variants that are not there, of the systems that some variants are there for.
fn missing_variants(build: &BuildFolder, kernel: &Kernel) -> Vec<String> {
    let there: BTreeSet<&str> = build
        .variants
        .iter()
        .map(|variant| variant.name.as_str())
        .collect();
    let matrix = matrix(kernel, table());
    let is_there = |name: &str| there.contains(name);
    let built = matrix
        .variants
        .iter()
        .filter(|variant| is_there(&variant.name));
    let systems: BTreeSet<&str> = built
        .filter_map(|variant| Some(variant.row()?.system.as_str()))
        .collect();
    let bundled = systems.iter().flat_map(|system| matrix.bundled(system));
    let missing = bundled
        .map(|variant| &variant.name)
        .filter(|name| !is_there(name));
    let missing: BTreeSet<&String> = missing.collect();
    names_of(missing.into_iter())
}
