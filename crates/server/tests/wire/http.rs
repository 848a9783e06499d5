//! What Prometheus and a load balancer see.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::process::Server;

/// The status line and the body.
async fn get(server: &Server, path: &str) -> (String, String) {
    let mut socket = TcpStream::connect(("127.0.0.1", server.http_port))
        .await
        .unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    socket.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    socket.read_to_string(&mut answer).await.unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let status = head.lines().next().unwrap();
    (status.to_owned(), body.to_owned())
}

/// The number on the line that begins so.
fn number(page: &str, name: &str) -> f64 {
    let line = page.lines().find_map(|line| line.strip_prefix(name));
    let line = line.unwrap_or_else(|| panic!("no {name} in {page}"));
    line.trim().parse().unwrap()
}

#[tokio::test]
async fn metrics_tell_of_partitions_and_statements() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path(), &[]);
    assert_eq!(
        get(&server, "/health").await,
        ("HTTP/1.1 200 OK".to_owned(), "ok\n".to_owned())
    );
    let client = server.connect().await;
    for text in [
        "CREATE TABLE t (id bigint PRIMARY KEY, v text)",
        "INSERT INTO t VALUES (1, 'a'), (5, 'b')",
        "ALTER TABLE t SPLIT AT (3), (4)",
        "ALTER TABLE t MERGE PARTITIONS AT (4)",
        "SELECT v FROM t WHERE id = 1",
        "SELECT count(*) FROM t",
    ] {
        client.batch_execute(text).await.unwrap();
    }
    let (status, page) = get(&server, "/metrics").await;
    assert_eq!(status, "HTTP/1.1 200 OK");
    assert_eq!(number(&page, "evenkeel_partitions{table=\"t\"}"), 2.0);
    assert_eq!(number(&page, "evenkeel_rows{table=\"t\"}"), 2.0);
    assert_eq!(
        number(&page, "evenkeel_splits_total{reason=\"ByHand\"}"),
        2.0
    );
    assert_eq!(
        number(&page, "evenkeel_merges_total{reason=\"ByHand\"}"),
        1.0
    );
    assert_eq!(
        number(&page, "evenkeel_statement_seconds_count{kind=\"select\"}"),
        2.0
    );
    assert_eq!(
        number(&page, "evenkeel_statement_seconds_count{kind=\"insert\"}"),
        1.0
    );
    let all = "evenkeel_statement_seconds_bucket{kind=\"select\",le=\"+Inf\"}";
    assert_eq!(number(&page, all), 2.0);
    assert!(number(&page, "evenkeel_statement_seconds_sum{kind=\"select\"}") > 0.0);
    assert_eq!(number(&page, "evenkeel_engines_down"), 0.0);
    for family in ["peak_share", "single_partition_share", "refusals_total"] {
        assert!(
            page.contains(&format!("# TYPE evenkeel_{family} ")),
            "{family}"
        );
    }
    assert_eq!(get(&server, "/elsewhere").await.0, "HTTP/1.1 404 Not Found");
    let (status, said) = server.terminate();
    assert!(status.success());
    assert_eq!(said, "evenkeel: stopped\n");
}
