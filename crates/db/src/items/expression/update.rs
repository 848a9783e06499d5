//! Updates: statements that set and remove attributes, one after another.
//!
//! What the statements change is kept beside the item until all of them have succeeded, so an update
//! that fails leaves the item as it was, and arrays are unpacked once however many elements change.

use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};

use keys::attribute::check_attribute_name;
use keys::{Array, Attribute, Item};

use super::Attributes;
use super::evaluate::{Scope, Stop, evaluate, index_of};
use super::lexer::Lexeme;
use super::parser::Parser;
use super::tree::{Name, Node};
use super::value::{Value, whole};
use crate::items::expression::error::{Error, Result};

/// What changes an item.
#[derive(Clone, Debug)]
pub struct Update {
    statements: Vec<Statement>,
}

#[derive(Clone, Debug)]
enum Statement {
    Set(Target, Node),
    Remove(String),
}

/// What a statement sets: an attribute, or within an array an element or a slice.
#[derive(Clone, Debug)]
struct Target {
    at: usize,
    name: String,
    within: Option<(Node, Option<Node>)>,
}

impl Update {
    /// Reads an update. One without text changes nothing.
    pub fn parse(text: &str) -> Result<Self> {
        let mut parser = Parser::new(text)?;
        let mut statements = Vec::new();
        loop {
            while parser.take_sign(";") {}
            if parser.is_at_end() {
                return Ok(Self { statements });
            }
            statements.push(statement(&mut parser)?);
            if !parser.is_at_end() {
                parser.expect_sign(";", "`;`, an operator or the end")?;
            }
        }
    }

    /// Changes the item, or on an error leaves it as it was.
    ///
    /// `system` answers for names that the item does not have. The bounds of the item are for the
    /// caller to check: [`Item::check`].
    pub fn apply(&self, item: &mut Item, system: &dyn Attributes) -> Result<()> {
        let mut changed = Changed {
            item,
            system,
            values: BTreeMap::new(),
        };
        for statement in &self.statements {
            match statement {
                Statement::Remove(name) => {
                    changed.values.insert(name.clone(), None);
                }
                Statement::Set(target, node) => changed.set(target, node)?,
            }
        }
        let attributes = changed.into_attributes()?;
        for (name, attribute) in attributes {
            match attribute {
                Some(attribute) => item.set(name, attribute),
                None => item.remove(&name),
            };
        }
        Ok(())
    }
}

fn statement(parser: &mut Parser<'_>) -> Result<Statement> {
    let is_delete = parser.peek_word("delete") && parser.peek_at(1) == Lexeme::Sign("(");
    if is_delete {
        parser.count()?;
        parser.expect_sign("(", "`(`")?;
        let (at, name) = parser.name()?;
        parser.expect_sign(")", "`)`")?;
        return Ok(Statement::Remove(changeable(at, name)?));
    }
    if parser.take_word("remove") {
        let (at, name) = parser.name()?;
        return Ok(Statement::Remove(changeable(at, name)?));
    }
    parser.take_word("set");
    let (at, name) = parser.name()?;
    let within = match parser.peek() {
        Lexeme::Sign("[") => Some(parser.brackets()?),
        _ => None,
    };
    if parser.peek() != Lexeme::Sign("=") {
        return Err(parser.unexpected("`=`"));
    }
    parser.count()?;
    let name = changeable(at, name)?;
    let target = Target { at, name, within };
    Ok(Statement::Set(target, parser.expression()?))
}

fn changeable(at: usize, name: &str) -> Result<String> {
    check_attribute_name(name).map_err(|source| Error::Target { at, source })?;
    Ok(name.to_owned())
}

/// An item with what statements have changed so far; nothing, for what they removed.
struct Changed<'a> {
    item: &'a Item,
    system: &'a dyn Attributes,
    values: BTreeMap<String, Option<Value>>,
}

impl Scope for Changed<'_> {
    fn value(&self, name: &str) -> Result<Option<Value>> {
        if let Some(changed) = self.values.get(name) {
            return Ok(changed.clone());
        }
        let attribute = match self.item.get(name) {
            Some(attribute) => Some(attribute.clone()),
            None => self.system.attribute(name)?,
        };
        Ok(attribute.map(Value::from))
    }
}

impl Changed<'_> {
    fn set(&mut self, target: &Target, node: &Node) -> std::result::Result<(), Stop> {
        let value = evaluate(node, self)?;
        let value = match &target.within {
            None => value,
            Some((from, to)) => {
                let from = index_of(from, self)?;
                let to = to.as_ref().map(|to| index_of(to, self)).transpose()?;
                let mut array = self.take_array(target)?;
                let elements = match to {
                    Some(to) => place_slice(&mut array, from, to, value),
                    None => place(&mut array, from, &value),
                };
                elements.map_err(|reason| {
                    let reason = format!("`{}`: {reason}", target.name);
                    Stop::mismatch(target.at, reason)
                })?;
                Value::Array(array)
            }
        };
        self.values.insert(target.name.clone(), Some(value));
        Ok(())
    }

    /// The array that a statement changes, which comes back changed: what statements before this one
    /// made is not copied. If the statement fails the whole update does.
    fn take_array(&mut self, target: &Target) -> std::result::Result<Array, Stop> {
        let value = match self.values.get_mut(&target.name) {
            Some(changed) => changed.take(),
            None => self.value(&target.name).map_err(Stop::Failed)?,
        };
        match value {
            Some(Value::Array(array)) => Ok(array),
            Some(other) => Err(Stop::mismatch(
                target.at,
                format!("`{}` is {}, not an array", target.name, other.kind()),
            )),
            None => Err(Stop::Missing {
                at: target.at,
                name: target.name.clone(),
            }),
        }
    }

    fn into_attributes(self) -> Result<Vec<(String, Option<Attribute>)>> {
        self.values
            .into_iter()
            .map(|(name, value)| Ok((name, value.map(Value::into_attribute).transpose()?)))
            .collect()
    }
}

/// Puts a number into an array. An array of integers takes doubles that are whole.
fn place(array: &mut Array, index: usize, value: &Value) -> std::result::Result<(), String> {
    let length = array.len();
    let past_the_end = || format!("index {index} is past the end of an array of {length}");
    match array {
        Array::Integers(elements) => {
            let element = elements.get_mut(index).ok_or_else(past_the_end)?;
            *element = integer(value)
                .ok_or_else(|| format!("an array of integers does not take {}", value.brief()))?;
        }
        Array::Doubles(elements) => {
            let element = elements.get_mut(index).ok_or_else(past_the_end)?;
            let number = value
                .strict_number()
                .ok_or_else(|| format!("an array of doubles does not take {}", value.brief()))?;
            *element = number.double();
        }
    }
    Ok(())
}

fn integer(value: &Value) -> Option<i64> {
    match value {
        Value::Integer(integer) => Some(*integer),
        Value::Double(double) if double.fract() == 0.0 => whole(*double),
        _ => None,
    }
}

/// Puts an array into another, over the elements from one index to another.
fn place_slice(
    array: &mut Array,
    from: usize,
    to: usize,
    value: Value,
) -> std::result::Result<(), String> {
    let Value::Array(values) = value else {
        return Err(format!("a slice takes an array, not {}", value.kind()));
    };
    let room = (from <= to)
        .then(|| to - from)
        .and_then(|room| room.checked_add(1));
    if room != Some(values.len()) {
        let length = values.len();
        return Err(format!("[{from}..{to}] does not take an array of {length}"));
    }
    let values: Vec<Value> = match values {
        Array::Integers(elements) => elements.into_iter().map(Value::Integer).collect(),
        Array::Doubles(elements) => elements.into_iter().map(Value::Double).collect(),
    };
    (from..)
        .zip(&values)
        .try_for_each(|(index, value)| place(array, index, value))
}

impl Display for Update {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for (i, statement) in self.statements.iter().enumerate() {
            f.write_str(if i == 0 { "" } else { "; " })?;
            match statement {
                Statement::Remove(name) => write!(f, "remove {}", Name(name))?,
                Statement::Set(target, value) => {
                    Name(&target.name).fmt(f)?;
                    match &target.within {
                        Some((from, Some(to))) => write!(f, "[{from}..{to}]")?,
                        Some((index, None)) => write!(f, "[{index}]")?,
                        None => {}
                    }
                    write!(f, " = {value}")?;
                }
            }
        }
        Ok(())
    }
}
