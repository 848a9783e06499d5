//! Foreign keys as SQL keeps them: a child needs its parent, a parent with children stays.
//!
//! ```text
//!   a child is written      its parent must be there when that commits     Transaction::holds
//!   a parent is deleted     none of its children may be there,             the range of them is read
//!                           or they go with it
//! ```
//!
//! Whatever the order of commits and wherever snapshots have moved, no snapshot shows a child without
//! its parent. Commits that concern these tables are synced, or a crash of one engine could take a
//! parent and leave its child.

use std::collections::BTreeMap;

use db::Value;

use crate::actor::{Actor, Hand};
use crate::edits::{Edit, Row};
use crate::error::{Checked, Wrong};
use crate::model::Spot;
use crate::scans::{ALL, Passed};
use crate::tables::{CHILDREN, children_of, parent_of};
use crate::world::World;

impl World {
    /// Whether a row may be written where this actor wants to, as far as foreign keys go.
    pub(crate) fn may_come(&mut self, actor: &mut Actor, spot: Spot) -> Checked<bool> {
        let Some(parent) = parent_of(spot) else {
            return Ok(true);
        };
        let handle = self.table(parent.0)?;
        let Hand::Writer(txn) = &mut actor.hand else {
            return Ok(false);
        };
        let what = format!("T{} counts on t{}/{}", actor.by, parent.0, parent.1);
        match txn.holds(&handle, &[Value::Uint64(parent.1)]) {
            Ok(there) => {
                self.log.say(format!("{what}: {there}"));
                self.check_held(actor, parent, there)?;
                Ok(there)
            }
            Err(error) => self.tolerate(&what, &error).map(|()| false),
        }
    }

    /// Checks whether a parent could be said to be there, or not to be.
    fn check_held(&mut self, actor: &mut Actor, parent: Spot, there: bool) -> Checked<()> {
        let wrong = |what: &str| {
            let (table, key) = parent;
            let by = actor.by;
            Err(Wrong(format!("T{by} found t{table}/{key} {what}")))
        };
        let own = actor.own.get(&parent);
        let brought = own.is_some_and(|edit| edit.apply(None).is_some());
        match (brought, own, there) {
            (true, _, true) | (_, Some(Edit::Delete), false) => Ok(()),
            (true, _, false) => wrong("gone, and had written it"),
            (_, Some(Edit::Delete), true) => wrong("there, and had deleted it"),
            (.., false) => {
                // Then it was looked for at the snapshot, and that it was not there counts as read.
                let own = actor.own.clone();
                self.found(actor, Passed::from([(parent, None)]), &own)
            }
            (.., true) => {
                if self.model.is_doubtful(parent) {
                    self.look_at_spots([parent].into_iter())?;
                }
                let ever = [actor.at, u64::MAX].map(|at| self.model.row(parent, at));
                if ever == [None, None] && !self.model.is_doubtful(parent) {
                    return wrong("there, and nobody ever wrote it");
                }
                self.coverage.add("a row that had to be there");
                actor.present.push(parent);
                if self.chance.one_in(2) {
                    // It leaves the family alone, so that it can still commit if others do not.
                    actor.home = self.some_home();
                }
                Ok(())
            }
        }
    }

    /// Whether a row may be deleted, as far as foreign keys go. Children of a parent that goes keep it
    /// there or go with it.
    pub(crate) fn may_go(&mut self, actor: &mut Actor, spot: Spot) -> Checked<bool> {
        let Some(children) = children_of(spot) else {
            return Ok(true);
        };
        let cascade = self.chance.one_in(2);
        let most = if cascade { ALL } else { 1 };
        let Some(rows) = self.rows_in(actor, CHILDREN, children, most)? else {
            return Ok(false);
        };
        match (rows.is_empty(), cascade) {
            (true, _) => return Ok(true),
            (false, true) => self.coverage.add("a parent that went with its children"),
            (false, false) => self.coverage.add("a parent that had to stay"),
        }
        if cascade {
            for child in rows {
                self.write(actor, child, false)?;
            }
        }
        Ok(cascade)
    }
}

/// Checks that every child has its parent, among rows of one snapshot.
pub(crate) fn check_references(rows: &BTreeMap<Spot, Row>) -> Checked<()> {
    for (spot, row) in rows {
        let parent = parent_of(*spot).filter(|_| row.is_some());
        let Some(parent) = parent else { continue };
        if rows.get(&parent) == Some(&None) {
            let ((table, key), (of, parent)) = (spot, parent);
            return Err(Wrong(format!(
                "t{table}/{key} is there, and its parent t{of}/{parent} is not"
            )));
        }
    }
    Ok(())
}
