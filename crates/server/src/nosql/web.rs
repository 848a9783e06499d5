//! The HTTP half of the NoSQL web API: what requests ask, and how they are answered.
//!
//! ```text
//!   PUT or POST /<container>/<path>     X-v3io-function: PutItem, UpdateItem, GetItem, GetItems,
//!                                       GetClusterMD                                       items
//!   PUT GET HEAD DELETE, without it     objects, directories, containers                 objects
//!   GET /<container>?prefix=…           what is in a directory, as XML                   listing
//! ```
//!
//! The method does not matter where a function is named. Whoever asks is let in: keys of sessions
//! and passwords are taken and not looked at.

mod answer;
mod attributes;
mod fields;
mod items;
mod listing;
mod objects;
mod request;

use axum::body::Body;
use axum::http::{Method, Request, StatusCode, header};
use axum::response::{IntoResponse, Response};

use db::items::Collections;
use db::items::{Error, Result};
use request::{Asked, JSON_BYTES_MAX, read_body};

/// What can be asked for at every path.
const METHODS: &str = "GET, HEAD, PUT, POST, DELETE, OPTIONS";

/// Which function of the data service is asked for.
const FUNCTION_HEADER: &str = "x-v3io-function";

/// Answers a request, whatever it is.
pub async fn answer(collections: &Collections, request: Request<Body>) -> Response {
    match dispatch(collections, request).await {
        Ok(response) => response,
        Err(error) => answer::refusal(&error),
    }
}

async fn dispatch(collections: &Collections, request: Request<Body>) -> Result<Response> {
    let (head, body) = request.into_parts();
    let asked = Asked::read(&head)?;
    if let Some(function) = head.headers.get(FUNCTION_HEADER) {
        let body = read_body(body, "body", JSON_BYTES_MAX).await?;
        if !matches!(head.method, Method::PUT | Method::POST) {
            let reason = format!(
                "a function is asked for with PUT or POST, not {}",
                head.method
            );
            return Err(Error::Invalid(reason));
        }
        let function = function.to_str().unwrap_or_default();
        return items::call(collections, &asked, function, &body).await;
    }
    match head.method {
        Method::PUT => objects::put(collections, &asked, body).await,
        Method::GET => objects::get(collections, &asked).await,
        Method::HEAD => objects::head(collections, &asked).await,
        Method::DELETE => objects::delete(collections, &asked).await,
        Method::OPTIONS => Ok((StatusCode::NO_CONTENT, [(header::ALLOW, METHODS)]).into_response()),
        method => Err(Error::Invalid(format!(
            "{method} needs the header X-v3io-function"
        ))),
    }
}
