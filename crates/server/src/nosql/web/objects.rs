//! Plain objects over HTTP: PUT, GET, HEAD and DELETE without a function.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};

use super::answer;
use super::listing;
use super::request::Asked;
use db::items::{Collections, Contents, Error, Result};

const BYTES: &str = "application/octet-stream";

/// The range that a PUT names to add to the end of an object.
const APPEND: &str = "-1";

/// Puts an object, or makes a directory or container.
pub(super) async fn put(
    collections: &Collections,
    asked: &Asked,
    body: Vec<u8>,
) -> Result<Response> {
    if asked.is_root() {
        return Err(Error::Invalid("the path names no container".to_owned()));
    }
    if asked.is_directory() {
        if !body.is_empty() {
            let reason = "a directory has no bytes: leave out the slash at the end of the path";
            return Err(Error::Invalid(reason.to_owned()));
        }
        collections.make_directory(&asked.directory()?).await?;
        return Ok(StatusCode::OK.into_response());
    }
    let place = asked.place()?;
    let changed_ns = match asked.range.as_deref() {
        None => collections.put_object(&place, body).await?,
        Some(APPEND) => collections.append(&place, &body).await?,
        Some(_) => {
            let reason = "an object is put whole, or appended to with `Range: -1`";
            return Err(Error::Invalid(reason.to_owned()));
        }
    };
    Ok(answer::changed(changed_ns))
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
    let record = collections.get(&asked.place()?, None).await?;
    let data = record.data.as_deref().unwrap_or_default();
    let range = asked.range.as_deref();
    let range = range
        .map(|range| parse_range(range, data.len()))
        .transpose()?;
    let response = match range {
        None => answer::of_type(BYTES, data.to_vec()),
        // What is past the end is nothing, and no failure.
        Some(None) => answer::of_type(BYTES, Vec::new()),
        Some(Some((from, to))) => {
            let part = data.get(from..to).unwrap_or_default();
            let mut response = answer::of_type(BYTES, part.to_vec());
            *response.status_mut() = StatusCode::PARTIAL_CONTENT;
            let shown = format!("bytes {from}-{}/{}", to.saturating_sub(1), data.len());
            if let Ok(shown) = HeaderValue::from_str(&shown) {
                response.headers_mut().insert(header::CONTENT_RANGE, shown);
            }
            response
        }
    };
    Ok(answer::with_changed(response, record.changed_ns))
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

/// Which bytes a range means: from the first to before the second; nothing if it begins past the end.
///
/// Clients write `bytes=5` for all from the fifth on.
fn parse_range(range: &str, size: usize) -> Result<Option<(usize, usize)>> {
    let wrong = || Error::Invalid(format!("`{range}` is no range: write bytes=<first>-<last>"));
    let bounds = range.strip_prefix("bytes=").ok_or_else(wrong)?;
    let (first, last) = bounds.split_once('-').unwrap_or((bounds, ""));
    let parse = |text: &str| text.trim().parse::<usize>().map_err(|_| wrong());
    let (from, to) = match (first, last) {
        ("", last) => (size.saturating_sub(parse(last)?), size),
        (first, "") => (parse(first)?, size),
        (first, last) => (parse(first)?, parse(last)?.saturating_add(1).min(size)),
    };
    if from > to && from < size {
        return Err(wrong());
    }
    Ok((from < size).then_some((from, to)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_cut_to_the_object() {
        let range = |text| parse_range(text, 10).unwrap();
        assert_eq!(range("bytes=0-4"), Some((0, 5)));
        assert_eq!(range("bytes=5"), Some((5, 10)));
        assert_eq!(range("bytes=5-"), Some((5, 10)));
        assert_eq!(range("bytes=-3"), Some((7, 10)));
        assert_eq!(range("bytes=8-100"), Some((8, 10)));
        assert_eq!(range("bytes=10-12"), None);
        for wrong in ["5-6", "bytes=", "bytes=a-b", "bytes=5-2"] {
            assert!(parse_range(wrong, 10).is_err(), "{wrong}");
        }
    }
}
