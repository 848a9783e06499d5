//! The rows of PostgreSQL's system tables.

use std::sync::{Arc, OnceLock};

use datafusion::catalog::{SchemaProvider, TableProvider};
use datafusion::error::DataFusionError;
use txn::Store;

use super::constraints::{self, ConstraintKind};
use super::definition::{self, Definition, INFORMATION_SCHEMA, PG_CATALOG, PUBLIC, SYS};
use super::objects::{
    Attribute, DATABASE, INDEX_METHOD, Index, Kind, OWNER, Objects, Relation, TABLE_METHOD,
};
use super::outside::Guest;
use super::rows::{Cell, Rows};
use super::{heat, information, partitions, statements, types};
use crate::{Catalog, Identity, Statements};

/// The only order there is: that of the bytes.
pub(super) const COLLATIONS: [(&str, i64); 3] = [("default", 100), ("C", 950), ("POSIX", 951)];
/// What orders the columns of an index.
const OPERATOR_CLASS: (&str, i64) = ("key_ops", 10020);
const TABLESPACE: (&str, i64) = ("pg_default", 1663);
/// PostgreSQL's number of UTF-8.
const UTF8: i64 = 6;
/// Bytes that PostgreSQL calls a page.
const PAGE_BYTES: u64 = 8192;

/// What PostgreSQL's tools look up among settings that a session cannot change.
const SETTINGS: [(&str, &str); 8] = [
    ("block_size", "8192"),
    ("default_table_access_method", "heap"),
    ("default_tablespace", ""),
    ("max_identifier_length", "255"),
    ("max_index_keys", "32"),
    ("server_version", "15.0"),
    ("server_version_num", "150000"),
    ("standard_conforming_strings", "on"),
];

/// Words that mean something here besides those of the standard.
const KEYWORDS: [&str; 6] = [
    "declare", "discard", "pragma", "replace", "upsert", "vacuum",
];

/// The value of a setting that a session cannot change.
pub(super) fn setting(name: &str) -> Option<&'static str> {
    let mut all = SETTINGS.iter();
    all.find(|(known, _)| *known == name)
        .map(|(_, value)| *value)
}

/// Tables of `pg_catalog` that have rows.
const FILLED: [&str; 25] = [
    "pg_am",
    "pg_attrdef",
    "pg_attribute",
    "pg_class",
    "pg_collation",
    "pg_constraint",
    "pg_database",
    "pg_depend",
    "pg_index",
    "pg_indexes",
    "pg_keywords",
    "pg_language",
    "pg_namespace",
    "pg_opclass",
    "pg_roles",
    "pg_settings",
    "pg_stat_all_tables",
    "pg_stat_user_tables",
    "pg_tables",
    "pg_tablespace",
    "pg_timezone_names",
    "pg_type",
    "pg_user",
    "pg_sequence",
    "pg_sequences",
];

/// Whether a system table may ever have rows.
pub(super) fn has_rows(definition: &Definition) -> bool {
    definition.schema != PG_CATALOG || FILLED.contains(&definition.name)
}

/// The system tables of one query.
#[derive(Clone, Debug)]
pub(crate) struct SystemTables {
    catalog: Arc<Catalog>,
    store: Arc<Store>,
    statements: Arc<Statements>,
    guest: Arc<Guest>,
    /// Looked at once for a query, when first asked for.
    objects: Arc<OnceLock<Objects>>,
}

impl SystemTables {
    pub(crate) fn new(
        catalog: &Arc<Catalog>,
        store: &Arc<Store>,
        statements: &Arc<Statements>,
        guest: &Arc<Guest>,
    ) -> Self {
        Self {
            catalog: Arc::clone(catalog),
            store: Arc::clone(store),
            statements: Arc::clone(statements),
            guest: Arc::clone(guest),
            objects: Arc::default(),
        }
    }

    fn objects(&self) -> &Objects {
        self.objects
            .get_or_init(|| Objects::new(&self.catalog, &self.store))
    }

    /// The schema of system tables with this name.
    pub(crate) fn schema(&self, name: &str) -> Option<Arc<dyn SchemaProvider>> {
        let schema = definition::schema(name)?;
        Some(Arc::new(SystemSchema {
            schema,
            tables: self.clone(),
        }))
    }

    /// The table of `pg_catalog` with this name, which is found without naming the schema.
    pub(crate) fn unnamed(
        &self,
        name: &str,
    ) -> Result<Option<Arc<dyn TableProvider>>, DataFusionError> {
        self.table(PG_CATALOG.0, name)
    }

    fn table(
        &self,
        schema: &str,
        name: &str,
    ) -> Result<Option<Arc<dyn TableProvider>>, DataFusionError> {
        let Some(definition) = definition::find(schema, name) else {
            return Ok(None);
        };
        let mut rows = Rows::new(definition);
        match (definition.schema, definition.name) {
            (PG_CATALOG, name) => fill(name, self.objects(), &mut rows),
            (INFORMATION_SCHEMA, name) => information::fill(name, self.objects(), &mut rows),
            (_, "bucket_moves") => partitions::fill_moves(&self.catalog, &self.store, &mut rows),
            (_, "index_builds") => partitions::fill_builds(&self.catalog, &mut rows),
            (_, "partition_stats") => partitions::fill(&self.catalog, &self.store, &mut rows),
            (_, name @ ("advice" | "key_findings" | "trace")) => self.guest.fill(name, &mut rows),
            (_, "statement_stats") => statements::fill(&self.statements, &mut rows),
            (_, name) => heat::fill(name, &self.catalog, &self.store, &mut rows),
        }
        Ok(Some(Arc::new(rows.finish()?)))
    }
}

/// One schema of system tables.
#[derive(Debug)]
struct SystemSchema {
    schema: &'static str,
    tables: SystemTables,
}

#[async_trait::async_trait]
impl SchemaProvider for SystemSchema {
    fn table_names(&self) -> Vec<String> {
        definition::each()
            .filter(|one| one.schema.0 == self.schema)
            .map(|one| one.name.to_owned())
            .collect()
    }

    async fn table(&self, name: &str) -> Result<Option<Arc<dyn TableProvider>>, DataFusionError> {
        self.tables.table(self.schema, name)
    }

    fn table_exist(&self, name: &str) -> bool {
        definition::find(self.schema, name).is_some()
    }
}

/// Fills a table of `pg_catalog`. Those that are not named here are empty, as they would be in
/// PostgreSQL for a database like ours.
fn fill(name: &str, objects: &Objects, rows: &mut Rows) {
    match name {
        "pg_class" => {
            let all = objects.relations().iter();
            all.for_each(|one| class(objects, one, rows));
        }
        "pg_attribute" => objects
            .relations()
            .iter()
            .for_each(|one| attributes(one, rows)),
        "pg_attrdef" => defaults(objects, rows),
        "pg_index" => objects
            .indexes()
            .for_each(|(relation, one)| index(relation, one, rows)),
        "pg_constraint" => {
            let keys = objects.indexes().filter(|(_, one)| one.primary);
            keys.for_each(|(relation, one)| constraints::key_row(relation, one, rows));
            objects.constraints().iter().for_each(|one| one.row(rows));
        }
        "pg_type" => types::all().iter().for_each(|one| pg_type(one, rows)),
        "pg_depend" => dependencies(objects, rows),
        "pg_sequence" | "pg_sequences" => sequences(name, objects, rows),
        "pg_tables" => tables(objects, rows),
        "pg_indexes" => indexes(objects, rows),
        "pg_stat_user_tables" | "pg_stat_all_tables" => table_statistics(objects, rows),
        other => fixed(other, rows),
    }
}

fn class(objects: &Objects, one: &Relation, rows: &mut Rows) {
    let persistent = "p";
    let (mut checks, mut related) = (0, false);
    for constraint in objects.constraints() {
        match &constraint.kind {
            ConstraintKind::Check { .. } => checks += i64::from(constraint.table == one.oid),
            ConstraintKind::Foreign(reference) => {
                related |= [constraint.table, reference.parent].contains(&one.oid);
            }
        }
    }
    rows.push([
        ("oid", one.oid.into()),
        ("relname", one.name.as_str().into()),
        ("relnamespace", one.schema.1.into()),
        ("relowner", OWNER.1.into()),
        ("relam", one.kind.method().into()),
        ("relfilenode", one.oid.into()),
        ("relpages", pages(one.bytes).into()),
        ("reltuples", one.rows.into()),
        ("relhasindex", one.indexed.into()),
        ("relpersistence", persistent.into()),
        ("relkind", one.kind.letter().into()),
        ("relnatts", number(one.columns.len()).into()),
        ("relchecks", checks.into()),
        // PostgreSQL keeps foreign keys by triggers, and its clients look for those first.
        ("relhastriggers", related.into()),
        ("relispopulated", true.into()),
        ("relreplident", "d".into()),
    ]);
}

fn attributes(one: &Relation, rows: &mut Rows) {
    for column in &one.columns {
        let kind = types::by_oid(column.type_oid);
        rows.push([
            ("attrelid", one.oid.into()),
            ("attname", column.name.as_str().into()),
            ("atttypid", column.type_oid.into()),
            ("attstattarget", Cell::Number(-1)),
            ("attlen", kind.map(|kind| kind.bytes).into()),
            ("attnum", column.number.into()),
            (
                "attndims",
                i64::from(kind.is_some_and(types::PgType::is_array)).into(),
            ),
            ("attcacheoff", Cell::Number(-1)),
            ("atttypmod", column.modifier.into()),
            ("attbyval", kind.is_some_and(|kind| kind.by_value).into()),
            ("attalign", kind.map(|kind| kind.alignment).into()),
            ("attstorage", kind.map(|kind| kind.storage).into()),
            ("attnotnull", column.not_null.into()),
            ("atthasdef", column.default.is_some().into()),
            ("attidentity", identity(column).into()),
            (
                "attgenerated",
                if column.generated { "s" } else { "" }.into(),
            ),
            ("attislocal", true.into()),
            ("attcollation", kind.map(|kind| kind.collation).into()),
        ]);
    }
}

/// PostgreSQL's letter for who may give a column that counts by itself another value.
fn identity(column: &Attribute) -> &'static str {
    match column.identity {
        None => "",
        Some(Identity::Always) => "a",
        Some(Identity::ByDefault) => "d",
    }
}

fn defaults(objects: &Objects, rows: &mut Rows) {
    for one in objects.tables() {
        for column in &one.columns {
            if let Some(default) = &column.default {
                rows.push([
                    ("oid", (one.oid + column.number).into()),
                    ("adrelid", one.oid.into()),
                    ("adnum", column.number.into()),
                    ("adbin", default.as_str().into()),
                ]);
            }
        }
    }
}

fn index(relation: &Relation, one: &Index, rows: &mut Rows) {
    let count = one.columns.len();
    // PostgreSQL keeps these for the columns that it is sorted by.
    let each = |value: i64| -> Cell { vec![value; one.keys].into() };
    rows.push([
        ("indexrelid", relation.oid.into()),
        ("indrelid", one.table.into()),
        ("indnatts", number(count).into()),
        ("indnkeyatts", number(one.keys).into()),
        ("indisunique", one.unique.into()),
        ("indisprimary", one.primary.into()),
        ("indimmediate", true.into()),
        ("indisvalid", one.ready.into()),
        ("indisready", one.ready.into()),
        ("indislive", true.into()),
        ("indkey", one.columns.clone().into()),
        ("indcollation", each(0)),
        ("indclass", each(OPERATOR_CLASS.1)),
        ("indoption", each(0)),
    ]);
}

fn pg_type(one: &types::PgType, rows: &mut Rows) {
    rows.push([
        ("oid", one.oid.into()),
        ("typname", one.name.into()),
        ("typnamespace", PG_CATALOG.1.into()),
        ("typowner", OWNER.1.into()),
        ("typlen", one.bytes.into()),
        ("typbyval", one.by_value.into()),
        ("typtype", one.kind.into()),
        ("typcategory", one.category.into()),
        ("typispreferred", one.preferred.into()),
        ("typisdefined", true.into()),
        ("typdelim", ",".into()),
        ("typelem", one.element.into()),
        ("typarray", one.array.into()),
        ("typinput", one.function("in").into()),
        ("typoutput", one.function("out").into()),
        ("typreceive", one.function("recv").into()),
        ("typsend", one.function("send").into()),
        ("typalign", one.alignment.into()),
        ("typstorage", one.storage.into()),
        ("typtypmod", Cell::Number(-1)),
        ("typcollation", one.collation.into()),
    ]);
}

/// Sequences depend on the columns they go with.
fn dependencies(objects: &Objects, rows: &mut Rows) {
    let Some(classes) = definition::find(PG_CATALOG.0, "pg_class") else {
        return;
    };
    for one in objects.owned() {
        let table = objects.by_oid(one.table);
        let column = table.and_then(|table| table.column(one.column));
        // A part of an identity, or only kept for a column.
        let kind = match column.and_then(|column| column.identity) {
            Some(_) => "i",
            None => "a",
        };
        rows.push([
            ("classid", classes.oid.into()),
            ("objid", one.sequence.into()),
            ("refclassid", classes.oid.into()),
            ("refobjid", one.table.into()),
            ("refobjsubid", one.column.into()),
            ("deptype", kind.into()),
        ]);
    }
}

fn sequences(name: &str, objects: &Objects, rows: &mut Rows) {
    for (one, counter) in objects.sequences() {
        let definition = &counter.definition;
        let (kind, _) = types::postgres_type(definition.kind);
        let kind = i64::from(kind);
        if name == "pg_sequence" {
            rows.push([
                ("seqrelid", one.oid.into()),
                ("seqtypid", kind.into()),
                ("seqstart", definition.start.into()),
                ("seqincrement", definition.increment.into()),
                ("seqmax", definition.max.into()),
                ("seqmin", definition.min.into()),
                ("seqcache", definition.cache.into()),
                ("seqcycle", definition.cycle.into()),
            ]);
        } else {
            rows.push([
                ("schemaname", one.schema.0.into()),
                ("sequencename", one.name.as_str().into()),
                ("sequenceowner", OWNER.0.into()),
                ("data_type", types::format(kind, None).into()),
                ("start_value", definition.start.into()),
                ("min_value", definition.min.into()),
                ("max_value", definition.max.into()),
                ("increment_by", definition.increment.into()),
                ("cycle", definition.cycle.into()),
                ("cache_size", definition.cache.into()),
                ("last_value", counter.last.into()),
            ]);
        }
    }
}

fn tables(objects: &Objects, rows: &mut Rows) {
    let tables = objects
        .relations()
        .iter()
        .filter(|one| matches!(one.kind, Kind::Table));
    for one in tables {
        rows.push([
            ("schemaname", one.schema.0.into()),
            ("tablename", one.name.as_str().into()),
            ("tableowner", OWNER.0.into()),
            ("hasindexes", one.indexed.into()),
            ("hasrules", false.into()),
            ("hastriggers", false.into()),
            ("rowsecurity", false.into()),
        ]);
    }
}

fn indexes(objects: &Objects, rows: &mut Rows) {
    for (relation, one) in objects.indexes() {
        let table = objects.by_oid(one.table).map(|table| table.name.as_str());
        rows.push([
            ("schemaname", relation.schema.0.into()),
            ("tablename", table.into()),
            ("indexname", relation.name.as_str().into()),
            ("indexdef", relation.index_definition().into()),
        ]);
    }
}

fn table_statistics(objects: &Objects, rows: &mut Rows) {
    for one in objects.tables() {
        rows.push([
            ("relid", one.oid.into()),
            ("schemaname", one.schema.0.into()),
            ("relname", one.name.as_str().into()),
            ("n_live_tup", one.rows.into()),
        ]);
    }
}

/// Tables whose rows never change.
fn fixed(name: &str, rows: &mut Rows) {
    match name {
        "pg_namespace" => {
            for (name, oid) in [PG_CATALOG, PUBLIC, INFORMATION_SCHEMA, SYS] {
                rows.push([
                    ("oid", oid.into()),
                    ("nspname", name.into()),
                    ("nspowner", OWNER.1.into()),
                ]);
            }
        }
        "pg_am" => {
            for ((name, oid), letter) in [(TABLE_METHOD, "t"), (INDEX_METHOD, "i")] {
                rows.push([
                    ("oid", oid.into()),
                    ("amname", name.into()),
                    ("amhandler", format!("{name}handler").into()),
                    ("amtype", letter.into()),
                ]);
            }
        }
        "pg_opclass" => rows.push([
            ("oid", OPERATOR_CLASS.1.into()),
            ("opcmethod", INDEX_METHOD.1.into()),
            ("opcname", OPERATOR_CLASS.0.into()),
            ("opcnamespace", PG_CATALOG.1.into()),
            ("opcdefault", true.into()),
        ]),
        "pg_collation" => {
            for (name, oid) in COLLATIONS {
                rows.push([
                    ("oid", oid.into()),
                    ("collname", name.into()),
                    ("collnamespace", PG_CATALOG.1.into()),
                    ("collprovider", "c".into()),
                    ("collisdeterministic", true.into()),
                    ("collencoding", Cell::Number(-1)),
                    ("collcollate", "C".into()),
                    ("collctype", "C".into()),
                ]);
            }
        }
        "pg_language" => {
            for (name, oid) in [("internal", 12_i64), ("sql", 14)] {
                rows.push([("oid", oid.into()), ("lanname", name.into())]);
            }
        }
        "pg_settings" => {
            for (name, value) in SETTINGS {
                rows.push([
                    ("name", name.into()),
                    ("setting", value.into()),
                    ("context", "internal".into()),
                    ("vartype", "string".into()),
                    ("source", "default".into()),
                    ("boot_val", value.into()),
                    ("reset_val", value.into()),
                ]);
            }
        }
        "pg_keywords" => {
            for word in KEYWORDS {
                rows.push([
                    ("word", word.into()),
                    ("catcode", "U".into()),
                    ("catdesc", "unreserved".into()),
                ]);
            }
        }
        other => cluster(other, rows),
    }
}

/// What PostgreSQL shares between databases.
fn cluster(name: &str, rows: &mut Rows) {
    match name {
        "pg_database" => rows.push([
            ("oid", DATABASE.1.into()),
            ("datname", DATABASE.0.into()),
            ("datdba", OWNER.1.into()),
            ("encoding", UTF8.into()),
            ("datlocprovider", "c".into()),
            ("datallowconn", true.into()),
            ("datconnlimit", Cell::Number(-1)),
            ("dattablespace", TABLESPACE.1.into()),
            ("datcollate", "C".into()),
            ("datctype", "C".into()),
        ]),
        "pg_tablespace" => rows.push([
            ("oid", TABLESPACE.1.into()),
            ("spcname", TABLESPACE.0.into()),
            ("spcowner", OWNER.1.into()),
        ]),
        "pg_roles" => rows.push([
            ("oid", OWNER.1.into()),
            ("rolname", OWNER.0.into()),
            ("rolsuper", true.into()),
            ("rolinherit", true.into()),
            ("rolcreaterole", true.into()),
            ("rolcreatedb", true.into()),
            ("rolcanlogin", true.into()),
            ("rolreplication", true.into()),
            ("rolconnlimit", Cell::Number(-1)),
            ("rolbypassrls", true.into()),
        ]),
        "pg_user" => rows.push([
            ("usename", OWNER.0.into()),
            ("usesysid", OWNER.1.into()),
            ("usecreatedb", true.into()),
            ("usesuper", true.into()),
            ("userepl", true.into()),
            ("usebypassrls", true.into()),
        ]),
        "pg_timezone_names" => rows.push([
            ("name", "UTC".into()),
            ("abbrev", "UTC".into()),
            ("utc_offset", "00:00:00".into()),
            ("is_dst", false.into()),
        ]),
        _ => {}
    }
}

fn pages(bytes: u64) -> i64 {
    i64::try_from(bytes.div_ceil(PAGE_BYTES)).unwrap_or(i64::MAX)
}

pub(super) fn number(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Queries over tables that are not in the list are simplified as if they had no rows.
    #[test]
    fn tables_that_are_said_to_be_empty_are() {
        let objects = Objects::of_the_system();
        for one in definition::each().filter(|one| one.schema == PG_CATALOG) {
            let mut rows = Rows::new(one);
            fill(one.name, &objects, &mut rows);
            assert!(rows.is_empty() || has_rows(one), "{}", one.name);
        }
        for name in FILLED {
            assert!(definition::find(PG_CATALOG.0, name).is_some(), "{name}");
        }
    }
}
