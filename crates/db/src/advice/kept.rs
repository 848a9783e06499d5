//! [`Kept`]: the last advice on a table and all that was followed, as they lie in the database.
//!
//! A record is text in lines of fields, each line a word and what belongs to it:
//!
//! ```text
//!   evenkeel_advice ┊ 1
//!   advice  ┊ when
//!   key     ┊ one field for each column of the answer                        one line a key
//!   applied ┊ advised ┊ applied ┊ table ┊ seven sums ┊ the fields of its key  one line each
//! ```
//!
//! Fields are parted by tabs; tabs, line ends and backslashes in them are escaped, and `\N` is NULL. A
//! record of a later version is left alone: it is as if there were none.

use keys::{Type, Value};

use super::applied::{Applied, Sums};

/// The first word of a record, and its version.
const NAME: &str = "evenkeel_advice";
const VERSION: &str = "1";
const NULL: &str = "\\N";

/// What is kept of one table.
#[derive(Clone, Debug, Default)]
pub(super) struct Kept {
    pub(super) at_us: u64,
    pub(super) rows: Vec<Vec<Value>>,
    pub(super) applied: Vec<Applied>,
}

impl Kept {
    /// As text.
    pub(super) fn encode(&self) -> String {
        let mut text = format!("{NAME}\t{VERSION}\nadvice\t{}\n", self.at_us);
        for row in &self.rows {
            text += &format!("key\t{}\n", fields(row));
        }
        for one in &self.applied {
            let Sums {
                busy_ns,
                peak_ns,
                single,
                multi,
                reads,
                partitions,
                rows,
            } = one.sums;
            text += &format!(
                "applied\t{}\t{}\t{}\t{busy_ns}\t{peak_ns}\t{single}\t{multi}\t{reads}\t{partitions}\
                 \t{rows}\t{}\n",
                one.advised_us,
                one.applied_us,
                one.table,
                fields(&one.row)
            );
        }
        text
    }

    /// What a text says, if it is of a version that is known; lines that make no sense are passed over.
    pub(super) fn decode(text: &str, kinds: &[Type]) -> Option<Self> {
        let mut lines = text.lines();
        let first: Vec<&str> = lines.next()?.split('\t').collect();
        if first != [NAME, VERSION] {
            return None;
        }
        let mut kept = Self::default();
        for line in lines {
            let mut fields = line.split('\t');
            match fields.next() {
                Some("advice") => kept.at_us = fields.next()?.parse().ok()?,
                Some("key") => kept.rows.extend(row(fields, kinds)),
                Some("applied") => kept.applied.extend(applied(fields, kinds)),
                _ => {}
            }
        }
        Some(kept)
    }
}

fn applied<'f>(mut fields: impl Iterator<Item = &'f str>, kinds: &[Type]) -> Option<Applied> {
    let mut number = || fields.next()?.parse::<u64>().ok();
    let applied = Applied {
        advised_us: number()?,
        applied_us: number()?,
        table: number()?,
        sums: Sums {
            busy_ns: number()?,
            peak_ns: number()?,
            single: number()?,
            multi: number()?,
            reads: number()?,
            partitions: number()?,
            rows: number()?,
        },
        ..Applied::default()
    };
    Some(Applied {
        row: row(fields, kinds)?,
        ..applied
    })
}

fn fields(row: &[Value]) -> String {
    let field = |value: &Value| match value {
        Value::Null => NULL.to_owned(),
        Value::Double(number) => format!("{number:?}"),
        other => escaped(&other.to_string()),
    };
    row.iter().map(field).collect::<Vec<_>>().join("\t")
}

fn row<'f>(mut fields: impl Iterator<Item = &'f str>, kinds: &[Type]) -> Option<Vec<Value>> {
    let values = kinds.iter().map(|kind| {
        let field = fields.next()?;
        if field == NULL {
            return Some(Value::Null);
        }
        Some(match kind {
            Type::Uint64 => Value::Uint64(field.parse().ok()?),
            Type::Bool => Value::Bool(field.parse().ok()?),
            Type::Double => Value::Double(field.parse().ok()?),
            _ => Value::Utf8(unescaped(field).into()),
        })
    });
    values.collect()
}

fn escaped(text: &str) -> String {
    let text = text.replace('\\', "\\\\").replace('\t', "\\t");
    text.replace('\n', "\\n").replace('\r', "\\r")
}

fn unescaped(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut characters = text.chars();
    while let Some(one) = characters.next() {
        plain.push(match one {
            '\\' => match characters.next() {
                Some('t') => '\t',
                Some('n') => '\n',
                Some('r') => '\r',
                Some(other) => other,
                None => '\\',
            },
            other => other,
        });
    }
    plain
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const KINDS: [Type; 4] = [Type::Uint64, Type::Bool, Type::Double, Type::Utf8];

    fn row() -> impl Strategy<Value = Vec<Value>> {
        let text = prop_oneof![
            any::<String>().prop_map(|text| Value::Utf8(text.into())),
            Just(Value::Null)
        ];
        (any::<u64>(), any::<bool>(), -1e9..1e9_f64, text).prop_map(|(rank, best, share, text)| {
            vec![
                Value::Uint64(rank),
                Value::Bool(best),
                Value::Double(share),
                text,
            ]
        })
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_again(
            at_us: u64,
            rows in prop::collection::vec(row(), 0..5),
            followed in prop::collection::vec((any::<[u64; 5]>(), row()), 0..3),
        ) {
            let applied = |([advised_us, applied_us, table, busy_ns, rows], row): ([u64; 5], _)| Applied {
                advised_us,
                applied_us,
                table,
                row,
                sums: Sums { busy_ns, rows, ..Sums::default() },
                ..Applied::default()
            };
            let kept = Kept {
                at_us,
                rows,
                applied: followed.into_iter().map(applied).collect(),
            };
            let again = Kept::decode(&kept.encode(), &KINDS).unwrap();
            prop_assert_eq!(again.at_us, kept.at_us);
            prop_assert_eq!(again.rows, kept.rows);
            prop_assert_eq!(again.applied.len(), kept.applied.len());
            for (one, two) in again.applied.iter().zip(&kept.applied) {
                prop_assert_eq!(&one.row, &two.row);
                prop_assert_eq!(one.sums, two.sums);
                let times = (one.advised_us, one.applied_us, one.table);
                prop_assert_eq!(times, (two.advised_us, two.applied_us, two.table));
            }
        }

        #[test]
        fn any_text_is_read_or_passed_over(text: String) {
            let _ = Kept::decode(&text, &KINDS);
            let _ = Kept::decode(&format!("{NAME}\t{VERSION}\n{text}"), &KINDS);
        }
    }

    #[test]
    fn a_later_version_is_left_alone() {
        assert!(Kept::decode("evenkeel_advice\t2\nadvice\t7\n", &KINDS).is_none());
        let first = Kept::decode(
            "evenkeel_advice\t1\nadvice\t7\nkey\t1\ttrue\t0.5\ta\\tb\n",
            &KINDS,
        );
        let row = [
            Value::Uint64(1),
            Value::Bool(true),
            Value::Double(0.5),
            Value::from("a\tb"),
        ];
        assert_eq!(first.unwrap().rows, [row.to_vec()]);
    }
}
