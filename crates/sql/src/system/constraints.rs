//! CHECKs and foreign keys as PostgreSQL's clients see them. Primary keys are indexes too ([`super::objects`]).

use std::sync::Arc;

use keys::{Value, hash_values};

use super::definition::PUBLIC;
use super::objects::{Index, Objects, Relation, key_oid, number, quoted, table_oid};
use super::rows::{Cell, Rows};
use crate::check::spelled;
use crate::foreign::referenced_columns;
use crate::schema::{Action, Checked, Target};
use crate::{Catalog, ForeignKey, Table};

/// What tells their numbers from those of indexes, which are constraints as well.
const CONSTRAINTS_BIT: u32 = 1 << 31;

/// A CHECK or a foreign key.
#[derive(Debug)]
pub(crate) struct Constraint {
    /// Its number, by a digest of the table's and its name.
    pub(crate) oid: i64,
    pub(crate) name: String,
    /// The table that has it, and its columns there.
    pub(crate) table: i64,
    pub(crate) columns: Vec<i64>,
    pub(crate) kind: ConstraintKind,
}

#[derive(Debug)]
pub(crate) enum ConstraintKind {
    Check { text: String },
    Foreign(Reference),
}

/// What a foreign key refers to.
#[derive(Debug)]
pub(crate) struct Reference {
    pub(crate) parent: i64,
    pub(crate) columns: Vec<i64>,
    /// The index over them.
    pub(crate) index: i64,
    pub(crate) on_delete: Action,
    pub(crate) on_update: Action,
    pub(crate) checked: Checked,
}

impl Constraint {
    /// Those of a table.
    pub(crate) fn of(catalog: &Catalog, table: &Arc<Table>) -> Vec<Self> {
        let schema = table.schema();
        let new = |name: &str, columns: &[usize], kind| Self {
            oid: constraint_oid(table, name),
            name: name.to_owned(),
            table: table_oid(table.id()),
            columns: columns.iter().map(|at| number(*at)).collect(),
            kind,
        };
        let checks = schema.parts().checks.iter().zip(schema.conditions());
        let checks = checks.map(|(check, condition)| {
            let text = spelled(&check.text);
            new(
                &check.name,
                &condition.inputs,
                ConstraintKind::Check { text },
            )
        });
        let foreign = schema.foreign_keys().iter().filter_map(|key| {
            let reference = Reference::of(catalog, table, key)?;
            Some(new(
                &key.name,
                &key.columns,
                ConstraintKind::Foreign(reference),
            ))
        });
        checks.chain(foreign).collect()
    }

    /// PostgreSQL's letter.
    fn letter(&self) -> &'static str {
        match self.kind {
            ConstraintKind::Check { .. } => "c",
            ConstraintKind::Foreign(_) => "f",
        }
    }

    /// The clause that would make it, with no more parentheses than it takes if it is to be `pretty`.
    pub(crate) fn definition(&self, objects: &Objects, pretty: bool) -> String {
        let reference = match &self.kind {
            ConstraintKind::Check { text } if pretty => return format!("CHECK ({text})"),
            ConstraintKind::Check { text } => return format!("CHECK (({text}))"),
            ConstraintKind::Foreign(reference) => reference,
        };
        let parent = objects.by_oid(reference.parent);
        let mut text = format!(
            "FOREIGN KEY ({}) REFERENCES {}({})",
            names(objects.by_oid(self.table), &self.columns),
            parent.map(Relation::shown).unwrap_or_default(),
            names(parent, &reference.columns)
        );
        for (when, action) in [
            ("UPDATE", reference.on_update),
            ("DELETE", reference.on_delete),
        ] {
            if action != Action::NoAction {
                text += &format!(" ON {when} {}", action.words());
            }
        }
        text + reference.checked.words()
    }

    /// Fills its row of `pg_constraint`.
    pub(super) fn row(&self, rows: &mut Rows) {
        let letter = |action: Action| char::from(action.letter()).to_string();
        let reference = match &self.kind {
            ConstraintKind::Check { .. } => None,
            ConstraintKind::Foreign(reference) => Some(reference),
        };
        let action = |of: fn(&Reference) -> Action| -> Cell {
            let said = reference.map(|one| letter(of(one)));
            said.unwrap_or_else(|| " ".to_owned()).into()
        };
        let checked = reference.map_or(Checked::Always, |one| one.checked);
        rows.push([
            ("oid", self.oid.into()),
            ("conname", self.name.as_str().into()),
            ("connamespace", PUBLIC.1.into()),
            ("contype", self.letter().into()),
            ("condeferrable", (checked != Checked::Always).into()),
            ("condeferred", (checked == Checked::Deferred).into()),
            ("convalidated", true.into()),
            ("conrelid", self.table.into()),
            ("conindid", reference.map_or(0, |one| one.index).into()),
            ("confrelid", reference.map_or(0, |one| one.parent).into()),
            ("confupdtype", action(|one| one.on_update)),
            ("confdeltype", action(|one| one.on_delete)),
            (
                "confmatchtype",
                if reference.is_some() { "s" } else { " " }.into(),
            ),
            ("conislocal", true.into()),
            ("connoinherit", reference.is_some().into()),
            ("conkey", self.columns.clone().into()),
            ("confkey", reference.map(|one| one.columns.clone()).into()),
            (
                "conbin",
                match &self.kind {
                    ConstraintKind::Check { text } => text.as_str().into(),
                    ConstraintKind::Foreign(_) => Cell::Null,
                },
            ),
        ]);
    }
}

impl Reference {
    fn of(catalog: &Catalog, table: &Arc<Table>, key: &ForeignKey) -> Option<Self> {
        let parent = match key.parent {
            None => Arc::clone(table),
            Some(id) => catalog.by_id(id)?,
        };
        let columns = referenced_columns(&parent, key.target)?;
        Some(Self {
            parent: table_oid(parent.id()),
            columns: columns.iter().map(|at| number(*at)).collect(),
            index: match key.target {
                Target::Key => key_oid(parent.id()),
                Target::Index(id) => table_oid(id),
            },
            on_delete: key.on_delete,
            on_update: key.on_update,
            checked: key.checked,
        })
    }
}

fn constraint_oid(table: &Table, name: &str) -> i64 {
    let of = [Value::Uint64(table.id().0), Value::from(name)];
    let digest = hash_values(&of) % u64::from(CONSTRAINTS_BIT);
    let digest = u32::try_from(digest).expect("it is below 2^31");
    i64::from(digest | CONSTRAINTS_BIT)
}

fn names(relation: Option<&Relation>, columns: &[i64]) -> String {
    let named = |at: &i64| Some(quoted(&relation?.column(*at)?.name));
    let names: Vec<String> = columns.iter().filter_map(named).collect();
    names.join(", ")
}

/// Fills the row of a primary key in `pg_constraint`.
pub(super) fn key_row(relation: &Relation, one: &Index, rows: &mut Rows) {
    rows.push([
        ("oid", relation.oid.into()),
        ("conname", relation.name.as_str().into()),
        ("connamespace", relation.schema.1.into()),
        ("contype", "p".into()),
        ("convalidated", true.into()),
        ("conrelid", one.table.into()),
        ("conindid", relation.oid.into()),
        ("confupdtype", " ".into()),
        ("confdeltype", " ".into()),
        ("confmatchtype", " ".into()),
        ("conislocal", true.into()),
        ("connoinherit", true.into()),
        ("conkey", one.columns.clone().into()),
    ]);
}
