//! Counters that many clients raise, each with the condition that nobody was faster, while the
//! server is killed: what was acknowledged is there, and nothing is there twice.

use std::sync::mpsc::{Sender, channel};

use serde_json::json;

use crate::client::Client;
use crate::process::Server;

const CLIENTS: usize = 32;
const COUNTERS: usize = 64;
const KILL_AFTER: usize = 10_000;

/// What one client was told about one counter.
#[derive(Clone, Copy, Default)]
struct Told {
    raised: u64,
    /// Requests whose answer never came: each may have happened or not.
    unknown: u64,
}

/// Raises counters until the server is gone.
fn raise(first: usize, mut client: Client, acknowledged: &Sender<()>) -> [Told; COUNTERS] {
    let mut told = [Told::default(); COUNTERS];
    for turn in first.. {
        let counter = turn % COUNTERS;
        let path = format!("/users/counters/c{counter}");
        let headers = [("X-v3io-function", "GetItem")];
        let Ok(found) = client.try_send("PUT", &path, &headers, b"{}") else {
            return told;
        };
        let verifier = found.header("x-v3io-transaction-verifier").unwrap();
        let body = json!({"UpdateExpression": "n = n + 1", "ConditionExpression": verifier});
        let headers = [("X-v3io-function", "UpdateItem")];
        let body = body.to_string();
        match client.try_send("POST", &path, &headers, body.as_bytes()) {
            Ok(answer) if answer.status == 200 => {
                told[counter].raised += 1;
                // Nobody listens any more when enough were told.
                let _ = acknowledged.send(());
            }
            Ok(answer) => assert!(answer.text().contains("16777244"), "{}", answer.text()),
            Err(_) => {
                told[counter].unknown += 1;
                return told;
            }
        }
    }
    told
}

#[test]
fn a_kill_loses_no_counter_that_was_acknowledged() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let mut client = Client::connect(&server);
    for counter in 0..COUNTERS {
        let path = format!("/users/counters/c{counter}");
        client
            .call("PutItem", &path, &json!({"Item": {"n": {"N": "0"}}}))
            .done();
    }
    let (acknowledge, acknowledged) = channel();
    let told = std::thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS)
            .map(|first| {
                let client = Client::connect(&server);
                let acknowledge = acknowledge.clone();
                scope.spawn(move || raise(first, client, &acknowledge))
            })
            .collect();
        assert_eq!(acknowledged.iter().take(KILL_AFTER).count(), KILL_AFTER);
        server.kill();
        let told = clients.into_iter().map(|client| client.join().unwrap());
        told.collect::<Vec<_>>()
    });
    let server = Server::start(data.path(), &[]);
    let mut client = Client::connect(&server);
    let mut sum = 0_u64;
    for counter in 0..COUNTERS {
        let found = client.call(
            "GetItem",
            &format!("/users/counters/c{counter}"),
            &json!({}),
        );
        let found: u64 = found.json()["Item"]["n"]["N"]
            .as_str()
            .unwrap()
            .parse()
            .unwrap();
        let raised: u64 = told.iter().map(|told| told[counter].raised).sum();
        let unknown: u64 = told.iter().map(|told| told[counter].unknown).sum();
        assert!(
            (raised..=raised + unknown).contains(&found),
            "{found} of {raised} acknowledged and {unknown} unknown"
        );
        sum += raised;
    }
    assert!(usize::try_from(sum).unwrap() >= KILL_AFTER);
}
