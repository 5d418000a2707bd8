//! `to-wheel`: packs checked variants as Python wheels, into a folder or into an index. The
//! variants are in a folder, or on the Hub.

use camino::Utf8PathBuf;
use globset::Glob;
use serde_json::json;

use super::{CommandError, check_builds, print, print_json};
use crate::artifact::check::CheckedVariant;
use crate::cli::ToWheelArgs;
use crate::hub::lock::lock;
use crate::hub::requirement::KernelRequirement;
use crate::hub::{HubClient, HubError, download, snapshot};
use crate::terminal::note;
use crate::wheel::{WheelError, WheelPlan, plan_wheels, write_index};

pub fn run(arguments: &ToWheelArgs) -> Result<(), CommandError> {
    let names = &arguments.variants.names;
    let folder = match published(arguments) {
        Some(wanted) => download_published(wanted, names)?,
        None => arguments.kernel.clone(),
    };
    let checked = check_builds::check(&folder, true, None)?;
    let checked = select(checked, names)?;
    if checked.iter().any(CheckedVariant::is_wrong) {
        return check_builds::report(&checked, arguments.json);
    }
    let plans = plan_wheels(&checked, arguments.split)?;
    let write = |plan: &WheelPlan<'_>| match &arguments.index {
        Some(index) => plan.write(&index.join(plan.project()), false),
        None => plan.write(&arguments.out, true),
    };
    let wheels = plans.iter().map(write).collect::<Result<Vec<_>, _>>()?;
    if let Some(index) = &arguments.index {
        write_index(index)?;
    }
    if arguments.json {
        return print_json(&json!({ "wheels": wheels }));
    }
    for wheel in wheels {
        let variants = wheel.variants.join(" ");
        print(&format!("{}: {variants}\n", wheel.path))?;
    }
    Ok(())
}

/// The kernel on the Hub that is asked for; `None` for a folder, and for what can only be one.
fn published(arguments: &ToWheelArgs) -> Option<KernelRequirement> {
    let kernel = &arguments.kernel;
    match kernel.exists() {
        true => None,
        false => kernel.as_str().parse().ok(),
    }
}

/// Downloads variants of a kernel on the Hub into the cache of its clients. Returns their folder.
fn download_published(
    wanted: KernelRequirement,
    patterns: &[String],
) -> Result<Utf8PathBuf, CommandError> {
    let repository = wanted.repository.id.clone();
    note(format_args!(
        "there is no folder {repository}: asking the Hub for {wanted}"
    ));
    let client = HubClient::open(&format!("download {repository}"))?;
    let locked = lock(&client, vec![wanted])?;
    // The others are kernels that it needs.
    let kernel = locked.kernels.iter().find(|own| own.repo_id == repository);
    let kernel = kernel.ok_or_else(|| HubError::NoVariant {
        repository: repository.clone(),
        reasons: String::new(),
    })?;
    let variants: Vec<&str> = kernel.variants().into_iter().collect();
    let chosen = choose(&variants, patterns)?;
    download(&client, kernel, |name| {
        let mut all = variants.iter().zip(&chosen);
        all.any(|(variant, chosen)| *chosen && *variant == name)
    })?;
    Ok(snapshot(&client, kernel))
}

/// The variants that some names and globs match, or all of them without any.
fn select(
    checked: Vec<CheckedVariant>,
    patterns: &[String],
) -> Result<Vec<CheckedVariant>, WheelError> {
    let names: Vec<&str> = checked.iter().map(|own| own.name.as_str()).collect();
    let chosen = choose(&names, patterns)?;
    let variants = checked.into_iter().zip(chosen);
    let chosen = variants.filter_map(|(variant, chosen)| chosen.then_some(variant));
    Ok(chosen.collect())
}

/// Which of some variants match a name or a glob; all of them without any.
fn choose(variants: &[&str], patterns: &[String]) -> Result<Vec<bool>, WheelError> {
    let mut chosen = vec![patterns.is_empty(); variants.len()];
    for pattern in patterns {
        let glob = Glob::new(pattern).map(|glob| glob.compile_matcher());
        let mut found = false;
        for (variant, chosen) in variants.iter().zip(&mut chosen) {
            if glob.as_ref().is_ok_and(|glob| glob.is_match(variant)) {
                (found, *chosen) = (true, true);
            }
        }
        if !found {
            return Err(WheelError::UnknownVariant {
                pattern: pattern.clone(),
                names: variants.join(", "),
            });
        }
    }
    Ok(chosen)
}
