//! DROP CONSTRAINT and RENAME CONSTRAINT, of whatever kind it is.

use super::super::constraints;
use super::Draft;
use crate::schema::Parts;
use crate::{ConstraintError, Error, Result};

impl Draft<'_> {
    /// A CHECK, a foreign key, or the index of a UNIQUE.
    pub(super) fn drop_constraint(&mut self, name: &str) -> Result<()> {
        let parts = &mut self.parts;
        let before = (parts.checks.len(), parts.foreign_keys.len());
        parts.checks.retain(|check| check.name != name);
        parts.foreign_keys.retain(|key| key.name != name);
        if before != (parts.checks.len(), parts.foreign_keys.len()) {
            return Ok(());
        }
        self.drop_index(name)
            .map_err(|error| self.no_constraint(error, name))
    }

    pub(super) fn rename_constraint(&mut self, from: &str, to: String) -> Result<()> {
        let to = constraints::free_name(&self.parts, to)?;
        let checks = self.parts.checks.iter_mut().map(|one| &mut one.name);
        let foreign = self.parts.foreign_keys.iter_mut().map(|one| &mut one.name);
        if let Some(name) = checks.chain(foreign).find(|name| *name == from) {
            *name = to;
            return Ok(());
        }
        self.rename_index(from, &to)
            .map_err(|error| self.no_constraint(error, from))
    }

    /// What was no index is no constraint either.
    fn no_constraint(&self, error: Error, name: &str) -> Error {
        let Error::NoSuchIndex { table, .. } = error else {
            return error;
        };
        let Parts {
            checks,
            foreign_keys,
            indexes,
            ..
        } = &self.parts;
        let checks = checks.iter().map(|one| &one.name);
        let all = checks.chain(foreign_keys.iter().map(|one| &one.name));
        let unique = indexes.iter().filter(|one| one.unique);
        let all: Vec<&str> = all
            .chain(unique.map(|one| &one.name))
            .map(String::as_str)
            .collect();
        ConstraintError::Unknown {
            table,
            name: name.to_owned(),
            known: match all.as_slice() {
                [] => ", and no other".to_owned(),
                all => format!("; it has `{}`", all.join("`, `")),
            },
        }
        .into()
    }
}
