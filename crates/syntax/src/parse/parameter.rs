//! `DECLARE $name AS Type`: YQL's types of parameters, which nest.
//!
//! The type is read from the text and not from tokens, because `>>` and `?>` in
//! `List<Struct<id:Uint64?>>` are operators to a tokenizer of SQL.

use super::parameter_name;
use crate::error::{Error, Result};
use crate::reader::Reader;
use crate::statement::{Declare, Kind, ParameterType};

/// Types within types.
const TYPE_DEPTH_MAX: usize = 16;

pub(super) fn declare(reader: &mut Reader<'_>) -> Result<Kind> {
    reader.expect("declare")?;
    let name = parameter_name(reader)?;
    reader.expect("as")?;
    let start = reader.start();
    let end = reader.span.end;
    let mut scan = Scan {
        text: reader.text,
        at: start,
        end,
    };
    let kind = scan.kind(0)?;
    scan.skip_blanks();
    if scan.at < end || start == end {
        return Err(scan.error("a type such as Uint64 or List<Utf8>"));
    }
    while reader.next().is_some() {}
    Ok(Kind::Declare(Declare { name, kind }))
}

struct Scan<'t> {
    text: &'t str,
    at: usize,
    end: usize,
}

impl<'t> Scan<'t> {
    fn rest(&self) -> &'t str {
        self.text.get(self.at..self.end).unwrap_or_default()
    }

    fn skip_blanks(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start().len();
    }

    fn accept(&mut self, mark: char) -> bool {
        self.skip_blanks();
        let found = self.rest().starts_with(mark);
        if found {
            self.at += mark.len_utf8();
        }
        found
    }

    fn expect(&mut self, mark: char) -> Result<()> {
        if self.accept(mark) {
            Ok(())
        } else {
            Err(self.error(&format!("`{mark}`")))
        }
    }

    fn error(&self, expected: &str) -> Error {
        Error::Unexpected {
            at: crate::span::Position::find(self.text, self.at),
            expected: expected.to_owned(),
            found: match self.rest().chars().next() {
                Some(found) => format!("`{found}`"),
                None => "the end of the statement".to_owned(),
            },
        }
    }

    fn take(&mut self, accepted: impl Fn(char) -> bool) -> &'t str {
        self.skip_blanks();
        let rest = self.rest();
        let bytes = rest.find(|char| !accepted(char)).unwrap_or(rest.len());
        self.at += bytes;
        rest.get(..bytes).unwrap_or_default()
    }

    fn kind(&mut self, depth: usize) -> Result<ParameterType> {
        if depth > TYPE_DEPTH_MAX {
            return Err(Error::invalid(
                self.text,
                self.at,
                "types are nested too deeply",
            ));
        }
        self.skip_blanks();
        let start = self.at;
        let word = self.take(|char| char.is_alphanumeric() || char == '_');
        let mut kind = match word.to_ascii_lowercase().as_str() {
            "list" => {
                self.expect('<')?;
                ParameterType::List(Box::new(self.kind_and(depth, '>')?))
            }
            "optional" => {
                self.expect('<')?;
                ParameterType::Optional(Box::new(self.kind_and(depth, '>')?))
            }
            "dict" => {
                self.expect('<')?;
                let key = self.kind_and(depth, ',')?;
                ParameterType::Dict(Box::new(key), Box::new(self.kind_and(depth, '>')?))
            }
            "tuple" => {
                self.expect('<')?;
                ParameterType::Tuple(self.members(|scan| scan.kind(depth + 1))?)
            }
            "struct" => {
                self.expect('<')?;
                ParameterType::Struct(self.members(|scan| scan.field(depth))?)
            }
            _ => self.plain(start)?,
        };
        while self.accept('?') {
            kind = ParameterType::Optional(Box::new(kind));
        }
        Ok(kind)
    }

    fn kind_and(&mut self, depth: usize, close: char) -> Result<ParameterType> {
        let kind = self.kind(depth + 1)?;
        self.expect(close)?;
        Ok(kind)
    }

    fn members<T>(&mut self, mut member: impl FnMut(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        let mut members = Vec::new();
        while !self.accept('>') {
            members.push(member(self)?);
            if self.accept('>') {
                break;
            }
            self.expect(',')?;
        }
        Ok(members)
    }

    fn field(&mut self, depth: usize) -> Result<(String, ParameterType)> {
        let quote = ['\'', '"', '`']
            .into_iter()
            .find(|quote| self.accept(*quote));
        let name = match quote {
            Some(quote) => {
                let name = self.take(|char| char != quote);
                self.expect(quote)?;
                name
            }
            None => self.take(|char| char.is_alphanumeric() || char == '_'),
        };
        if name.is_empty() {
            return Err(self.error("the name of a member"));
        }
        self.expect(':')?;
        Ok((name.to_owned(), self.kind(depth + 1)?))
    }

    /// A type of one value, which may have parameters in parentheses.
    fn plain(&mut self, start: usize) -> Result<ParameterType> {
        if self.accept('(') {
            self.take(|char| char != ')');
            self.expect(')')?;
        }
        let written = self.text.get(start..self.at).unwrap_or_default();
        if written.is_empty() {
            return Err(self.error("a type such as Uint64 or List<Utf8>"));
        }
        match keys::Type::parse(written) {
            Ok(kind) => Ok(ParameterType::Plain(kind)),
            Err(error) => Err(Error::invalid(self.text, start, error.to_string())),
        }
    }
}
