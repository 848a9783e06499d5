//! Markers: where the next page of a scan begins.
//!
//! ```text
//!   base64url( version 01 │ scan │ sharding │ sorting )      each with its length, 4 B, in front
//! ```
//!
//! A marker holds the key after which to go on, so it stays true when partitions split and when the
//! server starts again. It also holds which scan it belongs to; another one is refused.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::error::{Error, Result};

const VERSION: u8 = 1;

/// The last record of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Marker {
    pub(super) sharding: String,
    pub(super) sorting: Option<Vec<u8>>,
}

impl Marker {
    /// The marker as text, for a scan that is described so.
    pub(super) fn encode(&self, scan: &str) -> String {
        let mut bytes = vec![VERSION];
        let sorting = self.sorting.as_deref();
        let fields = [
            Some(scan.as_bytes()),
            Some(self.sharding.as_bytes()),
            sorting,
        ];
        for field in fields.into_iter().flatten() {
            let length = u32::try_from(field.len()).expect("names and paths are short");
            bytes.extend(length.to_be_bytes());
            bytes.extend_from_slice(field);
        }
        URL_SAFE_NO_PAD.encode(bytes)
    }

    /// Reads a marker that belongs to this very scan.
    pub(super) fn decode(text: &str, scan: &str) -> Result<Self> {
        let invalid = || Error::Invalid("the marker is none that this server gave".to_owned());
        let bytes = URL_SAFE_NO_PAD.decode(text).map_err(|_| invalid())?;
        let (version, mut rest) = bytes.split_first().ok_or_else(invalid)?;
        if *version != VERSION {
            return Err(invalid());
        }
        let mut fields = Vec::new();
        while !rest.is_empty() {
            let (length, after) = rest.split_first_chunk().ok_or_else(invalid)?;
            let length = usize::try_from(u32::from_be_bytes(*length)).map_err(|_| invalid())?;
            let (field, after) = after.split_at_checked(length).ok_or_else(invalid)?;
            fields.push(field);
            rest = after;
        }
        let mut fields = fields.into_iter();
        let (of, sharding) = fields.next().zip(fields.next()).ok_or_else(invalid)?;
        if of != scan.as_bytes() {
            return Err(Error::Invalid(
                "the marker belongs to another scan: use it with the same table, sharding key and \
                 segment"
                    .to_owned(),
            ));
        }
        let sharding = std::str::from_utf8(sharding).map_err(|_| invalid())?;
        Ok(Self {
            sharding: sharding.to_owned(),
            sorting: fields.next().map(<[u8]>::to_vec),
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn markers_come_back_to_their_scan_only(
            sharding in ".*",
            sorting in any::<Option<Vec<u8>>>(),
            scan in ".*",
        ) {
            let marker = Marker { sharding, sorting };
            let text = marker.encode(&scan);
            prop_assert_eq!(&Marker::decode(&text, &scan).unwrap(), &marker);
            let another = scan + "x";
            prop_assert!(Marker::decode(&text, &another).is_err());
        }

        #[test]
        fn no_text_panics(text in ".*", bytes in any::<Vec<u8>>()) {
            let _ = Marker::decode(&text, "");
            let _ = Marker::decode(&URL_SAFE_NO_PAD.encode(bytes), "");
        }
    }
}
