//! The fields of a JSON body, read one by one with the type that each should have.

use serde_json::{Map, Value as Json};

use db::items::expression::{Condition, Update};
use db::items::{Error, Result};

/// A JSON object.
pub(super) struct Fields(Map<String, Json>);

impl Fields {
    /// Reads a body; an empty one has no fields.
    pub(super) fn parse(body: &[u8]) -> Result<Self> {
        if body.trim_ascii().is_empty() {
            return Ok(Self(Map::new()));
        }
        let parsed = serde_json::from_slice(body);
        match parsed.map_err(|error| Error::Invalid(format!("the body is no JSON: {error}")))? {
            Json::Object(fields) => Ok(Self(fields)),
            _ => Err(Error::Invalid("the body is no JSON object".to_owned())),
        }
    }

    fn get(&self, name: &str) -> Option<&Json> {
        self.0.get(name).filter(|value| !value.is_null())
    }

    /// A text.
    pub(super) fn text(&self, name: &str) -> Result<Option<&str>> {
        let wrong = || Error::Invalid(format!("`{name}` is not a string"));
        let value = self.get(name);
        value
            .map(|value| value.as_str().ok_or_else(wrong))
            .transpose()
    }

    /// A whole number that is not negative.
    pub(super) fn number(&self, name: &str) -> Result<Option<u64>> {
        let wrong = || Error::Invalid(format!("`{name}` is not a whole number from 0 on"));
        let value = self.get(name);
        value
            .map(|value| value.as_u64().ok_or_else(wrong))
            .transpose()
    }

    /// An object.
    pub(super) fn object(&self, name: &str) -> Result<Option<&Map<String, Json>>> {
        let wrong = || Error::Invalid(format!("`{name}` is not an object"));
        let value = self.get(name);
        value
            .map(|value| value.as_object().ok_or_else(wrong))
            .transpose()
    }

    /// A condition; one without text is none.
    pub(super) fn condition(&self, name: &str) -> Result<Option<Condition>> {
        let text = self.text(name)?.filter(|text| !text.trim().is_empty());
        Ok(text.map(Condition::parse).transpose()?)
    }

    /// An update.
    pub(super) fn update(&self, name: &str) -> Result<Option<Update>> {
        Ok(self.text(name)?.map(Update::parse).transpose()?)
    }
}
