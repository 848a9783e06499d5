//! Tokens to a tree, by how tightly operators bind.
//!
//! Every step into parentheses, brackets, arguments or behind a sign is counted, so that no text can
//! nest deeper than the stack goes.

use keys::{Attribute, Time};

use super::functions::Function;
use super::lexer::{self, Lexeme, Token};
use super::tree::{Kind, Level, Link, Node, Operator, Sign, WORDS};
use super::value::Value;
use super::{DEPTH_MAX, EXPRESSION_BYTES_MAX, LIST_MAX, OPERATORS_MAX};
use crate::items::expression::error::{Error, Result};

/// What is left to read of an expression.
pub(super) struct Parser<'a> {
    tokens: Vec<Token<'a>>,
    next: usize,
    operators: usize,
    depth: usize,
}

impl<'a> Parser<'a> {
    pub(super) fn new(text: &'a str) -> Result<Self> {
        if text.len() > EXPRESSION_BYTES_MAX {
            return Err(Error::ExpressionTooLong {
                bytes: text.len(),
                limit: EXPRESSION_BYTES_MAX,
            });
        }
        Ok(Self {
            tokens: lexer::tokens(text)?,
            next: 0,
            operators: 0,
            depth: 0,
        })
    }

    pub(super) fn is_at_end(&self) -> bool {
        self.peek() == Lexeme::End
    }

    /// An expression and nothing after it.
    pub(super) fn whole_expression(&mut self) -> Result<Node> {
        let node = self.expression()?;
        match self.peek() {
            Lexeme::End => Ok(node),
            Lexeme::Sign("=") => Err(self.unexpected("`==` to compare")),
            _ => Err(self.unexpected("an operator or the end")),
        }
    }

    pub(super) fn expression(&mut self) -> Result<Node> {
        self.binds(Level::Or)
    }

    /// An expression whose operators bind at least so tightly.
    fn binds(&mut self, least: Level) -> Result<Node> {
        let mut left = match self.peek_word("not") {
            true => self.not(least)?,
            false => self.signed()?,
        };
        loop {
            let at = self.at();
            if least <= Level::Comparison && self.peek_word("in") {
                left = self.list(left)?;
                continue;
            }
            let operator = self.operator().filter(|operator| operator.level() >= least);
            let Some(operator) = operator else {
                return Ok(left);
            };
            self.count()?;
            let operand = self.binds(operator.level().tighter())?;
            left = left.chained(Link {
                at,
                operator,
                operand,
            });
        }
    }

    /// The operator that comes next. It is taken only by [`Self::count`].
    fn operator(&self) -> Option<Operator> {
        match self.peek() {
            Lexeme::Word(word) => Operator::written(word),
            Lexeme::Sign(sign) => Operator::written(sign),
            _ => None,
        }
    }

    /// Takes an operator or the name of a function, and counts it.
    pub(super) fn count(&mut self) -> Result<()> {
        self.next += 1;
        self.operators += 1;
        match self.operators > OPERATORS_MAX {
            true => Err(Error::OperatorsTooMany {
                limit: OPERATORS_MAX,
            }),
            false => Ok(()),
        }
    }

    fn not(&mut self, least: Level) -> Result<Node> {
        let at = self.at();
        if least > Level::Not {
            return Err(self.unexpected("a value (put parentheses around NOT)"));
        }
        self.count()?;
        let operand = self.deeper(|parser| parser.binds(Level::Not))?;
        Ok(unary(at, Sign::Not, operand))
    }

    /// A minus in front of a number is part of it, so that the least integer can be written; brackets
    /// behind a number bind tighter than the minus.
    fn signed(&mut self) -> Result<Node> {
        let at = self.at();
        let sign = match self.peek() {
            Lexeme::Sign("-") => Sign::Minus,
            Lexeme::Sign("+") => Sign::Plus,
            Lexeme::Sign("~") => Sign::Invert,
            _ => return self.indexed(),
        };
        self.count()?;
        let begin = self.next;
        if sign == Sign::Minus
            && let Some(value) = self.number("-")?
            && self.peek() != Lexeme::Sign("[")
        {
            return Ok(literal(at, value));
        }
        self.next = begin;
        let operand = self.deeper(Self::signed)?;
        Ok(unary(at, sign, operand))
    }

    /// A value and all the brackets behind it.
    fn indexed(&mut self) -> Result<Node> {
        let mut node = self.value()?;
        let mut brackets = 0;
        while self.peek() == Lexeme::Sign("[") {
            brackets += 1;
            self.depth += 1;
            self.check_depth()?;
            let at = self.at();
            let (from, to) = self.brackets()?;
            let array = Box::new(node);
            let kind = match to {
                Some(to) => Kind::Slice(array, Box::new([from, to])),
                None => Kind::Element(array, Box::new(from)),
            };
            node = Node { at, kind };
        }
        self.depth -= brackets;
        Ok(node)
    }

    /// An index, or the two of a slice, in brackets.
    pub(super) fn brackets(&mut self) -> Result<(Node, Option<Node>)> {
        self.count()?;
        let from = self.deeper(Self::expression)?;
        let to = match self.take_sign("..") {
            true => Some(self.deeper(Self::expression)?),
            false => None,
        };
        self.expect_sign("]", "`]`, `..` or an operator")?;
        Ok((from, to))
    }

    fn value(&mut self) -> Result<Node> {
        let at = self.at();
        if let Some(value) = self.number("")? {
            return Ok(literal(at, value));
        }
        match self.peek() {
            Lexeme::Text(text) => {
                self.next += 1;
                Ok(literal(at, Value::Text(text.to_owned())))
            }
            Lexeme::Quoted(name) => {
                self.next += 1;
                let kind = Kind::Name(name.to_owned());
                Ok(Node { at, kind })
            }
            Lexeme::Sign("(") => {
                self.next += 1;
                let node = self.deeper(Self::expression)?;
                self.expect_sign(")", "`)` or an operator")?;
                Ok(node)
            }
            Lexeme::Word(word) => self.word(at, word),
            _ => Err(self.unexpected("a value")),
        }
    }

    fn word(&mut self, at: usize, word: &str) -> Result<Node> {
        let lower = word.to_ascii_lowercase();
        if lower == "true" || lower == "false" {
            self.next += 1;
            return Ok(literal(at, Value::Bool(lower == "true")));
        }
        if WORDS.contains(&lower.as_str()) {
            return Err(self.unexpected("a value (put backticks around a name)"));
        }
        if self.peek_at(1) == Lexeme::Sign("(") {
            return self.call(at, word);
        }
        self.next += 1;
        let kind = Kind::Name(word.to_owned());
        Ok(Node { at, kind })
    }

    fn call(&mut self, at: usize, word: &str) -> Result<Node> {
        let function = Function::named(word).ok_or_else(|| self.unexpected("a function"))?;
        self.count()?;
        let arguments = self.arguments()?;
        let (least, most) = function.arguments();
        if arguments.len() < least || arguments.len() > most {
            return Err(Error::Syntax {
                at,
                expected: function.usage().to_owned(),
                found: match arguments.len() {
                    1 => "1 argument".to_owned(),
                    other => format!("{other} arguments"),
                },
            });
        }
        if let Some(first) = arguments.first()
            && function.wants_name()
            && !matches!(first.kind, Kind::Name(_) | Kind::Element(..))
        {
            return Err(Error::Syntax {
                at: first.at,
                expected: "the name of an attribute".to_owned(),
                found: format!("`{first}`"),
            });
        }
        let kind = Kind::Call(function, arguments);
        Ok(Node { at, kind })
    }

    fn list(&mut self, needle: Node) -> Result<Node> {
        self.count()?;
        let at = self.at();
        if self.peek() != Lexeme::Sign("(") {
            return Err(self.unexpected("a list in parentheses"));
        }
        let list = self.arguments()?;
        if list.is_empty() || list.len() > LIST_MAX {
            return Err(Error::Syntax {
                at,
                expected: format!("a list of 1 to {LIST_MAX} values"),
                found: format!("one of {}", list.len()),
            });
        }
        let at = needle.at;
        let kind = Kind::In(Box::new(needle), list);
        Ok(Node { at, kind })
    }

    /// Expressions with commas between them, in parentheses.
    fn arguments(&mut self) -> Result<Vec<Node>> {
        self.expect_sign("(", "`(`")?;
        let mut arguments = Vec::new();
        if self.take_sign(")") {
            return Ok(arguments);
        }
        loop {
            arguments.push(self.deeper(Self::expression)?);
            if self.take_sign(")") {
                return Ok(arguments);
            }
            self.expect_sign(",", "`,`, `)` or an operator")?;
        }
    }

    /// A number or time, if one comes next; `minus` is the sign that stood in front of it.
    fn number(&mut self, minus: &str) -> Result<Option<Value>> {
        let at = self.at();
        let unfit = |source: keys::Error| Error::Mismatch {
            at,
            reason: source.to_string(),
        };
        let value = match self.peek() {
            Lexeme::Time(time) => {
                Value::Time(Time::parse(&format!("{minus}{time}")).map_err(unfit)?)
            }
            Lexeme::Number(number) => Attribute::parse_number(&format!("{minus}{number}"))
                .map_err(unfit)?
                .into(),
            Lexeme::Word(word) => {
                let Some(constant) = constant(word) else {
                    return Ok(None);
                };
                // As functions without arguments they are taken too.
                if self.peek_at(1) == Lexeme::Sign("(") && self.peek_at(2) == Lexeme::Sign(")") {
                    self.next += 2;
                }
                Value::Double(if minus.is_empty() {
                    constant
                } else {
                    -constant
                })
            }
            _ => return Ok(None),
        };
        self.next += 1;
        Ok(Some(value))
    }

    /// The name of an attribute, where nothing else can stand.
    pub(super) fn name(&mut self) -> Result<(usize, &'a str)> {
        let at = self.at();
        match self.peek() {
            Lexeme::Quoted(name) => {
                self.next += 1;
                Ok((at, name))
            }
            Lexeme::Word(word) if !WORDS.iter().any(|it| it.eq_ignore_ascii_case(word)) => {
                self.next += 1;
                Ok((at, word))
            }
            _ => Err(self.unexpected("the name of an attribute")),
        }
    }

    fn deeper<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.depth += 1;
        self.check_depth()?;
        let found = read(self);
        self.depth -= 1;
        found
    }

    fn check_depth(&self) -> Result<()> {
        match self.depth > DEPTH_MAX {
            true => Err(Error::TooDeep {
                at: self.at(),
                limit: DEPTH_MAX,
            }),
            false => Ok(()),
        }
    }

    pub(super) fn peek(&self) -> Lexeme<'a> {
        self.peek_at(0)
    }

    pub(super) fn peek_at(&self, ahead: usize) -> Lexeme<'a> {
        let token = self.tokens.get(self.next + ahead);
        token.map_or(Lexeme::End, |token| token.lexeme)
    }

    pub(super) fn at(&self) -> usize {
        let token = self.tokens.get(self.next).or(self.tokens.last());
        token.map_or(1, |token| token.at)
    }

    pub(super) fn peek_word(&self, word: &str) -> bool {
        matches!(self.peek(), Lexeme::Word(found) if found.eq_ignore_ascii_case(word))
    }

    pub(super) fn take_word(&mut self, word: &str) -> bool {
        let found = self.peek_word(word);
        self.next += usize::from(found);
        found
    }

    pub(super) fn take_sign(&mut self, sign: &'static str) -> bool {
        let found = self.peek() == Lexeme::Sign(sign);
        self.next += usize::from(found);
        found
    }

    pub(super) fn expect_sign(&mut self, sign: &'static str, expected: &str) -> Result<()> {
        match self.take_sign(sign) {
            true => Ok(()),
            false => Err(self.unexpected(expected)),
        }
    }

    pub(super) fn unexpected(&self, expected: &str) -> Error {
        Error::Syntax {
            at: self.at(),
            expected: expected.to_owned(),
            found: self.peek().to_string(),
        }
    }
}

fn literal(at: usize, value: Value) -> Node {
    let kind = Kind::Literal(value);
    Node { at, kind }
}

fn unary(at: usize, sign: Sign, operand: Node) -> Node {
    let kind = Kind::Unary(sign, Box::new(operand));
    Node { at, kind }
}

fn constant(word: &str) -> Option<f64> {
    match word.to_ascii_lowercase().as_str() {
        "inf" => Some(f64::INFINITY),
        "nan" => Some(f64::NAN),
        "maxdbl" => Some(f64::MAX),
        _ => None,
    }
}
