//! Arrays of numbers, which travel and lie in storage as bytes of a known shape.
//!
//! ```text
//!   ┌───────────────┬─────────┬──────────────┬──────────────────────────┬──────────────┐
//!   │ magic         │ version │ size         │ type                     │ elements     │
//!   │ 11223344, 4 B │ 1, 4 B  │ n × 8, 4 B   │ 259 int64, 261 double 4 B │ n × 8 B      │
//!   └───────────────┴─────────┴──────────────┴──────────────────────────┴──────────────┘
//!   all little-endian; the magic is the decimal number 11,223,344
//! ```
//!
//! It is the form of Iguazio's clients, so an array that a client wrote as bytes is one that
//! expressions can index. Bytes that begin like an array and are none stay plain bytes.

use crate::attribute::limits::ATTRIBUTE_BYTES_MAX;
use crate::error::{Error, Result};

/// Elements of the longest array, so that it fits in an attribute.
pub const ARRAY_ELEMENTS_MAX: usize = (ATTRIBUTE_BYTES_MAX - HEADER_BYTES) / ELEMENT_BYTES;

const MAGIC: u32 = 11_223_344;
const VERSION: u32 = 1;
const INTEGERS: u32 = 259;
const DOUBLES: u32 = 261;
const HEADER_BYTES: usize = 16;
const ELEMENT_BYTES: usize = 8;

/// Numbers of one kind, in order.
#[derive(Clone, Debug, PartialEq)]
pub enum Array {
    /// Whole numbers.
    Integers(Vec<i64>),
    /// Doubles.
    Doubles(Vec<f64>),
}

impl Array {
    /// Whether bytes begin as an array does.
    pub fn is_array(bytes: &[u8]) -> bool {
        bytes.len() >= HEADER_BYTES && bytes.starts_with(&MAGIC.to_le_bytes())
    }

    /// Reads an array from its bytes.
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        let invalid = |reason| Error::ArrayInvalid { reason };
        let (header, elements) = bytes
            .split_first_chunk::<HEADER_BYTES>()
            .ok_or_else(|| invalid("it ends in its header"))?;
        let mut fields = header.chunks_exact(4).map(little_endian);
        let mut field = || fields.next().expect("16 bytes are four fields");
        if field() != MAGIC {
            return Err(invalid("it does not begin with 11223344"));
        }
        if field() != VERSION {
            return Err(invalid("its version is not 1"));
        }
        if usize::try_from(field()) != Ok(elements.len()) {
            return Err(invalid("its size is not that of its elements"));
        }
        let kind = field();
        let (words, rest) = elements.as_chunks::<ELEMENT_BYTES>();
        if !rest.is_empty() {
            return Err(invalid("its last element is cut off"));
        }
        match kind {
            INTEGERS => Ok(Self::Integers(
                words.iter().map(|word| i64::from_le_bytes(*word)).collect(),
            )),
            DOUBLES => Ok(Self::Doubles(
                words.iter().map(|word| f64::from_le_bytes(*word)).collect(),
            )),
            _ => Err(invalid("its type is neither 259 (int64) nor 261 (double)")),
        }
    }

    /// The bytes of the array.
    pub fn encode(&self) -> Result<Vec<u8>> {
        let size = u32::try_from(self.len() * ELEMENT_BYTES).map_err(|_| Error::ArrayInvalid {
            reason: "it has more elements than its header can tell",
        })?;
        let kind = match self {
            Self::Integers(_) => INTEGERS,
            Self::Doubles(_) => DOUBLES,
        };
        let header = [MAGIC, VERSION, size, kind];
        let mut bytes = Vec::with_capacity(HEADER_BYTES + self.len() * ELEMENT_BYTES);
        bytes.extend(header.into_iter().flat_map(u32::to_le_bytes));
        match self {
            Self::Integers(elements) => {
                bytes.extend(elements.iter().flat_map(|element| element.to_le_bytes()));
            }
            Self::Doubles(elements) => {
                bytes.extend(elements.iter().flat_map(|element| element.to_le_bytes()));
            }
        }
        Ok(bytes)
    }

    /// How many elements it has.
    pub fn len(&self) -> usize {
        match self {
            Self::Integers(elements) => elements.len(),
            Self::Doubles(elements) => elements.len(),
        }
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

fn little_endian(bytes: &[u8]) -> u32 {
    let bytes = bytes.try_into().expect("fields have four bytes");
    u32::from_le_bytes(bytes)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_bytes_are_those_of_the_clients() {
        let bytes = Array::Integers(vec![1, 2]).encode().unwrap();
        assert_eq!(
            bytes,
            [
                0x30, 0x41, 0xab, 0, 1, 0, 0, 0, 16, 0, 0, 0, 3, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0,
                2, 0, 0, 0, 0, 0, 0, 0
            ]
        );
        assert!(Array::is_array(&bytes));
        let doubles = Array::Doubles(vec![1.5]).encode().unwrap();
        assert_eq!(doubles[12..16], [5, 1, 0, 0]);
    }

    #[test]
    fn damage_is_told() {
        let good = Array::Integers(vec![7]).encode().unwrap();
        for (at, byte, reason) in [
            (0, 0, "11223344"),
            (4, 2, "version"),
            (8, 9, "size"),
            (12, 4, "type"),
        ] {
            let mut bytes = good.clone();
            bytes[at] = byte;
            let error = Array::decode(&bytes).unwrap_err().to_string();
            assert!(error.contains(reason), "{error}");
        }
        assert!(Array::decode(&good[..15]).is_err());
        assert!(Array::decode(&good[..20]).is_err());
    }

    proptest! {
        #[test]
        fn arrays_come_back(integers in any::<Vec<i64>>(), bits in any::<Vec<u32>>()) {
            let array = Array::Integers(integers);
            prop_assert_eq!(&Array::decode(&array.encode().unwrap()).unwrap(), &array);
            let array = Array::Doubles(bits.into_iter().map(f64::from).collect());
            prop_assert_eq!(&Array::decode(&array.encode().unwrap()).unwrap(), &array);
        }

        #[test]
        fn no_bytes_panic(mut bytes in any::<Vec<u8>>()) {
            let _ = Array::decode(&bytes);
            bytes.splice(0..0, [0x30, 0x41, 0xab, 0, 1, 0, 0, 0]);
            let _ = Array::decode(&bytes);
        }
    }
}
