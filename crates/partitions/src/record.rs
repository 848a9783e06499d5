//! Reading the fields of a metadata record, which may hold any bytes at all.

use crate::{Error, Result};

/// Takes fields from the front of a record; what is missing or too much is an error that names the
/// record.
pub(crate) struct Fields<'a> {
    record: &'a dyn Fn() -> String,
    rest: &'a [u8],
}

impl<'a> Fields<'a> {
    /// Starts reading; `record` names it, and is called only when something does not fit.
    pub(crate) fn new(rest: &'a [u8], record: &'a dyn Fn() -> String) -> Self {
        Self { record, rest }
    }

    /// One byte.
    pub(crate) fn byte(&mut self, field: &str) -> Result<u8> {
        Ok(self.array::<1>(field)?[0])
    }

    /// A big-endian number.
    pub(crate) fn number(&mut self, field: &str) -> Result<u64> {
        Ok(u64::from_be_bytes(self.array(field)?))
    }

    /// A big-endian number with a sign.
    pub(crate) fn signed(&mut self, field: &str) -> Result<i64> {
        Ok(i64::from_be_bytes(self.array(field)?))
    }

    /// Bytes after their own four-byte length.
    pub(crate) fn bytes(&mut self, field: &str) -> Result<&'a [u8]> {
        let length = u32::from_be_bytes(self.array(field)?);
        let taken = usize::try_from(length)
            .ok()
            .and_then(|at| self.rest.split_at_checked(at));
        let (bytes, rest) = taken.ok_or_else(|| self.damaged(&format!("{field} is cut off")))?;
        self.rest = rest;
        Ok(bytes)
    }

    /// Checks that nothing is left over.
    pub(crate) fn finish(self) -> Result<()> {
        match self.rest.len() {
            0 => Ok(()),
            left => Err(self.damaged(&format!("{left} bytes too many"))),
        }
    }

    /// An error that names the record.
    pub(crate) fn damaged(&self, detail: &str) -> Error {
        Error::corrupt((self.record)(), detail)
    }

    fn array<const N: usize>(&mut self, field: &str) -> Result<[u8; N]> {
        let taken = self.rest.split_first_chunk::<N>();
        let (bytes, rest) = taken.ok_or_else(|| self.damaged(&format!("{field} is missing")))?;
        self.rest = rest;
        Ok(*bytes)
    }
}

/// Appends bytes behind their four-byte length.
pub(crate) fn push_bytes(record: &mut Vec<u8>, bytes: &[u8]) {
    let length = u32::try_from(bytes.len()).expect("a key is at most a mebibyte");
    record.extend_from_slice(&length.to_be_bytes());
    record.extend_from_slice(bytes);
}
