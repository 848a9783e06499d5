//! What a front end has to know of a statement besides running it.

use keys::Type;
use syntax::Statement;
use syntax::statement::Kind as Asks;

/// The parameters of a statement that are lists, by their place from 0, and what they are lists of.
/// Such a parameter is given as the text of the list: `{1,2}`.
pub fn list_parameters(statement: &Statement) -> Vec<(usize, Type)> {
    match &statement.kind {
        Asks::Query(query) => sql::list_parameters(&query.query),
        _ => Vec::new(),
    }
}
