//! Statements about the session: transactions, settings, EXPLAIN.

use sqlparser::parser::Parser;
use sqlparser::tokenizer::Token;

use super::statement;
use crate::ast::TransactionIsolationLevel as Isolation;
use crate::error::Result;
use crate::reader::Reader;
use crate::statement::{
    Explain, ExplainFormat, Kind, Reset, Set, Show, Statement, TransactionModes,
};
use crate::tokens::{is_token, is_word};

pub(super) fn begin(reader: &mut Reader<'_>) -> Result<Kind> {
    if reader.accept("start") {
        reader.expect("transaction")?;
    } else {
        reader.expect("begin")?;
        skip_transaction_word(reader);
    }
    Ok(Kind::Begin(transaction_modes(reader)?))
}

pub(super) fn commit(reader: &mut Reader<'_>) -> Result<Kind> {
    reader.next();
    skip_transaction_word(reader);
    let chain = chain(reader)?;
    Ok(Kind::Commit { chain })
}

pub(super) fn rollback(reader: &mut Reader<'_>) -> Result<Kind> {
    reader.next();
    skip_transaction_word(reader);
    if reader.accept("to") {
        reader.accept("savepoint");
        return Ok(Kind::RollbackTo(reader.ident()?));
    }
    let chain = chain(reader)?;
    Ok(Kind::Rollback { chain })
}

fn skip_transaction_word(reader: &mut Reader<'_>) {
    if !reader.accept("transaction") {
        reader.accept("work");
    }
}

fn chain(reader: &mut Reader<'_>) -> Result<bool> {
    if !reader.accept("and") {
        return Ok(false);
    }
    let chain = !reader.accept("no");
    reader.expect("chain")?;
    Ok(chain)
}

fn transaction_modes(reader: &mut Reader<'_>) -> Result<TransactionModes> {
    let mut modes = TransactionModes::default();
    while !reader.is_done() {
        if reader.accept("isolation level") {
            modes.isolation = Some(isolation(reader)?);
        } else if reader.accept("read only") {
            modes.read_only = Some(true);
        } else if reader.accept("read write") {
            modes.read_only = Some(false);
        } else if reader.accept("deferrable") {
            modes.deferrable = Some(true);
        } else if reader.accept("not deferrable") {
            modes.deferrable = Some(false);
        } else {
            return Err(reader.unexpected("ISOLATION LEVEL, READ ONLY, READ WRITE or DEFERRABLE"));
        }
        reader.accept_token(&Token::Comma);
    }
    Ok(modes)
}

fn isolation(reader: &mut Reader<'_>) -> Result<Isolation> {
    for (words, level) in [
        ("serializable", Isolation::Serializable),
        ("snapshot", Isolation::Snapshot),
        ("repeatable read", Isolation::RepeatableRead),
        ("read committed", Isolation::ReadCommitted),
        ("read uncommitted", Isolation::ReadUncommitted),
    ] {
        if reader.accept(words) {
            return Ok(level);
        }
    }
    Err(reader.unexpected("SERIALIZABLE, SNAPSHOT, REPEATABLE READ or READ COMMITTED"))
}

pub(super) fn set(reader: &mut Reader<'_>) -> Result<Kind> {
    if reader.are("set role") || reader.are("set session authorization") {
        let other = reader.run(Parser::parse_statement)?;
        return Ok(Kind::Other(Box::new(other)));
    }
    reader.expect("set")?;
    if reader.is("constraints") && !is_token(reader.peek(1), &Token::Eq) {
        return constraints(reader);
    }
    if reader.accept("session characteristics as transaction") {
        let modes = transaction_modes(reader)?;
        return Ok(Kind::Set(Set::Transaction {
            session: true,
            modes,
        }));
    }
    let local = reader.accept("local");
    if !local && !is_token(reader.peek(1), &Token::Eq) {
        reader.accept("session");
    }
    if reader.accept("transaction") {
        let modes = transaction_modes(reader)?;
        return Ok(Kind::Set(Set::Transaction {
            session: false,
            modes,
        }));
    }
    let name = if reader.accept("time zone") {
        "timezone".to_owned()
    } else if reader.is("names") && !is_token(reader.peek(1), &Token::Eq) {
        reader.expect("names")?;
        "client_encoding".to_owned()
    } else {
        let name = setting_name(reader)?;
        if !reader.accept_token(&Token::Eq) && !reader.accept("to") {
            return Err(reader.unexpected("`=` or TO"));
        }
        name
    };
    let value = if reader.accept("default") {
        None
    } else {
        Some(reader.items(setting_text)?)
    };
    Ok(Kind::Set(Set::Variable { local, name, value }))
}

/// CONSTRAINTS { ALL | name, … } { DEFERRED | IMMEDIATE }.
fn constraints(reader: &mut Reader<'_>) -> Result<Kind> {
    reader.expect("constraints")?;
    let names = match reader.accept("all") {
        true => Vec::new(),
        false => reader.items(Reader::name)?,
    };
    let deferred = reader.accept("deferred");
    if !deferred && !reader.accept("immediate") {
        return Err(reader.unexpected("DEFERRED or IMMEDIATE"));
    }
    Ok(Kind::Set(Set::Constraints { names, deferred }))
}

/// ALTER SYSTEM SET name = value, ALTER SYSTEM RESET name or ALL.
pub(super) fn alter_system(reader: &mut Reader<'_>) -> Result<Kind> {
    reader.expect("alter system")?;
    if reader.accept("reset") {
        let name = match reader.accept("all") {
            true => None,
            false => Some(setting_name(reader)?),
        };
        return Ok(Kind::Set(Set::System { name, value: None }));
    }
    reader.expect("set")?;
    let name = setting_name(reader)?;
    if !reader.accept_token(&Token::Eq) && !reader.accept("to") {
        return Err(reader.unexpected("`=` or TO"));
    }
    let value = match reader.accept("default") {
        true => None,
        false => Some(reader.items(setting_text)?),
    };
    let name = Some(name);
    Ok(Kind::Set(Set::System { name, value }))
}

/// The name of a setting: in lower case unless quoted, dots kept.
fn setting_name(reader: &mut Reader<'_>) -> Result<String> {
    let parts: Vec<String> = reader
        .name()?
        .parts
        .into_iter()
        .map(|part| match part.quote {
            Some(_) => part.value,
            None => part.value.to_ascii_lowercase(),
        })
        .collect();
    Ok(parts.join("."))
}

/// The value of a setting as text: a word, a string or a number.
pub(super) fn setting_text(reader: &mut Reader<'_>) -> Result<String> {
    let sign = if reader.accept_token(&Token::Minus) {
        "-"
    } else {
        ""
    };
    let text = match reader.peek(0).map(|token| token.token.clone()) {
        Some(Token::Number(digits, _)) => format!("{sign}{digits}"),
        Some(Token::Word(word)) if sign.is_empty() => word.value,
        Some(Token::SingleQuotedString(text)) if sign.is_empty() => text,
        _ => return Err(reader.unexpected("a word, a string or a number")),
    };
    reader.next();
    Ok(text)
}

pub(super) fn show(reader: &mut Reader<'_>) -> Result<Kind> {
    reader.expect("show")?;
    if reader.accept("create table") {
        return Ok(Kind::Show(Show::CreateTable(reader.name()?)));
    }
    let mut words = vec![setting_name(reader)?];
    while !reader.is_done() {
        words.push(setting_name(reader)?);
    }
    Ok(Kind::Show(Show::Variable(words.join(" "))))
}

pub(super) fn reset(reader: &mut Reader<'_>) -> Result<Kind> {
    reader.expect("reset")?;
    if reader.accept("all") {
        return Ok(Kind::Reset(Reset::All));
    }
    Ok(Kind::Reset(Reset::Variable(setting_name(reader)?)))
}

/// EXPLAIN, its options in words or in parentheses, and any statement but another EXPLAIN.
pub(super) fn explain(mut reader: Reader<'_>) -> Result<Statement> {
    let span = reader.span;
    reader.expect("explain")?;
    let mut explain = Wanted::default();
    let query = ["select", "with", "values"]
        .iter()
        .any(|word| is_word(reader.peek(1), word));
    let nested = is_token(reader.peek(1), &Token::LParen);
    if is_token(reader.peek(0), &Token::LParen) && !query && !nested {
        reader.list(|reader| explain_option(reader, &mut explain))?;
    } else {
        explain.analyze = reader.accept("analyze");
        explain.verbose = reader.accept("verbose");
    }
    if reader.is_done() || reader.is("explain") {
        return Err(reader.unexpected("a statement to explain"));
    }
    let kind = Kind::Explain(Explain {
        analyze: explain.analyze,
        verbose: explain.verbose,
        format: explain.format,
        statement: Box::new(statement(reader.rest())?),
    });
    Ok(Statement::new(span, kind))
}

#[derive(Default)]
struct Wanted {
    analyze: bool,
    verbose: bool,
    format: ExplainFormat,
}

fn explain_option(reader: &mut Reader<'_>, explain: &mut Wanted) -> Result<()> {
    let start = reader.start();
    let name = setting_name(reader)?;
    let closes =
        is_token(reader.peek(0), &Token::Comma) || is_token(reader.peek(0), &Token::RParen);
    let value = if closes {
        None
    } else {
        Some(setting_text(reader)?.to_ascii_lowercase())
    };
    let on = !matches!(value.as_deref(), Some("off" | "false" | "0"));
    match (name.as_str(), value.as_deref()) {
        ("analyze", _) => explain.analyze = on,
        ("verbose", _) => explain.verbose = on,
        ("format", Some("json")) => explain.format = ExplainFormat::Json,
        ("format", Some("text")) => explain.format = ExplainFormat::Text,
        ("format", _) => return Err(reader.invalid(start, "plans are printed as TEXT or JSON")),
        // Options of PostgreSQL that ask for detail we print in any case, or do not have.
        ("costs" | "buffers" | "timing" | "summary" | "settings" | "wal" | "generic_plan", _) => {}
        _ => return Err(reader.invalid(start, format!("EXPLAIN has no option {name}"))),
    }
    Ok(())
}
