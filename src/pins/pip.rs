//! Wheels from the index that the machine's own pip is configured with: its mirrors, proxies and certificates.

use std::process::{Command, Stdio};

use camino::{Utf8Path, Utf8PathBuf};
use serde::Deserialize;

use super::http::{Client, Failure, Page};
use super::{Archive, PinError};

const SETTINGS: &str = include_str!("pip_settings.py");

/// Of a project's page: as data, else as a web page.
const ACCEPT: &str = "application/vnd.pypi.simple.v1+json, text/html;q=0.5";

/// pip's indexes, read without pip: parts of wheels and unfinished downloads are what it cannot fetch.
#[derive(Debug)]
pub struct Indexes {
    pub client: Client,
    urls: Vec<String>,
}

#[derive(Deserialize)]
struct Settings {
    indexes: Vec<String>,
    cert: Option<Utf8PathBuf>,
    proxy: Option<String>,
}

impl Indexes {
    /// Those of pip's configuration.
    ///
    /// # Errors
    /// `PinError::Program` where there is no Python, `PinError::Download` where there is no pip or its settings are wrong.
    pub fn of_pip() -> Result<Self, PinError> {
        let mut command = python()?;
        command.args(["-c", SETTINGS]);
        let output = run(command, "pip's configuration")?;
        let failed = |why: String| PinError::Download {
            name: "pip's configuration".to_owned(),
            why,
            help: "look at `pip config list`".to_owned(),
        };
        let settings: Settings =
            serde_json::from_slice(&output).map_err(|error| failed(error.to_string()))?;
        let client =
            Client::new(settings.cert.as_deref(), settings.proxy.as_deref()).map_err(failed)?;
        Ok(Self {
            client,
            urls: settings.indexes,
        })
    }

    /// The URL of a wheel, in the first index that lists it.
    ///
    /// # Errors
    /// In words, with what each index said.
    pub fn find(&self, archive: &Archive) -> Result<String, String> {
        let mut tried = Vec::new();
        for index in &self.urls {
            let url = format!("{}/{}/", index.trim_end_matches('/'), archive.name);
            let page = self.client.page(&url, ACCEPT).map_err(Failure::why);
            match page.and_then(|page| link(&page, &archive.file)) {
                Ok(url) => return Ok(url),
                Err(why) => tried.push(format!("{}: {why}", without_password(&url))),
            }
        }
        if tried.is_empty() {
            tried.push("pip is configured to use no index".to_owned());
        }
        Err(tried.join("; "))
    }
}

/// An URL as it may be shown.
pub fn without_password(url: &str) -> String {
    match url.split_once("://") {
        Some((scheme, rest)) => {
            let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
            let host = host.rsplit('@').next().unwrap_or(host);
            format!("{scheme}://{host}{path}")
        }
        None => url.to_owned(),
    }
}

/// The URL of a file that a project's page lists (PEP 503 and PEP 691).
fn link(page: &Page, file: &str) -> Result<String, String> {
    #[derive(Deserialize)]
    struct Project {
        files: Vec<Listed>,
    }
    #[derive(Deserialize)]
    struct Listed {
        filename: String,
        url: String,
    }
    let found = if page.content_type.contains("json") {
        let project: Project =
            serde_json::from_str(&page.text).map_err(|error| error.to_string())?;
        let listed = project.files.into_iter();
        listed
            .filter(|listed| listed.filename == file)
            .map(|listed| listed.url)
            .next()
    } else {
        let links = page.text.split("href=").skip(1).filter_map(|rest| {
            let quote = rest.chars().next().filter(|quote| "\"'".contains(*quote))?;
            rest[1..].split(quote).next()
        });
        links.map(|link| link.replace("&amp;", "&")).find(|link| {
            let path = link.split(['#', '?']).next().unwrap_or_default();
            let name = path.rsplit('/').next().unwrap_or_default();
            name.replace("%2B", "+").replace("%2b", "+") == file
        })
    };
    let found = found.ok_or_else(|| format!("it does not list {file}"))?;
    let found = found.split('#').next().unwrap_or_default();
    Ok(join(&page.url, found))
}

/// What a link on a page means (RFC 3986, section 5.2), for links as indexes have them.
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
    // What follows the last slash is the page itself.
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

/// Downloads one wheel to `dir` with pip itself, which knows more ways than the rest of this program: folders of wheels,
/// credentials. pip's temporary files lie there too, so that the folder's size shows progress.
///
/// # Errors
/// `PinError::Program` where there is no pip, `PinError::Download` with pip's own words.
pub fn download(archive: &Archive, dir: &Utf8Path) -> Result<(), PinError> {
    let mut command = python()?;
    command.args([
        "-m",
        "pip",
        "download",
        "--quiet",
        "--disable-pip-version-check",
        "--no-input",
    ]);
    command.args([
        "--no-deps",
        "--no-cache-dir",
        "--only-binary",
        ":all:",
        "--dest",
        dir.as_str(),
    ]);
    command.args(platform_arguments(&archive.file));
    command.arg(format!("{}=={}", archive.name, archive.version));
    command.env("TMPDIR", dir);
    run(command, &archive.file).map(drop)
}

fn python() -> Result<Command, PinError> {
    let program = which::which("python3").map_err(|_| PinError::Program {
        program: "python3",
        what: "the Python wheels that hold torch and CUDA",
        help: "install Python and pip, e.g. `apt-get install python3-pip`",
    })?;
    Ok(Command::new(program))
}

/// Runs a Python program and returns what it printed.
fn run(mut command: Command, file: &str) -> Result<Vec<u8>, PinError> {
    let output = command
        .stdin(Stdio::null())
        .output()
        .map_err(PinError::io("start", "python3"))?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    Err(PinError::download(file, &output, |why| {
        if why.contains("No module named pip") {
            "install pip, e.g. `apt-get install python3-pip`"
        } else {
            "check the network and pip's configuration (`pip config list`); then run the command again: what was \
             fetched is kept"
        }
    }))
}

/// pip's words for "the wheel of this name": its Python, ABI and platform tags (PEP 427, PEP 425).
fn platform_arguments(file: &str) -> Vec<String> {
    let stem = file.strip_suffix(".whl").unwrap_or(file);
    let tags: Vec<&str> = stem.rsplitn(4, '-').collect();
    let [platforms, abi, python, _] = tags[..] else {
        return Vec::new();
    };
    let mut arguments = Vec::new();
    if let Some(version) = python.strip_prefix("cp") {
        arguments
            .extend(["--implementation", "cp", "--python-version", version].map(str::to_owned));
        arguments.extend(["--abi".to_owned(), abi.to_owned()]);
    }
    for platform in platforms.split('.').filter(|platform| *platform != "any") {
        arguments.extend(["--platform".to_owned(), platform.to_owned()]);
    }
    arguments
}

#[cfg(test)]
mod tests {
    use super::{Page, join, link, platform_arguments, without_password};

    #[test]
    fn tags_of_a_wheel_become_arguments() {
        let torch =
            platform_arguments("torch-2.11.0-cp311-cp311-manylinux_2_28_x86_64.whl").join(" ");
        assert_eq!(
            torch,
            "--implementation cp --python-version 311 --abi cp311 --platform manylinux_2_28_x86_64"
        );
        let several =
            platform_arguments("a_b-1-py3-none-manylinux2014_x86_64.manylinux_2_17_x86_64.whl")
                .join(" ");
        assert_eq!(
            several,
            "--platform manylinux2014_x86_64 --platform manylinux_2_17_x86_64"
        );
        assert!(platform_arguments("a-1-py3-none-any.whl").is_empty());
    }

    #[test]
    fn links_of_both_kinds_of_page_are_found() {
        let page = |content_type: &str, text: &str| Page {
            url: "https://index.example/simple/a/".to_owned(),
            content_type: content_type.to_owned(),
            text: text.to_owned(),
        };
        let html = page(
            "text/html",
            r#"<a href="../../files/a-1%2Bcu-any.whl#sha256=1" data-x="&gt;">a-1+cu-any.whl</a>
               <a href='https://files.example/a-2-any.whl?x=1&amp;y=2'>a-2-any.whl</a>"#,
        );
        let found = link(&html, "a-1+cu-any.whl").expect("a link");
        assert_eq!(found, "https://index.example/files/a-1%2Bcu-any.whl");
        let found = link(&html, "a-2-any.whl").expect("a link");
        assert_eq!(found, "https://files.example/a-2-any.whl?x=1&y=2");
        assert!(link(&html, "a-3-any.whl").is_err());
        let json = page(
            "application/vnd.pypi.simple.v1+json",
            r#"{"files": [{"filename": "a-1-any.whl", "url": "/files/a-1-any.whl", "hashes": {}}]}"#,
        );
        let found = link(&json, "a-1-any.whl").expect("a link");
        assert_eq!(found, "https://index.example/files/a-1-any.whl");
    }

    #[test]
    fn links_are_relative_to_their_page() {
        let base = "http://index.example:8080/root/simple/a/";
        for (link, joined) in [
            ("a.whl", "http://index.example:8080/root/simple/a/a.whl"),
            ("../../b/a.whl", "http://index.example:8080/root/b/a.whl"),
            ("/b/a.whl", "http://index.example:8080/b/a.whl"),
            ("//c.example/a.whl", "http://c.example/a.whl"),
            ("https://c.example/a.whl", "https://c.example/a.whl"),
        ] {
            assert_eq!(join(base, link), joined);
        }
    }

    #[test]
    fn passwords_are_not_shown() {
        let shown = without_password("https://user:secret@index.example/simple/a@b/");
        assert_eq!(shown, "https://index.example/simple/a@b/");
        assert_eq!(
            without_password("https://index.example"),
            "https://index.example"
        );
    }
}
