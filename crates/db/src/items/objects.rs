//! Plain objects: bytes under a name, replaced or grown.

use keys::Item;

use super::error::{Error, Result};
use super::layout::SCHEMA_NAME;
use super::record::Record;
use super::write::Change;
use super::{Collections, Place};

/// Bytes of the largest object: those of the largest cell of a row.
pub const OBJECT_BYTES_MAX: usize = keys::CELL_BYTES_MAX;

impl Collections {
    /// Puts an object, which keeps its attributes if it was there; when it was changed.
    pub async fn put_object(&self, place: &Place, data: Vec<u8>) -> Result<i64> {
        if place.name == SCHEMA_NAME {
            return self.set_schema(place, Some(data)).await;
        }
        self.change_data(place, |_| Ok(data.clone())).await
    }

    /// Adds bytes to the end of an object, or makes one; when it was changed.
    pub async fn append(&self, place: &Place, more: &[u8]) -> Result<i64> {
        if place.name == SCHEMA_NAME {
            let reason = "a schema is put whole, and not appended to";
            return Err(Error::Invalid(reason.to_owned()));
        }
        let grown = |found: Option<&Record>| {
            let data = found.and_then(|record| record.data.as_deref());
            let data = [data.unwrap_or_default(), more].concat();
            match data.len() > OBJECT_BYTES_MAX {
                true => Err(Error::TooLarge {
                    what: "object",
                    limit: OBJECT_BYTES_MAX,
                }),
                false => Ok(data),
            }
        };
        self.change_data(place, grown).await
    }

    async fn change_data(
        &self,
        place: &Place,
        data: impl Fn(Option<&Record>) -> Result<Vec<u8>>,
    ) -> Result<i64> {
        let entered = self.enter_to_write(&place.directory).await?;
        let decide = |found: Option<&Record>| {
            let attributes = found.map(|record| record.attributes.clone());
            let attributes = attributes.map_or_else(|| Item::new().encode(), Ok)?;
            Ok(Change::Put(attributes, Some(data(found)?)))
        };
        self.change(&entered, place, None, decide).await
    }
}
