//! How long a statement may take, and the one that only waits.
//!
//! `statement_timeout` counts for running a statement and for reading its rows, `lock_timeout` for each
//! wait of a statement for another transaction to end. COMMIT is left to
//! end by itself: what it does cannot be stopped half way.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use keys::{Type, Value};
use sql::{AnswerRows, Prepared, ResultColumn};
use syntax::Statement;
use syntax::ast;
use syntax::statement::Kind as Asks;
use tokio::time::{Instant, timeout_at};
use txn::Patience;

use super::{Reply, Session, SessionError, ends};
use crate::{Error, Result};

/// When a statement has to be done.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limit {
    until: Instant,
    length: Duration,
}

impl Limit {
    fn new(length: Duration) -> Option<Self> {
        let until = Instant::now().checked_add(length)?;
        Some(Self { until, length })
    }

    /// How long it may take in all.
    pub(super) fn length(self) -> Duration {
        self.length
    }

    /// The same time once more.
    pub(super) fn again(self) -> Self {
        Self::new(self.length).unwrap_or(self)
    }

    /// Does some work unless the time is over first.
    pub(super) async fn keep<T>(self, work: impl Future<Output = T>) -> Result<T> {
        let ms = self.length.as_millis();
        // Work that never has to wait would not notice by itself.
        if Instant::now() >= self.until {
            return Err(SessionError::Timeout { ms }.into());
        }
        let done = timeout_at(self.until, work).await;
        done.map_err(|_| SessionError::Timeout { ms }.into())
    }
}

impl Session {
    /// How long a statement may take, from now.
    pub(super) fn limit(&self, kind: &Asks) -> Option<Limit> {
        if ends(kind) {
            return None;
        }
        self.settings.often().timeout.and_then(Limit::new)
    }

    /// How long it may wait for another transaction to end; `None` is for ever.
    pub(super) fn patience(&self) -> Option<Patience> {
        let length = self.settings.often().lock_timeout?;
        Some(Patience::new(move || tokio::time::sleep(length)))
    }
}

/// Reads `200`, `200ms`, `5s`, `1min`, `2h`, `1d`; a bare number is of milliseconds.
pub(super) fn duration(text: &str) -> Option<Duration> {
    let text = text.trim();
    let end = text.find(|one: char| !one.is_ascii_digit());
    let (number, unit) = text.split_at_checked(end.unwrap_or(text.len()))?;
    let ms: u64 = match unit.trim() {
        "" | "ms" => 1,
        "s" => 1_000,
        "min" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => return None,
    };
    let number: u64 = number.parse().ok()?;
    number.checked_mul(ms).map(Duration::from_millis)
}

/// `SELECT pg_sleep(seconds)`, which needs no table; `None` if the statement is another.
pub(super) fn prepare_sleep(statement: &Statement) -> Option<Prepared> {
    let Asks::Query(query) = &statement.kind else {
        return None;
    };
    let parameters: &[Type] = match sql::sleeps(&query.query)? {
        ast::Expr::Value(value) if matches!(value.value, ast::Value::Placeholder(_)) => {
            &[Type::Double]
        }
        _ => &[],
    };
    let columns = Some(sleep_columns());
    Some(Prepared::with_parameters(
        statement.clone(),
        parameters,
        columns,
    ))
}

fn sleep_columns() -> Arc<[ResultColumn]> {
    [ResultColumn::new("pg_sleep", Type::Utf8)].into()
}

/// Waits, and answers with one row that says nothing.
pub(super) async fn sleep(seconds: &ast::Expr, parameters: &[Value]) -> Result<Reply> {
    let text = match syntax::literal_text(seconds) {
        Some((_, text)) => text,
        None => parameters.first().map(Value::to_string).unwrap_or_default(),
    };
    let wrong = || SessionError::Sleep {
        seconds: text.clone(),
    };
    let number: f64 = text.trim().parse().map_err(|_| Error::from(wrong()))?;
    let length = Duration::try_from_secs_f64(number.max(0.0)).map_err(|_| Error::from(wrong()))?;
    if !length.is_zero() {
        tokio::time::sleep(length).await;
    }
    let rows = AnswerRows::ready("SELECT", sleep_columns(), vec![vec![Value::from("")]]);
    Ok(Reply::Rows(rows.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_units() {
        let ms = |text| duration(text).map(|length| length.as_millis());
        assert_eq!(ms("200"), Some(200));
        assert_eq!(ms("5 s"), Some(5_000));
        assert_eq!(ms("1min"), Some(60_000));
        assert_eq!(ms("-1"), None);
        assert_eq!(ms("1 year"), None);
        assert_eq!(ms("99999999999999999999"), None);
    }
}
