//! The files that a copy of a variant has besides those of its package: the statement about its
//! build, the list of its toolchains' packages, and a metadata.json with the revision of the
//! kernel's source. They are added to the copy: no derivation that `build` makes depends on a
//! revision, so a commit builds nothing.
//!
//! nix/kernel/attest.py adds the same bytes in builds of flakes; tests/provenance.rs compares the
//! two. There are two since a flake's build cannot start this program, which most systems lack, and
//! a step of Nix for each variant and commit would make `build` wait.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use camino::Utf8Path;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::error::{EngineError, failed_to, pin_failed};
use super::evaluation::hashes_of_files;
use super::git::revision;
use super::prepare::{Prepared, system};
use super::survey::StepGraph;
use crate::artifact::metadata::{FileDigests, KernelRevision, METADATA};
use crate::artifact::provenance::{BuildInputs, PinnedInput, STATEMENT, statement};
use crate::artifact::sbom::{SBOM, sbom};
use crate::families::{Archive, ArchiveKind, Pin, find_family};
use crate::matrix::Variant;
use crate::steps::derivations::DerivationGraph;

/// The names of files that a copy of a variant has and its package has not, or not so.
pub const ATTESTED: [&str; 3] = [METADATA, STATEMENT, SBOM];

/// Knows the inputs of a kernel's variants.
pub struct Attestor<'a> {
    prepared: &'a Prepared,
    graph: &'a StepGraph<'a>,
    revision: Option<KernelRevision>,
    /// sha256 (hexadecimal) of the files that any variant is made of.
    hashes: BTreeMap<String, String>,
}

impl<'a> Attestor<'a> {
    /// Reads the kernel's files, and asks git for their revision.
    ///
    /// # Errors
    /// `EngineError::Io`
    pub fn open(prepared: &'a Prepared, graph: &'a StepGraph<'a>) -> Result<Self, EngineError> {
        let root = prepared.root()?;
        let hashes =
            hashes_of_files(prepared, &root).map_err(failed_to("read the kernel's files"))?;
        let files: BTreeSet<&str> = hashes.keys().map(String::as_str).collect();
        let hex = |(path, hash): (&String, &Vec<u8>)| (path.clone(), crate::hex(hash));
        Ok(Self {
            revision: revision(&root, &files),
            hashes: hashes.iter().map(hex).collect(),
            prepared,
            graph,
        })
    }

    /// The files to add to a copy of a variant's package, by name. `package` is the folder of the
    /// variant as it was built, and `derivation` built it.
    ///
    /// # Errors
    /// `EngineError::Io`; `EngineError::Pins` for a defect of this program.
    pub fn files(
        &self,
        variant: &Variant,
        derivation: &str,
        package: &Utf8Path,
    ) -> Result<BTreeMap<&'static str, Vec<u8>>, EngineError> {
        let unreadable = || format!("read {package}/{METADATA}");
        let text = std::fs::read(package.join(METADATA)).map_err(failed_to(unreadable()))?;
        let Some(mut digests) = FileDigests::read(package) else {
            let error = io::Error::new(io::ErrorKind::InvalidData, "it has no digests");
            return Err(failed_to(unreadable())(error));
        };
        let (derivations, fixed) = needed_derivations(self.graph.derivations, derivation);
        let (pins, archives) = self.pins(variant, &fixed)?;
        let mut files = BTreeMap::new();
        let mut add = |digests: &mut FileDigests, name: &'static str, content: Vec<u8>| {
            let digest = STANDARD.encode(Sha256::digest(&content));
            digests.files.insert(name.to_owned(), digest);
            files.insert(name, content);
        };
        let kernel = self.prepared.kernel.name.as_str();
        add(&mut digests, SBOM, sbom(kernel, &variant.name, &archives));
        let (sources, plan) = self.sources_and_plan(&variant.name)?;
        let inputs = BuildInputs {
            kernel: kernel.to_owned(),
            variant: variant.name.clone(),
            revision: self.revision.clone(),
            sources,
            pins,
            derivations,
            plan,
        };
        let content = statement(&inputs, &digests);
        add(&mut digests, STATEMENT, content);
        let metadata = self.metadata(&text, &digests);
        let metadata = metadata.map_err(failed_to(unreadable()))?;
        files.insert(METADATA, metadata);
        Ok(files)
    }

    /// The text of a metadata.json with the revision and with other digests, in the form in which
    /// nix/kernel/metadata.py writes it.
    fn metadata(&self, text: &[u8], digests: &FileDigests) -> io::Result<Vec<u8>> {
        let mut metadata: Value = serde_json::from_slice(text)?;
        metadata["digest"]["files"] = json!(digests.files);
        if let Some(revision) = &self.revision {
            metadata["provenance"]["kernel"] = json!(revision);
        }
        Ok(format!("{metadata:#}\n").into_bytes())
    }

    /// The hashes of the sources of a variant, and its part of the plan.
    fn sources_and_plan(
        &self,
        name: &str,
    ) -> Result<(BTreeMap<String, String>, Value), EngineError> {
        let plan = &self.prepared.plan;
        let compiled = plan.variants.iter().find(|own| own.variant == name);
        let python = plan.noarch.iter().find(|own| own.variant == name);
        let id = compiled.map(|own| &own.id);
        let id = id.or(python.map(|own| &own.id));
        let root = self.prepared.root()?;
        let python_files = plan.python.files(&root);
        let mut paths = python_files.map_err(failed_to("read the kernel's Python files"))?;
        paths.extend(id.iter().flat_map(|id| &id.files).cloned());
        paths.push("build.toml".to_owned());
        let hash = |path: String| Some((path.clone(), self.hashes.get(&path)?.clone()));
        let value = match (compiled, python) {
            (Some(own), _) => serde_json::to_value(own),
            (None, own) => serde_json::to_value(own),
        };
        let value = value.map_err(|error| failed_to("write JSON")(error.into()))?;
        Ok((paths.into_iter().filter_map(hash).collect(), value))
    }

    /// The pins of a variant that its steps need, and the archives that they are or are made of.
    /// `needed` are the names in the store of all fixed inputs.
    fn pins(
        &self,
        variant: &Variant,
        needed: &BTreeSet<&str>,
    ) -> Result<(Vec<PinnedInput>, Vec<Archive>), EngineError> {
        let is_needed = |pin: &Pin| needed.contains(&*pin.store_name());
        let here = system();
        let system = variant.row().map_or(&*here, |row| &*row.system);
        let mut pins = BTreeSet::new();
        let mut archives = Vec::new();
        for name in variant.families() {
            // The machine itself may provide a family that has no file (xcode).
            let Some(family) = find_family(system, &name).map_err(pin_failed)? else {
                continue;
            };
            let own = family.archives.into_iter().map(Pin::Archive);
            let own = own.chain(family.trees.into_iter().map(Pin::Tree));
            for pin in own.filter(is_needed) {
                archives.extend(pin.archives().into_iter().cloned());
                pins.insert(pinned_input(&name, &pin));
            }
        }
        for (name, headers) in variant.header_archives() {
            let pin = Pin::Archive(headers.archive.clone());
            if !is_needed(&pin) {
                continue;
            }
            pins.insert(pinned_input(name, &pin));
            // build.toml gives the archive a name and no version.
            archives.push(Archive {
                kind: ArchiveKind::File,
                name: name.clone(),
                version: String::new(),
                ..headers.archive.clone()
            });
        }
        Ok((pins.into_iter().collect(), archives))
    }
}

fn pinned_input(family: &str, pin: &Pin) -> PinnedInput {
    PinnedInput {
        family: family.to_owned(),
        name: pin.store_name(),
        sha256: pin.sha256().to_owned(),
        is_tree: matches!(pin, Pin::Tree(_)),
    }
}

/// A derivation and all that it needs, in order, and apart from them the names in the store of
/// fixed outputs, which follow from their content.
fn needed_derivations<'g>(
    graph: &'g DerivationGraph,
    root: &'g str,
) -> (Vec<String>, BTreeSet<&'g str>) {
    let mut found: BTreeSet<&str> = BTreeSet::new();
    let mut fixed: BTreeSet<&str> = BTreeSet::new();
    let mut open = vec![root];
    while let Some(path) = open.pop() {
        let Some(node) = graph.get(path) else {
            continue;
        };
        if node.is_fixed {
            let name = node.output.rsplit('/').next();
            fixed.extend(name.and_then(|name| Some(name.split_once('-')?.1)));
        } else if found.insert(path) {
            open.extend(node.needs.iter().map(String::as_str));
        }
    }
    (found.into_iter().map(str::to_owned).collect(), fixed)
}
