//! The load: connections that each send one request after another for a while.

use std::time::Duration;

use futures::TryStreamExt;
use futures::stream::FuturesUnordered;

use super::Scale;
use super::http::Connection;
use super::peers::Peer;
use crate::measure::Stopwatch;
use crate::{Error, Result};

/// Connections at a time.
pub(crate) const CONNECTIONS: usize = 16;

/// Items of each sharding key.
pub(crate) const SORTING_KEYS: u32 = 20;

/// What each item has: with its keys it makes about 100 bytes.
pub(crate) const VALUE: &str =
    "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz";

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// One item is put.
    Put,
    /// One item is read.
    Get,
    /// Ten items of one sharding key are read, from a sorting key on.
    Scan,
    /// Something that needs no items is answered, so that there is little but HTTP.
    Bare,
}

/// What was done.
pub(crate) struct Done {
    pub(crate) requests: f64,
    pub(crate) per_second: f64,
}

fn sharding_key(i: u32) -> String {
    format!("user{i:06}")
}

fn sorting_key(i: u32) -> String {
    format!("{:08}", 20_180_000 + i)
}

/// Every request that can be made, made before the clock runs.
fn requests(peer: &Peer, kind: Kind, scale: Scale) -> Vec<Vec<u8>> {
    let sorting_keys = match kind {
        // A scan has ten items from there on.
        Kind::Scan => SORTING_KEYS - 9,
        Kind::Put | Kind::Get | Kind::Bare => SORTING_KEYS,
    };
    let keys = (0..scale.sharding_keys)
        .flat_map(|sharding| (0..sorting_keys).map(move |sorting| (sharding, sorting)));
    keys.map(|(sharding, sorting)| {
        peer.request(kind, &sharding_key(sharding), &sorting_key(sorting))
    })
    .collect()
}

/// Puts every item once.
pub(crate) fn fill(peer: &Peer, scale: Scale) -> Result<()> {
    let requests = requests(peer, Kind::Put, scale);
    on_all_connections(peer, async |connection, number| {
        for request in requests.iter().skip(number).step_by(CONNECTIONS) {
            connection.call(request).await?;
        }
        Ok(0)
    })
    .map(|_| ())
}

/// Sends requests on all connections until the time is over.
pub(crate) fn run(peer: &Peer, kind: Kind, scale: Scale) -> Result<Done> {
    let requests = requests(peer, kind, scale);
    let watch = Stopwatch::start();
    let end = Duration::from_secs(scale.seconds);
    let done = on_all_connections(peer, async |connection, number| {
        let mut chance = number + 1;
        let mut done = 0_u32;
        while watch.elapsed() < end {
            chance = chance
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            let request = requests.get((chance >> 33) % requests.len());
            let body = connection.call(request.map_or(&[], Vec::as_slice)).await?;
            let right = match kind {
                Kind::Put | Kind::Bare => true,
                Kind::Get => has(body, VALUE.as_bytes()),
                Kind::Scan => has(body, peer.ten),
            };
            if !right {
                let body = String::from_utf8_lossy(body);
                return Err(Error::Wrong(format!("{kind:?}: {body}")));
            }
            done += 1;
        }
        Ok(done)
    })?;
    let took = watch.elapsed();
    Ok(Done {
        requests: done,
        per_second: done / took.as_secs_f64(),
    })
}

fn has(body: &[u8], part: &[u8]) -> bool {
    body.windows(part.len()).any(|window| window == part)
}

/// Runs the same on each connection, and sums what they answer.
///
/// All are served by one thread. A thread for each connection took as much of the machine as the
/// server that it measured.
fn on_all_connections(
    peer: &Peer,
    work: impl AsyncFn(&mut Connection, usize) -> Result<u32>,
) -> Result<f64> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build()?;
    let work = &work;
    let connections = (0..CONNECTIONS).map(|number| async move {
        let mut connection = Connection::open(peer.port).await?;
        work(&mut connection, number).await
    });
    let connections: FuturesUnordered<_> = connections.collect();
    let sum = connections.try_fold(0.0, async |sum, done| Ok(sum + f64::from(done)));
    runtime.block_on(sum)
}
