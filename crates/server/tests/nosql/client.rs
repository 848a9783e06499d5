//! A client of HTTP that hides nothing.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;

use serde_json::Value as Json;
use tempfile::TempDir;

use crate::process::Server;

/// One connection, which is kept.
pub(crate) struct Client {
    socket: BufReader<TcpStream>,
}

/// What came back.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    headers: Vec<(String, String)>,
    /// The names of the headers in the case that they came in.
    pub(crate) as_written: Vec<String>,
    pub(crate) body: Vec<u8>,
}

impl Client {
    pub(crate) fn connect(server: &Server) -> Self {
        let socket = TcpStream::connect(("127.0.0.1", server.http_port)).unwrap();
        Self {
            socket: BufReader::new(socket),
        }
    }

    /// Sends the beginning of a request whose body follows by hand.
    pub(crate) fn begin(&mut self, method: &str, path: &str, headers: &[(&str, &str)]) {
        let mut request = format!("{method} {path} HTTP/1.1\r\nHost: localhost\r\n");
        for (name, value) in headers {
            request.push_str(&format!("{name}: {value}\r\n"));
        }
        request.push_str("\r\n");
        self.write(request.as_bytes()).unwrap();
    }

    /// Sends bytes as they are.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.socket.get_mut().write_all(bytes)
    }

    /// The answer to what was written by hand.
    pub(crate) fn answer(&mut self) -> io::Result<Answer> {
        self.read(false)
    }

    /// Sends a request and reads its answer.
    pub(crate) fn try_send(
        &mut self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> io::Result<Answer> {
        let mut request = format!("{method} {path} HTTP/1.1\r\nHost: localhost\r\n");
        for (name, value) in headers {
            request.push_str(&format!("{name}: {value}\r\n"));
        }
        request.push_str(&format!("Content-Length: {}\r\n\r\n", body.len()));
        let mut bytes = request.into_bytes();
        bytes.extend_from_slice(body);
        self.socket.get_mut().write_all(&bytes)?;
        self.read(method == "HEAD")
    }

    fn read(&mut self, is_head: bool) -> io::Result<Answer> {
        let mut line = || {
            let mut line = String::new();
            match self.socket.read_line(&mut line)? {
                0 => Err(io::Error::from(io::ErrorKind::UnexpectedEof)),
                _ => Ok(line.trim_end().to_owned()),
            }
        };
        let first = line()?;
        let status = first.split(' ').nth(1).unwrap().parse().unwrap();
        let (mut headers, mut as_written) = (Vec::new(), Vec::new());
        loop {
            let line = line()?;
            let Some((name, value)) = line.split_once(": ") else {
                break;
            };
            headers.push((name.to_lowercase(), value.to_owned()));
            as_written.push(name.to_owned());
        }
        let mut answer = Answer {
            status,
            headers,
            as_written,
            body: Vec::new(),
        };
        let length = answer
            .header("content-length")
            .map_or(0, |length| length.parse().unwrap());
        if !is_head {
            answer.body.resize(length, 0);
            self.socket.read_exact(&mut answer.body)?;
        }
        Ok(answer)
    }

    /// Sends a request that is written already, and reads its answer.
    pub(crate) fn send_bytes(&mut self, request: &[u8], is_head: bool) -> Answer {
        self.socket.get_mut().write_all(request).unwrap();
        self.read(is_head).unwrap()
    }

    pub(crate) fn send(
        &mut self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Answer {
        self.try_send(method, path, headers, body).unwrap()
    }

    /// Calls a function of the data service as its clients do.
    pub(crate) fn call(&mut self, function: &str, path: &str, body: &Json) -> Answer {
        self.call_with(function, path, &[], body)
    }

    pub(crate) fn call_with(
        &mut self,
        function: &str,
        path: &str,
        more: &[(&str, &str)],
        body: &Json,
    ) -> Answer {
        let mut headers = vec![
            ("X-v3io-function", function),
            ("X-v3io-session-key", "anything"),
            ("Content-Type", "application/json"),
        ];
        headers.extend_from_slice(more);
        self.send("PUT", path, &headers, body.to_string().as_bytes())
    }

    /// All items of a scan, page after page.
    pub(crate) fn scan(&mut self, path: &str, body: &Json) -> Vec<Json> {
        let mut body = body.clone();
        let mut items = Vec::new();
        loop {
            let page = self.call("GetItems", path, &body).json();
            let found = page["Items"].as_array().unwrap();
            assert_eq!(page["NumItems"], found.len());
            items.extend(found.iter().cloned());
            match page["LastItemIncluded"].as_str().unwrap() {
                "TRUE" => {
                    assert_eq!(page.get("NextMarker"), None);
                    return items;
                }
                "FALSE" => assert!(!found.is_empty(), "clients stop at an empty page"),
                other => panic!("LastItemIncluded is {other}"),
            }
            body["Marker"] = page["NextMarker"].clone();
        }
    }

    /// The names of all items of a scan.
    pub(crate) fn names(&mut self, path: &str, body: &Json) -> Vec<String> {
        let items = self.scan(path, body);
        let name = |item: &Json| item["__name"]["S"].as_str().unwrap().to_owned();
        items.iter().map(name).collect()
    }
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        let (_, value) = headers.find(|(known, _)| known == name)?;
        Some(value)
    }

    pub(crate) fn json(&self) -> Json {
        assert_eq!(self.status, 200, "{}", self.text());
        serde_json::from_slice(&self.body).unwrap()
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// It worked, and there is nothing to say about it.
    pub(crate) fn done(&self) {
        assert_eq!((self.status, self.text().as_str()), (200, ""));
    }
}

/// A server with a client, for a test of its own.
pub(crate) fn start() -> (Client, Server, TempDir) {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    (Client::connect(&server), server, data)
}
