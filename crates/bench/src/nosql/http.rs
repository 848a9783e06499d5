//! As little HTTP as a load generator needs: one connection, one request at a time.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::{Error, Result};

/// What is between the head of an answer and its body.
const HEAD_END: &[u8] = b"\r\n\r\n";

/// A connection that is kept.
pub(crate) struct Connection {
    socket: TcpStream,
    /// The answer, as far as it has come.
    answer: Vec<u8>,
}

impl Connection {
    pub(crate) async fn open(port: u16) -> Result<Self> {
        let socket = TcpStream::connect(("127.0.0.1", port)).await?;
        socket.set_nodelay(true)?;
        Ok(Self {
            socket,
            answer: Vec::new(),
        })
    }

    /// Sends a request, which is complete, and answers the body; any status but 200 is an error.
    pub(crate) async fn call(&mut self, request: &[u8]) -> Result<&[u8]> {
        self.socket.write_all(request).await?;
        self.answer.clear();
        let head = loop {
            self.read().await?;
            if let Some(head) = Head::parse(&self.answer)? {
                break head;
            }
        };
        while self.answer.len() < head.size + head.body_size {
            self.read().await?;
        }
        let body = self.answer.get(head.size..).unwrap_or_default();
        match head.is_ok {
            true => Ok(body),
            false => Err(Error::Wrong(
                String::from_utf8_lossy(&self.answer).into_owned(),
            )),
        }
    }

    async fn read(&mut self) -> Result<()> {
        match self.socket.read_buf(&mut self.answer).await? {
            0 => Err(Error::Wrong("the connection was closed".to_owned())),
            _ => Ok(()),
        }
    }
}

/// What the head of an answer says.
struct Head {
    size: usize,
    body_size: usize,
    is_ok: bool,
}

impl Head {
    /// Reads a head, when all of it is there.
    fn parse(answer: &[u8]) -> Result<Option<Self>> {
        let mut ends = answer.windows(HEAD_END.len());
        let Some(end) = ends.position(|window| window == HEAD_END) else {
            return Ok(None);
        };
        let head = answer.get(..end).unwrap_or_default();
        let head = str::from_utf8(head)
            .map_err(|_| Error::Wrong("the head of an answer is no text".to_owned()))?;
        let mut lines = head.split("\r\n");
        let status = lines.next().unwrap_or_default();
        let sizes = lines.filter_map(|line| {
            let (name, value) = line.split_once(':')?;
            let is_size = name.eq_ignore_ascii_case("content-length");
            is_size.then(|| value.trim().parse().ok())?
        });
        Ok(Some(Self {
            size: end + HEAD_END.len(),
            body_size: sizes.last().unwrap_or(0),
            is_ok: status.split(' ').nth(1) == Some("200"),
        }))
    }
}
