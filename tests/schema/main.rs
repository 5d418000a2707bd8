//! The JSON Schema of build.toml and the reader agree: on files, on the keys of every table and on
//! their types.

#[path = "../diagnostics/cases.rs"]
mod cases;
#[path = "../diagnostics/fixture.rs"]
mod fixture;
mod page;
mod validator;

use std::collections::BTreeSet;

use camino::Utf8Path;
use kernel_builder::manifest::Manifest;
use kernel_builder::manifest::schema::schema;
use kernel_builder::problem::{Problem, code};
use serde_json::{Map, Value, json};

use self::cases::{GENERAL, SECTIONS, SHAPE, WIDE_CASES};
use self::fixture::{Fixture, RELU, WIDE};
use self::validator::is_valid;

/// The file in docs/, for those who do not run the program; `UPDATE_GOLDEN=1` writes it.
#[test]
fn the_schema_is_golden() {
    let path = Utf8Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/build.schema.json");
    let text = format!("{:#}\n", schema());
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, &text).expect("write the golden file");
    }
    let expected = std::fs::read_to_string(&path).expect("a golden file");
    assert!(
        text == expected,
        "docs/build.schema.json is not what `kernel-builder schema` prints"
    );
}

#[test]
fn the_page_lists_every_key() {
    let path = Utf8Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/manifest.md");
    let page = std::fs::read_to_string(&path).expect("a page");
    let (head, old) = page
        .split_once("types in src/manifest. -->\n")
        .expect("the mark");
    let keys = page::keys(&schema());
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        let page = format!("{head}types in src/manifest. -->\n{keys}");
        std::fs::write(&path, page).expect("write the page");
    } else {
        assert!(
            old == keys,
            "docs/manifest.md is not up to date: UPDATE_GOLDEN=1 writes it"
        );
    }
}

#[test]
fn what_the_reader_accepts_the_schema_accepts() {
    let schema = schema();
    let mut edition_5 = 0;
    for (name, text) in files() {
        let Ok(value) = toml::from_str::<Value>(&text) else {
            continue;
        };
        let read = Manifest::read("build.toml", text.as_bytes());
        if value["general"]["edition"] != 5 || read.problems.has_errors() {
            continue;
        }
        // Some values only the checks after the reader refuse; those the schema may refuse as well.
        let (kernel, _) = Fixture::new().check(text.as_bytes());
        if kernel.is_some() || name.contains("valid") {
            assert!(is_valid(&schema, &value), "{name}");
            edition_5 += 1;
        }
    }
    assert!(edition_5 >= 2, "{edition_5} files");
}

/// build.toml of the examples and of the corpus.
fn files() -> Vec<(String, String)> {
    let root = Utf8Path::new(env!("CARGO_MANIFEST_DIR"));
    let corpus = root.join("tests/corpus");
    let mut files = vec![
        ("relu of the tests, valid".to_owned(), RELU.to_owned()),
        ("wide of the tests, valid".to_owned(), WIDE.to_owned()),
    ];
    for example in ["img2gray", "relu"] {
        let path = root.join("examples").join(example).join("build.toml");
        let text = std::fs::read_to_string(path).expect("an example");
        files.push((format!("{example}, valid"), text));
    }
    for entry in corpus.read_dir_utf8().into_iter().flatten() {
        let path = entry.expect("an entry").into_path();
        if let Ok(text) = std::fs::read_to_string(&path) {
            files.push((path.to_string(), text));
        }
    }
    files
}

/// A mistake in the form of a file is one in the schema too. What is more than form (a path that
/// does not exist) only the reader knows.
#[test]
fn mistakes_of_form_are_found_by_the_schema() {
    let schema = schema();
    let good: Value = toml::from_str(RELU).expect("TOML");
    assert!(is_valid(&schema, &good));
    let mut checked = 0;
    for (name, from, to) in SHAPE {
        if let Ok(value) = toml::from_str::<Value>(&RELU.replacen(from, to, 1)) {
            assert!(!is_valid(&schema, &value), "{name}");
            checked += 1;
        }
    }
    assert!(checked >= 20, "{checked} cases");
    let of_relu = [GENERAL, SECTIONS]
        .concat()
        .into_iter()
        .map(|case| (RELU, case));
    let of_wide = WIDE_CASES.iter().map(|case| (WIDE, *case));
    let found = of_relu.chain(of_wide).filter(|(good, (name, from, to))| {
        let text = good.replacen(from, to, 1);
        let value: Value = toml::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
        !is_valid(&schema, &value)
    });
    let found: Vec<_> = found.map(|(_, (name, ..))| name).collect();
    assert!(
        found.contains(&"kernel-name") && found.contains(&"rocm-arch"),
        "{found:?}"
    );
}

/// Every table of the format: where it stands in a file, and its schema.
fn tables() -> Vec<(Vec<String>, Value)> {
    let schema = schema();
    let mut tables = Vec::new();
    collect(&schema, &mut Vec::new(), &mut tables);
    tables
}

fn collect(schema: &Value, path: &mut Vec<String>, tables: &mut Vec<(Vec<String>, Value)>) {
    if !schema.is_object() {
        return;
    }
    if let Some(keys) = schema["properties"].as_object() {
        tables.push((path.clone(), schema.clone()));
        for (key, value) in keys {
            path.push(key.clone());
            collect(value, path, tables);
            path.pop();
        }
    }
    for choice in ["anyOf", "oneOf"]
        .iter()
        .filter_map(|word| schema[word].as_array())
        .flatten()
    {
        collect(choice, path, tables);
    }
    // A list of tables, and a table of tables with any name.
    for (word, name) in [("items", "0"), ("additionalProperties", "x")] {
        path.push(name.to_owned());
        collect(&schema[word], path, tables);
        path.pop();
    }
}

/// A file that holds only `table` at `path`, and the edition.
fn file(path: &[String], table: Map<String, Value>) -> String {
    let mut value = Value::Object(table);
    for key in path.iter().rev() {
        value = match key.as_str() {
            "0" => json!([value]),
            key => json!({ key: value }),
        };
    }
    value["general"]["edition"] = json!(5);
    toml::to_string(&value).expect("TOML")
}

/// The keys that a section needs to be recognised, where it has some.
fn tag(table: &Value) -> Map<String, Value> {
    let backend = &table["properties"]["backend"]["const"];
    let tag = backend
        .as_str()
        .map(|backend| ("backend".to_owned(), json!(backend)));
    tag.into_iter().collect()
}

fn read(text: &str) -> Vec<Problem> {
    let manifest = Manifest::read("build.toml", text.as_bytes());
    manifest.problems.iter().cloned().collect()
}

#[test]
fn tables_have_the_same_keys() {
    let tables = tables();
    let sections = tables
        .iter()
        .filter(|(path, _)| path.first().is_some_and(|p| p == "kernel"));
    assert_eq!(sections.count(), 5);
    assert!(tables.len() >= 17, "{}", tables.len());
    for (path, table) in tables {
        let mut content = tag(&table);
        content.insert("zzzzzzzzzz".to_owned(), json!(1));
        let text = file(&path, content);
        let problems = read(&text);
        // The words of a per-backend table are values to the reader.
        let unknown = |p: &&Problem| [code::UNKNOWN_KEY, code::UNKNOWN_VALUE].contains(&p.code);
        let problem = problems.iter().find(unknown);
        let problem = problem.unwrap_or_else(|| panic!("the reader accepts any key:\n{text}"));
        let allowed = problem
            .help
            .strip_prefix("allowed are: ")
            .expect("the keys");
        let allowed: BTreeSet<&str> = allowed.split(", ").collect();
        let keys = table["properties"].as_object().expect("keys");
        let keys: BTreeSet<&str> = keys.keys().map(String::as_str).collect();
        assert_eq!(allowed, keys, "{path:?}");
        assert_eq!(table["additionalProperties"], json!(false), "{path:?}");
    }
}

/// Most keys take no boolean, and the others take no number, so both must refuse it; and each key
/// must be described, in words of its own.
#[test]
fn keys_have_the_same_types() {
    let mut keys = 0;
    for (path, table) in tables() {
        for (key, schema) in table["properties"].as_object().expect("keys") {
            let wrong = match schema["type"] == "boolean" {
                true => json!(1),
                false => json!(true),
            };
            assert!(!is_valid(schema, &wrong), "{path:?} {key}");
            if key == "general" || key == "edition" {
                continue;
            }
            let mut content = tag(&table);
            content.insert(key.clone(), wrong);
            let text = file(&path, content);
            let is_refused =
                |p: &Problem| p.code == code::WRONG_TYPE && p.place.key.ends_with(key.as_str());
            assert!(
                read(&text).iter().any(is_refused),
                "the reader accepts:\n{text}"
            );
            if !path.ends_with(&["stable-abi".to_owned()]) && key != "backend" {
                assert!(
                    schema["description"].is_string(),
                    "{path:?} {key} has no description"
                );
            }
            keys += 1;
        }
    }
    assert!(keys >= 70, "{keys}");
}

/// A required key is one that the reader misses, and the other way round.
#[test]
fn tables_require_the_same_keys() {
    for (path, table) in tables() {
        let required = table["required"].as_array().map_or(&[][..], Vec::as_slice);
        let required: BTreeSet<&str> = required.iter().filter_map(Value::as_str).collect();
        let text = file(&path, tag(&table));
        let problems = read(&text);
        let here = key_path(&path);
        let missing = problems.iter().filter(|p| p.code == code::MISSING_KEY);
        let missing = missing.filter_map(|p| p.place.key.strip_prefix(&here));
        let missing: BTreeSet<&str> = missing
            .map(|key| key.trim_start_matches('.'))
            .filter(|key| !key.contains('.'))
            .collect();
        // Without these there is no table of this kind to read.
        let known = ["general", "edition", "backend"];
        let required: BTreeSet<&str> = required
            .iter()
            .copied()
            .filter(|key| !known.contains(key))
            .collect();
        assert_eq!(missing, required, "{path:?}\n{text}");
    }
}

/// `general.kernel-depends[0]`
fn key_path(path: &[String]) -> String {
    path.join(".").replace(".0", "[0]")
}
