//! build.nix: the part of a plan that is the kernel's own. build.nix does not repeat values that
//! follow from the release table; nix/kernel/resolve.nix joins both parts.

mod sections;

use std::collections::{BTreeMap, BTreeSet};

use indexmap::IndexMap;
use serde::Serialize;
use serde_json::{Map, Value, json};

use self::sections::sections;
use super::EmitError;
use super::nix::render;
use super::release_table::ReleaseTable;
use crate::matrix::{Table, Variant};
use crate::plan::{ArchivePlan, Driver, HeaderListing, Plan, PythonFiles, VariantPlan};

/// The text of build.nix for a plan, formatted, and checked by rnix.
///
/// # Errors
/// `EmitError` only for defects of this program.
pub fn build_nix(plan: &Plan, table: &Table) -> Result<String, EmitError> {
    render(
        "build.nix",
        include_str!("../../templates/nix/build.nix.j2"),
        &BuildFile::new(plan, table),
    )
}

/// The parts of build.nix. Field names are those of its attributes; empty values are left out.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct BuildFile<'a> {
    name: &'a str,
    framework: &'static str,
    manifest: &'a str,
    hub: &'a BTreeMap<&'static str, String>,
    python: &'a PythonFiles,
    metadata: Value,
    salts: BTreeMap<&'a str, &'a str>,
    listing: Option<&'a HeaderListing>,
    files: BTreeMap<&'a str, Value>,
    binary: BTreeSet<&'a str>,
    archives: &'a BTreeMap<String, ArchivePlan>,
    archs: BTreeMap<String, String>,
    linked_archs: BTreeMap<String, String>,
    defines: Option<Value>,
    standards: BTreeMap<String, u32>,
    op_namespace: Option<Value>,
    stable_abi: BTreeMap<&'a str, &'a str>,
    sections: Vec<Attributes>,
    bundled: Vec<&'a str>,
    variants: BTreeMap<String, BTreeMap<String, String>>,
    python_variants: BTreeMap<&'a str, &'a str>,
}

/// Attributes of a set, in the order in which they are printed.
type Attributes = IndexMap<&'static str, Value>;

/// The attributes of a row that values may depend on (nix/release-table.json has them, too).
struct Selectors([(&'static str, String); 5]);

impl Selectors {
    fn of_variant(variant: &VariantPlan) -> Self {
        let row = &variant.row;
        let drivers = variant
            .components
            .iter()
            .flat_map(|component| &component.units);
        let device = drivers
            .map(|group| group.driver)
            .find(|driver| matches!(driver, Driver::Nvcc | Driver::Clang | Driver::Hip));
        Self([
            ("backend", row.backend.as_str().to_owned()),
            ("os", row.os().to_owned()),
            (
                "deviceCompiler",
                device.map(driver_name).unwrap_or_default(),
            ),
            ("compute", row.compute_name()),
            ("name", Variant::from_row(row).name),
        ])
    }

    fn of_python(backend: &str, variant: &str) -> Self {
        Self([
            ("backend", backend.to_owned()),
            ("os", String::new()),
            ("deviceCompiler", String::new()),
            ("compute", backend.to_owned()),
            ("name", variant.to_owned()),
        ])
    }
}

fn driver_name(driver: Driver) -> String {
    let name = json!(driver);
    name.as_str().unwrap_or_default().to_owned()
}

/// A value that may differ between rows. If it does not differ, it is printed as it is. Otherwise
/// it becomes `{ attribute = { value of the attribute = value; }; }`, with the first attribute of
/// rows that tells the values apart. `None` if no row has a value.
fn factor_by_row(values: &[(&Selectors, Option<Value>)]) -> Option<Value> {
    let (_, first) = values.first()?;
    if values.iter().all(|(_, value)| value == first) {
        return first.clone();
    }
    for at in 0..5 {
        let mut by_key: BTreeMap<&str, &Option<Value>> = BTreeMap::new();
        let is_told_apart = values.iter().all(|(selectors, value)| {
            let (_, key) = &selectors.0[at];
            *by_key.entry(key).or_insert(value) == value
        });
        if is_told_apart {
            let (attribute, _) = values[0].0.0[at];
            let present = by_key.into_iter().filter_map(|(key, value)| {
                let value = value.as_ref()?;
                Some((key.to_owned(), value.clone()))
            });
            return Some(json!({ attribute: present.collect::<Map<_, _>>() }));
        }
    }
    None
}

/// A list, or `None` if it is empty.
fn list_or_none<T: Serialize>(values: &[T]) -> Option<Value> {
    (!values.is_empty()).then(|| json!(values))
}

/// Architectures by compute, as words. Computes with equal lists share an entry.
fn archs_by_compute<'a>(
    archs: impl Iterator<Item = (String, &'a [String])>,
) -> BTreeMap<String, String> {
    let archs: BTreeMap<String, String> = archs
        .filter(|(_, archs)| !archs.is_empty())
        .map(|(compute, archs)| (compute, archs.join(" ")))
        .collect();
    let mut computes: IndexMap<&str, Vec<&str>> = IndexMap::new();
    for (compute, archs) in &archs {
        computes.entry(archs).or_default().push(compute);
    }
    let entries = computes.into_iter();
    entries
        .map(|(archs, computes)| (computes.join(" "), archs.to_owned()))
        .collect()
}

impl<'a> BuildFile<'a> {
    fn new(plan: &'a Plan, table: &Table) -> Self {
        let releases = ReleaseTable::new(table);
        let selectors: Vec<Selectors> = plan.variants.iter().map(Selectors::of_variant).collect();
        let variants = || selectors.iter().zip(&plan.variants);
        let factor = |value: &dyn Fn(&VariantPlan) -> Option<Value>| {
            let values: Vec<_> = variants()
                .map(|(selectors, variant)| (selectors, value(variant)))
                .collect();
            factor_by_row(&values)
        };
        let python_only: Vec<Selectors> = plan
            .noarch
            .iter()
            .map(|variant| Selectors::of_python(variant.metadata.backend.r#type, &variant.variant))
            .collect();
        let archs = archs_by_compute(
            plan.variants
                .iter()
                .map(|variant| {
                    (
                        variant.row.compute_name(),
                        &variant.metadata.backend.archs[..],
                    )
                })
                .chain(plan.noarch.iter().map(|variant| {
                    let backend = &variant.metadata.backend;
                    (backend.r#type.to_owned(), &backend.archs[..])
                })),
        );
        let linked: BTreeMap<String, &VariantPlan> = plan
            .variants
            .iter()
            .filter(|variant| !variant.link.archs.is_empty())
            .map(|variant| (variant.row.compute_name(), variant))
            .collect();
        let is_other = linked
            .values()
            .any(|variant| variant.link.archs != variant.metadata.backend.archs);
        let linked_archs = linked
            .into_iter()
            .filter(|_| is_other)
            .map(|(compute, variant)| (compute, &variant.link.archs[..]));
        let all_metadata: Vec<(&Selectors, Value)> = variants()
            .map(|(selectors, variant)| (selectors, json!(variant.metadata)))
            .chain(
                python_only
                    .iter()
                    .zip(&plan.noarch)
                    .map(|(selectors, variant)| (selectors, json!(variant.metadata))),
            )
            .collect();
        let bundled = plan.variants.iter().filter(|variant| variant.bundle);
        let is_bundled_otherwise = plan
            .variants
            .iter()
            .any(|variant| variant.bundle != variant.row.bundle);
        let native = !plan.variants.is_empty();
        Self {
            name: &plan.name,
            framework: match (plan.tvm_ffi, native) {
                (true, _) => "tvmFfi",
                (false, _) => "torch",
            },
            manifest: &plan.manifest,
            hub: &plan.hub,
            python: &plan.python,
            metadata: metadata(&all_metadata),
            salts: plan
                .variants
                .iter()
                .map(|variant| (variant.metadata.backend.r#type, variant.id.salt.as_str()))
                .chain(
                    plan.noarch
                        .iter()
                        .map(|variant| (variant.metadata.backend.r#type, variant.id.salt.as_str())),
                )
                .collect(),
            listing: native.then_some(&plan.listing),
            files: files(plan),
            binary: plan
                .searches
                .iter()
                .flat_map(|search| search.binary.iter().map(String::as_str))
                .collect(),
            archives: &plan.archives,
            archs,
            linked_archs: archs_by_compute(linked_archs),
            defines: factor(&|variant| list_or_none(&variant.defines)),
            standards: plan
                .variants
                .iter()
                .map(|variant| (variant.row.compilers(), variant.standard))
                .filter(|(key, standard)| {
                    let known = releases.compilers.get(key);
                    known.is_none_or(|known| known.standard != *standard)
                })
                .collect(),
            op_namespace: factor(&|variant| Some(json!(variant.op_namespace.as_ref()?))),
            stable_abi: plan.variants.iter().filter_map(stable_abi).collect(),
            sections: sections(plan, &selectors),
            bundled: match is_bundled_otherwise {
                true => bundled.map(|variant| variant.variant.as_str()).collect(),
                false => Vec::new(),
            },
            variants: row_digests(plan, &releases),
            python_variants: plan
                .noarch
                .iter()
                .map(|variant| (variant.variant.as_str(), variant.metadata.backend.r#type))
                .collect(),
        }
    }
}

/// The digest of the row of each variant, by profile and the row's name.
fn row_digests(plan: &Plan, releases: &ReleaseTable) -> BTreeMap<String, BTreeMap<String, String>> {
    let mut declared: BTreeMap<String, BTreeMap<String, String>> = BTreeMap::new();
    for variant in &plan.variants {
        if let Some(row) = releases.row(&variant.row) {
            let rows = declared.entry(row.profile.clone()).or_default();
            rows.insert(row.name.clone(), row.digest.clone());
        }
    }
    declared
}

/// The backend and the first part of the name of a variant that keeps torch's stable ABI; `None`
/// for other variants.
fn stable_abi(variant: &VariantPlan) -> Option<(&str, &str)> {
    let row = &variant.row;
    let end = format!("-{}-{}", row.compute_name(), row.system);
    let start = variant.variant.strip_suffix(&end)?;
    (variant.variant != Variant::from_row(row).name).then_some((row.backend.as_str(), start))
}

/// The fields of metadata.json that build.toml gives.
fn metadata(all: &[(&Selectors, Value)]) -> Value {
    let keys: BTreeSet<&String> = all
        .iter()
        .filter_map(|(_, metadata)| metadata.as_object())
        .flat_map(Map::keys)
        .filter(|key| !["backend", "name"].contains(&key.as_str()))
        .collect();
    let field = |key: &String| {
        let values: Vec<_> = all
            .iter()
            .map(|(selectors, metadata)| (*selectors, metadata.get(key).cloned()))
            .collect();
        Some((key.clone(), factor_by_row(&values)?))
    };
    Value::Object(keys.into_iter().filter_map(field).collect())
}

/// The entry of each file: the digest of its include lines, and the kernel's files that these lines
/// include. The entry is a string if no path has a blank, or else a list.
fn files(plan: &Plan) -> BTreeMap<&str, Value> {
    let mut files = BTreeMap::new();
    for search in &plan.searches {
        for (path, digest) in &search.digests {
            let includes = search.includes.get(path).into_iter().flatten();
            let words: Vec<&str> = [digest]
                .into_iter()
                .chain(includes)
                .map(String::as_str)
                .collect();
            files
                .entry(path.as_str())
                .or_insert_with(|| words_value(&words));
        }
    }
    files
}

/// Words as one string with blanks between them, or as a list if a word has a blank itself.
fn words_value(words: &[&str]) -> Value {
    match words.iter().any(|word| word.contains(' ')) {
        true => json!(words),
        false => json!(words.join(" ")),
    }
}

/// Files whose includes resolve otherwise in a section's search than [`files`] says.
fn other_includes(plan: &Plan, include: &[String]) -> Map<String, Value> {
    let mut searches = plan.searches.iter();
    let own_search = searches.find(|search| search.include == include);
    let mut others = Map::new();
    for (path, digest) in own_search.iter().flat_map(|search| &search.digests) {
        let first = plan
            .searches
            .iter()
            .find(|search| search.digests.contains_key(path));
        let includes = own_search.and_then(|search| search.includes.get(path));
        if first.and_then(|search| search.includes.get(path)) != includes {
            let includes = includes.into_iter().flatten();
            let words: Vec<&str> = [digest]
                .into_iter()
                .chain(includes)
                .map(String::as_str)
                .collect();
            others.insert(path.clone(), words_value(&words));
        }
    }
    others
}
