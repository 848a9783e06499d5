//! `DateTime::`, over Date, Datetime, Timestamp and Interval.
//!
//! YQL keeps a broken-down time between `DateTime::Split` and `DateTime::Make…`; here a time stays
//! what it is, and both ways of writing give the same.

use keys::{Type, Value};

use super::Plain;
use crate::cast::{self, cast};

const SECOND: i128 = 1_000_000;
const MINUTE: i128 = 60 * SECOND;
const HOUR: i128 = 60 * MINUTE;
const DAY: i128 = 24 * HOUR;

/// The functions.
pub(super) const TIMES: &[Plain] = &[
    Plain::new("datetime::split", None, |values| values.first().cloned()),
    Plain::new("datetime::makedate", Some(Type::Date), |values| {
        make(values, Type::Date)
    }),
    Plain::new("datetime::makedatetime", Some(Type::Datetime), |values| {
        make(values, Type::Datetime)
    }),
    Plain::new("datetime::maketimestamp", Some(Type::Timestamp), |values| {
        make(values, Type::Timestamp)
    }),
    Plain::new("datetime::getyear", Some(Type::Uint16), |values| {
        Some(u16::try_from(date(values)?.0).map_or(Value::Null, Value::Uint16))
    }),
    Plain::new("datetime::getmonth", Some(Type::Uint8), |values| {
        small(date(values)?.1)
    }),
    Plain::new("datetime::getdayofmonth", Some(Type::Uint8), |values| {
        small(date(values)?.2)
    }),
    Plain::new("datetime::getdayofyear", Some(Type::Uint16), |values| {
        let day = day_of_year(values)?;
        Some(u16::try_from(day).map_or(Value::Null, Value::Uint16))
    }),
    Plain::new("datetime::getdayofweek", Some(Type::Uint8), |values| {
        // The first of January 1970 was a Thursday.
        small((days(values)? + 3).rem_euclid(7) + 1)
    }),
    Plain::new("datetime::gethour", Some(Type::Uint8), |values| {
        small(micros(values)?.rem_euclid(DAY) / HOUR)
    }),
    Plain::new("datetime::getminute", Some(Type::Uint8), |values| {
        small(micros(values)?.rem_euclid(HOUR) / MINUTE)
    }),
    Plain::new("datetime::getsecond", Some(Type::Uint8), |values| {
        small(micros(values)?.rem_euclid(MINUTE) / SECOND)
    }),
    Plain::new(
        "datetime::getmicrosecondofsecond",
        Some(Type::Uint32),
        |values| {
            Some(
                u32::try_from(micros(values)?.rem_euclid(SECOND))
                    .map_or(Value::Null, Value::Uint32),
            )
        },
    ),
    Plain::new("datetime::startofday", Some(Type::Timestamp), |values| {
        start(values, |days, _| days)
    }),
    Plain::new("datetime::startofweek", Some(Type::Timestamp), |values| {
        start(values, |days, _| days - (days + 3).rem_euclid(7))
    }),
    Plain::new("datetime::startofmonth", Some(Type::Timestamp), |values| {
        start(values, |days, (_, _, day)| days - (day - 1))
    }),
    Plain::new("datetime::startofyear", Some(Type::Timestamp), |values| {
        start(values, |_, (year, _, _)| days_of(year, 1, 1))
    }),
    Plain::new("datetime::todays", Some(Type::Int64), |values| {
        whole(values, DAY)
    }),
    Plain::new("datetime::tohours", Some(Type::Int64), |values| {
        whole(values, HOUR)
    }),
    Plain::new("datetime::tominutes", Some(Type::Int64), |values| {
        whole(values, MINUTE)
    }),
    Plain::new("datetime::toseconds", Some(Type::Int64), |values| {
        whole(values, SECOND)
    }),
    Plain::new("datetime::tomilliseconds", Some(Type::Int64), |values| {
        whole(values, 1_000)
    }),
    Plain::new("datetime::tomicroseconds", Some(Type::Int64), |values| {
        whole(values, 1)
    }),
    Plain::new("datetime::fromseconds", Some(Type::Timestamp), |values| {
        from(values, SECOND, Value::Timestamp)
    }),
    Plain::new(
        "datetime::frommilliseconds",
        Some(Type::Timestamp),
        |values| from(values, 1_000, Value::Timestamp),
    ),
    Plain::new(
        "datetime::frommicroseconds",
        Some(Type::Timestamp),
        |values| from(values, 1, Value::Timestamp),
    ),
    Plain::new(
        "datetime::intervalfromdays",
        Some(Type::Interval),
        |values| from(values, DAY, Value::Interval),
    ),
    Plain::new(
        "datetime::intervalfromhours",
        Some(Type::Interval),
        |values| from(values, HOUR, Value::Interval),
    ),
    Plain::new(
        "datetime::intervalfromminutes",
        Some(Type::Interval),
        |values| from(values, MINUTE, Value::Interval),
    ),
    Plain::new(
        "datetime::intervalfromseconds",
        Some(Type::Interval),
        |values| from(values, SECOND, Value::Interval),
    ),
    Plain::new(
        "datetime::intervalfrommilliseconds",
        Some(Type::Interval),
        |values| from(values, 1_000, Value::Interval),
    ),
    Plain::new(
        "datetime::intervalfrommicroseconds",
        Some(Type::Interval),
        |values| from(values, 1, Value::Interval),
    ),
    Plain::new("datetime::parseiso8601", Some(Type::Timestamp), |values| {
        let [Value::Utf8(text)] = values else {
            return None;
        };
        Some(Value::parse(Type::Timestamp, text).unwrap_or(Value::Null))
    }),
];

fn make(values: &[Value], kind: Type) -> Option<Value> {
    match values {
        [time @ (Value::Date(_) | Value::Datetime(_) | Value::Timestamp(_))] => {
            cast(time.clone(), kind).ok()
        }
        _ => None,
    }
}

/// Microseconds since 1970, or of an interval.
fn micros(values: &[Value]) -> Option<i128> {
    match values {
        [Value::Date(days)] => Some(i128::from(*days) * DAY),
        [Value::Datetime(seconds)] => Some(i128::from(*seconds) * SECOND),
        [Value::Timestamp(micros) | Value::Interval(micros)] => Some(i128::from(*micros)),
        _ => None,
    }
}

fn days(values: &[Value]) -> Option<i128> {
    match values {
        [Value::Interval(_)] => None,
        _ => Some(micros(values)?.div_euclid(DAY)),
    }
}

fn date(values: &[Value]) -> Option<(i128, i128, i128)> {
    days(values).map(date_of)
}

fn day_of_year(values: &[Value]) -> Option<i128> {
    let days = days(values)?;
    let (year, _, _) = date_of(days);
    Some(days - days_of(year, 1, 1) + 1)
}

/// The year, month and day, by years that begin in March, so that a leap day is the last.
fn date_of(days: i128) -> (i128, i128, i128) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day = days.rem_euclid(146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (era * 400 + year + i128::from(month <= 2), month, day)
}

/// Days from 1970 to a date.
fn days_of(year: i128, month: i128, day: i128) -> i128 {
    let year = year - i128::from(month <= 2);
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let month = (month + 9) % 12;
    let of_year = (153 * month + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

fn small(number: i128) -> Option<Value> {
    u8::try_from(number).ok().map(Value::Uint8)
}

fn start(values: &[Value], first: fn(i128, (i128, i128, i128)) -> i128) -> Option<Value> {
    let days = days(values)?;
    let start = first(days, date_of(days)) * DAY;
    i64::try_from(start).ok().map(Value::Timestamp)
}

fn whole(values: &[Value], unit: i128) -> Option<Value> {
    i64::try_from(micros(values)?.div_euclid(unit))
        .ok()
        .map(Value::Int64)
}

fn from(values: &[Value], unit: i128, make: fn(i64) -> Value) -> Option<Value> {
    let [number] = values else { return None };
    let micros = cast::integer(number)?.checked_mul(unit)?;
    i64::try_from(micros).ok().map(make)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_go_both_ways() {
        for days in (-800_000..800_000).step_by(97) {
            let (year, month, day) = date_of(days);
            assert_eq!(days_of(year, month, day), days);
            let shown = Value::Date(i32::try_from(days).unwrap()).to_string();
            if (0..=9999).contains(&year) {
                assert_eq!(shown, format!("{year:04}-{month:02}-{day:02}"));
            }
        }
    }
}
