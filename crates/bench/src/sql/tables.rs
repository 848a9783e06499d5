//! The tables of the bench, the same rows on both sides.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use super::{Arena, client, turns};
use crate::{Error, Result};

/// Rows of one INSERT, where a table cannot be copied in.
const INSERT_ROWS: u32 = 1_000;

/// Kinds that the rows of a table fall into.
const KINDS: u32 = 16;

/// Point reads, ranges and updates.
pub(crate) const POINTS: Table = Table {
    name: "points",
    ours: "k bigint NOT NULL, n bigint NOT NULL, kind integer NOT NULL, note text, PRIMARY KEY (k)",
    theirs: "k bigint NOT NULL, n bigint NOT NULL, kind integer NOT NULL, note text, PRIMARY KEY (k)",
};

/// What is copied in, and scanned.
pub(crate) const COPIED: Table = Table {
    name: "copied",
    ..POINTS
};

/// What is inserted one by one.
pub(crate) const INSERTED: Table = Table {
    name: "inserted",
    ..POINTS
};

/// A key that begins with a hash of the user, so that users lie evenly over the partitions.
pub(crate) const EVENTS: Table = Table {
    name: "events",
    ours: "userhash Uint64 NOT NULL, userid Uint64 NOT NULL, at Uint64 NOT NULL, userevent Utf8, \
           PRIMARY KEY (userhash, userid, at)",
    theirs: "userhash integer NOT NULL, userid bigint NOT NULL, at bigint NOT NULL, userevent text, \
             PRIMARY KEY (userhash, userid, at)",
};

/// A table, in the words of each server.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Table {
    pub(crate) name: &'static str,
    ours: &'static str,
    theirs: &'static str,
}

impl Table {
    /// Makes it anew on one server.
    pub(crate) fn make(&self, server: &super::Server) -> Result<()> {
        let ours = server.name == "evenkeel";
        let columns = if ours { self.ours } else { self.theirs };
        client::ask(server, &format!("DROP TABLE IF EXISTS {}", self.name))?;
        client::ask(server, &format!("CREATE TABLE {} ({columns})", self.name))?;
        Ok(())
    }

    /// Makes it anew on both.
    pub(crate) fn make_both(&self, arena: &Arena<'_>) -> Result<()> {
        self.make(&arena.ours)?;
        self.make(&arena.theirs)
    }

    /// The statement that takes rows from the client.
    pub(crate) fn copy(&self) -> String {
        format!("COPY {} FROM STDIN", self.name)
    }

    /// Makes it anew on both and fills it, by COPY or, where that is refused, by INSERT.
    pub(crate) fn fill(&self, arena: &Arena<'_>, rows: u32) -> Result<()> {
        let lines = lines(arena.dir, rows)?;
        for server in [&arena.ours, &arena.theirs] {
            self.make(server)?;
            if let Err(error) = client::feed(server, &lines, Some(&self.copy())) {
                eprintln!("  {} is filled by INSERT: {error}", self.name);
                let statements = statements(arena.dir, self.name, rows)?;
                client::feed(server, &statements, None)?;
            }
        }
        client::ask(&arena.theirs, &format!("VACUUM ANALYZE {}", self.name))?;
        client::ask(&arena.theirs, "CHECKPOINT")?;
        turns::settle(arena);
        self.compare(arena, rows)
    }

    /// Both hold the same rows.
    pub(crate) fn compare(&self, arena: &Arena<'_>, rows: u32) -> Result<()> {
        let question = format!(
            "SELECT count(*), sum(k), sum(n), count(DISTINCT kind), min(note), max(note) FROM {}",
            self.name
        );
        let ours = client::ask(&arena.ours, &question)?;
        let theirs = client::ask(&arena.theirs, &question)?;
        if ours == theirs && ours.starts_with(&format!("{rows}|")) {
            return Ok(());
        }
        Err(Error::Wrong(format!(
            "{question}: ours {ours}, theirs {theirs}"
        )))
    }
}

/// The values of a row: its key, a number, a kind, a note.
fn row(k: u32) -> (u32, u32, u32, String) {
    let n = k.wrapping_mul(2_654_435_761) % 1_000_003;
    (k, n, n % KINDS, format!("note {n} of row {k}"))
}

/// Rows as COPY reads them, in a file.
pub(crate) fn lines(dir: &Path, rows: u32) -> Result<PathBuf> {
    let path = dir.join(format!("rows-{rows}.txt"));
    if path.exists() {
        return Ok(path);
    }
    let mut file = BufWriter::new(File::create(&path)?);
    for (k, n, kind, note) in (0..rows).map(row) {
        writeln!(file, "{k}\t{n}\t{kind}\t{note}")?;
    }
    file.into_inner()
        .map_err(std::io::IntoInnerError::into_error)?;
    Ok(path)
}

/// The same rows as statements.
fn statements(dir: &Path, table: &str, rows: u32) -> Result<PathBuf> {
    let path = dir.join(format!("rows-{rows}-{table}.sql"));
    let mut file = BufWriter::new(File::create(&path)?);
    let mut from = 0;
    while from < rows {
        let upto = rows.min(from + INSERT_ROWS);
        let values: Vec<String> = (from..upto)
            .map(row)
            .map(|(k, n, kind, note)| format!("({k},{n},{kind},'{note}')"))
            .collect();
        writeln!(
            file,
            "INSERT INTO {table} (k, n, kind, note) VALUES {};",
            values.join(",")
        )?;
        from = upto;
    }
    file.into_inner()
        .map_err(std::io::IntoInnerError::into_error)?;
    Ok(path)
}
