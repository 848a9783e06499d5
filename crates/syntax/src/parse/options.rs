//! Options of a table: `WITH (…)`, `SET (…)`, and the keys at which it is cut.

use keys::{Type, Value};
use sqlparser::tokenizer::Token;

use crate::ast;
use crate::error::Result;
use crate::literal::literal_text;
use crate::reader::Reader;
use crate::statement::Ident;
use crate::table::{OptionValue, SplitKey, TableOption, Ttl, TtlUnit};

/// Reads `( name = value, … )`.
pub(super) fn options(reader: &mut Reader<'_>) -> Result<Vec<TableOption>> {
    reader.list(option)
}

fn option(reader: &mut Reader<'_>) -> Result<TableOption> {
    let name = reader.ident()?;
    reader.expect_token(&Token::Eq)?;
    let start = reader.start();
    let value = option_value(reader, &name)?;
    Ok(TableOption {
        name,
        value,
        value_span: reader.since(start),
    })
}

fn option_value(reader: &mut Reader<'_>, name: &Ident) -> Result<OptionValue> {
    if name.value.eq_ignore_ascii_case("partition_at_keys") {
        return Ok(OptionValue::Keys(partition_keys(reader)?));
    }
    if name.value.eq_ignore_ascii_case("ttl") {
        return Ok(OptionValue::Ttl(ttl(reader)?));
    }
    let start = reader.start();
    let enabled = reader.accept("enabled");
    if enabled || reader.accept("disabled") {
        return Ok(OptionValue::Enabled(enabled));
    }
    let expr = reader.expression()?.expr;
    match &expr {
        ast::Expr::Identifier(word) => Ok(OptionValue::Word(word.value.clone())),
        ast::Expr::Value(value) => match &value.value {
            ast::Value::Boolean(value) => Ok(OptionValue::Word(value.to_string())),
            ast::Value::Number(digits, _) => match digits.parse() {
                Ok(number) => Ok(OptionValue::Number(number)),
                Err(_) => Err(reader.invalid(start, "an option takes a whole number")),
            },
            _ => option_text(reader, &expr, start),
        },
        ast::Expr::UnaryOp { .. } => Err(reader.invalid(start, "an option takes a whole number")),
        _ => option_text(reader, &expr, start),
    }
}

/// A string, or a number with a suffix.
fn option_text(reader: &Reader<'_>, expr: &ast::Expr, start: usize) -> Result<OptionValue> {
    match literal_text(expr) {
        Some((Some(kind), text)) if kind.is_integer() => match text.parse() {
            Ok(number) => Ok(OptionValue::Number(number)),
            Err(_) => Err(reader.invalid(start, "an option takes a whole number")),
        },
        Some((_, text)) => Ok(OptionValue::Text(text)),
        None => Err(reader.invalid(start, "an option takes a word, a whole number or a string")),
    }
}

/// `(1, 2)` is two keys of one column, `((1, 'a'), (2, 'b'))` two keys of two.
fn partition_keys(reader: &mut Reader<'_>) -> Result<Vec<Vec<ast::Expr>>> {
    reader.list(|reader| {
        if reader
            .peek(0)
            .is_some_and(|token| token.token == Token::LParen)
        {
            reader.list(|reader| Ok(reader.expression()?.expr))
        } else {
            Ok(vec![reader.expression()?.expr])
        }
    })
}

/// Reads `(v, …), (v, …)`: one key for each pair of parentheses.
pub(super) fn split_keys(reader: &mut Reader<'_>) -> Result<Vec<SplitKey>> {
    let mut keys = Vec::new();
    loop {
        let start = reader.start();
        let values = reader.list(|reader| Ok(reader.expression()?.expr))?;
        keys.push(SplitKey {
            values,
            span: reader.since(start),
        });
        // A comma may also lead to the next change of the table.
        let more = reader
            .peek(0)
            .is_some_and(|token| token.token == Token::Comma)
            && reader
                .peek(1)
                .is_some_and(|token| token.token == Token::LParen);
        if !more {
            return Ok(keys);
        }
        reader.next();
    }
}

fn ttl(reader: &mut Reader<'_>) -> Result<Ttl> {
    let start = reader.start();
    let expr = reader.expression()?.expr;
    let after = literal_text(&expr)
        .filter(|(kind, _)| kind.is_none_or(|kind| kind == Type::Interval))
        .and_then(|(_, text)| Value::parse(Type::Interval, &text).ok());
    let Some(Value::Interval(after_us)) = after else {
        let reason = "a TTL begins with how long rows live, such as Interval(\"PT1H\")";
        return Err(reader.invalid(start, reason));
    };
    reader.accept("delete");
    reader.expect("on")?;
    let column = reader.ident()?;
    let unit = if reader.accept("as") {
        Some(ttl_unit(reader)?)
    } else {
        None
    };
    Ok(Ttl {
        after_us,
        column,
        unit,
    })
}

fn ttl_unit(reader: &mut Reader<'_>) -> Result<TtlUnit> {
    for (word, unit) in [
        ("seconds", TtlUnit::Seconds),
        ("milliseconds", TtlUnit::Milliseconds),
        ("microseconds", TtlUnit::Microseconds),
        ("nanoseconds", TtlUnit::Nanoseconds),
    ] {
        if reader.accept(word) {
            return Ok(unit);
        }
    }
    Err(reader.unexpected("SECONDS, MILLISECONDS, MICROSECONDS or NANOSECONDS"))
}
