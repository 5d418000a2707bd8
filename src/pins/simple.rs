//! Reads pages of a simple index (PEP 503 as a web page, PEP 691 as data): the files that a project
//! has. Downloads nothing.

use serde::Deserialize;

use super::http::{HttpFailure, IndexPage};

/// The `Accept` header of requests: data, else a web page.
pub const ACCEPT: &str = "application/vnd.pypi.simple.v1+json, text/html;q=0.5";

/// One file of a project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedFile {
    pub file: String,
    pub url: String,
    /// Lower-case hex; `None` if the index has no hash, or one of another kind.
    pub sha256: Option<String>,
    /// The reason why its publisher withdrew it, which may be empty (PEP 592).
    pub yanked: Option<String>,
}

/// The files that a project's page lists, in the order of the page.
///
/// # Errors
/// `HttpFailure::Lasting` for data that cannot be read.
pub fn files(page: &IndexPage) -> Result<Vec<ListedFile>, HttpFailure> {
    if page.content_type.contains("json") {
        return files_of_data(page);
    }
    let anchors = page.text.split("<a ").skip(1).map(attributes);
    Ok(anchors
        .filter_map(|anchor| linked_file(page, &anchor))
        .collect())
}

fn files_of_data(page: &IndexPage) -> Result<Vec<ListedFile>, HttpFailure> {
    #[derive(Deserialize)]
    struct ProjectPage {
        files: Vec<PageFile>,
    }
    #[derive(Deserialize)]
    struct PageFile {
        filename: String,
        url: String,
        #[serde(default)]
        hashes: Hashes,
        /// Either a truth value or a reason.
        #[serde(default)]
        yanked: serde_json::Value,
    }
    #[derive(Default, Deserialize)]
    struct Hashes {
        sha256: Option<String>,
    }
    let project: ProjectPage = serde_json::from_str(&page.text)
        .map_err(|error| HttpFailure::Lasting(error.to_string()))?;
    let files = project.files.into_iter();
    Ok(files
        .map(|file| ListedFile {
            file: file.filename,
            url: join(&page.url, &file.url),
            sha256: file.hashes.sha256,
            yanked: match file.yanked {
                serde_json::Value::Bool(true) => Some(String::new()),
                serde_json::Value::String(why) => Some(why),
                _ => None,
            },
        })
        .collect())
}

fn linked_file(page: &IndexPage, anchor: &[(String, String)]) -> Option<ListedFile> {
    let value = |name: &str| {
        let mut same = anchor.iter().filter(|(key, _)| key == name);
        same.next().map(|(_, value)| value.as_str())
    };
    let (link, fragment) = match value("href")?.split_once('#') {
        Some((link, fragment)) => (link, fragment),
        None => (value("href")?, ""),
    };
    let path = link.split('?').next().unwrap_or_default();
    let name = path.rsplit('/').next().unwrap_or_default();
    Some(ListedFile {
        // Links escape only this one of the characters in file names.
        file: name.replace("%2B", "+").replace("%2b", "+"),
        url: join(&page.url, link),
        sha256: fragment.strip_prefix("sha256=").map(str::to_owned),
        yanked: value("data-yanked").map(str::to_owned),
    })
}

/// The attributes of a tag whose name was read already. NB: values may hold `>`.
fn attributes(tag: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut rest = tag.trim_start();
    while !rest.is_empty() && !rest.starts_with('>') {
        let end = rest
            .find(|c: char| c.is_whitespace() || "=>".contains(c))
            .unwrap_or(rest.len());
        let (name, after) = rest.split_at(end);
        let after = after.trim_start();
        let (value, after) = match after.strip_prefix('=').map(str::trim_start) {
            None => ("", after),
            Some(quoted) if quoted.starts_with(['"', '\'']) => {
                let (quote, text) = quoted.split_at(1);
                text.split_once(quote).unwrap_or((text, ""))
            }
            Some(bare) => bare.split_at(
                bare.find(|c: char| c.is_whitespace() || c == '>')
                    .unwrap_or(bare.len()),
            ),
        };
        found.push((name.to_ascii_lowercase(), unescaped(value)));
        rest = after.trim_start();
        // Text that is no attribute, such as a slash, gets an empty name.
        if name.is_empty() && value.is_empty() {
            rest = rest.get(1..).unwrap_or_default();
        }
    }
    found
}

fn unescaped(text: &str) -> String {
    let entities = [
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&quot;", "\""),
        ("&#39;", "'"),
        ("&#x27;", "'"),
        ("&amp;", "&"),
    ];
    let mut text = text.to_owned();
    for (entity, character) in entities {
        text = text.replace(entity, character);
    }
    text
}

/// The URL that a link on a page stands for (RFC 3986, section 5.2), for links as indexes have
/// them.
fn join(base: &str, link: &str) -> String {
    if link.contains("://") {
        return link.to_owned();
    }
    let base = base.split(['?', '#']).next().unwrap_or_default();
    let (scheme, rest) = base.split_once("://").unwrap_or(("https", base));
    if let Some(rest) = link.strip_prefix("//") {
        return format!("{scheme}://{rest}");
    }
    let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let mut folders: Vec<&str> = match link.strip_prefix('/') {
        Some(_) => Vec::new(),
        None => path.split('/').skip(1).collect(),
    };
    // The page itself follows the last slash.
    folders.pop();
    for part in link.trim_start_matches('/').split('/') {
        match part {
            "." => {}
            ".." => {
                folders.pop();
            }
            part => folders.push(part),
        }
    }
    format!("{scheme}://{host}/{}", folders.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(content_type: &str, text: &str) -> Vec<ListedFile> {
        let page = IndexPage {
            url: "https://index.example/simple/a/".to_owned(),
            content_type: content_type.to_owned(),
            text: text.to_owned(),
        };
        files(&page).expect("a page")
    }

    fn listed(file: &str, url: &str, sha256: Option<&str>, yanked: Option<&str>) -> ListedFile {
        ListedFile {
            file: file.to_owned(),
            url: url.to_owned(),
            sha256: sha256.map(str::to_owned),
            yanked: yanked.map(str::to_owned),
        }
    }

    #[test]
    fn links_of_web_pages_are_found() {
        let html = r#"<!DOCTYPE html><html><head><title>Links for a</title></head><body>
            <a href="../../files/a-1%2Bcu-any.whl#sha256=1f" data-requires-python="&gt;=3.9">a-1+cu-any.whl</a><br/>
            <a data-yanked='broken > wrong' href='https://files.example/a-2-any.whl?x=1&amp;y=2'>a-2-any.whl</a>
            <a data-yanked href=a-3-any.whl#md5=2>a-3-any.whl</a><a name="end"></a>"#;
        let expected = [
            listed(
                "a-1+cu-any.whl",
                "https://index.example/files/a-1%2Bcu-any.whl",
                Some("1f"),
                None,
            ),
            listed(
                "a-2-any.whl",
                "https://files.example/a-2-any.whl?x=1&y=2",
                None,
                Some("broken > wrong"),
            ),
            listed(
                "a-3-any.whl",
                "https://index.example/simple/a/a-3-any.whl",
                None,
                Some(""),
            ),
        ];
        assert_eq!(page("text/html", html), expected);
    }

    #[test]
    fn files_of_data_are_found() {
        let json = r#"{"meta": {"api-version": "1.0"}, "name": "a", "files": [
            {"filename": "a-1-any.whl", "url": "/files/a-1-any.whl", "hashes": {"sha256": "1f"}, "yanked": false},
            {"filename": "a-2-any.whl", "url": "a-2-any.whl", "hashes": {}, "yanked": "broken"},
            {"filename": "a-3-any.whl", "url": "a-3-any.whl", "hashes": {}, "yanked": true}
        ]}"#;
        let base = "https://index.example/simple/a";
        let expected = [
            listed(
                "a-1-any.whl",
                "https://index.example/files/a-1-any.whl",
                Some("1f"),
                None,
            ),
            listed(
                "a-2-any.whl",
                &format!("{base}/a-2-any.whl"),
                None,
                Some("broken"),
            ),
            listed(
                "a-3-any.whl",
                &format!("{base}/a-3-any.whl"),
                None,
                Some(""),
            ),
        ];
        assert_eq!(page("application/vnd.pypi.simple.v1+json", json), expected);
    }

    #[test]
    fn an_unfinished_page_ends() {
        assert!(page("text/html", "<a href=\"a.whl").len() <= 1);
        assert!(page("text/html", "<a / = ").is_empty());
    }

    #[test]
    fn links_are_relative_to_their_page() {
        let base = "http://index.example:8080/mirror/simple/a/";
        for (link, joined) in [
            ("a.whl", "http://index.example:8080/mirror/simple/a/a.whl"),
            ("../../b/a.whl", "http://index.example:8080/mirror/b/a.whl"),
            ("/b/a.whl", "http://index.example:8080/b/a.whl"),
            ("//c.example/a.whl", "http://c.example/a.whl"),
            ("https://c.example/a.whl", "https://c.example/a.whl"),
        ] {
            assert_eq!(join(base, link), joined);
        }
    }
}
