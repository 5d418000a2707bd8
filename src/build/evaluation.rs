//! Nix's evaluation of some variants: their derivations, and all that these need. saved.rs keeps it
//! in the user's cache. Nix evaluates again only if a file or setting that the evaluation reads has
//! changed.

use std::collections::{BTreeMap, BTreeSet};

use camino::{Utf8Path, Utf8PathBuf};
use sha2::{Digest, Sha256};

use super::error::{EngineError, failed_to};
use super::fetch::unpack_library;
use super::prepare::{Prepared, system};
use super::saved::{EvaluationKey, SavedEvaluations};
use crate::file::{MAX_TEXT, read_at_most};
use crate::library;
use crate::matrix::Variant;
use crate::nix::Nix;
use crate::pins::cache;
use crate::steps::WantedVariant;
use crate::steps::derivations::{DerivationGraph, DerivationNode};
use crate::terminal::{detail, note};

/// The derivations of some variants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evaluation {
    /// The derivations of each variant, in the order in which the variants were asked for.
    pub wanted: Vec<WantedVariant>,
    /// The derivations of the variants, and all that they need.
    pub derivations: DerivationGraph,
}

impl Evaluation {
    /// The derivations of the packages.
    pub fn packages(&self) -> Vec<String> {
        let wanted = self.wanted.iter();
        wanted.map(|wanted| wanted.derivation.clone()).collect()
    }

    /// The derivations of packages and libraries. Every other derivation is needed by one of them.
    fn roots(&self) -> Vec<String> {
        let libraries = self
            .wanted
            .iter()
            .filter_map(|wanted| wanted.library.clone());
        self.packages().into_iter().chain(libraries).collect()
    }

    /// The derivations that building some of them would build, in no certain order. Derivations
    /// whose output a binary cache has are not among them.
    ///
    /// # Errors
    /// `EngineError::Nix`
    pub fn to_build(&self, nix: &Nix, wanted: &[String]) -> Result<Vec<String>, EngineError> {
        // NB: only Nix knows the content of binary caches, and of a store on another machine.
        let Some(store) = nix.store_folder().filter(|_| nix.asks_no_cache()) else {
            return match self.is_in_store(nix, wanted)? {
                true => Ok(Vec::new()),
                false => Ok(nix.to_build(wanted)?),
            };
        };
        let mut to_build = Vec::new();
        let mut seen: BTreeSet<&str> = BTreeSet::new();
        let mut next = wanted.to_vec();
        while !next.is_empty() {
            let mut needed = Vec::new();
            for derivation in self.unbuilt(nix, Some(&store), &next)? {
                let needs = self.derivations.get(&derivation);
                let needs = needs.into_iter().flat_map(|node| &node.needs);
                needed.extend(needs.filter(|path| seen.insert(path)).cloned());
                to_build.push(derivation);
            }
            next = needed;
        }
        Ok(to_build)
    }

    /// Whether the store has the outputs of all of some derivations.
    ///
    /// # Errors
    /// `EngineError::Nix`
    pub fn is_in_store(&self, nix: &Nix, derivations: &[String]) -> Result<bool, EngineError> {
        let store = nix.store_folder();
        Ok(self.unbuilt(nix, store.as_deref(), derivations)?.is_empty())
    }

    /// The derivations of a list whose outputs the store lacks. If the store has a folder on this
    /// machine, Nix is asked only for outputs that lie in it. An output that lies in it may be
    /// invalid: a rest of a killed build.
    fn unbuilt(
        &self,
        nix: &Nix,
        store: Option<&Utf8Path>,
        derivations: &[String],
    ) -> Result<Vec<String>, EngineError> {
        let output = |derivation: &String| {
            let node = self.derivations.get(derivation);
            node.map(|node| node.output.clone()).unwrap_or_default()
        };
        let lies_there = |output: &String| {
            let name = Utf8Path::new(output).file_name().unwrap_or_default();
            store.is_none_or(|store| store.join(name).symlink_metadata().is_ok())
        };
        let outputs: Vec<String> = derivations.iter().map(output).filter(lies_there).collect();
        let invalid: BTreeSet<String> = nix.invalid_paths(&outputs)?.into_iter().collect();
        let outputs: BTreeSet<String> = outputs.into_iter().collect();
        let mut unbuilt = derivations.to_vec();
        unbuilt.retain(|derivation| {
            let output = output(derivation);
            invalid.contains(&output) || !outputs.contains(&output)
        });
        Ok(unbuilt)
    }
}

/// Evaluates some variants, or reads the saved evaluation if nothing that it depends on has
/// changed. Builds nothing, and leaves the kernel's folder as it is.
///
/// # Errors
/// `EngineError`, of Nix or of the file system.
pub fn evaluate(
    nix: &Nix,
    prepared: &Prepared,
    variants: &[&Variant],
) -> Result<Evaluation, EngineError> {
    let key = key(nix, prepared, variants)?;
    let saved = SavedEvaluations::open(&cache::dir());
    let file = saved.file(&key);
    if let Some(evaluation) = saved.read(&key)
        && evaluation.wanted.len() == variants.len()
        // NB: a valid path has everything that it refers to, so checking the roots checks the whole
        // graph.
        && nix.invalid_paths(&evaluation.roots())?.is_empty()
    {
        detail(format_args!("what Nix evaluated before is in {file}"));
        return Ok(evaluation);
    }
    detail(format_args!("Nix evaluates; its answer goes to {file}"));
    let wanted = ask_nix(nix, prepared, variants)?;
    let roots: Vec<String> = wanted
        .iter()
        .map(|wanted| wanted.derivation.clone())
        .collect();
    let derivations = nix.derivations(&roots)?.into_iter();
    let evaluation = Evaluation {
        wanted,
        derivations: derivations
            .map(|(path, derivation)| (path, DerivationNode::from(derivation)))
            .collect(),
    };
    // NB: only the speed of the next run depends on the saved evaluation.
    if let Err(error) = saved.write(&key, &evaluation) {
        note(format_args!("what Nix evaluated is not kept: {error}"));
    }
    Ok(evaluation)
}

/// The variants whose packages the store has, as far as saved evaluations tell: those of the
/// variants that are built by default, and of single ones. Evaluates nothing.
///
/// # Errors
/// `EngineError`, of Nix or of the file system.
pub fn cached_variants(nix: &Nix, prepared: &Prepared) -> Result<BTreeSet<String>, EngineError> {
    let is_pinned = |variant: &&Variant| variant.unpinned().is_none();
    let system = system();
    let by_default = prepared.matrix.bundled(&system).filter(is_pinned);
    let single = prepared.matrix.variants.iter().map(|variant| vec![variant]);
    let saved = SavedEvaluations::open(&cache::dir());
    let mut outputs: BTreeMap<&str, String> = BTreeMap::new();
    for variants in std::iter::once(by_default.collect()).chain(single) {
        let Some(evaluation) = saved.read(&key(nix, prepared, &variants)?) else {
            continue;
        };
        for (variant, wanted) in variants.iter().zip(&evaluation.wanted) {
            if let Some(node) = evaluation.derivations.get(&wanted.derivation) {
                outputs.insert(&variant.name, node.output.clone());
            }
        }
    }
    let paths: Vec<String> = outputs.values().cloned().collect();
    let invalid = nix.invalid_paths(&paths)?;
    outputs.retain(|_, path| !invalid.contains(path));
    Ok(outputs.into_keys().map(str::to_owned).collect())
}

fn ask_nix(
    nix: &Nix,
    prepared: &Prepared,
    variants: &[&Variant],
) -> Result<Vec<WantedVariant>, EngineError> {
    let (library, root) = (unpack_library()?, prepared.root()?);
    let folder = tempfile::tempdir().map_err(failed_to("create a temporary folder"))?;
    let build_nix = prepared.build_nix()?.as_bytes();
    let mut file = root.join("build.nix");
    if !read_at_most(&file, MAX_TEXT).is_ok_and(|text| text == build_nix) {
        file = Utf8PathBuf::try_from(folder.path().join("build.nix"))
            .map_err(|error| failed_to("create a temporary folder")(error.into_io_error()))?;
        std::fs::write(&file, build_nix).map_err(failed_to("write a temporary file"))?;
    }
    let names: Vec<&str> = variants.iter().map(|variant| &*variant.name).collect();
    let arguments = [
        ("root", root.as_str()),
        ("file", file.as_str()),
        ("system", &system()),
        ("variants", &names.join(" ")),
    ];
    let answer = nix.evaluate(&library.join("nix/cli.nix"), "derivations", &arguments)?;
    serde_json::from_value(answer)
        .map_err(|error| failed_to("read what Nix says of the variants")(error.into()))
}

/// The key of an evaluation: a hash of everything that it reads. NB: every file of the kernel's
/// folder that nix/kernel/ newly reads must become part of the key; tests/evaluation.rs changes
/// each file of kernels and compares.
fn key(
    nix: &Nix,
    prepared: &Prepared,
    variants: &[&Variant],
) -> Result<EvaluationKey, EngineError> {
    let root = prepared.root()?;
    let mut key = EvaluationKey::default();
    if let Ok(program) = std::env::current_exe() {
        // The program decides the form in which graphs are saved.
        key.add(crate::file::identity(&program));
    }
    key.add(&library::digest().map_err(failed_to("read the Nix library"))?);
    key.add(nix.identity());
    key.add(root.as_str());
    key.add(system());
    for variant in variants {
        key.add(&variant.name);
    }
    // build.nix names the kernel's files and folders, or has a digest of their names.
    key.add(prepared.build_nix()?);
    let hashes = hashes_of_files(prepared, &root).map_err(failed_to("read the kernel's files"))?;
    for (path, hash) in hashes {
        key.add(path);
        key.add(hash);
    }
    Ok(key)
}

/// Hashes of the kernel's files that the evaluation reads, by path. The hash of a missing file is
/// empty.
pub(super) fn hashes_of_files(
    prepared: &Prepared,
    root: &Utf8Path,
) -> std::io::Result<BTreeMap<String, Vec<u8>>> {
    let plan = &prepared.plan;
    let mut paths: BTreeSet<String> = BTreeSet::from(["build.toml".to_owned()]);
    for search in &plan.searches {
        paths.extend(search.digests.keys().cloned());
    }
    let ids = plan.variants.iter().map(|variant| &variant.id);
    for id in ids.chain(plan.noarch.iter().map(|variant| &variant.id)) {
        paths.extend(id.files.iter().cloned());
    }
    paths.extend(plan.python.files(root)?);
    let hash = |path: String| {
        let hash = match std::fs::read(root.join(&path)) {
            Ok(content) => Sha256::digest(content).to_vec(),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(error),
        };
        Ok((path, hash))
    };
    paths.into_iter().map(hash).collect()
}
