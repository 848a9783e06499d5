//! An item: attributes by name, and bytes from which any one of them reads alone.
//!
//! ```text
//!   ┌────────┬────────┬───────┬──────────────┬──────────────┬────────┬──────────┐
//!   │ format │ count  │ kinds │ name ends    │ value ends   │ names  │ values   │
//!   │ 1 B    │ n, 2 B │ n B   │ n × width B  │ n × width B  │        │          │
//!   └────────┴────────┴───────┴──────────────┴──────────────┴────────┴──────────┘
//!     │                         ╰ where each ends, counted from the first, little-endian
//!     ╰ high half: version, now 1; low half: width of an end, 1, 2 or 4
//!
//!   { a: 7, b: "hi", c: true }
//!   11 │ 03 00 │ 02 04 01 │ 01 02 03 │ 01 03 03 │ 61 62 63 │ 07  68 69
//!
//!   kinds   0 false · 1 true · 2 integer · 3 double · 4 text · 5 bytes · 6 time
//!   values  false, true: none · integer: as few bytes as hold it, none for 0, little-endian, signed ·
//!           double 8 B · text, bytes as is · time: seconds 8 B, nanoseconds 4 B
//! ```
//!
//! Names are sorted by their bytes, so one attribute is found by halving and only its own value is
//! decoded. The last ends say where the item ends: it can stand in front of other bytes.

use std::collections::BTreeMap;
use std::collections::btree_map;

use crate::attribute::{Attribute, Time};
use crate::error::{Error, Result};
use crate::row::Width;

const VERSION: u8 = 1;

const FALSE: u8 = 0;
const TRUE: u8 = 1;
const INTEGER: u8 = 2;
const DOUBLE: u8 = 3;
const TEXT: u8 = 4;
const BYTES: u8 = 5;
const TIME: u8 = 6;

/// Attributes by name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Item {
    attributes: BTreeMap<String, Attribute>,
}

impl Item {
    /// An item without attributes.
    pub fn new() -> Self {
        Self::default()
    }

    /// The attribute of this name.
    pub fn get(&self, name: &str) -> Option<&Attribute> {
        self.attributes.get(name)
    }

    /// Gives a name a value, and answers what it had before.
    pub fn set(&mut self, name: impl Into<String>, attribute: Attribute) -> Option<Attribute> {
        self.attributes.insert(name.into(), attribute)
    }

    /// Takes an attribute away, and answers what it was.
    pub fn remove(&mut self, name: &str) -> Option<Attribute> {
        self.attributes.remove(name)
    }

    /// Takes over the attributes of another item; where both have one, the other's stays.
    pub fn merge(&mut self, other: Self) {
        self.attributes.extend(other.attributes);
    }

    /// How many attributes it has.
    pub fn len(&self) -> usize {
        self.attributes.len()
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.attributes.is_empty()
    }

    /// The attributes in the order of their names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Attribute)> {
        self.attributes
            .iter()
            .map(|(name, attribute)| (name.as_str(), attribute))
    }

    /// The bytes of the item. They do not depend on the order in which attributes were set.
    pub fn encode(&self) -> Result<Vec<u8>> {
        let count = u16::try_from(self.len()).map_err(|_| Error::ItemAttributesTooMany {
            attributes: self.len(),
            limit: usize::from(u16::MAX),
        })?;
        let name_bytes: usize = self.attributes.keys().map(String::len).sum();
        let value_bytes: usize = self.attributes.values().map(value_bytes).sum();
        let limit = usize::try_from(u32::MAX).unwrap_or(usize::MAX);
        if name_bytes.max(value_bytes) > limit {
            return Err(Error::ItemTooLong {
                bytes: name_bytes + value_bytes,
                limit,
            });
        }
        let width = Width::for_bytes(name_bytes.max(value_bytes));
        let directory = self.len() * (1 + 2 * width.bytes());
        let mut bytes = Vec::with_capacity(3 + directory + name_bytes + value_bytes);
        bytes.push(VERSION << 4 | width.code());
        bytes.extend(count.to_le_bytes());
        bytes.extend(self.attributes.values().map(kind));
        append_ends(&mut bytes, width, self.attributes.keys().map(String::len));
        append_ends(
            &mut bytes,
            width,
            self.attributes.values().map(self::value_bytes),
        );
        for name in self.attributes.keys() {
            bytes.extend_from_slice(name.as_bytes());
        }
        for attribute in self.attributes.values() {
            append_value(&mut bytes, attribute);
        }
        Ok(bytes)
    }

    /// Reads an item from its bytes.
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        ItemView::new(bytes)?.to_item()
    }
}

impl FromIterator<(String, Attribute)> for Item {
    fn from_iter<I: IntoIterator<Item = (String, Attribute)>>(attributes: I) -> Self {
        Self {
            attributes: attributes.into_iter().collect(),
        }
    }
}

impl IntoIterator for Item {
    type Item = (String, Attribute);
    type IntoIter = btree_map::IntoIter<String, Attribute>;

    fn into_iter(self) -> Self::IntoIter {
        self.attributes.into_iter()
    }
}

fn append_ends(bytes: &mut Vec<u8>, width: Width, lengths: impl Iterator<Item = usize>) {
    let mut end = 0;
    for length in lengths {
        end += length;
        width.append(bytes, end);
    }
}

/// An encoded item, read in place.
#[derive(Clone, Copy, Debug)]
pub struct ItemView<'a> {
    width: Width,
    kinds: &'a [u8],
    name_ends: &'a [u8],
    value_ends: &'a [u8],
    names: &'a [u8],
    values: &'a [u8],
}

impl<'a> ItemView<'a> {
    /// Looks at the bytes of one item, checking its header and its length but not its attributes.
    pub fn new(bytes: &'a [u8]) -> Result<Self> {
        let (view, rest) = Self::split(bytes)?;
        if !rest.is_empty() {
            return Err(undecodable("its values go on"));
        }
        Ok(view)
    }

    /// Looks at the item that bytes begin with, and answers the bytes after it.
    pub fn split(bytes: &'a [u8]) -> Result<(Self, &'a [u8])> {
        let cut_off = || undecodable("it ends too early");
        let (&format, rest) = bytes.split_first().ok_or_else(cut_off)?;
        if format >> 4 != VERSION {
            return Err(Error::ItemVersionUnknown {
                found: format >> 4,
                known: VERSION,
            });
        }
        let width = Width::of_code(format & 0x0f)
            .ok_or_else(|| undecodable("no offsets have this width"))?;
        let (count, rest) = rest.split_first_chunk().ok_or_else(cut_off)?;
        let count = usize::from(u16::from_le_bytes(*count));
        let ends_bytes = count * width.bytes();
        let (kinds, rest) = rest.split_at_checked(count).ok_or_else(cut_off)?;
        let (name_ends, rest) = rest.split_at_checked(ends_bytes).ok_or_else(cut_off)?;
        let (value_ends, rest) = rest.split_at_checked(ends_bytes).ok_or_else(cut_off)?;
        let last = |ends| match count.checked_sub(1) {
            Some(last) => width.end(ends, last).ok_or_else(cut_off),
            None => Ok(0),
        };
        let (names, rest) = rest
            .split_at_checked(last(name_ends)?)
            .ok_or_else(cut_off)?;
        let (values, rest) = rest
            .split_at_checked(last(value_ends)?)
            .ok_or_else(cut_off)?;
        let view = Self {
            width,
            kinds,
            name_ends,
            value_ends,
            names,
            values,
        };
        Ok((view, rest))
    }

    /// How many attributes the item has.
    pub fn len(&self) -> usize {
        self.kinds.len()
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.kinds.is_empty()
    }

    /// The attribute of this name, the only one that is decoded.
    pub fn get(&self, name: &str) -> Result<Option<Attribute>> {
        let (mut from, mut to) = (0, self.len());
        while from < to {
            let middle = from.midpoint(to);
            match self.name_bytes(middle)?.cmp(name.as_bytes()) {
                std::cmp::Ordering::Less => from = middle + 1,
                std::cmp::Ordering::Greater => to = middle,
                std::cmp::Ordering::Equal => return self.attribute(middle).map(Some),
            }
        }
        Ok(None)
    }

    /// The name at place `i` in their order.
    pub fn name(&self, i: usize) -> Result<&'a str> {
        std::str::from_utf8(self.name_bytes(i)?).map_err(|_| undecodable("a name is not UTF-8"))
    }

    /// The attribute at place `i` in the order of the names.
    pub fn attribute(&self, i: usize) -> Result<Attribute> {
        let kind = self
            .kinds
            .get(i)
            .ok_or_else(|| undecodable("it has fewer attributes"))?;
        let value = piece(self.width, self.value_ends, self.values, i)?;
        decode_value(*kind, value).map_err(undecodable)
    }

    /// Decodes the whole item.
    pub fn to_item(&self) -> Result<Item> {
        let mut attributes = BTreeMap::new();
        let mut last: Option<&str> = None;
        for i in 0..self.len() {
            let name = self.name(i)?;
            if last.is_some_and(|last| last >= name) {
                return Err(undecodable("its names are not in order"));
            }
            last = Some(name);
            attributes.insert(name.to_owned(), self.attribute(i)?);
        }
        Ok(Item { attributes })
    }

    fn name_bytes(&self, i: usize) -> Result<&'a [u8]> {
        piece(self.width, self.name_ends, self.names, i)
    }
}

fn piece<'a>(width: Width, ends: &[u8], pieces: &'a [u8], i: usize) -> Result<&'a [u8]> {
    let start = i
        .checked_sub(1)
        .map_or(Some(0), |before| width.end(ends, before));
    start
        .zip(width.end(ends, i))
        .and_then(|(start, end)| pieces.get(start..end))
        .ok_or_else(|| undecodable("its offsets cross"))
}

#[cold]
fn undecodable(reason: &'static str) -> Error {
    Error::ItemUndecodable { reason }
}

fn kind(attribute: &Attribute) -> u8 {
    match attribute {
        Attribute::Bool(false) => FALSE,
        Attribute::Bool(true) => TRUE,
        Attribute::Integer(_) => INTEGER,
        Attribute::Double(_) => DOUBLE,
        Attribute::Text(_) => TEXT,
        Attribute::Bytes(_) => BYTES,
        Attribute::Time(_) => TIME,
    }
}

fn value_bytes(attribute: &Attribute) -> usize {
    match attribute {
        Attribute::Bool(_) => 0,
        Attribute::Integer(integer) => integer_bytes(*integer),
        Attribute::Double(_) => 8,
        Attribute::Text(text) => text.len(),
        Attribute::Bytes(bytes) => bytes.len(),
        Attribute::Time(_) => 12,
    }
}

/// Enough for all bits and one for the sign; none for zero.
fn integer_bytes(integer: i64) -> usize {
    let same = match integer {
        0 => return 0,
        1.. => integer.leading_zeros(),
        _ => integer.leading_ones(),
    };
    let bits = i64::BITS - same + 1;
    usize::try_from(bits.div_ceil(8)).expect("64 bits are eight bytes")
}

fn append_value(bytes: &mut Vec<u8>, attribute: &Attribute) {
    match attribute {
        Attribute::Bool(_) => {}
        Attribute::Integer(integer) => {
            let little_endian = integer.to_le_bytes();
            bytes.extend(little_endian.into_iter().take(integer_bytes(*integer)));
        }
        Attribute::Double(double) => bytes.extend(double.to_le_bytes()),
        Attribute::Text(text) => bytes.extend_from_slice(text.as_bytes()),
        Attribute::Bytes(value) => bytes.extend_from_slice(value),
        Attribute::Time(time) => {
            bytes.extend(time.secs().to_le_bytes());
            bytes.extend(time.nanos().to_le_bytes());
        }
    }
}

fn decode_value(kind: u8, value: &[u8]) -> std::result::Result<Attribute, &'static str> {
    const LENGTH: &str = "a value has the wrong length";
    Ok(match kind {
        FALSE | TRUE if value.is_empty() => Attribute::Bool(kind == TRUE),
        INTEGER => Attribute::Integer(decode_integer(value).ok_or(LENGTH)?),
        DOUBLE => Attribute::Double(f64::from_le_bytes(value.try_into().map_err(|_| LENGTH)?)),
        TEXT => {
            let text = std::str::from_utf8(value).map_err(|_| "a text is not UTF-8")?;
            Attribute::Text(text.to_owned())
        }
        BYTES => Attribute::Bytes(value.to_vec()),
        TIME => {
            let (secs, nanos) = value.split_first_chunk().ok_or(LENGTH)?;
            let nanos = u32::from_le_bytes(nanos.try_into().map_err(|_| LENGTH)?);
            let time = Time::new(i64::from_le_bytes(*secs), nanos);
            Attribute::Time(time.ok_or("a time has more nanoseconds than a second")?)
        }
        FALSE | TRUE => return Err(LENGTH),
        _ => return Err("no attribute is of this kind"),
    })
}

fn decode_integer(value: &[u8]) -> Option<i64> {
    let sign = match value.last() {
        Some(last) if last >> 7 == 1 => 0xff,
        _ => 0,
    };
    let mut bytes = [sign; 8];
    bytes.get_mut(..value.len())?.copy_from_slice(value);
    Some(i64::from_le_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn any_attribute() -> impl Strategy<Value = Attribute> {
        prop_oneof![
            any::<i64>().prop_map(Attribute::Integer),
            (-300..300_i64).prop_map(Attribute::Integer),
            any::<u32>().prop_map(|number| Attribute::Double(f64::from(number) / 8.0)),
            ".*".prop_map(Attribute::Text),
            any::<Vec<u8>>().prop_map(Attribute::Bytes),
            any::<bool>().prop_map(Attribute::Bool),
            (any::<i64>(), 0..1_000_000_000_u32)
                .prop_map(|(secs, nanos)| Attribute::Time(Time::new(secs, nanos).unwrap())),
        ]
    }

    fn any_item() -> impl Strategy<Value = Item> {
        prop::collection::vec(("[a-c_]{1,3}|.{0,8}", any_attribute()), 0..12)
            .prop_map(|attributes| attributes.into_iter().collect())
    }

    #[test]
    fn the_drawing_is_true() {
        let mut item = Item::new();
        item.set("c", Attribute::Bool(true));
        item.set("b", Attribute::Text("hi".to_owned()));
        item.set("a", Attribute::Integer(7));
        let hex: String = item
            .encode()
            .unwrap()
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        assert_eq!(hex, "1103000204010102030103036162630768".to_owned() + "69");
        assert_eq!(Item::new().encode().unwrap(), [0x11, 0, 0]);
    }

    #[test]
    fn integers_are_short_and_exact() {
        for (integer, bytes) in [
            (0, 0),
            (1, 1),
            (-1, 1),
            (127, 1),
            (128, 2),
            (-128, 1),
            (-129, 2),
            (32_768, 3),
            (i64::MAX, 8),
            (i64::MIN, 8),
        ] {
            let mut encoded = Vec::new();
            append_value(&mut encoded, &Attribute::Integer(integer));
            assert_eq!(encoded.len(), bytes, "{integer}");
            assert_eq!(decode_integer(&encoded), Some(integer));
        }
    }

    #[test]
    fn wide_items_come_back() {
        let mut item = Item::new();
        for i in 0..1600 {
            item.set(format!("name_{i}"), Attribute::Bytes(vec![1; i]));
        }
        let bytes = item.encode().unwrap();
        let view = ItemView::new(&bytes).unwrap();
        assert_eq!(
            view.get("name_1599"),
            Ok(Some(Attribute::Bytes(vec![1; 1599])))
        );
        assert_eq!(view.get("name_1600"), Ok(None));
        assert_eq!(Item::decode(&bytes), Ok(item));
    }

    #[test]
    fn damage_is_told() {
        let reason = |bytes: &[u8]| Item::decode(bytes).unwrap_err().to_string();
        assert_eq!(reason(&[]), "undecodable item: it ends too early");
        assert_eq!(
            reason(&[0x21, 0, 0]),
            "item format 2 is not known, only format 1 is"
        );
        assert_eq!(
            reason(&[0x13, 0, 0]),
            "undecodable item: no offsets have this width"
        );
        assert_eq!(
            reason(&[0x11, 0, 0, 9]),
            "undecodable item: its values go on"
        );
        let two = |first: u8, second: u8| [0x11, 2, 0, 0, 0, 1, 2, 0, 0, first, second];
        assert!(Item::decode(&two(b'a', b'b')).is_ok());
        assert_eq!(
            reason(&two(b'b', b'a')),
            "undecodable item: its names are not in order"
        );
        assert_eq!(
            reason(&two(b'a', 0xff)),
            "undecodable item: a name is not UTF-8"
        );
    }

    proptest! {
        #[test]
        fn items_come_back(item in any_item(), rest in any::<Vec<u8>>()) {
            let mut bytes = item.encode().unwrap();
            prop_assert_eq!(&Item::decode(&bytes).unwrap(), &item);
            let view = ItemView::new(&bytes).unwrap();
            for (name, attribute) in item.iter() {
                prop_assert_eq!(view.get(name).unwrap(), Some(attribute.clone()));
            }
            prop_assert_eq!(view.get("not there at all"), Ok(None));
            bytes.extend_from_slice(&rest);
            let (view, after) = ItemView::split(&bytes).unwrap();
            prop_assert_eq!(view.to_item().unwrap(), item);
            prop_assert_eq!(after, rest.as_slice());
        }

        #[test]
        fn one_attribute_reads_though_others_are_damaged(item in any_item()) {
            let mut item = item;
            item.set("a", Attribute::Time(Time::new(1, 2).unwrap()));
            item.set("ab", Attribute::Integer(7));
            let bytes = item.encode().unwrap();
            let view = ItemView::new(&bytes).unwrap();
            let place = (0..view.len()).find(|i| view.name(*i) == Ok("a")).unwrap();
            let mut damaged = bytes.clone();
            damaged[3 + place] = 99;
            let view = ItemView::new(&damaged).unwrap();
            prop_assert!(view.get("a").is_err());
            prop_assert_eq!(view.get("ab"), Ok(Some(Attribute::Integer(7))));
        }

        #[test]
        fn no_damage_panics(
            item in any_item(),
            hits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
            cut in any::<prop::sample::Index>(),
        ) {
            let mut bytes = item.encode().unwrap();
            for (at, byte) in hits {
                let at = at.index(bytes.len());
                bytes[at] = byte;
            }
            let _ = Item::decode(&bytes);
            let short = &bytes[..cut.index(bytes.len())];
            if let Ok((view, _)) = ItemView::split(short) {
                let _ = (view.get("a"), view.to_item());
            }
        }

        #[test]
        fn no_bytes_panic(mut bytes in any::<Vec<u8>>()) {
            let _ = Item::decode(&bytes);
            bytes.splice(0..0, [0x11, 3, 0]);
            let _ = Item::decode(&bytes);
        }
    }
}
