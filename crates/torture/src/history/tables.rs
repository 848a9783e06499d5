//! The tables of a run: how they are made, filled for a round, and read at its end.

use tokio_postgres::Client;

use super::check::{Anomaly, Class};
use super::layout::{
    GENERATIONS, Key, PARENTS, PARTITION_ROWS, ROWS, SLOTS, Start, TABLES, Table, inserter, parent,
};
use super::transactions::{self, Element, Version};
use crate::{Error, Result};

/// Makes the tables, cut into partitions.
const TABLES_SQL: &str = "
    CREATE TABLE lists (k bigint PRIMARY KEY, tag bigint, v text NOT NULL,
        n bigint NOT NULL DEFAULT 0);
    CREATE TABLE notes (k bigint PRIMARY KEY, tag bigint, v text NOT NULL,
        n bigint NOT NULL DEFAULT 0);
    CREATE TABLE slots (k bigint PRIMARY KEY);
    CREATE INDEX lists_by_tag ON lists (tag);
    CREATE TABLE parents (id bigint PRIMARY KEY);
    CREATE TABLE children (id bigint PRIMARY KEY, parent bigint NOT NULL REFERENCES parents);
    CREATE INDEX children_by_parent ON children (parent);
    CREATE TABLE players (id bigint PRIMARY KEY);
    CREATE TABLE teams (id bigint PRIMARY KEY,
        captain bigint NOT NULL REFERENCES players DEFERRABLE INITIALLY DEFERRED);
    CREATE INDEX teams_by_captain ON teams (captain);
    -- Partitions that were asked for stay: which keys lie apart is known by that.
    ALTER SYSTEM SET partition_merge_uptime_s = 86400;
";

/// Rows that refer to rows which are not there.
const ORPHANS_SQL: [(&str, Class, &str); 2] = [
    (
        "children",
        Class::Orphan,
        "SELECT c.id, c.parent FROM children c LEFT JOIN parents p ON p.id = c.parent \
         WHERE p.id IS NULL",
    ),
    (
        "teams",
        Class::DeferredOrphan,
        "SELECT t.id, t.captain FROM teams t LEFT JOIN players p ON p.id = t.captain \
         WHERE p.id IS NULL",
    ),
];

/// A statement, or several, whose rows are not wanted.
pub(super) async fn execute(client: &Client, sql: &str) -> Result<()> {
    let done = client.batch_execute(sql).await;
    done.map_err(|error| Error::Statement {
        statement: sql.to_owned(),
        error,
    })
}

/// Makes all tables.
pub(super) async fn create(client: &Client) -> Result<()> {
    for statement in TABLES_SQL.split_inclusive(';') {
        if !statement.trim().is_empty() {
            execute(client, statement).await?;
        }
    }
    let begins = (1..ROWS / PARTITION_ROWS).map(|number| number * PARTITION_ROWS);
    let begins: Vec<String> = begins.map(|row| format!("({row})")).collect();
    for table in TABLES {
        let sql = format!(
            "ALTER TABLE {} SPLIT AT {}",
            table.name(),
            begins.join(", ")
        );
        execute(client, &sql).await?;
    }
    Ok(())
}

/// Puts every table into the state that a round begins with.
pub(super) async fn fill(client: &Client, round: u64) -> Result<()> {
    for table in [
        "lists", "notes", "slots", "children", "parents", "teams", "players",
    ] {
        execute(client, &format!("DELETE FROM {table}")).await?;
    }
    for table in TABLES {
        let rows: Vec<String> = (0..ROWS).filter_map(|row| start_row(table, row)).collect();
        let sql = format!(
            "INSERT INTO {} (k, tag, v) VALUES {}",
            table.name(),
            rows.join(", ")
        );
        execute(client, &sql).await?;
    }
    let slots = Key::of_table(Table::Lists).map(|key| format!("({})", key.row()));
    let slots: Vec<String> = slots.collect();
    execute(
        client,
        &format!("INSERT INTO slots (k) VALUES {}", slots.join(", ")),
    )
    .await?;
    let first = parent(round, 0, 0);
    let parents = (first..first + GENERATIONS * PARENTS).map(|id| format!("({id})"));
    let parents: Vec<String> = parents.collect();
    for table in ["parents", "players"] {
        let sql = format!("INSERT INTO {table} (id) VALUES {}", parents.join(", "));
        execute(client, &sql).await?;
    }
    Ok(())
}

/// A row at the beginning of a round, as VALUES have it.
fn start_row(table: Table, row: u64) -> Option<String> {
    match Key::at(table, row) {
        None => Some(format!("({row}, NULL, '')")),
        Some(key) if key.start() == Start::Absent => None,
        Some(key) => Some(format!("({row}, {}, '')", key.tag())),
    }
}

/// The keys of a round as the checker knows them.
pub(super) fn keys() -> Vec<transactions::Key> {
    let keys = Key::all().map(|key| transactions::Key {
        name: key.name(),
        deletable: key.start() == Start::Deletable,
    });
    keys.collect()
}

/// What is in each key.
pub(super) async fn versions(client: &Client) -> Result<Vec<Version>> {
    let count = TABLES.len() * usize::try_from(GENERATIONS * SLOTS).unwrap_or_default();
    let mut versions = vec![Version::Absent; count];
    for table in TABLES {
        let sql = format!("SELECT k, v FROM {} WHERE tag IS NOT NULL", table.name());
        let rows = client.query(&sql, &[]).await;
        for row in rows.map_err(|error| Error::Statement {
            statement: sql,
            error,
        })? {
            let (row, list): (i64, &str) = (row.get(0), row.get(1));
            let key = Key::at(table, u64::try_from(row).unwrap_or(u64::MAX));
            if let Some(version) = key.and_then(|key| versions.get_mut(key.id())) {
                *version = Version::List(elements(list));
            }
        }
    }
    Ok(versions)
}

/// The elements of a list as a row has them. What is none is one that no transaction appends.
pub(super) fn elements(list: &str) -> Vec<Element> {
    let words = list.split(',').filter(|word| !word.is_empty());
    words
        .map(|word| word.parse().unwrap_or(Element::MAX))
        .collect()
}

/// Rows that refer to rows which are not there, by table and id.
pub(super) async fn orphans(client: &Client) -> Result<Vec<(&'static str, i64, Anomaly)>> {
    let mut found = Vec::new();
    for (table, class, sql) in ORPHANS_SQL {
        let rows = client.query(sql, &[]).await;
        for row in rows.map_err(|error| Error::Statement {
            statement: sql.to_owned(),
            error,
        })? {
            let (id, missing): (i64, i64) = (row.get(0), row.get(1));
            let inserter = inserter(u64::try_from(id).unwrap_or_default());
            let text = format!(
                "row {id} of {table} refers to {missing}, which is not there\n  inserted by {inserter}"
            );
            found.push((table, id, Anomaly { class, text }));
        }
    }
    Ok(found)
}
