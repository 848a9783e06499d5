//! The rows of `information_schema`.

use super::constraints::ConstraintKind;
use super::definition::{INFORMATION_SCHEMA, PG_CATALOG, PUBLIC, SYS};
use super::objects::{Attribute, DATABASE, Kind, OWNER, Objects, Relation};
use super::rows::{Cell, Rows};
use super::tables::number;
use super::types;
use crate::{Checked, Definition, Identity};

const DATABASE_NAME: &str = DATABASE.0;

/// What a text without a length may have, in bytes: PostgreSQL's answer.
const OCTETS_MAX: i64 = 1 << 30;

/// Fills a table of `information_schema`. Those that are not named here have no rows.
pub(super) fn fill(name: &str, objects: &Objects, rows: &mut Rows) {
    match name {
        "information_schema_catalog_name" => rows.push([("catalog_name", DATABASE_NAME.into())]),
        "enabled_roles" => rows.push([("role_name", OWNER.0.into())]),
        "schemata" => {
            for (schema, _) in [PG_CATALOG, PUBLIC, INFORMATION_SCHEMA, SYS] {
                rows.push([
                    ("catalog_name", DATABASE_NAME.into()),
                    ("schema_name", schema.into()),
                    ("schema_owner", OWNER.0.into()),
                ]);
            }
        }
        "tables" => readable(objects).for_each(|one| table(one, rows)),
        "columns" => readable(objects).for_each(|one| {
            for column in &one.columns {
                self::column(objects, one, column, rows);
            }
        }),
        "table_constraints" => constraints(objects, rows),
        "key_column_usage" => key_columns(objects, rows),
        "sequences" => sequences(objects, rows),
        "constraint_column_usage" => constrained_columns(objects, rows),
        "referential_constraints" => references(objects, rows),
        "check_constraints" => checks(objects, rows),
        _ => {}
    }
}

/// What can be selected from.
fn readable(objects: &Objects) -> impl Iterator<Item = &Relation> {
    let all = objects.relations().iter();
    all.filter(|one| matches!(one.kind, Kind::Table | Kind::View))
}

fn table(one: &Relation, rows: &mut Rows) {
    let (kind, writable) = match one.kind {
        Kind::View => ("VIEW", "NO"),
        _ if one.schema == PUBLIC => ("BASE TABLE", "YES"),
        _ => ("BASE TABLE", "NO"),
    };
    rows.push([
        ("table_catalog", DATABASE_NAME.into()),
        ("table_schema", one.schema.0.into()),
        ("table_name", one.name.as_str().into()),
        ("table_type", kind.into()),
        ("is_insertable_into", writable.into()),
        ("is_typed", "NO".into()),
    ]);
}

fn column(objects: &Objects, one: &Relation, column: &Attribute, rows: &mut Rows) {
    let kind = types::by_oid(column.type_oid);
    let name = kind.map_or("text", |kind| kind.name);
    let data_type = match kind {
        Some(kind) if kind.is_array() => "ARRAY".to_owned(),
        _ => types::format(column.type_oid, None),
    };
    let bits = numeric_bits(name, column.modifier);
    let scale = bits.filter(|_| !name.starts_with("float"));
    let fraction: Option<i64> = match name {
        "timestamp" | "timestamptz" if column.modifier >= 0 => Some(column.modifier),
        "timestamp" | "timestamptz" | "interval" => Some(6),
        "date" => Some(0),
        _ => None,
    };
    let length = match name {
        "varchar" | "bpchar" => types::length(column.modifier),
        _ => None,
    };
    let octets = match name {
        "text" | "varchar" | "bpchar" => Some(length.map_or(OCTETS_MAX, |length| length * 4)),
        _ => None,
    };
    let generation = column.identity.map(|identity| match identity {
        Identity::Always => "ALWAYS",
        Identity::ByDefault => "BY DEFAULT",
    });
    let counts = objects.identity_sequence(one.oid, column);
    let about = |say: fn(&Definition) -> i64| -> Cell {
        counts.map(|definition| say(definition).to_string()).into()
    };
    let yes = |yes: bool| -> Cell { if yes { "YES" } else { "NO" }.into() };
    let (generated, default, expression) = match column.generated {
        true => ("ALWAYS", None, column.default.clone()),
        false => ("NEVER", column.default.clone(), None),
    };
    rows.push([
        ("table_catalog", DATABASE_NAME.into()),
        ("table_schema", one.schema.0.into()),
        ("table_name", one.name.as_str().into()),
        ("column_name", column.name.as_str().into()),
        ("ordinal_position", column.number.into()),
        ("column_default", default.into()),
        ("is_nullable", yes(!column.not_null)),
        ("data_type", data_type.into()),
        ("character_maximum_length", length.into()),
        ("character_octet_length", octets.into()),
        ("numeric_precision", bits.map(|bits| bits.0).into()),
        ("numeric_precision_radix", bits.map(|bits| bits.1).into()),
        ("numeric_scale", scale.map(|bits| bits.2).into()),
        ("datetime_precision", fraction.into()),
        ("udt_catalog", DATABASE_NAME.into()),
        ("udt_schema", PG_CATALOG.0.into()),
        ("udt_name", name.into()),
        ("dtd_identifier", column.number.to_string().into()),
        ("is_self_referencing", "NO".into()),
        ("is_identity", yes(generation.is_some())),
        ("identity_generation", generation.into()),
        ("identity_start", about(|one| one.start)),
        ("identity_increment", about(|one| one.increment)),
        ("identity_maximum", about(|one| one.max)),
        ("identity_minimum", about(|one| one.min)),
        ("identity_cycle", yes(counts.is_some_and(|one| one.cycle))),
        ("is_generated", generated.into()),
        ("generation_expression", expression.into()),
        ("is_updatable", yes(one.schema == PUBLIC)),
    ]);
}

/// The precision of a numeric type, the base it is counted in, and its scale.
fn numeric_bits(name: &str, modifier: i64) -> Option<(i64, i64, i64)> {
    match name {
        "int2" => Some((16, 2, 0)),
        "int4" => Some((32, 2, 0)),
        "int8" => Some((64, 2, 0)),
        "float4" => Some((24, 2, 0)),
        "float8" => Some((53, 2, 0)),
        "numeric" => types::digits(modifier).map(|(precision, scale)| (precision, 10, scale)),
        _ => None,
    }
}

fn constraints(objects: &Objects, rows: &mut Rows) {
    let mut push = |name: &str, table: i64, kind: &str, checked: Checked| {
        let Some(table) = objects.by_oid(table) else {
            return;
        };
        let yes = |yes: bool| -> Cell { if yes { "YES" } else { "NO" }.into() };
        rows.push([
            ("constraint_catalog", DATABASE_NAME.into()),
            ("constraint_schema", table.schema.0.into()),
            ("constraint_name", name.into()),
            ("table_catalog", DATABASE_NAME.into()),
            ("table_schema", table.schema.0.into()),
            ("table_name", table.name.as_str().into()),
            ("constraint_type", kind.into()),
            ("is_deferrable", yes(checked != Checked::Always)),
            ("initially_deferred", yes(checked == Checked::Deferred)),
            ("enforced", "YES".into()),
        ]);
    };
    for (relation, index) in objects.indexes().filter(|(_, index)| index.primary) {
        push(&relation.name, index.table, "PRIMARY KEY", Checked::Always);
    }
    for one in objects.constraints() {
        let (kind, checked) = match &one.kind {
            ConstraintKind::Check { .. } => ("CHECK", Checked::Always),
            ConstraintKind::Foreign(reference) => ("FOREIGN KEY", reference.checked),
        };
        push(&one.name, one.table, kind, checked);
    }
}

fn references(objects: &Objects, rows: &mut Rows) {
    for one in objects.constraints() {
        let ConstraintKind::Foreign(reference) = &one.kind else {
            continue;
        };
        let unique = objects.by_oid(reference.index);
        rows.push([
            ("constraint_catalog", DATABASE_NAME.into()),
            ("constraint_schema", PUBLIC.0.into()),
            ("constraint_name", one.name.as_str().into()),
            ("unique_constraint_catalog", DATABASE_NAME.into()),
            ("unique_constraint_schema", PUBLIC.0.into()),
            (
                "unique_constraint_name",
                unique.map(|one| one.name.as_str()).into(),
            ),
            ("match_option", "NONE".into()),
            ("update_rule", reference.on_update.words().into()),
            ("delete_rule", reference.on_delete.words().into()),
        ]);
    }
}

fn checks(objects: &Objects, rows: &mut Rows) {
    for one in objects.constraints() {
        if let ConstraintKind::Check { text } = &one.kind {
            rows.push([
                ("constraint_catalog", DATABASE_NAME.into()),
                ("constraint_schema", PUBLIC.0.into()),
                ("constraint_name", one.name.as_str().into()),
                ("check_clause", format!("(({text}))").into()),
            ]);
        }
    }
}

/// A column that a constraint is about.
struct Constrained<'c> {
    constraint: &'c str,
    table: &'c Relation,
    column: &'c Attribute,
    /// Its place in the constraint, from 1.
    place: i64,
}

fn constrained<'c>(
    objects: &'c Objects,
    constraint: &'c str,
    table: i64,
    columns: &'c [i64],
) -> impl Iterator<Item = Constrained<'c>> {
    let table = objects.by_oid(table);
    let places = columns.iter().enumerate();
    places.filter_map(move |(place, at)| {
        let table = table?;
        Some(Constrained {
            constraint,
            table,
            column: table.column(*at)?,
            place: number(place) + 1,
        })
    })
}

/// The columns of each primary key.
fn of_keys(objects: &Objects) -> impl Iterator<Item = Constrained<'_>> {
    let primary = objects.indexes().filter(|(_, index)| index.primary);
    primary.flat_map(|(relation, index)| {
        constrained(objects, &relation.name, index.table, &index.columns)
    })
}

fn key_columns(objects: &Objects, rows: &mut Rows) {
    let mut push = |one: Constrained<'_>, refers: bool| {
        let position = refers.then_some(one.place);
        rows.push([
            ("constraint_catalog", DATABASE_NAME.into()),
            ("constraint_schema", one.table.schema.0.into()),
            ("constraint_name", one.constraint.into()),
            ("table_catalog", DATABASE_NAME.into()),
            ("table_schema", one.table.schema.0.into()),
            ("table_name", one.table.name.as_str().into()),
            ("column_name", one.column.name.as_str().into()),
            ("ordinal_position", one.place.into()),
            ("position_in_unique_constraint", position.into()),
        ]);
    };
    of_keys(objects).for_each(|one| push(one, false));
    for one in objects.constraints() {
        if let ConstraintKind::Foreign(_) = &one.kind {
            let columns = constrained(objects, &one.name, one.table, &one.columns);
            columns.for_each(|one| push(one, true));
        }
    }
}

/// The columns that constraints are about: those of a foreign key are the ones that it refers to.
fn constrained_columns(objects: &Objects, rows: &mut Rows) {
    let mut push = |one: Constrained<'_>| {
        rows.push([
            ("table_catalog", DATABASE_NAME.into()),
            ("table_schema", one.table.schema.0.into()),
            ("table_name", one.table.name.as_str().into()),
            ("column_name", one.column.name.as_str().into()),
            ("constraint_catalog", DATABASE_NAME.into()),
            ("constraint_schema", one.table.schema.0.into()),
            ("constraint_name", one.constraint.into()),
        ]);
    };
    of_keys(objects).for_each(&mut push);
    for one in objects.constraints() {
        let (table, columns) = match &one.kind {
            ConstraintKind::Check { .. } => (one.table, &one.columns),
            ConstraintKind::Foreign(reference) => (reference.parent, &reference.columns),
        };
        constrained(objects, &one.name, table, columns).for_each(&mut push);
    }
}

fn sequences(objects: &Objects, rows: &mut Rows) {
    for (one, counter) in objects.sequences() {
        let definition = &counter.definition;
        let (kind, _) = types::postgres_type(definition.kind);
        rows.push([
            ("sequence_catalog", DATABASE_NAME.into()),
            ("sequence_schema", one.schema.0.into()),
            ("sequence_name", one.name.as_str().into()),
            ("data_type", types::format(i64::from(kind), None).into()),
            ("numeric_precision_radix", Cell::Number(2)),
            ("numeric_scale", Cell::Number(0)),
            ("start_value", definition.start.to_string().into()),
            ("minimum_value", definition.min.to_string().into()),
            ("maximum_value", definition.max.to_string().into()),
            ("increment", definition.increment.to_string().into()),
            (
                "cycle_option",
                if definition.cycle { "YES" } else { "NO" }.into(),
            ),
        ]);
    }
}
