//! Plain objects over HTTP: PUT, GET, HEAD and DELETE without a function.
//!
//! Bodies are never collected: what comes is handed on before more is read, and what goes is read a part
//! at a time, when the client has taken the one before.

use std::ops::Range;

use axum::body::{Body, BodyDataStream};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures::{StreamExt, stream};

use super::answer;
use super::listing;
use super::request::{Asked, JSON_BYTES_MAX, broken_off, drain, read_body};
use db::items::layout::SCHEMA_NAME;
use db::items::{Collections, Contents, How, OBJECT_BYTES_MAX, Place, SCHEMA_BYTES_MAX};
use db::items::{Error, Result};

const BYTES: &str = "application/octet-stream";

/// Ranges that a PUT names to add to the end of an object.
const APPEND: [&str; 2] = ["-1", "bytes=-1"];

/// Puts an object, or makes a directory or container.
pub(super) async fn put(collections: &Collections, asked: &Asked, body: Body) -> Result<Response> {
    if asked.is_root() {
        return Err(Error::Invalid("the path names no container".to_owned()));
    }
    if asked.is_directory() {
        if !read_body(body, "body", JSON_BYTES_MAX).await?.is_empty() {
            let reason = "a directory has no bytes: leave out the slash at the end of the path";
            return Err(Error::Invalid(reason.to_owned()));
        }
        collections.make_directory(&asked.directory()?).await?;
        return Ok(StatusCode::OK.into_response());
    }
    let place = asked.place()?;
    let is_schema = place.name == SCHEMA_NAME;
    let changed_ns = match asked.range.as_deref() {
        None if is_schema => {
            let schema = read_body(body, "schema", SCHEMA_BYTES_MAX).await?;
            collections.put_object(&place, schema).await?
        }
        None => receive(collections, asked, &place, (How::Replace, body)).await?,
        Some(range) if APPEND.contains(&range) => {
            receive(collections, asked, &place, (How::Append, body)).await?
        }
        Some(_) => {
            drain(&mut body.into_data_stream()).await;
            let reason = "an object is put whole, or appended to with `Range: -1`";
            return Err(Error::Invalid(reason.to_owned()));
        }
    };
    Ok(answer::changed(changed_ns))
}

/// Takes the bytes of an object as they come; when it was changed.
async fn receive(
    collections: &Collections,
    asked: &Asked,
    place: &Place,
    (how, body): (How, Body),
) -> Result<i64> {
    if asked.length.is_some_and(|length| length > OBJECT_BYTES_MAX) {
        // Nothing is read: there is too much of it.
        return Err(Error::TooLarge {
            what: "object",
            limit: OBJECT_BYTES_MAX,
        });
    }
    let mut chunks = body.into_data_stream();
    let received = receive_chunks(collections, place, how, &mut chunks).await;
    if received.is_err() {
        drain(&mut chunks).await;
    }
    received
}

async fn receive_chunks(
    collections: &Collections,
    place: &Place,
    how: How,
    chunks: &mut BodyDataStream,
) -> Result<i64> {
    let mut upload = collections.upload(place, how)?;
    while let Some(chunk) = chunks.next().await {
        upload.write(&chunk.map_err(broken_off)?)?;
    }
    upload.finish().await
}

/// Reads an object, or lists a directory or the containers.
pub(super) async fn get(collections: &Collections, asked: &Asked) -> Result<Response> {
    if asked.is_root() {
        return listing::containers(collections).await;
    }
    if asked.is_directory() {
        match listing::directory(collections, asked).await {
            // Clients put a slash behind the path of a file too.
            Err(Error::NotFound) if asked.has_name() => {}
            listed => return listed,
        }
    }
    let object = collections.object(&asked.place()?).await?;
    let (size, changed_ns) = (object.record.size(), object.record.changed_ns);
    let range = asked.range.as_deref();
    let range = range.map(|range| parse_range(range, size)).transpose()?;
    let (status, told, range) = match range {
        None => (StatusCode::OK, None, 0..size),
        // What is past the end is nothing, and no failure.
        Some(None) => (StatusCode::OK, None, 0..0),
        Some(Some(range)) => {
            let told = format!(
                "bytes {}-{}/{size}",
                range.start,
                range.end.saturating_sub(1)
            );
            (StatusCode::PARTIAL_CONTENT, Some(told), range)
        }
    };
    let length = range.end - range.start;
    let mut pieces = object.pieces(range);
    // A failure that comes now can be told: later it breaks the answer off.
    let first = pieces.next().transpose()?;
    let body = match pieces.is_at_end() {
        true => Body::from(first.unwrap_or_default()),
        false => Body::from_stream(stream::iter(first.map(Ok).into_iter().chain(pieces))),
    };
    let mut response = answer::of_type(BYTES, body);
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_LENGTH, HeaderValue::from(length));
    if let Some(told) = told
        && let Ok(told) = HeaderValue::from_str(&told)
    {
        headers.insert(header::CONTENT_RANGE, told);
    }
    Ok(answer::with_changed(response, changed_ns))
}

/// Tells about an object without its bytes, or about a directory, whether its path ends with a slash
/// or not.
pub(super) async fn head(collections: &Collections, asked: &Asked) -> Result<Response> {
    if asked.is_root() {
        return Ok(StatusCode::OK.into_response());
    }
    let object = async || collections.get(&asked.place()?, None).await;
    let directory = async || collections.directory(&asked.directory()?).await;
    let record = match asked.is_directory() {
        true => match directory().await {
            Err(Error::NotFound) if asked.has_name() => object().await,
            found => found,
        },
        false => match object().await {
            Err(Error::NotFound) => directory().await,
            found => found,
        },
    }?;
    let mut response = answer::of_type(BYTES, Vec::new());
    let size = HeaderValue::from(record.size());
    response.headers_mut().insert(header::CONTENT_LENGTH, size);
    Ok(answer::with_changed(response, record.changed_ns))
}

/// Deletes an item or object, an empty directory or an empty container; with `recursive=1` in the
/// query also what is in a directory or container.
pub(super) async fn delete(collections: &Collections, asked: &Asked) -> Result<Response> {
    let contents = match asked.is_set("recursive") {
        true => Contents::Go,
        false => Contents::Stay,
    };
    let directory = asked.directory();
    if !asked.has_name() {
        let container = directory?.container;
        collections.remove_container(&container, contents).await?;
    } else if asked.is_directory() {
        let directory = directory?;
        collections.delete_directory(&directory, contents).await?;
    } else {
        match collections.delete(&asked.place()?, asked.buckets).await {
            // Clients leave out the slash behind the path of a directory too.
            Err(Error::NotFound) => {
                let directory = directory?;
                collections.delete_directory(&directory, contents).await?;
            }
            deleted => deleted?,
        }
    }
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// Which bytes a range means; nothing if it begins past the end.
///
/// Clients write `bytes=5` for all from the fifth on.
fn parse_range(range: &str, size: u64) -> Result<Option<Range<u64>>> {
    let wrong = || Error::Invalid(format!("`{range}` is no range: write bytes=<first>-<last>"));
    let bounds = range.strip_prefix("bytes=").ok_or_else(wrong)?;
    let (first, last) = bounds.split_once('-').unwrap_or((bounds, ""));
    let parse = |text: &str| text.trim().parse::<u64>().map_err(|_| wrong());
    let (from, to) = match (first, last) {
        ("", last) => (size.saturating_sub(parse(last)?), size),
        (first, "") => (parse(first)?, size),
        (first, last) => (parse(first)?, parse(last)?.saturating_add(1).min(size)),
    };
    if from > to && from < size {
        return Err(wrong());
    }
    Ok((from < size).then_some(from..to))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_cut_to_the_object() {
        let range = |text| parse_range(text, 10).unwrap();
        assert_eq!(range("bytes=0-4"), Some(0..5));
        assert_eq!(range("bytes=5"), Some(5..10));
        assert_eq!(range("bytes=5-"), Some(5..10));
        assert_eq!(range("bytes=-3"), Some(7..10));
        assert_eq!(range("bytes=8-100"), Some(8..10));
        assert_eq!(range("bytes=10-12"), None);
        for wrong in ["5-6", "bytes=", "bytes=a-b", "bytes=5-2"] {
            assert!(parse_range(wrong, 10).is_err(), "{wrong}");
        }
    }
}
