//! The statement about a build: an in-toto statement with SLSA's provenance (version 1), in a file
//! beside metadata.json. It names every input by hash, and neither time nor machine, so that the
//! same build gives the same bytes. nix/kernel/attest.py writes the same in builds of flakes.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use camino::Utf8Path;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::finding::{ArtifactFinding, ArtifactRule};
use super::metadata::{FileDigests, KernelRevision};
use crate::file::{MAX_TEXT, read_at_most};
use crate::hex;

/// The name of the file. metadata.json has its digest, so it is a file of the variant to clients.
pub const STATEMENT: &str = "provenance.intoto.json";

const STATEMENT_TYPE: &str = "https://in-toto.io/Statement/v1";
const PREDICATE_TYPE: &str = "https://slsa.dev/provenance/v1";
/// The meaning of the parameters, and the builder. docs/artifacts.md describes both.
const BUILD_TYPE: &str = "urn:kernel-builder:variant:1";
const BUILDER: &str = "urn:kernel-builder";

/// The inputs of a variant's build.
#[derive(Debug, Default)]
pub struct BuildInputs {
    pub kernel: String,
    pub variant: String,
    pub revision: Option<KernelRevision>,
    /// sha256 (hexadecimal) of each file of the kernel, by path.
    pub sources: BTreeMap<String, String>,
    /// Archives and trees of toolchains.
    pub pins: Vec<PinnedInput>,
    /// The derivations of all steps, and of their tools.
    pub derivations: Vec<String>,
    /// Units with their flags, and the link: the variant's part of the plan.
    pub plan: Value,
}

/// A pin of a toolchain.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PinnedInput {
    pub family: String,
    pub name: String,
    /// sha256 (hexadecimal): of a file, or of a tree in Nix's archive format.
    pub sha256: String,
    pub is_tree: bool,
}

/// The text of the statement about a variant whose files have some digests.
pub fn statement(inputs: &BuildInputs, digests: &FileDigests) -> Vec<u8> {
    let subject: Vec<Value> = digests
        .files
        .iter()
        .filter(|(path, _)| *path != STATEMENT)
        .map(|(path, digest)| {
            let digest = STANDARD.decode(digest.as_bytes()).unwrap_or_default();
            json!({"name": path, "digest": {digests.algorithm.name(): hex(&digest)}})
        })
        .collect();
    let sources = inputs.sources.iter();
    let sources = sources
        .map(|(path, hash)| json!({"name": format!("source:{path}"), "digest": {"sha256": hash}}));
    let pins = inputs.pins.iter().map(|pin| {
        let algorithm = match pin.is_tree {
            true => "nixArchiveSha256",
            false => "sha256",
        };
        json!({
            "name": format!("pin:{}:{}", pin.family, pin.name),
            "digest": {algorithm: pin.sha256},
        })
    });
    let derivations = inputs.derivations.iter();
    let derivations = derivations.map(|path| {
        let (hash, name) = hash_and_name(path);
        let name = name.trim_end_matches(".drv");
        json!({"name": format!("derivation:{name}"), "digest": {"nixDerivation": hash}})
    });
    let mut parameters = Map::new();
    parameters.insert("kernel".to_owned(), json!(inputs.kernel));
    parameters.insert("variant".to_owned(), json!(inputs.variant));
    if let Some(revision) = &inputs.revision {
        parameters.insert("revision".to_owned(), json!(revision));
    }
    let statement = json!({
        "_type": STATEMENT_TYPE,
        "subject": subject,
        "predicateType": PREDICATE_TYPE,
        "predicate": {
            "buildDefinition": {
                "buildType": BUILD_TYPE,
                "externalParameters": parameters,
                "internalParameters": {"plan": inputs.plan},
                "resolvedDependencies":
                    sources.chain(pins).chain(derivations).collect::<Vec<_>>(),
            },
            "runDetails": {
                "builder": {
                    "id": BUILDER,
                    "version": {"kernel-builder": env!("CARGO_PKG_VERSION")},
                },
            },
        },
    });
    format!("{statement:#}\n").into_bytes()
}

/// The hash of a store path in hexadecimal, and its name. NB: in a build, Nix takes a hash in its
/// own digits for a reference to the path.
fn hash_and_name(path: &str) -> (String, &str) {
    const DIGITS: &[u8] = b"0123456789abcdfghijklmnpqrsvwxyz";
    let name = path.rsplit('/').next().unwrap_or(path);
    let (nix_hash, name) = name.split_once('-').unwrap_or((name, name));
    // A number in base 32; its lowest byte comes first.
    let mut bytes = [0; 20];
    for digit in nix_hash.bytes() {
        let value = (0..).zip(DIGITS).find(|(_, own)| **own == digit);
        let mut carry: u16 = value.map_or(0, |(value, _)| value);
        for byte in &mut bytes {
            let [low, high] = (u16::from(*byte) * 32 + carry).to_le_bytes();
            *byte = low;
            carry = u16::from(high);
        }
    }
    (hex(&bytes), name)
}

/// A statement as it is read again.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReadStatement {
    #[serde(rename = "_type")]
    statement_type: String,
    subject: Vec<StatedResource>,
    pub predicate: ReadPredicate,
}

/// The part of a statement that is about the build.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReadPredicate {
    pub build_definition: ReadDefinition,
    #[serde(default)]
    pub run_details: Value,
}

/// The inputs that a statement names.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReadDefinition {
    #[serde(default)]
    pub external_parameters: Value,
    #[serde(default)]
    pub internal_parameters: Value,
    #[serde(default)]
    pub resolved_dependencies: Vec<StatedResource>,
}

/// A file or another input with its hashes.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
pub struct StatedResource {
    #[serde(default)]
    pub name: String,
    #[serde(default)]
    pub digest: BTreeMap<String, String>,
}

impl ReadStatement {
    /// Reads the statement of a variant. `None` if there is none.
    ///
    /// # Errors
    /// A file that is no such statement, in words.
    pub fn read(folder: &Utf8Path) -> Option<Result<Self, String>> {
        let text = match read_at_most(&folder.join(STATEMENT), MAX_TEXT) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return None,
            Err(error) => return Some(Err(error.to_string())),
        };
        let statement: Result<Self, _> = serde_json::from_slice(&text);
        Some(match statement {
            Ok(own) if own.statement_type == STATEMENT_TYPE => Ok(own),
            Ok(own) => Err(format!("`{}` is no type of statement", own.statement_type)),
            Err(error) => Err(error.to_string()),
        })
    }
}

/// The findings about the statement of a variant; empty if it has none.
pub fn check_statement(folder: &Utf8Path, digests: Option<&FileDigests>) -> Vec<ArtifactFinding> {
    let help = "build the variant again, or remove the statement and its digest";
    let finding =
        |message: String| ArtifactFinding::new(ArtifactRule::Provenance, STATEMENT, message, help);
    let statement = match ReadStatement::read(folder) {
        None => return Vec::new(),
        Some(Err(why)) => return vec![finding(format!("it is no in-toto statement: {why}"))],
        Some(Ok(statement)) => statement,
    };
    let Some(digests) = digests else {
        return Vec::new();
    };
    let algorithm = digests.algorithm.name();
    let stated = statement.subject.iter();
    let stated: BTreeMap<&str, Option<&String>> = stated
        .map(|file| (&*file.name, file.digest.get(algorithm)))
        .collect();
    let files = digests.files.iter();
    let files = files.filter(|(path, _)| *path != STATEMENT);
    let decoded = |digest: &String| hex(&STANDARD.decode(digest.as_bytes()).unwrap_or_default());
    let files: BTreeMap<&str, String> = files
        .map(|(path, digest)| (path.as_str(), decoded(digest)))
        .collect();
    let differs = |path: &&&str| stated.get(**path).copied().flatten() != files.get(**path);
    let mut paths: Vec<&&str> = stated.keys().chain(files.keys()).collect();
    paths.sort();
    paths.dedup();
    let wrong = paths.iter().filter(|path| differs(path));
    wrong
        .map(|path| finding(format!("it is about another {path} than metadata.json")))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digests(text: &str) -> FileDigests {
        serde_json::from_str(text).expect("digests")
    }

    #[test]
    fn a_statement_is_about_the_files_that_have_the_same_digests() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let dir = Utf8Path::from_path(dir.path()).expect("UTF-8");
        let inputs = BuildInputs {
            kernel: "relu".to_owned(),
            sources: BTreeMap::from([("build.toml".to_owned(), "ab".repeat(32))]),
            derivations: vec!["/nix/store/1b9p07z77phvv2hf6gm9f28syp39f1ag-relu.drv".to_owned()],
            ..BuildInputs::default()
        };
        let files = r#"{"algorithm": "sha256", "files": {"a.py": "ypeBEsobvcr6wjGzmiPcTaeG7/gUfE5yuYB3ha/uSLs="}}"#;
        let text = statement(&inputs, &digests(files));
        assert_eq!(text, statement(&inputs, &digests(files)), "the same bytes");
        assert!(check_statement(dir, Some(&digests(files))).is_empty());
        std::fs::write(dir.join(STATEMENT), &text).expect("written");
        assert_eq!(check_statement(dir, Some(&digests(files))), []);
        let read = ReadStatement::read(dir).expect("there").expect("good");
        let inputs = &read.predicate.build_definition.resolved_dependencies;
        let names: Vec<&str> = inputs.iter().map(|input| &*input.name).collect();
        assert_eq!(names, ["source:build.toml", "derivation:relu"]);
        // `nix-hash --type sha1 --to-base16 1b9p07z77phvv2hf6gm9f28syp39f1ag`
        let hash = "4f0597c6f51a0997ea330e8abde13de71f70d30a";
        assert_eq!(inputs[1].digest["nixDerivation"], hash);

        for other in [
            files.replace("ypeB", "yyyy"),
            files.replace("a.py", "b.py"),
            r#"{"algorithm": "sha256", "files": {}}"#.to_owned(),
        ] {
            let findings = check_statement(dir, Some(&digests(&other)));
            assert!(!findings.is_empty(), "{other}");
        }
        std::fs::write(dir.join(STATEMENT), "{").expect("written");
        assert_eq!(check_statement(dir, None).len(), 1);
    }
}
