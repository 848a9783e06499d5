//! CREATE and ALTER SEQUENCE, their options in any order.

use crate::error::Result;
use crate::reader::Reader;
use crate::statement::{AlterSequence, CreateSequence, Kind, SequenceOptions};

pub(super) fn create(reader: &mut Reader<'_>) -> Result<Kind> {
    reader.expect("create sequence")?;
    let if_not_exists = reader.accept("if not exists");
    let name = reader.name()?;
    Ok(Kind::CreateSequence(Box::new(CreateSequence {
        name,
        if_not_exists,
        options: options(reader)?,
    })))
}

pub(super) fn alter(reader: &mut Reader<'_>) -> Result<Kind> {
    reader.expect("alter sequence")?;
    let if_exists = reader.accept("if exists");
    let name = reader.name()?;
    let rename_to = if reader.accept("rename to") {
        Some(reader.name()?)
    } else {
        None
    };
    Ok(Kind::AlterSequence(Box::new(AlterSequence {
        name,
        if_exists,
        options: options(reader)?,
        rename_to,
    })))
}

fn options(reader: &mut Reader<'_>) -> Result<SequenceOptions> {
    let mut options = SequenceOptions::default();
    while !reader.is_done() {
        option(reader, &mut options)?;
    }
    Ok(options)
}

fn option(reader: &mut Reader<'_>, options: &mut SequenceOptions) -> Result<()> {
    let start = reader.start();
    if reader.accept("as") {
        let (kind, _) = super::table::column_type(reader)?;
        let crate::table::ColumnType::Plain(kind) = kind else {
            return Err(reader.invalid(start, "a sequence counts in an integer type"));
        };
        options.kind = Some(kind);
    } else if reader.accept("increment") {
        reader.accept("by");
        options.increment = Some(reader.integer()?);
    } else if reader.accept("no minvalue") {
        options.min = Some(None);
    } else if reader.accept("minvalue") {
        options.min = Some(Some(reader.integer()?));
    } else if reader.accept("no maxvalue") {
        options.max = Some(None);
    } else if reader.accept("maxvalue") {
        options.max = Some(Some(reader.integer()?));
    } else if reader.accept("start") {
        reader.accept("with");
        options.start = Some(reader.integer()?);
    } else if reader.accept("restart") {
        let says = reader.accept("with");
        let number = reader.peek(0).is_some_and(|token| {
            matches!(
                token.token,
                sqlparser::tokenizer::Token::Number(..) | sqlparser::tokenizer::Token::Minus
            )
        });
        options.restart = Some(if says || number {
            Some(reader.integer()?)
        } else {
            None
        });
    } else if reader.accept("cache") {
        options.cache = Some(reader.integer()?);
    } else if reader.accept("no cycle") {
        options.cycle = Some(false);
    } else if reader.accept("cycle") {
        options.cycle = Some(true);
    } else if reader.accept("owned by none") {
        options.owned_by = Some(None);
    } else if reader.accept("owned by") {
        options.owned_by = Some(Some(reader.name()?));
    } else {
        return Err(reader.unexpected("an option of a sequence, such as INCREMENT BY 2"));
    }
    Ok(())
}
