//! `evenkeel record`: what a server keeps of its transactions, also after kill -9, and how much.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Command;

use advisor::trace::{Kind, Trace};

use crate::process::Server;

fn export(args: &[&str]) -> Trace {
    let output = Command::new(env!("CARGO_BIN_EXE_evenkeel"))
        .args(["record", "export"])
        .args(args)
        .output()
        .expect("the binary starts");
    let err = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), err.as_str()), (Some(0), ""));
    let trace = Trace::read(output.stdout.as_slice()).unwrap();
    assert_eq!(trace.flaws, Default::default());
    trace
}

fn url(server: &Server) -> String {
    format!("postgres://ada@127.0.0.1:{}/boats", server.port)
}

/// Files of the trace, and their bytes.
fn files(data: &Path) -> Vec<(std::path::PathBuf, u64)> {
    let Ok(entries) = fs::read_dir(data.join("trace")) else {
        return Vec::new();
    };
    let mut files: Vec<_> = entries
        .map(|entry| entry.unwrap())
        .map(|entry| (entry.path(), entry.metadata().unwrap().len()))
        .collect();
    files.sort();
    files
}

#[tokio::test]
async fn a_trace_comes_from_a_server_and_survives_kill_9() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let mut client = server.connect().await;
    let create = "CREATE TABLE visits (at Int64 NOT NULL, who Uint64 NOT NULL, page text, \
                  PRIMARY KEY (at, who))";
    client.batch_execute(create).await.unwrap();
    let insert = "INSERT INTO visits (at, who, page) VALUES ($1, $2::int8, 'start')";
    let insert = client.prepare(insert).await.unwrap();
    let read = "SELECT at, page FROM visits WHERE who = $1::int8 ORDER BY at LIMIT 3";
    let read = client.prepare(read).await.unwrap();
    for number in 0..50_i64 {
        let transaction = client.transaction().await.unwrap();
        let parameters = (number, number % 5);
        transaction
            .execute(&insert, &[&parameters.0, &parameters.1])
            .await
            .unwrap();
        transaction.query(&read, &[&parameters.1]).await.unwrap();
        transaction.commit().await.unwrap();
    }
    let point = "SELECT page FROM visits WHERE at = 7 AND who = 2";
    assert_eq!(client.query(point, &[]).await.unwrap().len(), 1);

    let trace = export(&["--url", &url(&server)]);
    let first = &trace.txns[0];
    assert_eq!(first.weight, 1.0);
    let kinds = |txn: &advisor::trace::Txn| -> Vec<Kind> {
        let kind = |id: u32| {
            trace
                .statements
                .iter()
                .find(|one| one.id == id)
                .unwrap()
                .kind
        };
        txn.ops.iter().map(|op| kind(op.statement)).collect()
    };
    assert_eq!(kinds(first), [Kind::Insert, Kind::Read]);
    assert_eq!(first.ops[0].rows[0].len(), 3);
    assert_eq!(first.ops[1].limit, Some(3));
    assert_eq!(first.ops[1].rows.len(), 1);
    assert_eq!(kinds(trace.txns.last().unwrap()), [Kind::Read]);
    let visits = trace.table("visits").unwrap();
    assert_eq!((visits.rows, visits.key.len()), (50, 2));

    // What was written is there after a crash, a line that was torn is passed over, and the next start
    // goes on behind it.
    server.kill();
    let kept = files(data.path());
    let (newest, _) = kept.last().unwrap();
    let mut torn = fs::OpenOptions::new().append(true).open(newest).unwrap();
    torn.write_all(b"{\"txn\":{\"at_us\":1,\"wei").unwrap();
    let path = data.path().to_str().unwrap();
    let again = export(&["--data", path]);
    assert_eq!(again.txns.len(), trace.txns.len());

    let server = Server::start(data.path(), &[]);
    let client = server.connect().await;
    client.query(point, &[]).await.unwrap();
    let more = export(&["--url", &url(&server)]);
    assert_eq!(more.txns.len(), trace.txns.len() + 1);
    assert!(files(data.path()).len() > kept.len());
    assert_eq!(more.tables.len(), 1);
    assert_eq!(more.statements.len(), trace.statements.len());
}

#[tokio::test]
async fn a_trace_takes_no_more_room_than_it_is_given() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let client = server.connect().await;
    let create = "CREATE TABLE t (k Uint64 NOT NULL, PRIMARY KEY (k));
                  ALTER SYSTEM SET record_size_mb = 1;
                  ALTER SYSTEM SET record_per_second = 10000";
    client.batch_execute(create).await.unwrap();
    let long = "x".repeat(900);
    let holds = |trace: &Trace, name: &str| {
        let mut statements = trace.statements.iter();
        statements.any(|one| one.text.contains(name))
    };
    // The settings hold within a second, and until then little is recorded.
    let mut last = String::new();
    let mut trace = None;
    for round in 0..40 {
        for number in round * 500..(round + 1) * 500 {
            last = format!("SELECT k AS n{number}_{long} FROM t WHERE k = 1");
            client.batch_execute(&last).await.unwrap();
        }
        let exported = trace.insert(export(&["--url", &url(&server)]));
        if !holds(exported, "n17_") {
            break;
        }
    }
    let trace = trace.unwrap();
    let bytes: u64 = files(data.path()).iter().map(|(_, bytes)| bytes).sum();
    assert!((500_000..=1 << 20).contains(&bytes), "{bytes}");
    // The newest are kept.
    let name = last.split_whitespace().nth(3).unwrap();
    assert!(holds(&trace, name));
    assert!(!holds(&trace, "n17_"));
}

#[tokio::test]
async fn a_server_advises_by_what_it_has_recorded() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let client = server.connect().await;
    let create = "CREATE TABLE log (at Int64 NOT NULL, who Uint64 NOT NULL, PRIMARY KEY (at, who));
                  ALTER SYSTEM SET record_per_second = 10000";
    client.batch_execute(create).await.unwrap();
    let few = client.query("ADVISE TABLE log", &[]).await.unwrap_err();
    assert_eq!(few.code().unwrap().code(), "55000");

    // Statements that nobody has seen before have their turn at once, as far as there is room.
    let mut number = 0_u64;
    let advice = loop {
        for _ in 0..400 {
            number += 1;
            let who = number % 50;
            let insert = format!("INSERT INTO log (at, who) VALUES ({number}, {who})");
            client.batch_execute(&insert).await.unwrap();
            let read = format!("SELECT at AS at_{number} FROM log WHERE who = {who}");
            client.batch_execute(&read).await.unwrap();
        }
        match client.query("ADVISE TABLE log", &[]).await {
            Ok(advice) => break advice,
            Err(error) => assert_eq!(error.code().unwrap().code(), "55000", "{error}"),
        }
        assert!(number < 20_000, "nothing is recorded");
    };
    let current = |row: &&tokio_postgres::Row| row.get::<_, bool>("Current");
    let now = advice.iter().find(current).unwrap();
    assert_eq!(now.get::<_, &str>("Key"), "(at, who)");
    assert!(advice.iter().any(|row| row.get::<_, bool>("Best")));
    let kept = "SELECT count(*) FROM sys.advice WHERE Path = 'log'";
    let kept: i64 = client.query_one(kept, &[]).await.unwrap().get(0);
    assert_eq!(usize::try_from(kept).unwrap(), advice.len());

    // One of the keys is tried out, and the command advises too.
    let verified = client.query("ADVISE TABLE log VERIFY KEY 1", &[]).await;
    let verified = verified.unwrap();
    let figure = |row: &tokio_postgres::Row| row.get::<_, String>("Figure");
    let figures: Vec<String> = verified.iter().map(figure).collect();
    let expected = [
        "peak share",
        "single-partition share",
        "partitions per read",
        "rows per read",
        "splits",
        "key bytes",
        "transactions",
        "rows",
    ];
    assert_eq!(figures, expected);
    let key = verified[0].get::<_, &str>("Key");
    assert_eq!(key, advice[0].get::<_, &str>("Key"));
    let (predicted, measured): (f64, f64) = (verified[5].get(2), verified[5].get(3));
    assert_eq!(predicted, measured, "bytes of a key");
    assert!(verified[6].get::<_, f64>("Measured") >= 300.0);

    let output = Command::new(env!("CARGO_BIN_EXE_evenkeel"))
        .args(["advise", "log", "--url", &url(&server)])
        .output()
        .expect("the binary starts");
    let err = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), err.as_str()), (Some(0), ""));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.starts_with("Keys for log, from "), "{text}");

    // Nothing of it is left behind, in the folder or among the tables.
    let scratch = data.path().join("scratch");
    let left = fs::read_dir(&scratch).map_or(0, |entries| entries.count());
    assert_eq!(left, 0);
    let tables = "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'";
    let tables: i64 = client.query_one(tables, &[]).await.unwrap().get(0);
    assert_eq!(tables, 1);

    // What a crash leaves is removed at the next start.
    server.kill();
    fs::create_dir_all(scratch.join("left")).unwrap();
    export(&["--data", data.path().to_str().unwrap()]);
    assert!(!scratch.exists());
}

#[test]
fn a_directory_without_data_is_not_made() {
    let data = tempfile::tempdir().unwrap();
    let path = data.path().join("nothing");
    let output = Command::new(env!("CARGO_BIN_EXE_evenkeel"))
        .args(["record", "export", "--data"])
        .arg(&path)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    let err = String::from_utf8(output.stderr).unwrap();
    assert!(err.starts_with("error: there is no data in"), "{err}");
    assert!(!path.exists());
}
