//! Expressions over the attributes of an item: conditions, which are true or false, and updates.
//!
//! ```text
//!   (bugs < 15) AND starts(name, 'Car')               Condition: for writes, and to filter reads
//!   SET miles = miles + 1000; arr[2] = -1; REMOVE b   Update: statements, one after another
//! ```
//!
//! The language is that of Iguazio's web API: what its documentation tells, and beyond that what its
//! clients send.
//!
//! ## What is written
//!
//! - Names of attributes begin with a letter or underscore and go on with these and digits; other
//!   names, and words of the language, stand in backticks. Case matters in names and in strings, not
//!   in the words of the language.
//! - Strings stand in single or double quotes. Nothing is escaped in them, not by a backslash either.
//! - Numbers: `7`, `1.5`, `1e300`, `inf`, `nan`, `maxdbl`; one that is written as an integer and fits
//!   in 64 bits is one. Times: `12:500`, seconds and nanoseconds. `true` and `false`.
//!
//! ## What binds tighter
//!
//! As in Python, from the loosest: `OR` · `AND` · `NOT` · `== != < <= > >= IN` · `|` · `^` · `&` ·
//! `<< >>` · `+ -` · `* /` · `-` and `~` in front · `a[i]`. Equal ones group from the left. So
//! `a & 4 == 4` asks for a bit, unlike in C.
//!
//! ## What it means
//!
//! - An attribute that is not there, an element past the end of its array, and values that do not go
//!   together make the *comparison* around them false, and the rest goes on: `NOT (a == 1)` is true
//!   of an item without `a`. In what an update assigns they are errors.
//! - Values of different types cannot be compared: with a = 5, both `a == true` and `a != true` are
//!   false. Integers and doubles are one type and compare exactly. nan is unequal to all numbers.
//! - A bool counts as 1 or 0 in arithmetic. A number other than 0 counts as true.
//! - Integers that leave 64 bits are errors, never wrapped.
//! - **Integers divide exactly**: `6 / 2` is the integer 3 and `5 / 2` the double 2.5. Nothing is cut
//!   off unasked; `to_int(5 / 2)` is 2. An integer divided by the integer 0 is an error, by a double
//!   it follows IEEE 754.
//! - `+` also joins texts, and arrays. Shifts drop what leaves 64 bits; `>>` keeps the sign.
//! - Statements of an update see what those before them did. An update happens whole or not at all.
//!
//! `golden/items/expressions.txt` shows all of it.

mod arithmetic;
pub mod error;
mod evaluate;
mod functions;
mod lexer;
mod parser;
mod tree;
mod update;
mod value;

#[cfg(test)]
mod tests;

use std::fmt::{self, Display, Formatter};

use keys::{Attribute, Item, ItemView};

use evaluate::Scope;
use parser::Parser;
use tree::Node;
use value::Value;

pub use error::{Error, Result};
pub use update::Update;

/// Bytes of the longest expression.
pub const EXPRESSION_BYTES_MAX: usize = 64 * 1024;
/// Operators and functions in one expression: as many for its bytes as Iguazio allows, 700 in 8 KiB.
pub const OPERATORS_MAX: usize = 5600;
/// Values in the list of one IN.
pub const LIST_MAX: usize = 1024;
/// Parentheses, brackets and signs inside of each other.
pub const DEPTH_MAX: usize = 50;

/// Where an expression looks attributes up.
pub trait Attributes {
    /// The attribute of this name, if there is one.
    fn attribute(&self, name: &str) -> Result<Option<Attribute>>;
}

/// What is true or false of an item.
#[derive(Clone, Debug)]
pub struct Condition {
    root: Option<Node>,
}

impl Condition {
    /// Reads a condition. One without text holds always.
    pub fn parse(text: &str) -> Result<Self> {
        let mut parser = Parser::new(text)?;
        let root = match parser.is_at_end() {
            true => None,
            false => Some(parser.whole_expression()?),
        };
        Ok(Self { root })
    }

    /// Whether it may be true of something that has these attributes, `None` for those that it surely
    /// does not have, and any others.
    pub fn may_hold(&self, known: &[(&str, Option<Attribute>)]) -> bool {
        let is_known = |name: &str| known.iter().any(|(other, _)| *other == name);
        match &self.root {
            Some(root) => evaluate::may_hold(root, &Plain(&known), &is_known),
            None => true,
        }
    }

    /// Whether it is true of these attributes.
    pub fn holds(&self, attributes: &impl Attributes) -> Result<bool> {
        match &self.root {
            Some(root) => evaluate::holds(root, &Plain(attributes)),
            None => Ok(true),
        }
    }
}

impl Display for Condition {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.root.as_ref().map_or(Ok(()), |root| root.fmt(f))
    }
}

/// Attributes that nothing has changed.
struct Plain<'a, A>(&'a A);

impl<A: Attributes> Scope for Plain<'_, A> {
    fn value(&self, name: &str) -> Result<Option<Value>> {
        Ok(self.0.attribute(name)?.map(Value::from))
    }
}

impl Attributes for &[(&str, Option<Attribute>)] {
    fn attribute(&self, name: &str) -> Result<Option<Attribute>> {
        let found = self.iter().find(|(other, _)| *other == name);
        Ok(found.and_then(|(_, attribute)| attribute.clone()))
    }
}

impl Attributes for Item {
    fn attribute(&self, name: &str) -> Result<Option<Attribute>> {
        Ok(self.get(name).cloned())
    }
}

impl Attributes for ItemView<'_> {
    fn attribute(&self, name: &str) -> Result<Option<Attribute>> {
        Ok(self.get(name)?)
    }
}

impl<A: Attributes + ?Sized> Attributes for &A {
    fn attribute(&self, name: &str) -> Result<Option<Attribute>> {
        (**self).attribute(name)
    }
}

/// The attributes of the first, and of the second what the first does not have: an item, and what
/// the server knows about it.
impl<A: Attributes, B: Attributes> Attributes for (A, B) {
    fn attribute(&self, name: &str) -> Result<Option<Attribute>> {
        match self.0.attribute(name)? {
            None => self.1.attribute(name),
            found => Ok(found),
        }
    }
}
