//! The catalog's record of one table.
//!
//! ```text
//!   │ version 1 │ name │ columns 2 │ … │ key columns 2 │ position 2 … │
//!                                    └ name │ type │ flags 1            for each column
//! ```
//!
//! A name or type is its length in 2 bytes and its text; numbers are big-endian. Types are written
//! as YQL spells them, so a dump of the record can be read. Flag 1 means NOT NULL.

use keys::Type;
use txn::{Bytes, TableId};

use crate::{Column, Error, Result, Schema};

const VERSION: u8 = 1;
const FLAG_NOT_NULL: u8 = 1;

pub(crate) fn encode(schema: &Schema) -> Bytes {
    let mut out = vec![VERSION];
    put_text(&mut out, schema.name());
    put_count(&mut out, schema.columns().len());
    for column in schema.columns() {
        put_text(&mut out, &column.name);
        put_text(&mut out, &column.kind.to_string());
        out.push(if column.not_null { FLAG_NOT_NULL } else { 0 });
    }
    put_count(&mut out, schema.key_positions().len());
    for position in schema.key_positions() {
        put_count(&mut out, *position);
    }
    out.into()
}

pub(crate) fn decode(table: TableId, bytes: &[u8]) -> Result<Schema> {
    let damaged = |detail| Error::DamagedRecord { table, detail };
    let rest = match bytes.split_first() {
        Some((&VERSION, rest)) => rest,
        Some(_) => return Err(damaged("a version that this program does not know")),
        None => return Err(damaged("it is empty")),
    };
    let mut fields = Fields(rest);
    let short = || damaged("it ends too soon");
    let name = fields.text().ok_or_else(short)?;
    let mut columns = Vec::new();
    for _ in 0..fields.count().ok_or_else(short)? {
        let name = fields.text().ok_or_else(short)?;
        let kind = Type::parse(&fields.text().ok_or_else(short)?)?;
        let not_null = fields.byte().ok_or_else(short)? & FLAG_NOT_NULL != 0;
        columns.push(Column {
            name,
            kind,
            not_null,
        });
    }
    let mut key = Vec::new();
    for _ in 0..fields.count().ok_or_else(short)? {
        key.push(fields.count().ok_or_else(short)?);
    }
    if !fields.0.is_empty() {
        return Err(damaged("it goes on past its end"));
    }
    Schema::from_positions(name, columns, key)
}

fn put_count(out: &mut Vec<u8>, count: usize) {
    let count = u16::try_from(count).expect("schemas have far fewer columns and shorter names");
    out.extend_from_slice(&count.to_be_bytes());
}

fn put_text(out: &mut Vec<u8>, text: &str) {
    put_count(out, text.len());
    out.extend_from_slice(text.as_bytes());
}

struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn byte(&mut self) -> Option<u8> {
        let (byte, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*byte)
    }

    fn count(&mut self) -> Option<usize> {
        let (count, rest) = self.0.split_first_chunk::<2>()?;
        self.0 = rest;
        Some(usize::from(u16::from_be_bytes(*count)))
    }

    fn text(&mut self) -> Option<String> {
        let length = self.count()?;
        let (text, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        String::from_utf8(text.to_vec()).ok()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn schemas_come_back() {
        let columns = vec![
            Column::new("id", Type::Uint64).not_null(),
            Column::new("at", Type::Timestamp),
            Column::new(
                "price",
                Type::Decimal {
                    precision: 22,
                    scale: 9,
                },
            ),
            Column::new("größe", Type::Json),
        ];
        let schema = Schema::new("shop/orders", columns, &["at", "id"]).unwrap();
        assert_eq!(decode(TableId(1), &encode(&schema)).unwrap(), schema);
    }

    proptest! {
        #[test]
        fn foreign_bytes_never_panic(mut bytes: Vec<u8>) {
            let _ = decode(TableId(1), &bytes);
            bytes.insert(0, VERSION);
            let _ = decode(TableId(1), &bytes);
        }

        #[test]
        fn a_cut_record_is_refused(cut in 0_usize..40) {
            let columns = vec![Column::new("identifier", Type::Uint64), Column::new("b", Type::Utf8)];
            let record = encode(&Schema::new("orders", columns, &["identifier"]).unwrap());
            prop_assume!(cut < record.len());
            prop_assert!(decode(TableId(1), &record[..cut]).is_err());
        }
    }
}
