//! Range reads: scans that go on row by row, visits of several rows at once, early stops.
//!
//! A visit is how a SELECT with a LIMIT reads: rows of a cached page are gone over in place, and where
//! it stops decides what the transaction has read. So visits follow own writes, begin where other
//! transactions write, and come after somebody else has read the table and left pages behind.

use db::{Direction, Kind, Row as DbRow};

use crate::actor::{Actor, Cursor, Hand};
use crate::edits::Row;
use crate::error::{Checked, Wrong};
use crate::model::Spot;
use crate::tables::{WIDE, cells_of, keys_of};
use crate::world::World;

/// What a scan found: every place it passed, and what lay there.
pub(crate) type Passed = std::collections::BTreeMap<Spot, Row>;

/// How many rows a visit shows at most, less one.
const VISITED_MAX: usize = 9;

/// A walk that shows all rows there are.
pub(crate) const ALL: usize = 1_000;

impl Cursor {
    /// Takes one more row, and answers with the places passed on the way, and whether that was the
    /// end.
    fn advance(&mut self) -> db::Result<Checked<(Passed, bool)>> {
        let row = self.rows.next().transpose()?;
        Ok(self.pass(row))
    }

    /// Takes up to `most` rows at once, and answers as for one. With an error it is not known how far
    /// it came.
    fn visit(&mut self, most: usize) -> db::Result<Checked<(Passed, bool)>> {
        let mut rows = Vec::new();
        let shown = self.rows.visit(most, |row| rows.push(row))?;
        if shown != rows.len() {
            let seen = rows.len();
            let message = format!("a visit showed {seen} rows and counted {shown}");
            return Ok(Err(Wrong(message)));
        }
        Ok(self.pass_all(rows, most))
    }

    fn pass_all(&mut self, rows: Vec<DbRow>, most: usize) -> Checked<(Passed, bool)> {
        let ended = rows.len() < most;
        let mut all = Passed::new();
        for row in rows.into_iter().map(Some).chain(ended.then_some(None)) {
            let (passed, _) = self.pass(row)?;
            all.extend(passed);
        }
        Ok((all, ended))
    }

    fn pass(&mut self, row: Option<DbRow>) -> Checked<(Passed, bool)> {
        let (lower, upper) = self.rest;
        let Some(row) = row else {
            self.rest = (upper, upper);
            return Ok((nothing(self.table, lower..upper), true));
        };
        let (key, cells) = cells_of(&row)?;
        if key < lower || key >= upper {
            let message = format!("a scan of {lower}..{upper} found {key}, out of turn");
            return Err(Wrong(message));
        }
        let mut passed = match self.direction {
            Direction::Ascending => {
                self.rest = (key + 1, upper);
                nothing(self.table, lower..key)
            }
            Direction::Descending => {
                self.rest = (lower, key);
                nothing(self.table, key + 1..upper)
            }
        };
        passed.insert((self.table, key), Some(cells));
        Ok((passed, false))
    }
}

fn nothing(table: usize, keys: std::ops::Range<u64>) -> Passed {
    keys.map(|key| ((table, key), None)).collect()
}

impl World {
    pub(crate) fn open_scan(&mut self, actor: &mut Actor) -> Checked<()> {
        let (table, keys) = self.some_range(actor);
        let direction = match self.chance.one_in(2) {
            true => Direction::Ascending,
            false => Direction::Descending,
        };
        if let Some(cursor) = self.begin_scan(actor, table, keys, direction)? {
            actor.cursors.push(cursor);
        }
        Ok(())
    }

    /// Few scans go over much of the table with many keys, or nobody who did could commit.
    fn some_range(&self, actor: &Actor) -> (usize, (u64, u64)) {
        let table = self.some_table();
        let keys = keys_of(table);
        if table == WIDE && !self.chance.one_in(6) {
            let lower = match actor.home {
                (WIDE, home) => home,
                _ => self.chance.below(keys),
            };
            return (table, (lower, (lower + self.chance.below(12)).min(keys)));
        }
        if self.chance.one_in(4) {
            return (table, (0, keys));
        }
        let [one, two] = [(); 2].map(|()| self.chance.below(keys + 1));
        (table, (one.min(two), one.max(two)))
    }

    pub(crate) fn begin_scan(
        &mut self,
        actor: &Actor,
        table: usize,
        keys: (u64, u64),
        direction: Direction,
    ) -> Checked<Option<Cursor>> {
        let what = format!(
            "T{} scans t{table}/{}..{} {direction:?}",
            actor.by, keys.0, keys.1
        );
        match actor.scan(&self.table(table)?, keys, direction) {
            Ok(rows) => {
                self.log.say(what);
                Ok(Some(Cursor {
                    rows,
                    table,
                    rest: keys,
                    direction,
                    own: actor.own.clone(),
                }))
            }
            Err(error) => self.tolerate(&what, &error).map(|()| None),
        }
    }

    /// Takes some more rows of a scan, one by one or at once.
    pub(crate) fn advance_scan(&mut self, actor: &mut Actor) -> Checked<()> {
        let Some(mut cursor) = actor.cursors.pop() else {
            return Ok(());
        };
        if self.chance.one_in(3) {
            let most = 1 + self.chance.up_to(VISITED_MAX);
            if self.visit_some(actor, &mut cursor, most)? == Some(false) {
                actor.cursors.push(cursor);
            }
            return Ok(());
        }
        let mut steps = match self.chance.one_in(2) {
            true => ALL,
            false => 1 + self.chance.up_to(4),
        };
        while steps > 0 {
            steps -= 1;
            let passed = cursor.advance();
            if self.passed(actor, &cursor, passed)? != Some(false) {
                return Ok(());
            }
        }
        self.coverage.add("a scan that paused or stopped early");
        actor.cursors.push(cursor);
        Ok(())
    }

    /// The first few rows of a range, or nothing if they could not be read.
    pub(crate) fn rows_in(
        &mut self,
        actor: &mut Actor,
        table: usize,
        keys: (u64, u64),
        most: usize,
    ) -> Checked<Option<Vec<Spot>>> {
        let begun = self.begin_scan(actor, table, keys, Direction::Ascending)?;
        let Some(mut cursor) = begun else {
            return Ok(None);
        };
        let passed = cursor.visit(most);
        let rows = match &passed {
            Ok(Ok((passed, _))) => {
                let rows = passed.iter().filter(|(_, row)| row.is_some());
                rows.map(|(spot, _)| *spot).collect()
            }
            _ => Vec::new(),
        };
        let read = self.passed(actor, &cursor, passed)?;
        Ok(read.map(|_| rows))
    }

    /// Reads the first rows of a range and stops, most often where it has written itself.
    pub(crate) fn visit(&mut self, actor: &mut Actor) -> Checked<()> {
        let table = match actor.home.0 {
            WIDE => WIDE,
            _ => self.some_table(),
        };
        let lower = match actor.home {
            (home, key) if home == table => key,
            _ => self.chance.below(keys_of(table)),
        };
        if self.chance.one_in(2) {
            self.read_through(table)?;
        }
        if self.chance.one_in(2) {
            let near = (lower..keys_of(table)).take(3).map(|key| (table, key));
            let mut near = near.filter(|spot| self.model.row(*spot, actor.at).is_some());
            if let Some(spot) = near.next() {
                self.write(actor, spot, true)?;
            }
        }
        let direction = match self.chance.one_in(8) {
            true => Direction::Descending,
            false => Direction::Ascending,
        };
        let keys = (lower, keys_of(table));
        let Some(mut cursor) = self.begin_scan(actor, table, keys, direction)? else {
            return Ok(());
        };
        let most = 1 + self.chance.up_to(VISITED_MAX);
        let ended = self.visit_some(actor, &mut cursor, most)?;
        if ended == Some(false) && self.chance.one_in(3) {
            actor.cursors.push(cursor);
        }
        Ok(())
    }

    /// Takes up to `most` rows at once. Answers whether that was the end, or nothing after an error.
    fn visit_some(
        &mut self,
        actor: &mut Actor,
        cursor: &mut Cursor,
        most: usize,
    ) -> Checked<Option<bool>> {
        let passed = cursor.visit(most);
        if let Ok(Ok((passed, false))) = &passed {
            let mut last = passed.iter().filter(|(_, row)| row.is_some());
            let last = match cursor.direction {
                Direction::Ascending => last.next_back(),
                Direction::Descending => last.next(),
            };
            let own = |spot: &Spot| cursor.own.contains_key(spot);
            if passed.keys().any(own) && last.is_some_and(|(spot, _)| !own(spot)) {
                self.coverage
                    .add("a visit that stopped early behind an own row");
            }
        }
        self.passed(actor, cursor, passed)
    }

    /// Checks what a scan came across. Answers whether that was the end, or nothing after an error.
    fn passed(
        &mut self,
        actor: &mut Actor,
        cursor: &Cursor,
        passed: db::Result<Checked<(Passed, bool)>>,
    ) -> Checked<Option<bool>> {
        let by = actor.by;
        match passed {
            Ok(passed) => {
                let (passed, ended) = passed?;
                let rows: Vec<_> = passed.iter().filter(|(_, row)| row.is_some()).collect();
                self.log
                    .say(format!("T{by} scans on: {rows:?}, end {ended}"));
                self.found(actor, passed, &cursor.own)?;
                Ok(Some(ended))
            }
            // A scan that began before an engine was reopened goes down with its old life.
            Err(error) if self.shaken && error.kind() == Kind::Unavailable => {
                self.log.say(format!("T{by} scans on: {error}"));
                Ok(None)
            }
            Err(error) => {
                self.tolerate(&format!("T{by} scans on"), &error)?;
                Ok(None)
            }
        }
    }

    /// Somebody reads a whole table at a snapshot of its own, so that its pages are cached.
    pub(crate) fn read_through(&mut self, table: usize) -> Checked<()> {
        let snapshot = self.db().snapshot();
        let at = snapshot.at().0;
        let by = self.number();
        let mut reader = Actor::new(by, at, (table, 0), Hand::Reader(snapshot));
        let keys = (0, keys_of(table));
        let begun = self.begin_scan(&reader, table, keys, Direction::Ascending)?;
        if let Some(mut cursor) = begun {
            self.visit_some(&mut reader, &mut cursor, ALL)?;
        }
        self.end(reader);
        Ok(())
    }
}
