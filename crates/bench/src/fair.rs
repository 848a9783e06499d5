//! Fairness: clients that change one row in different ways, and what each way gets of it.
//!
//! ```text
//!   8 clients  BEGIN  SELECT n  UPDATE n  COMMIT      ┐
//!              BEGIN  SELECT n FOR UPDATE  UPDATE  …  ├─ two of these at a time, on one row, for a while
//!              UPDATE … SET n = n + 1                 │  40001 is tried again at once
//!   8 clients  UpdateItem n = n + 1                   ┘
//! ```
//!
//! A way that never gets through is starved, however many commits there are in all. Each of a pair must
//! have an eighth of them. The sum in the row tells that none of them was lost.

use std::pin::pin;
use std::time::Duration;

use futures::future::{join, try_join_all};
use tempfile::TempDir;
use tokio_postgres::Client;
use tokio_postgres::error::SqlState;

use crate::measure::{Report, Stopwatch};
use crate::nosql::http::Connection;
use crate::options::Options;
use crate::sql::server::Server;
use crate::{Error, Result};

/// What the list of benches says.
pub(crate) const ABOUT: &str =
    "what clients of each kind get of one hot row [--quick] [--only PAIR] [--server PATH]";

/// Clients of each kind.
const CLIENTS: usize = 8;

/// The least part of all commits that each kind must have.
const SHARE_MIN: f64 = 0.125;

/// The item that the web API changes. SQL sees it as a row of [`COLLECTION`].
const ITEM: &str = "/bigdata/counters/hot";

/// Where the row lies that SQL changes: in a table and a condition on its key.
type Row = (&'static str, &'static str);
const TABLE: Row = ("counters", "name = 'hot'");
const COLLECTION: Row = ("\"bench/counters\"", "__name = 'hot'");

/// How a client changes the row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    ReadThenWrite,
    ForUpdate,
    Update,
    UpdateItem,
}

const WAYS: [Way; 4] = [
    Way::ReadThenWrite,
    Way::ForUpdate,
    Way::Update,
    Way::UpdateItem,
];

impl Way {
    fn name(self) -> &'static str {
        match self {
            Self::ReadThenWrite => "select_update",
            Self::ForUpdate => "for_update",
            Self::Update => "update",
            Self::UpdateItem => "update_item",
        }
    }
}

/// What the clients of one kind did.
#[derive(Clone, Copy, Debug, Default)]
struct Done {
    commits: u32,
    conflicts: u32,
}

/// Runs every pair that is asked for, and answers whether no kind was starved.
pub(crate) fn run(arguments: &[String]) -> Result<bool> {
    let options = Options::read(arguments)?;
    let pairs = WAYS.iter().enumerate().flat_map(|(at, one)| {
        let others = WAYS.iter().skip(at + 1);
        others.map(move |two| (format!("{}+{}", one.name(), two.name()), *one, *two))
    });
    let pairs: Vec<_> = pairs.collect();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    let mut report = Report::default();
    for (name, one, two) in options.chosen(&pairs, |(name, ..)| name)? {
        if let Err(error) = runtime.block_on(measure(&mut report, &options, (name, *one, *two))) {
            report.broken(name, &error);
        }
    }
    Ok(report.passed())
}

async fn measure(
    report: &mut Report,
    options: &Options,
    (name, one, two): (&str, Way, Way),
) -> Result<()> {
    let dir = TempDir::new()?;
    let server = Server::ours(&options.server, dir.path())?;
    make_rows(&server).await?;
    let row = match [one, two].contains(&Way::UpdateItem) {
        true => COLLECTION,
        false => TABLE,
    };
    let work = Work {
        server: &server,
        row,
        duration: Duration::from_secs(if options.quick { 2 } else { 10 }),
    };
    let (one, two) = join(work.clients(one), work.clients(two)).await;
    let (one, two) = (one?, two?);
    let all = one.commits + two.commits;
    let share = f64::from(one.commits.min(two.commits)) / f64::from(all.max(1));
    let of = |done: Done| format!("{} commits, {} conflicts", done.commits, done.conflicts);
    let figures = format!("{} | {}", of(one), of(two));
    report.against(name, share, Some(SHARE_MIN), &figures);
    let client = server.connect().await?;
    let sum: i64 = client.query_one(&read(row, ""), &[]).await?.try_get(0)?;
    report.must(
        name,
        sum == i64::from(all),
        &format!("the row counts {sum} of {all}"),
    );
    Ok(())
}

/// Makes the row of a table, and the item with a schema by which SQL sees it.
async fn make_rows(server: &Server) -> Result<()> {
    let mut http = Connection::open(server.http_port).await?;
    let item = r#"{"Item": {"name": {"S": "hot"}, "n": {"N": "0"}}}"#;
    http.call(&request("PutItem", ITEM, item)).await?;
    let client = server.connect().await?;
    let texts = [
        "CALL infer_schema('bench', 'counters')",
        "CREATE TABLE counters (name text PRIMARY KEY, n bigint)",
        "INSERT INTO counters VALUES ('hot', 0)",
    ];
    for text in texts {
        client.batch_execute(text).await?;
    }
    Ok(())
}

fn request(function: &str, path: &str, body: &str) -> Vec<u8> {
    let size = body.len();
    let head = "Host: 127.0.0.1\r\nContent-Type: application/json";
    format!(
        "PUT {path} HTTP/1.1\r\n{head}\r\nX-v3io-function: {function}\r\n\
         Content-Length: {size}\r\n\r\n{body}"
    )
    .into_bytes()
}

fn read((table, key): Row, lock: &str) -> String {
    format!("SELECT n FROM {table} WHERE {key} {lock}")
}

/// What clients do, and for how long.
struct Work<'w> {
    server: &'w Server,
    row: Row,
    duration: Duration,
}

impl Work<'_> {
    /// Lets the clients of one kind work until the time is over.
    async fn clients(&self, way: Way) -> Result<Done> {
        let watch = Stopwatch::start();
        let each = (0..CLIENTS).map(|_| async {
            match way {
                Way::UpdateItem => self.by_http(&watch).await,
                way => self.by_sql(way, &watch).await,
            }
        });
        let all = pin!(try_join_all(each)).await?;
        Ok(all.into_iter().fold(Done::default(), |sum, one| Done {
            commits: sum.commits + one.commits,
            conflicts: sum.conflicts + one.conflicts,
        }))
    }

    async fn by_http(&self, watch: &Stopwatch) -> Result<Done> {
        let mut http = Connection::open(self.server.http_port).await?;
        let update = request("UpdateItem", ITEM, r#"{"UpdateExpression": "n = n + 1"}"#);
        let mut done = Done::default();
        while watch.elapsed() < self.duration {
            match http.call(&update).await {
                Ok(_) => done.commits += 1,
                // What the API says where SQL says 40001.
                Err(Error::Wrong(answer))
                    if answer.contains(" 503 ") || answer.contains(" 409 ") =>
                {
                    done.conflicts += 1;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(done)
    }

    async fn by_sql(&self, way: Way, watch: &Stopwatch) -> Result<Done> {
        let client = self.server.connect().await?;
        let mut done = Done::default();
        while watch.elapsed() < self.duration {
            match change(&client, way, self.row).await {
                Ok(()) => done.commits += 1,
                Err(error) if error.code() == Some(&SqlState::T_R_SERIALIZATION_FAILURE) => {
                    done.conflicts += 1;
                    if way != Way::Update {
                        client.batch_execute("ROLLBACK").await?;
                    }
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(done)
    }
}

/// One transaction that counts the row up.
async fn change(
    client: &Client,
    way: Way,
    row: Row,
) -> std::result::Result<(), tokio_postgres::Error> {
    let (table, key) = row;
    let increment = format!("UPDATE {table} SET n = n + 1 WHERE {key}");
    if way == Way::Update {
        return client.batch_execute(&increment).await;
    }
    client.batch_execute("BEGIN").await?;
    let lock = match way {
        Way::ForUpdate => "FOR UPDATE",
        _ => "",
    };
    client.batch_execute(&read(row, lock)).await?;
    client.batch_execute(&increment).await?;
    client.batch_execute("COMMIT").await
}
