//! The two servers, and how each is asked for the same.

use std::fs::File;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command};
use std::time::Duration;

use super::http::Connection;
use super::load::{Kind, VALUE};
use crate::sql::process;
use crate::sql::server::start_ours;
use crate::{Error, Result};

/// How often a server that starts is looked at, and how often at most.
const PATIENCE: Duration = Duration::from_millis(100);
const LOOKS_MAX: usize = 100;

/// A running server.
pub(crate) struct Peer {
    pub(crate) name: &'static str,
    pub(crate) port: u16,
    child: Child,
    request: fn(Kind, &str, &str) -> Vec<u8>,
    /// What is in an answer to a scan that found its ten items.
    pub(crate) ten: &'static [u8],
}

impl Peer {
    pub(crate) fn ours(program: &Path, dir: &Path) -> Result<Self> {
        let started = start_ours(program, dir)?;
        Ok(Self {
            name: "evenkeel",
            port: started.http_port,
            child: started.child,
            request: our_request,
            ten: b"\"NumItems\":10,",
        })
    }

    pub(crate) fn dynalite(program: &Path, dir: &Path) -> Result<Self> {
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let child = Command::new(program)
            .args(["--host", "127.0.0.1", "--createTableMs", "0", "--port"])
            .arg(port.to_string())
            .arg("--path")
            .arg(dir.join("dynalite"))
            .stdout(File::create(dir.join("dynalite.log"))?)
            .stderr(File::create(dir.join("dynalite.err"))?)
            .spawn()?;
        let peer = Self {
            name: "dynalite",
            port,
            child,
            request: their_request,
            ten: b"\"Count\":10,",
        };
        let table = r#"{"TableName":"items",
            "AttributeDefinitions":[{"AttributeName":"k","AttributeType":"S"},
                                    {"AttributeName":"s","AttributeType":"S"}],
            "KeySchema":[{"AttributeName":"k","KeyType":"HASH"},
                         {"AttributeName":"s","KeyType":"RANGE"}],
            "ProvisionedThroughput":{"ReadCapacityUnits":1,"WriteCapacityUnits":1}}"#;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        runtime.block_on(create_table(port, &dynamo("CreateTable", table)))?;
        Ok(peer)
    }

    /// A request for the item with these keys, or for ten from there on.
    pub(crate) fn request(&self, kind: Kind, sharding: &str, sorting: &str) -> Vec<u8> {
        (self.request)(kind, sharding, sorting)
    }

    /// Processor time so far.
    pub(crate) fn cpu(&self) -> Duration {
        process::cpu(self.child.id())
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Makes the table as soon as the server listens.
async fn create_table(port: u16, request: &[u8]) -> Result<()> {
    let mut last = Error::Child("dynalite did not start".to_owned());
    for _ in 0..LOOKS_MAX {
        tokio::time::sleep(PATIENCE).await;
        match Connection::open(port).await {
            Ok(mut connection) => {
                connection.call(request).await?;
                // The table is not there at once.
                tokio::time::sleep(PATIENCE * 10).await;
                return Ok(());
            }
            Err(error) => last = error,
        }
    }
    Err(last)
}

fn our_request(kind: Kind, sharding: &str, sorting: &str) -> Vec<u8> {
    let (function, name, body) = match kind {
        Kind::Put => (
            "PutItem",
            format!("{sharding}.{sorting}"),
            format!(r#"{{"Item":{{"v":{{"S":"{VALUE}"}}}}}}"#),
        ),
        Kind::Get => (
            "GetItem",
            format!("{sharding}.{sorting}"),
            r#"{"AttributesToGet":"*"}"#.to_owned(),
        ),
        Kind::Scan => (
            "GetItems",
            String::new(),
            format!(r#"{{"ShardingKey":"{sharding}","SortKeyRangeStart":"{sorting}","Limit":10}}"#),
        ),
        Kind::Bare => ("GetClusterMD", String::new(), "{}".to_owned()),
    };
    let length = body.len();
    format!(
        "PUT /bigdata/items/{name} HTTP/1.1\r\nHost: localhost\r\nX-v3io-function: {function}\r\n\
         X-v3io-session-key: bench\r\nContent-Type: application/json\r\n\
         Content-Length: {length}\r\n\r\n{body}"
    )
    .into_bytes()
}

fn their_request(kind: Kind, sharding: &str, sorting: &str) -> Vec<u8> {
    let key = format!(r#""k":{{"S":"{sharding}"}},"s":{{"S":"{sorting}"}}"#);
    let (function, rest) = match kind {
        Kind::Put => (
            "PutItem",
            format!(r#""Item":{{{key},"v":{{"S":"{VALUE}"}}}}"#),
        ),
        Kind::Get => ("GetItem", format!(r#""Key":{{{key}}}"#)),
        Kind::Bare => return dynamo("DescribeEndpoints", "{}"),
        Kind::Scan => (
            "Query",
            format!(
                r#""KeyConditionExpression":"k = :k AND s >= :s","Limit":10,
                   "ExpressionAttributeValues":{{":k":{{"S":"{sharding}"}},":s":{{"S":"{sorting}"}}}}"#
            ),
        ),
    };
    dynamo(function, &format!(r#"{{"TableName":"items",{rest}}}"#))
}

/// A request as DynamoDB's clients write it; the signature is not looked at but must be there.
fn dynamo(function: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    format!(
        "POST / HTTP/1.1\r\nHost: localhost\r\nX-Amz-Target: DynamoDB_20120810.{function}\r\n\
         X-Amz-Date: 20260101T000000Z\r\nAuthorization: AWS4-HMAC-SHA256 Credential=a/20260101/\
         us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=a\r\n\
         Content-Type: application/x-amz-json-1.0\r\nContent-Length: {length}\r\n\r\n{body}"
    )
    .into_bytes()
}
