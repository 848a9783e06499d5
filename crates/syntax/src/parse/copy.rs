//! COPY: what is copied, where, and its options in today's and older spellings.
//!
//! ```text
//!   COPY table [(columns)] FROM STDIN | 'file' | PROGRAM 'command'   [WITH] (FORMAT csv, HEADER, …)
//!   COPY table | (query)   TO STDOUT | …                             [WITH] CSV HEADER DELIMITER AS '|'
//! ```
//!
//! Which options there are, and what they mean, is for whoever runs the statement to say; the older
//! spellings are turned into those in parentheses here.

use sqlparser::parser::Parser;
use sqlparser::tokenizer::Token;

use super::session::setting_text;
use crate::ast;
use crate::error::Result;
use crate::reader::Reader;
use crate::statement::{Copy, CopyOption, CopySource, CopyValue, Ident, Kind};
use crate::tokens::is_token;

pub(super) fn copy(reader: &mut Reader<'_>) -> Result<Kind> {
    reader.expect("copy")?;
    let source = source(reader)?;
    let from = match source {
        CopySource::Table { .. } => reader.accept("from"),
        CopySource::Query(_) => false,
    };
    if !from {
        reader.expect("to")?;
    }
    let target = target(reader, from)?;
    reader.accept("with");
    let options = if is_token(reader.peek(0), &Token::LParen) {
        reader.list(option)?
    } else {
        let mut options = Vec::new();
        while !reader.is_done() {
            options.push(older_option(reader)?);
        }
        options
    };
    Ok(Kind::Copy(Box::new(Copy {
        source,
        from,
        target,
        options,
    })))
}

fn source(reader: &mut Reader<'_>) -> Result<CopySource> {
    if reader.accept_token(&Token::LParen) {
        let query = reader.run(Parser::parse_query)?;
        reader.expect_token(&Token::RParen)?;
        return Ok(CopySource::Query(query));
    }
    let table = reader.name()?;
    let columns = match is_token(reader.peek(0), &Token::LParen) {
        true => reader.list(Reader::ident)?,
        false => Vec::new(),
    };
    Ok(CopySource::Table { table, columns })
}

fn target(reader: &mut Reader<'_>, from: bool) -> Result<ast::CopyTarget> {
    // PostgreSQL takes either word for both directions.
    if reader.accept("stdin") || reader.accept("stdout") {
        return Ok(match from {
            true => ast::CopyTarget::Stdin,
            false => ast::CopyTarget::Stdout,
        });
    }
    if reader.accept("program") {
        let command = setting_text(reader)?;
        return Ok(ast::CopyTarget::Program { command });
    }
    match reader.peek(0).map(|token| &token.token) {
        Some(Token::SingleQuotedString(_)) => {
            let filename = setting_text(reader)?;
            Ok(ast::CopyTarget::File { filename })
        }
        _ => Err(reader.unexpected("STDIN, STDOUT, PROGRAM or a file")),
    }
}

/// An option between parentheses.
fn option(reader: &mut Reader<'_>) -> Result<CopyOption> {
    let name = reader.ident()?.value.to_ascii_lowercase();
    let value = match reader.peek(0).map(|token| &token.token) {
        Some(Token::Comma | Token::RParen) | None => CopyValue::None,
        Some(Token::LParen) => CopyValue::Columns(reader.list(Reader::ident)?),
        Some(Token::Mul) => {
            reader.next();
            CopyValue::All
        }
        _ => CopyValue::Text(setting_text(reader)?),
    };
    Ok(CopyOption { name, value })
}

/// An option as it was written before there were parentheses.
fn older_option(reader: &mut Reader<'_>) -> Result<CopyOption> {
    let made = |name: &str, value| {
        Ok(CopyOption {
            name: name.to_owned(),
            value,
        })
    };
    for format in ["csv", "binary"] {
        if reader.accept(format) {
            return made("format", CopyValue::Text(format.to_owned()));
        }
    }
    for switch in ["header", "freeze"] {
        if reader.accept(switch) {
            return made(switch, CopyValue::None);
        }
    }
    for (words, name) in [
        ("force not null", "force_not_null"),
        ("force null", "force_null"),
        ("force quote", "force_quote"),
    ] {
        if reader.accept(words) {
            let value = older_columns(reader)?;
            return made(name, value);
        }
    }
    for name in ["delimiter", "null", "quote", "escape", "encoding"] {
        if reader.accept(name) {
            reader.accept("as");
            let text = setting_text(reader)?;
            return made(name, CopyValue::Text(text));
        }
    }
    Err(reader.unexpected("an option of COPY"))
}

fn older_columns(reader: &mut Reader<'_>) -> Result<CopyValue> {
    if reader.accept_token(&Token::Mul) {
        return Ok(CopyValue::All);
    }
    let columns: Vec<Ident> = reader.items(Reader::ident)?;
    Ok(CopyValue::Columns(columns))
}
