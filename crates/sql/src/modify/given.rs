//! The columns that an INSERT or the like gives values for, and whether it may.

use syntax::statement::Insert;
use syntax::{Mode, ast};

use super::change::refuse_always;
use crate::default::is_default;
use crate::names::column_name;
use crate::{Error, Result, Schema};

/// The columns that the statement gives.
pub(super) fn positions(schema: &Schema, insert: &Insert) -> Result<Vec<usize>> {
    let mut positions: Vec<usize> = Vec::new();
    for column in &insert.columns {
        let position = schema.column_position(&column_name(column))?;
        if positions.contains(&position) {
            return Err(Error::ColumnTwice {
                table: schema.name().to_owned(),
                column: column_name(column),
            });
        }
        positions.push(position);
    }
    if insert.columns.is_empty() && insert.source.is_some() {
        positions = schema.visible().collect();
        // INSERT may give the first columns only, as in PostgreSQL.
        if insert.mode == Mode::Insert
            && let Some([row, ..]) = insert.source.as_deref().and_then(values)
        {
            positions.truncate(row.content.len().max(1));
        }
    }
    Ok(positions)
}

/// Refuses values for columns that always count by themselves.
pub(super) fn check_identity(schema: &Schema, positions: &[usize], insert: &Insert) -> Result<()> {
    let writes = matches!(insert.mode, Mode::Insert | Mode::Upsert | Mode::Replace);
    if insert.overriding || !writes {
        return Ok(());
    }
    let rows = insert.source.as_deref().map(values);
    for (place, position) in positions.iter().enumerate() {
        let given = match rows {
            None => false,
            Some(None) => true,
            Some(Some(rows)) => rows
                .iter()
                .filter_map(|row| row.content.get(place))
                .any(|expr| !is_default(expr)),
        };
        if given {
            refuse_always(schema, *position)?;
        }
    }
    Ok(())
}

/// Whether all is given that a generated column is worked out from.
pub(super) fn follows(schema: &Schema, position: usize, given: &[usize]) -> bool {
    let generated = schema.generated_at(position);
    generated.is_none_or(|one| one.follows(given))
}

/// The given columns, and the generated ones that follow from them alone.
pub(super) fn said(schema: &Schema, positions: &[usize]) -> Vec<usize> {
    let mut said = positions.to_vec();
    for generated in schema.generated() {
        let position = generated.position;
        if !said.contains(&position) && follows(schema, position, positions) {
            said.push(position);
        }
    }
    said
}

/// Refuses UPDATE … ON and DELETE … ON that leave the key open.
pub(super) fn check_generated(schema: &Schema, positions: &[usize], mode: Mode) -> Result<()> {
    if !matches!(mode, Mode::UpdateOn | Mode::DeleteOn) {
        return Ok(());
    }
    for position in schema.key_positions() {
        if !positions.contains(position) && !follows(schema, *position, positions) {
            return Err(Error::Generated {
                table: schema.name().to_owned(),
                column: schema.name_at(*position).to_owned(),
                reason: "it is part of the key: name it, or all that it is worked out from"
                    .to_owned(),
            });
        }
    }
    Ok(())
}

/// The rows of a VALUES list.
pub(crate) fn values(source: &ast::Query) -> Option<&[ast::Parens<Vec<ast::Expr>>]> {
    match source.body.as_ref() {
        ast::SetExpr::Values(values)
            if source.order_by.is_none() && source.limit_clause.is_none() =>
        {
            Some(&values.rows)
        }
        _ => None,
    }
}
