//! What each function answers.

use keys::{Type, Value};

use super::{Body, Call};
use crate::system::definition::{INFORMATION_SCHEMA, PG_CATALOG, PUBLIC, SYS};
use crate::system::objects::{DATABASE, Kind, OWNER, Relation, quoted};
use crate::system::tables::setting;
use crate::system::types;

/// What the server says it is. Drivers look for the first number.
const VERSION: &str = concat!(
    "PostgreSQL 15.0 (EvenKeel ",
    env!("CARGO_PKG_VERSION"),
    "), 64-bit"
);

/// The only function that changes something: it forgets what was counted of statements.
pub(super) const RESET: &str = "pg_stat_statements_reset";

/// Functions by name, with the type of their answer.
pub(super) const ENTRIES: &[(&str, Type, Body)] = &[
    ("version", Type::Utf8, |_| text(VERSION)),
    (RESET, Type::Utf8, |call| {
        call.world.statements.reset();
        text("")
    }),
    ("current_schema", Type::Utf8, |_| text(PUBLIC.0)),
    ("current_database", Type::Utf8, |_| text(DATABASE.0)),
    ("current_catalog", Type::Utf8, |_| text(DATABASE.0)),
    ("current_user", Type::Utf8, |_| text(OWNER.0)),
    ("current_role", Type::Utf8, |_| text(OWNER.0)),
    ("session_user", Type::Utf8, |_| text(OWNER.0)),
    ("user", Type::Utf8, |_| text(OWNER.0)),
    ("pg_get_userbyid", Type::Utf8, |call| {
        some(call.number(0).map(role_name))
    }),
    ("pg_encoding_to_char", Type::Utf8, |_| text("UTF8")),
    ("pg_char_to_encoding", Type::Int32, |_| Value::Int32(6)),
    ("pg_client_encoding", Type::Utf8, |_| text("UTF8")),
    ("getdatabaseencoding", Type::Utf8, |_| text("UTF8")),
    ("format_type", Type::Utf8, |call| {
        some(call.number(0).map(|oid| types::format(oid, call.number(1))))
    }),
    ("pg_get_expr", Type::Utf8, |call| some(call.text(0))),
    ("pg_get_constraintdef", Type::Utf8, constraint_definition),
    ("pg_get_indexdef", Type::Utf8, index_definition),
    ("pg_get_serial_sequence", Type::Utf8, |call| {
        let found = regclass(call).and_then(|table| {
            let column = call.text(1)?;
            call.objects().owned_sequence(table, column)
        });
        some(found.map(|one| format!("{}.{}", one.schema.0, quoted(&one.name))))
    }),
    ("pg_size_pretty", Type::Utf8, |call| {
        some(call.number(0).map(pretty))
    }),
    ("pg_relation_size", Type::Int64, relation_bytes),
    ("pg_table_size", Type::Int64, relation_bytes),
    ("pg_total_relation_size", Type::Int64, relation_bytes),
    ("pg_indexes_size", Type::Int64, |_| Value::Int64(0)),
    // What is counted of statements is not counted by index.
    ("pg_stat_get_numscans", Type::Int64, |_| Value::Int64(0)),
    ("pg_stat_get_tuples_returned", Type::Int64, |_| {
        Value::Int64(0)
    }),
    ("pg_stat_get_tuples_fetched", Type::Int64, |_| {
        Value::Int64(0)
    }),
    ("pg_database_size", Type::Int64, database_bytes),
    ("pg_tablespace_size", Type::Int64, database_bytes),
    ("current_setting", Type::Utf8, |call| {
        some(call.text(0).and_then(setting))
    }),
    ("set_config", Type::Utf8, |call| some(call.text(1))),
    ("quote_ident", Type::Utf8, |call| {
        some(call.text(0).map(quoted))
    }),
    ("quote_literal", Type::Utf8, |call| {
        some(
            call.text(0)
                .map(|text| format!("'{}'", text.replace('\'', "''"))),
        )
    }),
    ("pg_table_is_visible", Type::Bool, |call| {
        match call.number(0) {
            Some(oid) => Value::Bool(call.objects().by_oid(oid).is_none_or(Relation::is_visible)),
            None => Value::Null,
        }
    }),
    ("pg_is_in_recovery", Type::Bool, |_| Value::Bool(false)),
    ("pg_is_other_temp_schema", Type::Bool, |_| {
        Value::Bool(false)
    }),
    ("pg_my_temp_schema", Type::Int64, |_| Value::Int64(0)),
    ("pg_backend_pid", Type::Int32, |_| {
        Value::Int32(i32::try_from(std::process::id()).unwrap_or(0))
    }),
    ("pg_postmaster_start_time", Type::Timestamp, |call| {
        Value::Timestamp(call.world.started_us)
    }),
    ("pg_conf_load_time", Type::Timestamp, |call| {
        Value::Timestamp(call.world.started_us)
    }),
    ("txid_current", Type::Int64, |call| {
        Value::Int64(i64::try_from(call.world.store.now_us()).unwrap_or(i64::MAX))
    }),
    ("to_regclass", Type::Uint32, |call| oid(regclass(call))),
    ("to_regtype", Type::Uint32, |call| oid(regtype(call))),
    ("to_regnamespace", Type::Uint32, |call| {
        oid(regnamespace(call))
    }),
    ("regclass_oid", Type::Uint32, |call| oid(regclass(call))),
    ("regclass_name", Type::Utf8, |call| {
        some(regclass(call).map(|oid| {
            let shown = call.objects().by_oid(oid).map(Relation::shown);
            shown.unwrap_or_else(|| oid.to_string())
        }))
    }),
    ("regtype_oid", Type::Uint32, |call| oid(regtype(call))),
    ("regtype_name", Type::Utf8, |call| {
        some(regtype(call).map(|oid| types::format(oid, None)))
    }),
    ("regnamespace_oid", Type::Uint32, |call| {
        oid(regnamespace(call))
    }),
    ("regnamespace_name", Type::Utf8, |call| {
        some(regnamespace(call).map(|oid| {
            let found = SCHEMAS.iter().find(|(_, known)| *known == oid);
            found.map_or_else(|| oid.to_string(), |(name, _)| (*name).to_owned())
        }))
    }),
    ("regrole_oid", Type::Uint32, |call| {
        oid(call.number(0).or_else(|| call.text(0).map(|_| OWNER.1)))
    }),
    ("regrole_name", Type::Utf8, |call| {
        match (call.number(0), call.text(0)) {
            (Some(oid), _) => text(role_name(oid)),
            (None, name) => some(name),
        }
    }),
    // Functions are known by name only.
    ("regproc_name", Type::Utf8, |call| {
        let name = call
            .text(0)
            .map(|name| name.rsplit('.').next().unwrap_or(name));
        some(name)
    }),
    ("like_pattern", Type::Utf8, |call| {
        match (call.text(0), call.text(1)) {
            (Some(pattern), Some(escape)) => text(like_pattern(pattern, escape)),
            _ => Value::Null,
        }
    }),
    ("json_build_object", Type::Json, json_build_object),
];

/// Functions whose answer is NULL here: nothing has a comment, a rule or a trigger.
pub(super) const NULLS: &[&str] = &[
    "col_description",
    "inet_client_addr",
    "inet_server_addr",
    "obj_description",
    "oidvectortypes",
    "pg_get_function_arguments",
    "pg_get_function_identity_arguments",
    "pg_get_function_result",
    "pg_get_functiondef",
    "pg_get_partition_constraintdef",
    "pg_get_partkeydef",
    "pg_get_ruledef",
    "pg_get_statisticsobjdef",
    "pg_get_statisticsobjdef_columns",
    "pg_get_triggerdef",
    "pg_get_viewdef",
    "pg_relation_filepath",
    "pg_tablespace_location",
    "shobj_description",
];

/// Functions whose answer is yes: everybody may do everything, and everything is found.
pub(super) const TRUTHS: &[&str] = &[
    "has_any_column_privilege",
    "has_column_privilege",
    "has_database_privilege",
    "has_foreign_data_wrapper_privilege",
    "has_function_privilege",
    "has_language_privilege",
    "has_schema_privilege",
    "has_sequence_privilege",
    "has_server_privilege",
    "has_table_privilege",
    "has_tablespace_privilege",
    "has_type_privilege",
    "pg_collation_is_visible",
    "pg_conversion_is_visible",
    "pg_function_is_visible",
    "pg_has_role",
    "pg_opclass_is_visible",
    "pg_operator_is_visible",
    "pg_opfamily_is_visible",
    "pg_relation_is_publishable",
    "pg_statistics_obj_is_visible",
    "pg_ts_config_is_visible",
    "pg_ts_dict_is_visible",
    "pg_ts_parser_is_visible",
    "pg_ts_template_is_visible",
    "pg_type_is_visible",
];

const SCHEMAS: [(&str, i64); 4] = [PG_CATALOG, PUBLIC, INFORMATION_SCHEMA, SYS];

pub(super) fn null(_call: &Call<'_>) -> Value {
    Value::Null
}

pub(super) fn truth(_call: &Call<'_>) -> Value {
    Value::Bool(true)
}

fn text(text: impl Into<String>) -> Value {
    Value::Utf8(text.into().into())
}

fn some(found: Option<impl Into<String>>) -> Value {
    found.map_or(Value::Null, text)
}

fn role_name(oid: i64) -> String {
    match oid == OWNER.1 {
        true => OWNER.0.to_owned(),
        false => format!("unknown (OID={oid})"),
    }
}

fn constraint_definition(call: &Call<'_>) -> Value {
    let Some(oid) = call.number(0) else {
        return Value::Null;
    };
    let objects = call.objects();
    if let Some(one) = objects.constraints().iter().find(|one| one.oid == oid) {
        let pretty = call.values.get(1) == Some(&Value::Bool(true));
        return text(one.definition(objects, pretty));
    }
    some(objects.by_oid(oid).and_then(|one| match &one.kind {
        Kind::Index(index) if index.primary => {
            Some(format!("PRIMARY KEY ({})", one.column_lists(index.keys).0))
        }
        _ => None,
    }))
}

/// The whole definition, or the name of one column if a number says which.
fn index_definition(call: &Call<'_>) -> Value {
    let found = call.number(0).and_then(|oid| call.objects().by_oid(oid));
    match call.number(1).unwrap_or(0) {
        0 => some(found.and_then(Relation::index_definition)),
        number => some(
            found
                .and_then(|one| one.column(number))
                .map(|column| quoted(&column.name)),
        ),
    }
}

fn relation_bytes(call: &Call<'_>) -> Value {
    let found = regclass(call).and_then(|oid| call.objects().by_oid(oid));
    found.map_or(Value::Null, |one| {
        Value::Int64(i64::try_from(one.bytes).unwrap_or(i64::MAX))
    })
}

fn database_bytes(call: &Call<'_>) -> Value {
    let bytes: u64 = call.objects().tables().map(|one| one.bytes).sum();
    Value::Int64(i64::try_from(bytes).unwrap_or(i64::MAX))
}

/// Bytes as people read them.
fn pretty(bytes: i64) -> String {
    const STEP: i64 = 1024;
    /// A unit is used until this many of it.
    const MANY: i64 = 10 * STEP;
    let mut left = bytes;
    for unit in ["bytes", "kB", "MB", "GB", "TB"] {
        if left.abs() < MANY {
            return format!("{left} {unit}");
        }
        left = (left + STEP / 2) / STEP;
    }
    format!("{left} PB")
}

/// A number of PostgreSQL's.
fn oid(found: Option<i64>) -> Value {
    let number = found.and_then(|oid| u32::try_from(oid).ok());
    number.map_or(Value::Null, Value::Uint32)
}

/// The number of the relation that is named, or the number that is given.
fn regclass(call: &Call<'_>) -> Option<i64> {
    let named = || call.objects().by_name(call.text(0)?).map(|one| one.oid);
    call.number(0).or_else(named)
}

fn regtype(call: &Call<'_>) -> Option<i64> {
    let named = || types::parse(call.text(0)?).map(|one| one.oid);
    call.number(0).or_else(named)
}

fn regnamespace(call: &Call<'_>) -> Option<i64> {
    let named = || {
        let name = call.text(0)?;
        let found = SCHEMAS.iter().find(|(known, _)| *known == name);
        found.map(|(_, oid)| *oid)
    };
    call.number(0).or_else(named)
}

/// A pattern of LIKE whose escape is a backslash, from one with another or none.
fn like_pattern(pattern: &str, escape: &str) -> String {
    let escape = escape.chars().next();
    let mut out = String::with_capacity(pattern.len());
    let mut letters = pattern.chars();
    while let Some(letter) = letters.next() {
        if Some(letter) == escape {
            out.push('\\');
            out.extend(letters.next());
        } else {
            if letter == '\\' {
                out.push('\\');
            }
            out.push(letter);
        }
    }
    out
}

fn json_build_object(call: &Call<'_>) -> Value {
    let mut object = serde_json::Map::new();
    for pair in call.values.chunks(2) {
        if let [Value::Utf8(name), value] = pair {
            object.insert(name.to_string(), json(value));
        }
    }
    Value::Json(serde_json::Value::Object(object).to_string().into())
}

fn json(value: &Value) -> serde_json::Value {
    match value {
        Value::Null => serde_json::Value::Null,
        Value::Bool(value) => (*value).into(),
        Value::Int16(value) => (*value).into(),
        Value::Int32(value) => (*value).into(),
        Value::Int64(value) => (*value).into(),
        other => other.to_string().into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_shown_as_postgresql_shows_them() {
        for (bytes, expected) in [
            (0, "0 bytes"),
            (10_239, "10239 bytes"),
            (10_240, "10 kB"),
            (20 << 20, "20 MB"),
            (1 << 40, "1024 GB"),
        ] {
            assert_eq!(pretty(bytes), expected);
        }
    }

    #[test]
    fn escapes_become_backslashes() {
        assert_eq!(like_pattern("pg/_%", "/"), r"pg\_%");
        assert_eq!(like_pattern(r"a\_%", r"\"), r"a\_%");
        assert_eq!(like_pattern(r"a\b", ""), r"a\\b");
    }

    #[test]
    fn no_function_is_there_twice() {
        let mut names: Vec<&str> = ENTRIES.iter().map(|(name, ..)| *name).collect();
        names.extend(NULLS);
        names.extend(TRUTHS);
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }
}
