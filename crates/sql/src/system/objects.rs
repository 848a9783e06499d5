//! What there is, as PostgreSQL numbers it: tables, their columns, indexes, sequences.
//!
//! ```text
//!   number          what
//!   below 16384     PostgreSQL's own: schemas, types, system tables
//!   16384 + 2·id    the table, secondary index or sequence with that id
//!   16385 + 2·id    its primary key, both the index and the constraint
//!   from 2^31       collections, by a digest of their names
//! ```
//!
//! A number depends on the table's id or name and on nothing else, so it is the same in every query, on
//! every connection, and after a restart.

use std::sync::Arc;

use keys::{Declared, Type, Value};
use txn::{Store, TableId};

use super::constraints::Constraint;
use super::definition::{self, Definition, PUBLIC};
use super::types;
use crate::{Catalog, Identity, Sequence, Table, collection, default, sequence};

/// The first number that is not PostgreSQL's own.
const FIRST_OID: i64 = 16384;
/// Numbers are 32 bits without a sign; tables past this many share them.
const TABLES_MAX: u64 = 1 << 30;

/// What tells the numbers of collections from all others.
const COLLECTIONS_BIT: u32 = 1 << 31;

/// The database that everything is in.
pub(crate) const DATABASE: (&str, i64) = ("evenkeel", 5);
/// The role that owns everything.
pub(crate) const OWNER: (&str, i64) = ("evenkeel", 10);
/// How rows of a table are found.
pub(crate) const TABLE_METHOD: (&str, i64) = ("heap", 2);
/// How rows are found by an index.
pub(crate) const INDEX_METHOD: (&str, i64) = ("btree", 403);

/// The number of a table.
pub(crate) fn table_oid(table: TableId) -> i64 {
    let id = i64::try_from(table.0 % TABLES_MAX).expect("it is below 2^30");
    FIRST_OID + 2 * id
}

/// The number of a table's primary key.
pub(super) fn key_oid(table: TableId) -> i64 {
    table_oid(table) + 1
}

/// The number of a collection.
fn collection_oid(name: &str) -> i64 {
    let digest = keys::hash_values(&[Value::from(name)]) % u64::from(COLLECTIONS_BIT);
    let digest = u32::try_from(digest).expect("it is below 2^31");
    i64::from(digest | COLLECTIONS_BIT)
}

/// A thing that has a row in `pg_class`.
#[derive(Debug)]
pub(crate) struct Relation {
    pub(crate) oid: i64,
    pub(crate) name: String,
    pub(crate) schema: (&'static str, i64),
    pub(crate) kind: Kind,
    pub(crate) columns: Vec<Attribute>,
    pub(crate) rows: u64,
    pub(crate) bytes: u64,
    /// Whether it has an index that can be seen.
    pub(crate) indexed: bool,
}

/// What kind of relation it is.
#[derive(Debug)]
pub(crate) enum Kind {
    Table,
    View,
    Index(Index),
    Sequence(Counter),
}

/// What a sequence counts, and where it stands.
#[derive(Debug)]
pub(crate) struct Counter {
    pub(crate) definition: sequence::Definition,
    /// The last number it gave; none before the first.
    pub(crate) last: Option<i64>,
}

/// What an index is over.
#[derive(Debug)]
pub(crate) struct Index {
    /// The table.
    pub(crate) table: i64,
    /// The table's name.
    pub(crate) table_name: String,
    /// Its columns by their number in the table, and after them those it only holds.
    pub(crate) columns: Vec<i64>,
    /// How many of them it is sorted by.
    pub(crate) keys: usize,
    pub(crate) primary: bool,
    pub(crate) unique: bool,
    /// Whether it can be read already.
    pub(crate) ready: bool,
}

/// A column of a relation.
#[derive(Debug)]
pub(crate) struct Attribute {
    pub(crate) name: String,
    /// Its place, from 1.
    pub(crate) number: i64,
    pub(crate) type_oid: i64,
    pub(crate) modifier: i64,
    pub(crate) not_null: bool,
    /// What it is if not given, as SQL; nothing if it counts by itself.
    pub(crate) default: Option<String>,
    /// Whether it counts by itself, and who may give it another value.
    pub(crate) identity: Option<Identity>,
    /// Whether its default is what it is always worked out by.
    pub(crate) generated: bool,
}

impl Kind {
    /// PostgreSQL's letter.
    pub(crate) fn letter(&self) -> &'static str {
        match self {
            Self::Table => "r",
            Self::View => "v",
            Self::Index(_) => "i",
            Self::Sequence(_) => "S",
        }
    }

    pub(crate) fn method(&self) -> i64 {
        match self {
            Self::Table => TABLE_METHOD.1,
            Self::View | Self::Sequence(_) => 0,
            Self::Index(_) => INDEX_METHOD.1,
        }
    }
}

/// Everything that has a number.
#[derive(Debug)]
pub(crate) struct Objects {
    relations: Vec<Relation>,
    owned: Vec<Owned>,
    constraints: Vec<Constraint>,
}

/// A sequence that goes with a column.
#[derive(Debug)]
pub(crate) struct Owned {
    pub(crate) sequence: i64,
    pub(crate) table: i64,
    pub(crate) column: i64,
}

impl Objects {
    /// Looks at what there is now.
    pub(crate) fn new(catalog: &Catalog, store: &Arc<Store>) -> Self {
        let mut relations: Vec<Relation> = definition::each().map(Relation::system).collect();
        let (mut owned, mut constraints) = (Vec::new(), Vec::new());
        for one in catalog.sequences() {
            relations.push(Relation::sequence(&one, store));
        }
        for table in catalog.all() {
            let (rows, bytes) = size(&table, store);
            let mut relation = Relation {
                rows,
                bytes,
                ..Relation::table(&table)
            };
            owned.extend(table.schema().parts().sequences.iter().map(|one| Owned {
                sequence: table_oid(one.sequence),
                table: relation.oid,
                column: number(one.column),
            }));
            constraints.extend(Constraint::of(catalog, &table));
            let indexes = indexes(&table, &relation);
            relation.indexed = !indexes.is_empty();
            relations.extend(indexes);
            relations.push(relation);
        }
        for table in collection::all(catalog, store) {
            relations.push(Relation {
                oid: collection_oid(table.schema().name()),
                ..Relation::table(&table)
            });
        }
        Self {
            relations,
            owned,
            constraints,
        }
    }

    /// CHECKs and foreign keys.
    pub(crate) fn constraints(&self) -> &[Constraint] {
        &self.constraints
    }

    /// The sequences that go with columns.
    pub(crate) fn owned(&self) -> &[Owned] {
        &self.owned
    }

    /// The sequence that goes with a column of a table.
    pub(crate) fn owned_sequence(&self, table: i64, column: &str) -> Option<&Relation> {
        let mut columns = self.by_oid(table)?.columns.iter();
        let number = columns.find(|one| one.name == column)?.number;
        let mut owned = self.owned.iter();
        let found = owned.find(|one| one.table == table && one.column == number)?;
        self.by_oid(found.sequence)
    }

    /// What a column counts by that counts by itself.
    pub(crate) fn identity_sequence(
        &self,
        table: i64,
        column: &Attribute,
    ) -> Option<&sequence::Definition> {
        column.identity?;
        match &self.owned_sequence(table, &column.name)?.kind {
            Kind::Sequence(counter) => Some(&counter.definition),
            _ => None,
        }
    }

    /// What there is in a database without tables.
    #[cfg(test)]
    pub(crate) fn of_the_system() -> Self {
        Self {
            relations: definition::each().map(Relation::system).collect(),
            owned: Vec::new(),
            constraints: Vec::new(),
        }
    }

    pub(crate) fn relations(&self) -> &[Relation] {
        &self.relations
    }

    pub(crate) fn by_oid(&self, oid: i64) -> Option<&Relation> {
        self.relations.iter().find(|one| one.oid == oid)
    }

    /// The relation that a name means; without a schema it is looked for where tables are, then
    /// among PostgreSQL's own.
    pub(crate) fn by_name(&self, text: &str) -> Option<&Relation> {
        let parts = name_parts(text);
        let find = |schema: &str, name: &str| {
            let mut all = self.relations.iter();
            all.find(|one| one.schema.0 == schema && one.name == name)
        };
        match parts.as_slice() {
            [name] => find(PUBLIC.0, name).or_else(|| find(definition::PG_CATALOG.0, name)),
            [schema, name] => find(schema, name),
            _ => None,
        }
    }

    /// The user's tables, each with its indexes.
    pub(crate) fn tables(&self) -> impl Iterator<Item = &Relation> {
        let mine = |one: &&Relation| one.schema == PUBLIC && matches!(one.kind, Kind::Table);
        self.relations.iter().filter(mine)
    }

    pub(crate) fn sequences(&self) -> impl Iterator<Item = (&Relation, &Counter)> {
        self.relations.iter().filter_map(|one| match &one.kind {
            Kind::Sequence(counter) => Some((one, counter)),
            _ => None,
        })
    }

    pub(crate) fn indexes(&self) -> impl Iterator<Item = (&Relation, &Index)> {
        self.relations.iter().filter_map(|one| match &one.kind {
            Kind::Index(index) => Some((one, index)),
            _ => None,
        })
    }
}

/// The parts of a dotted name, unquoted and folded as SQL does.
fn name_parts(text: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut quoted = false;
    let mut letters = text.trim().chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '"' if quoted && letters.next_if_eq(&'"').is_some() => {
                let part = parts.last_mut().expect("there is a part");
                part.push('"');
            }
            '"' => quoted = !quoted,
            '.' if !quoted => parts.push(String::new()),
            _ => {
                let part = parts.last_mut().expect("there is a part");
                match quoted {
                    true => part.push(letter),
                    false => part.extend(letter.to_lowercase()),
                }
            }
        }
    }
    parts
}

impl Relation {
    fn system(definition: &'static Definition) -> Self {
        let column = |(index, column): (usize, &definition::Column)| Attribute {
            name: column.name.to_owned(),
            number: number(index),
            type_oid: column.type_oid(),
            modifier: -1,
            not_null: !column.nullable,
            default: None,
            identity: None,
            generated: false,
        };
        Self {
            oid: definition.oid,
            name: definition.name.to_owned(),
            schema: definition.schema,
            kind: if definition.view {
                Kind::View
            } else {
                Kind::Table
            },
            columns: definition.columns.iter().enumerate().map(column).collect(),
            rows: 0,
            bytes: 0,
            indexed: false,
        }
    }

    fn table(table: &Table) -> Self {
        let column = |(index, column): (usize, &crate::Column)| Attribute {
            not_null: column.not_null,
            identity: column.identity,
            ..Attribute::new(number(index), &column.name, column.kind)
                .declared(column.declared)
                .with_default(column)
        };
        let columns = table.schema().columns().iter().enumerate();
        let columns = columns.filter(|(_, column)| !column.hidden);
        Self {
            oid: table_oid(table.id()),
            name: table.schema().name().to_owned(),
            schema: PUBLIC,
            kind: Kind::Table,
            columns: columns.map(column).collect(),
            rows: 0,
            bytes: 0,
            indexed: false,
        }
    }

    fn sequence(sequence: &Sequence, store: &Arc<Store>) -> Self {
        let definition = sequence.definition();
        let standing = sequence.standing(store).ok();
        let last = standing.filter(|one| one.called).map(|one| one.last);
        Self {
            oid: table_oid(sequence.id()),
            name: definition.name.clone(),
            schema: PUBLIC,
            columns: vec![
                Attribute::new(1, "last_value", Type::Int64),
                Attribute::new(2, "log_cnt", Type::Int64),
                Attribute::new(3, "is_called", Type::Bool),
            ],
            kind: Kind::Sequence(Counter { definition, last }),
            rows: 1,
            bytes: 0,
            indexed: false,
        }
    }

    /// Its name in a statement, with the schema if that has to be named.
    pub(crate) fn shown(&self) -> String {
        let name = quoted(&self.name);
        match self.schema {
            PUBLIC | definition::PG_CATALOG => name,
            (schema, _) => format!("{schema}.{name}"),
        }
    }

    /// Whether it is found without naming the schema.
    pub(crate) fn is_visible(&self) -> bool {
        matches!(self.schema, PUBLIC | definition::PG_CATALOG)
    }

    /// Its columns as they stand in a statement: those an index is sorted by, and those it holds.
    pub(crate) fn column_lists(&self, keys: usize) -> (String, String) {
        let names: Vec<_> = self.columns.iter().map(|one| quoted(&one.name)).collect();
        let (sorted, held) = names.split_at_checked(keys).unwrap_or((&names, &[]));
        (sorted.join(", "), held.join(", "))
    }

    /// The statement that would make the index, if it is one.
    pub(crate) fn index_definition(&self) -> Option<String> {
        let Kind::Index(index) = &self.kind else {
            return None;
        };
        let unique = if index.unique { "UNIQUE " } else { "" };
        let (sorted, held) = self.column_lists(index.keys);
        let mut text = format!(
            "CREATE {unique}INDEX {} ON {}.{} USING {} ({sorted})",
            quoted(&self.name),
            self.schema.0,
            index.table_name,
            INDEX_METHOD.0,
        );
        if !held.is_empty() {
            text += &format!(" INCLUDE ({held})");
        }
        Some(text)
    }

    pub(crate) fn column(&self, number: i64) -> Option<&Attribute> {
        self.columns.iter().find(|one| one.number == number)
    }
}

impl Attribute {
    fn new(number: i64, name: &str, kind: Type) -> Self {
        let (oid, modifier) = types::postgres_type(kind);
        Self {
            name: name.to_owned(),
            number,
            type_oid: i64::from(oid),
            modifier: i64::from(modifier),
            not_null: false,
            default: None,
            identity: None,
            generated: false,
        }
    }

    /// The same, with what the column was declared as.
    fn declared(mut self, declared: Declared) -> Self {
        if let Some(oid) = declared.oid() {
            self.type_oid = i64::from(oid);
            self.modifier = i64::from(declared.modifier());
        }
        self
    }

    /// The same, with the default as PostgreSQL spells it: a string names its type.
    fn with_default(mut self, column: &crate::Column) -> Self {
        if let Some(expression) = &column.generated {
            self.default = Some(expression.clone());
            self.generated = true;
            return self;
        }
        let default = column.default.as_ref();
        self.default = default.filter(|_| column.identity.is_none()).map(|text| {
            match default::is_string(text) {
                true => format!("{text}::{}", types::format(self.type_oid, None)),
                false => text.clone(),
            }
        });
        self
    }
}

/// The indexes of a table: its primary key unless that is hidden, and the secondary ones.
fn indexes(table: &Table, relation: &Relation) -> Vec<Relation> {
    let schema = table.schema();
    let mut all = Vec::new();
    if !schema.visible_key().is_empty() {
        let columns = numbers(schema.visible_key());
        let one = Index {
            table: relation.oid,
            table_name: relation.shown(),
            keys: columns.len(),
            columns,
            primary: true,
            unique: true,
            ready: true,
        };
        let name = format!("{}_pkey", schema.name());
        all.push(index(relation, key_oid(table.id()), name, one));
    }
    for secondary in schema.indexes() {
        let mut columns = numbers(&secondary.columns);
        let keys = columns.len();
        columns.extend(numbers(&secondary.cover));
        let one = Index {
            table: relation.oid,
            table_name: relation.shown(),
            columns,
            keys,
            primary: false,
            unique: secondary.unique,
            ready: secondary.ready,
        };
        let oid = table_oid(secondary.id);
        all.push(index(relation, oid, secondary.name.clone(), one));
    }
    all
}

fn numbers(positions: &[usize]) -> Vec<i64> {
    positions.iter().map(|position| number(*position)).collect()
}

fn index(table: &Relation, oid: i64, name: String, one: Index) -> Relation {
    let columns = one.columns.iter().enumerate().filter_map(|(index, at)| {
        let column = table.column(*at)?;
        Some(Attribute {
            name: column.name.clone(),
            number: number(index),
            type_oid: column.type_oid,
            modifier: column.modifier,
            not_null: false,
            default: None,
            identity: None,
            generated: false,
        })
    });
    Relation {
        oid,
        name,
        schema: table.schema,
        columns: columns.collect(),
        kind: Kind::Index(one),
        rows: table.rows,
        bytes: 0,
        indexed: false,
    }
}

/// Rows and bytes of a table, as its partitions count them.
fn size(table: &Table, store: &Store) -> (u64, u64) {
    let Ok(map) = store.map(table.id()) else {
        return (0, 0);
    };
    map.partitions().iter().fold((0, 0), |(rows, bytes), one| {
        let totals = one.counters.counts().totals();
        (rows + totals.rows, bytes + totals.bytes)
    })
}

/// PostgreSQL counts columns from 1.
pub(super) fn number(index: usize) -> i64 {
    i64::try_from(index).expect("a table has few columns") + 1
}

/// A name as it is written in a statement.
pub(crate) fn quoted(name: &str) -> String {
    let mut letters = name.chars();
    let plain = letters
        .next()
        .is_some_and(|first| first.is_ascii_lowercase() || first == '_')
        && letters.all(|one| one.is_ascii_lowercase() || one.is_ascii_digit() || one == '_');
    if plain {
        name.to_owned()
    } else {
        format!("\"{}\"", name.replace('"', "\"\""))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_stable_and_apart() {
        assert_eq!(table_oid(TableId(1)), 16386);
        assert_eq!(key_oid(TableId(1)), 16387);
        assert_eq!(table_oid(TableId(2)), 16388);
        assert!(key_oid(TableId(u64::MAX)) <= i64::from(u32::MAX));
    }

    #[test]
    fn names_are_quoted_where_they_must() {
        assert_eq!(quoted("orders"), "orders");
        assert_eq!(quoted("Orders"), "\"Orders\"");
        assert_eq!(quoted("a\"b/c"), "\"a\"\"b/c\"");
        assert_eq!(name_parts("public.\"A.b\""), ["public", "A.b"]);
        assert_eq!(name_parts(&quoted("a\"b")), ["a\"b"]);
    }
}
