//! The steps of variants, why each is to be done, and the record of those that were done. Nothing is built here.

use std::collections::BTreeMap;

use camino::{Utf8Path, Utf8PathBuf};

use super::error::{EngineError, failed_to};
use super::fetch::unpack_library;
use super::prepare::{Prepared, system};
use crate::emit;
use crate::matrix::Variant;
use crate::nix::derivation::Derivation;
use crate::nix::schedule::{Cost, Costs};
use crate::nix::{Built, Nix};
use crate::pins::cache;
use crate::steps::hints::hints;
use crate::steps::inputs::{Files, Inputs, reasons};
use crate::steps::record::Record;
use crate::steps::{Kind, State, Steps, Wanted};

/// Asks Nix for the derivations of some variants, in their order. `file` is their build.nix.
pub fn evaluate(
    nix: &Nix,
    prepared: &Prepared,
    variants: &[&Variant],
    file: &Utf8Path,
) -> Result<Vec<Wanted>, EngineError> {
    let (library, root) = (unpack_library()?, prepared.root()?);
    let names: Vec<&str> = variants.iter().map(|variant| &*variant.name).collect();
    let arguments = [
        ("root", root.as_str()),
        ("file", file.as_str()),
        ("system", &system()),
        ("variants", &names.join(" ")),
    ];
    let answer = nix.evaluate(&library.join("nix/cli.nix"), "work", &arguments)?;
    serde_json::from_value(answer)
        .map_err(|error| failed_to("read what Nix says of the variants")(error.into()))
}

/// Like `evaluate`, without a build.nix in the kernel's folder.
pub fn evaluate_in_passing(
    nix: &Nix,
    prepared: &Prepared,
    variants: &[&Variant],
) -> Result<Vec<Wanted>, EngineError> {
    let text = emit::nix::build_nix(&prepared.plan)?;
    let folder = tempfile::tempdir().map_err(failed_to("create a temporary folder"))?;
    let path = folder.path().join("build.nix");
    let file = Utf8PathBuf::try_from(path).map_err(|error| EngineError::Io {
        action: "create a temporary folder".to_owned(),
        source: error.into_io_error(),
    })?;
    std::fs::write(&file, text).map_err(failed_to("write a temporary file"))?;
    evaluate(nix, prepared, variants, &file)
}

/// The times and the memory that steps of earlier builds took.
pub fn saved_costs() -> Costs {
    Costs::open(&cache::dir().join("costs.json"))
}

/// Variants and the derivations that they need.
pub struct Graph<'a> {
    /// The variants by name.
    pub wanted: Vec<(&'a str, &'a Wanted)>,
    /// The derivations that they need, by path.
    pub derivations: BTreeMap<String, Derivation>,
    pub steps: Steps,
}

/// Reads the graph of some variants from the store. `to_build` are the derivations that Nix would build or fetch.
pub fn read_graph<'a>(
    nix: &Nix,
    variants: &'a [&Variant],
    wanted: &'a [Wanted],
    to_build: &[String],
) -> Result<Graph<'a>, EngineError> {
    let names = variants.iter().map(|variant| &*variant.name);
    let roots: Vec<String> = wanted.iter().map(|own| own.derivation.clone()).collect();
    let wanted: Vec<(&str, &Wanted)> = names.zip(wanted).collect();
    let derivations = nix.derivations(&roots)?;
    Ok(Graph {
        steps: Steps::find(&derivations, &wanted, to_build),
        wanted,
        derivations,
    })
}

/// The steps of some variants, each with the reasons for building it. Builds and fetches nothing, and leaves the kernel's
/// folder as it is.
pub fn survey(nix: &Nix, prepared: &Prepared, variants: &[&Variant]) -> Result<Steps, EngineError> {
    let wanted = evaluate_in_passing(nix, prepared, variants)?;
    let roots: Vec<String> = wanted.iter().map(|own| own.derivation.clone()).collect();
    let Graph {
        wanted,
        derivations,
        mut steps,
    } = read_graph(nix, variants, &wanted, &nix.to_build(&roots)?)?;
    steps.estimate(&saved_costs());

    let root = prepared.root()?;
    let record = Record::open(&cache::dir(), &root);
    let mut files = Files::new(&prepared.plan, root);
    let kinds: BTreeMap<String, Kind> = steps
        .all
        .iter()
        .map(|step| (step.derivation.clone(), step.kind.clone()))
        .collect();
    for step in &mut steps.all {
        step.hints = hints(&prepared.plan, step);
        if step.state == State::Cached {
            continue;
        }
        if step.kind == Kind::Toolchain {
            step.reasons = vec!["not in the store".to_owned()];
            continue;
        }
        for (variant, own) in wanted
            .iter()
            .filter(|(name, _)| step.variants.contains(*name))
        {
            let Some(old) = record.of(variant, &step.kind) else {
                continue;
            };
            let id = build_id(&derivations[&own.derivation].attributes);
            let seen = files.of(variant, &step.kind);
            let seen = seen.map_err(failed_to("read the kernel's files"))?;
            let new = Inputs::new(&derivations, &step.derivation, id, seen);
            step.reasons = reasons(&step.kind, &old, &new, |path| kinds.get(path));
            break;
        }
        if step.reasons.is_empty() {
            step.reasons = vec!["never built here".to_owned()];
        }
    }
    Ok(steps)
}

/// The id of a build, from the attributes of its package.
fn build_id(attributes: &serde_json::Map<String, serde_json::Value>) -> &str {
    let id = attributes.get("namespace").and_then(|id| id.as_str());
    id.unwrap_or_default()
}

/// Records the inputs of each step that was built or found, and how long steps took that are no compilations.
pub fn remember(
    nix: &Nix,
    prepared: &Prepared,
    graph: &Graph<'_>,
    built: &Built,
) -> Result<(), EngineError> {
    let Graph {
        wanted,
        derivations,
        steps,
    } = graph;
    let outputs = steps
        .all
        .iter()
        .map(|step| derivations[&step.derivation].output.clone());
    let invalid = nix.invalid(&outputs.collect::<Vec<_>>())?;
    let valid = |derivation: &str| !invalid.contains(&derivations[derivation].output);

    let root = prepared.root()?;
    let mut record = Record::open(&cache::dir(), &root);
    let mut files = Files::new(&prepared.plan, root);
    let reading = "read the kernel's files";
    for step in steps.all.iter().filter(|step| valid(&step.derivation)) {
        for (variant, own) in wanted
            .iter()
            .filter(|(name, _)| step.variants.contains(*name))
        {
            let id = build_id(&derivations[&own.derivation].attributes);
            let seen = files.of(variant, &step.kind).map_err(failed_to(reading))?;
            let inputs = Inputs::new(derivations, &step.derivation, id, seen);
            record.learn(variant, &step.kind, inputs);
        }
    }
    record
        .save()
        .map_err(failed_to("write the record of builds"))?;
    let mut costs = saved_costs();
    for finished in &built.finished {
        let known = derivations.contains_key(&finished.derivation);
        if known && finished.peak.is_none() && valid(&finished.derivation) {
            let seconds = finished.seconds;
            costs.learn(&finished.derivation, Cost { bytes: 0, seconds });
        }
    }
    costs.save().map_err(failed_to("write what steps took"))
}
