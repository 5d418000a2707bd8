//! Requests and answers as a mirror needs them: GET and HEAD, conditions, and one range. Not the
//! protocol, which hyper speaks, and not connections.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;

use hyper::body::Bytes;
use hyper::header::{ETAG, HOST, HeaderName, HeaderValue, IF_NONE_MATCH, IF_RANGE, RANGE};
use hyper::http::request::Parts;
use hyper::{Method, Response, StatusCode, Version};
use percent_encoding::{CONTROLS, percent_decode_str, utf8_percent_encode};
use serde::Serialize;
use serde_json::json;
use sha1::{Digest, Sha1};

use super::content::{ContentIdentity, check_identity};
use crate::hex;

/// The bytes of a file that are read at a time. A connection holds one piece in memory.
const PIECE: u64 = 256 << 10;

/// A request without a body.
#[derive(Debug)]
pub struct MirrorRequest(pub Parts);

impl MirrorRequest {
    pub fn is_head(&self) -> bool {
        self.0.method == Method::HEAD
    }

    /// The refusal of a request that no path makes right.
    pub fn refusal(&self, has_body: bool) -> Option<MirrorAnswer> {
        let has_host = self.0.version != Version::HTTP_11 || self.header(HOST).is_some();
        let status = match self.0.method {
            Method::GET | Method::HEAD if has_body => 413,
            Method::GET | Method::HEAD if has_host => return None,
            Method::GET | Method::HEAD => 400,
            _ => 405,
        };
        let why = "This mirror takes requests to read, with the name of a host";
        let answer = MirrorAnswer::refusal(status, "", why).with("allow", "GET, HEAD");
        Some(answer.with("connection", "close"))
    }

    /// The first value of a header.
    fn header(&self, name: HeaderName) -> Option<&str> {
        self.0.headers.get(name)?.to_str().ok()
    }

    /// The parts of the path, decoded. `None` for a path that no client makes: with empty parts,
    /// `.` or `..`, or with bytes that are no text. A decoded part may have slashes.
    pub fn parts(&self) -> Option<Vec<String>> {
        let parts = self.0.uri.path().strip_prefix('/')?.split('/').map(|part| {
            let part = percent_decode_str(part).decode_utf8().ok()?;
            let is_plain = !matches!(&*part, "" | "." | "..") && !part.contains('\0');
            is_plain.then(|| part.into_owned())
        });
        parts.collect()
    }

    /// The value of a key of the query.
    pub fn query(&self, key: &str) -> Option<&str> {
        let query = self.0.uri.query().unwrap_or_default();
        let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
        pairs.find(|(own, _)| *own == key).map(|(_, value)| value)
    }

    /// The URL of the same path with another query.
    pub fn url_with(&self, query: &str) -> String {
        // A server in front of this one may speak TLS.
        let proto = self.header(HeaderName::from_static("x-forwarded-proto"));
        let scheme = proto.filter(|scheme| *scheme == "https").unwrap_or("http");
        let host = self.header(HOST).unwrap_or_default();
        let path = utf8_percent_encode(self.0.uri.path(), CONTROLS);
        format!("{scheme}://{host}{path}?{query}")
    }

    /// Whether the client has a content with this tag.
    fn has(&self, etag: &str) -> bool {
        let tags = self.header(IF_NONE_MATCH).unwrap_or_default().split(',');
        let mut tags = tags.map(|tag| tag.trim().trim_start_matches("W/"));
        tags.any(|tag| tag == "*" || tag == etag)
    }

    /// The bytes of a content that are asked for; an empty range if they are behind its end. `None`
    /// for all of it, also if the client's part is of another content, or there are several ranges,
    /// which a server may ignore.
    fn range_of(&self, size: u64, etag: &str) -> Option<Range<u64>> {
        let is_same = self.header(IF_RANGE).is_none_or(|tag| tag == etag);
        let asked = self.header(RANGE);
        let asked = asked.filter(|_| is_same && !self.is_head())?;
        let (first, last) = asked.strip_prefix("bytes=")?.split_once('-')?;
        let number = |text: &str| {
            let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
            is_number.then(|| text.parse().unwrap_or(u64::MAX))
        };
        match (first.trim(), last.trim()) {
            ("", "") => None,
            ("", length) => Some(size.saturating_sub(number(length)?)..size),
            (first, "") => Some(number(first)?..size),
            (first, last) => {
                let (first, last) = (number(first)?, number(last)?);
                (first <= last).then(|| first..last.saturating_add(1).min(size))
            }
        }
    }
}

/// The content of an answer, and the bytes of it that are left to send.
pub struct MirrorBody {
    read: Box<dyn Fn(Range<u64>) -> io::Result<Bytes> + Send + Sync>,
    left: Range<u64>,
}

impl MirrorBody {
    /// The number of bytes that are left.
    pub fn length(&self) -> u64 {
        self.left.end - self.left.start
    }

    /// Reads the next piece.
    ///
    /// # Errors
    /// The errors of the file system; `ErrorKind::ResourceBusy` for a file that has changed.
    pub fn next_piece(&mut self) -> io::Result<Bytes> {
        let Range { start, end } = self.left;
        self.left.start = end.min(start + PIECE);
        (self.read)(start..self.left.start)
    }
}

/// An answer.
pub struct MirrorAnswer(pub Response<MirrorBody>);

impl MirrorAnswer {
    /// The content of `size` bytes that a function reads.
    fn new(
        size: u64,
        read: impl Fn(Range<u64>) -> io::Result<Bytes> + Send + Sync + 'static,
    ) -> Self {
        let (read, left) = (Box::new(read), 0..size);
        Self(Response::new(MirrorBody { read, left }))
    }

    /// An answer in JSON.
    pub fn json(content: &impl Serialize) -> Self {
        let text = Bytes::from(serde_json::to_vec(content).unwrap_or_default());
        let etag = format!("\"{}\"", hex(&Sha1::digest(&text)));
        let size = text.len() as u64;
        let read =
            move |piece: Range<u64>| Ok(text.slice(piece.start as usize..piece.end as usize));
        let answer = Self::new(size, read).with("etag", &etag);
        answer.with("content-type", "application/json")
    }

    /// A file, under its name on the Hub. It must keep its identity while it is sent.
    pub fn file(file: File, identity: ContentIdentity) -> Self {
        let size = identity.size;
        let read = move |piece: Range<u64>| {
            let mut bytes = vec![0; (piece.end - piece.start) as usize];
            file.read_exact_at(&mut bytes, piece.start)?;
            // NB: the client gets a whole file only if it is still the one with the hash.
            check_identity(&file, &identity)?;
            Ok(Bytes::from(bytes))
        };
        let answer = Self::new(size, read).with("accept-ranges", "bytes");
        answer.with("content-type", "application/octet-stream")
    }

    /// A refusal, in the Hub's form.
    pub fn refusal(status: u16, code: &str, message: &str) -> Self {
        let mut answer = Self::json(&json!({ "error": message })).with("x-error-message", message);
        answer.0.headers_mut().remove(ETAG);
        if !code.is_empty() {
            answer = answer.with("x-error-code", code);
        }
        answer.with_status(status)
    }

    /// Adds a header, whose name has no capitals and whose value is ASCII.
    pub fn with(mut self, name: &'static str, value: &str) -> Self {
        let value = HeaderValue::from_str(value).expect("ASCII");
        let headers = self.0.headers_mut();
        headers.insert(HeaderName::from_static(name), value);
        self
    }

    fn with_status(mut self, status: u16) -> Self {
        *self.0.status_mut() = StatusCode::from_u16(status).expect("a status");
        self
    }

    /// Leaves out the content that the client has, or did not ask for.
    pub fn for_request(mut self, request: &MirrorRequest) -> Self {
        let etag = self.0.headers().get(ETAG).and_then(|tag| tag.to_str().ok());
        let Some(etag) = etag.filter(|_| self.0.status() == StatusCode::OK) else {
            return self;
        };
        let size = self.0.body().length();
        let (status, range) = match request.range_of(size, etag) {
            _ if request.has(etag) => (304, 0..0),
            // NB: hyper gives the other answers their length, but not an empty file for HEAD.
            None if request.is_head() => return self.with("content-length", &size.to_string()),
            None => return self,
            Some(range) if range.is_empty() => {
                self = self.with("content-range", &format!("bytes */{size}"));
                (416, 0..0)
            }
            Some(range) => {
                let (first, last) = (range.start, range.end - 1);
                self = self.with("content-range", &format!("bytes {first}-{last}/{size}"));
                (206, range)
            }
        };
        self.0.body_mut().left = range;
        self.with_status(status)
    }
}

#[cfg(test)]
mod tests {
    use hyper::Request;

    use super::*;

    fn request(headers: &[(&str, &str)]) -> MirrorRequest {
        let mut request = Request::get("/a/%2e%2e?x=1&cursor=7");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        MirrorRequest(request.body(()).expect("a request").into_parts().0)
    }

    #[test]
    fn requests_have_a_path_and_a_query() {
        let own = request(&[("Host", "a"), ("X-Forwarded-Proto", "https")]);
        assert_eq!(own.query("cursor"), Some("7"));
        assert_eq!(own.parts(), None, "a part that is ..");
        assert_eq!(own.url_with("x=2"), "https://a/a/%2e%2e?x=2");
        assert!(own.refusal(false).is_none());
    }

    #[test]
    fn ranges_are_those_of_the_standard() {
        for (range, expected) in [
            ("bytes=0-0", Some(0..1)),
            ("bytes=2-3", Some(2..4)),
            ("bytes=8-", Some(8..10)),
            ("bytes=8-99", Some(8..10)),
            ("bytes=8-99999999999999999999999", Some(8..10)),
            ("bytes=-3", Some(7..10)),
            ("bytes=-99", Some(0..10)),
            ("bytes=-0", Some(10..10)),
            ("bytes=10-", Some(10..10)),
            ("bytes=10-12", Some(10..10)),
            ("bytes=3-2", None),
            ("bytes=0-1,4-5", None),
            ("bytes=-", None),
            ("bytes=+1-2", None),
            ("lines=1-2", None),
        ] {
            let own = request(&[("Range", range)]);
            assert_eq!(own.range_of(10, "\"a\""), expected, "{range}");
        }
        let own = request(&[("Range", "bytes=99999999999999999999999-")]);
        assert!(own.range_of(10, "").is_some_and(|range| range.is_empty()));
        for (tag, expected) in [("\"a\"", Some(2..4)), ("\"b\"", None), ("W/\"a\"", None)] {
            let own = request(&[("If-Range", tag), ("Range", "bytes=2-3")]);
            assert_eq!(own.range_of(10, "\"a\""), expected, "{tag}");
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
            let own = request(&[("If-None-Match", tags)]);
            let answer = MirrorAnswer::json(&1)
                .with("etag", "\"a\"")
                .for_request(&own);
            assert_eq!(answer.0.status(), status, "{tags}");
            assert_eq!(answer.0.body().length(), u64::from(status == 200));
        }
    }
}
