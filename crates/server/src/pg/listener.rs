//! Who may come in, and who cancels whom.
//!
//! ```text
//!   accept ──► a place is free ──────────► startup, connection; the place is given back at the end
//!      │
//!      ├────► none, but a refusal is ────► startup, then SQLSTATE 53300; cancel requests still work
//!      │
//!      └────► neither ───────────────────► the socket is closed without a word
//! ```
//!
//! A cancel request comes on a connection of its own and names another by its number and secret.
//! It interrupts what that one is doing at this moment, and does nothing if it is doing nothing.

use std::collections::HashMap;
use std::future::Future;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::Duration;

use db::{Database, Interrupt, Session};
use parking_lot::Mutex;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::backend::put_error;
use super::channel::Channel;
use super::connection::Connection;
use super::startup::{self, Wish};
use crate::{Error, Result};

/// Clients that may be connected at a time.
pub const CONNECTIONS_MAX: usize = 1_000;
/// Clients that may be told at a time that there is no place.
pub const REFUSALS_MAX: usize = 100;
/// Seconds that clients have to hear that the server stops.
pub const STOP_SECONDS_MAX: u64 = 5;
/// Milliseconds until the next try when the machine has no more sockets to give.
const ACCEPT_RETRY_MS: u64 = 100;

/// A server of PostgreSQL's protocol that is ready to accept.
#[derive(Debug)]
pub struct Listener {
    socket: TcpListener,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    database: Arc<Database>,
    places: Arc<Semaphore>,
    places_max: usize,
    refusals: Arc<Semaphore>,
    next_id: AtomicI32,
    chance: RandomState,
    /// What to ring to cancel, by number, with the secret.
    running: Mutex<HashMap<i32, Running>>,
}

/// A connection that can be cancelled.
#[derive(Debug)]
struct Running {
    secret: i32,
    /// Heard by a statement that waits.
    bell: Arc<Notify>,
    /// Seen by one that blocks its thread.
    interrupt: Interrupt,
}

impl Listener {
    /// Listens on an address, for at most so many clients at a time.
    pub async fn bind(address: &str, database: Arc<Database>, places_max: usize) -> Result<Self> {
        let socket = TcpListener::bind(address)
            .await
            .map_err(|source| Error::Listen {
                address: address.to_owned(),
                source,
            })?;
        let shared = Arc::new(Shared {
            database,
            places: Arc::new(Semaphore::new(places_max)),
            places_max,
            refusals: Arc::new(Semaphore::new(REFUSALS_MAX)),
            next_id: AtomicI32::new(1),
            chance: RandomState::new(),
            running: Mutex::default(),
        });
        Ok(Self { socket, shared })
    }

    /// Where it listens: the port is the real one, also when port 0 was asked for.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// Serves clients until `stop` comes, then tells them and waits until they are gone.
    pub async fn serve(self, stop: impl Future<Output = ()>) {
        let (stopping, stopped) = watch::channel(false);
        let mut clients = JoinSet::new();
        tokio::pin!(stop);
        loop {
            tokio::select! {
                () = &mut stop => break,
                accepted = self.socket.accept() => match accepted {
                    Ok((socket, _)) => self.admit(socket, &stopped, &mut clients),
                    // Out of file descriptors, most likely: others will give theirs back.
                    Err(_) => tokio::time::sleep(Duration::from_millis(ACCEPT_RETRY_MS)).await,
                },
                Some(_) = clients.join_next() => {}
            }
        }
        drop(self.socket);
        stopping.send_replace(true);
        let all_gone = async { while clients.join_next().await.is_some() {} };
        // Whoever does not hear it is cut off when the set is dropped.
        let _ = timeout(Duration::from_secs(STOP_SECONDS_MAX), all_gone).await;
        clients.shutdown().await;
    }

    fn admit(&self, socket: TcpStream, stopped: &watch::Receiver<bool>, clients: &mut JoinSet<()>) {
        // Replies are gathered before they are written: waiting for more helps nobody.
        let _ = socket.set_nodelay(true);
        let shared = Arc::clone(&self.shared);
        let mut stopped = stopped.clone();
        if let Ok(place) = Arc::clone(&shared.places).try_acquire_owned() {
            clients.spawn(async move {
                shared.attend(socket, &mut stopped).await;
                drop(place);
            });
        } else if let Ok(refusal) = Arc::clone(&shared.refusals).try_acquire_owned() {
            clients.spawn(async move {
                shared.turn_away(socket).await;
                drop(refusal);
            });
        }
    }
}

impl Shared {
    /// One client from beginning to end.
    async fn attend(&self, socket: TcpStream, stopped: &mut watch::Receiver<bool>) {
        let mut channel = Channel::new(socket);
        let (minor, parameters) = match startup::hear(&mut channel).await {
            Ok(Wish::Talk { minor, parameters }) => (minor, parameters),
            Ok(Wish::Cancel { id, secret }) => return self.cancel(id, secret),
            Ok(Wish::Left) => return,
            Err(error) => return tell(channel, &error).await,
        };
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let [a, b, c, d, ..] = self.chance.hash_one(id).to_be_bytes();
        let secret = i32::from_be_bytes([a, b, c, d]);
        let mut session = Session::new(Arc::clone(&self.database));
        let wish = (minor, &parameters);
        if let Err(error) = startup::welcome(&mut channel, &mut session, wish, (id, secret)) {
            return tell(channel, &error).await;
        }
        let cancel = Arc::new(Notify::new());
        let running = Running {
            secret,
            bell: Arc::clone(&cancel),
            interrupt: session.interrupt(),
        };
        self.running.lock().insert(id, running);
        let _listed = Listed { id, shared: self };

        let mut connection = Connection::new(channel, session, cancel);
        connection.introduce(&parameters);
        let ended = tokio::select! {
            ended = connection.run() => ended,
            _ = stopped.wait_for(|stopped| *stopped) => Err(Error::Stopping),
        };
        match ended {
            // There is nobody left to tell.
            Ok(()) | Err(Error::Io(_) | Error::ClientGone) => {}
            Err(error) => connection.part(&error).await,
        }
    }

    /// Tells a client that there is no place for it.
    async fn turn_away(&self, socket: TcpStream) {
        let mut channel = Channel::new(socket);
        match startup::hear(&mut channel).await {
            Ok(Wish::Cancel { id, secret }) => self.cancel(id, secret),
            Ok(Wish::Talk { .. }) => {
                let limit = self.places_max;
                tell(channel, &Error::TooManyConnections { limit }).await;
            }
            Ok(Wish::Left) | Err(_) => {}
        }
    }

    fn cancel(&self, id: i32, secret: i32) {
        if let Some(running) = self.running.lock().get(&id)
            && running.secret == secret
        {
            // Only a statement that runs now hears it.
            running.interrupt.cancel();
            running.bell.notify_waiters();
        }
    }
}

/// Takes a connection off the list of those that can be cancelled.
struct Listed<'s> {
    id: i32,
    shared: &'s Shared,
}

impl Drop for Listed<'_> {
    fn drop(&mut self) {
        self.shared.running.lock().remove(&self.id);
    }
}

/// Says why a client is not let in.
async fn tell(mut channel: Channel<TcpStream>, error: &Error) {
    put_error(&mut channel.out, error);
    // It may be gone already, and nothing is left to be done about that.
    let _ = channel.flush().await;
}
