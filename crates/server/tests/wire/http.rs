//! What Prometheus and a load balancer see.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::process::Server;

/// The status line and the body.
async fn get(server: &Server, path: &str) -> (String, String) {
    let (head, body) = ask(server, "GET", path).await;
    let status = head.lines().next().unwrap();
    (status.to_owned(), body)
}

/// The status line with the headers, and the body.
async fn ask(server: &Server, method: &str, path: &str) -> (String, String) {
    let mut socket = TcpStream::connect(("127.0.0.1", server.http_port))
        .await
        .unwrap();
    let request =
        format!("{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    socket.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    socket.read_to_string(&mut answer).await.unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.to_owned(), body.to_owned())
}

#[tokio::test]
async fn pages_that_only_tell_refuse_whatever_would_change_them() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path(), &[]);
    for path in ["/metrics", "/health", "/health?verbose"] {
        let (asked, body) = ask(&server, "GET", path).await;
        assert!(asked.starts_with("HTTP/1.1 200 OK"), "{path} {asked}");
        assert!(!body.is_empty(), "{path}");
        // HEAD answers as GET does, without the body.
        let (head, nothing) = ask(&server, "HEAD", path).await;
        assert!(head.starts_with("HTTP/1.1 200 OK"), "{path} {head}");
        assert_eq!(nothing, "", "{path}");
        let kind = |head: &str| {
            let mut lines = head.lines().map(str::to_ascii_lowercase);
            lines.find(|line| line.starts_with("content-type:"))
        };
        assert_eq!(kind(&head), kind(&asked), "{path}");
        for method in ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "BREW"] {
            let (head, _) = ask(&server, method, path).await;
            let refused = head.starts_with("HTTP/1.1 405 Method Not Allowed");
            assert!(refused, "{method} {path} {head}");
            let allow = head.lines().find(|line| line.starts_with("Allow:"));
            assert_eq!(allow, Some("Allow: GET,HEAD"), "{method} {path}");
        }
    }
    // None of them made a container of that name.
    let client = server.connect().await;
    let made = "SELECT count(*) FROM information_schema.tables WHERE table_name LIKE 'v3io/%'";
    let row = client.query_one(made, &[]).await.unwrap();
    assert_eq!(row.get::<_, i64>(0), 0);
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
    let failures = "evenkeel_job_failures_total{job=\"group_commit\"}";
    assert_eq!(number(&page, failures), 0.0);
    for counter in ["flushes", "compactions"] {
        let name = format!("evenkeel_engine_{counter}_total");
        assert_eq!(number(&page, &name), 0.0, "{page}");
    }
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

#[tokio::test]
async fn connections_beyond_the_limit_hear_503() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path(), &["--http-connections-max", "1"]);
    // Half a request takes the place, and its first byte is there before the next client is.
    let mut half = TcpStream::connect(("127.0.0.1", server.http_port))
        .await
        .unwrap();
    half.write_all(b"GET /health HTTP/1.1\r\n").await.unwrap();
    let (status, said) = get(&server, "/metrics").await;
    assert_eq!(status, "HTTP/1.1 503 Service Unavailable");
    assert_eq!(said, "too many connections of HTTP\n");
    // The database is well all the same.
    let healthy = ("HTTP/1.1 200 OK".to_owned(), "ok\n".to_owned());
    assert_eq!(get(&server, "/health").await, healthy);
    half.write_all(b"Host: localhost\r\nConnection: close\r\n\r\n")
        .await
        .unwrap();
    let mut answer = String::new();
    half.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    // The place is free again as soon as the server has seen the end.
    while get(&server, "/metrics").await.0 != "HTTP/1.1 200 OK" {}
}

/// A line of samples: its name, its labels and its value.
type Sample = (String, Vec<(String, String)>, f64);

/// A name as Prometheus has it, and what follows.
fn name(text: &str) -> (&str, &str) {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == ':';
    let end = text.find(|c: char| !is_part(c)).unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    let begins = |c: char| !c.is_ascii_digit();
    assert!(name.starts_with(begins), "no name at the start of `{text}`");
    (name, rest)
}

/// The value of a label up to its closing quote, unescaped, and what follows.
fn quoted(text: &str) -> (String, &str) {
    let mut value = String::new();
    let mut rest = text.strip_prefix('"').unwrap().chars();
    loop {
        match rest.next().unwrap() {
            '"' => return (value, rest.as_str()),
            '\\' => value.push(match rest.next().unwrap() {
                'n' => '\n',
                same @ ('"' | '\\') => same,
                other => panic!("`\\{other}` in `{text}`"),
            }),
            other => value.push(other),
        }
    }
}

fn sample(line: &str) -> Sample {
    let (family, mut rest) = name(line);
    let mut labels = Vec::new();
    if let Some(mut inner) = rest.strip_prefix('{') {
        rest = loop {
            let (label, after) = name(inner);
            let (value, after) = quoted(after.strip_prefix('=').unwrap());
            labels.push((label.to_owned(), value));
            match after.strip_prefix(',') {
                Some(next) => inner = next,
                None => break after.strip_prefix('}').unwrap(),
            }
        };
    }
    let value = rest.strip_prefix(' ').unwrap();
    (family.to_owned(), labels, value.parse().unwrap())
}

/// The families of a page with their kinds and samples, if it is one that Prometheus takes.
fn families(page: &str) -> Vec<(String, String, Vec<Sample>)> {
    assert!(page.ends_with('\n'));
    let mut all: Vec<(String, String, Vec<Sample>)> = Vec::new();
    let mut helped = None;
    for line in page.lines() {
        if let Some(help) = line.strip_prefix("# HELP ") {
            let (name, text) = help.split_once(' ').unwrap();
            assert!(!text.is_empty() && helped.is_none(), "{line}");
            helped = Some(name.to_owned());
        } else if let Some(kind) = line.strip_prefix("# TYPE ") {
            let (name, kind) = kind.split_once(' ').unwrap();
            assert_eq!(helped.take().as_deref(), Some(name));
            assert!(["counter", "gauge", "histogram"].contains(&kind), "{line}");
            let twice = all.iter().any(|(known, ..)| known == name);
            assert!(!twice, "{name} is described twice");
            assert_eq!(kind == "counter", name.ends_with("_total"), "{line}");
            all.push((name.to_owned(), kind.to_owned(), Vec::new()));
        } else {
            let sample = sample(line);
            let (family, kind, samples) = all.last_mut().unwrap();
            let suffix = sample.0.strip_prefix(family.as_str());
            let suffixes: &[&str] = match kind.as_str() {
                "histogram" => &["_bucket", "_sum", "_count"],
                _ => &[""],
            };
            assert!(suffixes.contains(&suffix.unwrap()), "{line} in {family}");
            let twice = |one: &&Sample| (&one.0, &one.1) == (&sample.0, &sample.1);
            assert_eq!(samples.iter().find(twice), None, "{line} is there twice");
            samples.push(sample);
        }
    }
    all
}

/// Checks the buckets of each series of a histogram.
fn check_histogram(family: &str, samples: &[Sample]) {
    let of = |suffix: &str| {
        let name = format!("{family}{suffix}");
        samples.iter().filter(move |(one, ..)| *one == name)
    };
    assert!(of("_count").count() > 0);
    assert_eq!(of("_count").count(), of("_sum").count());
    for (_, series, count) in of("_count") {
        let mut buckets = Vec::new();
        for (_, labels, value) in of("_bucket") {
            let (le, others): (Vec<_>, Vec<_>) =
                labels.iter().cloned().partition(|(label, _)| label == "le");
            if others == *series {
                let le: f64 = le[0].1.parse().unwrap();
                buckets.push((le, *value));
            }
        }
        assert!(buckets.is_sorted_by(|one, two| one.0 < two.0 && one.1 <= two.1));
        assert_eq!(buckets.last(), Some(&(f64::INFINITY, *count)));
        let sum = of("_sum").find(|(_, labels, _)| labels == series).unwrap();
        assert_eq!(sum.2 > 0.0, *count > 0.0, "{series:?}");
    }
}

#[tokio::test]
async fn the_whole_page_of_metrics_is_as_prometheus_reads_it() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path(), &[]);
    let client = server.connect().await;
    let odd = "a \"b\" \\c,d{e=1}";
    let quoted = odd.replace('"', "\"\"");
    for text in [
        &format!("CREATE TABLE \"{quoted}\" (id bigint PRIMARY KEY, v text)"),
        &format!("INSERT INTO \"{quoted}\" VALUES (1, 'a')"),
        "CREATE TABLE t (id bigint PRIMARY KEY, v bigint UNIQUE)",
        "INSERT INTO t VALUES (1, 1)",
        "ALTER TABLE t SPLIT AT (3)",
        "SELECT count(*) FROM t",
        "UPDATE t SET v = 2 WHERE id = 1",
        "DELETE FROM t WHERE id = 1",
    ] {
        client.batch_execute(text).await.unwrap();
    }
    let (_, page) = get(&server, "/metrics").await;
    let families = families(&page);
    let mut odd_rows = None;
    for (family, kind, samples) in &families {
        assert!(family.starts_with("evenkeel_"), "{family}");
        if kind == "histogram" {
            check_histogram(family, samples);
        } else {
            assert!(samples.iter().all(|(.., value)| *value >= 0.0), "{family}");
        }
        let mut rows = samples.iter().filter(|_| family == "evenkeel_rows");
        let found = rows.find(|(_, labels, _)| *labels == [("table".to_owned(), odd.to_owned())]);
        odd_rows = odd_rows.or(found.map(|(.., rows)| *rows));
    }
    assert_eq!(odd_rows, Some(1.0), "{page}");
    let histograms = families.iter().filter(|(_, kind, _)| kind == "histogram");
    assert_eq!(histograms.count(), 1);
}
