//! Requests and answers of HTTP/1.1 as a mirror needs them: GET and HEAD, conditions, and one
//! range. Not connections.

use std::fs::File;
use std::ops::Range;

use http::Uri;
use percent_encoding::percent_decode_str;
use serde::Serialize;

use super::content::ContentIdentity;

/// The most bytes of a request's first line and headers.
pub const MOST_HEADER_BYTES: usize = 16 << 10;

/// The most headers of a request.
const MOST_HEADERS: usize = 64;

/// A request without a body.
#[derive(Debug, Default)]
pub struct MirrorRequest {
    /// The method and the target as sent, for the log.
    pub line: String,
    pub is_head: bool,
    /// The path, with percent signs as sent.
    path: String,
    query: String,
    range: Option<String>,
    if_range: Option<String>,
    if_none_match: Option<String>,
    /// The client's name of this server: `http://HOST`.
    origin: String,
    /// Whether the connection ends after the answer.
    pub is_last: bool,
}

/// The result of reading the bytes that came so far.
#[derive(Debug)]
pub enum ReadRequest {
    /// More bytes are needed.
    Partial,
    /// The request, and the number of its bytes.
    Whole(MirrorRequest, usize),
    /// A request that is answered with this status, after which the connection ends.
    Refused(u16),
}

impl MirrorRequest {
    /// The request of bytes that are none.
    pub fn refused() -> Self {
        Self {
            is_last: true,
            ..Self::default()
        }
    }

    /// Reads the request at the start of some bytes.
    pub fn read(bytes: &[u8]) -> ReadRequest {
        let mut headers = [httparse::EMPTY_HEADER; MOST_HEADERS];
        let mut parsed = httparse::Request::new(&mut headers);
        let length = match parsed.parse(bytes) {
            Ok(httparse::Status::Complete(length)) => length,
            Ok(httparse::Status::Partial) if bytes.len() < MOST_HEADER_BYTES => {
                return ReadRequest::Partial;
            }
            Ok(httparse::Status::Partial) | Err(httparse::Error::TooManyHeaders) => {
                return ReadRequest::Refused(431);
            }
            Err(_) => return ReadRequest::Refused(400),
        };
        let method = parsed.method.unwrap_or_default();
        let is_new = parsed.version == Some(1);
        let target = parsed.path.unwrap_or_default();
        let Ok(target) = target.parse::<Uri>() else {
            return ReadRequest::Refused(400);
        };
        let mut request = Self {
            line: format!("{method} {target}"),
            is_head: method == "HEAD",
            path: target.path().to_owned(),
            query: target.query().unwrap_or_default().to_owned(),
            is_last: !is_new,
            ..Self::default()
        };
        let (mut host, mut scheme) = (None, "http");
        for header in parsed.headers.iter() {
            let Ok(value) = std::str::from_utf8(header.value) else {
                continue;
            };
            let value = value.trim().to_owned();
            match header.name.to_ascii_lowercase().as_str() {
                "host" => host = Some(value),
                // A server in front of this one that speaks TLS.
                "x-forwarded-proto" if value == "https" => scheme = "https",
                "connection" => {
                    let mut words = value.split(',').map(str::trim);
                    request.is_last |= words.any(|word| word.eq_ignore_ascii_case("close"));
                }
                // NB: bytes of a body would be read as the next request.
                "content-length" if value == "0" => {}
                "content-length" | "transfer-encoding" => {
                    return ReadRequest::Refused(if is_read(method) { 413 } else { 405 });
                }
                "range" => request.range = Some(value),
                "if-range" => request.if_range = Some(value),
                "if-none-match" => request.if_none_match = Some(value),
                _ => {}
            }
        }
        request.origin = format!("{scheme}://{}", host.as_deref().unwrap_or_default());
        match host {
            _ if !is_read(method) => ReadRequest::Refused(405),
            None if is_new => ReadRequest::Refused(400),
            _ => ReadRequest::Whole(request, length),
        }
    }

    /// The parts of the path, decoded. `None` for a path that no client makes: with empty parts,
    /// `.` or `..`, or with bytes that are no text. A decoded part may have slashes.
    pub fn parts(&self) -> Option<Vec<String>> {
        let parts = self.path.strip_prefix('/')?.split('/').map(|part| {
            let part = percent_decode_str(part).decode_utf8().ok()?;
            let is_plain = !matches!(&*part, "" | "." | "..") && !part.contains('\0');
            is_plain.then(|| part.into_owned())
        });
        parts.collect()
    }

    /// The value of a key of the query.
    pub fn query(&self, key: &str) -> Option<&str> {
        let mut pairs = self
            .query
            .split('&')
            .filter_map(|pair| pair.split_once('='));
        pairs.find(|(own, _)| *own == key).map(|(_, value)| value)
    }

    /// The URL of the same path with another query.
    pub fn url_with(&self, query: &str) -> String {
        format!("{}{}?{query}", self.origin, self.path)
    }

    /// Whether the client has a content with this tag.
    fn has(&self, etag: &str) -> bool {
        let tags = self.if_none_match.iter().flat_map(|tags| tags.split(','));
        let mut tags = tags.map(|tag| tag.trim().trim_start_matches("W/"));
        tags.any(|tag| tag == "*" || tag == etag)
    }

    /// The bytes of a content that are asked for. `None` for all of it, also if the client's part
    /// is of another content, or there are several ranges, which a server may ignore.
    ///
    /// # Errors
    /// `Unsatisfiable`
    fn range_of(&self, size: u64, etag: &str) -> Result<Option<Range<u64>>, Unsatisfiable> {
        let is_same = self.if_range.as_ref().is_none_or(|tag| tag == etag);
        let asked = self.range.as_deref().filter(|_| is_same && !self.is_head);
        let bounds = asked.and_then(|range| range.strip_prefix("bytes=")?.split_once('-'));
        let Some((first, last)) = bounds else {
            return Ok(None);
        };
        let number = |text: &str| {
            let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
            is_number.then(|| text.parse().unwrap_or(u64::MAX))
        };
        let range = match (number(first.trim()), number(last.trim())) {
            (Some(first), Some(last)) if last < first => return Ok(None),
            (Some(first), Some(last)) => first..last.saturating_add(1).min(size),
            (Some(first), None) if last.trim().is_empty() => first..size,
            (None, Some(length)) if first.trim().is_empty() => size.saturating_sub(length)..size,
            _ => return Ok(None),
        };
        match range.is_empty() {
            true => Err(Unsatisfiable),
            false => Ok(Some(range)),
        }
    }
}

fn is_read(method: &str) -> bool {
    matches!(method, "GET" | "HEAD")
}

/// A range that starts after the end of the content.
#[derive(Debug, PartialEq, Eq)]
struct Unsatisfiable;

/// The content of an answer.
#[derive(Debug)]
pub enum MirrorBody {
    Text(Vec<u8>),
    /// A file, which must keep its identity while it is sent.
    File(File, ContentIdentity),
}

/// An answer.
#[derive(Debug)]
pub struct MirrorAnswer {
    pub status: u16,
    pub headers: Vec<(&'static str, String)>,
    pub body: MirrorBody,
    /// The bytes of the content that are sent.
    pub range: Range<u64>,
}

impl MirrorAnswer {
    /// An answer in JSON.
    pub fn json(content: &impl Serialize) -> Self {
        let text = serde_json::to_vec(content).unwrap_or_default();
        Self {
            status: 200,
            headers: vec![("Content-Type", "application/json".to_owned())],
            range: 0..text.len() as u64,
            body: MirrorBody::Text(text),
        }
    }

    /// A file, under its name on the Hub.
    pub fn file(file: File, identity: ContentIdentity) -> Self {
        let kind = "application/octet-stream".to_owned();
        Self {
            status: 200,
            headers: vec![("Content-Type", kind)],
            range: 0..identity.size,
            body: MirrorBody::File(file, identity),
        }
    }

    /// A refusal, in the Hub's form.
    pub fn refusal(status: u16, code: &str, message: &str) -> Self {
        let mut answer = Self::json(&serde_json::json!({ "error": message }));
        answer.status = status;
        answer = answer.with("X-Error-Message", message);
        match code {
            "" => answer,
            code => answer.with("X-Error-Code", code),
        }
    }

    pub fn with(mut self, name: &'static str, value: &str) -> Self {
        self.headers.push((name, value.to_owned()));
        self
    }

    /// Leaves out the content that the client has, or did not ask for. `etag` is the tag of the
    /// content, in quotes.
    pub fn tagged(mut self, request: &MirrorRequest, etag: &str) -> Self {
        let size = self.range.end;
        self = self.with("ETag", etag);
        if request.has(etag) {
            self.status = 304;
            self.range = 0..0;
            return self;
        }
        if !matches!(self.body, MirrorBody::File(..)) {
            return self;
        }
        self = self.with("Accept-Ranges", "bytes");
        match request.range_of(size, etag) {
            Ok(None) => {}
            Ok(Some(range)) => {
                let (first, last) = (range.start, range.end - 1);
                self.status = 206;
                self.range = range;
                self = self.with("Content-Range", &format!("bytes {first}-{last}/{size}"));
            }
            Err(Unsatisfiable) => {
                self.status = 416;
                self.range = 0..0;
                self = self.with("Content-Range", &format!("bytes */{size}"));
            }
        }
        self
    }

    /// The first line and the headers.
    pub fn head(&self, is_last: bool) -> Vec<u8> {
        let status = http::StatusCode::from_u16(self.status).unwrap_or_default();
        let mut text = format!("HTTP/1.1 {status}\r\n");
        for (name, value) in &self.headers {
            text += &format!("{name}: {value}\r\n");
        }
        // NB: an answer of status 304 has no content, and a length there would be that of another.
        if self.status != 304 {
            text += &format!("Content-Length: {}\r\n", self.range.end - self.range.start);
        }
        if is_last {
            text += "Connection: close\r\n";
        }
        text += "\r\n";
        text.into_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(headers: &str) -> MirrorRequest {
        let text = format!("GET /a/%2e%2e?x=1&cursor=7 HTTP/1.1\r\nHost: a\r\n{headers}\r\n");
        match MirrorRequest::read(text.as_bytes()) {
            ReadRequest::Whole(request, length) if length == text.len() => request,
            other => panic!("{other:?}"),
        }
    }

    fn status_of(text: &str) -> Option<u16> {
        match MirrorRequest::read(text.as_bytes()) {
            ReadRequest::Refused(status) => Some(status),
            _ => None,
        }
    }

    #[test]
    fn requests_are_read_or_refused() {
        let own = request("Connection: keep-alive\r\n");
        assert!(!own.is_last && !own.is_head);
        assert_eq!(own.query("cursor"), Some("7"));
        assert_eq!(own.parts(), None, "a part that is ..");
        assert!(request("connection: Upgrade, Close\r\n").is_last);
        for (text, status) in [
            ("GET / HTTP/1.1\r\n\r\n", Some(400)),
            ("GET / HTTP/1.0\r\n\r\n", None),
            ("POST / HTTP/1.1\r\nHost: a\r\n\r\n", Some(405)),
            (
                "PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n",
                Some(405),
            ),
            (
                "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n",
                Some(413),
            ),
            (
                "GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n",
                Some(413),
            ),
            ("\u{16}\u{3}\u{1}\u{2}", Some(400)),
            ("GET / HTTP/1.1\r\nHost", None),
        ] {
            assert_eq!(status_of(text), status, "{text:?}");
        }
        let many = "A: b\r\n".repeat(MOST_HEADERS + 1);
        assert_eq!(
            status_of(&format!("GET / HTTP/1.1\r\n{many}\r\n")),
            Some(431)
        );
        let long = "a".repeat(MOST_HEADER_BYTES);
        assert_eq!(status_of(&format!("GET /{long}")), Some(431));
    }

    #[test]
    fn ranges_are_those_of_the_standard() {
        for (range, expected) in [
            ("bytes=0-0", Ok(Some(0..1))),
            ("bytes=2-3", Ok(Some(2..4))),
            ("bytes=8-", Ok(Some(8..10))),
            ("bytes=8-99", Ok(Some(8..10))),
            ("bytes=8-99999999999999999999999", Ok(Some(8..10))),
            ("bytes=-3", Ok(Some(7..10))),
            ("bytes=-99", Ok(Some(0..10))),
            ("bytes=-0", Err(Unsatisfiable)),
            ("bytes=10-", Err(Unsatisfiable)),
            ("bytes=99999999999999999999999-", Err(Unsatisfiable)),
            ("bytes=3-2", Ok(None)),
            ("bytes=0-1,4-5", Ok(None)),
            ("bytes=-", Ok(None)),
            ("bytes=+1-2", Ok(None)),
            ("lines=1-2", Ok(None)),
        ] {
            let own = request(&format!("Range: {range}\r\n"));
            assert_eq!(own.range_of(10, "\"a\""), expected, "{range}");
        }
        assert_eq!(
            request("Range: bytes=-1\r\n").range_of(0, ""),
            Err(Unsatisfiable)
        );
        for (tag, expected) in [("\"a\"", Some(2..4)), ("\"b\"", None), ("W/\"a\"", None)] {
            let own = request(&format!("If-Range: {tag}\r\nRange: bytes=2-3\r\n"));
            assert_eq!(own.range_of(10, "\"a\""), Ok(expected), "{tag}");
        }
    }

    #[test]
    fn a_content_that_the_client_has_is_not_sent() {
        for (tags, status) in [
            ("\"a\"", 304),
            ("W/\"a\"", 304),
            ("\"b\", \"a\"", 304),
            ("*", 304),
            ("\"b\"", 200),
            ("a", 200),
        ] {
            let own = request(&format!("If-None-Match: {tags}\r\n"));
            let answer = MirrorAnswer::json(&1).tagged(&own, "\"a\"");
            assert_eq!(answer.status, status, "{tags}");
            assert_eq!(answer.range.is_empty(), status == 304);
        }
    }
}
