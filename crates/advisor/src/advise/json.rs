//! Advice as one object of JSON.

use serde_json::{Value as Json, json};

use super::Advice;
use super::judge::{Interval, Judged, PerRead};

pub(super) fn render(advice: &Advice) -> String {
    let keys: Vec<Json> = advice
        .keys
        .iter()
        .enumerate()
        .map(|(place, judged)| key(advice, place, judged))
        .collect();
    let flaws: Vec<Json> = advice
        .flaws
        .first
        .iter()
        .map(|flaw| json!({"line": flaw.line, "reason": flaw.reason}))
        .collect();
    json!({
        "table": advice.table.name,
        "transactions": advice.txns,
        "transactions_stood_for": advice.txns_weight,
        "duration_us": advice.timeline.duration_us(),
        "paused_us": advice.timeline.paused_us(),
        "window_us": advice.window_us,
        "cores": advice.cores,
        "keys": keys,
        "broken_lines": advice.flaws.lines,
        "first_broken_lines": flaws,
        "missing_transactions": advice.flaws.missing,
    })
    .to_string()
}

fn key(advice: &Advice, place: usize, judged: &Judged) -> Json {
    let figures = &judged.figures;
    let rank = advice.best.iter().position(|one| *one == place);
    let statements: Vec<Json> = advice
        .statements
        .iter()
        .zip(&figures.statements)
        .filter_map(|(statement, one)| {
            let one = (*one)?;
            Some(json!({
                "fingerprint": statement.fingerprint,
                "text": statement.text,
                "partitions": one.partitions,
                "rows": one.rows,
            }))
        })
        .collect();
    json!({
        "key": judged.name,
        "current": judged.is_current,
        "beaten": judged.is_beaten,
        "choice": rank.map(|rank| rank + 1),
        "peak_share": interval(figures.grown),
        "peak_share_recorded": interval(figures.recorded),
        "cores": figures.cores,
        "judged_at_load": figures.load,
        "ceiling": figures.ceiling,
        "single_partition_transactions": figures.single,
        "per_read": per_read(figures.per_read),
        "statements": statements,
        "key_bytes": figures.key_bytes,
        "partitions": figures.partitions,
        "partitions_recorded": figures.recorded_partitions,
        "splits": figures.splits,
        "merges": figures.merges,
        "refusal": figures.refusal_name,
        "refusal_detail": figures.refusal,
        "why": judged.why,
        "worse": judged.worse,
        "ddl": judged.ddl.create,
        "migration": judged.ddl.migrate,
    })
}

fn interval(interval: Interval) -> Json {
    json!({"value": interval.value, "low": interval.low, "high": interval.high})
}

fn per_read(one: PerRead) -> Json {
    json!({"partitions": one.partitions, "rows": one.rows})
}
