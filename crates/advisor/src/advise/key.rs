//! [`Key`]: a key that a table has or could have, and the bytes of a row under it.
//!
//! ```text
//!   (userid, ts)                     Column Column
//!   (hash(userid), userid, ts)       Hash   Column Column     a generated column, worked out of others
//!   (ts, userid) in 16 buckets       Bucket Column Column     PRIMARY KEY … USING HASH
//!   (userid, bucket of ts, ts)       Column Bucket Column     one user's rows over 16 places
//!   (random id)                      Random                   a UUID that says nothing about the row
//! ```
//!
//! The bytes are those that a real table would have: the same ordered encoding, the same hashes.

use keys::Type;
use keys::digest::{numeric_hash, xxh3, xxh3_128};

use super::values::Values;
use crate::trace::Table;

// The tags of `keys::key`, spelled out because these bytes are appended many million times.
const TAG_UINT32: u8 = 0x44;
const TAG_UINT64: u8 = 0x48;
const TAG_UUID: u8 = 0x78;

/// A key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    /// Its columns, in order.
    pub parts: Vec<Part>,
}

/// One column of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// A column of the table.
    Column(u16),
    /// A hash of columns.
    Hash {
        /// The columns.
        columns: Vec<u16>,
        /// Which hash.
        function: Function,
    },
    /// A hash of columns, modulo a small number.
    Bucket {
        /// The columns.
        columns: Vec<u16>,
        /// Which hash.
        function: Function,
        /// How many buckets there are.
        count: u32,
        /// The type of the bucket: Uint32 or Uint64.
        kind: Type,
    },
    /// A random UUID; the columns only tell one row from another.
    Random {
        /// The columns.
        columns: Vec<u16>,
    },
}

/// A hash function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Function {
    /// `Digest::NumericHash` of one integer.
    Numeric,
    /// `Hash` of any values.
    Values,
}

impl Key {
    /// The key of a table, its generated columns understood where they are hashes that we know.
    pub fn of(table: &Table) -> Self {
        let part = |name: &String| {
            let place = table.column(name)?;
            let column = table.columns.get(usize::from(place))?;
            let generated = column.generated.as_deref();
            let hashed = generated.and_then(|text| Part::parse(table, text, column.kind));
            Some(hashed.unwrap_or(Part::Column(place)))
        };
        Self {
            parts: table.key.iter().filter_map(part).collect(),
        }
    }

    /// The plain columns, in order.
    pub fn columns(&self) -> impl Iterator<Item = u16> + '_ {
        self.parts.iter().filter_map(|part| match part {
            Part::Column(column) => Some(*column),
            _ => None,
        })
    }

    /// As people write it.
    pub fn name(&self, table: &Table) -> String {
        let (buckets, parts) = match self.parts.split_first() {
            Some((Part::Bucket { count, .. }, rest)) if !rest.is_empty() => {
                (format!(" in {count} buckets"), rest)
            }
            _ => (String::new(), self.parts.as_slice()),
        };
        let names: Vec<String> = parts.iter().map(|part| part.name(table)).collect();
        format!("({}){buckets}", names.join(", "))
    }

    /// Appends the bytes of a row under this key.
    pub(crate) fn append(&self, values: &Values, row: &[u32], out: &mut Vec<u8>) {
        for part in &self.parts {
            part.append(values, |column| values.cell(row, column), out);
        }
    }

    /// How far from a plain key it is: what people have to understand and to name.
    pub(crate) fn oddity(&self) -> u32 {
        let one = |part: &Part| match part {
            Part::Column(_) => 0,
            Part::Hash { .. } => 1,
            Part::Bucket { count, .. } => 64 + count,
            Part::Random { .. } => 1000,
        };
        self.parts.iter().map(one).sum()
    }
}

impl Part {
    /// The columns that it is worked out of; its own, if it is plain.
    pub fn inputs(&self) -> &[u16] {
        match self {
            Self::Column(column) => std::slice::from_ref(column),
            Self::Hash { columns, .. }
            | Self::Bucket { columns, .. }
            | Self::Random { columns } => columns,
        }
    }

    fn name(&self, table: &Table) -> String {
        let names = |columns: &[u16]| {
            let names: Vec<&str> = columns.iter().map(|one| column_name(table, *one)).collect();
            names.join(", ")
        };
        match self {
            Self::Column(column) => column_name(table, *column).to_owned(),
            Self::Hash { columns, .. } => format!("hash({})", names(columns)),
            Self::Bucket { columns, count, .. } => {
                format!("hash({}) % {count}", names(columns))
            }
            Self::Random { .. } => "random id".to_owned(),
        }
    }

    /// The part of a generated column: `Digest::NumericHash(a)` or `Hash(a, b)`, with `% n` or not.
    fn parse(table: &Table, text: &str, kind: Type) -> Option<Self> {
        let (call, count) = match text.rsplit_once('%') {
            Some((call, count)) => (call, Some(count.trim().parse::<u32>().ok()?)),
            None => (text, None),
        };
        let (name, rest) = call.trim().split_once('(')?;
        let inside = rest.strip_suffix(')')?;
        let columns: Option<Vec<u16>> = inside
            .split(',')
            .map(|name| table.column(name.trim().trim_matches(['`', '"'])))
            .collect();
        let columns = columns?;
        let name = name.trim();
        let function = if name.eq_ignore_ascii_case("hash") {
            Function::Values
        } else if name.eq_ignore_ascii_case("digest::numerichash") && columns.len() == 1 {
            Function::Numeric
        } else {
            return None;
        };
        match (count, kind) {
            (None, Type::Uint64) => Some(Self::Hash { columns, function }),
            (Some(1..), Type::Uint32 | Type::Uint64) => Some(Self::Bucket {
                columns,
                function,
                count: count?,
                kind,
            }),
            _ => None,
        }
    }

    /// Appends the bytes of this column, given the cells of the columns it is made of.
    pub(crate) fn append(&self, values: &Values, cell: impl Fn(u16) -> u32, out: &mut Vec<u8>) {
        match self {
            Self::Column(column) => out.extend_from_slice(values.bytes(*column, cell(*column))),
            Self::Hash { columns, function } => {
                let hash = hash_of(values, columns, *function, cell, out);
                append_number(out, hash, Type::Uint64);
            }
            Self::Bucket {
                columns,
                function,
                count,
                kind,
            } => {
                let hash = hash_of(values, columns, *function, cell, out);
                append_number(out, hash % u64::from((*count).max(1)), *kind);
            }
            Self::Random { columns } => {
                let start = out.len();
                for column in columns {
                    out.extend_from_slice(values.bytes(*column, cell(*column)));
                }
                let (high, low) = xxh3_128(out.get(start..).unwrap_or_default());
                out.truncate(start);
                let uuid = (u128::from(high) << 64 | u128::from(low)).to_be_bytes();
                out.push(TAG_UUID);
                out.extend_from_slice(&uuid);
            }
        }
    }
}

/// The hash of some cells; `scratch` is as long afterwards as before.
fn hash_of(
    values: &Values,
    columns: &[u16],
    function: Function,
    cell: impl Fn(u16) -> u32,
    scratch: &mut Vec<u8>,
) -> u64 {
    if let (Function::Numeric, [column]) = (function, columns) {
        return numeric_hash(values.number(*column, cell(*column)));
    }
    let start = scratch.len();
    for column in columns {
        scratch.extend_from_slice(values.bytes(*column, cell(*column)));
    }
    let hash = xxh3(scratch.get(start..).unwrap_or_default());
    scratch.truncate(start);
    hash
}

/// Appends a number as a key column of this type has it: Uint32 or Uint64.
pub(crate) fn append_number(out: &mut Vec<u8>, number: u64, kind: Type) {
    match kind {
        Type::Uint32 => {
            let number = u32::try_from(number).unwrap_or(u32::MAX);
            out.push(TAG_UINT32);
            out.extend_from_slice(&number.to_be_bytes());
        }
        _ => {
            out.push(TAG_UINT64);
            out.extend_from_slice(&number.to_be_bytes());
        }
    }
}

/// The name of a column; one that is not there is a question mark.
pub(crate) fn column_name(table: &Table, column: u16) -> &str {
    let column = table.columns.get(usize::from(column));
    column.map_or("?", |column| &column.name)
}

#[cfg(test)]
mod tests {
    use keys::{Value, encode_key};

    use super::*;

    #[test]
    fn numbers_have_the_bytes_of_real_keys() {
        let number = |number, kind| {
            let mut out = Vec::new();
            append_number(&mut out, number, kind);
            out
        };
        for one in [0_u32, 7, u32::MAX] {
            let real = encode_key(&[Value::Uint32(one)]).unwrap();
            assert_eq!(number(u64::from(one), Type::Uint32), real);
            let real = encode_key(&[Value::Uint64(u64::from(one))]).unwrap();
            assert_eq!(number(u64::from(one), Type::Uint64), real);
        }
        let uuid = encode_key(&[Value::Uuid([9; 16])]).unwrap();
        assert_eq!(uuid.split_first(), Some((&TAG_UUID, [9; 16].as_slice())));
    }
}
