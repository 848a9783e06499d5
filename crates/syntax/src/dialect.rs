//! The dialect given to sqlparser: PostgreSQL's, with backticks for YQL's paths.
//!
//! sqlparser asks a dialect many small questions, and asks in other places which dialect it *is*. We
//! answer both as PostgreSQL does and change little: a backtick opens a quoted name and is no
//! operator character, and a table may carry an index hint, which is how `FROM t VIEW ix` travels
//! ([`crate::rewrite`]). Everything else that YQL needs happens to tokens, before the parser.
//!
//! # Attempts
//!
//! sqlparser reads by trial: `CAST(` as a cast, and when that fails inside, as a call of a function
//! named cast. Nested, the trials multiply, and sixteen unclosed `CAST(` take minutes. So the
//! dialect counts how often an expression is begun, and past a bound that grows with the statement
//! ([`ATTEMPTS_PER_TOKEN_MAX`]) it answers every further attempt with the one error that sqlparser
//! does not try to recover from. Where PostgreSQL's dialect reads each argument of a function twice
//! (to find `json_object('a': 1)`), ours does not: that alone doubled the work at each level.

use std::any::TypeId;
use std::cell::Cell;

use sqlparser::ast::Expr;
use sqlparser::dialect::{Dialect, PostgreSqlDialect, Precedence};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::Token;

const BASE: PostgreSqlDialect = PostgreSqlDialect {};

/// Attempts to read an expression, for each token of the statement.
const ATTEMPTS_PER_TOKEN_MAX: usize = 8;
/// Attempts that even the shortest statement has.
const ATTEMPTS_MIN: usize = 2_000;

/// How tightly `??` of YQL binds: more than `*` (90), less than a power (100).
const COALESCE: u8 = 95;

/// PostgreSQL with backticks and index hints, for one statement.
#[derive(Debug)]
pub(crate) struct EvenKeel {
    attempts_left: Cell<usize>,
}

impl EvenKeel {
    /// The dialect for a statement of so many tokens.
    pub(crate) fn new(tokens: usize) -> Self {
        Self {
            attempts_left: Cell::new(ATTEMPTS_MIN + ATTEMPTS_PER_TOKEN_MAX * tokens),
        }
    }

    /// Whether the parser tried too often and was stopped.
    pub(crate) fn gave_up(&self) -> bool {
        self.attempts_left.get() == 0
    }
}

/// Answers yes where PostgreSQL's dialect does.
macro_rules! as_postgres {
    ($($question:ident),* $(,)?) => {
        $(fn $question(&self) -> bool {
            BASE.$question()
        })*
    };
}

impl Dialect for EvenKeel {
    fn dialect(&self) -> TypeId {
        TypeId::of::<PostgreSqlDialect>()
    }

    fn identifier_quote_style(&self, identifier: &str) -> Option<char> {
        BASE.identifier_quote_style(identifier)
    }

    fn is_delimited_identifier_start(&self, ch: char) -> bool {
        matches!(ch, '"' | '`')
    }

    fn is_identifier_start(&self, ch: char) -> bool {
        BASE.is_identifier_start(ch)
    }

    fn is_identifier_part(&self, ch: char) -> bool {
        BASE.is_identifier_part(ch)
    }

    fn is_custom_operator_part(&self, ch: char) -> bool {
        ch != '`' && BASE.is_custom_operator_part(ch)
    }

    /// Words that PostgreSQL reserves: an error inside them is an error, not a name.
    fn is_reserved_for_identifier(&self, keyword: Keyword) -> bool {
        matches!(
            keyword,
            Keyword::CASE | Keyword::CAST | Keyword::ARRAY | Keyword::NOT
        ) || BASE.is_reserved_for_identifier(keyword)
    }

    /// Counts an attempt; it is sqlparser that reads.
    fn parse_prefix(&self, _: &mut Parser) -> Option<Result<Expr, ParserError>> {
        self.attempts_left
            .set(self.attempts_left.get().saturating_sub(1));
        self.gave_up()
            .then_some(Err(ParserError::RecursionLimitExceeded))
    }

    fn get_next_precedence(&self, parser: &Parser) -> Option<Result<u8, ParserError>> {
        match &parser.peek_token_ref().token {
            Token::CustomBinaryOperator(operator) if operator == "??" => Some(Ok(COALESCE)),
            _ => BASE.get_next_precedence(parser),
        }
    }

    fn prec_value(&self, precedence: Precedence) -> u8 {
        BASE.prec_value(precedence)
    }

    fn supports_table_hints(&self) -> bool {
        true
    }

    /// `USE` opens the index hint that `VIEW` became, so it is no alias.
    fn is_table_factor_alias(
        &self,
        explicit: bool,
        keyword: &Keyword,
        parser: &mut Parser,
    ) -> bool {
        explicit || (*keyword != Keyword::USE && BASE.is_table_factor_alias(false, keyword, parser))
    }

    as_postgres!(
        supports_unicode_string_literal,
        supports_filter_during_aggregation,
        supports_group_by_expr,
        allow_extract_custom,
        allow_extract_single_quotes,
        supports_create_index_with_clause,
        supports_explain_with_utility_options,
        supports_listen_notify,
        supports_bitwise_shift_operators,
        supports_comment_on,
        supports_load_extension,
        supports_named_fn_args_with_colon_operator,
        supports_empty_projections,
        supports_nested_comments,
        supports_string_escape_constant,
        supports_numeric_literal_underscores,
        supports_array_typedef_with_brackets,
        supports_set_names,
        supports_alter_column_type_using,
        supports_notnull_operator,
        supports_interval_options,
        supports_insert_table_alias,
        supports_create_table_like_parenthesized,
        supports_select_wildcard_with_alias,
        supports_comma_separated_trim,
    );
}
