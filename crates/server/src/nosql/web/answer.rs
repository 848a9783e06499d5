//! Answers: their status, headers and the bodies of refusals.

use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use db::Kind;
use serde_json::json;

use db::items::{Error, verifier};

const VERIFIER_HEADER: &str = "x-v3io-transaction-verifier";

// What clients know failures by. Small ones are those of POSIX, negated.
const NO_SUCH_FILE: i64 = -2;
const IO_ERROR: i64 = -5;
const TRY_AGAIN: i64 = -11;
const EXISTS: i64 = -17;
const TOO_LARGE: i64 = -27;
const NO_SPACE: i64 = -28;
const NOT_EMPTY: i64 = -39;
const CONDITION_FALSE: i64 = -16_777_244;
const INVALID: i64 = -201_326_592;
const ITEM_EXISTS: i64 = -369_098_809;

/// An empty answer about something that was changed then.
pub(super) fn changed(changed_ns: i64) -> Response {
    with_changed(StatusCode::OK.into_response(), changed_ns)
}

/// Says when what the answer is about was changed, and how to make sure that it is still so.
pub(super) fn with_changed(mut response: Response, changed_ns: i64) -> Response {
    let headers = response.headers_mut();
    if let Ok(value) = HeaderValue::from_str(&verifier(changed_ns)) {
        headers.insert(VERIFIER_HEADER, value);
    }
    if let Ok(value) = HeaderValue::from_str(&http_date(changed_ns)) {
        headers.insert(header::LAST_MODIFIED, value);
    }
    response
}

/// A body of JSON.
pub(super) fn json(body: impl Into<Body>) -> Response {
    of_type("application/json", body)
}

/// A body of XML.
pub(super) fn xml(body: String) -> Response {
    of_type("application/xml", body)
}

pub(super) fn of_type(kind: &'static str, body: impl Into<Body>) -> Response {
    let mut response = Response::new(body.into());
    let kind = HeaderValue::from_static(kind);
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}

/// What a refused request is told.
pub(super) fn refusal(error: &Error) -> Response {
    let (status, code) = status(error);
    let message = match error {
        // Clients tell this one by the words ErrorCode coming twice.
        Error::ItemExists => format!("{error} (ErrorCode {ITEM_EXISTS})"),
        _ => error.to_string(),
    };
    let body = json!({"ErrorCode": code, "ErrorMessage": message});
    let mut response = json(body.to_string());
    *response.status_mut() = status;
    response
}

fn status(error: &Error) -> (StatusCode, i64) {
    match error {
        Error::Expression(_) | Error::Keys(_) | Error::Invalid(_) => {
            (StatusCode::BAD_REQUEST, INVALID)
        }
        Error::NotFound | Error::NoContainer => (StatusCode::NOT_FOUND, NO_SUCH_FILE),
        Error::NotEmpty => (StatusCode::CONFLICT, NOT_EMPTY),
        Error::ConditionFalse => (StatusCode::BAD_REQUEST, CONDITION_FALSE),
        Error::ItemExists => (StatusCode::BAD_REQUEST, ITEM_EXISTS),
        Error::TooLarge { .. } => (StatusCode::PAYLOAD_TOO_LARGE, TOO_LARGE),
        Error::Damaged { .. } => (StatusCode::INTERNAL_SERVER_ERROR, IO_ERROR),
        Error::Busy => (StatusCode::SERVICE_UNAVAILABLE, TRY_AGAIN),
        Error::Columns => (StatusCode::CONFLICT, INVALID),
        Error::Database(error) if error.is_disk_full() => {
            (StatusCode::INSUFFICIENT_STORAGE, NO_SPACE)
        }
        Error::Database(error) => match error.kind() {
            Kind::Invalid => (StatusCode::BAD_REQUEST, INVALID),
            Kind::NotFound => (StatusCode::NOT_FOUND, NO_SUCH_FILE),
            Kind::Exists => (StatusCode::CONFLICT, EXISTS),
            Kind::Conflict | Kind::Unavailable => (StatusCode::SERVICE_UNAVAILABLE, TRY_AGAIN),
            Kind::Corrupt | Kind::Internal => (StatusCode::INTERNAL_SERVER_ERROR, IO_ERROR),
        },
    }
}

/// A moment as HTTP writes it, in whole seconds.
pub(super) fn http_date(ns: i64) -> String {
    const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
    const MONTHS: [&str; 12] = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ];
    let moment = Moment::new(ns);
    let name = |names: &[&'static str], at: i64| {
        let at = usize::try_from(at).ok();
        at.and_then(|at| names.get(at).copied()).unwrap_or_default()
    };
    let mut date = String::with_capacity("Thu, 01 Jan 1970 00:00:00 GMT".len());
    date.push_str(name(&DAYS, moment.days.rem_euclid(7)));
    date.push_str(", ");
    push_two_digits(&mut date, moment.day);
    date.push(' ');
    date.push_str(name(&MONTHS, moment.month - 1));
    date.push(' ');
    push_two_digits(&mut date, moment.year / 100);
    push_two_digits(&mut date, moment.year % 100);
    for (before, number) in [
        (' ', moment.second / 3600),
        (':', moment.second / 60 % 60),
        (':', moment.second % 60),
    ] {
        date.push(before);
        push_two_digits(&mut date, number);
    }
    date.push_str(" GMT");
    date
}

/// Formatting is slow for what goes with every answer.
fn push_two_digits(text: &mut String, number: i64) {
    for digit in [number / 10, number % 10] {
        let digit = u32::try_from(digit).ok();
        text.extend(digit.and_then(|digit| char::from_digit(digit, 10)));
    }
}

/// A moment as ISO 8601 writes it, in milliseconds.
pub(super) fn iso_date(ns: i64) -> String {
    let moment = Moment::new(ns);
    format!(
        "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z",
        moment.year,
        moment.month,
        moment.day,
        moment.second / 3600,
        moment.second / 60 % 60,
        moment.second % 60,
        ns.rem_euclid(1_000_000_000) / 1_000_000
    )
}

/// A moment in the parts of its date.
struct Moment {
    days: i64,
    second: i64,
    year: i64,
    month: i64,
    day: i64,
}

impl Moment {
    fn new(ns: i64) -> Self {
        let seconds = ns.div_euclid(1_000_000_000);
        let (days, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
        // Years are counted from March, so that the day that is not always there is the last one,
        // and in eras of 400 years, which all have as many days.
        let from_era = days + 719_468;
        let (era, day_of_era) = (from_era.div_euclid(146_097), from_era.rem_euclid(146_097));
        let leap_days = day_of_era / 1_460 - day_of_era / 36_524 + day_of_era / 146_096;
        let year_of_era = (day_of_era - leap_days) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let from_march = (5 * day_of_year + 2) / 153;
        let month = if from_march < 10 {
            from_march + 3
        } else {
            from_march - 9
        };
        Self {
            days,
            second,
            year: era * 400 + year_of_era + i64::from(month <= 2),
            month,
            day: day_of_year - (153 * from_march + 2) / 5 + 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_written_as_dates() {
        const SECOND: i64 = 1_000_000_000;
        assert_eq!(http_date(0), "Thu, 01 Jan 1970 00:00:00 GMT");
        assert_eq!(
            http_date(784_111_777 * SECOND),
            "Sun, 06 Nov 1994 08:49:37 GMT"
        );
        assert_eq!(
            http_date(951_782_400 * SECOND),
            "Tue, 29 Feb 2000 00:00:00 GMT"
        );
        assert_eq!(
            iso_date(1_527_933_600 * SECOND + 5_000_000),
            "2018-06-02T10:00:00.005Z"
        );
        assert_eq!(iso_date(-1), "1969-12-31T23:59:59.999Z");
    }
}
