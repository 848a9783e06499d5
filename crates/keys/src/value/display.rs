//! Values as text: the canonical form, which [`Value::parse`] reads back.
//!
//! ```text
//!   Null      NULL                        Date       2026-01-31
//!   Bool      true                        Datetime   2026-01-31T12:00:00Z
//!   Int64     -7                          Timestamp  2026-01-31T12:00:00.25Z
//!   Double    0.5, 1e300, Infinity, NaN   Interval   P1DT2H3M4.5S, -PT1S, PT0S
//!   Decimal   12.50                       Uuid       0189c2a0-7b1e-7c3d-8f00-0123456789ab
//!   Utf8      as it is                    Json       as it is
//!   String    \x0aff
//! ```

use std::fmt::{self, Display, Formatter, LowerExp};

use super::{Value, calendar};

impl Display for Value {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("NULL"),
            Self::Bool(v) => write!(f, "{v}"),
            Self::Int8(v) => write!(f, "{v}"),
            Self::Int16(v) => write!(f, "{v}"),
            Self::Int32(v) => write!(f, "{v}"),
            Self::Int64(v) => write!(f, "{v}"),
            Self::Uint8(v) => write!(f, "{v}"),
            Self::Uint16(v) => write!(f, "{v}"),
            Self::Uint32(v) => write!(f, "{v}"),
            Self::Uint64(v) => write!(f, "{v}"),
            Self::Float(v) => write_float(f, *v, f64::from(*v)),
            Self::Double(v) => write_float(f, *v, *v),
            Self::Decimal(v) => write!(f, "{v}"),
            Self::Utf8(v) | Self::Json(v) => f.write_str(v),
            Self::String(v) => {
                f.write_str("\\x")?;
                write_hex(f, v)
            }
            Self::Date(v) => calendar::write_date(f, i64::from(*v)),
            Self::Datetime(v) => calendar::write_datetime(f, *v),
            Self::Timestamp(v) => calendar::write_timestamp(f, *v),
            Self::Interval(v) => calendar::write_interval(f, *v),
            Self::Uuid(v) => write_uuid(f, v),
        }
    }
}

/// Writes bytes as lower-case hexadecimal digits.
pub(crate) fn write_hex(f: &mut Formatter<'_>, bytes: &[u8]) -> fmt::Result {
    bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
}

fn write_uuid(f: &mut Formatter<'_>, bytes: &[u8; 16]) -> fmt::Result {
    for (at, byte) in bytes.iter().enumerate() {
        if matches!(at, 4 | 6 | 8 | 10) {
            f.write_str("-")?;
        }
        write!(f, "{byte:02x}")?;
    }
    Ok(())
}

/// Writes the shortest digits that read back, with an exponent where plain digits would be long.
fn write_float<T: Display + LowerExp>(f: &mut Formatter<'_>, value: T, wide: f64) -> fmt::Result {
    let magnitude = wide.abs();
    if wide.is_nan() {
        f.write_str("NaN")
    } else if wide.is_infinite() {
        f.write_str(if wide > 0.0 { "Infinity" } else { "-Infinity" })
    } else if wide == 0.0 || (1e-5..1e15).contains(&magnitude) {
        write!(f, "{value}")
    } else {
        write!(f, "{value:e}")
    }
}
