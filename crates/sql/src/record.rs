//! The catalog's records: what is kept of each table, index and sequence.
//!
//! ```text
//!   table      │ 5 │ T │ name │ columns 2 │ … │ key columns 2 │ position 2 … │ slots 2 │ … │
//!                               └ name │ type │ flags 1 │ [declared] │ [default] │ [generated] │ [former] │
//!                               column 2, FFFF for none │ type │ missing, as a row of one ┘
//!              │ indexes 2 │ … │ options 1 │ … │ sequences 2 │ column 2 │ number 8 … │
//!                            │               └ tag 1 │ value 8
//!                            └ name │ number 8 │ flags 1 │ positions │ positions
//!              │ checks 2 │ name │ text … │ foreign keys 2 │ … │
//!                                                            └ name │ positions │ parent 8, 0 for itself │
//!                                index 8, 0 for the key │ on delete 1 │ on update 1 │ when it is checked 1
//!   index      │ 5 │ I │ name │ number of its table 8 │
//!   sequence   │ 5 │ S │ name │ type │ flags 1 │ increment 8 │ min 8 │ max 8 │ start 8 │ cache 8 │
//!   building   │ 5 │ B │        a table that is being filled and takes another's place when it is full
//!
//!   version 4  the same, without checks and foreign keys
//!   version 3  the same, without generated
//!   version 2  the same, without declared
//!   version 1  │ 1 │ name │ columns 2 │ name │ type │ flags 1 … │ key columns 2 │ position 2 … │
//! ```
//!
//! A name, type, declared type or default is its length in 2 bytes and its text; a missing value has its length in 4;
//! numbers are big-endian. Types are written as YQL spells them, so a dump of the record can be read.

mod fields;

use keys::{Declared, RowView, Type, Value, encode_row};
use syntax::table::TtlUnit;
use txn::{Bytes, TableId};

use crate::options::{ReadReplicas, TableOptions, Ttl};
use crate::schema::{Action, Check, Checked, ForeignKey, Owned, Parts, Slot, Target};
use crate::sequence::Definition;
use crate::{Column, Error, Identity, Index, Result, Schema};

use fields::{Fields, put_count, put_long, put_number, put_text};

const VERSION: u8 = 5;
/// Tables as they were before they had checks and foreign keys.
const VERSION_UNCHECKED: u8 = 4;
/// Tables as they were before columns could be generated.
const VERSION_UNGENERATED: u8 = 3;
/// Tables as they were before columns remembered how they were declared.
const VERSION_UNDECLARED: u8 = 2;
/// Tables as they were before they had slots, indexes and options.
const VERSION_BARE: u8 = 1;

const NOT_NULL: u8 = 1;
const HIDDEN: u8 = 2;
const DEFAULT: u8 = 4;
const DECLARED: u8 = 8;
const IDENTITY: u8 = 16;
const ALWAYS: u8 = 32;
const GENERATED: u8 = 64;
const FORMER: u8 = 128;

const UNIQUE: u8 = 1;
const READY: u8 = 2;

const OWNED: u8 = 1;
const CYCLE: u8 = 2;

/// The position of a dropped column.
const NO_COLUMN: usize = 0xffff;

/// What a record says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Record {
    Table(Box<Schema>),
    /// The entries of an index.
    Index {
        name: String,
        owner: TableId,
    },
    Sequence(Definition),
    /// A table that is being filled.
    Building,
}

pub(crate) fn encode(record: &Record) -> Bytes {
    let mut out = vec![VERSION];
    match record {
        Record::Table(schema) => {
            out.push(b'T');
            put_schema(&mut out, schema.parts());
        }
        Record::Index { name, owner } => {
            out.push(b'I');
            put_text(&mut out, name);
            put_number(&mut out, owner.0);
        }
        Record::Sequence(definition) => {
            out.push(b'S');
            put_sequence(&mut out, definition);
        }
        Record::Building => out.push(b'B'),
    }
    out.into()
}

pub(crate) fn decode(table: TableId, bytes: &[u8]) -> Result<Record> {
    let damaged = |detail| Error::DamagedRecord { table, detail };
    let (record, rest) = match bytes {
        [
            version @ (VERSION | VERSION_UNCHECKED | VERSION_UNGENERATED | VERSION_UNDECLARED),
            kind,
            rest @ ..,
        ] => {
            let mut fields = Fields(rest);
            let record = match kind {
                b'T' => {
                    take_schema(&mut fields, *version).map(|schema| Record::Table(Box::new(schema)))
                }
                b'I' => take_index_record(&mut fields),
                b'S' => take_sequence(&mut fields).map(Record::Sequence),
                b'B' => Some(Record::Building),
                _ => return Err(damaged("a kind that this program does not know")),
            };
            (record, fields.0)
        }
        [VERSION_BARE, rest @ ..] => {
            let mut fields = Fields(rest);
            let record = take_bare_schema(&mut fields);
            let record = record.map(|schema| Record::Table(Box::new(schema)));
            (record, fields.0)
        }
        [] => return Err(damaged("it is empty")),
        _ => return Err(damaged("a version that this program does not know")),
    };
    if !rest.is_empty() {
        return Err(damaged("it goes on past its end, or does not make sense"));
    }
    record.ok_or_else(|| damaged("it ends too soon, or does not make sense"))
}

fn put_schema(out: &mut Vec<u8>, parts: &Parts) {
    put_text(out, &parts.name);
    put_count(out, parts.columns.len());
    for column in &parts.columns {
        put_text(out, &column.name);
        put_text(out, &column.kind.to_string());
        let flags = [
            (column.not_null, NOT_NULL),
            (column.hidden, HIDDEN),
            (column.default.is_some(), DEFAULT),
            (column.declared != Declared::Usual, DECLARED),
            (column.identity.is_some(), IDENTITY),
            (column.identity == Some(Identity::Always), ALWAYS),
            (column.generated.is_some(), GENERATED),
            (column.former.is_some(), FORMER),
        ];
        out.push(sum(flags));
        if column.declared != Declared::Usual {
            put_text(out, &column.declared.to_string());
        }
        if let Some(default) = &column.default {
            put_text(out, default);
        }
        if let Some(generated) = &column.generated {
            put_text(out, generated);
        }
        if let Some(former) = &column.former {
            put_text(out, former);
        }
    }
    put_positions(out, &parts.key);
    put_count(out, parts.slots.len());
    for slot in &parts.slots {
        put_count(out, slot.column.unwrap_or(NO_COLUMN));
        put_text(out, &slot.kind.to_string());
        let missing = encode_row(std::slice::from_ref(&slot.missing));
        put_long(out, &missing.expect("a default is far shorter than a cell"));
    }
    put_count(out, parts.indexes.len());
    for index in &parts.indexes {
        put_text(out, &index.name);
        put_number(out, index.id.0);
        out.push(sum([(index.unique, UNIQUE), (index.ready, READY)]));
        put_positions(out, &index.columns);
        put_positions(out, &index.cover);
    }
    put_options(out, &parts.options);
    put_count(out, parts.sequences.len());
    for owned in &parts.sequences {
        put_count(out, owned.column);
        put_number(out, owned.sequence.0);
    }
    put_count(out, parts.checks.len());
    for check in &parts.checks {
        put_text(out, &check.name);
        put_text(out, &check.text);
    }
    put_count(out, parts.foreign_keys.len());
    for foreign in &parts.foreign_keys {
        put_foreign_key(out, foreign);
    }
}

fn put_foreign_key(out: &mut Vec<u8>, foreign: &ForeignKey) {
    put_text(out, &foreign.name);
    put_positions(out, &foreign.columns);
    put_number(out, foreign.parent.map_or(0, |parent| parent.0));
    let index = match foreign.target {
        Target::Key => 0,
        Target::Index(index) => index.0,
    };
    put_number(out, index);
    let ForeignKey {
        on_delete,
        on_update,
        checked,
        ..
    } = foreign;
    out.extend([on_delete.letter(), on_update.letter(), checked.letter()]);
}

fn take_check(fields: &mut Fields<'_>) -> Option<Check> {
    Some(Check {
        name: fields.text()?,
        text: fields.text()?,
    })
}

fn take_foreign_key(fields: &mut Fields<'_>) -> Option<ForeignKey> {
    let none_or = |number: u64| (number != 0).then_some(TableId(number));
    Some(ForeignKey {
        name: fields.text()?,
        columns: fields.list(Fields::count)?,
        parent: none_or(fields.number()?),
        target: none_or(fields.number()?).map_or(Target::Key, Target::Index),
        on_delete: Action::of_letter(fields.byte()?)?,
        on_update: Action::of_letter(fields.byte()?)?,
        checked: Checked::of_letter(fields.byte()?)?,
    })
}

fn sum<const N: usize>(flags: [(bool, u8); N]) -> u8 {
    let set = flags.into_iter().filter(|(set, _)| *set);
    set.fold(0, |sum, (_, flag)| sum | flag)
}

fn put_positions(out: &mut Vec<u8>, positions: &[usize]) {
    put_count(out, positions.len());
    for position in positions {
        put_count(out, *position);
    }
}

fn take_schema(fields: &mut Fields<'_>, version: u8) -> Option<Schema> {
    let name = fields.text()?;
    let columns = fields.list(take_column)?;
    let key = fields.list(Fields::count)?;
    let slots = fields.list(|fields| {
        let column = Some(fields.count()?).filter(|column| *column != NO_COLUMN);
        let kind = fields.kind()?;
        let missing = take_missing(kind, fields.long()?)?;
        Some(Slot {
            column,
            kind,
            missing,
        })
    })?;
    let indexes = fields.list(|fields| {
        let (name, id) = (fields.text()?, TableId(fields.number()?));
        let flags = fields.byte()?;
        Some(Index {
            name,
            id,
            unique: flags & UNIQUE != 0,
            columns: fields.list(Fields::count)?,
            cover: fields.list(Fields::count)?,
            ready: flags & READY != 0,
        })
    })?;
    let options = take_options(fields)?;
    let sequences = fields.list(|fields| {
        let (column, sequence) = (fields.count()?, TableId(fields.number()?));
        Some(Owned { sequence, column })
    })?;
    let (mut checks, mut foreign_keys) = (Vec::new(), Vec::new());
    if version == VERSION {
        checks = fields.list(take_check)?;
        foreign_keys = fields.list(take_foreign_key)?;
    }
    let parts = Parts {
        name,
        columns,
        key,
        slots,
        indexes,
        options,
        sequences,
        checks,
        foreign_keys,
    };
    Schema::from_parts(parts).ok()
}

fn take_column(fields: &mut Fields<'_>) -> Option<Column> {
    let (name, kind) = (fields.text()?, fields.kind()?);
    let flags = fields.byte()?;
    let declared = match flags & DECLARED {
        0 => Declared::Usual,
        _ => Declared::parse(&fields.text()?),
    };
    let default = match flags & DEFAULT {
        0 => None,
        _ => Some(fields.text()?),
    };
    let generated = match flags & GENERATED {
        0 => None,
        _ => Some(fields.text()?),
    };
    let former = match flags & FORMER {
        0 => None,
        _ => Some(fields.text()?),
    };
    let identity = match flags & ALWAYS {
        0 => Identity::ByDefault,
        _ => Identity::Always,
    };
    Some(Column {
        name,
        kind,
        declared: declared.of(kind),
        not_null: flags & NOT_NULL != 0,
        default,
        identity: (flags & IDENTITY != 0).then_some(identity),
        generated,
        former,
        hidden: flags & HIDDEN != 0,
    })
}

fn take_missing(kind: Type, row: &[u8]) -> Option<Value> {
    RowView::new(row).ok()?.column(0, kind).ok()?
}

fn take_bare_schema(fields: &mut Fields<'_>) -> Option<Schema> {
    let name = fields.text()?;
    let columns = fields.list(|fields| {
        let mut column = Column::new(fields.text()?, fields.kind()?);
        column.not_null = fields.byte()? & NOT_NULL != 0;
        Some(column)
    })?;
    let key = fields.list(Fields::count)?;
    Schema::from_parts(Parts::new(name, columns, key)).ok()
}

fn put_options(out: &mut Vec<u8>, options: &TableOptions) {
    let switch = |on: Option<bool>| on.map(u64::from);
    let replicas = |per_zone| {
        let said = options
            .read_replicas
            .filter(|one| one.per_zone == per_zone)?;
        Some(u64::from(said.count))
    };
    let ttl = options.ttl;
    let unit = ttl.and_then(|ttl| ttl.unit).map(|unit| match unit {
        TtlUnit::Seconds => 0,
        TtlUnit::Milliseconds => 1,
        TtlUnit::Microseconds => 2,
        TtlUnit::Nanoseconds => 3,
    });
    let column = ttl.map(|ttl| u64::try_from(ttl.column).expect("columns are few"));
    let values = [
        (1, switch(options.by_size)),
        (2, options.partition_size_mb),
        (3, switch(options.by_load)),
        (4, options.min_partitions_count),
        (5, options.max_partitions_count),
        (6, replicas(false)),
        (7, replicas(true)),
        (8, switch(options.key_bloom_filter)),
        (9, options.store_row.then_some(1)),
        (10, column),
        (11, ttl.map(|ttl| ttl.after_us.cast_unsigned())),
        (12, unit),
    ];
    let set = values
        .into_iter()
        .filter_map(|(tag, value)| Some((tag, value?)));
    let set: Vec<(u8, u64)> = set.collect();
    out.push(u8::try_from(set.len()).expect("there are twelve tags"));
    for (tag, value) in set {
        out.push(tag);
        put_number(out, value);
    }
}

fn take_options(fields: &mut Fields<'_>) -> Option<TableOptions> {
    let mut options = TableOptions::default();
    let (mut column, mut after_us, mut unit) = (None, None, None);
    for _ in 0..fields.byte()? {
        let (tag, value) = (fields.byte()?, fields.number()?);
        let on = value != 0;
        match tag {
            1 => options.by_size = Some(on),
            2 => options.partition_size_mb = Some(value),
            3 => options.by_load = Some(on),
            4 => options.min_partitions_count = Some(value),
            5 => options.max_partitions_count = Some(value),
            6 | 7 => {
                options.read_replicas = Some(ReadReplicas {
                    per_zone: tag == 7,
                    count: u8::try_from(value).ok()?,
                });
            }
            8 => options.key_bloom_filter = Some(on),
            9 => options.store_row = on,
            10 => column = Some(usize::try_from(value).ok()?),
            11 => after_us = Some(value.cast_signed()),
            12 => {
                unit = Some(match value {
                    0 => TtlUnit::Seconds,
                    1 => TtlUnit::Milliseconds,
                    2 => TtlUnit::Microseconds,
                    3 => TtlUnit::Nanoseconds,
                    _ => return None,
                });
            }
            _ => return None,
        }
    }
    options.ttl = match (column, after_us) {
        (Some(column), Some(after_us)) => Some(Ttl {
            column,
            after_us,
            unit,
        }),
        (None, None) => None,
        _ => return None,
    };
    Some(options)
}

fn take_index_record(fields: &mut Fields<'_>) -> Option<Record> {
    let (name, owner) = (fields.text()?, TableId(fields.number()?));
    Some(Record::Index { name, owner })
}

fn put_sequence(out: &mut Vec<u8>, definition: &Definition) {
    put_text(out, &definition.name);
    put_text(out, &definition.kind.to_string());
    out.push(sum([(definition.owned, OWNED), (definition.cycle, CYCLE)]));
    let numbers = [
        definition.increment,
        definition.min,
        definition.max,
        definition.start,
        definition.cache,
    ];
    for number in numbers {
        put_number(out, number.cast_unsigned());
    }
}

fn take_sequence(fields: &mut Fields<'_>) -> Option<Definition> {
    let (name, kind) = (fields.text()?, fields.kind()?);
    let flags = fields.byte()?;
    let mut number = || fields.number().map(u64::cast_signed);
    let definition = Definition {
        name,
        owned: flags & OWNED != 0,
        kind,
        increment: number()?,
        min: number()?,
        max: number()?,
        start: number()?,
        cache: number()?,
        cycle: flags & CYCLE != 0,
    };
    definition.check().ok()?;
    Some(definition)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn full_schema() -> Schema {
        let columns = vec![
            Column::new("id", Type::Uint64)
                .not_null()
                .with_default("nextval('orders_id_seq')"),
            Column::new("at", Type::Timestamp),
            Column::new("gone", Type::Utf8),
            Column::new(
                "price",
                Type::Decimal {
                    precision: 22,
                    scale: 9,
                },
            ),
            Column::new("größe", Type::Json).declared(Declared::Jsonb),
            Column::new("_rowid", Type::Uuid).hidden(),
            Column::new("bucket", Type::Uint64).generated("Hash(at, id) % 8"),
        ];
        let schema = Schema::new("shop/orders", columns, &["at", "id"]).unwrap();
        let mut parts = schema.parts().clone();
        parts.columns[0].identity = Some(Identity::Always);
        parts.drop_column(2);
        let added = Column::new("note", Type::Utf8)
            .declared(Declared::Varchar(Some(7)))
            .with_default("'none'");
        parts.add_column(added, Value::from("none"));
        parts.indexes.push(Index {
            name: "by_note".into(),
            id: TableId(77),
            unique: true,
            columns: vec![5],
            cover: vec![2, 3],
            ready: false,
        });
        parts.options = TableOptions {
            by_size: Some(false),
            partition_size_mb: Some(100),
            by_load: Some(true),
            min_partitions_count: Some(4),
            max_partitions_count: Some(8),
            read_replicas: Some(ReadReplicas {
                per_zone: true,
                count: 2,
            }),
            key_bloom_filter: Some(true),
            store_row: true,
            ttl: Some(Ttl {
                column: 1,
                after_us: 3_600_000_000,
                unit: None,
            }),
        };
        parts.sequences.push(Owned {
            sequence: TableId(5),
            column: 0,
        });
        constrain(&mut parts);
        Schema::from_parts(parts).unwrap()
    }

    fn constrain(parts: &mut Parts) {
        parts.checks.push(Check {
            name: "priced".into(),
            text: "price > 0 OR note LIKE 'f%'".into(),
        });
        parts.foreign_keys = vec![
            ForeignKey {
                name: "of_customer".into(),
                columns: vec![5, 1],
                parent: Some(TableId(9)),
                target: Target::Index(TableId(11)),
                on_delete: Action::Cascade,
                on_update: Action::SetNull,
                checked: Checked::Deferred,
            },
            ForeignKey {
                name: "before".into(),
                columns: vec![1, 0],
                parent: None,
                target: Target::Key,
                on_delete: Action::Restrict,
                on_update: Action::NoAction,
                checked: Checked::Always,
            },
        ];
    }

    fn records() -> Vec<Record> {
        let sequence = Definition::new("orders_id_seq".into(), Type::Int32);
        vec![
            Record::Table(Box::new(full_schema())),
            Record::Index {
                name: "by_note".into(),
                owner: TableId(12),
            },
            Record::Sequence(Definition {
                owned: true,
                cycle: true,
                ..sequence
            }),
            Record::Building,
        ]
    }

    #[test]
    fn records_come_back() {
        for record in records() {
            assert_eq!(decode(TableId(1), &encode(&record)).unwrap(), record);
        }
    }

    #[test]
    fn records_of_version_1_are_still_read() {
        let bytes = b"\x01\x00\x01t\x00\x02\x00\x02id\x00\x06Uint64\x01\x00\x01v\x00\x04Utf8\x00\
            \x00\x01\x00\x00";
        let columns = vec![
            Column::new("id", Type::Uint64).not_null(),
            Column::new("v", Type::Utf8),
        ];
        let schema = Schema::new("t", columns, &["id"]).unwrap();
        assert_eq!(
            decode(TableId(1), bytes).unwrap(),
            Record::Table(Box::new(schema))
        );
    }

    #[test]
    fn records_of_version_2_are_still_read() {
        let bytes =
            b"\x02T\x00\x01t\x00\x02\x00\x02id\x00\x06Uint64\x01\x00\x02at\x00\x09Timestamp\x05\
            \x00\x05now()\x00\x02\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00";
        let columns = vec![
            Column::new("id", Type::Uint64).not_null(),
            Column::new("at", Type::Timestamp)
                .not_null()
                .with_default("now()"),
        ];
        let schema = Schema::new("t", columns, &["id", "at"]).unwrap();
        assert_eq!(
            decode(TableId(1), bytes).unwrap(),
            Record::Table(Box::new(schema))
        );
    }

    #[test]
    fn records_of_version_3_are_still_read() {
        let bytes =
            b"\x03T\x00\x01t\x00\x02\x00\x02id\x00\x06Uint64\x01\x00\x02at\x00\x09Timestamp\x05\
            \x00\x05now()\x00\x02\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00";
        let mut since = bytes.to_vec();
        since[0] = VERSION_UNCHECKED;
        let then = decode(TableId(1), bytes).unwrap();
        assert_eq!(then, decode(TableId(1), &since).unwrap());
    }

    #[test]
    fn records_of_version_4_are_still_read() {
        let mut parts = full_schema().parts().clone();
        parts.checks.clear();
        parts.foreign_keys.clear();
        let record = Record::Table(Box::new(Schema::from_parts(parts).unwrap()));
        let mut then = encode(&record).to_vec();
        // Two counts of nothing are all that was added.
        then.truncate(then.len() - 4);
        then[0] = VERSION_UNCHECKED;
        assert_eq!(decode(TableId(1), &then).unwrap(), record);
    }

    proptest! {
        #[test]
        fn foreign_bytes_never_panic(mut bytes: Vec<u8>) {
            let _ = decode(TableId(1), &bytes);
            bytes.insert(0, VERSION_BARE);
            let _ = decode(TableId(1), &bytes);
            for kind in *b"TIS" {
                bytes.splice(0..1, [VERSION, kind]);
                let _ = decode(TableId(1), &bytes);
            }
        }

        #[test]
        fn a_record_with_one_byte_changed_never_panics(at in 0_usize..400, byte: u8) {
            for record in records() {
                let mut bytes = encode(&record).to_vec();
                if let Some(place) = bytes.get_mut(at) {
                    *place = byte;
                }
                let _ = decode(TableId(1), &bytes);
            }
        }

        #[test]
        fn a_cut_record_is_refused(cut in 0_usize..400) {
            for record in records() {
                let bytes = encode(&record);
                if cut < bytes.len() {
                    prop_assert!(decode(TableId(1), &bytes[..cut]).is_err());
                }
            }
        }
    }
}
