//! Metrics as the text that Prometheus reads.
//!
//! ```text
//!   # HELP evenkeel_partitions Partitions of a table or index.
//!   # TYPE evenkeel_partitions gauge
//!   evenkeel_partitions{table="events"} 12
//! ```

use std::fmt::Write as _;
use std::time::Duration;

use db::{LATENCY_BOUNDS_US, Latency, Metrics, Share, TableMetrics};

/// All of them.
pub(super) fn text(metrics: &Metrics) -> String {
    let mut page = Page::default();
    sizes(&mut page, &metrics.tables);
    work(&mut page, &metrics.tables);
    events(&mut page, metrics);
    page.family(
        "statement_seconds",
        "histogram",
        "How long statements take.",
    );
    for latency in &metrics.statements {
        histogram(&mut page, latency);
    }
    page.family(
        "engines_down",
        "gauge",
        "Engines that failed and are not open again yet.",
    );
    page.line("engines_down", &[], metrics.engines_down);
    engines(&mut page, metrics);
    let help = "Runs of background jobs that failed or panicked, by job.";
    page.family("job_failures_total", "counter", help);
    for job in &metrics.jobs {
        page.line("job_failures_total", &[("job", job.name)], job.failures);
    }
    page.text
}

fn sizes(page: &mut Page, tables: &[TableMetrics]) {
    page.family("partitions", "gauge", "Partitions of a table or index.");
    for one in tables {
        page.line("partitions", &[("table", &one.name)], one.partitions);
    }
    page.family("rows", "gauge", "Rows of a table or index.");
    for one in tables {
        page.line("rows", &[("table", &one.name)], one.rows);
    }
    page.family(
        "bytes",
        "gauge",
        "Bytes of keys and rows of a table or index.",
    );
    for one in tables {
        page.line("bytes", &[("table", &one.name)], one.bytes);
    }
}

fn work(page: &mut Page, tables: &[TableMetrics]) {
    let help = "The busiest partition's share of a table's busy time in the last minute.";
    page.family("peak_share", "gauge", help);
    for one in tables {
        page.share("peak_share", &one.name, one.peak_share);
    }
    let help = "Transactions of the last minute that touched one partition only, as a share.";
    page.family("single_partition_share", "gauge", help);
    for one in tables {
        page.share(
            "single_partition_share",
            &one.name,
            one.single_partition_share,
        );
    }
    let help = "Visits of transactions to partitions, by whether they touched one or several.";
    page.family("transactions_total", "counter", help);
    for one in tables {
        let visits = [
            ("single", one.totals.single_partition_txns),
            ("multi", one.totals.multi_partition_txns),
        ];
        for (kind, count) in visits {
            let labels = [("table", one.name.as_str()), ("partitions", kind)];
            page.line("transactions_total", &labels, count);
        }
    }
    let help = "Rows that were read by key, scanned over or written.";
    page.family("rows_total", "counter", help);
    for one in tables {
        let rows = [
            ("read", one.totals.reads),
            ("scanned", one.totals.scanned_rows),
            ("written", one.totals.writes),
        ];
        for (what, count) in rows {
            let labels = [("table", one.name.as_str()), ("what", what)];
            page.line("rows_total", &labels, count);
        }
    }
    page.family(
        "busy_seconds_total",
        "counter",
        "Time spent on the partitions of a table.",
    );
    for one in tables {
        let busy = seconds(Duration::from_nanos(one.totals.busy_ns));
        page.line("busy_seconds_total", &[("table", &one.name)], busy);
    }
}

fn events(page: &mut Page, metrics: &Metrics) {
    let families = [
        ("Split", "splits_total", "Splits of partitions, by reason."),
        ("Merge", "merges_total", "Merges of partitions, by reason."),
        (
            "Refused",
            "refusals_total",
            "Times that a partition was too large or too hot and could not be helped, by reason.",
        ),
    ];
    for (kind, family, help) in families {
        page.family(family, "counter", help);
        for (_, reason, count) in metrics.events.iter().filter(|(known, ..)| *known == kind) {
            page.line(family, &[("reason", reason)], count);
        }
    }
}

fn engines(page: &mut Page, metrics: &Metrics) {
    let help = "Memtables that were written out as tables.";
    page.family("engine_flushes_total", "counter", help);
    page.line("engine_flushes_total", &[], metrics.engines.flushes);
    let help = "Compactions that rewrote tables.";
    page.family("engine_compactions_total", "counter", help);
    page.line("engine_compactions_total", &[], metrics.engines.compactions);
}

fn histogram(page: &mut Page, latency: &Latency) {
    let mut count = 0;
    let bounds = LATENCY_BOUNDS_US
        .iter()
        .map(|us| seconds(Duration::from_micros(*us)))
        .chain(["+Inf".to_owned()]);
    for (bound, more) in bounds.zip(&latency.buckets) {
        count += more;
        let labels = [("kind", latency.kind), ("le", bound.as_str())];
        page.line("statement_seconds_bucket", &labels, count);
    }
    let labels = [("kind", latency.kind)];
    page.line("statement_seconds_sum", &labels, seconds(latency.sum));
    page.line("statement_seconds_count", &labels, count);
}

/// Seconds with all their digits and no more.
fn seconds(time: Duration) -> String {
    time.as_secs_f64().to_string()
}

/// The text so far.
#[derive(Default)]
struct Page {
    text: String,
}

impl Page {
    fn family(&mut self, name: &str, kind: &str, help: &str) {
        let name = format!("evenkeel_{name}");
        self.put(format_args!("# HELP {name} {help}\n# TYPE {name} {kind}\n"));
    }

    fn line(&mut self, name: &str, labels: &[(&str, &str)], value: impl std::fmt::Display) {
        self.put(format_args!("evenkeel_{name}"));
        for (index, (label, text)) in labels.iter().enumerate() {
            let before = if index == 0 { '{' } else { ',' };
            self.put(format_args!("{before}{label}=\"{}\"", escaped(text)));
        }
        let after = if labels.is_empty() { "" } else { "}" };
        self.put(format_args!("{after} {value}\n"));
    }

    /// A share, if there is one.
    fn share(&mut self, name: &str, table: &str, share: Option<Share>) {
        if let Some(share) = share {
            self.line(name, &[("table", table)], share.ratio());
        }
    }

    fn put(&mut self, text: std::fmt::Arguments<'_>) {
        self.text
            .write_fmt(text)
            .expect("writing to a string does not fail");
    }
}

/// A label's value: what would end it is escaped.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_tables_cannot_break_out_of_their_quotes() {
        let mut page = Page::default();
        page.line("rows", &[("table", "a\"b\\c\nd"), ("what", "read")], 3);
        let line = "evenkeel_rows{table=\"a\\\"b\\\\c\\nd\",what=\"read\"} 3\n";
        assert_eq!(page.text, line);
    }

    #[test]
    fn buckets_add_up() {
        let mut buckets = vec![0; LATENCY_BOUNDS_US.len() + 1];
        buckets[0] = 2;
        buckets[3] = 5;
        let latency = Latency {
            kind: "select",
            buckets,
            sum: Duration::from_millis(12),
        };
        let mut page = Page::default();
        histogram(&mut page, &latency);
        assert!(page.text.contains("{kind=\"select\",le=\"0.0001\"} 2\n"));
        assert!(page.text.contains("{kind=\"select\",le=\"0.001\"} 7\n"));
        assert!(page.text.contains("{kind=\"select\",le=\"+Inf\"} 7\n"));
        assert!(
            page.text
                .contains("statement_seconds_sum{kind=\"select\"} 0.012\n")
        );
    }
}
