//! The functions of expressions: their names, what they take, and which file works them out.
//!
//! A function that is a question (`starts`, `isnan`, …) answers false where something is missing or
//! does not fit, as a comparison does. `exists`, `if_not_exists` and `if_else` work out only what
//! they need.

mod arrays;
mod scalars;
mod texts;

use super::evaluate::{Outcome, Scope, Stop, evaluate, present, truth};
use super::tree::Node;
use super::value::Value;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Function {
    Exists,
    IfNotExists,
    IfElse,
    Starts,
    Ends,
    Contains,
    IsNan,
    Length,
    Min,
    Max,
    InitArray,
    Blob,
    PMin,
    PMax,
    PSum,
    ToInt,
    Str,
    Sum,
    Avg,
    StdDev,
    Sqrt,
    NanAsZero,
    SortArray,
    Find,
    FindAllIndices,
    ExtractByIndices,
    RegexpInstr,
    RegexpReplace,
}

struct Entry {
    function: Function,
    name: &'static str,
    arguments: (usize, usize),
    usage: &'static str,
}

const fn entry(
    function: Function,
    name: &'static str,
    arguments: (usize, usize),
    usage: &'static str,
) -> Entry {
    Entry {
        function,
        name,
        arguments,
        usage,
    }
}

#[rustfmt::skip]
const FUNCTIONS: [Entry; 28] = [
    entry(Function::Exists, "exists", (1, 1), "exists(attribute)"),
    entry(Function::IfNotExists, "if_not_exists", (2, 2), "if_not_exists(attribute, value)"),
    entry(Function::IfElse, "if_else", (3, 3), "if_else(condition, value, value)"),
    entry(Function::Starts, "starts", (2, 2), "starts(text, text)"),
    entry(Function::Ends, "ends", (2, 2), "ends(text, text)"),
    entry(Function::Contains, "contains", (2, 2), "contains(text, text)"),
    entry(Function::IsNan, "isnan", (1, 1), "isnan(number)"),
    entry(Function::Length, "length", (1, 1), "length(text, bytes or array)"),
    entry(Function::Min, "min", (1, 2), "min(array) or min(value, value)"),
    entry(Function::Max, "max", (1, 2), "max(array) or max(value, value)"),
    entry(Function::InitArray, "init_array", (2, 3), "init_array(length, 'int' or 'double', number)"),
    entry(Function::Blob, "blob", (1, 1), "blob(text in Base64)"),
    entry(Function::PMin, "pmin", (2, 2), "pmin(array, array)"),
    entry(Function::PMax, "pmax", (2, 2), "pmax(array, array)"),
    entry(Function::PSum, "psum", (2, 2), "psum(array, array)"),
    entry(Function::ToInt, "to_int", (1, 1), "to_int(number, text or time)"),
    entry(Function::Str, "str", (1, 1), "str(number, bool, text or time)"),
    entry(Function::Sum, "sum", (1, 1), "sum(array)"),
    entry(Function::Avg, "avg", (1, 1), "avg(array)"),
    entry(Function::StdDev, "stddev", (1, 1), "stddev(array)"),
    entry(Function::Sqrt, "sqrt", (1, 1), "sqrt(number)"),
    entry(Function::NanAsZero, "nanaszero", (1, 1), "nanaszero(number or array)"),
    entry(Function::SortArray, "sort_array", (1, 1), "sort_array(array)"),
    entry(Function::Find, "find", (2, 2), "find(array, number) or find(text, text)"),
    entry(Function::FindAllIndices, "find_all_indices", (2, 2), "find_all_indices(array, number)"),
    entry(Function::ExtractByIndices, "extract_by_indices", (2, 2), "extract_by_indices(array, array of integers)"),
    entry(Function::RegexpInstr, "regexp_instr", (2, 2), "regexp_instr(text, pattern)"),
    entry(Function::RegexpReplace, "regexp_replace", (3, 3), "regexp_replace(text, pattern, text)"),
];

impl Function {
    /// The function of this name, in whatever case.
    pub(super) fn named(name: &str) -> Option<Self> {
        let entry = FUNCTIONS
            .iter()
            .find(|entry| entry.name.eq_ignore_ascii_case(name));
        entry.map(|entry| entry.function)
    }

    pub(super) fn name(self) -> &'static str {
        self.entry().name
    }

    /// How many arguments it takes, at least and at most.
    pub(super) fn arguments(self) -> (usize, usize) {
        self.entry().arguments
    }

    /// How it is called.
    pub(super) fn usage(self) -> &'static str {
        self.entry().usage
    }

    /// Whether its first argument is the name of an attribute or an element.
    pub(super) fn wants_name(self) -> bool {
        matches!(self, Self::Exists | Self::IfNotExists)
    }

    fn is_question(self) -> bool {
        matches!(
            self,
            Self::Starts | Self::Ends | Self::Contains | Self::IsNan
        )
    }

    fn entry(self) -> &'static Entry {
        let entry = FUNCTIONS.iter().find(|entry| entry.function == self);
        entry.expect("every function is in the table")
    }
}

/// What a function gives.
pub(super) fn call(
    at: usize,
    function: Function,
    arguments: &[Node],
    scope: &dyn Scope,
) -> Outcome {
    match (function, arguments) {
        (Function::Exists, [attribute]) => {
            Ok(Value::Bool(present(evaluate(attribute, scope))?.is_some()))
        }
        (Function::IfNotExists, [attribute, value]) => match evaluate(attribute, scope) {
            Err(Stop::Missing { .. }) => evaluate(value, scope),
            found => found,
        },
        (Function::IfElse, [condition, yes, no]) => match truth(condition, scope)? {
            true => evaluate(yes, scope),
            false => evaluate(no, scope),
        },
        _ if function.is_question() => {
            let answer = eager(at, function, arguments, scope);
            Ok(present(answer)?.unwrap_or(Value::Bool(false)))
        }
        _ => eager(at, function, arguments, scope),
    }
}

/// Functions that need all their arguments.
fn eager(at: usize, function: Function, arguments: &[Node], scope: &dyn Scope) -> Outcome {
    let values: Vec<Value> = arguments
        .iter()
        .map(|argument| evaluate(argument, scope))
        .collect::<Result<_, _>>()?;
    let kinds: Vec<&str> = values.iter().map(Value::kind).collect();
    let found = match function {
        Function::Starts
        | Function::Ends
        | Function::Contains
        | Function::Blob
        | Function::RegexpInstr
        | Function::RegexpReplace => texts::call(function, &values),
        Function::IsNan | Function::Length | Function::ToInt | Function::Str | Function::Sqrt => {
            scalars::call(function, &values)
        }
        Function::Min | Function::Max if values.len() == 2 => scalars::call(function, &values),
        _ => arrays::call(function, values),
    };
    found
        .unwrap_or(Err(Failure::Mismatch))
        .map_err(|failure| match failure {
            Failure::Calculation(reason) => Stop::calculation(at, reason),
            Failure::Mismatch => {
                let (usage, kinds) = (function.usage(), kinds.join(" and "));
                Stop::mismatch(at, format!("{usage} does not take {kinds}"))
            }
        })
}

/// Why a function gives nothing; where it stands is added by whoever called it.
enum Failure {
    /// It does not take such values.
    Mismatch,
    /// It takes them and has no result.
    Calculation(String),
}

/// Nothing, for arguments that the function does not take.
type Found = Option<Result<Value, Failure>>;

fn calculation(reason: impl Into<String>) -> Failure {
    Failure::Calculation(reason.into())
}
