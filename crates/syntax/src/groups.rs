//! `GROUP BY expression AS name`: the name stands for the expression in the query around it.
//!
//! ```text
//!   SELECT k, count(*) FROM t GROUP BY a % 4 AS k HAVING k > 1
//!   SELECT (a % 4) AS k, count(*) FROM t GROUP BY a % 4 HAVING (a % 4) > 1
//! ```
//!
//! ORDER BY is left alone: it sees the name as that of a column of the result.

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan};

use crate::span::Span;
use crate::tokens::{bare_word, is_token, is_word};

/// Queries of one statement whose groups may have names.
const QUERIES_MAX: usize = 64;
/// Groups with names in one query.
const GROUPS_MAX: usize = 64;
/// Tokens that the names of one query's groups may stand for, all uses together.
const TOKENS_MAX: usize = 100_000;

/// A name and the tokens it stands for.
struct Group {
    name: String,
    tokens: Vec<TokenWithSpan>,
    /// Where `AS name` stands.
    named_at: usize,
}

/// Puts what groups are named for in the place of their names.
pub(crate) fn name_groups(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let mut tokens = tokens;
    let mut at = 0;
    let mut left = QUERIES_MAX;
    while at + 1 < tokens.len() && left > 0 {
        if is_word(tokens.get(at), "group") && is_word(tokens.get(at + 1), "by") {
            let (groups, end) = groups(&tokens, at + 2);
            let some = (1..=GROUPS_MAX).contains(&groups.len());
            if some && added(&tokens, &groups) <= TOKENS_MAX {
                left -= 1;
                tokens = replace(tokens, at, end, &groups);
            }
        }
        at += 1;
    }
    tokens
}

/// The tokens that names could add. Past a bound they are left for the parser to refuse.
fn added(tokens: &[TokenWithSpan], groups: &[Group]) -> usize {
    let of = |group: &Group| {
        let uses = tokens
            .iter()
            .filter(|token| is_word(Some(token), &group.name));
        uses.count() * group.tokens.len()
    };
    groups.iter().map(of).sum()
}

/// The named groups from `start`, and where the list ends.
fn groups(tokens: &[TokenWithSpan], start: usize) -> (Vec<Group>, usize) {
    let mut groups = Vec::new();
    let mut item = start;
    let mut at = start;
    let mut depth = 0_usize;
    loop {
        let token = tokens.get(at).map(|token| &token.token);
        let ends = match token {
            None | Some(Token::Comma) => depth == 0,
            Some(Token::RParen) if depth == 0 => true,
            Some(Token::Word(word)) if word.quote_style.is_none() && depth == 0 => {
                ends_list(word.keyword)
            }
            _ => false,
        };
        if ends
            && let Some(named_at) = at.checked_sub(2).filter(|named| *named > item)
            && is_word(tokens.get(named_at), "as")
            && let Some(Token::Word(name)) = tokens.get(at - 1).map(|token| &token.token)
        {
            groups.push(Group {
                name: name.value.clone(),
                tokens: tokens.get(item..named_at).unwrap_or_default().to_vec(),
                named_at,
            });
        }
        match token {
            None => return (groups, at),
            Some(Token::Comma) if depth == 0 => item = at + 1,
            Some(_) if ends => return (groups, at),
            Some(Token::LParen) => depth += 1,
            Some(Token::RParen) => depth = depth.saturating_sub(1),
            Some(_) => {}
        }
        at += 1;
    }
}

fn keyword(token: &Token) -> Option<Keyword> {
    bare_word(token).map(|word| word.keyword)
}

fn ends_list(word: Keyword) -> bool {
    matches!(
        word,
        Keyword::HAVING
            | Keyword::GROUP
            | Keyword::ORDER
            | Keyword::LIMIT
            | Keyword::OFFSET
            | Keyword::UNION
            | Keyword::EXCEPT
            | Keyword::INTERSECT
            | Keyword::WINDOW
            | Keyword::FETCH
            | Keyword::RETURNING
    )
}

/// The statement with the names of the groups replaced, in the query whose GROUP stands at `group`.
fn replace(
    tokens: Vec<TokenWithSpan>,
    group: usize,
    end: usize,
    groups: &[Group],
) -> Vec<TokenWithSpan> {
    let first = select_of(&tokens, group);
    let from = tokens
        .iter()
        .enumerate()
        .take(group)
        .skip(first)
        .position(|(_, token)| is_word(Some(token), "from"))
        .map_or(group, |from| first + from);
    let last = query_end(&tokens, end);
    let mut out = Vec::with_capacity(tokens.len() + 16);
    for (at, token) in tokens.iter().enumerate() {
        let removed = groups
            .iter()
            .any(|group| at == group.named_at || at == group.named_at + 1);
        let here = (first..from).contains(&at) || (end..last).contains(&at);
        let group = groups
            .iter()
            .find(|group| here && is_word(Some(token), &group.name) && stands_alone(&tokens, at));
        match group {
            _ if removed => {}
            None => out.push(token.clone()),
            Some(group) => {
                let span = Span::from(token.span).encode();
                out.push(TokenWithSpan::new(Token::LParen, span));
                out.extend(group.tokens.iter().cloned());
                out.push(TokenWithSpan::new(Token::RParen, span));
                if at < from && is_item(&tokens, at, from) {
                    out.push(TokenWithSpan::new(Token::make_keyword("AS"), span));
                    out.push(token.clone());
                }
            }
        }
    }
    out
}

/// Where the SELECT begins that the GROUP BY at `group` belongs to.
fn select_of(tokens: &[TokenWithSpan], group: usize) -> usize {
    let mut depth = 0_usize;
    for at in (0..group).rev() {
        match tokens.get(at).map(|token| &token.token) {
            Some(Token::RParen) => depth += 1,
            Some(Token::LParen) if depth == 0 => return at,
            Some(Token::LParen) => depth -= 1,
            Some(token) if depth == 0 && keyword(token) == Some(Keyword::SELECT) => return at,
            _ => {}
        }
    }
    0
}

/// Where ORDER BY, or the query, ends what follows a GROUP BY.
fn query_end(tokens: &[TokenWithSpan], from: usize) -> usize {
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate().skip(from) {
        match &token.token {
            Token::LParen => depth += 1,
            Token::RParen if depth == 0 => return at,
            Token::RParen => depth -= 1,
            other if depth == 0 => match keyword(other) {
                Some(word) if word != Keyword::HAVING && ends_list(word) => return at,
                _ => {}
            },
            _ => {}
        }
    }
    tokens.len()
}

/// Whether the word at this place is a column by itself, and no part of a name nor a function.
fn stands_alone(tokens: &[TokenWithSpan], at: usize) -> bool {
    let before = at.checked_sub(1).and_then(|before| tokens.get(before));
    !is_token(before, &Token::Period)
        && !is_word(before, "as")
        && !is_token(tokens.get(at + 1), &Token::Period)
        && !is_token(tokens.get(at + 1), &Token::LParen)
}

/// Whether the word at this place is all of an item of the SELECT.
fn is_item(tokens: &[TokenWithSpan], at: usize, from: usize) -> bool {
    let before = at.checked_sub(1).and_then(|before| tokens.get(before));
    let begins = is_token(before, &Token::Comma)
        || is_word(before, "select")
        || is_word(before, "distinct")
        || is_word(before, "all");
    begins && (at + 1 == from || is_token(tokens.get(at + 1), &Token::Comma))
}
