//! Days, seconds and microseconds as ISO 8601 text, and back.
//!
//! The calendar is the proleptic Gregorian one with a year zero. A year outside 0000 to 9999 is
//! written with its sign, as ISO 8601 asks: `-0044-03-15`, `+12026-01-01`.
//!
//! Days become dates by starting the year in March, so that the leap day is the last of its year
//! and the lengths of the months before it follow one line:
//!
//! ```text
//!   one era = 400 years = 146,097 days; its first day is 1 March of a year divisible by 400
//!   month from March   0   1   2   3   4   5   6   7   8   9  10  11
//!   first day of it    0  31  61  92 122 153 184 214 245 275 306 337   = (153 m + 2) / 5
//! ```

use std::fmt;

const MICROS_PER_SECOND: i64 = 1_000_000;
const SECONDS_PER_DAY: i64 = 86_400;
const DAYS_PER_ERA: i128 = 146_097;
/// Days from 0000-03-01 to 1970-01-01.
const DAYS_BEFORE_EPOCH: i128 = 719_468;
/// Digits of a year that are read: enough for every second that fits 64 bits.
const YEAR_DIGITS_MAX: usize = 12;

/// Writes days since 1970-01-01 as `2026-01-31`.
pub(super) fn write_date(f: &mut fmt::Formatter<'_>, days: i64) -> fmt::Result {
    let (year, month, day) = date_of_days(days);
    match year {
        0..=9999 => write!(f, "{year:04}-{month:02}-{day:02}"),
        _ => write!(f, "{year:+05}-{month:02}-{day:02}"),
    }
}

/// Writes seconds since 1970-01-01 as `2026-01-31T12:00:00Z`.
pub(super) fn write_datetime(f: &mut fmt::Formatter<'_>, seconds: i64) -> fmt::Result {
    write_seconds(f, seconds)?;
    f.write_str("Z")
}

/// Writes microseconds since 1970-01-01 as `2026-01-31T12:00:00.5Z`, without a fraction if whole.
pub(super) fn write_timestamp(f: &mut fmt::Formatter<'_>, micros: i64) -> fmt::Result {
    write_seconds(f, micros.div_euclid(MICROS_PER_SECOND))?;
    write_fraction(f, micros.rem_euclid(MICROS_PER_SECOND).unsigned_abs())?;
    f.write_str("Z")
}

/// Writes microseconds as an ISO 8601 duration of days, hours, minutes and seconds: `P1DT2H`.
pub(super) fn write_interval(f: &mut fmt::Formatter<'_>, micros: i64) -> fmt::Result {
    if micros < 0 {
        f.write_str("-")?;
    }
    let magnitude = micros.unsigned_abs();
    let (seconds, fraction) = (magnitude / 1_000_000, magnitude % 1_000_000);
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    let (hours, minutes, seconds) = (rest / 3600, rest / 60 % 60, rest % 60);
    f.write_str("P")?;
    if days > 0 {
        write!(f, "{days}D")?;
    }
    if rest == 0 && fraction == 0 {
        return if days > 0 { Ok(()) } else { f.write_str("T0S") };
    }
    f.write_str("T")?;
    if hours > 0 {
        write!(f, "{hours}H")?;
    }
    if minutes > 0 {
        write!(f, "{minutes}M")?;
    }
    if seconds > 0 || fraction > 0 {
        write!(f, "{seconds}")?;
        write_fraction(f, fraction)?;
        f.write_str("S")?;
    }
    Ok(())
}

fn write_seconds(f: &mut fmt::Formatter<'_>, seconds: i64) -> fmt::Result {
    write_date(f, seconds.div_euclid(SECONDS_PER_DAY))?;
    let second = seconds.rem_euclid(SECONDS_PER_DAY);
    write!(
        f,
        "T{:02}:{:02}:{:02}",
        second / 3600,
        second / 60 % 60,
        second % 60
    )
}

/// Writes `.5` for half a second, and nothing for a whole one.
fn write_fraction(f: &mut fmt::Formatter<'_>, micros: u64) -> fmt::Result {
    if micros == 0 {
        return Ok(());
    }
    let (mut digits, mut width) = (micros, 6);
    while digits % 10 == 0 {
        digits /= 10;
        width -= 1;
    }
    write!(f, ".{digits:0width$}")
}

/// Reads `2026-01-31` as days since 1970-01-01; years may have a sign and more digits.
pub(super) fn parse_date(text: &str) -> Option<i128> {
    let (sign, unsigned) = match text.as_bytes().first()? {
        b'-' => (-1, text.get(1..)?),
        b'+' => (1, text.get(1..)?),
        _ => (1, text),
    };
    let mut parts = unsigned.split('-');
    let (year, month, day) = (parts.next()?, parts.next()?, parts.next()?);
    if parts.next().is_some() || year.len() < 4 || year.len() > YEAR_DIGITS_MAX {
        return None;
    }
    let year = sign * i128::from(digits(year)?);
    let (month, day) = (two_digits(month)?, two_digits(day)?);
    let valid = (1..=12).contains(&month) && (1..=month_days(year, month)).contains(&day);
    valid.then(|| days_of_date(year, month, day))
}

/// Reads a date with an optional time and an optional zone as microseconds since 1970-01-01.
///
/// Text without a zone is UTC. Digits past the microsecond are dropped.
pub(super) fn parse_timestamp(text: &str) -> Option<i128> {
    let Some(split) = text.find(['T', 't', ' ']) else {
        return Some(parse_date(text)? * 86_400_000_000);
    };
    let (date, time) = text.split_at_checked(split)?;
    let (time, zone_seconds) = split_zone(time.get(1..)?)?;
    let seconds = parse_date(date)? * 86_400 - i128::from(zone_seconds);
    Some(seconds * 1_000_000 + i128::from(parse_time(time)?))
}

/// Reads `12:30`, `12:30:59` or `12:30:59.25` as microseconds of the day.
pub(super) fn parse_time(text: &str) -> Option<i64> {
    let mut parts = text.splitn(3, ':');
    let (hours, minutes) = (two_digits(parts.next()?)?, two_digits(parts.next()?)?);
    let seconds = parts.next().map_or(Some(0), parse_seconds)?;
    if hours > 23 || minutes > 59 || seconds >= 60 * MICROS_PER_SECOND {
        return None;
    }
    Some((hours * 3600 + minutes * 60) * MICROS_PER_SECOND + seconds)
}

/// Reads hours of any number, minutes, and seconds if there are some, as microseconds: `0:00:07.5`,
/// `100:30`.
pub(super) fn parse_clock(text: &str) -> Option<i128> {
    let mut parts = text.splitn(3, ':');
    let (hours, minutes) = (parts.next()?, two_digits(parts.next()?)?);
    let seconds = parts.next().map_or(Some(0), parse_seconds)?;
    if hours.is_empty() || minutes > 59 || seconds >= 60 * MICROS_PER_SECOND {
        return None;
    }
    let whole = i128::from(digits(hours)?) * 3600 + i128::from(minutes) * 60;
    Some(whole * i128::from(MICROS_PER_SECOND) + i128::from(seconds))
}

/// Reads `P1DT2H3M4.5S` or `-P1W` as microseconds.
pub(super) fn parse_interval(text: &str) -> Option<i128> {
    let (sign, rest) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text),
    };
    let rest = rest.strip_prefix(['P', 'p'])?;
    let (days, time) = match rest.split_once(['T', 't']) {
        Some((_, "")) => return None,
        Some((days, time)) => (days, time),
        None if rest.is_empty() => return None,
        None => (rest, ""),
    };
    let days = parse_units(days, &[('W', 604_800), ('D', 86_400)])?;
    let time = parse_units(time, &[('H', 3600), ('M', 60), ('S', 1)])?;
    Some(sign * (days + time))
}

/// Reads numbers, each followed by its unit, with the units in the order given.
fn parse_units(mut text: &str, units: &[(char, i128)]) -> Option<i128> {
    let mut micros = 0;
    for (unit, seconds) in units {
        let found = text.find(|c: char| c.is_ascii_alphabetic());
        let Some((number, rest)) = found.and_then(|at| text.split_at_checked(at)) else {
            break;
        };
        let Some(rest) = rest.strip_prefix([*unit, unit.to_ascii_lowercase()]) else {
            continue;
        };
        micros += parse_decimal_micros(number)?.checked_mul(*seconds)?;
        text = rest;
    }
    text.is_empty().then_some(micros)
}

/// Reads `4.5` as 4,500,000.
pub(super) fn parse_decimal_micros(text: &str) -> Option<i128> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    Some(i128::from(digits(whole)?) * 1_000_000 + i128::from(fraction_micros(fraction)?))
}

/// Cuts `Z`, `+02`, `+02:30` or `+0230` off the end of a time; the second part is its seconds.
fn split_zone(time: &str) -> Option<(&str, i64)> {
    let time = time.trim_end();
    if let Some(time) = time.strip_suffix(['Z', 'z']) {
        return Some((time, 0));
    }
    let Some(at) = time.find(['+', '-']) else {
        return Some((time, 0));
    };
    let (time, zone) = time.split_at_checked(at)?;
    let sign = if zone.starts_with('-') { -1 } else { 1 };
    let zone = zone.get(1..)?;
    let (hours, minutes) = match zone.len() {
        2 => (zone, "00"),
        4 => zone.split_at_checked(2)?,
        5 => zone.split_once(':')?,
        _ => return None,
    };
    let (hours, minutes) = (two_digits(hours)?, two_digits(minutes)?);
    (hours <= 18 && minutes <= 59).then_some((time, sign * (hours * 3600 + minutes * 60)))
}

fn parse_seconds(text: &str) -> Option<i64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    Some(two_digits(whole)? * MICROS_PER_SECOND + fraction_micros(fraction)?)
}

/// The digits after a point as microseconds; those past the sixth are dropped.
fn fraction_micros(text: &str) -> Option<i64> {
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let six = text.bytes().chain(std::iter::repeat(b'0')).take(6);
    Some(six.fold(0, |micros, digit| micros * 10 + i64::from(digit - b'0')))
}

fn two_digits(text: &str) -> Option<i64> {
    if text.len() == 2 { digits(text) } else { None }
}

/// A number of digits only, because the standard parser would also take a sign.
fn digits(text: &str) -> Option<i64> {
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        text.parse().ok()
    } else {
        None
    }
}

fn month_days(year: i128, month: i64) -> i64 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

fn date_of_days(days: i64) -> (i128, i128, i128) {
    let days = i128::from(days) + DAYS_BEFORE_EPOCH;
    let (era, day_of_era) = (days.div_euclid(DAYS_PER_ERA), days.rem_euclid(DAYS_PER_ERA));
    // Taking out one day per leap cycle of 4, 100 and 400 years leaves years of 365 days each.
    let leap_days = day_of_era / 1460 - day_of_era / 36_524 + day_of_era / 146_096;
    let year_of_era = (day_of_era - leap_days) / 365;
    let day_of_year = day_of_era - (year_of_era * 365 + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let (month, next_year) = if month_from_march < 10 {
        (month_from_march + 3, 0)
    } else {
        (month_from_march - 9, 1)
    };
    (era * 400 + year_of_era + next_year, month, day)
}

fn days_of_date(year: i128, month: i64, day: i64) -> i128 {
    let (month, day) = (i128::from(month), i128::from(day));
    let (year, month_from_march) = if month > 2 {
        (year, month - 3)
    } else {
        (year - 1, month + 9)
    };
    let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let day_of_year = (153 * month_from_march + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * DAYS_PER_ERA + day_of_era - DAYS_BEFORE_EPOCH
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_day_of_four_eras_follows_the_one_before() {
        let mut previous = date_of_days(-300_001);
        for days in -300_000..300_000 {
            let (year, month, day) = date_of_days(days);
            let month_end = month_days(previous.0, i64::try_from(previous.1).unwrap());
            let expected = match previous {
                (y, 12, 31) => (y + 1, 1, 1),
                (y, m, d) if d == i128::from(month_end) => (y, m + 1, 1),
                (y, m, d) => (y, m, d + 1),
            };
            assert_eq!((year, month, day), expected);
            let back = days_of_date(
                year,
                i64::try_from(month).unwrap(),
                i64::try_from(day).unwrap(),
            );
            assert_eq!(back, i128::from(days));
            previous = (year, month, day);
        }
        assert_eq!(date_of_days(0), (1970, 1, 1));
    }
}
