//! The inputs of a step, in a form that can be saved and compared, to explain why a step is built
//! again.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use camino::Utf8PathBuf;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use super::StepKind;
use crate::hex;
use crate::nix::derivation::Derivation;
use crate::nix::name_of;
use crate::plan::{Plan, VariantPlan};

/// The inputs of one step.
#[derive(Clone, Debug, Default, Deserialize, Serialize, PartialEq)]
pub struct Inputs {
    pub derivation: String,
    /// Hashes of the kernel's files, by path.
    pub files: BTreeMap<String, String>,
    /// Attributes without store paths, such as flags.
    pub settings: BTreeMap<String, Vec<String>>,
    /// Derivations by their name: toolchains, and other steps.
    pub needs: BTreeMap<String, String>,
    /// Scripts and templates of this program by their name.
    pub recipes: BTreeMap<String, String>,
}

/// Stands for the id of the build in settings, so that a new id gives one reason and not many.
const ID_PLACEHOLDER: &str = "<id>";

/// Attributes that repeat other inputs.
const REDUNDANT_ATTRIBUTES: [&str; 8] = [
    "builder",
    "digest",
    "name",
    "outputs",
    "source",
    "system",
    "variant",
    "outputChecks",
];

/// The names that nix/kernel/sources.nix gives to store paths with files of the kernel.
const KERNEL_SOURCES: [&str; 3] = ["headers", "includes", "source"];

impl Inputs {
    /// The inputs of the derivation at a path. `id` is the build id of its variant; `files` are
    /// hashes of the kernel's files that it sees.
    pub fn new(
        derivations: &BTreeMap<String, Derivation>,
        path: &str,
        id: &str,
        files: BTreeMap<String, String>,
    ) -> Self {
        let derivation = &derivations[path];
        let (mut needs, mut recipes) = (BTreeMap::new(), BTreeMap::new());
        let by_name = |path: &String| (name_of(path).to_owned(), path.clone());
        recipes.extend(derivation.sources.iter().map(by_name));
        for needed in &derivation.needs {
            // NB: an environment (nix/kernel/environment.nix) changes with every tool in it, so its
            // tools are listed instead.
            match derivations.get(needed) {
                Some(tools) if tools.attributes.contains_key("environmentOf") => {
                    needs.extend(tools.needs.iter().map(by_name));
                    recipes.extend(tools.sources.iter().map(by_name));
                }
                _ => needs.extend([by_name(needed)]),
            }
        }
        recipes.retain(|name, _| !KERNEL_SOURCES.contains(&name.as_str()));
        Self {
            derivation: path.to_owned(),
            files,
            settings: settings(&derivation.attributes, id),
            needs,
            recipes,
        }
    }
}

/// The attributes of a derivation, without those that hold store paths, which `needs` and `recipes`
/// have.
fn settings(attributes: &Map<String, Value>, id: &str) -> BTreeMap<String, Vec<String>> {
    let text = |value: &Value| match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let mut settings = BTreeMap::new();
    for (name, value) in attributes {
        let mut words: Vec<String> = match value {
            Value::Array(list) => list.iter().map(text).collect(),
            Value::Object(map) => {
                let pairs = map.iter();
                pairs
                    .map(|(key, value)| format!("{key}={}", text(value)))
                    .collect()
            }
            other => vec![text(other)],
        };
        let in_store = words.iter().any(|word| word.contains("/nix/store/"));
        if in_store || REDUNDANT_ATTRIBUTES.contains(&name.as_str()) {
            continue;
        }
        if !id.is_empty() && words.iter().any(|word| word.contains(id)) {
            settings.insert("id".to_owned(), vec![id.to_owned()]);
            words = words
                .iter()
                .map(|word| word.replace(id, ID_PLACEHOLDER))
                .collect();
        }
        settings.insert(name.clone(), words);
    }
    settings
}

/// The kernel's files, each hashed once.
pub struct StepFiles<'a> {
    plan: &'a Plan,
    root: Utf8PathBuf,
    known: HashMap<String, String>,
}

impl<'a> StepFiles<'a> {
    pub fn new(plan: &'a Plan, root: Utf8PathBuf) -> Self {
        Self {
            plan,
            root,
            known: HashMap::new(),
        }
    }

    /// Hashes of the files that a step of a variant sees, by path.
    ///
    /// # Errors
    /// `std::io::Error` if the file system fails.
    pub fn hashes_for_step(
        &mut self,
        variant: &str,
        kind: &StepKind,
    ) -> std::io::Result<BTreeMap<String, String>> {
        let plan = self.plan;
        let native = plan
            .variants
            .iter()
            .find(|native| native.variant == variant);
        let paths = match (kind, native) {
            (StepKind::Unit { source, .. }, Some(native)) => self.paths_for_unit(native, source),
            (StepKind::Library, Some(native)) => {
                let mut files = native.id.files.clone();
                files.extend(plan.python.files(&self.root)?);
                files
            }
            (StepKind::Package, _) => plan.python.files(&self.root)?,
            _ => Vec::new(),
        };
        let hash = |path: String| Ok((path.clone(), self.hash_file(path)?));
        paths.into_iter().map(hash).collect()
    }

    /// A source and the headers that it includes, directly or not.
    fn paths_for_unit(&self, variant: &VariantPlan, source: &str) -> Vec<String> {
        let mut paths = vec![source.to_owned()];
        for component in &variant.components {
            let mut sources = component.units.iter().flat_map(|group| &group.sources);
            let mut searches = self.plan.searches.iter();
            let search = searches.find(|search| search.include == component.include);
            if sources.any(|other| other == source)
                && let Some(reach) = search.and_then(|search| search.reach(source.as_ref()))
            {
                paths.extend(reach.headers.iter().cloned());
            }
        }
        paths
    }

    fn hash_file(&mut self, path: String) -> std::io::Result<String> {
        if let Some(hash) = self.known.get(&path) {
            return Ok(hash.clone());
        }
        let bytes = std::fs::read(self.root.join(&path))?;
        let hash = hex(&Sha256::digest(bytes))[..16].to_owned();
        self.known.insert(path, hash.clone());
        Ok(hash)
    }
}

/// The differences between the inputs of a step and its last recorded inputs, in words. `kind_of`
/// gives the kind of step that another derivation is.
pub fn reasons<'a>(
    kind: &StepKind,
    old: &Inputs,
    new: &Inputs,
    kind_of: impl Fn(&str) -> Option<&'a StepKind>,
) -> Vec<String> {
    if old.derivation == new.derivation {
        return vec!["no longer in the store".to_owned()];
    }
    let mut reasons = Vec::new();
    let needs = changes(&old.needs, &new.needs);
    let objects = |path: &str| {
        matches!(
            kind_of(path),
            Some(StepKind::Unit { .. } | StepKind::Join { .. } | StepKind::Objects { .. })
        )
    };
    let recompiled = new
        .needs
        .values()
        .any(|path| objects(path) && !old.needs.values().any(|old| old == path));
    for (path, change) in changes(&old.files, &new.files) {
        match kind {
            StepKind::Unit { source, .. } if source == path => {
                reasons.push(format!("{path} {change}"))
            }
            StepKind::Unit { .. } => reasons.push(format!("header {path} {change}")),
            // The reason of its object names the file, or the library does not depend on it: it
            // gets its id in the package.
            StepKind::Library if recompiled || !new.settings.contains_key("id") => {}
            StepKind::Library => reasons.push(format!("id changed: {path} {change}")),
            StepKind::Join { .. }
            | StepKind::Objects { .. }
            | StepKind::Package
            | StepKind::Toolchain => {
                reasons.push(format!("{path} {change}"));
            }
        }
    }
    for (name, words) in &new.settings {
        let before = old.settings.get(name).map_or(&[][..], Vec::as_slice);
        if before != words && name != "id" {
            reasons.push(format!("{name} changed: {}", difference(before, words)));
        }
    }
    for (name, change) in needs {
        let path = new.needs.get(name).or(old.needs.get(name));
        reasons.push(match path.and_then(|path| kind_of(path)) {
            Some(kind @ StepKind::Unit { .. }) => format!("object {change}: {}", kind.role()),
            Some(StepKind::Join { source }) => format!("object {change}: {source}"),
            Some(kind @ (StepKind::Objects { .. } | StepKind::Library)) => {
                format!("{} {change}", kind.role())
            }
            _ => format!("toolchain {change}: {name}"),
        });
    }
    for (name, change) in changes(&old.recipes, &new.recipes) {
        reasons.push(format!("kernel-builder's {name} {change}"));
    }
    if reasons.is_empty() {
        reasons.push(match old.settings.get("id") == new.settings.get("id") {
            true => "its derivation changed".to_owned(),
            false => "id changed".to_owned(),
        });
    }
    reasons
}

/// Keys whose values differ, each with the kind of change.
fn changes<'a>(
    old: &'a BTreeMap<String, String>,
    new: &'a BTreeMap<String, String>,
) -> Vec<(&'a str, &'static str)> {
    let keys: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    let change = |key: &'a String| match (old.get(key), new.get(key)) {
        (old, new) if old == new => None,
        (Some(_), None) => Some((key.as_str(), "is gone")),
        (None, _) => Some((key.as_str(), "is new")),
        _ => Some((key.as_str(), "changed")),
    };
    keys.into_iter().filter_map(change).collect()
}

/// The words that a list has gained and lost: "+-O2, --O3".
fn difference(old: &[String], new: &[String]) -> String {
    let missing = |from: &[String], of: &[String], sign: &str| {
        let words = of.iter().filter(|word| !from.contains(word));
        words
            .map(|word| match word.contains('\n') {
                true => "text".to_owned(),
                false => format!("{sign}{word}"),
            })
            .collect::<Vec<_>>()
    };
    let mut parts = missing(old, new, "+");
    parts.extend(missing(new, old, "-"));
    parts.dedup();
    match parts.is_empty() {
        true => "their order".to_owned(),
        false => parts.join(", "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inputs(derivation: &str) -> Inputs {
        let pair = |key: &str, value: &str| BTreeMap::from([(key.to_owned(), value.to_owned())]);
        Inputs {
            derivation: derivation.to_owned(),
            files: [("a.cu", "1"), ("a.h", "1")]
                .map(|(path, hash)| (path.to_owned(), hash.to_owned()))
                .into(),
            settings: BTreeMap::from([("flags".to_owned(), vec!["-O3".to_owned()])]),
            needs: pair("cuda-13.0", "/nix/store/a-cuda-13.0.drv"),
            recipes: pair("compile.sh", "/nix/store/a-compile.sh"),
        }
    }

    fn unit() -> StepKind {
        StepKind::Unit {
            source: "a.cu".to_owned(),
            part: None,
            driver: "nvcc".to_owned(),
        }
    }

    #[test]
    fn each_change_is_a_reason() {
        let old = inputs("old");
        let mut new = inputs("new");
        let why = |new: &Inputs| reasons(&unit(), &old, new, |_| None);
        assert_eq!(why(&old), ["no longer in the store"]);
        assert_eq!(why(&new), ["its derivation changed"]);
        new.files.insert("a.cu".to_owned(), "2".to_owned());
        new.files.remove("a.h");
        new.files.insert("b.h".to_owned(), "1".to_owned());
        new.settings
            .insert("flags".to_owned(), vec!["-O2".to_owned()]);
        let cuda = "/nix/store/b-cuda-13.0.drv".to_owned();
        new.needs.insert("cuda-13.0".to_owned(), cuda);
        let script = "/nix/store/b-compile.sh".to_owned();
        new.recipes.insert("compile.sh".to_owned(), script);
        assert_eq!(
            why(&new),
            [
                "a.cu changed",
                "header a.h is gone",
                "header b.h is new",
                "flags changed: +-O2, --O3",
                "toolchain changed: cuda-13.0",
                "kernel-builder's compile.sh changed",
            ]
        );
    }

    #[test]
    fn a_library_names_its_new_objects_and_not_the_id_that_follows() {
        let mut old = inputs("old");
        let mut new = inputs("new");
        new.files.insert("a.cu".to_owned(), "2".to_owned());
        new.settings.insert("id".to_owned(), vec!["_a".to_owned()]);
        let why = |old: &Inputs, new: &Inputs| {
            let unit = unit();
            reasons(&StepKind::Library, old, new, |path| {
                path.ends_with(".o.drv").then_some(&unit)
            })
        };
        assert_eq!(why(&old, &new), ["id changed: a.cu changed"]);
        old.needs
            .insert("a.cu.o".to_owned(), "1-a.cu.o.drv".to_owned());
        new.needs
            .insert("a.cu.o".to_owned(), "2-a.cu.o.drv".to_owned());
        assert_eq!(why(&old, &new), ["object changed: a.cu"]);
        // A library that gets its id in the package does not depend on files.
        let flags = vec!["-O2".to_owned()];
        new = inputs("new");
        new.files.insert("a.py".to_owned(), "1".to_owned());
        new.settings.insert("flags".to_owned(), flags);
        assert_eq!(why(&inputs("old"), &new), ["flags changed: +-O2, --O3"]);
    }

    #[test]
    fn settings_hold_no_id_and_no_path_of_the_store() {
        let attributes = serde_json::json!({
            "flags": ["-O2"],
            "define": "NAMESPACE=_relu_0123456789",
            "file": "/nix/store/a-source",
            "name": "relu",
            "policy": { "GLIBC": "2.28" },
        });
        let attributes = attributes.as_object().expect("a map").clone();
        let settings = settings(&attributes, "_relu_0123456789");
        let text = format!("{settings:?}");
        assert_eq!(
            text,
            r#"{"define": ["NAMESPACE=<id>"], "flags": ["-O2"], "id": ["_relu_0123456789"], "policy": ["GLIBC=2.28"]}"#
        );
    }
}
