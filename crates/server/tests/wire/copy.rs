//! COPY over the wire: by a driver, by psql, and byte by byte.

use std::io::Write;
use std::pin::pin;
use std::process::{Command, Stdio};
use std::time::Duration;

use bytes::{BufMut, Bytes, BytesMut};
use futures::{SinkExt, TryStreamExt};
use tokio_postgres::binary_copy::{BinaryCopyInWriter, BinaryCopyOutStream};
use tokio_postgres::types::Type;
use tokio_postgres::{Client, Error};

use crate::bytes_by_hand::{greeted, message, receive, round, sqlstate};
use crate::process::Server;

const CREATE: &str =
    "CREATE TABLE boats (id Int64 NOT NULL, name Utf8, length Double, PRIMARY KEY (id))";

/// Sends data in pieces, and tells how many rows were taken.
async fn send(client: &Client, copy: &str, pieces: &[&str]) -> Result<u64, Error> {
    let mut sink = pin!(client.copy_in::<_, Bytes>(copy).await?);
    for piece in pieces {
        sink.send(Bytes::copy_from_slice(piece.as_bytes())).await?;
    }
    sink.finish().await
}

/// Everything that comes out.
async fn fetch(client: &Client, copy: &str) -> String {
    let pieces = client.copy_out(copy).await.unwrap();
    let data: BytesMut = pieces
        .try_collect::<Vec<Bytes>>()
        .await
        .unwrap()
        .concat()
        .as_slice()
        .into();
    String::from_utf8(data.to_vec()).unwrap()
}

fn refusal(error: &Error) -> (String, String) {
    let error = error.as_db_error().expect("the server said it");
    (error.code().code().to_owned(), error.message().to_owned())
}

#[tokio::test]
async fn a_driver_copies_text_and_csv() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let client = server.connect().await;
    client.batch_execute(CREATE).await.unwrap();
    let pieces = [
        "1\tOne\t1.5\n2\tZw",
        "ölf\\nzwei",
        "\t\\N\n3\t\\N",
        "\t3\n",
        "\\.\n",
    ];
    assert_eq!(
        send(&client, "COPY boats FROM STDIN", &pieces)
            .await
            .unwrap(),
        3
    );
    let text = fetch(&client, "COPY boats TO STDOUT").await;
    assert_eq!(text, "1\tOne\t1.5\n2\tZwölf\\nzwei\t\\N\n3\t\\N\t3\n");

    let csv = "COPY boats (name, id) FROM STDIN WITH (FORMAT csv, HEADER match, FREEZE on)";
    let pieces = ["name,id\n\"a,", "\"\"b\"\"\",4\n", ",5"];
    assert_eq!(send(&client, csv, &pieces).await.unwrap(), 2);
    let out = "COPY (SELECT id, name FROM boats WHERE id > 3 ORDER BY id) TO STDOUT CSV HEADER";
    assert_eq!(
        fetch(&client, out).await,
        "id,name\n4,\"a,\"\"b\"\"\"\n5,\n"
    );
    let out = "COPY boats (name, id) TO STDOUT WITH DELIMITER '|' NULL AS '-'";
    assert!(
        fetch(&client, out)
            .await
            .starts_with("One|1\nZwölf\\nzwei|2\n-|3\n")
    );
    assert_eq!(
        send(&client, "COPY boats FROM STDIN", &[]).await.unwrap(),
        0
    );
}

#[tokio::test]
async fn many_rows_in_a_transaction_are_all_there_or_none() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let client = server.connect().await;
    client.batch_execute(CREATE).await.unwrap();
    client
        .batch_execute("CREATE TABLE loads (id Int64 NOT NULL, PRIMARY KEY (id))")
        .await
        .unwrap();
    let lines = |from: i64| -> String {
        let rows = from..from + 12_000;
        rows.map(|id| format!("{id}\tboat\t1\n")).collect()
    };
    let (first, second) = (lines(0), lines(20_000));
    let copy = "COPY boats FROM STDIN";
    let counts = async |client: &Client| {
        let query = "SELECT (SELECT count(*) FROM boats), (SELECT count(*) FROM loads)";
        let row = client.query_one(query, &[]).await.unwrap();
        (row.get::<_, i64>(0), row.get::<_, i64>(1))
    };
    client
        .batch_execute("BEGIN; TRUNCATE boats; INSERT INTO loads VALUES (1)")
        .await
        .unwrap();
    assert_eq!(send(&client, copy, &[&first]).await.unwrap(), 12_000);
    assert_eq!(counts(&client).await, (12_000, 1));
    client.batch_execute("ROLLBACK").await.unwrap();
    assert_eq!(counts(&client).await, (0, 0));

    client
        .batch_execute("BEGIN; INSERT INTO loads VALUES (1)")
        .await
        .unwrap();
    send(&client, copy, &[&first]).await.unwrap();
    let other = server.connect().await;
    assert_eq!(counts(&other).await, (0, 0));
    client.batch_execute("COMMIT").await.unwrap();
    assert_eq!(counts(&other).await, (12_000, 1));

    // Rows of the copy change in the same transaction.
    client.batch_execute("BEGIN").await.unwrap();
    send(&client, copy, &[&second]).await.unwrap();
    client
        .batch_execute("DELETE FROM boats WHERE id >= 21000; COMMIT")
        .await
        .unwrap();
    assert_eq!(counts(&other).await, (13_000, 1));

    client.batch_execute("BEGIN").await.unwrap();
    let error = send(&client, copy, &[&lines(5_000)]).await.unwrap_err();
    assert_eq!(refusal(&error).0, "23505");
}

#[tokio::test]
async fn a_driver_copies_binary() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let client = server.connect().await;
    client.batch_execute(CREATE).await.unwrap();
    let kinds = [Type::INT8, Type::TEXT, Type::FLOAT8];
    let sink = client
        .copy_in("COPY boats FROM STDIN BINARY")
        .await
        .unwrap();
    let mut writer = pin!(BinaryCopyInWriter::new(sink, &kinds));
    for id in 0..1_000_i64 {
        let name = (id % 7 > 0).then(|| format!("boat {id}"));
        writer
            .as_mut()
            .write(&[&id, &name, &0.5_f64])
            .await
            .unwrap();
    }
    assert_eq!(writer.finish().await.unwrap(), 1_000);
    for (copy, count) in [
        ("COPY boats TO STDOUT (FORMAT binary)", 1_000),
        (
            "COPY (SELECT * FROM boats WHERE id < 0) TO STDOUT (FORMAT binary)",
            0,
        ),
    ] {
        let pieces = client.copy_out(copy).await.unwrap();
        let rows = BinaryCopyOutStream::new(pieces, &kinds);
        let rows: Vec<_> = rows.try_collect().await.unwrap();
        assert_eq!(rows.len(), count);
        if let Some(row) = rows.get(8) {
            assert_eq!(row.get::<i64>(0), 8);
            assert_eq!(row.get::<Option<&str>>(1), Some("boat 8"));
        }
    }
}

#[tokio::test]
async fn a_copy_that_fails_leaves_nothing() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let client = server.connect().await;
    client.batch_execute(CREATE).await.unwrap();
    let copy = "COPY boats FROM STDIN";
    let count = async || {
        let row = client
            .query_one("SELECT count(*) FROM boats", &[])
            .await
            .unwrap();
        row.get::<_, i64>(0)
    };
    for (pieces, code, place) in [
        (
            &["1\ta\t1\n", "x\tb\t2\n"][..],
            "22P02",
            "(COPY boats, line 2, column id)",
        ),
        (&["1\ta\n"], "22P04", "(COPY boats, line 1, column length)"),
        (&["1\ta\t1\t1\n"], "22P04", "(COPY boats, line 1)"),
        (&["\\N\ta\t1\n"], "23502", "(COPY boats, line 1)"),
        (&["1\ta\t1\n1\tb\t2\n"], "23505", "has a row"),
    ] {
        let error = send(&client, copy, pieces).await.unwrap_err();
        let (found, said) = refusal(&error);
        assert_eq!(found, code, "{said}");
        assert!(said.contains(place), "{said}");
        assert_eq!(count().await, 0);
    }
    for (copy, code) in [
        ("COPY nobody FROM STDIN", "42P01"),
        ("COPY boats (nothing) FROM STDIN", "42703"),
        ("COPY boats FROM STDIN (FORMAT parquet)", "22023"),
        ("COPY boats FROM STDIN (DELIMITER 'ab')", "22023"),
        ("COPY boats FROM '/etc/passwd'", "0A000"),
        ("COPY boats FROM STDIN (ENCODING 'LATIN1')", "22023"),
    ] {
        let error = send(&client, copy, &[]).await.unwrap_err();
        assert_eq!(refusal(&error).0, code, "{copy}");
    }

    // A sink that is dropped gives up.
    let mut sink = Box::pin(client.copy_in::<_, Bytes>(copy).await.unwrap());
    sink.send(Bytes::from_static(b"1\ta\t1\n")).await.unwrap();
    drop(sink);
    assert_eq!(count().await, 0);

    assert_eq!(send(&client, copy, &["1\ta\t1\n"]).await.unwrap(), 1);
    let error = send(&client, copy, &["2\ta\t1\n1\ta\t1\n"])
        .await
        .unwrap_err();
    assert_eq!(refusal(&error).0, "23505");
    assert_eq!(count().await, 1);
}

#[tokio::test]
async fn a_copy_belongs_to_its_transaction() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let mut client = server.connect().await;
    client.batch_execute(CREATE).await.unwrap();
    let transaction = client.transaction().await.unwrap();
    let mut sink = Box::pin(
        transaction
            .copy_in::<_, Bytes>("COPY boats FROM STDIN")
            .await
            .unwrap(),
    );
    sink.send(Bytes::from_static(b"1\ta\t1\n")).await.unwrap();
    assert_eq!(sink.as_mut().finish().await.unwrap(), 1);
    drop(sink);
    let inside = transaction.query("SELECT * FROM boats", &[]).await.unwrap();
    assert_eq!(inside.len(), 1);
    transaction.rollback().await.unwrap();
    let after = client.query("SELECT * FROM boats", &[]).await.unwrap();
    assert!(after.is_empty());

    client.batch_execute("BEGIN READ ONLY").await.unwrap();
    let error = send(&client, "COPY boats FROM STDIN", &[])
        .await
        .unwrap_err();
    assert_eq!(refusal(&error).0, "25006");
    client.batch_execute("ROLLBACK").await.unwrap();
}

/// Psql with a file on its standard input.
fn psql(server: &Server, statement: &str, input: &str) -> (Option<i32>, String, String) {
    let mut child = Command::new("psql")
        .args([
            "-X",
            "-At",
            "-h",
            "127.0.0.1",
            "-U",
            "ada",
            "-d",
            "boats",
            "-p",
        ])
        .args([&server.port.to_string(), "-c", statement])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("`./dev test` installs psql");
    child
        .stdin
        .take()
        .unwrap()
        .write_all(input.as_bytes())
        .unwrap();
    let output = child.wait_with_output().unwrap();
    let [out, err] = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
    (output.status.code(), out, err)
}

#[test]
fn psql_copies_both_ways() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    psql(&server, CREATE, "");
    let rows: String = (0..20_000).map(|id| format!("{id},boat {id},\n")).collect();
    let copied = psql(&server, "\\copy boats from pstdin csv", &rows);
    assert_eq!(copied, (Some(0), "COPY 20000\n".to_owned(), String::new()));
    let (status, out, _) = psql(&server, "\\copy boats to stdout csv", "");
    assert_eq!((status, out), (Some(0), rows));
    let (status, _, err) = psql(&server, "\\copy boats from pstdin csv", "1,a,b\n");
    assert_eq!(status, Some(1));
    assert!(err.contains("(COPY boats, line 1, column length)"), "{err}");
}

#[test]
fn copies_go_byte_by_byte_and_survive_nonsense() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let mut stream = greeted(&server);
    let query = |text: &str| message(b'Q', format!("{text}\0").as_bytes());
    stream.write_all(&query(CREATE)).unwrap();
    assert_eq!(round(&mut stream), ("CZ".to_owned(), 'I'));

    // One byte a message, with Sync and Flush between them.
    stream
        .write_all(&query("COPY boats FROM STDIN; SELECT 1"))
        .unwrap();
    for byte in "1\tzwölf\t0.5\n2\t\\N\t\\N\n".as_bytes() {
        stream.write_all(&message(b'd', &[*byte])).unwrap();
        stream.write_all(&message(b'S', b"")).unwrap();
        stream.write_all(&message(b'H', b"")).unwrap();
    }
    stream.write_all(&message(b'c', b"")).unwrap();
    assert_eq!(round(&mut stream), ("GCTDCZ".to_owned(), 'I'));

    // Giving up, another message in the middle, and data after an error.
    let refused = |stream: &mut std::net::TcpStream, sent: &[Vec<u8>], code: &str| {
        stream.write_all(&query("COPY boats FROM STDIN")).unwrap();
        stream.write_all(&sent.concat()).unwrap();
        assert_eq!(receive(stream).0, b'G');
        let (kind, body) = receive(stream);
        assert_eq!((kind, sqlstate(&body).as_str()), (b'E', code));
        assert_eq!(round(stream), ("Z".to_owned(), 'I'));
    };
    let row = message(b'd', b"3\ta\t1\n");
    refused(
        &mut stream,
        &[row.clone(), message(b'f', b"no more\0")],
        "57014",
    );
    refused(
        &mut stream,
        &[row.clone(), message(b'E', b"\0\0\0\0\0")],
        "08P01",
    );
    let late = [
        message(b'd', b"3\n"),
        row.clone(),
        row.clone(),
        message(b'c', b""),
    ];
    refused(&mut stream, &late, "22P04");
    refused(
        &mut stream,
        &[message(b'd', b"3\ta\t\xff\n"), message(b'c', b"")],
        "22021",
    );
}

#[test]
fn a_copy_ends_with_its_error_or_its_client() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let mut stream = greeted(&server);
    let query = |text: &str| message(b'Q', format!("{text}\0").as_bytes());
    stream.write_all(&query(CREATE)).unwrap();
    assert_eq!(round(&mut stream), ("CZ".to_owned(), 'I'));
    let row = message(b'd', b"3\ta\t1\n");

    // In the extended protocol everything up to Sync is skipped after the error.
    let mut extended = BytesMut::new();
    extended.put_slice(&message(b'P', b"\0COPY boats FROM STDIN\0\0\0"));
    extended.put_slice(&message(b'B', b"\0\0\0\0\0\0\0\0"));
    extended.put_slice(&message(b'E', b"\0\0\0\0\0"));
    extended.put_slice(&message(b'd', b"x\n"));
    extended.put_slice(&row);
    extended.put_slice(&message(b'c', b""));
    stream.write_all(&extended).unwrap();
    let kinds: Vec<u8> = (0..4).map(|_| receive(&mut stream).0).collect();
    assert_eq!(kinds, b"12GE");
    stream.write_all(&message(b'S', b"")).unwrap();
    assert_eq!(round(&mut stream), ("Z".to_owned(), 'I'));

    // Whoever leaves in the middle leaves nothing.
    let mut leaving = greeted(&server);
    leaving.write_all(&query("COPY boats FROM STDIN")).unwrap();
    leaving.write_all(&row).unwrap();
    assert_eq!(receive(&mut leaving).0, b'G');
    drop(leaving);
    stream
        .write_all(&query("COPY boats (id) TO STDOUT"))
        .unwrap();
    let mut seen = Vec::new();
    while let (kind, body) = receive(&mut stream)
        && kind != b'Z'
    {
        if kind == b'd' {
            seen.extend(body);
        }
    }
    assert_eq!(seen, b"");
}

#[tokio::test]
async fn a_copy_keeps_lengths_and_forms_of_declared_types() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let client = server.connect().await;
    let create = "CREATE TABLE declared (id integer PRIMARY KEY, name varchar(5), flag char(2),
        moment timestamp, doc jsonb)";
    client.batch_execute(create).await.unwrap();
    let copy = "COPY declared FROM STDIN";
    let error = send(
        &client,
        copy,
        &["1\tfive5\ta\t\\N\t\\N\n2\tsix666\t\\N\t\\N\t\\N\n"],
    )
    .await;
    assert_eq!(refusal(&error.unwrap_err()).0, "22001");
    let rows = "1\tfive5     \ta    \t2024-02-29 12:00:00+02\t{\"a\": 1}\n";
    assert_eq!(send(&client, copy, &[rows]).await.unwrap(), 1);
    assert_eq!(
        fetch(&client, "COPY declared TO STDOUT").await,
        "1\tfive5\ta \t2024-02-29 12:00:00\t{\"a\": 1}\n"
    );
    let binary = "COPY declared (id, moment, doc) TO STDOUT (FORMAT binary)";
    let stream = client.copy_out(binary).await.unwrap();
    let kinds = [Type::INT4, Type::TIMESTAMP, Type::JSONB];
    let rows: Vec<_> = BinaryCopyOutStream::new(stream, &kinds)
        .try_collect()
        .await
        .unwrap();
    let moment: std::time::SystemTime = rows[0].get(1);
    let since = moment.duration_since(std::time::UNIX_EPOCH).unwrap();
    assert_eq!(since.as_secs(), 1_709_208_000);
}

/// The rows of one copy, `id` from 1 on, in pieces.
fn boats(copy: u64, count: u64) -> Vec<String> {
    let row = |boat: u64| format!("{}\tof copy {copy}\t\\N\n", copy * 1_000_000 + boat);
    let rows: Vec<String> = (1..=count).map(row).collect();
    rows.chunks(1000).map(<[String]>::concat).collect()
}

#[tokio::test]
async fn a_copy_is_there_as_a_whole_or_not_at_all_after_kill_9() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let client = server.connect().await;
    client.batch_execute(CREATE).await.unwrap();
    let copy = "COPY boats FROM STDIN";
    for number in 0..3 {
        let pieces = boats(number, 2_500);
        let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
        assert_eq!(send(&client, copy, &pieces).await.unwrap(), 2_500);
    }

    // One that is being sent, more of it than fits on the way, and one that is just ending.
    let mut sending = pin!(client.copy_in::<_, Bytes>(copy).await.unwrap());
    for piece in boats(3, 200_000) {
        sending.send(Bytes::from(piece)).await.unwrap();
    }
    let other = server.connect().await;
    let mut ending = Box::pin(other.copy_in::<_, Bytes>(copy).await.unwrap());
    for piece in boats(4, 20_000) {
        ending.as_mut().send(Bytes::from(piece)).await.unwrap();
    }
    let ended = tokio::spawn(async move { ending.as_mut().finish().await });
    tokio::task::yield_now().await;
    server.kill();
    let acknowledged = ended.await.unwrap().is_ok();

    let server = Server::start(data.path(), &[]);
    let client = server.connect().await;
    let text = "SELECT name, count(*) FROM boats GROUP BY name ORDER BY name";
    let rows = client.query(text, &[]).await.unwrap();
    let found: Vec<(String, i64)> = rows.iter().map(|row| (row.get(0), row.get(1))).collect();
    let whole = |copy: i64, count: i64| (format!("of copy {copy}"), count);
    let mut expected = vec![whole(0, 2_500), whole(1, 2_500), whole(2, 2_500)];
    if acknowledged || found.len() > expected.len() {
        expected.push(whole(4, 20_000));
    }
    assert_eq!(found, expected);
    // What was cut off is no obstacle to copying it again.
    let pieces = boats(3, 2_500);
    let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
    assert_eq!(send(&client, copy, &pieces).await.unwrap(), 2_500);
}

#[tokio::test]
async fn a_copy_and_the_rest_of_its_transaction_stay_together_after_kill_9() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let client = server.connect().await;
    client.batch_execute(CREATE).await.unwrap();
    client
        .batch_execute("CREATE TABLE loads (id Int64 NOT NULL, PRIMARY KEY (id))")
        .await
        .unwrap();
    drop((client, server));
    // The commit is cut off earlier and later.
    for number in 0..5_u32 {
        let server = Server::start(data.path(), &[]);
        let client = server.connect().await;
        let begin = format!("BEGIN; INSERT INTO loads VALUES ({number})");
        client.batch_execute(&begin).await.unwrap();
        let pieces = boats(number.into(), 12_000);
        let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
        send(&client, "COPY boats FROM STDIN", &pieces)
            .await
            .unwrap();
        let patience = Duration::from_millis(40) * number;
        let committed = tokio::time::timeout(patience, client.batch_execute("COMMIT")).await;
        server.kill();

        let server = Server::start(data.path(), &[]);
        let client = server.connect().await;
        let text = "SELECT (SELECT count(*) FROM boats), (SELECT count(*) FROM loads), \
            (SELECT count(*) FROM loads WHERE id = $1)";
        let row = client.query_one(text, &[&i64::from(number)]).await.unwrap();
        let [rows, commits, this]: [i64; 3] = [row.get(0), row.get(1), row.get(2)];
        assert_eq!(rows, 12_000 * commits, "of copy {number}");
        assert!(this == 1 || committed.is_err(), "of copy {number}");
    }
}
