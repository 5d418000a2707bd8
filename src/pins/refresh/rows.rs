//! Edits files that people write for a torch release: adds rows and facts to
//! src/matrix/toolchains.toml, and a toolkit to nix/pins/families.toml. Comments and order stay.

use std::collections::{BTreeMap, BTreeSet};
use std::str::FromStr;

use toml_edit::{Array, Decor, DocumentMut, InlineTable, Item, Table, Value};

use super::metadata::TorchWheel;
use super::{RefreshError, spec};
use crate::matrix::CxxAbi;
use crate::version::Version;

/// The path of the release table in the repository.
pub const PATH: &str = "src/matrix/toolchains.toml";

/// A torch release as its wheels describe it, by system.
#[derive(Clone, Debug)]
pub struct TorchRelease {
    pub version: String,
    /// The wheel of each system, in the order of the rows of a new system.
    pub wheels: Vec<(String, TorchWheel)>,
}

impl TorchRelease {
    /// The CUDA toolkits that its wheels were built with, each with the release of cuda-toolkit
    /// that the wheels run with.
    pub fn toolkits(&self) -> BTreeMap<&str, Option<&str>> {
        self.torches()
            .filter_map(|torch| Some((torch.cuda.as_deref()?, torch.toolkit.as_deref())))
            .collect()
    }

    fn torches(&self) -> impl Iterator<Item = &TorchWheel> {
        self.wheels.iter().map(|(_, torch)| torch)
    }

    /// The C++ standard, the definitions and the CUDA definitions of its wheels, which must be the
    /// same on every system.
    fn facts(&self) -> Result<(u32, BTreeSet<String>, BTreeSet<String>), RefreshError> {
        let common: BTreeSet<_> = self
            .torches()
            .map(|torch| (torch.cxx, torch.defines.clone()))
            .collect();
        let cuda: BTreeSet<_> = self
            .torches()
            .filter(|torch| torch.cuda.is_some())
            .map(|torch| torch.cuda_defines.clone())
            .collect();
        let mut common = common.into_iter();
        match (common.next(), common.next(), cuda.len()) {
            (Some((cxx, defines)), None, 0 | 1) => {
                Ok((cxx, defines, cuda.into_iter().next().unwrap_or_default()))
            }
            _ => Err(RefreshError::Torch {
                release: self.version.clone(),
                why: "its wheels ask for different C++ standards or compile definitions".to_owned(),
                help: format!(
                    "[torch] of {PATH} has one entry for all systems; it must learn the difference first"
                ),
            }),
        }
    }

    /// The rows that its wheels stand for.
    fn rows(&self) -> Vec<RegistryRow> {
        let mut rows = Vec::new();
        for (system, torch) in &self.wheels {
            let mut add = |backend: &str, compute: Option<&String>| {
                rows.push(RegistryRow {
                    torch: self.version.clone(),
                    cxx_abi: torch.cxx_abi,
                    backend: backend.to_owned(),
                    compute: compute.cloned(),
                    system: system.clone(),
                });
            };
            add("cpu", None);
            if let Some(cuda) = &torch.cuda {
                add("cuda", Some(cuda));
            }
            // Every wheel for macOS has Metal.
            if system == "aarch64-darwin" {
                add("metal", None);
            }
        }
        rows
    }
}

/// The keys that identify a row of the registry profile.
#[derive(Clone, Debug, PartialEq, Eq)]
struct RegistryRow {
    torch: String,
    cxx_abi: CxxAbi,
    backend: String,
    compute: Option<String>,
    system: String,
}

impl RegistryRow {
    /// Reads a torch row of the registry profile; `None` for other rows.
    fn read(value: &Value) -> Option<Self> {
        let table = value.as_inline_table()?;
        let text = |key: &str| Some(table.get(key)?.as_str()?.to_owned());
        (text("profile")? == "registry").then_some(())?;
        Some(Self {
            torch: text("torch")?,
            cxx_abi: match text("cxx-abi").as_deref() {
                Some("cxx98") => CxxAbi::Cxx98,
                _ => CxxAbi::Cxx11,
            },
            backend: text("backend")?,
            compute: text("compute"),
            system: text("system")?,
        })
    }

    /// The order of rows of one system.
    fn order(&self) -> (Option<Version>, &str, Option<Version>) {
        let compute = self.compute.as_deref();
        (
            self.release(),
            &self.backend,
            compute.and_then(|compute| Version::from_str(compute).ok()),
        )
    }

    fn release(&self) -> Option<Version> {
        Version::from_str(&self.torch).ok()
    }

    fn value(&self, bundle: bool) -> Value {
        let mut table = InlineTable::new();
        table.insert("torch", self.torch.as_str().into());
        if self.cxx_abi != CxxAbi::default() {
            table.insert("cxx-abi", self.cxx_abi.to_string().into());
        }
        table.insert("backend", self.backend.as_str().into());
        if let Some(compute) = &self.compute {
            table.insert("compute", compute.as_str().into());
        }
        table.insert("system", self.system.as_str().into());
        table.insert("profile", "registry".into());
        table.insert("bundle", bundle.into());
        let mut value = Value::from(table);
        value.decor_mut().set_prefix("\n    ");
        value
    }
}

/// The text of the release table with the rows and the facts of a release; present ones stay as
/// they are.
///
/// # Errors
/// `RefreshError::Spec` for a text that is no such table, `RefreshError::Torch` for rows or facts
/// that contradict the wheels.
pub fn add(text: &str, release: &TorchRelease) -> Result<String, RefreshError> {
    let mut document: DocumentMut = text
        .parse()
        .map_err(|error| RefreshError::spec(PATH, error))?;
    let rows = document.get_mut("rows").and_then(Item::as_array_mut);
    let rows = rows.ok_or_else(|| RefreshError::spec(PATH, "no array is called rows"))?;
    for row in release.rows() {
        add_row(rows, &row)?;
    }
    add_facts(&mut document, release)?;
    Ok(document.to_string())
}

/// Whether a row is bundled.
fn is_bundled(row: &Value) -> bool {
    let bundle = row.as_inline_table().and_then(|row| row.get("bundle"));
    bundle.and_then(Value::as_bool) == Some(true)
}

fn add_row(rows: &mut Array, row: &RegistryRow) -> Result<(), RefreshError> {
    let present: Vec<(usize, RegistryRow)> = rows
        .iter()
        .enumerate()
        .filter_map(|(index, value)| Some((index, RegistryRow::read(value)?)))
        .collect();
    if present.iter().any(|(_, other)| other == row) {
        return Ok(());
    }
    let same = |other: &RegistryRow| {
        let key = |row: &RegistryRow| (row.torch.clone(), row.backend.clone(), row.system.clone());
        key(other) == key(row) && other.cxx_abi == row.cxx_abi
    };
    if let Some((_, other)) = present.iter().find(|(_, other)| same(other)) {
        let compute = |row: &RegistryRow| row.compute.clone().unwrap_or_default();
        return Err(RefreshError::Torch {
            release: row.torch.clone(),
            why: format!(
                "its row of {} for {} says {}, its wheel {}",
                row.backend,
                row.system,
                compute(other),
                compute(row)
            ),
            help: format!("correct the row in {PATH}"),
        });
    }
    // The row comes after the last older row of its system, else before the system's first; a new
    // system comes last.
    let of_system = || {
        present
            .iter()
            .filter(|(_, other)| other.system == row.system)
    };
    let mut older = of_system().filter(|(_, other)| other.order() < row.order());
    let at = match (older.next_back(), of_system().next()) {
        (Some((index, _)), _) => index + 1,
        (None, Some((index, _))) => *index,
        (None, None) => present.last().map_or(rows.len(), |(index, _)| index + 1),
    };
    // A release that is older than all bundled ones has gone out of use.
    let bundled = rows.iter().filter(|value| is_bundled(value));
    let of_system = bundled
        .filter_map(RegistryRow::read)
        .filter(|other| other.system == row.system);
    let oldest = of_system.filter_map(|other| other.release()).min();
    let bundle = oldest.is_none() || oldest <= row.release();
    rows.insert_formatted(at, row.value(bundle));
    Ok(())
}

fn add_facts(document: &mut DocumentMut, release: &TorchRelease) -> Result<(), RefreshError> {
    let (cxx, defines, cuda_defines) = release.facts()?;
    let version = Version::from_str(&release.version).map_err(|error| RefreshError::Torch {
        release: release.version.clone(),
        why: error.to_string(),
        help: "name a release in full, for example 2.11.0".to_owned(),
    })?;
    let key = version.minor_release().to_string();
    let torch = document.get_mut("torch").and_then(Item::as_table_mut);
    let torch = torch.ok_or_else(|| RefreshError::spec(PATH, "no table is called torch"))?;
    let list = |names: &BTreeSet<String>| names.iter().map(String::as_str).collect::<Array>();
    let mut facts = Table::new();
    facts.insert("cxx", toml_edit::value(i64::from(cxx)));
    facts.insert("defines", toml_edit::value(list(&defines)));
    facts.insert("cuda-defines", toml_edit::value(list(&cuda_defines)));

    if let Some(present) = torch.get(&key).and_then(Item::as_table) {
        let plain = |table: &Table| toml::from_str::<toml::Table>(&table.to_string()).ok();
        if plain(present) == plain(&facts) {
            return Ok(());
        }
        return Err(RefreshError::Torch {
            release: release.version.clone(),
            why: format!("[torch.\"{key}\"] says otherwise than its wheels, which say\n{facts}"),
            help: format!("correct the entry in {PATH}"),
        });
    }
    insert_sorted(torch, &key, facts);
    Ok(())
}

/// Inserts a table among others by version; a comment before the first stays there.
fn insert_sorted(tables: &mut Table, key: &str, mut table: Table) {
    let first = |tables: &Table| tables.iter().next().map(|(key, _)| key.to_owned());
    let comment = tables
        .iter_mut()
        .next()
        .and_then(|(_, item)| item.as_table_mut())
        .map(|table| std::mem::replace(table.decor_mut(), Decor::new("\n", "")));
    // The order of keys decides among equal positions.
    let position = tables
        .iter()
        .filter_map(|(_, item)| item.as_table()?.position())
        .min();
    for (_, item) in tables.iter_mut() {
        if let Some(table) = item.as_table_mut() {
            table.set_position(position);
        }
    }
    table.set_position(position);
    table.decor_mut().set_prefix("\n");
    tables.insert(key, Item::Table(table));
    let version = |key: &str| Version::from_str(key).ok();
    tables.sort_values_by(|a, _, b, _| version(a).cmp(&version(b)));
    if let (Some(comment), Some(key)) = (comment, first(tables))
        && let Some(table) = tables.get_mut(&key).and_then(Item::as_table_mut)
    {
        *table.decor_mut() = comment;
    }
}

/// The text of families.toml with the toolkits that a release was built with. A present toolkit
/// stays: code that is compiled with an earlier patch release runs with a later one.
///
/// # Errors
/// `RefreshError::Spec` for a text without the table, `RefreshError::Torch` when its wheels do not
/// say which toolkit.
pub fn add_toolkits(text: &str, release: &TorchRelease) -> Result<String, RefreshError> {
    let mut document: DocumentMut = text
        .parse()
        .map_err(|error| RefreshError::spec(spec::PATH, error))?;
    let toolkits = document
        .get_mut("cuda-toolkit")
        .and_then(Item::as_table_mut)
        .ok_or_else(|| RefreshError::spec(spec::PATH, "no table is called cuda-toolkit"))?;
    for (compute, wanted) in release.toolkits() {
        if toolkits.contains_key(compute) {
            continue;
        }
        let wanted = wanted.ok_or_else(|| RefreshError::Torch {
            release: release.version.clone(),
            why: format!(
                "it was built with CUDA {compute} and does not say with which release of it"
            ),
            help: format!("add \"{compute}\" to [cuda-toolkit] of {}", spec::PATH),
        })?;
        toolkits.insert(compute, toml_edit::value(wanted));
        let version = |key: &toml_edit::Key| Version::from_str(key.get()).ok();
        toolkits.sort_values_by(|a, _, b, _| version(a).cmp(&version(b)));
    }
    Ok(document.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = r#"# A table.
rows = [
    { torch = "2.9.1", backend = "cpu", system = "x86_64-linux", profile = "registry", bundle = true },
    # Newest.
    { torch = "2.11.0", backend = "cpu", system = "x86_64-linux", profile = "registry", bundle = true },
    { torch = "2.11.0", backend = "cpu", system = "aarch64-darwin", profile = "registry", bundle = true },
    { torch = "2.10.0", backend = "cpu", system = "x86_64-linux", profile = "vendor" },
]

[torch."2.11"]
cxx = 17
defines = ["A"]
cuda-defines = []

# Limits.
[policy.manylinux_2_28]
GLIBC = "2.28"
"#;

    fn torch(cuda: Option<&str>) -> TorchWheel {
        TorchWheel {
            cuda: cuda.map(str::to_owned),
            toolkit: cuda.map(|cuda| format!("{cuda}.1")),
            cudart: None,
            cxx_abi: CxxAbi::Cxx11,
            cxx: 20,
            defines: ["B".to_owned(), "A".to_owned()].into(),
            cuda_defines: cuda.map(|_| "C".to_owned()).into_iter().collect(),
        }
    }

    fn release(version: &str) -> TorchRelease {
        TorchRelease {
            version: version.to_owned(),
            wheels: [
                ("x86_64-linux".to_owned(), torch(Some("13.0"))),
                ("aarch64-linux".to_owned(), torch(None)),
                ("aarch64-darwin".to_owned(), torch(None)),
            ]
            .into(),
        }
    }

    #[test]
    fn rows_go_where_their_release_belongs() {
        insta::assert_snapshot!(add(TABLE, &release("2.10.0")).expect("the table"), @r##"
# A table.
rows = [
    { torch = "2.9.1", backend = "cpu", system = "x86_64-linux", profile = "registry", bundle = true },
    { torch = "2.10.0", backend = "cpu", system = "x86_64-linux", profile = "registry", bundle = true },
    { torch = "2.10.0", backend = "cuda", compute = "13.0", system = "x86_64-linux", profile = "registry", bundle = true },
    # Newest.
    { torch = "2.11.0", backend = "cpu", system = "x86_64-linux", profile = "registry", bundle = true },
    { torch = "2.10.0", backend = "cpu", system = "aarch64-darwin", profile = "registry", bundle = false },
    { torch = "2.10.0", backend = "metal", system = "aarch64-darwin", profile = "registry", bundle = false },
    { torch = "2.11.0", backend = "cpu", system = "aarch64-darwin", profile = "registry", bundle = true },
    { torch = "2.10.0", backend = "cpu", system = "aarch64-linux", profile = "registry", bundle = true },
    { torch = "2.10.0", backend = "cpu", system = "x86_64-linux", profile = "vendor" },
]

[torch."2.10"]
cxx = 20
defines = ["A", "B"]
cuda-defines = ["C"]

[torch."2.11"]
cxx = 17
defines = ["A"]
cuda-defines = []

# Limits.
[policy.manylinux_2_28]
GLIBC = "2.28"
"##);
    }

    #[test]
    fn present_rows_and_facts_stay() {
        let once = add(TABLE, &release("2.12.0")).expect("the table");
        assert_eq!(add(&once, &release("2.12.0")).expect("the table"), once);
    }

    #[test]
    fn rows_have_the_abi_of_their_wheel() {
        let mut older = release("2.6.0");
        older.wheels[0].1.cxx_abi = CxxAbi::Cxx98;
        let text = add(TABLE, &older).expect("the table");
        let row = "{ torch = \"2.6.0\", cxx-abi = \"cxx98\", backend = \"cpu\", system = \"x86_64-linux\"";
        assert!(text.contains(row), "{text}");
        // The variant with the other ABI may be beside them.
        let other = text.replace("cxx-abi = \"cxx98\", ", "");
        assert_eq!(
            add(&other, &older).expect("the table").matches(row).count(),
            1
        );
        assert_eq!(add(&text, &older).expect("the table"), text);
    }

    #[test]
    fn rows_that_contradict_the_wheels_are_refused() {
        let why = |text: &str, version| match add(text, &release(version)) {
            Err(RefreshError::Torch { why, .. }) => why,
            other => panic!("{other:?}"),
        };
        assert!(why(TABLE, "2.11.0").contains("[torch.\"2.11\"]"));
        let once = add(TABLE, &release("2.12.0")).expect("the table");
        let other = once.replace("compute = \"13.0\"", "compute = \"13.1\"");
        assert!(why(&other, "2.12.0").contains("says 13.1, its wheel 13.0"));
    }

    #[test]
    fn a_toolkit_is_added_once() {
        let text = "[cuda-toolkit]\n\"13.0\" = \"13.0.0\" # Why.\n\n[[cuda]]\nfrom = \"13.0\"\n";
        let edit = |compute: &str| {
            let mut release = release("2.12.0");
            release.wheels[0].1 = torch(Some(compute));
            add_toolkits(text, &release).expect("the table")
        };
        assert_eq!(edit("13.0"), text);
        let added = "# Why.\n\"13.4\" = \"13.4.1\"\n\n[[cuda]]";
        assert!(edit("13.4").contains(added), "{}", edit("13.4"));
        let added = "\"12.4\" = \"12.4.1\"\n\"13.0\"";
        assert!(edit("12.4").contains(added), "{}", edit("12.4"));
    }
}
