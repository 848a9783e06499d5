//! What a schema may not be.

use keys::KEY_COLUMNS_MAX;

use super::{CONSTRAINTS_MAX, Column, DEFAULT_BYTES_MAX, INDEXES_MAX, NAME_CHARS_MAX, Parts};

/// What is wrong with a schema, if anything.
pub(super) fn fault(parts: &Parts) -> Option<String> {
    name_fault("table", &parts.name)
        .or_else(|| columns_fault(parts))
        .or_else(|| key_fault(parts))
        .or_else(|| slots_fault(parts))
        .or_else(|| indexes_fault(parts))
        .or_else(|| constraints_fault(parts))
        .or_else(|| rest_fault(parts))
}

/// What is wrong with the name of something, if anything.
pub(crate) fn name_fault(what: &str, name: &str) -> Option<String> {
    let chars = name.chars().count();
    if chars == 0 {
        return Some(format!("a {what} needs a name"));
    }
    if chars > NAME_CHARS_MAX {
        return Some(format!(
            "the name of a {what} may have {NAME_CHARS_MAX} characters, this one has {chars}"
        ));
    }
    name.chars()
        .any(char::is_control)
        .then(|| format!("the name of a {what} may not have control characters"))
}

fn columns_fault(parts: &Parts) -> Option<String> {
    let (limit, size) = (keys::COLUMNS_MAX, parts.columns.len());
    if size > limit {
        return Some(format!(
            "a table may have {limit} columns, this one has {size}"
        ));
    }
    for (position, column) in parts.columns.iter().enumerate() {
        if let Some(fault) = name_fault("column", &column.name) {
            return Some(fault);
        }
        let mut before = parts.columns.iter().take(position);
        if before.any(|other| other.name == column.name) {
            return Some(format!("column `{}` is there twice", column.name));
        }
        let generated_bytes = column.generated.as_ref().map_or(0, String::len);
        if generated_bytes > DEFAULT_BYTES_MAX {
            return Some(format!(
                "the expression of a generated column may have {DEFAULT_BYTES_MAX} bytes, that of \
                 `{}` has {generated_bytes}",
                column.name
            ));
        }
        let default_bytes = column.default.as_ref().map_or(0, String::len);
        if default_bytes > DEFAULT_BYTES_MAX {
            return Some(format!(
                "a default may have {DEFAULT_BYTES_MAX} bytes, that of column `{}` has \
                 {default_bytes}",
                column.name
            ));
        }
    }
    None
}

fn key_fault(parts: &Parts) -> Option<String> {
    if parts.key.is_empty() {
        return Some("a table needs a primary key: name at least one column".to_owned());
    }
    if parts.key.len() > KEY_COLUMNS_MAX {
        let size = parts.key.len();
        return Some(format!(
            "a primary key may have {KEY_COLUMNS_MAX} columns, this one has {size}"
        ));
    }
    for (index, position) in parts.key.iter().enumerate() {
        let Some(column) = parts.columns.get(*position) else {
            return Some("the primary key names a column that is not there".to_owned());
        };
        if parts.key.iter().take(index).any(|other| other == position) {
            return Some(format!(
                "column `{}` is in the primary key twice",
                column.name
            ));
        }
        if let Some(fault) = key_type_fault(column, "the primary key") {
            return Some(fault);
        }
    }
    None
}

fn key_type_fault(column: &Column, of: &str) -> Option<String> {
    let Column { name, kind, .. } = column;
    (!kind.is_key_type()).then(|| {
        format!(
            "column `{name}` of type {kind} cannot be part of {of}: choose an integer, text, date \
             or UUID column"
        )
    })
}

/// Every column outside of the key has one slot, of its type; the key's have none.
fn slots_fault(parts: &Parts) -> Option<String> {
    let (limit, size) = (keys::COLUMNS_MAX, parts.slots.len());
    if size > limit {
        return Some(format!(
            "a table may have {limit} columns outside of its key, dropped ones included; this one \
             has {size}: copy it into a new table"
        ));
    }
    for (position, column) in parts.columns.iter().enumerate() {
        let mut slots = parts
            .slots
            .iter()
            .filter(|slot| slot.column == Some(position));
        let fits = match (parts.key.contains(&position), slots.next()) {
            (true, found) => found.is_none(),
            (false, found) => {
                found.is_some_and(|slot| slot.kind == column.kind) && slots.next().is_none()
            }
        };
        if !fits {
            return Some(format!("column `{}` has no place in rows", column.name));
        }
    }
    for slot in &parts.slots {
        let there = slot
            .column
            .is_none_or(|position| position < parts.columns.len());
        if !there || !(slot.missing.is_null() || slot.missing.type_matches(slot.kind)) {
            return Some("a place in rows is for no column".to_owned());
        }
    }
    None
}

fn indexes_fault(parts: &Parts) -> Option<String> {
    if parts.indexes.len() > INDEXES_MAX {
        let size = parts.indexes.len();
        return Some(format!(
            "a table may have {INDEXES_MAX} indexes, this one has {size}"
        ));
    }
    for (at, index) in parts.indexes.iter().enumerate() {
        if let Some(fault) = name_fault("index", &index.name) {
            return Some(fault);
        }
        let name = &index.name;
        if parts
            .indexes
            .iter()
            .take(at)
            .any(|other| other.name == *name)
        {
            return Some(format!("index `{name}` is there twice"));
        }
        if index.columns.is_empty() {
            return Some(format!("index `{name}` has no columns"));
        }
        // An entry's key is the index's columns and then the table's.
        let width = index.columns.len() + parts.key.len();
        if width > KEY_COLUMNS_MAX {
            return Some(format!(
                "the columns of index `{name}` and of the primary key are {width}, and may be \
                 {KEY_COLUMNS_MAX} together"
            ));
        }
        let mut named: Vec<usize> = index.columns.iter().chain(&index.cover).copied().collect();
        named.sort_unstable();
        if named.iter().any(|at| *at >= parts.columns.len()) {
            return Some(format!("index `{name}` names a column that is not there"));
        }
        if named.windows(2).any(|two| two.first() == two.last()) {
            return Some(format!("index `{name}` names a column twice"));
        }
        for column in index.columns.iter().filter_map(|at| parts.columns.get(*at)) {
            if let Some(fault) = key_type_fault(column, "an index") {
                return Some(fault);
            }
        }
    }
    None
}

fn constraints_fault(parts: &Parts) -> Option<String> {
    let checks = parts.checks.iter().map(|check| &check.name);
    let foreign = parts.foreign_keys.iter().map(|foreign| &foreign.name);
    for (what, count) in [("CHECKs", checks.len()), ("foreign keys", foreign.len())] {
        if count > CONSTRAINTS_MAX {
            return Some(format!(
                "a table may have {CONSTRAINTS_MAX} {what}, this one has {count}"
            ));
        }
    }
    let names: Vec<&String> = checks.chain(foreign).collect();
    for (at, name) in names.iter().enumerate() {
        if let Some(fault) = name_fault("constraint", name) {
            return Some(fault);
        }
        if names.iter().take(at).any(|other| other == name) {
            return Some(format!("constraint `{name}` is there twice"));
        }
    }
    let long = |check: &&super::Check| check.text.len() > DEFAULT_BYTES_MAX;
    if let Some(check) = parts.checks.iter().find(long) {
        return Some(format!(
            "a CHECK may have {DEFAULT_BYTES_MAX} bytes, `{}` has {}",
            check.name,
            check.text.len()
        ));
    }
    let size = parts.columns.len();
    let lost = |foreign: &&super::ForeignKey| {
        foreign.columns.is_empty() || foreign.columns.iter().any(|at| *at >= size)
    };
    let lost = parts.foreign_keys.iter().find(lost);
    lost.map(|one| {
        format!(
            "foreign key `{}` names a column that is not there",
            one.name
        )
    })
}

fn rest_fault(parts: &Parts) -> Option<String> {
    let size = parts.columns.len();
    if parts.sequences.iter().any(|owned| owned.column >= size) {
        return Some("a sequence goes with a column that is not there".to_owned());
    }
    parts.options.fault(&parts.columns)
}
