//! `lock`, `download` and `resolve`: kernels of others, as a project needs them.

use std::collections::BTreeSet;

use super::{CommandError, count, print, print_json};
use crate::cli::{DownloadArgs, LockArgs, ResolveArgs};
use crate::emit;
use crate::hub::lock::{CLIENT_LOCK, LOCK, LockedKernel, ProjectLock, lock, variant_of};
use crate::hub::requirement::{KernelRequirement, requirements_of};
use crate::hub::resolve::LoaderFacts;
use crate::hub::{HubClient, HubError, download};

/// `lock`
pub fn run(arguments: &LockArgs) -> Result<(), CommandError> {
    let project = &arguments.project;
    let requirements = requirements_of(project)?;
    let client = HubClient::open("lock kernels")?;
    let locked = lock(&client, requirements)?;
    for (name, text) in [(LOCK, locked.text()), (CLIENT_LOCK, locked.client_text())] {
        emit::replace_or_create(&project.join(name), &text)?;
    }
    for kernel in &locked.kernels {
        let (name, variants) = (&kernel.repo_id, count(kernel.variants().len(), "variant"));
        let (revision, commit) = (&kernel.revision, &kernel.commit);
        print(&format!("{name} {revision} {commit}: {variants}\n"))?;
    }
    Ok(())
}

/// `download`
pub fn run_download(arguments: &DownloadArgs) -> Result<(), CommandError> {
    let locked = ProjectLock::read(&arguments.project)?;
    let client = HubClient::open("download kernels")?;
    let facts = match arguments.all || !arguments.variants.is_empty() {
        true => None,
        false => Some(LoaderFacts::find(arguments.python.as_deref())?),
    };
    for kernel in &locked.kernels {
        let names = wanted_variants(kernel, facts.as_ref(), arguments)?;
        let fetched = download(&client, kernel, |variant| names.contains(variant))?;
        let fetched = count(fetched, "file");
        let (name, names) = (&kernel.repo_id, Vec::from_iter(names).join(" "));
        print(&format!(
            "{name} {}: {names}, {fetched} fetched\n",
            kernel.commit
        ))?;
    }
    Ok(())
}

/// The variants of a kernel to download: the named ones, all, or the one that the client takes on
/// this machine.
fn wanted_variants<'k>(
    kernel: &'k LockedKernel,
    facts: Option<&LoaderFacts>,
    arguments: &DownloadArgs,
) -> Result<BTreeSet<&'k str>, HubError> {
    let mut variants = kernel.variants();
    let none = |reasons: String| HubError::NoVariant {
        repository: kernel.repo_id.clone(),
        reasons,
    };
    if let Some(facts) = facts {
        let decisions = facts.decide(variants.iter().copied());
        let Some(best) = decisions.iter().find(|decision| decision.refused.is_none()) else {
            let reasons = decisions.iter().filter_map(|decision| {
                Some(format!(
                    "\n  {}: {}",
                    decision.variant,
                    decision.refused.as_ref()?
                ))
            });
            return Err(none(reasons.collect()));
        };
        variants.retain(|variant| *variant == best.variant);
    } else if !arguments.all {
        variants.retain(|variant| arguments.variants.iter().any(|name| name == variant));
        if variants.is_empty() {
            let known: Vec<&str> = kernel.variants().into_iter().collect();
            return Err(none(format!(" it has {}", known.join(", "))));
        }
    }
    Ok(variants)
}

/// `resolve`
pub fn run_resolve(arguments: &ResolveArgs) -> Result<(), CommandError> {
    let wanted = KernelRequirement::new(&arguments.repository, arguments.version.as_deref())?;
    let client = HubClient::open(&format!("resolve {}", wanted.repository))?;
    let repository = &wanted.repository;
    let refs = client.refs(repository)?.ok_or_else(|| HubError::Missing {
        action: format!("find {repository}"),
        why: "there is no such repository".to_owned(),
    })?;
    let chosen = wanted.choose(&refs)?;
    let files = client.files(repository, &chosen.target_commit, "build")?;
    let variants: BTreeSet<&str> = files
        .iter()
        .filter_map(|file| variant_of(&file.path))
        .collect();
    let facts = LoaderFacts::find(arguments.python.as_deref())?;
    let decisions = facts.decide(variants.into_iter());
    let taken = decisions.iter().find(|decision| decision.refused.is_none());
    if arguments.json {
        print_json(&serde_json::json!({
            "repo_id": repository.id, "revision": chosen.name, "commit": chosen.target_commit,
            "variant": taken.map(|decision| &decision.variant), "variants": decisions,
        }))?;
    } else {
        print(&format!(
            "{repository} {} {}\n",
            chosen.name, chosen.target_commit
        ))?;
        for decision in &decisions {
            let is_taken = taken.is_some_and(|taken| taken.variant == decision.variant);
            let words = match (&decision.refused, is_taken) {
                (Some(why), _) => why.as_str(),
                (None, true) => "taken",
                (None, false) => "fits",
            };
            print(&format!("  {}: {words}\n", decision.variant))?;
        }
    }
    match taken {
        Some(_) => Ok(()),
        None => Err(HubError::NoVariant {
            repository: repository.id.clone(),
            reasons: " each is refused above".to_owned(),
        }
        .into()),
    }
}
