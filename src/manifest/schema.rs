//! The JSON Schema of edition 5, for editors. Keys, types and descriptions come from the types that
//! the reader fills (their field names and doc comments); this module adds the rules that a Rust
//! type does not express. tests/schema proves that schema and reader agree.
//!
//! Draft 7 and without references, because taplo (Even Better TOML) handles this form best.

use std::borrow::Cow;

use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value, json};

use super::framework::StableAbi;
use super::section::{WrittenBackend, WrittenSection};
use super::v5::{BackendOptions, BuildToml, EDITION, WrittenKernelDependency};
use super::value::Spanned;
use crate::version::Version;
use crate::words::Backend;
use crate::words::{python_depends, rocm_arch};

/// The JSON Schema of a build.toml of edition 5.
pub fn schema() -> Value {
    let settings = SchemaSettings::draft07().with(|settings| {
        settings.inline_subschemas = true;
        let plain = RecursiveTransform(without_null as fn(&mut Schema));
        settings.transforms.push(Box::new(plain));
    });
    let mut schema = settings
        .into_generator()
        .into_root_schema_for::<BuildToml>();
    schema.insert("title".to_owned(), json!("build.toml, edition 5"));
    schema.to_value()
}

/// TOML has no null: a key is there or not. Editors do not use the width of an integer either.
fn without_null(schema: &mut Schema) {
    schema.remove("format");
    if let Some(Value::Array(types)) = schema.get_mut("type") {
        types.retain(|word| word != "null");
        if let [one] = &types[..] {
            let one = one.clone();
            schema.insert("type".to_owned(), one);
        }
    }
    if let Some(Value::Array(values)) = schema.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
    if let Some(Value::Array(choices)) = schema.get_mut("anyOf") {
        choices.retain(|choice| choice["type"] != "null");
        if let [Value::Object(one)] = &choices[..] {
            let one = one.clone();
            schema.remove("anyOf");
            for (key, value) in one {
                let object = schema.ensure_object();
                // A field's own description goes before its type's.
                object.entry(key).or_insert(value);
            }
        }
    }
}

impl<T: JsonSchema> JsonSchema for Spanned<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        T::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        T::json_schema(generator)
    }
}

/// Every version in edition 5 names a minor release: two components.
impl JsonSchema for Version {
    fn schema_name() -> Cow<'static, str> {
        Cow::Borrowed("Version")
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "pattern": r"^\s*(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\s*$",
        })
    }
}

impl JsonSchema for StableAbi {
    fn schema_name() -> Cow<'static, str> {
        Cow::Borrowed("StableAbi")
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let version = Version::json_schema(generator);
        let backends = Backend::ALL.iter();
        let versions: Map<_, _> = backends
            .map(|backend| (backend.to_string(), version.clone().to_value()))
            .collect();
        json_schema!({
            "anyOf": [
                version,
                { "type": "object", "properties": versions, "additionalProperties": false },
            ],
        })
    }
}

impl JsonSchema for WrittenKernelDependency {
    fn schema_name() -> Cow<'static, str> {
        Cow::Borrowed("KernelDependency")
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "object",
            "description": "Another kernel needed at run time, with either a version or a revision.",
            "properties": {
                "repo-id": { "type": "string", "description": "Organisation and name on the Hub." },
                "version": {
                    "type": "integer",
                    "minimum": 0,
                    "description": "The newest build of this interface version.",
                },
                "revision": { "type": "string", "description": "A branch, tag or commit." },
            },
            "required": ["repo-id"],
            "oneOf": [{ "required": ["version"] }, { "required": ["revision"] }],
            "additionalProperties": false,
        })
    }
}

/// The file: exactly one framework section, and kernel sections only where a framework compiles.
pub(super) fn whole(schema: &mut Schema) {
    schema.insert("required".to_owned(), json!(["general"]));
    let frameworks = ["torch", "torch-noarch", "tvm-ffi"];
    let one = frameworks.map(|name| json!({ "required": [name] }));
    schema.insert("oneOf".to_owned(), json!(one));
}

/// `[general]`: the edition, which is read before the rest, and the keys that must be there.
pub(super) fn general(schema: &mut Schema) {
    let required = ["name", "version", "edition", "license", "backends"];
    schema.insert("required".to_owned(), json!(required));
    let edition = json!({
        "type": "integer",
        "const": EDITION,
        "description": "The format that this file follows.",
    });
    properties(schema, |properties| {
        properties.insert("edition".to_owned(), edition);
        if let Some(list) = properties.get_mut("python-depends") {
            words(list, &python_names(None));
        }
    });
}

/// `[torch-noarch]`: keys that are read in two spellings.
pub(super) fn both_spellings(schema: &mut Schema) {
    properties(schema, |properties| {
        for key in ["cuda-capabilities", "rocm-archs"] {
            if let Some(value) = properties.get(key).cloned() {
                properties.insert(key.replace('-', "_"), value);
            }
        }
    });
}

/// NVIDIA capabilities: a number, its restriction, and PTX. The toolkits decide which capabilities
/// exist.
pub(super) fn capabilities(schema: &mut Schema) {
    elements(
        schema,
        "pattern",
        json!(r"^[1-9][0-9]?\.[0-9][af]?(\+PTX)?$"),
    );
}

/// AMD architectures.
pub(super) fn architectures(schema: &mut Schema) {
    elements(schema, "enum", json!(rocm_arch::KNOWN));
}

/// Sets a rule for each element of a list.
fn elements(schema: &mut Schema, word: &str, rule: Value) {
    if let Some(Value::Object(items)) = schema.get_mut("items") {
        items.insert(word.to_owned(), rule);
    }
}

/// `[general.cuda]`
pub(super) fn cuda_options(generator: &mut SchemaGenerator) -> Schema {
    options(generator, Backend::Cuda, &[])
}

/// `[general.neuron]`
pub(super) fn neuron_options(generator: &mut SchemaGenerator) -> Schema {
    options(generator, Backend::Neuron, &["minver", "maxver"])
}

/// `[general.tpu]`
pub(super) fn tpu_options(generator: &mut SchemaGenerator) -> Schema {
    options(
        generator,
        Backend::Tpu,
        &["minver", "maxver", "kernel-depends"],
    )
}

/// `[general.xpu]`
pub(super) fn xpu_options(generator: &mut SchemaGenerator) -> Schema {
    options(generator, Backend::Xpu, &["minver", "maxver"])
}

fn options(generator: &mut SchemaGenerator, backend: Backend, without: &[&str]) -> Schema {
    let mut schema = BackendOptions::json_schema(generator);
    schema.remove("description");
    properties(&mut schema, |properties| {
        for key in without {
            properties.remove(*key);
        }
        if let Some(list) = properties.get_mut("python-depends") {
            words(list, &python_names(Some(backend)));
        }
    });
    schema
}

/// `[kernel]`: any name, and for each backend the common keys and its own.
pub(super) fn sections(generator: &mut SchemaGenerator) -> Schema {
    let mut common = WrittenSection::json_schema(generator);
    let mut own = WrittenBackend::json_schema(generator);
    let required = common.remove("required").unwrap_or_default();
    let common = common.remove("properties").unwrap_or_default();
    let mut choices = own.remove("oneOf").unwrap_or_default();
    for choice in choices.as_array_mut().into_iter().flatten() {
        if let (Some(own), Some(common)) =
            (choice["properties"].as_object_mut(), common.as_object())
        {
            own.extend(common.clone());
        }
        if let (Some(own), Some(common)) = (choice["required"].as_array_mut(), required.as_array())
        {
            own.extend(common.iter().cloned());
        }
        choice["additionalProperties"] = json!(false);
    }
    json_schema!({
        "type": "object",
        "propertyNames": { "pattern": "^[A-Za-z0-9_.+][A-Za-z0-9_.+-]*$" },
        "additionalProperties": { "oneOf": choices },
    })
}

fn python_names(backend: Option<Backend>) -> Vec<String> {
    let known = python_depends::known_packages(backend).iter();
    known.map(|package| package.name.to_owned()).collect()
}

/// Limits the elements of a list to words. Without words, the list must be empty.
fn words(list: &mut Value, words: &[String]) {
    match words {
        [] => list["maxItems"] = json!(0),
        words => list["items"]["enum"] = json!(words),
    }
}

/// Lets `edit` change the keys of a table.
fn properties(schema: &mut Schema, edit: impl FnOnce(&mut Map<String, Value>)) {
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        edit(properties);
    }
}
