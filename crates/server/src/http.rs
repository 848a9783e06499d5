//! HTTP beside PostgreSQL's protocol: `/metrics` for Prometheus, `/health` for whoever asks whether
//! the database is up, and everything else for the NoSQL web API ([`crate::nosql::web`]).
//!
//! The first two only look. Numbers are gathered when they are asked for, and cost nothing until
//! then.

mod exposition;
mod places;

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use axum::extract::Request;
use axum::handler::HandlerWithoutStateExt;
use axum::http::{Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::serve::Listener as _;
use db::{Database, Health};
use tokio::net::TcpListener;

pub use places::Limits;
use places::Places;

use crate::nosql::web;
use crate::{Error, Result};
use db::items::Collections;

/// What Prometheus calls the text it reads.
const EXPOSITION: &str = "text/plain; version=0.0.4; charset=utf-8";

/// A server of HTTP that is ready to accept.
#[derive(Debug)]
pub struct HttpListener {
    places: Places,
    database: Arc<Database>,
}

impl HttpListener {
    /// Listens on an address, for clients within these limits.
    pub async fn bind(address: &str, database: Arc<Database>, limits: Limits) -> Result<Self> {
        let bound = TcpListener::bind(address).await;
        let socket = bound.map_err(|source| Error::Listen {
            address: address.to_owned(),
            source,
        })?;
        let places = Places::new(socket, limits);
        Ok(Self { places, database })
    }

    /// Where it listens: the port is the real one, also when port 0 was asked for.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.places.local_addr()
    }

    /// Answers until `stop` comes.
    pub async fn serve(self, stop: impl Future<Output = ()> + Send + 'static) -> io::Result<()> {
        let database = self.database;
        let collections = Arc::new(Collections::new(Arc::clone(&database)));
        let answer = move |request: Request| {
            let (database, collections) = (Arc::clone(&database), Arc::clone(&collections));
            async move { answer(&database, &collections, request).await }
        };
        axum::serve(self.places, answer.into_make_service())
            .with_graceful_shutdown(stop)
            .await
    }
}

async fn answer(database: &Database, collections: &Collections, request: Request) -> Response {
    let look = match request.uri().path() {
        "/metrics" => metrics,
        "/health" => health,
        _ => return web::answer(collections, request).await,
    };
    match *request.method() {
        Method::GET | Method::HEAD => look(database),
        _ => (
            StatusCode::METHOD_NOT_ALLOWED,
            [(header::ALLOW, "GET,HEAD")],
        )
            .into_response(),
    }
}

fn metrics(database: &Database) -> Response {
    match database.metrics() {
        Ok(metrics) => {
            let text = exposition::text(&metrics);
            ([(header::CONTENT_TYPE, EXPOSITION)], text).into_response()
        }
        Err(error) => {
            let reason = format!("no metrics now: {error}\n");
            (StatusCode::INTERNAL_SERVER_ERROR, reason).into_response()
        }
    }
}

/// Whether the database can do its work; if not, a line for each reason.
fn health(database: &Database) -> Response {
    match ailments(&database.health()) {
        none if none.is_empty() => (StatusCode::OK, "ok\n").into_response(),
        ailments => (StatusCode::SERVICE_UNAVAILABLE, ailments).into_response(),
    }
}

fn ailments(health: &Health) -> String {
    let engines = health.engines_down.iter();
    let engines = engines.map(|engine| format!("{engine} failed and is not open again yet\n"));
    let jobs = health.jobs_failing.iter().map(|job| {
        let error = job.last_error.as_deref().unwrap_or_default();
        let error = error.replace('\n', " ");
        format!("background job {} goes on failing: {error}\n", job.name)
    });
    engines.chain(jobs).collect()
}

#[cfg(test)]
mod tests {
    use db::{EngineId, JobStatus};

    use super::*;

    #[test]
    fn health_names_engines_and_jobs_with_their_last_errors() {
        assert_eq!(ailments(&Health::default()), "");
        let health = Health {
            engines_down: vec![EngineId(3)],
            jobs_failing: vec![JobStatus {
                name: "ttl_expiry",
                runs: 5,
                failures: 4,
                last_error: Some("panicked: one\ntwo".to_owned()),
                failing: true,
            }],
        };
        assert_eq!(
            ailments(&health),
            "engine 3 failed and is not open again yet\n\
             background job ttl_expiry goes on failing: panicked: one two\n"
        );
    }
}
