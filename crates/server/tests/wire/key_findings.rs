//! What the linter finds, as a driver hears it beside the answer.

use std::future::poll_fn;
use std::sync::{Arc, Mutex};

use tokio_postgres::error::DbError;
use tokio_postgres::{AsyncMessage, Client, NoTls};

use crate::process::Server;

/// A client, and what it hears besides answers.
async fn listening(server: &Server) -> (Client, Arc<Mutex<Vec<DbError>>>) {
    let config = format!("host=127.0.0.1 port={} user=ada dbname=boats", server.port);
    let (client, mut connection) = tokio_postgres::connect(&config, NoTls).await.unwrap();
    let heard = Arc::new(Mutex::new(Vec::new()));
    let hearing = Arc::clone(&heard);
    tokio::spawn(async move {
        while let Some(Ok(message)) = poll_fn(|context| connection.poll_message(context)).await {
            if let AsyncMessage::Notice(notice) = message {
                hearing.lock().unwrap().push(notice);
            }
        }
    });
    (client, heard)
}

#[tokio::test]
async fn a_definition_is_answered_with_findings_that_the_view_shows_too() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let (client, heard) = listening(&server).await;
    let create = "CREATE TABLE log (at timestamptz NOT NULL, device int8 NOT NULL, PRIMARY KEY (at, \
                  device))";
    let statement = client.prepare(create).await.unwrap();
    assert_eq!(client.execute(&statement, &[]).await.unwrap(), 0);
    let notices = std::mem::take(&mut *heard.lock().unwrap());
    let [notice] = notices.as_slice() else {
        panic!("{notices:?}");
    };
    assert_eq!(
        (notice.severity(), notice.code().code()),
        ("NOTICE", "01K05")
    );
    let message = notice.message().strip_prefix("KEY001: ").unwrap();
    let hint = notice.hint().unwrap();
    assert!(hint.contains("PRIMARY KEY (`device`, `at`)"), "{hint}");

    let shown = "SELECT Code, Message, Why FROM sys.key_findings WHERE Path = 'log'";
    let rows = client.query(shown, &[]).await.unwrap();
    let [row] = rows.as_slice() else {
        panic!("{rows:?}");
    };
    assert_eq!(row.get::<_, &str>(0), "KEY001");
    assert_eq!(row.get::<_, &str>(1), message);
    assert_eq!(Some(row.get::<_, &str>(2)), notice.detail());

    // Whoever wants warnings only, or says so in a comment, hears nothing.
    let quiet = "SET client_min_messages = WARNING;
                 CREATE TABLE log2 (at timestamptz PRIMARY KEY);
                 SET client_min_messages = NOTICE;
                 -- evenkeel: allow KEY001 one row a day
                 CREATE TABLE log3 (at timestamptz PRIMARY KEY);";
    client.batch_execute(quiet).await.unwrap();
    assert!(heard.lock().unwrap().is_empty(), "{heard:?}");
}
