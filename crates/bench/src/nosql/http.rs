//! As little HTTP as a load generator needs: one connection, one request at a time.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;

use crate::{Error, Result};

/// A connection that is kept.
pub(crate) struct Connection {
    socket: BufReader<TcpStream>,
    line: String,
    body: Vec<u8>,
}

impl Connection {
    pub(crate) fn open(port: u16) -> Result<Self> {
        let socket = TcpStream::connect(("127.0.0.1", port))?;
        socket.set_nodelay(true)?;
        Ok(Self {
            socket: BufReader::new(socket),
            line: String::new(),
            body: Vec::new(),
        })
    }

    /// Sends a request, which is complete, and answers the body; any status but 200 is an error.
    pub(crate) fn call(&mut self, request: &[u8]) -> Result<&[u8]> {
        self.socket.get_mut().write_all(request)?;
        let mut status = String::new();
        let mut length = 0;
        loop {
            self.line.clear();
            if self.socket.read_line(&mut self.line)? == 0 {
                return Err(Error::Wrong("the connection was closed".to_owned()));
            }
            let line = self.line.trim_end();
            if line.is_empty() {
                break;
            }
            if status.is_empty() {
                status = line.to_owned();
            }
            let (name, value) = line.split_once(':').unwrap_or_default();
            if name.eq_ignore_ascii_case("content-length") {
                length = value.trim().parse().unwrap_or(0);
            }
        }
        self.body.resize(length, 0);
        self.socket.read_exact(&mut self.body)?;
        if status.split(' ').nth(1) != Some("200") {
            let body = String::from_utf8_lossy(&self.body);
            return Err(Error::Wrong(format!("{status}: {body}")));
        }
        Ok(&self.body)
    }
}
