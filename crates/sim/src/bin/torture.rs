//! The victim of a real kill: counts in a database on disk, from several threads, and says what was
//! acknowledged.
//!
//! ```text
//!   counters   /counter            → how far it came
//!   entries    /counter/n          → which thread took the counter from n − 1 to n
//!   stdout     counter n thread    one line for each commit that was acknowledged
//! ```
//!
//! A transaction reads a counter, writes it one higher and writes the entry of that number. So the
//! entries of a counter are 1, 2, 3, … up to where it stands, whatever the kill cut short.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use db::{Column, Database, Kind, Schema, Table, Type, Value};
use sim::torture::{COUNTERS, COUNTERS_TABLE, ENTRIES_TABLE, number};

const THREADS: u64 = 4;

fn main() -> ExitCode {
    let Some(path) = std::env::args().nth(1) else {
        eprintln!("usage: torture DIRECTORY");
        return ExitCode::from(2);
    };
    match count(Path::new(&path)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn count(path: &Path) -> db::Result<()> {
    let database = Database::open(path)?;
    let counters = table(&database, COUNTERS_TABLE, &["counter"])?;
    let entries = table(&database, ENTRIES_TABLE, &["counter", "n"])?;
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..THREADS)
            .map(|thread| {
                let (database, counters, entries) = (&database, &counters, &entries);
                scope.spawn(move || work(database, counters, entries, thread))
            })
            .collect();
        for worker in workers {
            worker.join().expect("a worker does not panic")?;
        }
        Ok(())
    })
}

fn table(database: &Database, name: &str, key: &[&str]) -> db::Result<Arc<Table>> {
    match database.table(name) {
        Err(error) if error.kind() == Kind::NotFound => {}
        other => return other,
    }
    let mut columns: Vec<_> = key
        .iter()
        .map(|name| Column::new(*name, Type::Uint64).not_null())
        .collect();
    columns.push(Column::new("value", Type::Uint64));
    let schema = Schema::new(name, columns, key).expect("the schema is a valid one");
    match database.create_table(schema, &[vec![Value::Uint64(COUNTERS / 2)]]) {
        Err(error) if error.kind() == Kind::Exists => database.table(name),
        other => other,
    }
}

/// Counts until somebody kills the process.
fn work(
    database: &Database,
    counters: &Arc<Table>,
    entries: &Arc<Table>,
    thread: u64,
) -> db::Result<()> {
    let mut turn = thread;
    loop {
        turn = turn.wrapping_add(1);
        let counter = Value::Uint64(turn % COUNTERS);
        let mut txn = database.begin();
        let row = txn.get(counters, std::slice::from_ref(&counter))?;
        let next = Value::Uint64(row.as_deref().map_or(0, |row| number(row, 1)) + 1);
        txn.replace(counters, &[counter.clone(), next.clone()])?;
        txn.insert(
            entries,
            &[counter.clone(), next.clone(), Value::Uint64(thread)],
        )?;
        match txn.commit() {
            Ok(_) => {
                let mut out = std::io::stdout().lock();
                let said = writeln!(out, "{counter} {next} {thread}").and_then(|()| out.flush());
                if said.is_err() {
                    return Ok(());
                }
            }
            Err(error) if error.kind() == Kind::Conflict => {}
            Err(error) => return Err(error),
        }
    }
}
