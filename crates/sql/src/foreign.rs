//! FOREIGN KEY: rows of a child table refer to rows of its parent, which must be there.
//!
//! ```text
//!   lines (order_id REFERENCES orders ON DELETE CASCADE)
//!
//!   a line is written      its order must be there          looked for by the key of `orders`
//!   an order is deleted    its lines go too, or forget it   found by key or index of `lines`, or by all rows
//!                          or there may be none
//! ```
//!
//! A statement first changes all its rows and notes what it changed. At its end rows that follow are
//! changed, which may let others follow, and only then is looked whether all that is referred to is there:
//! so rows of one statement may refer to each other in any order. What may wait looks at the end of the
//! transaction ([`Deferred`]).
//!
//! Two that meet are told apart by their commits. A child needs its parent to be there when it commits,
//! and not to be unchanged ([`txn::Transaction::holds`]): who counts something in a parent does not
//! disturb those who refer to it. Who deletes a parent has read the range of its children, and any that
//! comes meanwhile is a conflict. Whoever writes by a schema from before the foreign key is refused, in
//! both tables, because both begin a new epoch with it.

mod deferred;
mod links;
mod rows;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use keys::{Value, encode_key};
use txn::{TableId, Transaction};

use crate::modify::{delete_row, replace_row};
use crate::schema::Action;
use crate::{Catalog, ConstraintError, Result, Table};

pub use deferred::ConstraintModes;
pub(crate) use deferred::Deferred;
pub(crate) use links::{Link, Relations, key_columns, referenced_columns};
use rows::{children, has_children};

/// A row before and after a statement changed it.
#[derive(Debug)]
pub(crate) struct Changed {
    table: Arc<Table>,
    old: Option<Vec<Value>>,
    new: Option<Vec<Value>>,
}

impl Changed {
    pub(crate) fn new(table: &Arc<Table>, old: Option<&[Value]>, new: Option<&[Value]>) -> Self {
        Self {
            table: Arc::clone(table),
            old: old.map(<[Value]>::to_vec),
            new: new.map(<[Value]>::to_vec),
        }
    }
}

/// Values that children may have only if a parent has them too.
#[derive(Clone, Debug)]
struct Promise {
    link: Arc<Link>,
    values: Vec<Value>,
    /// Whether it was a child that came, and not a parent that went.
    by_child: bool,
}

impl Promise {
    /// An error if it is broken now.
    fn check(&self, transaction: &mut Transaction) -> Result<()> {
        let Self { link, values, .. } = self;
        if link.has_parent(transaction, values)? || !has_children(transaction, link, values)? {
            return Ok(());
        }
        let table = link.child.schema().name().to_owned();
        let foreign_key = link.key.name.clone();
        let parent = link.parent.schema().name().to_owned();
        let shown = link.shown(values, self.by_child);
        Err(match self.by_child {
            true => ConstraintError::NoParent {
                table,
                foreign_key,
                detail: format!("{shown} is not present in table \"{parent}\"."),
            }
            .into(),
            false => ConstraintError::StillReferenced {
                detail: format!("{shown} is still referenced from table \"{table}\"."),
                table,
                foreign_key,
                parent,
            }
            .into(),
        })
    }
}

/// An error if a row of a child refers to what is not there.
pub(crate) fn check_row(
    transaction: &mut Transaction,
    link: &Arc<Link>,
    row: &[Value],
) -> Result<()> {
    let Some(values) = link.referring(Some(row)) else {
        return Ok(());
    };
    let promise = Promise {
        link: Arc::clone(link),
        values,
        by_child: true,
    };
    promise.check(transaction)
}

/// Lets follow what follows from the rows that a statement changed, and refuses it if anything refers to
/// what is not there.
pub(crate) fn settle(
    catalog: &Catalog,
    deferred: Option<&Deferred>,
    transaction: &mut Transaction,
    changed: Vec<Changed>,
) -> Result<()> {
    let mut settling = Settling {
        catalog,
        transaction,
        relations: HashMap::new(),
        promises: Vec::new(),
        known: HashSet::new(),
    };
    let mut next = changed;
    // It ends because each round changes rows of this transaction, which may hold so many and no more.
    while !next.is_empty() {
        let mut more = Vec::new();
        for changed in &next {
            settling.follow(changed, &mut more)?;
        }
        next = more;
    }
    let Settling { promises, .. } = settling;
    for promise in promises {
        match deferred.filter(|deferred| deferred.waits(&promise.link)) {
            Some(deferred) => deferred.add(promise),
            None => promise.check(transaction)?,
        }
    }
    Ok(())
}

struct Settling<'s> {
    catalog: &'s Catalog,
    transaction: &'s mut Transaction,
    /// What is known of tables by now.
    relations: HashMap<TableId, Option<Arc<Relations>>>,
    promises: Vec<Promise>,
    /// Promises that were made already.
    known: HashSet<(TableId, String, Vec<u8>)>,
}

impl Settling<'_> {
    /// Looks at one change from both sides: as one of a child, and as one of a parent.
    fn follow(&mut self, changed: &Changed, more: &mut Vec<Changed>) -> Result<()> {
        let Some(relations) = self.relations(&changed.table)? else {
            return Ok(());
        };
        for link in &relations.parents {
            let [old, new] = [&changed.old, &changed.new].map(|row| link.referring(row.as_deref()));
            if let Some(values) = new.clone().filter(|_| old != new) {
                self.promise(link, values, true)?;
            }
        }
        for link in &relations.children {
            let [old, new] = [&changed.old, &changed.new].map(|row| link.referred(row.as_deref()));
            if let Some(values) = old.clone().filter(|_| old != new) {
                let new = changed.new.as_deref().map(|row| link.values_in_parent(row));
                self.leave(link, values, new, more)?;
            }
        }
        Ok(())
    }

    fn relations(&mut self, table: &Arc<Table>) -> Result<Option<Arc<Relations>>> {
        if let Some(known) = self.relations.get(&table.id()) {
            return Ok(known.clone());
        }
        let found = Relations::of(self.catalog, table)?.map(Arc::new);
        self.relations.insert(table.id(), found.clone());
        Ok(found)
    }

    fn promise(&mut self, link: &Arc<Link>, values: Vec<Value>, by_child: bool) -> Result<()> {
        link.expect_epochs(self.transaction);
        let known = (link.child.id(), link.key.name.clone(), encode_key(&values)?);
        if self.known.insert(known) {
            self.promises.push(Promise {
                link: Arc::clone(link),
                values,
                by_child,
            });
        }
        Ok(())
    }

    /// A parent that had these values has `new` ones now, NULLs among them, or is gone.
    fn leave(
        &mut self,
        link: &Arc<Link>,
        values: Vec<Value>,
        new: Option<Vec<Value>>,
        more: &mut Vec<Changed>,
    ) -> Result<()> {
        link.expect_epochs(self.transaction);
        let action = match new {
            Some(_) => link.key.on_update,
            None => link.key.on_delete,
        };
        if action == Action::NoAction {
            return self.promise(link, values, false);
        }
        if action == Action::Restrict {
            let promise = Promise {
                link: Arc::clone(link),
                values,
                by_child: false,
            };
            return promise.check(self.transaction);
        }
        if action == Action::SetDefault {
            // It may be the very row that goes.
            self.promise(link, values.clone(), false)?;
        }
        for old in children(self.transaction, link, &values)? {
            let row = match (action, &new) {
                (Action::Cascade, None) => None,
                (Action::Cascade, Some(new)) => Some(link.with_values(&old, new)?),
                (Action::SetDefault, _) => Some(link.with_defaults(&old)?),
                _ => Some(link.with_values(&old, &[])?),
            };
            let child = &link.child;
            match &row {
                Some(row) => replace_row(self.transaction, child, Some(&old), row)?,
                None => delete_row(self.transaction, child, &old)?,
            }
            more.push(Changed::new(child, Some(&old), row.as_deref()));
        }
        Ok(())
    }
}
