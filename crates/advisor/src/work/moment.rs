//! Times that a statement names by the clock: `now()`, `now() - interval '1 day'`.

use keys::{Type, Value};
use syntax::ast::{BinaryOperator, DateTimeField, Expr};
use syntax::literal_text;

/// What the moment of a statement is called, in lower case.
const NAMES: &[&str] = &[
    "clock_timestamp",
    "current_date",
    "current_timestamp",
    "currentutcdate",
    "currentutcdatetime",
    "currentutctimestamp",
    "getdate",
    "localtimestamp",
    "now",
    "statement_timestamp",
    "sysdate",
    "transaction_timestamp",
    "utc_timestamp",
];

/// Microseconds of units, which may have an `s` behind them. Months and years are about as long.
const UNITS_US: &[(&str, f64)] = &[
    ("microsecond", 1.0),
    ("millisecond", 1e3),
    ("second", 1e6),
    ("minute", 6e7),
    ("hour", 3.6e9),
    ("day", 8.64e10),
    ("week", 6.048e11),
    ("month", 2.592e12),
    ("year", 3.1536e13),
];

/// The time that an expression names if it is run at `now_us`, in the type of its column.
pub(super) fn moment(expr: &Expr, now_us: u64, kind: Type) -> Option<Value> {
    at(i64::try_from(now_us).ok()?.checked_add(since(expr)?)?, kind)
}

/// A time in a type.
pub(crate) fn at(us: i64, kind: Type) -> Option<Value> {
    let whole = Value::Timestamp(us);
    let text = whole.to_string();
    match kind {
        Type::Timestamp => Some(whole),
        Type::Datetime => {
            let seconds = text.split(['.', 'Z']).next()?;
            Value::parse(kind, &format!("{seconds}Z")).ok()
        }
        Type::Date => Value::parse(kind, text.split('T').next()?).ok(),
        _ => None,
    }
}

/// How far from now a time is, in microseconds.
fn since(expr: &Expr) -> Option<i64> {
    match expr {
        Expr::Nested(inner) | Expr::Cast { expr: inner, .. } => since(inner),
        Expr::AtTimeZone { timestamp, .. } => since(timestamp),
        Expr::Function(call) => {
            let name = call.name.0.last()?.as_ident()?.value.to_ascii_lowercase();
            NAMES.contains(&name.as_str()).then_some(0)
        }
        Expr::BinaryOp { left, op, right } => {
            let sign = match op {
                BinaryOperator::Plus => 1,
                BinaryOperator::Minus => -1,
                _ => return None,
            };
            since(left)?.checked_add(sign * length(right)?)
        }
        _ => None,
    }
}

/// The length of an interval that is written out.
fn length(expr: &Expr) -> Option<i64> {
    let (text, field) = match expr {
        Expr::Nested(inner) => return length(inner),
        Expr::Interval(interval) => {
            let (_, text) = literal_text(&interval.value)?;
            (text, interval.leading_field.as_ref())
        }
        Expr::Cast { expr, .. } => (literal_text(expr)?.1, None),
        _ => return None,
    };
    let text = match field {
        Some(field) => format!("{} {}", text.trim(), unit(field)),
        None => text,
    };
    let words: Vec<&str> = text.split_whitespace().collect();
    let mut sum = 0.0;
    for pair in words.chunks(2) {
        let [count, unit] = pair else { return None };
        let unit = unit.to_ascii_lowercase();
        let is_it = |(name, _): &&(&str, f64)| unit.strip_suffix('s').unwrap_or(&unit) == *name;
        let (_, unit_us) = UNITS_US.iter().find(is_it)?;
        sum += count.parse::<f64>().ok()? * unit_us;
    }
    #[expect(clippy::cast_possible_truncation, reason = "longer times are cut off")]
    (!words.is_empty()).then_some(sum as i64)
}

fn unit(field: &DateTimeField) -> String {
    field.to_string().to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_by_the_clock_are_known_when_the_statement_is_dated() {
        let now_us = 1_714_564_800_000_000;
        for (text, expected) in [
            ("now()", Some("2024-05-01T12:00:00Z")),
            ("CURRENT_TIMESTAMP", Some("2024-05-01T12:00:00Z")),
            ("NOW(6)", Some("2024-05-01T12:00:00Z")),
            (
                "now() - interval '1 day 2 hours'",
                Some("2024-04-30T10:00:00Z"),
            ),
            (
                "(now() + INTERVAL '90' MINUTE)::timestamptz",
                Some("2024-05-01T13:30:00Z"),
            ),
            ("now() AT TIME ZONE 'utc'", Some("2024-05-01T12:00:00Z")),
            (
                "now() - '5 minutes'::interval",
                Some("2024-05-01T11:55:00Z"),
            ),
            ("now() - interval '01:00'", None),
            ("now() * 2", None),
            ("later()", None),
        ] {
            let query = syntax::parse(&format!("SELECT {text}")).expect("the query is readable");
            let [statement] = query.as_slice() else {
                panic!("{text}: one statement");
            };
            let syntax::Kind::Query(query) = &statement.kind else {
                panic!("{text}: a query");
            };
            let syntax::ast::SetExpr::Select(select) = query.query.body.as_ref() else {
                panic!("{text}: a SELECT");
            };
            let [syntax::ast::SelectItem::UnnamedExpr(expr)] = select.projection.as_slice() else {
                panic!("{text}: one expression");
            };
            let found = moment(expr, now_us, Type::Timestamp);
            let found = found.map(|value| value.to_string());
            assert_eq!(found.as_deref(), expected, "{text}");
        }
        assert_eq!(
            at(1_714_564_800_000_001, Type::Date).map(|date| date.to_string()),
            Some("2024-05-01".to_owned())
        );
    }
}
