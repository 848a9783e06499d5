//! What an expression is made of, and how it is written again.
//!
//! Operators that group from the left make one *chain*, not a tower of pairs: `a + b - c` is a first
//! operand and a list. So thousands of them are a loop to evaluate and not calls inside of each other.

use std::fmt::{self, Display, Formatter, Write};

use super::functions::Function;
use super::value::Value;

/// A part of an expression, and where it begins, in characters counted from one.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) at: usize,
    pub(super) kind: Kind,
}

#[derive(Clone, Debug)]
pub(super) enum Kind {
    Literal(Value),
    Name(String),
    Unary(Sign, Box<Node>),
    /// At least one link; all operators are of one level.
    Chain(Box<Node>, Vec<Link>),
    In(Box<Node>, Vec<Node>),
    Element(Box<Node>, Box<Node>),
    /// From and to, both of them in.
    Slice(Box<Node>, Box<[Node; 2]>),
    Call(Function, Vec<Node>),
}

impl Node {
    /// Whether this is so of every name in it.
    pub(super) fn names_are(&self, is_so: &dyn Fn(&str) -> bool) -> bool {
        let all = |nodes: &[Self]| nodes.iter().all(|node| node.names_are(is_so));
        match &self.kind {
            Kind::Literal(_) => true,
            Kind::Name(name) => is_so(name),
            Kind::Unary(_, operand) => operand.names_are(is_so),
            Kind::Chain(first, links) => {
                first.names_are(is_so) && links.iter().all(|link| link.operand.names_are(is_so))
            }
            Kind::In(needle, list) => needle.names_are(is_so) && all(list),
            Kind::Element(array, index) => array.names_are(is_so) && index.names_are(is_so),
            Kind::Slice(array, bounds) => array.names_are(is_so) && all(bounds.as_slice()),
            Kind::Call(_, arguments) => all(arguments),
        }
    }
}

/// An operator and what stands right of it.
#[derive(Clone, Debug)]
pub(super) struct Link {
    pub(super) at: usize,
    pub(super) operator: Operator,
    pub(super) operand: Node,
}

/// Operators in front of their operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sign {
    Not,
    Minus,
    Plus,
    Invert,
}

/// Operators between two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    Or,
    And,
    Equal,
    Unequal,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    BitOr,
    BitXor,
    BitAnd,
    ShiftLeft,
    ShiftRight,
    Add,
    Subtract,
    Multiply,
    Divide,
}

/// How tightly an operator binds, the loosest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Level {
    Or,
    And,
    Not,
    Comparison,
    BitOr,
    BitXor,
    BitAnd,
    Shift,
    Sum,
    Product,
    Sign,
    Whole,
}

/// Operators, how they are written and how they bind.
const OPERATORS: [(Operator, &str, Level); 17] = [
    (Operator::Or, "or", Level::Or),
    (Operator::And, "and", Level::And),
    (Operator::Equal, "==", Level::Comparison),
    (Operator::Unequal, "!=", Level::Comparison),
    (Operator::Less, "<", Level::Comparison),
    (Operator::LessOrEqual, "<=", Level::Comparison),
    (Operator::Greater, ">", Level::Comparison),
    (Operator::GreaterOrEqual, ">=", Level::Comparison),
    (Operator::BitOr, "|", Level::BitOr),
    (Operator::BitXor, "^", Level::BitXor),
    (Operator::BitAnd, "&", Level::BitAnd),
    (Operator::ShiftLeft, "<<", Level::Shift),
    (Operator::ShiftRight, ">>", Level::Shift),
    (Operator::Add, "+", Level::Sum),
    (Operator::Subtract, "-", Level::Sum),
    (Operator::Multiply, "*", Level::Product),
    (Operator::Divide, "/", Level::Product),
];

/// Words that are names of attributes only in backticks.
pub(super) const WORDS: [&str; 11] = [
    "and", "false", "in", "inf", "maxdbl", "nan", "not", "or", "remove", "set", "true",
];

impl Operator {
    /// The operator that is written so; words in whatever case.
    pub(super) fn written(text: &str) -> Option<Self> {
        let found = OPERATORS
            .iter()
            .find(|(_, written, _)| written.eq_ignore_ascii_case(text));
        found.map(|(operator, _, _)| *operator)
    }

    pub(super) fn level(self) -> Level {
        self.row().2
    }

    pub(super) fn text(self) -> &'static str {
        self.row().1
    }

    fn row(self) -> (Self, &'static str, Level) {
        let row = OPERATORS.iter().find(|(operator, _, _)| *operator == self);
        *row.expect("every operator is in the table")
    }
}

impl Level {
    /// The level of the right operand, which binds tighter because the left one came first.
    pub(super) fn tighter(self) -> Self {
        match self {
            Self::Or => Self::And,
            Self::And => Self::Not,
            Self::Not => Self::Comparison,
            Self::Comparison => Self::BitOr,
            Self::BitOr => Self::BitXor,
            Self::BitXor => Self::BitAnd,
            Self::BitAnd => Self::Shift,
            Self::Shift => Self::Sum,
            Self::Sum => Self::Product,
            Self::Product => Self::Sign,
            Self::Sign | Self::Whole => Self::Whole,
        }
    }
}

impl Node {
    /// This, and an operator and operand to its right.
    pub(super) fn chained(self, link: Link) -> Self {
        let at = self.at;
        let kind = match self.kind {
            Kind::Chain(first, mut links) if level_of(&links) == link.operator.level() => {
                links.push(link);
                Kind::Chain(first, links)
            }
            kind => Kind::Chain(Box::new(Self { at, kind }), vec![link]),
        };
        Self { at, kind }
    }

    fn level(&self) -> Level {
        match &self.kind {
            Kind::Chain(_, links) => level_of(links),
            Kind::In(..) => Level::Comparison,
            Kind::Unary(Sign::Not, _) => Level::Not,
            Kind::Unary(..) => Level::Sign,
            Kind::Literal(value) if value.is_signed() => Level::Sign,
            _ => Level::Whole,
        }
    }
}

fn level_of(links: &[Link]) -> Level {
    links
        .first()
        .map_or(Level::Whole, |link| link.operator.level())
}

/// A part of an expression where something that binds less than `least` needs parentheses.
struct Inside<'a> {
    node: &'a Node,
    least: Level,
}

fn inside(node: &Node, least: Level) -> Inside<'_> {
    Inside { node, least }
}

impl Display for Inside<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.node.level() < self.least {
            true => write!(f, "({})", self.node),
            false => self.node.fmt(f),
        }
    }
}

impl Display for Node {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match &self.kind {
            Kind::Literal(value) => value.fmt(f),
            Kind::Name(name) => Name(name).fmt(f),
            Kind::Unary(Sign::Not, operand) => write!(f, "not {}", inside(operand, Level::Not)),
            Kind::Unary(sign, operand) => {
                f.write_char(match sign {
                    Sign::Minus => '-',
                    Sign::Plus => '+',
                    Sign::Not | Sign::Invert => '~',
                })?;
                // A minus in front of a bare number would become part of it.
                match &operand.kind {
                    Kind::Literal(Value::Integer(_) | Value::Double(_) | Value::Time(_))
                        if *sign == Sign::Minus && operand.level() > Level::Sign =>
                    {
                        write!(f, "({operand})")
                    }
                    _ => inside(operand, Level::Sign).fmt(f),
                }
            }
            Kind::Chain(first, links) => {
                let level = level_of(links);
                inside(first, level).fmt(f)?;
                for link in links {
                    let operand = inside(&link.operand, level.tighter());
                    write!(f, " {} {operand}", link.operator.text())?;
                }
                Ok(())
            }
            Kind::In(needle, list) => {
                write!(f, "{} in ", inside(needle, Level::Comparison))?;
                write_list(f, list)
            }
            Kind::Element(array, index) => write!(f, "{}[{index}]", inside(array, Level::Whole)),
            Kind::Slice(array, bounds) => {
                let [from, to] = bounds.as_ref();
                write!(f, "{}[{from}..{to}]", inside(array, Level::Whole))
            }
            Kind::Call(function, arguments) => {
                f.write_str(function.name())?;
                write_list(f, arguments)
            }
        }
    }
}

fn write_list(f: &mut Formatter<'_>, list: &[Node]) -> fmt::Result {
    f.write_char('(')?;
    for (i, node) in list.iter().enumerate() {
        let comma = if i == 0 { "" } else { ", " };
        write!(f, "{comma}{node}")?;
    }
    f.write_char(')')
}

/// A name as it is written: in backticks if it would be read as something else.
pub(super) struct Name<'a>(pub(super) &'a str);

impl Display for Name<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let word = |char: char| char.is_ascii_alphanumeric() || char == '_';
        let plain = self.0.chars().all(word)
            && !self.0.is_empty()
            && !self.0.starts_with(|first: char| first.is_ascii_digit())
            && !WORDS.iter().any(|word| word.eq_ignore_ascii_case(self.0));
        match plain {
            true => f.write_str(self.0),
            false => write!(f, "`{}`", self.0),
        }
    }
}
