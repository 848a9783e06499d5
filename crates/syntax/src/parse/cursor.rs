//! Cursors: DECLARE … CURSOR, FETCH, MOVE and CLOSE.

use sqlparser::parser::Parser;
use sqlparser::tokenizer::Token;

use crate::error::Result;
use crate::reader::Reader;
use crate::statement::{DeclareCursor, Fetch, Kind, Motion};

pub(super) fn declare(reader: &mut Reader<'_>) -> Result<Kind> {
    reader.expect("declare")?;
    let name = reader.ident()?;
    let (mut binary, mut scroll) = (false, false);
    loop {
        if reader.accept("binary") {
            binary = true;
        } else if reader.accept("scroll") {
            scroll = true;
        } else if !(reader.accept("no scroll")
            || reader.accept("insensitive")
            || reader.accept("asensitive"))
        {
            break;
        }
    }
    reader.expect("cursor")?;
    let hold = reader.accept("with hold");
    if !hold {
        reader.accept("without hold");
    }
    reader.expect("for")?;
    Ok(Kind::DeclareCursor(Box::new(DeclareCursor {
        name,
        binary,
        scroll,
        hold,
        query: reader.run(Parser::parse_query)?,
    })))
}

/// FETCH, or MOVE, which goes as far and answers no rows.
pub(super) fn fetch(reader: &mut Reader<'_>) -> Result<Kind> {
    let quiet = reader.accept("move");
    if !quiet {
        reader.expect("fetch")?;
    }
    let motion = motion(reader)?;
    if !reader.accept("from") {
        reader.accept("in");
    }
    let name = reader.ident()?;
    Ok(Kind::Fetch(Fetch {
        name,
        motion,
        quiet,
    }))
}

pub(super) fn close(reader: &mut Reader<'_>) -> Result<Kind> {
    reader.expect("close")?;
    if reader.accept("all") {
        return Ok(Kind::CloseCursor(None));
    }
    Ok(Kind::CloseCursor(Some(reader.ident()?)))
}

fn motion(reader: &mut Reader<'_>) -> Result<Motion> {
    Ok(if reader.accept("next") {
        Motion::By(1)
    } else if reader.accept("prior") {
        Motion::By(-1)
    } else if reader.accept("first") {
        Motion::To(1)
    } else if reader.accept("last") {
        Motion::To(-1)
    } else if reader.accept("absolute") {
        Motion::To(reader.integer()?)
    } else if reader.accept("relative") {
        Motion::Jump(reader.integer()?)
    } else if reader.accept("all") {
        Motion::By(i64::MAX)
    } else if reader.accept("forward") {
        Motion::By(count(reader)?)
    } else if reader.accept("backward") {
        Motion::By(count(reader)?.saturating_neg())
    } else if is_name(reader) {
        Motion::By(1)
    } else {
        Motion::By(reader.integer()?)
    })
}

/// Whether the name of the cursor is next, with or without FROM.
fn is_name(reader: &Reader<'_>) -> bool {
    let next = reader.peek(0).map(|next| &next.token);
    matches!(next, Some(Token::Word(_)))
}

fn count(reader: &mut Reader<'_>) -> Result<i64> {
    if reader.accept("all") {
        Ok(i64::MAX)
    } else if is_name(reader) {
        Ok(1)
    } else {
        reader.integer()
    }
}
