//! `FROM t VIEW i`: a table that is to be read by one of its indexes.
//!
//! DataFusion finds a table by its name and knows of no indexes, so the name says both:
//!
//! ```text
//!   FROM t VIEW i        →   FROM "t␁i" AS t          no name may hold ␁, a control character
//! ```

use std::ops::ControlFlow;

use syntax::ast::{self, VisitMut, VisitorMut};

use crate::names::{tree_name, tree_table_name};
use crate::{Catalog, Error, Result};

const SEPARATOR: char = '\u{1}';

/// Names the indexes of a query in the names of their tables. An error if a table has no such index.
pub(crate) fn resolve(catalog: &Catalog, query: &mut ast::Query) -> Result<()> {
    match query.visit(&mut Viewer { catalog }) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(error),
    }
}

/// The table and the index that such a name stands for.
pub(crate) fn parts(name: &str) -> (&str, Option<&str>) {
    match name.split_once(SEPARATOR) {
        Some((table, index)) => (table, Some(index)),
        None => (name, None),
    }
}

struct Viewer<'c> {
    catalog: &'c Catalog,
}

impl VisitorMut for Viewer<'_> {
    type Break = Error;

    fn pre_visit_table_factor(&mut self, factor: &mut ast::TableFactor) -> ControlFlow<Error> {
        match self.name_index(factor) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => ControlFlow::Break(error),
        }
    }
}

impl Viewer<'_> {
    fn name_index(&self, factor: &mut ast::TableFactor) -> Result<()> {
        let ast::TableFactor::Table {
            name,
            alias,
            index_hints,
            ..
        } = factor
        else {
            return Ok(());
        };
        let hint = index_hints.iter().flat_map(|hint| &hint.index_names).next();
        let Some(index) = hint.map(tree_name) else {
            return Ok(());
        };
        let table = self.catalog.get(&tree_table_name(name)?)?;
        let schema = table.schema();
        if !schema.indexes().iter().any(|one| one.name == index) {
            return Err(Error::no_such_index(schema, &index));
        }
        let quoted = |name: String| ast::Ident::with_quote('"', name);
        if alias.is_none() {
            *alias = Some(ast::TableAlias {
                explicit: true,
                name: quoted(schema.name().to_owned()),
                columns: Vec::new(),
                at: None,
            });
        }
        let both = format!("{}{SEPARATOR}{index}", schema.name());
        *name = ast::ObjectName::from(vec![quoted(both)]);
        index_hints.clear();
        Ok(())
    }
}
