//! Downloads files by URL: with the proxies and certificates of the environment, in parts, and from
//! where an earlier try ended. The caller checks the hash of the content.

use std::cell::Cell;
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use camino::Utf8Path;
use thiserror::Error;
use ureq::tls::{Certificate, PemItem, TlsConfig, parse_pem};
use ureq::typestate::WithoutBody;
use ureq::{RequestBuilder, ResponseExt, Timeout};

use super::error::IndexError;
use super::silence::{Question, SourceWatch, stall_time};

/// The number of tries in a row without new bytes after which a source is given up.
const TRIES: u32 = 4;

/// The shortest time that a try waits for an answer.
const SHORTEST_WAIT: Duration = Duration::from_millis(500);

/// A try that brings this many bytes does not count as failed.
const PROGRESS: u64 = 1 << 18;

/// The size of the largest page of an index in bytes. Pages of large projects have a few million.
const LARGEST_PAGE: u64 = 1 << 27;

/// The time that a page may take, in times of the silence after which a source is given up.
const SLOWEST_PAGE: u32 = 8;

/// The fewest bytes that a file must bring in the time after which a silent source is given up. A
/// slower download would take days.
const SLOWEST_FILE: u64 = 1 << 14;

/// The bytes that this process received.
static RECEIVED: AtomicU64 = AtomicU64::new(0);

thread_local! {
    /// The bytes that this thread received.
    static RECEIVED_BY_THREAD: Cell<u64> = const { Cell::new(0) };
}

/// The bytes that this process received, for progress and reports.
pub fn received() -> u64 {
    RECEIVED.load(Ordering::Relaxed)
}

/// The bytes that this thread received, for the file that it fetches.
pub fn received_by_thread() -> u64 {
    RECEIVED_BY_THREAD.get()
}

/// Counts bytes that this thread received.
pub fn count_received(bytes: u64) {
    RECEIVED.fetch_add(bytes, Ordering::Relaxed);
    RECEIVED_BY_THREAD.set(received_by_thread() + bytes);
}

/// The reason why an URL gave no file, in words without the URL.
#[derive(Clone, Debug, Error)]
pub enum HttpFailure {
    /// Another try may succeed: the connection broke or stood still, the server is busy.
    #[error("{0}")]
    Passing(String),
    /// Another try would end the same.
    #[error("{0}")]
    Lasting(String),
    /// The answer breaks HTTP or a limit: too many bytes, a redirect to a file. NB: pip, which has
    /// no such limits, must not ask again.
    #[error("{0}")]
    Refused(String),
    /// The server has no file of that name.
    #[error("{0}")]
    Missing(String),
    /// The server has another file than the wanted one.
    #[error("{0}")]
    Foreign(String),
    /// The server is given up for all files. The words name it.
    #[error("{0}")]
    Silent(String),
}

impl HttpFailure {
    /// Whether pip may do better, with its credentials for example.
    pub fn is_for_pip(&self) -> bool {
        matches!(self, HttpFailure::Lasting(_) | HttpFailure::Missing(_))
    }
}

/// The bytes of a file that are wanted.
#[derive(Clone, Copy, Debug)]
pub enum FilePart {
    /// All bytes of the file, with their number if it is known.
    Whole(Option<u64>),
    /// The bytes from the first number to before the second, in a file whose size is the third.
    Span(u64, u64, u64),
}

impl FilePart {
    fn first(self) -> u64 {
        match self {
            FilePart::Whole(_) => 0,
            FilePart::Span(first, _, _) => first,
        }
    }

    /// The number of wanted bytes, if it is known.
    fn size(self) -> Option<u64> {
        match self {
            FilePart::Whole(size) => size,
            FilePart::Span(first, end, _) => Some(end - first),
        }
    }

    /// The size of the whole file in bytes, if it is known.
    fn file_size(self) -> Option<u64> {
        match self {
            FilePart::Whole(size) => size,
            FilePart::Span(_, _, size) => Some(size),
        }
    }
}

/// An HTTP client that waits, tries again and continues downloads.
#[derive(Debug)]
pub struct HttpClient {
    agent: ureq::Agent,
    watch: Arc<SourceWatch>,
}

/// A page of an index.
pub struct IndexPage {
    /// The URL after redirects.
    pub url: String,
    pub content_type: String,
    pub text: String,
}

impl HttpClient {
    /// A client with the certificates of a PEM file instead of the system's, and with a proxy
    /// instead of the environment's. `watch` knows which servers answer.
    ///
    /// # Errors
    /// `IndexError::Certificates` for a file that cannot be read, `IndexError::Proxy` for a proxy
    /// that is no URL.
    pub fn new(
        certificates: Option<&Utf8Path>,
        proxy: Option<&str>,
        watch: Arc<SourceWatch>,
    ) -> Result<Self, IndexError> {
        let stall = stall_time();
        let proxy = match proxy {
            Some(proxy) => Some(ureq::Proxy::new(proxy).map_err(|error| IndexError::Proxy {
                proxy: proxy.to_owned(),
                why: error.to_string(),
            })?),
            None => ureq::Proxy::try_from_env(),
        };
        let roots = match certificates {
            Some(path) => read_certificates(path)?,
            // The loader follows SSL_CERT_FILE and SSL_CERT_DIR.
            None => rustls_native_certs::load_native_certs()
                .certs
                .iter()
                .map(|certificate| Certificate::from_der(certificate).to_owned())
                .collect(),
        };
        let agent = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .proxy(proxy)
            .tls_config(TlsConfig::builder().root_certs(roots.into()).build())
            .timeout_per_read(Some(stall))
            .timeout_per_write(Some(stall))
            .user_agent(concat!("kernel-builder/", env!("CARGO_PKG_VERSION")))
            .build()
            .new_agent();
        Ok(Self { agent, watch })
    }

    /// The client without its habits: for requests that are no downloads.
    pub fn into_agent(self) -> ureq::Agent {
        self.agent
    }

    /// A page as text.
    ///
    /// # Errors
    /// The failure of the last try.
    pub fn page(&self, url: &str, accept: &str) -> Result<IndexPage, HttpFailure> {
        self.retry(
            url,
            || 0,
            |question| {
                let request = limit_times(self.agent.get(url), question);
                let request = request.header("Accept", accept);
                // A page that comes byte by byte would never end.
                let slowest = question.limit() * SLOWEST_PAGE;
                let request = request.config().timeout_recv_body(Some(slowest)).build();
                let mut answer = request.call().map_err(failure)?;
                check_status(answer.status().as_u16())?;
                question.answered();
                let content_type = answer.headers().get("content-type");
                let content_type = content_type.and_then(|value| value.to_str().ok());
                Ok(IndexPage {
                    content_type: content_type.unwrap_or_default().to_owned(),
                    url: answer.get_uri().to_string(),
                    text: answer
                        .body_mut()
                        .with_config()
                        .limit(LARGEST_PAGE)
                        .read_to_string()
                        .map_err(failure)?,
                })
            },
        )
    }

    /// The size of a file in bytes, without downloading it.
    ///
    /// # Errors
    /// The failure of the last try, also if the server does not state the size.
    pub fn size(&self, url: &str) -> Result<u64, HttpFailure> {
        self.retry(
            url,
            || 0,
            |question| {
                let request = limit_times(self.agent.head(url), question);
                let answer = request.call().map_err(failure)?;
                check_status(answer.status().as_u16())?;
                let length = answer.headers().get("content-length");
                let length = length.and_then(|value| value.to_str().ok()?.parse().ok());
                length.ok_or_else(|| {
                    HttpFailure::Lasting("it does not say how large the file is".to_owned())
                })
            },
        )
    }

    /// Downloads a part of a file to `target`, from where an earlier try or run ended. Downloaded
    /// bytes stay, also after an error.
    ///
    /// # Errors
    /// The failure of the last try without progress. At once if the server has another file, or
    /// serves no parts although a part is wanted.
    pub fn download(
        &self,
        url: &str,
        part: FilePart,
        target: &Utf8Path,
    ) -> Result<(), HttpFailure> {
        let have = || length(target);
        self.retry(url, have, |question| {
            self.attempt(url, part, target, question)
        })
    }

    /// Tries a request several times, as long as another try may succeed and the server is not
    /// given up. `have` returns the bytes that tries brought: a try that brings many is no failure.
    fn retry<T>(
        &self,
        url: &str,
        have: impl Fn() -> u64,
        once: impl Fn(&Question<'_>) -> Result<T, HttpFailure>,
    ) -> Result<T, HttpFailure> {
        let question = self.watch.ask(server(url)).map_err(HttpFailure::Silent)?;
        let mut tries = 0;
        loop {
            let before = have();
            let why = match once(&question) {
                Err(HttpFailure::Passing(why)) => why,
                result => {
                    question.answered();
                    return result;
                }
            };
            tries += 1;
            if have() >= before + PROGRESS {
                tries = 0;
            }
            let given_up = match tries {
                TRIES => question.gave_up(&why),
                _ => question.failed(&why),
            };
            if let Some(why) = given_up {
                return Err(HttpFailure::Silent(why));
            }
            if tries == TRIES {
                return Err(HttpFailure::Passing(format!("{why} ({TRIES} tries)")));
            }
            pause(tries);
        }
    }

    /// The reason why the server of an URL is given up, with its name; `None` if it is not.
    pub fn given_up(&self, url: &str) -> Option<String> {
        self.watch.given_up(server(url))
    }

    fn attempt(
        &self,
        url: &str,
        part: FilePart,
        target: &Utf8Path,
        question: &Question<'_>,
    ) -> Result<(), HttpFailure> {
        let disk = |error: std::io::Error| HttpFailure::Lasting(format!("{target}: {error}"));
        let mut file = OpenOptions::new()
            .create(true)
            .append(true)
            .open(target)
            .map_err(disk)?;
        let mut have = length(target);
        if part.size().is_some_and(|size| have > size) {
            file.set_len(0).map_err(disk)?;
            have = 0;
        }
        if part.size() == Some(have) {
            return Ok(());
        }

        let start = part.first() + have;
        let mut request = limit_times(self.agent.get(url), question);
        let ranged = start > 0 || matches!(part, FilePart::Span(..));
        if ranged {
            let last = match part {
                FilePart::Span(_, end, _) => (end - 1).to_string(),
                FilePart::Whole(_) => String::new(),
            };
            request = request.header("Range", format!("bytes={start}-{last}"));
        }
        let mut answer = request.call().map_err(failure)?;
        let header = |name| {
            let value = answer.headers().get(name)?;
            value.to_str().ok().map(str::to_owned)
        };
        let announced: Option<u64> = header("content-length").and_then(|value| value.parse().ok());
        match answer.status().as_u16() {
            206 => {
                let range = header("content-range").unwrap_or_default();
                let of = part
                    .file_size()
                    .map_or(String::new(), |size| size.to_string());
                let begins = range.starts_with(&format!("bytes {start}-"));
                let total = range.rsplit('/').next().unwrap_or_default();
                if !begins || !(of.is_empty() || total == "*" || total == of) {
                    return Err(HttpFailure::Foreign(format!(
                        "it answers with `{range}` when asked for a file of {of} bytes from {start}"
                    )));
                }
            }
            200 if matches!(part, FilePart::Span(..)) => {
                return Err(HttpFailure::Lasting(
                    "it does not serve parts of files".to_owned(),
                ));
            }
            200 => {
                if let (Some(size), Some(announced)) = (part.size(), announced)
                    && size != announced
                {
                    return Err(HttpFailure::Foreign(format!(
                        "its file has {announced} bytes, the pinned one {size}"
                    )));
                }
                file.set_len(0).map_err(disk)?;
                have = 0;
            }
            // A file of unknown size has no bytes left; its hash shows whether it is whole.
            416 if have > 0 && part.size().is_none() => return Ok(()),
            416 if have > 0 => {
                file.set_len(0).map_err(disk)?;
                return Err(HttpFailure::Passing("its file is shorter".to_owned()));
            }
            status => check_status(status)?,
        }
        let size = part
            .size()
            .or_else(|| announced.map(|rest| have + rest))
            .unwrap_or(u64::MAX);
        have += copy(
            &mut answer.body_mut().as_reader().take(size - have),
            &mut file,
            target,
            question,
        )?;
        if size != u64::MAX && have < size {
            return Err(HttpFailure::Passing(format!(
                "it ended after {have} of {size} bytes"
            )));
        }
        Ok(())
    }
}

/// Copies bytes to disk as they come, so that they stay when the rest does not come.
fn copy(
    body: &mut dyn Read,
    file: &mut File,
    target: &Utf8Path,
    question: &Question<'_>,
) -> Result<u64, HttpFailure> {
    let mut buffer = vec![0; 1 << 16];
    let mut copied = 0;
    let (mut looked, mut before) = (Instant::now(), 0);
    loop {
        let count = match body.read(&mut buffer) {
            Ok(0) => return Ok(copied),
            Ok(count) => count,
            Err(error) => return Err(failure(ureq::Error::from(error))),
        };
        file.write_all(&buffer[..count])
            .map_err(|error| HttpFailure::Lasting(format!("{target}: {error}")))?;
        copied += count as u64;
        count_received(count as u64);
        question.answered();
        if copied - before >= SLOWEST_FILE {
            (looked, before) = (Instant::now(), copied);
        } else if looked.elapsed() >= question.limit() {
            return Err(HttpFailure::Passing(format!(
                "only {} bytes came in {} s",
                copied - before,
                question.limit().as_secs()
            )));
        }
    }
}

/// The host and port of an URL, or the host alone if it names no port.
pub fn server(url: &str) -> &str {
    let authority = url.split('/').nth(2).unwrap_or(url);
    authority.rsplit('@').next().unwrap_or(authority)
}

/// A request that waits for its server as long as the server may still be silent.
fn limit_times(
    request: RequestBuilder<WithoutBody>,
    question: &Question<'_>,
) -> RequestBuilder<WithoutBody> {
    let left = question.time_left().max(SHORTEST_WAIT);
    let connect = left.min(stall_time() * 2 / 3);
    request
        .config()
        .timeout_resolve(Some(connect))
        .timeout_connect(Some(connect))
        .timeout_recv_response(Some(left))
        .build()
}

fn check_status(status: u16) -> Result<(), HttpFailure> {
    let why = format!("it answers with status {status}");
    match status {
        200..300 => Ok(()),
        404 | 410 => Err(HttpFailure::Missing(why)),
        408 | 425 | 429 | 500.. => Err(HttpFailure::Passing(why)),
        _ => Err(HttpFailure::Lasting(why)),
    }
}

fn failure(error: ureq::Error) -> HttpFailure {
    match error {
        ureq::Error::Timeout(Timeout::Resolve | Timeout::Connect) => {
            HttpFailure::Passing("no connection".to_owned())
        }
        ureq::Error::Timeout(_) => {
            HttpFailure::Passing(format!("nothing came for {} s", stall_time().as_secs()))
        }
        ureq::Error::Io(error) => HttpFailure::Passing(error.to_string()),
        ureq::Error::ConnectionFailed | ureq::Error::HostNotFound | ureq::Error::Protocol(_) => {
            HttpFailure::Passing(error.to_string())
        }
        error => HttpFailure::Refused(error.to_string()),
    }
}

/// The certificates of a PEM file.
fn read_certificates(path: &Utf8Path) -> Result<Vec<Certificate<'static>>, IndexError> {
    let pem = std::fs::read(path).map_err(|error| IndexError::Certificates {
        path: path.to_owned(),
        why: error.to_string(),
    })?;
    let items = parse_pem(&pem).filter_map(Result::ok);
    Ok(items
        .filter_map(|item| match item {
            PemItem::Certificate(certificate) => Some(certificate),
            _ => None,
        })
        .collect())
}

fn length(file: &Utf8Path) -> u64 {
    std::fs::metadata(file).map_or(0, |metadata| metadata.len())
}

/// Waits, longer after each try.
fn pause(tries: u32) {
    std::thread::sleep(Duration::from_millis(250) * tries.pow(2).min(16));
}
