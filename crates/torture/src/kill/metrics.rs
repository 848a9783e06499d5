//! The server's own counters of flushes and compactions, from its metrics page.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Between two looks.
const LOOK: Duration = Duration::from_millis(100);

const REQUEST: &str = "GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n";

/// What the server has counted since it was started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counted {
    /// Memtables that were written out.
    pub flushes: u64,
    /// Compactions.
    pub compactions: u64,
}

/// Looks at the counters until the server is gone, and answers with the last that were seen.
pub(super) async fn watch(port: u16) -> Counted {
    let mut last = Counted::default();
    while let Ok(page) = get(port).await {
        last = read(&page).unwrap_or(last);
        tokio::time::sleep(LOOK).await;
    }
    last
}

async fn get(port: u16) -> std::io::Result<String> {
    let mut socket = TcpStream::connect(("127.0.0.1", port)).await?;
    socket.write_all(REQUEST.as_bytes()).await?;
    let mut page = String::new();
    socket.read_to_string(&mut page).await?;
    Ok(page)
}

fn read(page: &str) -> Option<Counted> {
    let number = |name: &str| {
        let line = page.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim().parse().ok()
    };
    Some(Counted {
        flushes: number("evenkeel_engine_flushes_total ")?,
        compactions: number("evenkeel_engine_compactions_total ")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_read_from_a_page() {
        let page = "HTTP/1.1 200 OK\r\n\r\n# TYPE evenkeel_engine_flushes_total counter\n\
                    evenkeel_engine_flushes_total 12\nevenkeel_engine_compactions_total 3\n";
        let counted = Counted {
            flushes: 12,
            compactions: 3,
        };
        assert_eq!(read(page), Some(counted));
        assert_eq!(read("HTTP/1.1 404 Not Found\r\n\r\n"), None);
    }
}
