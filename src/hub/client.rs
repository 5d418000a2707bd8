//! Requests to the Hub: with the user's token, tried again while the Hub is busy. The paths of its
//! API are in api.rs.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::sync::Arc;
use std::time::Duration;

use camino::Utf8Path;
use serde::de::DeserializeOwned;
use ureq::SendBody;
use ureq::http::{HeaderMap, Response};

use super::error::HubError;
use super::settings::HubSettings;
use crate::pins::http::HttpClient;
use crate::pins::silence::{SourceWatch, stall_time};

/// The number of tries after which a request is given up.
const TRIES: u32 = 5;

/// The longest that the Hub may ask to wait between two tries.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// A try of a download that brings more bytes does not count as failed.
const PROGRESS: u64 = 1 << 18;

/// The most bytes of an answer that is read whole.
const LARGEST_ANSWER: u64 = 1 << 26;

/// The time for an answer, in times of the silence after which a download is tried again: a commit
/// of many files takes the Hub a while.
const PATIENCE: u32 = 8;

/// A client of one Hub.
#[derive(Debug)]
pub struct HubClient {
    agent: ureq::Agent,
    pub settings: HubSettings,
}

/// The body of a request.
#[derive(Clone, Copy, Debug)]
pub(super) enum HubBody<'a> {
    None,
    /// A text and its type.
    Text(&'a [u8], &'static str),
    /// Bytes of a file: the file, the first byte, and their number.
    File(&'a Utf8Path, u64, u64),
}

/// A request, which may be sent several times.
#[derive(Clone, Copy, Debug)]
pub(super) struct HubRequest<'a> {
    /// The action in messages: "create the branch v1".
    pub action: &'a str,
    pub method: &'static str,
    pub url: &'a str,
    pub headers: &'a [(String, String)],
    pub body: HubBody<'a>,
}

/// An answer without an error.
pub(super) struct HubAnswer {
    pub headers: HeaderMap,
    pub body: Vec<u8>,
}

impl HubAnswer {
    /// The answer as JSON.
    pub fn json<T: DeserializeOwned>(&self, action: &str) -> Result<T, HubError> {
        serde_json::from_slice(&self.body).map_err(|error| HubError::Answer {
            action: action.to_owned(),
            why: error.to_string(),
        })
    }
}

/// An answer that is no success.
pub(super) struct HubRefusal {
    pub status: u16,
    /// The Hub's word for the error, such as `RevisionNotFound`.
    pub code: String,
    why: String,
}

impl HubRefusal {
    /// The refusal as an error of an action.
    pub fn error(self, action: &str) -> HubError {
        let (action, why) = (action.to_owned(), self.why);
        match self.status {
            401 => HubError::Token { action, why },
            403 => HubError::Forbidden { action, why },
            404 => HubError::Missing { action, why },
            409 | 412 => HubError::Changed { action },
            _ => HubError::Refused { action, why },
        }
    }
}

impl HubClient {
    /// A client with the settings of the environment.
    ///
    /// # Errors
    /// `HubError::Offline` if the user forbids the network.
    pub fn open(action: &str) -> Result<Self, HubError> {
        let settings = HubSettings::of_environment();
        if settings.is_offline {
            let action = action.to_owned();
            return Err(HubError::Offline { action });
        }
        let watch = Arc::new(SourceWatch::default());
        let http = HttpClient::new(None, None, watch).map_err(|error| HubError::Answer {
            action: action.to_owned(),
            why: error.to_string(),
        })?;
        Ok(Self {
            agent: http.into_agent(),
            settings,
        })
    }

    /// Downloads a file of a known size to a path, from where an earlier try ended.
    ///
    /// # Errors
    /// `HubError`; the bytes that came stay.
    pub(super) fn download(
        &self,
        action: &str,
        url: &str,
        path: &Utf8Path,
        size: u64,
    ) -> Result<(), HubError> {
        let disk = || HubError::io(format!("write {path}"));
        let mut tries = 0;
        loop {
            let mut file = File::options()
                .create(true)
                .append(true)
                .open(path)
                .map_err(disk())?;
            let have = file.metadata().map_err(disk())?.len();
            if have == size {
                return Ok(());
            }
            if have > size {
                file.set_len(0).map_err(disk())?;
                continue;
            }
            let range = [("Range".to_owned(), format!("bytes={have}-"))];
            let request = HubRequest {
                action,
                method: "GET",
                url,
                headers: if have > 0 { &range } else { &[] },
                body: HubBody::None,
            };
            tries += 1;
            let why = match self.try_once(request)? {
                Err(why) => why,
                Ok(mut answer) => match answer.status().as_u16() {
                    status @ (200 | 206) => {
                        // A server without ranges sends the file from its start.
                        if status == 200 {
                            file.set_len(0).map_err(disk())?;
                        }
                        let left = if status == 200 { size } else { size - have };
                        let copied =
                            std::io::copy(&mut answer.body_mut().as_reader().take(left), &mut file);
                        match copied {
                            Ok(count) if count == left => return Ok(()),
                            Ok(count) => {
                                tries = if count > PROGRESS { 1 } else { tries };
                                "the connection ended too early".to_owned()
                            }
                            Err(error) => error.to_string(),
                        }
                    }
                    status @ (408 | 425 | 429 | 500..) => {
                        format!("it answers with status {status}")
                    }
                    _ => match self.read(answer) {
                        Ok(Err(refusal)) => return Err(refusal.error(action)),
                        Ok(Ok(_)) => "the answer is no file".to_owned(),
                        Err(why) => why,
                    },
                },
            };
            if tries == TRIES {
                let (action, why) = (
                    action.to_owned(),
                    format!("{} ({TRIES} tries)", self.blot_out(&why)),
                );
                return Err(HubError::Busy { action, why });
            }
            std::thread::sleep(Duration::from_millis(250) * 2_u32.pow(tries));
        }
    }

    /// The URL of a path of the Hub.
    pub(super) fn url(&self, path: &str) -> String {
        format!("{}/{path}", self.settings.endpoint)
    }

    /// Sends a request until it has an answer other than "busy".
    ///
    /// # Errors
    /// The error that the answer stands for, or `HubError::Busy` after the last try.
    pub(super) fn send(&self, request: HubRequest<'_>) -> Result<HubAnswer, HubError> {
        self.ask(request)?
            .map_err(|refusal| refusal.error(request.action))
    }

    /// Sends a request like [`send`](Self::send), for callers that know what a refusal means.
    ///
    /// # Errors
    /// `HubError::Busy` after the last try.
    pub(super) fn ask(
        &self,
        request: HubRequest<'_>,
    ) -> Result<Result<HubAnswer, HubRefusal>, HubError> {
        let mut tries = 0;
        loop {
            tries += 1;
            let (why, wait) = match self.try_once(request)? {
                Ok(answer) => {
                    let status = answer.status().as_u16();
                    match status {
                        408 | 425 | 429 | 500.. => (
                            format!("it answers with status {status}"),
                            retry_after(&answer),
                        ),
                        _ => match self.read(answer) {
                            Ok(read) => return Ok(read),
                            Err(why) => (why, None),
                        },
                    }
                }
                Err(why) => (why, None),
            };
            if tries == TRIES {
                let action = request.action.to_owned();
                let endpoint = self.settings.endpoint.as_str();
                let host = match request.url.starts_with(endpoint) {
                    true => endpoint,
                    false => "its storage",
                };
                let why = format!("{host}: {} ({TRIES} tries)", self.blot_out(&why));
                return Err(HubError::Busy { action, why });
            }
            let pause = Duration::from_millis(250) * 2_u32.pow(tries);
            std::thread::sleep(wait.unwrap_or(pause).min(LONGEST_WAIT));
        }
    }

    /// One try: the answer, or the reason why there is none.
    fn try_once(
        &self,
        request: HubRequest<'_>,
    ) -> Result<Result<Response<ureq::Body>, String>, HubError> {
        let wait = Some(stall_time() * PATIENCE);
        let connect = Some(stall_time());
        let own = request
            .url
            .starts_with(&format!("{}/", self.settings.endpoint));
        // NB: the token goes to the Hub alone, not to the servers that store its files.
        let token = self.settings.token.as_ref().filter(|_| own);
        let mut headers: Vec<(&str, String)> = token
            .map(|token| ("Authorization", token.header()))
            .into_iter()
            .collect();
        headers.extend(
            request
                .headers
                .iter()
                .map(|(name, value)| (name.as_str(), value.clone())),
        );
        macro_rules! prepared {
            ($builder:expr) => {{
                let mut builder = $builder
                    .config()
                    .timeout_resolve(connect)
                    .timeout_connect(connect)
                    .timeout_recv_response(wait)
                    .build();
                for (name, value) in headers {
                    builder = builder.header(name, value);
                }
                builder
            }};
        }
        let sent = match (request.method, request.body) {
            ("GET", _) => prepared!(self.agent.get(request.url)).call(),
            ("HEAD", _) => prepared!(self.agent.head(request.url)).call(),
            (method, body) => {
                let builder = match method {
                    "PUT" => self.agent.put(request.url),
                    _ => self.agent.post(request.url),
                };
                let builder = prepared!(builder);
                match body {
                    HubBody::None => builder.send_empty(),
                    HubBody::Text(text, kind) => builder.header("Content-Type", kind).send(text),
                    HubBody::File(path, first, size) => {
                        let open = || {
                            let mut file = File::open(path)?;
                            file.seek(SeekFrom::Start(first))?;
                            Ok(file.take(size))
                        };
                        let part = open().map_err(HubError::io(format!("read {path}")))?;
                        let builder = builder.header("Content-Length", size.to_string());
                        builder.send(SendBody::from_owned_reader(part))
                    }
                }
            }
        };
        Ok(sent.map_err(|error| match error {
            ureq::Error::Timeout(_) => "it does not answer in time".to_owned(),
            error => error.to_string(),
        }))
    }

    /// Reads an answer to its end; the reason if it breaks off.
    fn read(
        &self,
        mut answer: Response<ureq::Body>,
    ) -> Result<Result<HubAnswer, HubRefusal>, String> {
        let headers = answer.headers().clone();
        let status = answer.status().as_u16();
        let reader = answer.body_mut().with_config().limit(LARGEST_ANSWER);
        let body = reader.read_to_vec().map_err(|error| error.to_string())?;
        if (200..300).contains(&status) {
            return Ok(Ok(HubAnswer { headers, body }));
        }
        let header = |name: &str| text_of(&headers, name).unwrap_or_default().to_owned();
        let json: serde_json::Value = serde_json::from_slice(&body).unwrap_or_default();
        let words = [
            header("X-Error-Message"),
            json["error"].as_str().unwrap_or_default().to_owned(),
        ];
        let words = words.into_iter().find(|words| !words.is_empty());
        let words = words.unwrap_or_else(|| "no reason is given".to_owned());
        let shown: String = words
            .chars()
            .filter(|c| !c.is_control())
            .take(500)
            .collect();
        Ok(Err(HubRefusal {
            status,
            code: header("X-Error-Code"),
            why: format!("{} (status {status})", self.blot_out(&shown)),
        }))
    }

    fn blot_out(&self, text: &str) -> String {
        let token = self.settings.token.as_ref();
        token.map_or_else(|| text.to_owned(), |token| token.blot_out(text))
    }
}

/// A header that is text.
pub(super) fn text_of<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

/// The time that a busy Hub asks to wait.
fn retry_after(answer: &Response<ureq::Body>) -> Option<Duration> {
    let seconds = text_of(answer.headers(), "Retry-After")?.parse().ok()?;
    Some(Duration::from_secs(seconds))
}
