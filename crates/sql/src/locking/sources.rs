//! Which tables of a query are locked, and what is done about rows that others have.
//!
//! ```text
//!   FROM jobs JOIN queues … FOR UPDATE                   rows of both
//!   FROM jobs JOIN queues … FOR UPDATE OF jobs           rows of jobs
//!   FROM jobs LEFT JOIN queues … FOR UPDATE              refused: queues may have no row
//!   FROM jobs LEFT JOIN queues … FOR UPDATE OF jobs      rows of jobs
//!   WITH few AS (…) … FROM jobs JOIN few … FOR UPDATE    rows of jobs: few has no rows of its own
//! ```

use std::collections::HashSet;
use std::sync::Arc;

use syntax::ast;

use crate::names::{tree_name, tree_table_name};
use crate::{Catalog, Error, Fault, Result, Table};

/// What is done about a row that somebody else claims.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Manner {
    /// It is waited for.
    Wait,
    /// The statement fails.
    Refuse,
    /// It is passed over.
    Skip,
}

/// A table that a query names in FROM.
#[derive(Debug)]
pub(super) struct Source {
    pub(super) table: Arc<Table>,
    /// The name that its columns go by.
    pub(super) qualifier: String,
    /// How its rows are claimed, if they are.
    pub(super) manner: Option<Manner>,
    /// Whether an outer join may leave it out.
    pub(super) nullable: bool,
}

impl Source {
    /// Whether the key of its rows can be asked for.
    pub(super) fn has_key(&self) -> bool {
        !self
            .table
            .schema()
            .key_columns()
            .any(|column| column.hidden)
    }
}

/// The tables of a query that locks, in the order of FROM.
pub(super) fn sources(catalog: &Catalog, query: &ast::Query) -> Result<Vec<Source>> {
    let select = plain(query)?;
    let with = query.with.iter().flat_map(|with| &with.cte_tables);
    let mut from = From {
        catalog,
        named: with.map(|one| tree_name(&one.alias.name)).collect(),
        sources: Vec::new(),
        inside: false,
        others: HashSet::new(),
        unknown: None,
    };
    for joined in &select.from {
        from.add_joined(joined, false)?;
    }
    for lock in &query.locks {
        from.lock(lock)?;
    }
    let mut locked = from.sources.iter().filter(|one| one.manner.is_some());
    match locked.find(|one| one.nullable) {
        Some(one) => Err(refused(format!(
            "FOR UPDATE of `{}`, which an outer join may leave out: write FOR UPDATE OF the others",
            one.qualifier
        ))),
        None => Ok(from.sources),
    }
}

/// The SELECT of a query each of whose rows comes from one row of each table.
fn plain(query: &ast::Query) -> Result<&ast::Select> {
    let not_with = |what: &str| refused(format!("FOR UPDATE is not allowed with {what}"));
    let ast::SetExpr::Select(select) = query.body.as_ref() else {
        return Err(not_with("UNION, INTERSECT, EXCEPT or VALUES"));
    };
    let grouped = !matches!(&select.group_by, ast::GroupByExpr::Expressions(by, with)
        if by.is_empty() && with.is_empty());
    match () {
        () if select.distinct.is_some() => Err(not_with("DISTINCT")),
        () if grouped => Err(not_with("GROUP BY")),
        () if select.having.is_some() => Err(not_with("HAVING")),
        () => Ok(select),
    }
}

fn refused(what: String) -> Error {
    Error::Refused {
        fault: Fault::Feature,
        what,
    }
}

/// What a FROM clause names.
struct From<'c> {
    catalog: &'c Catalog,
    /// The names that WITH gives.
    named: HashSet<String>,
    sources: Vec<Source>,
    /// Whether there are queries in it.
    inside: bool,
    /// The names of what has no rows that can be claimed.
    others: HashSet<String>,
    /// What is wrong with a table that is none of the catalog's: those of collections and of the system
    /// have no rows that can be claimed.
    unknown: Option<Error>,
}

impl From<'_> {
    fn add_joined(&mut self, joined: &ast::TableWithJoins, nullable: bool) -> Result<()> {
        use ast::JoinOperator as Join;
        let begin = self.sources.len();
        self.add(&joined.relation, nullable)?;
        for join in &joined.joins {
            let (left, right) = match &join.join_operator {
                Join::Left(_) | Join::LeftOuter(_) => (false, true),
                Join::Right(_) | Join::RightOuter(_) => (true, false),
                Join::FullOuter(_) => (true, true),
                // Of these the other side gives no rows.
                Join::Semi(_) | Join::LeftSemi(_) | Join::Anti(_) | Join::LeftAnti(_) => continue,
                _ => (false, false),
            };
            if left {
                let before = self.sources.iter_mut().skip(begin);
                before.for_each(|one| one.nullable = true);
            }
            self.add(&join.relation, nullable || right)?;
        }
        Ok(())
    }

    fn add(&mut self, factor: &ast::TableFactor, nullable: bool) -> Result<()> {
        match factor {
            ast::TableFactor::Table {
                name,
                alias,
                args: None,
                ..
            } => {
                let path = tree_table_name(name)?;
                let last = name.0.last().and_then(|part| part.as_ident());
                let own = last.map(tree_name).unwrap_or_default();
                let qualifier = alias.as_ref().map_or(own, |one| tree_name(&one.name));
                if name.0.len() == 1 && self.named.contains(&path) {
                    self.others.insert(qualifier);
                    return Ok(());
                }
                let table = match self.catalog.get(&path) {
                    Ok(table) => table,
                    Err(error) => {
                        self.unknown.get_or_insert(error);
                        self.others.insert(qualifier);
                        return Ok(());
                    }
                };
                self.sources.push(Source {
                    table,
                    qualifier,
                    manner: None,
                    nullable,
                });
                Ok(())
            }
            ast::TableFactor::NestedJoin {
                table_with_joins, ..
            } => self.add_joined(table_with_joins, nullable),
            ast::TableFactor::Derived { alias, .. } => {
                self.inside = true;
                let name = alias.as_ref().map(|one| tree_name(&one.name));
                self.others.extend(name);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Marks what a lock is about.
    fn lock(&mut self, lock: &ast::LockClause) -> Result<()> {
        let manner = match lock.nonblock {
            Some(ast::NonBlock::SkipLocked) => Manner::Skip,
            Some(ast::NonBlock::Nowait) => Manner::Refuse,
            None => Manner::Wait,
        };
        let Some(name) = &lock.of else {
            if self.inside && manner != Manner::Wait {
                return Err(refused(
                    "FOR UPDATE over a query in FROM: write it inside of that query, or name the \
                     tables with FOR UPDATE OF"
                        .to_owned(),
                ));
            }
            if let (Manner::Skip, Some(error)) = (manner, self.unknown.take()) {
                return Err(error);
            }
            let sources = self.sources.iter_mut();
            sources.for_each(|one| one.manner = Some(manner));
            return Ok(());
        };
        let name = name.0.last().and_then(|part| part.as_ident());
        let name = name.map(tree_name).unwrap_or_default();
        let found = self.sources.iter_mut().find(|one| one.qualifier == name);
        match found {
            Some(source) => source.manner = Some(manner),
            None if manner == Manner::Wait && self.others.contains(&name) => {}
            None => {
                return Err(Error::NoSuchTable {
                    name,
                    nearest: None,
                });
            }
        }
        Ok(())
    }
}
