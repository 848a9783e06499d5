//! What a request says besides its body: the path, the query and the headers that matter.

use std::num::NonZeroU32;

use axum::body::{Body, BodyDataStream};
use axum::http::header::{CONTENT_LENGTH, RANGE};
use axum::http::request::Parts;
use futures::StreamExt;

use db::items::layout::BUCKETS_MAX;
use db::items::{Directory, Error, Place, Result};

/// Bytes of the longest JSON body.
pub(super) const JSON_BYTES_MAX: usize = 2 << 20;

/// How much of a body that is too long is read before it is refused, so that a client that sends it
/// whole before it listens gets its answer.
const REFUSED_BYTES_MAX: usize = 64 << 20;

/// Over how many buckets items are distributed, where the schema does not tell.
const BUCKETS_HEADER: &str = "x-evenkeel-buckets";

/// A request without its body.
pub(super) struct Asked {
    /// The path, decoded.
    pub(super) path: String,
    /// Names and values of the query, decoded.
    query: Vec<(String, String)>,
    /// The range that is asked for, as it was written.
    pub(super) range: Option<String>,
    /// Content-Length of the body, if there is one.
    pub(super) length: Option<u64>,
    /// The buckets that the request names.
    pub(super) buckets: Option<NonZeroU32>,
}

impl Asked {
    pub(super) fn read(head: &Parts) -> Result<Self> {
        let undecodable = || Error::Invalid("the path is not UTF-8 when decoded".to_owned());
        let path = decode(head.uri.path(), false).ok_or_else(undecodable)?;
        let query = head.uri.query().into_iter();
        let query = query.flat_map(|query| query.split('&')).map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            Some((decode(name, true)?, decode(value, true)?))
        });
        let query = query.collect::<Option<_>>().ok_or_else(undecodable)?;
        let text = |name| Some(head.headers.get(name)?.to_str().unwrap_or_default());
        let buckets = text(BUCKETS_HEADER).map(|number| {
            let number = number.parse::<NonZeroU32>().ok();
            let number = number.filter(|number| number.get() <= BUCKETS_MAX);
            number.ok_or_else(|| {
                Error::Invalid("X-evenkeel-buckets is a whole number from 1 to 1024".to_owned())
            })
        });
        Ok(Self {
            path,
            query,
            range: text(RANGE.as_str()).map(str::to_owned),
            length: text(CONTENT_LENGTH.as_str()).and_then(|length| length.parse().ok()),
            buckets: buckets.transpose()?,
        })
    }

    /// A value of the query.
    pub(super) fn query(&self, name: &str) -> Option<&str> {
        let mut pairs = self.query.iter();
        let (_, value) = pairs.find(|(known, _)| known == name)?;
        Some(value)
    }

    /// The parts of the path: the container and all below it.
    fn segments(&self) -> impl Iterator<Item = &str> {
        self.path.split('/').filter(|segment| !segment.is_empty())
    }

    /// Whether it is about nothing in particular.
    pub(super) fn is_root(&self) -> bool {
        self.segments().next().is_none()
    }

    /// Whether it is about a directory or a container, and not about what has a name.
    pub(super) fn is_directory(&self) -> bool {
        self.path.ends_with('/') || !self.has_name()
    }

    /// Whether something of the query is switched on: it is there, and not 0.
    pub(super) fn is_set(&self, name: &str) -> bool {
        self.query(name).is_some_and(|value| value != "0")
    }

    /// Whether it names something in a container.
    pub(super) fn has_name(&self) -> bool {
        self.segments().nth(1).is_some()
    }

    /// The path as a directory.
    pub(super) fn directory(&self) -> Result<Directory> {
        Directory::parse(&self.path)
    }

    /// The path as a directory and a name.
    pub(super) fn place(&self) -> Result<Place> {
        Place::parse(&self.path)
    }
}

/// Reads a body of so many bytes at most.
pub(super) async fn read_body(body: Body, what: &'static str, limit: usize) -> Result<Vec<u8>> {
    let mut chunks = body.into_data_stream();
    let mut bytes = Vec::new();
    while let Some(chunk) = chunks.next().await {
        let chunk = chunk.map_err(broken_off)?;
        if bytes.len() + chunk.len() > limit {
            drain(&mut chunks).await;
            let limit = u64::try_from(limit).unwrap_or(u64::MAX);
            return Err(Error::TooLarge { what, limit });
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok(bytes)
}

/// Reads what comes of a body that is refused, up to a bound.
pub(super) async fn drain(chunks: &mut BodyDataStream) {
    let mut size = 0;
    while let Some(Ok(chunk)) = chunks.next().await {
        size += chunk.len();
        if size > REFUSED_BYTES_MAX {
            return;
        }
    }
}

/// The end of a body that did not come to its end.
pub(super) fn broken_off(error: axum::Error) -> Error {
    Error::Invalid(format!("the body broke off: {error}"))
}

/// Replaces `%xx` by its byte, and in a query `+` by a space.
fn decode(text: &str, in_query: bool) -> Option<String> {
    if !text.contains(['%', '+']) {
        return Some(text.to_owned());
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let mut digit = || char::from(rest.next()?).to_digit(16);
                let (high, low) = (digit()?, digit()?);
                u8::try_from(high * 16 + low).ok()?
            }
            b'+' if in_query => b' ',
            byte => byte,
        });
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn percent_signs_are_decoded() {
        assert_eq!(decode("a%20b/%C3%BC.x", false).as_deref(), Some("a b/ü.x"));
        assert_eq!(decode(".%23schema", false).as_deref(), Some(".#schema"));
        assert_eq!(decode("a+b", false).as_deref(), Some("a+b"));
        assert_eq!(decode("a+b", true).as_deref(), Some("a b"));
        for wrong in ["%", "%2", "%zz", "%ff"] {
            assert_eq!(decode(wrong, false), None, "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in ".*") {
            let _ = decode(&text, true);
        }
    }
}
