//! Who may come in over HTTP, and for how long without asking for anything.
//!
//! ```text
//!   accept ──► a place is free ──────► requests, one after another; the place is given back at the end
//!      │                                 └ nothing was asked in time: the connection is closed
//!      ├────► none, but a refusal is ─► /health is answered, everything else 503, and closed
//!      │
//!      └────► neither ───────────────► closed without a word
//! ```
//!
//! A request has to be there as a whole within a while after the connection was opened or the last
//! answer was sent, and an answer has to be taken at the same pace. So neither half a request nor a
//! client that does not read keeps a place. A long body has the same time for each MiB.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, Sleep, sleep};

/// Clients that may be told at a time that there is no place.
const REFUSALS_MAX: usize = 256;
/// Bytes of a request after which time is counted anew.
const PACE_BYTES: usize = 1 << 20;
/// Milliseconds until the next try when the machine has no more sockets to give.
const ACCEPT_RETRY_MS: u64 = 100;

/// How many clients are served at a time, and how long they may take.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Connections at a time.
    pub connections_max: usize,
    /// The time from one answer to the whole of the next request.
    pub request_time_max: Duration,
}

/// A socket that lets so many in.
#[derive(Debug)]
pub(super) struct Places {
    socket: TcpListener,
    free: Arc<Semaphore>,
    refusals: Arc<Semaphore>,
    request_time_max: Duration,
}

/// A client that has come.
pub(super) enum Admitted {
    /// It has a place.
    Guest(Guest),
    /// It has none, and is told so.
    Refused(TcpStream, OwnedSemaphorePermit),
}

impl Places {
    pub(super) fn new(socket: TcpListener, limits: Limits) -> Self {
        Self {
            socket,
            free: Arc::new(Semaphore::new(limits.connections_max)),
            refusals: Arc::new(Semaphore::new(REFUSALS_MAX)),
            request_time_max: limits.request_time_max,
        }
    }

    /// The next client, unless there is not even time to tell it that there is no place.
    pub(super) async fn accept(&self) -> Admitted {
        loop {
            let Ok((socket, _)) = self.socket.accept().await else {
                // Out of file descriptors, most likely: others will give theirs back.
                sleep(Duration::from_millis(ACCEPT_RETRY_MS)).await;
                continue;
            };
            if let Ok(place) = Arc::clone(&self.free).try_acquire_owned() {
                // Answers are short, and one that waits for more would wait for nothing.
                let _ = socket.set_nodelay(true);
                return Admitted::Guest(Guest::new(socket, place, self.request_time_max));
            }
            if let Ok(refusal) = Arc::clone(&self.refusals).try_acquire_owned() {
                return Admitted::Refused(socket, refusal);
            }
        }
    }

    pub(super) fn local_addr(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }
}

/// A client that has a place.
#[derive(Debug)]
pub(super) struct Guest {
    socket: TcpStream,
    request_time_max: Duration,
    deadline: Pin<Box<Sleep>>,
    /// Bytes that came since time was counted anew.
    came: usize,
    _place: OwnedSemaphorePermit,
}

impl Guest {
    fn new(socket: TcpStream, place: OwnedSemaphorePermit, request_time_max: Duration) -> Self {
        Self {
            socket,
            request_time_max,
            deadline: Box::pin(sleep(request_time_max)),
            came: 0,
            _place: place,
        }
    }

    /// What a wait comes to: it goes on, unless it has taken too long.
    fn waited<T>(&mut self, context: &mut Context<'_>) -> Poll<io::Result<T>> {
        match self.deadline.as_mut().poll(context) {
            Poll::Ready(()) => Poll::Ready(Err(io::ErrorKind::TimedOut.into())),
            Poll::Pending => Poll::Pending,
        }
    }

    /// Something of an answer was taken, or much of a request came: from here on time is counted anew.
    fn answered(&mut self) {
        self.came = 0;
        let deadline = Instant::now() + self.request_time_max;
        self.deadline.as_mut().reset(deadline);
    }
}

impl AsyncRead for Guest {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        match Pin::new(&mut self.socket).poll_read(context, buffer) {
            Poll::Pending => self.waited(context),
            ready => {
                self.came += buffer.filled().len().saturating_sub(before);
                if self.came >= PACE_BYTES {
                    self.answered();
                }
                ready
            }
        }
    }
}

impl AsyncWrite for Guest {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match Pin::new(&mut self.socket).poll_write(context, bytes) {
            Poll::Pending => self.waited(context),
            ready => {
                self.answered();
                ready
            }
        }
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match Pin::new(&mut self.socket).poll_write_vectored(context, pieces) {
            Poll::Pending => self.waited(context),
            ready => {
                self.answered();
                ready
            }
        }
    }

    /// Long answers are not copied before they are sent.
    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use db::Database;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::time::timeout;

    use super::super::HttpListener;
    use super::*;

    const PATIENCE: Duration = Duration::from_millis(300);
    const REQUEST: &[u8] = b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n";
    const OTHER_REQUEST: &[u8] = b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n";

    /// A server for two clients.
    async fn begin() -> SocketAddr {
        let database = Arc::new(Database::memory().unwrap());
        let limits = Limits {
            connections_max: 2,
            request_time_max: PATIENCE,
        };
        let listener = HttpListener::bind("127.0.0.1:0", database, limits).await;
        let listener = listener.unwrap();
        let address = listener.address().unwrap();
        tokio::spawn(listener.serve(std::future::pending()));
        address
    }

    /// All that is said until the other side closes; within half a minute.
    async fn rest(socket: &mut TcpStream) -> String {
        let mut said = Vec::new();
        let heard = socket.read_to_end(&mut said);
        let heard = timeout(Duration::from_secs(30), heard).await;
        heard.expect("the server closes").unwrap();
        String::from_utf8(said).unwrap()
    }

    /// Asks, on a connection that stays, and is answered.
    async fn ask(socket: &mut TcpStream) {
        socket.write_all(REQUEST).await.unwrap();
        let mut said = String::new();
        while !said.ends_with("ok\n") {
            let mut some = [0; 512];
            let count = socket.read(&mut some).await.unwrap();
            assert_ne!(count, 0, "{said}");
            said.push_str(std::str::from_utf8(&some[..count]).unwrap());
        }
        assert!(said.starts_with("HTTP/1.1 200 OK\r\n"), "{said}");
    }

    #[tokio::test]
    async fn whoever_has_no_place_hears_503_until_somebody_leaves() {
        let address = begin().await;
        let mut inside = Vec::new();
        for _ in 0..2 {
            let mut socket = TcpStream::connect(address).await.unwrap();
            ask(&mut socket).await;
            inside.push(socket);
        }
        let mut third = TcpStream::connect(address).await.unwrap();
        third.write_all(OTHER_REQUEST).await.unwrap();
        let said = rest(&mut third).await;
        let (head, body) = said.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.1 503 "), "{said}");
        assert!(head.contains("\r\nRetry-After: 1\r\n"), "{said}");
        assert!(head.contains(&format!("\r\nContent-Length: {}", body.len())));
        assert_eq!(body, "too many connections of HTTP\n");

        // Whoever asks whether the database is up hears that it is, once.
        let mut prober = TcpStream::connect(address).await.unwrap();
        prober.write_all(REQUEST).await.unwrap();
        let said = rest(&mut prober).await;
        assert!(said.starts_with("HTTP/1.1 200 OK\r\n"), "{said}");
        assert!(said.ends_with("\r\n\r\nok\n"), "{said}");

        // Nor is one kept that comes and says nothing.
        let mut silent = TcpStream::connect(address).await.unwrap();
        assert_eq!(rest(&mut silent).await, "");

        drop(inside.pop());
        // The server sees that somebody left when it looks.
        loop {
            let mut next = TcpStream::connect(address).await.unwrap();
            next.write_all(OTHER_REQUEST).await.unwrap();
            let mut first = [0; 12];
            next.read_exact(&mut first).await.unwrap();
            if first == *b"HTTP/1.1 200" {
                break;
            }
            assert_eq!(first, *b"HTTP/1.1 503");
        }
    }

    #[tokio::test]
    async fn half_a_request_does_not_keep_its_place() {
        let address = begin().await;
        let mut silent = TcpStream::connect(address).await.unwrap();
        let mut half = TcpStream::connect(address).await.unwrap();
        half.write_all(b"GET /health HTTP/1.1\r\nHost:")
            .await
            .unwrap();
        assert_eq!(rest(&mut silent).await, "");
        assert_eq!(rest(&mut half).await, "");

        // Nor does one that comes byte by byte.
        let mut slow = TcpStream::connect(address).await.unwrap();
        slow.write_all(b"GET /health HTTP/1.1\r\nx: ")
            .await
            .unwrap();
        let begun = Instant::now();
        while slow.write_all(b"x").await.is_ok() {
            assert!(begun.elapsed() < Duration::from_secs(30));
            sleep(PATIENCE / 10).await;
        }
        let mut next = TcpStream::connect(address).await.unwrap();
        ask(&mut next).await;
    }

    #[tokio::test]
    async fn a_long_body_may_take_its_time_for_each_mebibyte() {
        let address = begin().await;
        let mut socket = TcpStream::connect(address).await.unwrap();
        let length = 8 * PACE_BYTES;
        let head = format!("PUT /users/o HTTP/1.1\r\nHost: x\r\nContent-Length: {length}\r\n\r\n");
        socket.write_all(head.as_bytes()).await.unwrap();
        let begun = Instant::now();
        for _ in 0..8 {
            sleep(PATIENCE / 4).await;
            socket.write_all(&vec![7; PACE_BYTES]).await.unwrap();
        }
        assert!(begun.elapsed() > PATIENCE);
        let mut first = [0; 12];
        socket.read_exact(&mut first).await.unwrap();
        assert_eq!(first, *b"HTTP/1.1 200");
    }

    #[tokio::test]
    async fn a_client_that_goes_on_asking_stays() {
        let address = begin().await;
        let mut socket = TcpStream::connect(address).await.unwrap();
        for _ in 0..8 {
            ask(&mut socket).await;
            sleep(PATIENCE / 4).await;
        }
        assert_eq!(rest(&mut socket).await, "");
    }
}
