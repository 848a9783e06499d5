//! A range of rows by key values.

use keys::{Value, prefix_upper_bound};
use sql::Schema;
use txn::{Bytes, KeyRange};

use crate::Result;

/// Rows whose keys lie between two bounds. A bound may name all key columns or the first few.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Range {
    lower: Vec<Value>,
    upper: Upper,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Upper {
    /// No bound.
    End,
    /// Keys below this one.
    Before(Vec<Value>),
    /// Keys that begin with these values, and all below.
    Through(Vec<Value>),
}

impl Range {
    /// Every row.
    pub fn all() -> Self {
        Self {
            lower: Vec::new(),
            upper: Upper::End,
        }
    }

    /// Rows whose key begins with these values.
    pub fn prefix(values: &[Value]) -> Self {
        Self {
            lower: values.to_vec(),
            upper: Upper::Through(values.to_vec()),
        }
    }

    /// Rows from `lower` on.
    pub fn from(lower: &[Value]) -> Self {
        Self {
            lower: lower.to_vec(),
            upper: Upper::End,
        }
    }

    /// The same rows, without those at or above `upper`.
    #[must_use]
    pub fn before(mut self, upper: &[Value]) -> Self {
        self.upper = Upper::Before(upper.to_vec());
        self
    }

    /// The same rows, without those above every key that begins with `upper`.
    #[must_use]
    pub fn through(mut self, upper: &[Value]) -> Self {
        self.upper = Upper::Through(upper.to_vec());
        self
    }

    pub(crate) fn encode(&self, schema: &Schema) -> Result<KeyRange> {
        let encode = |values: &[Value]| -> Result<Bytes> {
            Ok(match values {
                [] => Bytes::new(),
                _ => schema.encode_key_prefix(values)?,
            })
        };
        let upper = match &self.upper {
            Upper::End => None,
            Upper::Before(values) => Some(encode(values)?),
            // Every key begins with no values.
            Upper::Through(values) if values.is_empty() => None,
            Upper::Through(values) => Some(prefix_upper_bound(&encode(values)?).into()),
        };
        Ok(KeyRange {
            lower: encode(&self.lower)?,
            upper,
        })
    }
}
