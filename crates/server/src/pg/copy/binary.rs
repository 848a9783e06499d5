//! COPY's binary form.
//!
//! ```text
//!   ┌───────────────────┬───────┬───────────────────┐┌────────┬────────────────┬───┐┌────────┐
//!   │ PGCOPY⏎ FF ␍ ⏎ 00 │ flags │ length, extension ││ fields │ length │ bytes │ … ││   -1   │
//!   └───────────────────┴───────┴───────────────────┘└────────┴────────────────┴───┘└────────┘
//!     11                  4       4                    2        4, -1: NULL           2
//!     once                                             each row                       the end
//! ```
//!
//! Values are laid out as everywhere in binary, see [`crate::pg::types`].

use bytes::{BufMut, BytesMut};
use db::ResultColumn;
use keys::Value;

use crate::pg::types::{self, Format};
use crate::{Error, Result};

const SIGNATURE: &[u8] = b"PGCOPY\n\xff\r\n\0";
/// Flags that change what follows; one of them was for row numbers that no longer exist.
const FLAGS_CRITICAL: u32 = 0xffff_0000;
/// The longest extension of a header that is passed over.
const EXTENSION_BYTES_MAX: usize = 1 << 20;

/// What stands at the front.
pub(super) enum Tuple<'d> {
    /// A row whose end has not come.
    Incomplete,
    /// A row, now read; this follows.
    Row(&'d [u8]),
    /// The mark of the end; this follows.
    End(&'d [u8]),
}

/// Takes the header off the front; `None` if it is not all there.
pub(super) fn take_header(data: &[u8]) -> std::result::Result<Option<&[u8]>, &'static str> {
    let seen = data.get(..SIGNATURE.len()).unwrap_or(data);
    if !SIGNATURE.starts_with(seen) {
        return Err("the signature of the binary form is missing");
    }
    let mut left = data.get(seen.len()..).unwrap_or_default();
    let (Some(flags), Some(length)) = (take_u32(&mut left), take_u32(&mut left)) else {
        return Ok(None);
    };
    if flags & FLAGS_CRITICAL != 0 {
        return Err("the header has flags that are not known");
    }
    let length = usize::try_from(length).unwrap_or(usize::MAX);
    if length > EXTENSION_BYTES_MAX {
        return Err("the header is too long");
    }
    Ok(left.get(length..))
}

/// Takes a row off the front and appends its values.
pub(super) fn take_tuple<'d>(
    data: &'d [u8],
    columns: &[ResultColumn],
    row: &mut Vec<Value>,
) -> Result<Tuple<'d>> {
    let malformed = |reason| Err(Error::CopyFormat { reason });
    let mut left = data;
    let Some((count, after)) = left.split_first_chunk() else {
        return Ok(Tuple::Incomplete);
    };
    left = after;
    let count = i16::from_be_bytes(*count);
    if count == -1 {
        return Ok(Tuple::End(left));
    }
    if usize::try_from(count) != Ok(columns.len()) {
        return malformed("a row has more or fewer fields than there are columns");
    }
    for column in columns {
        let Some(length) = take_u32(&mut left) else {
            return Ok(Tuple::Incomplete);
        };
        if length == u32::MAX {
            row.push(Value::Null);
            continue;
        }
        let Ok(length) = i32::try_from(length) else {
            return malformed("the length of a field is negative");
        };
        let length = usize::try_from(length).expect("it is not negative");
        let Some((field, after)) = left.split_at_checked(length) else {
            return Ok(Tuple::Incomplete);
        };
        left = after;
        let oid = types::declared_oid(column.kind, column.declared);
        row.push(types::decode(field, Format::Binary, oid, column.kind)?);
    }
    Ok(Tuple::Row(left))
}

fn take_u32(left: &mut &[u8]) -> Option<u32> {
    let (number, after) = left.split_first_chunk()?;
    *left = after;
    Some(u32::from_be_bytes(*number))
}

/// Appends the header.
pub(super) fn put_header(out: &mut BytesMut) {
    out.put_slice(SIGNATURE);
    out.put_u32(0);
    out.put_u32(0);
}

/// Appends the mark of the end.
pub(super) fn put_end(out: &mut BytesMut) {
    out.put_i16(-1);
}
