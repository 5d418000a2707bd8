//! The tables of keys in docs/manifest.md, made from the schema.

use serde_json::Value;

/// A section for each table of the format.
pub fn keys(schema: &Value) -> String {
    let mut out = String::new();
    for (name, table) in [
        ("[general]", &schema["properties"]["general"]),
        ("[torch]", &schema["properties"]["torch"]),
        ("[torch-noarch]", &schema["properties"]["torch-noarch"]),
        ("[tvm-ffi]", &schema["properties"]["tvm-ffi"]),
    ] {
        let description = table["description"].as_str().expect("a description");
        out.push_str(&format!("\n### `{name}`\n\n{description}\n\n"));
        rows(&mut out, "", table);
    }
    out.push_str("\n### `[dependencies.<name>]`\n\n");
    let archive = &schema["properties"]["dependencies"]["additionalProperties"];
    let description = archive["description"].as_str().expect("a description");
    out.push_str(&format!(
        "{description} Either `url`, or `package` and `file`.\n\n"
    ));
    rows(&mut out, "", archive);
    out.push_str("\n### `[kernel.<name>]`\n\n");
    out.push_str("What is compiled for one backend; a kernel may have several for each.\n\n");
    let sections = &schema["properties"]["kernel"]["additionalProperties"]["oneOf"];
    let sections = sections.as_array().expect("a choice");
    let common = &sections[0];
    let words: Vec<_> = sections.iter().map(backend).collect();
    out.push_str("| key | type | |\n|---|---|---|\n");
    out.push_str(&format!(
        "| `backend` | required, {} | |\n",
        words.join(", ")
    ));
    let known = |key: &String| common["properties"].get(key).is_some();
    entries(&mut out, "", common, &|key| key != "backend", "");
    for section in sections {
        let only = format!("Only for {}. ", backend(section));
        entries(&mut out, "", section, &|key| !known(key), &only);
    }
    out
}

fn backend(section: &Value) -> String {
    let word = section["properties"]["backend"]["const"].as_str();
    format!("`\"{}\"`", word.expect("a backend"))
}

fn rows(out: &mut String, prefix: &str, table: &Value) {
    out.push_str("| key | type | |\n|---|---|---|\n");
    entries(out, prefix, table, &|_| true, "");
}

fn entries(
    out: &mut String,
    prefix: &str,
    table: &Value,
    wanted: &dyn Fn(&String) -> bool,
    only: &str,
) {
    let required = table["required"].as_array().cloned().unwrap_or_default();
    for (key, value) in table["properties"].as_object().expect("keys") {
        // The other spelling of a key that is in the table already.
        let other_spelling = key.contains('_');
        if !wanted(key) || other_spelling {
            continue;
        }
        if value["properties"].is_object() {
            entries(out, &format!("{prefix}{key}."), value, &|_| true, only);
            continue;
        }
        let needed = if required.contains(&Value::from(key.as_str())) {
            "required, "
        } else {
            ""
        };
        let description = value["description"].as_str().unwrap_or_default();
        let description = description
            .trim_end_matches(" (cuda only).")
            .trim_end_matches('.');
        out.push_str(&format!(
            "| `{prefix}{key}` | {needed}{} | {only}{description}. |\n",
            kind(value)
        ));
    }
}

fn kind(value: &Value) -> String {
    if let Some(number) = value.get("const") {
        return format!("`{number}`");
    }
    if value["anyOf"].is_array() {
        return "version, or table from backends to versions".to_owned();
    }
    let words = |value: &Value| {
        let words = value["enum"].as_array()?;
        let words: Vec<_> = words.iter().map(|word| format!("`{word}`")).collect();
        Some(words.join(", "))
    };
    match value["type"].as_str() {
        Some("array") if value["maxItems"] == 0 => "list, empty so far".to_owned(),
        Some("array") => match (words(&value["items"]), value["items"]["type"].as_str()) {
            (Some(words), _) => format!("list of {words}"),
            (None, Some("object")) => {
                "list of `{ repo-id, version }` or `{ repo-id, revision }`".to_owned()
            }
            _ => "list of strings".to_owned(),
        },
        Some("string") if value["pattern"].as_str().is_some_and(|p| p.contains(r"\.")) => {
            "version".to_owned()
        }
        Some(other) => other.to_owned(),
        None => panic!("no type: {value}"),
    }
}
