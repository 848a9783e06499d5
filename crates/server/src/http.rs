//! HTTP beside PostgreSQL's protocol: `/metrics` for Prometheus, `/health` for whoever asks whether
//! the database is up, and everything else for the NoSQL web API ([`crate::nosql::web`]).
//!
//! The first two only look. Numbers are gathered when they are asked for, and cost nothing until
//! then. Who asks for `/health` is answered also when there is no place for more connections.
//!
//! Names of headers are written `Like-This`: some clients of the web API look for them in maps that
//! know one case only.

mod exposition;
mod places;

use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::Request;
use axum::http::{Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use db::{Database, Health};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::time::timeout;

pub use places::Limits;
use places::{Admitted, Guest, Places};

use crate::nosql::web;
use crate::{Error, Result};
use db::items::Collections;

/// What Prometheus calls the text it reads.
const EXPOSITION: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Seconds that a client without a place has to ask and to hear the answer.
const REFUSAL_SECONDS_MAX: u64 = 2;
/// Bytes that are read of what such a client sends after its request.
const REFUSED_BYTES_MAX: u64 = 64 << 10;

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
        let Self { places, database } = self;
        let front = Arc::new(Front {
            collections: Collections::new(Arc::clone(&database)),
            database,
        });
        let (stopping, stopped) = watch::channel(false);
        let mut stop = pin!(stop);
        loop {
            let admitted = tokio::select! {
                admitted = places.accept() => admitted,
                () = &mut stop => break,
            };
            let front = Arc::clone(&front);
            match admitted {
                Admitted::Guest(guest) => {
                    tokio::spawn(front.converse(guest, stopped.clone()));
                }
                Admitted::Refused(client, refusal) => {
                    tokio::spawn(async move {
                        let most = Duration::from_secs(REFUSAL_SECONDS_MAX);
                        // It may be gone already, and nothing is left to be done about that.
                        let _ = timeout(most, front.turn_away(client)).await;
                        drop(refusal);
                    });
                }
            }
        }
        // Nobody waits to be let in any more.
        drop(places);
        stopping.send_replace(true);
        drop(stopped);
        // Until the last connection has ended.
        stopping.closed().await;
        Ok(())
    }
}

/// What requests are answered from.
struct Front {
    database: Arc<Database>,
    collections: Collections,
}

impl Front {
    /// Answers one client until it leaves, or until the answer under way when the server stops.
    async fn converse(self: Arc<Self>, guest: Guest, mut stopped: watch::Receiver<bool>) {
        let service = service_fn(move |request: Request<Incoming>| {
            let front = Arc::clone(&self);
            async move { Ok::<_, Infallible>(front.answer(request.map(Body::new)).await) }
        });
        let connection = http().serve_connection(TokioIo::new(guest), service);
        let mut connection = pin!(connection);
        tokio::select! {
            // A client that disconnects gets no answer.
            _ = connection.as_mut() => return,
            _ = stopped.wait_for(|stopped| *stopped) => {}
        }
        connection.as_mut().graceful_shutdown();
        let _ = connection.await;
    }

    async fn answer(&self, request: Request) -> Response {
        match request.uri().path() {
            "/metrics" => look(&self.database, &request, metrics),
            "/health" => look(&self.database, &request, health),
            _ => web::answer(&self.collections, request).await,
        }
    }

    /// Answers one request of a client for which there is no place. What it sends after that is read:
    /// closing before it has heard the answer would take it away.
    async fn turn_away(&self, client: TcpStream) -> io::Result<()> {
        let service = service_fn(|request: Request<Incoming>| async move {
            Ok::<_, Infallible>(match request.uri().path() {
                "/health" => look(&self.database, &request.map(Body::new), health),
                _ => refusal(),
            })
        });
        let mut http = http();
        let connection = http.keep_alive(false);
        let connection = connection.serve_connection(TokioIo::new(client), service);
        let parts = connection.without_shutdown().await;
        let mut client = parts.map_err(io::Error::other)?.io.into_inner();
        client.shutdown().await?;
        let mut rest = client.take(REFUSED_BYTES_MAX);
        tokio::io::copy(&mut rest, &mut tokio::io::sink()).await?;
        Ok(())
    }
}

/// How connections are spoken on.
fn http() -> http1::Builder {
    let mut http = http1::Builder::new();
    http.title_case_headers(true);
    http
}

/// What a client hears for which there is no place.
fn refusal() -> Response {
    let reason = "too many connections of HTTP\n";
    let headers = [(header::RETRY_AFTER, "1")];
    (StatusCode::SERVICE_UNAVAILABLE, headers, reason).into_response()
}

fn look(database: &Database, request: &Request, show: fn(&Database) -> Response) -> Response {
    match *request.method() {
        Method::GET | Method::HEAD => show(database),
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
