//! Tokens to statements: the first words choose the grammar.
//!
//! Grammars of ours, for what YQL and this database add, are in the modules below; each reads with
//! sqlparser's parser and falls back to it ([`Kind::Other`]) on clauses it has no word for. All else
//! goes to sqlparser whole.

mod alter;
mod assignments;
mod copy;
mod cursor;
mod options;
mod parameter;
mod rows;
mod sequence;
mod session;
mod table;
mod with;

use sqlparser::parser::Parser;
use sqlparser::tokenizer::{Token, TokenWithSpan};

use crate::ast;
use crate::dialect::EvenKeel;
use crate::error::Result;
use crate::forms::forms;
use crate::locks;
use crate::quotes;
use crate::reader::{Reader, convert_name};
use crate::rewrite::rewrite;
use crate::span::Span;
use crate::statement::{
    Advise, CreateIndex, Define, Drop, Ident, Kind, Pragma, Query, Statement, Truncate, Vacuum,
    Verify,
};
use crate::table::Index;
use crate::tokens::{self, is_token};

/// Stack that reading takes before anything is nested.
const STACK_BYTES_MIN: usize = 384 << 10;
/// Stack that one level of parentheses may take: for a join sqlparser was measured to need 150 KiB
/// when it is not optimised, more than the 128 KiB it checks for by itself.
const LEVEL_STACK_BYTES_MAX: usize = 256 << 10;
/// Stack for statements that sqlparser reads whole: it does not check at statements in statements.
const OTHER_STACK_BYTES: usize = 24 << 20;

/// Stack for walking the deepest tree there is, twice: one level of a chain of operators takes some
/// kilobytes when the walk is not optimised.
const WALK_STACK_BYTES: usize = 16 << 20;

/// Walks a tree, or does anything else that goes as deep as a tree does, on a stack that is enough.
pub fn deep<T>(walk: impl FnOnce() -> T) -> T {
    stacker::maybe_grow(WALK_STACK_BYTES, 2 * WALK_STACK_BYTES, walk)
}

/// Reads every statement of a text, or the first error.
///
/// ```
/// let statements = syntax::parse("UPSERT INTO t (id) VALUES (1ul); SELECT * FROM t")?;
/// assert_eq!(statements.len(), 2);
/// # Ok::<(), syntax::Error>(())
/// ```
pub fn parse(text: &str) -> Result<Vec<Statement>> {
    parse_each(text)?.into_iter().collect()
}

/// Reads every statement of a text by itself: one that is wrong does not hide the others.
///
/// Only a text that cannot be cut into statements (an unclosed string, a length past its limit)
/// fails as a whole.
pub fn parse_each(text: &str) -> Result<Vec<Result<Statement>>> {
    let tokens = tokens::tokenize(text)?;
    let yql = quotes::speaks_yql(text, &tokens);
    let statements = tokens::statements(tokens);
    Ok(statements
        .into_iter()
        .map(|tokens| parse_tokens(text, tokens, yql))
        .collect())
}

/// Reads the tokens of one statement.
pub(crate) fn parse_tokens(text: &str, tokens: Vec<TokenWithSpan>, yql: bool) -> Result<Statement> {
    let depth = tokens::check_limits(text, &tokens)?;
    tokens::check_from(text, &tokens)?;
    let tokens = prepare(text, tokens, yql)?;
    let dialect = EvenKeel::new(tokens.len());
    let stack_bytes = STACK_BYTES_MIN + depth * LEVEL_STACK_BYTES_MAX;
    stacker::maybe_grow(stack_bytes, 2 * stack_bytes, || {
        statement(Reader::new(text, &dialect, tokens))
    })
}

/// Decides quotes and rewrites YQL's forms.
fn prepare(text: &str, mut tokens: Vec<TokenWithSpan>, yql: bool) -> Result<Vec<TokenWithSpan>> {
    quotes::decide(text, &mut tokens, yql)?;
    let tokens = forms(text, locks::after_limits(tokens), yql)?;
    rewrite(text, &tokens)
}

/// Reads one statement.
fn statement(mut reader: Reader<'_>) -> Result<Statement> {
    let span = reader.span;
    let kind = match reader.peek(0).map(|token| token.token.clone()) {
        Some(Token::Placeholder(_)) => define(&mut reader)?,
        Some(Token::Word(word)) if word.quote_style.is_none() => {
            return by_first_word(reader, &word.value.to_ascii_lowercase());
        }
        _ => query(&mut reader)?,
    };
    reader.finish()?;
    Ok(Statement::new(span, kind))
}

fn by_first_word(mut reader: Reader<'_>, word: &str) -> Result<Statement> {
    let span = reader.span;
    let read = &mut reader;
    let kind = match word {
        "select" | "with" | "values" | "table" => query(read)?,
        "insert" | "upsert" | "replace" => rows::insert(read)?,
        "update" => rows::update(read)?,
        "delete" => rows::delete(read)?,
        "copy" => copy::copy(read)?,
        "create" if read.are("create table") => return table::create(reader),
        "create" if read.are("create index") || read.are("create unique index") => {
            create_index(read)?
        }
        "create" if read.are("create sequence") => sequence::create(read)?,
        "alter" if read.are("alter table") => return alter::alter(reader),
        "alter" if read.are("alter index") => return alter::index(reader),
        "alter" if read.are("alter system") => session::alter_system(read)?,
        "alter" if read.are("alter sequence") => sequence::alter(read)?,
        "drop" => return drop(reader),
        "truncate" => truncate(read)?,
        "begin" | "start" => session::begin(read)?,
        "commit" | "end" => session::commit(read)?,
        "rollback" | "abort" => session::rollback(read)?,
        "savepoint" => {
            read.expect("savepoint")?;
            Kind::Savepoint(read.ident()?)
        }
        "release" => {
            read.expect("release")?;
            read.accept("savepoint");
            Kind::Release(read.ident()?)
        }
        "set" => session::set(read)?,
        "show" => session::show(read)?,
        "reset" => session::reset(read)?,
        "discard" => discard(read)?,
        "explain" => return session::explain(reader),
        "declare"
            if matches!(
                read.peek(1).map(|next| &next.token),
                Some(Token::Placeholder(_))
            ) =>
        {
            parameter::declare(read)?
        }
        "declare" => cursor::declare(read)?,
        "fetch" | "move" => cursor::fetch(read)?,
        "close" => cursor::close(read)?,
        "pragma" => pragma(read)?,
        "vacuum" | "analyze" => vacuum(read)?,
        "advise" => advise(read)?,
        "call" => call(read)?,
        "evaluate" | "do" | "define" | "import" | "export" | "process" | "reduce" | "subquery"
        | "batch" => {
            let reason = format!("{} is not supported", word.to_ascii_uppercase());
            return Err(read.invalid(read.start(), reason));
        }
        _ => return other(reader),
    };
    reader.finish()?;
    Ok(Statement::new(span, kind))
}

/// Lets sqlparser read the whole statement, from the beginning.
fn other(reader: Reader<'_>) -> Result<Statement> {
    let mut reader = reader.again();
    let statement = stacker::grow(OTHER_STACK_BYTES, || reader.run(Parser::parse_statement))?;
    reader.finish()?;
    Ok(Statement::new(
        reader.span,
        Kind::Other(Box::new(statement)),
    ))
}

fn query(reader: &mut Reader<'_>) -> Result<Kind> {
    let start = reader.start();
    let mut kind = with::statement(reader.run(Parser::parse_query)?);
    if let Kind::Update(update) = &mut kind {
        assignments::apart(reader, start, &mut update.assignments)?;
    }
    Ok(kind)
}

fn discard(reader: &mut Reader<'_>) -> Result<Kind> {
    reader.expect("discard")?;
    if reader.is("select") || reader.is("with") || reader.is("values") {
        return Ok(Kind::Query(Query {
            discard: true,
            query: reader.run(Parser::parse_query)?,
        }));
    }
    match reader.run(Parser::parse_discard)? {
        ast::Statement::Discard { object_type } => Ok(Kind::Discard(object_type)),
        _ => Err(reader.unexpected("what to discard")),
    }
}

/// `$name = expression` or `$name = (query)`.
fn define(reader: &mut Reader<'_>) -> Result<Kind> {
    let name = parameter_name(reader)?;
    reader.expect_token(&Token::Eq)?;
    if is_lambda(reader) {
        return Err(reader.invalid(reader.start(), "a lambda is not supported"));
    }
    let value = if reader.is("select") || reader.is("with") {
        ast::Expr::Subquery(reader.run(Parser::parse_query)?)
    } else {
        reader.expression()?.expr
    };
    let value = Box::new(value);
    Ok(Kind::Define(Define { name, value }))
}

/// Whether `( $x, … ) ->` is next.
fn is_lambda(reader: &Reader<'_>) -> bool {
    let mut ahead = 0;
    if !is_token(reader.peek(ahead), &Token::LParen) {
        return false;
    }
    while reader.peek(ahead).is_some() && !is_token(reader.peek(ahead), &Token::RParen) {
        ahead += 1;
    }
    is_token(reader.peek(ahead + 1), &Token::Arrow)
}

fn parameter_name(reader: &mut Reader<'_>) -> Result<Ident> {
    match reader.peek(0).cloned() {
        Some(TokenWithSpan {
            token: Token::Placeholder(value),
            span,
        }) if quotes::is_named(&value) => {
            reader.next();
            Ok(Ident {
                value,
                quote: None,
                span: Span::from(span),
            })
        }
        _ => Err(reader.unexpected("a name such as $id")),
    }
}

fn pragma(reader: &mut Reader<'_>) -> Result<Kind> {
    reader.expect("pragma")?;
    let name = reader.name()?;
    let parenthesis = reader.accept_token(&Token::LParen);
    let value = if parenthesis || reader.accept_token(&Token::Eq) {
        Some(session::setting_text(reader)?)
    } else {
        None
    };
    if parenthesis {
        reader.expect_token(&Token::RParen)?;
    }
    Ok(Kind::Pragma(Pragma { name, value }))
}

fn call(reader: &mut Reader<'_>) -> Result<Kind> {
    match reader.run(Parser::parse_statement)? {
        ast::Statement::Call(function) => Ok(Kind::Call(Box::new(function))),
        other => Ok(Kind::Other(Box::new(other))),
    }
}

fn vacuum(reader: &mut Reader<'_>) -> Result<Kind> {
    let mut analyze = reader.accept("analyze");
    let only_analyze = analyze;
    if !analyze {
        reader.expect("vacuum")?;
    }
    if reader.accept_token(&Token::LParen) {
        while !reader.is_done() && !reader.accept_token(&Token::RParen) {
            analyze |= reader.is("analyze");
            reader.next();
        }
    }
    loop {
        if reader.accept("analyze") {
            analyze = true;
        } else if !(reader.accept("full") || reader.accept("freeze") || reader.accept("verbose")) {
            break;
        }
    }
    let names = if reader.is_done() {
        Vec::new()
    } else {
        reader.items(|reader| {
            let name = reader.name()?;
            if reader.accept_token(&Token::LParen) {
                reader.items(Reader::name)?;
                reader.expect_token(&Token::RParen)?;
            }
            Ok(name)
        })?
    };
    Ok(Kind::Vacuum(Vacuum {
        vacuum: !only_analyze,
        analyze,
        names,
    }))
}

fn advise(reader: &mut Reader<'_>) -> Result<Kind> {
    reader.expect("advise")?;
    reader.expect("table")?;
    let table = reader.name()?;
    let verify = match reader.accept("verify") {
        true => Some(verified(reader)?),
        false => None,
    };
    Ok(Kind::Advise(Advise { table, verify }))
}

fn verified(reader: &mut Reader<'_>) -> Result<Verify> {
    if !reader.accept("key") {
        return Ok(Verify::Best);
    }
    let start = reader.start();
    if let Some(Token::SingleQuotedString(key)) = reader.peek(0).map(|token| token.token.clone()) {
        reader.next();
        return Ok(Verify::Key(key));
    }
    match u64::try_from(reader.integer()?) {
        Ok(rank) if rank > 0 => Ok(Verify::Rank(rank)),
        _ => Err(reader.invalid(start, "ranks are counted from 1")),
    }
}

fn drop(mut reader: Reader<'_>) -> Result<Statement> {
    let span = reader.span;
    reader.expect("drop")?;
    let make = if reader.accept("table") {
        Kind::DropTable
    } else if reader.accept("index") {
        reader.accept("concurrently");
        Kind::DropIndex
    } else if reader.accept("sequence") {
        Kind::DropSequence
    } else {
        return other(reader);
    };
    let if_exists = reader.accept("if exists");
    let names = reader.items(Reader::name)?;
    let cascade = reader.accept("cascade");
    if !cascade {
        reader.accept("restrict");
    }
    reader.finish()?;
    let kind = make(Drop {
        names,
        if_exists,
        cascade,
    });
    Ok(Statement::new(span, kind))
}

fn truncate(reader: &mut Reader<'_>) -> Result<Kind> {
    reader.expect("truncate")?;
    let truncate = reader.run(Parser::parse_truncate)?;
    let names = truncate.table_names.iter();
    Ok(Kind::Truncate(Truncate {
        names: names.map(|table| convert_name(&table.name)).collect(),
        restart_identity: truncate.identity == Some(ast::TruncateIdentityOption::Restart),
        cascade: truncate.cascade == Some(ast::CascadeOption::Cascade),
    }))
}

fn create_index(reader: &mut Reader<'_>) -> Result<Kind> {
    let start = reader.start();
    reader.expect("create")?;
    let unique = reader.accept("unique");
    reader.expect("index")?;
    let concurrently = reader.accept("concurrently");
    let if_not_exists = reader.accept("if not exists");
    let name = if reader.is("on") {
        None
    } else {
        Some(reader.ident()?)
    };
    reader.expect("on")?;
    reader.accept("only");
    let table = reader.name()?;
    let method = if reader.accept("using") {
        Some(reader.ident()?.value.to_ascii_lowercase())
    } else {
        None
    };
    let columns = reader.list(table::part)?;
    let cover = if reader.accept("include") || reader.accept("cover") {
        reader.list(Reader::ident)?
    } else {
        Vec::new()
    };
    let options = if reader.accept("with") {
        options::options(reader)?
    } else {
        Vec::new()
    };
    let predicate = if reader.accept("where") {
        Some(reader.expression()?.expr)
    } else {
        None
    };
    let index = Index {
        name,
        unique,
        lagging: false,
        columns,
        cover,
        options,
        span: reader.since(start),
    };
    Ok(Kind::CreateIndex(Box::new(CreateIndex {
        table,
        index,
        if_not_exists,
        concurrently,
        method,
        predicate,
    })))
}
