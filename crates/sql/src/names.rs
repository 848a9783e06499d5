//! What a name in a statement means.
//!
//! A name without quotes means its lower-case spelling, as in PostgreSQL; a name in double quotes or
//! backticks means itself. The schema `public` may be named and is the only one for tables; collections
//! are in the catalog `v3io`, whose schemas are the containers.

use syntax::{Ident, Name, ast};

use crate::collection::TABLE_PREFIX;
use crate::{Error, Result};

/// The catalog that collections are in, as in `v3io.users."path/to/table"`.
pub(crate) const COLLECTIONS: &str = "v3io";

/// The schema that tables are in.
pub(crate) const PUBLIC: &str = "public";

/// The name of a column.
pub(crate) fn column_name(ident: &Ident) -> String {
    fold(&ident.value, ident.quote.is_some())
}

/// The name of a column in one of the parser's own trees.
pub(crate) fn tree_name(ident: &ast::Ident) -> String {
    fold(&ident.value, ident.quote_style.is_some())
}

/// The name of a table.
pub(crate) fn table_name(name: &Name) -> Result<String> {
    let parts: Vec<String> = name.parts.iter().map(column_name).collect();
    from_parts(&parts)
}

/// The name of a table in one of the parser's own trees.
pub(crate) fn tree_table_name(name: &ast::ObjectName) -> Result<String> {
    let part = |part: &ast::ObjectNamePart| part.as_ident().map(tree_name);
    let parts: Option<Vec<String>> = name.0.iter().map(part).collect();
    from_parts(&parts.unwrap_or_default())
}

fn from_parts(parts: &[String]) -> Result<String> {
    match parts {
        [table] => Ok(table.clone()),
        [schema, table] if schema == PUBLIC => Ok(table.clone()),
        [catalog, container, path] if catalog == COLLECTIONS => Ok(format!(
            "{TABLE_PREFIX}{container}/{}",
            path.trim_matches('/')
        )),
        other => Err(Error::NoSuchTable {
            name: other.join("."),
            nearest: None,
        }),
    }
}

fn fold(name: &str, quoted: bool) -> String {
    if quoted {
        name.to_owned()
    } else {
        name.to_lowercase()
    }
}
