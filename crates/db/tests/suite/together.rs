//! Many at once: transfers between accounts while the table is split and merged under them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use db::{Column, Database, Direction, Kind, Range, Schema, Table, Type, Value};

const ACCOUNTS: u64 = 64;
const EACH: i64 = 100;
const TRANSFERS: u64 = 150;
const WRITERS: u64 = 4;
/// Writers go on until the partitions were split so often.
const SPLITS: u64 = 20;

fn open(folder: &std::path::Path) -> (Database, Arc<Table>) {
    let db = Database::open(folder).unwrap();
    let table = match db.table("accounts") {
        Ok(table) => table,
        Err(_) => {
            let columns = vec![
                Column::new("id", Type::Uint64).not_null(),
                Column::new("amount", Type::Int64).not_null(),
            ];
            db.create_table(Schema::new("accounts", columns, &["id"]).unwrap(), &[])
                .unwrap()
        }
    };
    (db, table)
}

fn amount(row: Option<Vec<Value>>) -> i64 {
    match row.as_deref() {
        Some([_, Value::Int64(amount)]) => *amount,
        other => panic!("an account is {other:?}"),
    }
}

/// Moves one coin; answers whether the transaction was refused for a conflict.
fn transfer(db: &Database, table: &Arc<Table>, from: u64, to: u64) -> Result<(), db::Error> {
    let mut txn = db.begin();
    let (from, to) = (Value::Uint64(from), Value::Uint64(to));
    let rich = amount(txn.get(table, std::slice::from_ref(&from))?);
    let poor = amount(txn.get(table, std::slice::from_ref(&to))?);
    txn.replace(table, &[from, Value::Int64(rich - 1)])?;
    txn.replace(table, &[to, Value::Int64(poor + 1)])?;
    txn.commit().map(|_| ())
}

fn total(db: &Database, table: &Arc<Table>, direction: Direction) -> (usize, i64) {
    let rows = db.snapshot().scan(table, &Range::all(), direction).unwrap();
    let amounts: Vec<i64> = rows.map(|row| amount(Some(row.unwrap()))).collect();
    (amounts.len(), amounts.iter().sum())
}

#[test]
fn no_coin_is_lost_and_no_request_fails_while_partitions_split_and_merge() {
    let folder = tempfile::tempdir().unwrap();
    let (db, table) = open(folder.path());
    let mut txn = db.begin();
    for id in 0..ACCOUNTS {
        txn.insert(&table, &[Value::Uint64(id), Value::Int64(EACH)])
            .unwrap();
    }
    txn.commit().unwrap();
    let whole = i64::try_from(ACCOUNTS).unwrap() * EACH;

    let done = AtomicBool::new(false);
    let (conflicts, splits) = (AtomicU64::new(0), AtomicU64::new(0));
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| {
                let (db, table, conflicts, splits) = (&db, &table, &conflicts, &splits);
                scope.spawn(move || {
                    for step in 0..100_000 {
                        if step >= TRANSFERS && splits.load(Ordering::Relaxed) >= SPLITS {
                            break;
                        }
                        let from = (writer * 31 + step * 7) % ACCOUNTS;
                        let to = (from + 1 + step % 5) % ACCOUNTS;
                        while let Err(error) = transfer(db, table, from, to) {
                            assert_eq!(error.kind(), Kind::Conflict, "{error}");
                            conflicts.fetch_add(1, Ordering::Relaxed);
                        }
                    }
                })
            })
            .collect();
        for direction in [Direction::Ascending, Direction::Descending] {
            let (db, table, done) = (&db, &table, &done);
            scope.spawn(move || {
                while !done.load(Ordering::Acquire) {
                    let seen = total(db, table, direction);
                    assert_eq!(seen, (usize::try_from(ACCOUNTS).unwrap(), whole));
                }
            });
        }
        scope.spawn(|| {
            for round in 0.. {
                if done.load(Ordering::Acquire) {
                    break;
                }
                db.split(&table, &[Value::Uint64(1 + round * 13 % (ACCOUNTS - 1))])
                    .ok();
                splits.fetch_add(1, Ordering::Relaxed);
                let parts = db.describe(&table).unwrap();
                if parts.len() > 8 {
                    let ids: Vec<_> = parts.iter().map(|one| one.id).collect();
                    db.merge(&table, &ids).unwrap();
                }
            }
        });
        for writer in writers {
            writer.join().unwrap();
        }
        done.store(true, Ordering::Release);
    });

    db.count_partitions(&table).unwrap();
    drop(db);
    let (db, table) = open(folder.path());
    assert_eq!(total(&db, &table, Direction::Ascending).1, whole);
    let parts = db.describe(&table).unwrap();
    assert_eq!(parts.iter().map(|one| one.rows).sum::<u64>(), ACCOUNTS);
    assert!(parts.iter().all(|one| one.exact));
}
