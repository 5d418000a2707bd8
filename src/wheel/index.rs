//! A static index of wheels (PEP 503, 658, 691): pages for pip and uv that any web server can
//! serve, in HTML and in JSON. It is made of the wheels that lie in the folder.

use std::collections::BTreeSet;

use camino::Utf8Path;
use serde_json::{Value, json};

use super::plan::normalized;
use super::{WheelError, read_of_dist_info};
use crate::emit::{MARKER, write};
use crate::file::{replace_file, sha256_of};

/// The end of the mark of generated files.
const MARK_END: &str = " to-wheel --index`";

/// A wheel as an index lists it.
struct ListedWheel {
    file_name: String,
    version: String,
    requires_python: Option<String>,
    sha256: String,
    /// The sha256 of its METADATA, which lies beside it.
    metadata: String,
    size: u64,
}

/// Writes the pages of an index: of every folder with wheels in it, and the list of them. Files
/// of others that have the name of a page are not replaced.
///
/// # Errors
/// `WheelError`
pub fn write_index(index: &Utf8Path) -> Result<(), WheelError> {
    let failed = || WheelError::io(format!("read {index}"));
    let mut projects = BTreeSet::new();
    for entry in index.read_dir_utf8().map_err(failed())? {
        let entry = entry.map_err(failed())?;
        let name = entry.file_name();
        if name == normalized(name) && entry.path().is_dir() {
            let wheels = list_wheels(entry.path())?;
            if !wheels.is_empty() {
                write_project(entry.path(), name, &wheels)?;
                projects.insert(name.to_owned());
            }
        }
    }
    let links = projects
        .iter()
        .map(|name| format!("    <a href=\"{name}/\">{name}</a><br>\n"));
    write_page(index, "Projects", &links.collect::<String>())?;
    let projects = projects.iter().map(|name| json!({ "name": name }));
    let list = json!({ "projects": projects.collect::<Vec<_>>() });
    write_json(index, list)
}

/// The wheels in the folder of a project, in the order of their names. Their METADATA is written
/// beside them.
fn list_wheels(folder: &Utf8Path) -> Result<Vec<ListedWheel>, WheelError> {
    let failed = |path: &Utf8Path| WheelError::io(format!("read {path}"));
    let mut wheels = Vec::new();
    for entry in folder.read_dir_utf8().map_err(failed(folder))? {
        let entry = entry.map_err(failed(folder))?;
        let path = entry.path();
        if path.extension() != Some("whl") {
            continue;
        }
        let text = read_of_dist_info(path, "METADATA")?;
        let field = |name: &str| {
            let headers = text.lines().take_while(|line| !line.is_empty());
            let mut values = headers.filter_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
            values.next().map(str::to_owned)
        };
        let version = field("Version").ok_or_else(|| WheelError::Unreadable {
            path: path.to_owned(),
            why: "its METADATA has no version".to_owned(),
        })?;
        let beside = Utf8Path::new(path).with_extension("whl.metadata");
        replace_file(&beside, text.as_bytes())
            .map_err(WheelError::io(format!("write {beside}")))?;
        wheels.push(ListedWheel {
            file_name: entry.file_name().to_owned(),
            version,
            requires_python: field("Requires-Python"),
            sha256: sha256_of(path).map_err(failed(path))?,
            metadata: sha256_of(&beside).map_err(failed(&beside))?,
            size: path.metadata().map_err(failed(path))?.len(),
        });
    }
    wheels.sort_by(|one, other| one.file_name.cmp(&other.file_name));
    Ok(wheels)
}

/// Writes the page of a project, in both forms.
fn write_project(folder: &Utf8Path, name: &str, wheels: &[ListedWheel]) -> Result<(), WheelError> {
    let mut links = String::new();
    let mut files = Vec::new();
    for wheel in wheels {
        let ListedWheel {
            file_name,
            requires_python,
            sha256,
            metadata,
            size,
            ..
        } = wheel;
        let url = url_of(file_name);
        let python = requires_python.as_ref().map(|text| {
            let text = escaped(text);
            format!(" data-requires-python=\"{text}\"")
        });
        let python = python.unwrap_or_default();
        // NB: the second name is the one of PEP 658, which older pips know.
        links += &format!(
            "    <a href=\"{url}#sha256={sha256}\"{python} data-core-metadata=\"sha256={metadata}\" \
             data-dist-info-metadata=\"sha256={metadata}\">{}</a><br>\n",
            escaped(file_name)
        );
        let hash = json!({ "sha256": metadata });
        let mut file = json!({
            "filename": file_name, "url": url, "hashes": { "sha256": sha256 }, "size": size,
            "core-metadata": hash, "dist-info-metadata": hash,
        });
        if let Some(python) = requires_python {
            file["requires-python"] = python.as_str().into();
        }
        files.push(file);
    }
    write_page(folder, &format!("Links for {name}"), &links)?;
    let versions: BTreeSet<&str> = wheels.iter().map(|wheel| wheel.version.as_str()).collect();
    write_json(
        folder,
        json!({ "name": name, "versions": versions, "files": files }),
    )
}

fn write_page(folder: &Utf8Path, title: &str, links: &str) -> Result<(), WheelError> {
    let page = format!(
        "<!DOCTYPE html><!-- {MARKER}{MARK_END} -->\n<html>\n  <head>\n    <meta charset=\"utf-8\">\n    \
         <meta name=\"pypi:repository-version\" content=\"1.1\">\n    <title>{title}</title>\n  </head>\n  <body>\n\
         {links}  </body>\n</html>\n"
    );
    write(&folder.join("index.html"), &page)?;
    Ok(())
}

/// Writes index.json. NB: keys with an underscore are the index's own (PEP 691).
fn write_json(folder: &Utf8Path, mut page: Value) -> Result<(), WheelError> {
    let mut marked =
        json!({ "_by": format!("{MARKER}{MARK_END}"), "meta": { "api-version": "1.1" } });
    if let (Some(marked), Some(page)) = (marked.as_object_mut(), page.as_object_mut()) {
        marked.append(page);
    }
    write(&folder.join("index.json"), &format!("{marked:#}\n"))?;
    Ok(())
}

/// A file name as part of a URL.
fn url_of(name: &str) -> String {
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-._~".contains(byte);
    let encode = |byte: u8| match is_plain(&byte) {
        true => char::from(byte).to_string(),
        false => format!("%{byte:02X}"),
    };
    name.bytes().map(encode).collect()
}

/// A text in HTML.
fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    text.replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_escaped() {
        assert_eq!(url_of("a-1+b.whl"), "a-1%2Bb.whl");
        assert_eq!(escaped(">=3.9,<\"4\""), "&gt;=3.9,&lt;&quot;4&quot;");
    }
}
