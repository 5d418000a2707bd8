//! Fetches wheels from the index that the machine's own pip is configured with: its mirrors,
//! proxies and certificates.

use std::collections::BTreeMap;
use std::process::{Command, Output, Stdio};
use std::sync::Arc;

use camino::{Utf8Path, Utf8PathBuf};
use serde::{Deserialize, Serialize};

use super::error::IndexError;
use super::http::{HttpClient, HttpFailure};
use super::program::{ProgramBounds, folder_size, run_watched};
use super::silence::{Question, SourceWatch};
use super::simple::{self, ListedFile};
use super::{Archive, PinError};

/// The name of pip among the sources of a run.
pub const SOURCE: &str = "pip";

const SETTINGS: &str = include_str!("pip_settings.py");
const REQUIREMENTS: &str = include_str!("pip_requirements.py");
const RESOLVE: &str = include_str!("pip_resolve.py");

/// pip's indexes, read without pip: pip neither fetches parts of wheels nor continues an unfinished
/// download.
#[derive(Debug)]
pub struct PipIndexes {
    pub client: HttpClient,
    urls: Vec<String>,
    /// Whether pip also has folders or pages of files.
    has_links: bool,
}

#[derive(Deserialize)]
struct PipSettings {
    indexes: Vec<String>,
    cert: Option<Utf8PathBuf>,
    proxy: Option<String>,
    links: bool,
}

impl PipIndexes {
    /// The indexes of pip's configuration. `watch` knows which servers answer.
    ///
    /// # Errors
    /// `PinError::Program` where there is no Python, `PinError::Download` where there is no pip or
    /// its settings are wrong.
    pub fn configured(watch: Arc<SourceWatch>) -> Result<Self, PinError> {
        let mut command = python()?;
        command.args(["-c", SETTINGS]);
        let output = run(command, "pip's configuration")?;
        let failed = |why: String| PinError::Download {
            name: "pip's configuration".to_owned(),
            why,
            help: "look at `pip config list`".to_owned(),
        };
        let settings: PipSettings =
            serde_json::from_slice(&output).map_err(|error| failed(error.to_string()))?;
        let (cert, proxy) = (settings.cert.as_deref(), settings.proxy.as_deref());
        let client =
            HttpClient::new(cert, proxy, watch).map_err(|error| failed(error.to_string()))?;
        Ok(Self {
            client,
            urls: settings.indexes,
            has_links: settings.links,
        })
    }

    /// The URL of a wheel, in the first index that lists it.
    ///
    /// # Errors
    /// `IndexError::Http` if all indexes are given up, otherwise `IndexError::NotListed` or
    /// `IndexError::Unusable` with the words of each index.
    pub fn find(&self, archive: &Archive) -> Result<String, IndexError> {
        let mut tried = Vec::new();
        let mut silent = Vec::new();
        let mut is_usable = true;
        for (url, page) in self.pages(&archive.name) {
            let listed =
                page.map(|files| files.into_iter().find(|listed| listed.file == archive.file));
            match listed {
                Ok(Some(listed)) => return Ok(listed.url),
                Ok(None) => tried.push(format!("{url}: it does not list {}", archive.file)),
                Err(HttpFailure::Silent(why)) => silent.push(why),
                Err(failure) => {
                    is_usable &= failure.is_for_pip();
                    tried.push(format!("{url}: {failure}"));
                }
            }
        }
        if tried.is_empty() && !silent.is_empty() {
            return Err(HttpFailure::Silent(silent.join("; ")).into());
        }
        tried.extend(silent);
        if tried.is_empty() {
            tried.push("pip is configured to use no index".to_owned());
        }
        Err(match is_usable {
            true => IndexError::NotListed(tried),
            false => IndexError::Unusable(tried),
        })
    }

    /// Whether pip may have a file although an index does not answer.
    pub fn has_links(&self) -> bool {
        self.has_links
    }

    /// The files of a project on all indexes, the first index's first; `None` if no index has the
    /// project.
    ///
    /// # Errors
    /// `IndexError::Page` if an index did not answer: it may have files that the others lack.
    pub fn files(&self, project: &str) -> Result<Option<Vec<ListedFile>>, IndexError> {
        let mut all: Option<Vec<ListedFile>> = None;
        for (url, page) in self.pages(project) {
            match page {
                Ok(files) => {
                    let all = all.get_or_insert_default();
                    for file in files {
                        if !all.iter().any(|known| known.file == file.file) {
                            all.push(file);
                        }
                    }
                }
                Err(HttpFailure::Missing(_)) => {}
                Err(failure) => return Err(IndexError::Page { url, failure }),
            }
        }
        Ok(all)
    }

    /// The pages of a project, one of each index, with the URL to show for it.
    fn pages(
        &self,
        project: &str,
    ) -> impl Iterator<Item = (String, Result<Vec<ListedFile>, HttpFailure>)> {
        self.urls.iter().map(move |index| {
            let url = format!("{}/{project}/", index.trim_end_matches('/'));
            let page = self.client.page(&url, simple::ACCEPT);
            let files = page.and_then(|page| simple::files(&page));
            (without_password(&url), files)
        })
    }
}

/// An URL without user name and password, for messages.
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

/// Downloads one wheel to `dir` with pip itself, which knows more ways than the rest of this
/// program: folders of wheels, credentials. pip's temporary files lie there too, so that the
/// folder's size shows progress. `question` is the question to pip. Without
/// `asks_indexes`, pip looks only where else it is configured to.
///
/// # Errors
/// `PinError::Program` where there is no pip, `PinError::Download` with pip's own words.
pub fn download(
    archive: &Archive,
    dir: &Utf8Path,
    asks_indexes: bool,
    question: &Question<'_>,
) -> Result<(), PinError> {
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
    command.args((!asks_indexes).then_some("--no-index"));
    command.env("TMPDIR", dir);
    let bounds = ProgramBounds::of_download(archive.size);
    let output = run_watched(command, question, Some(bounds), || folder_size(dir))
        .map_err(PinError::io("start", "python3"))?;
    check_success(&output, &archive.file)
}

/// The answer of pip_requirements.py to its one argument.
///
/// # Errors
/// `PinError::Program` where there is no Python, `PinError::Download` where there is no pip or it
/// cannot read a requirement.
pub fn requirements(question: &str) -> Result<Vec<u8>, PinError> {
    let mut command = python()?;
    command.args(["-c", REQUIREMENTS, question]);
    run(command, "what wheels require")
}

/// pip_resolve.py's question.
#[derive(Serialize)]
pub struct ResolveQuestion<'a> {
    /// The variables of the target's Python that markers of requirements compare.
    pub environment: BTreeMap<&'static str, String>,
    /// The version of the target's Python, such as `3.11`.
    pub python: &'a str,
    /// The platform tags that the target's Python takes, the best first.
    pub platforms: Vec<String>,
    /// The required packages, with specifiers of versions if these matter.
    pub requirements: Vec<String>,
    /// Versions that packages must have if other packages require them.
    pub constraints: BTreeMap<String, String>,
    /// The versions of packages that are installed already, which no index is asked for.
    pub present: BTreeMap<String, String>,
}

/// One wheel in the answer of pip_resolve.py.
#[derive(Debug, Deserialize)]
pub struct ResolvedWheel {
    /// The name as indexes have it.
    pub name: String,
    pub version: String,
    pub file: String,
    /// SHA-256; empty, or another kind of hash, if the index gives no SHA-256.
    pub sha256: String,
    pub url: String,
}

/// The wheels that pip chooses for some requirements and for the requirements of these wheels, by
/// name.
///
/// # Errors
/// `PinError::Program` where there is no Python, `PinError::Download` with pip's words.
pub fn resolve(question: &ResolveQuestion<'_>) -> Result<Vec<ResolvedWheel>, PinError> {
    let requirements = format!("wheels for {}", question.requirements.join(", "));
    let mut command = python()?;
    let question = serde_json::to_string(question).unwrap_or_default();
    command.args(["-c", RESOLVE, &question]);
    let output = command
        .stdin(Stdio::null())
        .output()
        .map_err(PinError::io("start", "python3"))?;
    let failed = |why: &str| PinError::Download {
        name: requirements.clone(),
        why: why.trim().to_owned(),
        help: "check the names, and pip's configuration (`pip config list`); nothing was written"
            .to_owned(),
    };
    if !output.status.success() {
        let words = String::from_utf8_lossy(&output.stderr);
        // pip names the pages that it reads before its first error.
        return Err(failed(&words[words.find("ERROR").unwrap_or_default()..]));
    }
    serde_json::from_slice(&output.stdout).map_err(|error| failed(&error.to_string()))
}

/// The variables that markers of requirements compare (PEP 508), for CPython of a version such as
/// `3.11` on a Linux system. NB: every variable must be set, or pip takes this machine's.
pub fn marker_environment(system: &str, version: &str) -> BTreeMap<&'static str, String> {
    let (machine, _) = system.split_once('-').unwrap_or((system, ""));
    let full = format!("{version}.0");
    let values = [
        ("implementation_name", "cpython"),
        ("implementation_version", &full),
        ("os_name", "posix"),
        ("platform_machine", machine),
        ("platform_python_implementation", "CPython"),
        ("platform_release", ""),
        ("platform_system", "Linux"),
        ("platform_version", ""),
        ("python_full_version", &full),
        ("python_version", version),
        ("sys_platform", "linux"),
    ];
    values.map(|(name, value)| (name, value.to_owned())).into()
}

fn python() -> Result<Command, PinError> {
    let program = which::which("python3").map_err(|_| PinError::Program {
        program: "python3",
        what: "the Python wheels that hold torch and CUDA",
        help: "install Python and pip, e.g. `apt-get install python3-pip`",
    })?;
    Ok(Command::new(program))
}

/// Runs a Python program and returns its standard output.
fn run(mut command: Command, file: &str) -> Result<Vec<u8>, PinError> {
    let output = command
        .stdin(Stdio::null())
        .output()
        .map_err(PinError::io("start", "python3"))?;
    check_success(&output, file)?;
    Ok(output.stdout)
}

fn check_success(output: &Output, file: &str) -> Result<(), PinError> {
    if output.status.success() {
        return Ok(());
    }
    Err(PinError::download(file, output, |_| {
        if has_pip() {
            "check the network and pip's configuration (`pip config list`); then run the command again: what was \
             fetched is kept"
        } else {
            "install pip, e.g. `apt-get install python3-pip`"
        }
    }))
}

/// Whether Python finds pip; also true if Python does not run.
fn has_pip() -> bool {
    const LACKS_PIP: i32 = 3;
    let program = format!(
        "import importlib.util, sys; sys.exit({LACKS_PIP} if importlib.util.find_spec('pip') is None else 0)"
    );
    let Ok(mut python) = python() else {
        return true;
    };
    let status = python.args(["-c", &program]).stdin(Stdio::null()).status();
    status.map_or(true, |status| status.code() != Some(LACKS_PIP))
}

/// The arguments that have pip choose the wheel of a name: its Python, ABI and platform tags (PEP
/// 427, PEP 425).
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
    use super::{platform_arguments, without_password};

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
    fn passwords_are_not_shown() {
        let shown = without_password("https://user:secret@index.example/simple/a@b/");
        assert_eq!(shown, "https://index.example/simple/a@b/");
        assert_eq!(
            without_password("https://index.example"),
            "https://index.example"
        );
    }
}
