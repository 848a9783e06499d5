//! Transactions drawn from a line of text, such as `3x read /{u=1..9}/a write /{u}/b; 1x scan /1 /5`.
//!
//! ```text
//!   {1..9}     a number of that range, drawn each time
//!   {u=1..9}   the same, and remembered within the transaction as {u}
//!   {+n}       the next number of a sequence, one higher each time; {-n} one lower
//!   scan*50    an access that costs 50; a scan costs 10 if it does not say, all else 1
//! ```

use std::collections::BTreeMap;

use bytes::Bytes;
use keys::Type;
use partitions::{Access, AccessKind};
use storage::env::Random;

/// Kinds of transactions with how often they come.
#[derive(Clone, Debug)]
pub(crate) struct Workload {
    pub(crate) busy_percent: u64,
    pub(crate) txns_per_s: u64,
    mix: Vec<(u64, String)>,
}

/// Where sequences stand.
#[derive(Debug, Default)]
pub(crate) struct Sequences(BTreeMap<String, i64>);

/// Sequences begin here, so that falling ones stay positive.
const SEQUENCE_START: i64 = 1_000_000;

impl Workload {
    /// Reads `80% 20/s: 3x …; 1x …`.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let (rates, mix) = text
            .split_once(':')
            .ok_or("a colon before the transactions")?;
        let (busy, rate) = rates.trim().split_once(' ').ok_or("a load and a rate")?;
        let busy = busy.strip_suffix('%').ok_or("a load in percent")?;
        let rate = rate.strip_suffix("/s").ok_or("a rate per second")?;
        let mix = mix.split(';').map(|kind| {
            let kind = kind.trim();
            match kind.split_once("x ") {
                Some((times, rest)) if times.parse::<u64>().is_ok() => {
                    (times.parse().unwrap_or(1), rest.to_owned())
                }
                _ => (1, kind.to_owned()),
            }
        });
        Ok(Self {
            busy_percent: number(busy)?,
            txns_per_s: number(rate)?,
            mix: mix.collect(),
        })
    }

    /// One transaction.
    pub(crate) fn draw(
        &self,
        types: &[Type],
        random: &dyn Random,
        sequences: &mut Sequences,
    ) -> Result<Vec<Access>, String> {
        let mut left = random.below(self.mix.iter().map(|(times, _)| times).sum());
        let kind = self.mix.iter().find(|(times, _)| {
            let chosen = left < *times;
            left = left.saturating_sub(*times);
            chosen
        });
        let text = &kind.ok_or("a mix of transactions")?.1;
        let mut names = BTreeMap::new();
        let mut words = text.split_whitespace();
        let mut accesses = Vec::new();
        while let Some(word) = words.next() {
            let (word, cost) = match word.split_once('*') {
                Some((word, cost)) => (word, u32::try_from(number(cost)?).unwrap_or(u32::MAX)),
                None => (word, if word == "scan" { 10 } else { 1 }),
            };
            let mut key = || {
                let path = words.next().ok_or("a key after each access")?;
                let path = fill(path, random, sequences, &mut names)?;
                parse_path(types, &path)
            };
            let (kind, lower) = match word {
                "read" => (AccessKind::Read, key()?),
                "write" => (AccessKind::Write, key()?),
                "scan" => (AccessKind::Scan, key()?),
                other => return Err(format!("{other} is no access")),
            };
            let upper = if kind == AccessKind::Scan {
                Some(key()?)
            } else {
                None
            };
            accesses.push(Access {
                kind,
                key: lower,
                upper,
                cost,
            });
        }
        Ok(accesses)
    }
}

/// A path as an encoded key or bound.
pub(crate) fn parse_path(types: &[Type], path: &str) -> Result<Bytes, String> {
    keys::parse_bound(types, path)
        .map(Bytes::from)
        .map_err(|error| error.to_string())
}

pub(crate) fn number(text: &str) -> Result<u64, String> {
    text.trim()
        .parse()
        .map_err(|_| format!("{text} is no number"))
}

/// Replaces each `{…}` of a path.
fn fill(
    path: &str,
    random: &dyn Random,
    sequences: &mut Sequences,
    names: &mut BTreeMap<String, u64>,
) -> Result<String, String> {
    let mut filled = String::new();
    let mut rest = path;
    while let Some((before, after)) = rest.split_once('{') {
        let (inner, after) = after.split_once('}').ok_or("a closing brace")?;
        filled.push_str(before);
        filled.push_str(&value(inner, random, sequences, names)?);
        rest = after;
    }
    filled.push_str(rest);
    Ok(filled)
}

fn value(
    inner: &str,
    random: &dyn Random,
    sequences: &mut Sequences,
    names: &mut BTreeMap<String, u64>,
) -> Result<String, String> {
    for (sign, step) in [('+', 1), ('-', -1)] {
        if let Some(name) = inner.strip_prefix(sign) {
            let at = sequences.0.entry(name.to_owned()).or_insert(SEQUENCE_START);
            *at += step;
            return Ok(at.to_string());
        }
    }
    let (name, range) = match inner.split_once('=') {
        Some((name, range)) => (Some(name), range),
        None => (None, inner),
    };
    let Some((low, high)) = range.split_once("..") else {
        let known = names
            .get(inner)
            .ok_or_else(|| format!("{inner} was not drawn before"))?;
        return Ok(known.to_string());
    };
    let (low, high) = (number(low)?, number(high)?);
    let drawn = low + random.below(high - low + 1);
    if let Some(name) = name {
        names.insert(name.to_owned(), drawn);
    }
    Ok(drawn.to_string())
}
