//! A client: runs the plan of a transaction, statement by statement, and writes down what it is told.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use storage::env::{Clock, SystemClock};
use tokio_postgres::types::ToSql;
use tokio_postgres::{Row, Statement};

use super::check::{Anomaly, Class};
use super::layout::{CLIENTS, Key, OWN_MAX, Start, TABLES, Table, own_id};
use super::plan::{Append, Place, Plan, Scan, Step};
use super::tables::elements;
use super::transactions::{Element, Name, Operation, Outcome, Transaction, Version};
use crate::{Error, Result};

/// How long a statement may take, before the server is taken to hang.
const STATEMENT_WAIT: Duration = Duration::from_secs(60);

/// Numbers of the partitions of tables that are not split.
const CHILDREN: u64 = 1 << 40;
const PARENTS: u64 = 2 << 40;
const TEAMS: u64 = 3 << 40;
const PLAYERS: u64 = 4 << 40;

/// SQLSTATE of a row that refers to nothing.
const FOREIGN_KEY_VIOLATION: &str = "23503";

/// SQLSTATEs that a transaction may be told: run it again, a deadlock, a row that refers to nothing or
/// is referred to, a row that is there already, a lock that was waited for too long.
const EXPECTED: [&str; 5] = ["40001", "40P01", FOREIGN_KEY_VIOLATION, "23505", "55P03"];

type Answer<T> = std::result::Result<T, tokio_postgres::Error>;

/// A connection that runs transactions, with the statements that it prepared.
pub(super) struct Client {
    number: u64,
    connection: tokio_postgres::Client,
    statements: HashMap<String, Statement>,
    clock: Arc<SystemClock>,
}

/// A transaction that ended, and what is counted about it.
pub(super) struct Done {
    pub(super) transaction: Transaction,
    /// The SQLSTATE that it was refused with.
    pub(super) code: Option<String>,
    /// An error that no transaction may be told.
    pub(super) unexpected: Option<String>,
    /// How many partitions it wrote to.
    pub(super) partitions: usize,
    /// What was wrong at first sight.
    pub(super) faults: Vec<Anomaly>,
}

/// What a transaction has done so far.
struct Attempt {
    name: Name,
    /// The first of its elements.
    first: u64,
    operations: Vec<Operation>,
    partitions: BTreeSet<u64>,
    /// How many operations there were when the savepoint was set.
    savepoint: usize,
    faults: Vec<Anomaly>,
}

impl Client {
    pub(super) fn new(
        number: u64,
        connection: tokio_postgres::Client,
        clock: Arc<SystemClock>,
    ) -> Self {
        Self {
            number,
            connection,
            statements: HashMap::new(),
            clock,
        }
    }

    /// Runs one transaction. An error means that the server is gone or hangs.
    pub(super) async fn run(&mut self, plan: &Plan, place: Place) -> Result<Done> {
        let began = self.clock.monotonic();
        let mut attempt = Attempt {
            name: Name {
                client: self.number,
                ordinal: place.ordinal(),
            },
            first: (place.in_round() * CLIENTS + self.number) * OWN_MAX,
            operations: Vec::new(),
            partitions: BTreeSet::new(),
            savepoint: 0,
            faults: Vec::new(),
        };
        let answer = tokio::time::timeout(STATEMENT_WAIT, self.attempt(plan, &mut attempt)).await;
        let error = match answer {
            Ok(answer) => answer.err(),
            Err(_) => {
                return Err(Error::Server(format!(
                    "{} got no answer for {} s: {:?}",
                    attempt.name,
                    STATEMENT_WAIT.as_secs(),
                    plan.steps
                )));
            }
        };
        let code = match &error {
            None => None,
            Some((_, error)) => {
                let gone = || Error::Server(format!("{}: {error}", attempt.name));
                Some(error.code().ok_or_else(gone)?.code().to_owned())
            }
        };
        let known = |code: &String| EXPECTED.contains(&code.as_str());
        let unexpected = match (&error, &code) {
            (Some((at, error)), Some(code)) if !known(code) => {
                let said = error.as_db_error().map(|error| error.message());
                Some(format!("{code} {}, after {at}", said.unwrap_or_default()))
            }
            _ => None,
        };
        let outcome = match error {
            None => Outcome::Committed,
            Some(_) => Outcome::Aborted,
        };
        Ok(Done {
            transaction: Transaction {
                name: attempt.name,
                began,
                ended: self.clock.monotonic(),
                outcome,
                operations: attempt.operations,
            },
            code,
            unexpected,
            partitions: attempt.partitions.len(),
            faults: attempt.faults,
        })
    }

    /// All statements from BEGIN to COMMIT, or to the first error, with what it was said to.
    async fn attempt(
        &mut self,
        plan: &Plan,
        attempt: &mut Attempt,
    ) -> std::result::Result<(), (String, tokio_postgres::Error)> {
        let begun = self.connection.batch_execute("BEGIN").await;
        begun.map_err(|error| ("BEGIN".to_owned(), error))?;
        for (place, step) in plan.steps.iter().enumerate() {
            let number = attempt.first + place as u64;
            let answer = self.step(*step, number, attempt).await;
            if let Err(error) = answer {
                let code = error.code().map(|code| code.code());
                let checked = matches!(step, Step::ConstraintsImmediate);
                if checked && code == Some(FOREIGN_KEY_VIOLATION) {
                    // What follows is ROLLBACK TO.
                    continue;
                }
                // The error that matters is the first one.
                let _ = self.connection.batch_execute("ROLLBACK").await;
                return Err((format!("{step:?}"), error));
            }
        }
        let ended = self.connection.batch_execute("COMMIT").await;
        ended.map_err(|error| ("COMMIT".to_owned(), error))
    }

    async fn step(&mut self, step: Step, number: u64, attempt: &mut Attempt) -> Answer<()> {
        match step {
            Step::Read { key, lock } => self.read(key, lock, attempt).await,
            Step::Append { key, how } => self.append(key, how, number, attempt).await,
            Step::Delete(key) => self.delete(key, number, attempt).await,
            Step::Scan(scan) => self.scan(scan, attempt).await,
            Step::Index { tag } => self.by_index(tag, attempt).await,
            Step::Join { from, to } => self.join(from, to, attempt).await,
            Step::Savepoint => {
                attempt.savepoint = attempt.operations.len();
                self.connection.batch_execute("SAVEPOINT s").await
            }
            Step::RollbackTo => {
                let first = attempt.savepoint;
                attempt.operations.push(Operation::RollbackTo(first));
                self.connection
                    .batch_execute("ROLLBACK TO SAVEPOINT s")
                    .await
            }
            Step::Release => self.connection.batch_execute("RELEASE SAVEPOINT s").await,
            Step::ConstraintsImmediate => {
                let sql = "SET CONSTRAINTS ALL IMMEDIATE";
                self.connection.batch_execute(sql).await
            }
            Step::InsertChild { .. }
            | Step::DeleteParent(_)
            | Step::InsertTeam { .. }
            | Step::InsertPlayer(_)
            | Step::DeletePlayer(_) => self.referring(step, number, attempt).await,
        }
    }

    async fn query(&mut self, sql: &str, values: &[&(dyn ToSql + Sync)]) -> Answer<Vec<Row>> {
        if let Some(statement) = self.statements.get(sql) {
            return self.connection.query(statement, values).await;
        }
        let statement = self.connection.prepare(sql).await?;
        let rows = self.connection.query(&statement, values).await;
        self.statements.insert(sql.to_owned(), statement);
        rows
    }

    async fn read(&mut self, key: Key, lock: bool, attempt: &mut Attempt) -> Answer<()> {
        let version = self.version(key, lock).await?;
        attempt.saw(key, version);
        Ok(())
    }

    async fn version(&mut self, key: Key, lock: bool) -> Answer<Version> {
        let lock = if lock { " FOR UPDATE" } else { "" };
        let sql = format!("SELECT v FROM {} WHERE k = $1{lock}", key.table.name());
        let rows = self.query(&sql, &[&signed(key.row())]).await?;
        Ok(only_list(&rows))
    }

    /// The list of a row that is changed for that.
    async fn counted(&mut self, key: Key) -> Answer<Version> {
        let table = key.table.name();
        let sql = format!("UPDATE {table} SET n = n + 1 WHERE k = $1 RETURNING v");
        let rows = self.query(&sql, &[&signed(key.row())]).await?;
        Ok(only_list(&rows))
    }

    async fn append(
        &mut self,
        key: Key,
        how: Append,
        number: u64,
        attempt: &mut Attempt,
    ) -> Answer<()> {
        let table = key.table.name();
        let element = element(number);
        let (row, tag, word) = (signed(key.row()), signed(key.tag()), format!(",{element}"));
        let rows = match how {
            Append::Update | Append::Returning => {
                // Both return rows, so that it is known whether there was one.
                let column = match how {
                    Append::Returning => "v",
                    _ => "''",
                };
                let sql = format!("UPDATE {table} SET v = v || $2 WHERE k = $1 RETURNING {column}");
                self.query(&sql, &[&row, &word]).await?
            }
            Append::Upsert => {
                let sql = format!(
                    "INSERT INTO {table} (k, tag, v) VALUES ($1, $2, $3) \
                     ON CONFLICT (k) DO UPDATE SET v = {table}.v || excluded.v RETURNING v"
                );
                self.query(&sql, &[&row, &tag, &word]).await?
            }
            Append::Rewrite | Append::Locked | Append::Counted => {
                let version = match how {
                    Append::Counted => self.counted(key).await?,
                    _ => self.version(key, matches!(how, Append::Locked)).await?,
                };
                attempt.saw(key, version.clone());
                let Version::List(list) = version else {
                    return Ok(());
                };
                let words = list.iter().chain([&element]);
                let words: Vec<String> = words.map(Element::to_string).collect();
                let sql = format!("UPDATE {table} SET v = $2 WHERE k = $1 RETURNING v");
                self.query(&sql, &[&row, &words.join(",")]).await?
            }
        };
        if rows.is_empty() {
            attempt.saw(key, Version::Absent);
            return Ok(());
        }
        attempt.wrote(key, element);
        if !matches!(how, Append::Update) {
            attempt.saw(key, only_list(&rows));
        }
        Ok(())
    }

    async fn delete(&mut self, key: Key, number: u64, attempt: &mut Attempt) -> Answer<()> {
        let sql = format!("DELETE FROM {} WHERE k = $1 RETURNING v", key.table.name());
        let rows = self.query(&sql, &[&signed(key.row())]).await?;
        match only_list(&rows) {
            Version::Absent => attempt.saw(key, Version::Absent),
            Version::List(list) => {
                attempt.partitions.insert(key.partition());
                attempt.operations.push(Operation::Delete {
                    key: key.id(),
                    list,
                    element: element(number),
                });
            }
        }
        Ok(())
    }

    async fn scan(&mut self, scan: Scan, attempt: &mut Attempt) -> Answer<()> {
        let order = match (scan.limit, scan.descending) {
            (None, _) => "",
            (Some(_), false) => " ORDER BY k LIMIT $3",
            (Some(_), true) => " ORDER BY k DESC LIMIT $3",
        };
        let lock = if scan.lock { " FOR UPDATE" } else { "" };
        let sql = format!(
            "SELECT k, v FROM {} WHERE k >= $1 AND k < $2{order}{lock}",
            scan.table.name()
        );
        let (from, to) = (signed(scan.from), signed(scan.to));
        let rows = match scan.limit {
            None => self.query(&sql, &[&from, &to]).await?,
            Some(limit) => self.query(&sql, &[&from, &to, &signed(limit)]).await?,
        };
        attempt.saw_range(scan, &rows);
        Ok(())
    }

    async fn by_index(&mut self, tag: u64, attempt: &mut Attempt) -> Answer<()> {
        let sql = "SELECT k, v FROM lists WHERE tag = $1";
        let rows = self.query(sql, &[&signed(tag)]).await?;
        let lists = lists(&rows);
        for key in Key::of_table(Table::Lists).filter(|key| key.tag() == tag) {
            attempt.saw_among(key, &lists);
        }
        Ok(())
    }

    async fn join(&mut self, from: u64, to: u64, attempt: &mut Attempt) -> Answer<()> {
        let sql = "SELECT s.k, l.v, n.v FROM slots s \
             LEFT JOIN lists l ON l.k = s.k AND l.k >= $1 AND l.k < $2 \
             LEFT JOIN notes n ON n.k = s.k AND n.k >= $1 AND n.k < $2 \
             WHERE s.k >= $1 AND s.k < $2";
        let rows = self.query(sql, &[&signed(from), &signed(to)]).await?;
        for row in &rows {
            for (table, column) in TABLES.into_iter().zip([1, 2]) {
                let list: Option<&str> = row.get(column);
                let list = list.map_or(Version::Absent, |list| Version::List(elements(list)));
                if let Some(key) = Key::at(table, unsigned(row.get(0))) {
                    attempt.saw(key, list);
                }
            }
        }
        Ok(())
    }

    /// Statements about rows that refer to others.
    async fn referring(&mut self, step: Step, number: u64, attempt: &mut Attempt) -> Answer<()> {
        let own = signed(own_id(attempt.name, number % OWN_MAX));
        match step {
            Step::InsertChild { parent } => {
                let sql = "INSERT INTO children (id, parent) VALUES ($1, $2)";
                self.query(sql, &[&own, &signed(parent)]).await?;
                attempt.partitions.insert(CHILDREN);
            }
            Step::InsertTeam { captain } => {
                let sql = "INSERT INTO teams (id, captain) VALUES ($1, $2)";
                self.query(sql, &[&own, &signed(captain)]).await?;
                attempt.partitions.insert(TEAMS);
            }
            Step::InsertPlayer(id) => {
                let sql = "INSERT INTO players (id) VALUES ($1)";
                self.query(sql, &[&signed(id)]).await?;
                attempt.partitions.insert(PLAYERS);
            }
            Step::DeleteParent(id) => {
                let id = signed(id);
                let sql = "SELECT id FROM parents WHERE id = $1 FOR UPDATE";
                // Children of a parent that is gone are orphans: they stay for the judge to see.
                if !self.query(sql, &[&id]).await?.is_empty() {
                    self.query("DELETE FROM children WHERE parent = $1", &[&id])
                        .await?;
                    self.query("DELETE FROM parents WHERE id = $1", &[&id])
                        .await?;
                    attempt.partitions.extend([CHILDREN, PARENTS]);
                }
            }
            Step::DeletePlayer(id) => {
                let id = signed(id);
                let sql = "SELECT id FROM players WHERE id = $1 FOR UPDATE";
                if !self.query(sql, &[&id]).await?.is_empty() {
                    self.query("DELETE FROM players WHERE id = $1", &[&id])
                        .await?;
                    self.query("DELETE FROM teams WHERE captain = $1", &[&id])
                        .await?;
                    attempt.partitions.extend([TEAMS, PLAYERS]);
                }
            }
            _ => {}
        }
        Ok(())
    }
}

impl Attempt {
    fn saw(&mut self, key: Key, version: Version) {
        self.operations.push(Operation::Read {
            key: key.id(),
            version,
        });
    }

    fn saw_among(&mut self, key: Key, lists: &HashMap<u64, Vec<Element>>) {
        let list = lists.get(&key.row()).cloned();
        self.saw(key, list.map_or(Version::Absent, Version::List));
    }

    fn wrote(&mut self, key: Key, element: Element) {
        self.partitions.insert(key.partition());
        self.operations.push(Operation::Append {
            key: key.id(),
            element,
        });
    }

    /// Takes in the rows of a range: the lists in it, and the keys that it shows to be absent.
    fn saw_range(&mut self, scan: Scan, rows: &[Row]) {
        let lists = lists(rows);
        let full = scan.limit == Some(rows.len() as u64);
        let end = rows.last().map(|row| unsigned(row.get(0)));
        let (from, to) = match (full, scan.descending, end) {
            (true, false, Some(end)) => (scan.from, end + 1),
            (true, true, Some(end)) => (end, scan.to),
            _ => (scan.from, scan.to),
        };
        for key in Key::of_table(scan.table) {
            if (from..to).contains(&key.row()) {
                self.saw_among(key, &lists);
            }
        }
        // Fillers and rows that are never deleted are there, whatever others do.
        let missing = (from..to).find(|row| {
            let start = Key::at(scan.table, *row).map_or(Start::Present, Key::start);
            start == Start::Present && !lists.contains_key(row)
        });
        if let Some(row) = missing {
            let text = format!(
                "row {row} of {} was not seen by {} in {scan:?}",
                scan.table.name(),
                self.name
            );
            let class = Class::Lost;
            self.faults.push(Anomaly { class, text });
        }
    }
}

/// The lists of rows, by the rows' keys.
fn lists(rows: &[Row]) -> HashMap<u64, Vec<Element>> {
    let lists = rows
        .iter()
        .map(|row| (unsigned(row.get(0)), elements(row.get(1))));
    lists.collect()
}

/// The list of the only row.
fn only_list(rows: &[Row]) -> Version {
    let row = rows.first();
    row.map_or(Version::Absent, |row| Version::List(elements(row.get(0))))
}

fn element(number: u64) -> Element {
    Element::try_from(number).expect("the elements of a round fit 32 bits")
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).expect("keys and ids are far below 2^63")
}

fn unsigned(number: i64) -> u64 {
    // No row has a negative key: what is no row at all is found to be garbage.
    u64::try_from(number).unwrap_or(u64::MAX)
}
