//! `list-variants`: what a kernel is built for, without asking Nix.

use camino::Utf8Path;

use super::{CommandError, prepare, print};

pub fn run(path: &Utf8Path, json: bool) -> Result<(), CommandError> {
    let prepared = prepare::prepare(path)?;
    let names: Vec<&str> = prepared
        .matrix
        .variants
        .iter()
        .map(|variant| variant.name.as_str())
        .collect();
    if json {
        return print(&format!("{:#}\n", serde_json::json!(names)));
    }
    print(
        &names
            .iter()
            .map(|name| format!("{name}\n"))
            .collect::<String>(),
    )
}
