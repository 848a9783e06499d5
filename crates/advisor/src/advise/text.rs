//! Advice as a page of text.

use std::fmt::{self, Write as _};

use super::heat::{COLUMNS, HeatMap, ROWS};
use super::judge::{Figures, Interval, Judged};
use super::reasons::{few, many, percent, shortened};
use super::{Advice, TXNS_MIN};

/// From cold to hot.
const SHADES: [char; 5] = [' ', '░', '▒', '▓', '█'];

/// The whole page.
pub(super) fn render(advice: &Advice) -> String {
    let mut page = Page(String::new());
    page.say(format_args!("{}", heading(advice)));
    page.flaws(advice);
    page.table(advice);
    page.statements(advice);
    page.current(advice);
    page.best(advice);
    page.heat(advice);
    page.0
}

struct Page(String);

impl Page {
    fn say(&mut self, line: fmt::Arguments<'_>) {
        self.0
            .write_fmt(line)
            .expect("writing to a String never fails");
        self.0.truncate(self.0.trim_end_matches(' ').len());
        self.0.push('\n');
    }

    fn flaws(&mut self, advice: &Advice) {
        let flaws = &advice.flaws;
        if flaws.lines > 0 {
            let lines = many(flaws.lines as f64, "line");
            self.say(format_args!("\n{lines} of the trace could not be used:"));
            for flaw in &flaws.first {
                self.say(format_args!("  line {}: {}", flaw.line, flaw.reason));
            }
            if usize::try_from(flaws.lines).is_ok_and(|lines| lines > flaws.first.len()) {
                self.say(format_args!("  …"));
            }
        }
        if flaws.missing > 0 {
            self.say(format_args!(
                "\nThe trace ends early: {} that it promises are not in it.",
                many(flaws.missing as f64, "transaction")
            ));
        }
    }

    fn table(&mut self, advice: &Advice) {
        let names = advice.keys.iter().map(|judged| judged.name.chars().count());
        let width = names.max().unwrap_or_default().max(3);
        self.say(format_args!(
            "\n     {:width$}  {:>18}  {:>7}  {:>9}  {:>13}  {:>5}  {:>6}",
            "", "busiest partition", "carries", "one-part.", "a read takes", "key", ""
        ));
        self.say(format_args!(
            "     {:width$}  {:>18}  {:>7}  {:>9}  {:>6} {:>6}  {:>5}  {:>6}",
            "key", "does of the work", "times", "txns", "parts", "rows", "bytes", "splits"
        ));
        for (place, judged) in advice.keys.iter().enumerate() {
            let figures = &judged.figures;
            let now = if judged.is_current { "now" } else { "   " };
            let star = if advice.best.contains(&place) {
                "*"
            } else {
                " "
            };
            self.say(format_args!(
                "{now}{star} {:width$}  {:>18}  {:>7.1}  {:>9}  {:>6} {:>6}  {:>5.0}  {:>6}",
                judged.name,
                interval(figures.grown),
                figures.ceiling,
                percent(figures.single),
                few(figures.per_read.partitions),
                few(figures.per_read.rows),
                figures.key_bytes,
                figures.splits
            ));
        }
    }

    /// What each read takes under the key that is and under the best.
    fn statements(&mut self, advice: &Advice) {
        let keys: Vec<&Judged> = advice
            .current()
            .into_iter()
            .chain(advice.best().filter(|judged| !judged.is_current))
            .collect();
        let runs =
            |figures: &Figures, place: usize| figures.statements.get(place).copied().flatten();
        let mut told = false;
        for (place, statement) in advice.statements.iter().enumerate() {
            if !keys.iter().any(|one| runs(&one.figures, place).is_some()) {
                continue;
            }
            if !told {
                self.say(format_args!("\nOne run of each read:"));
                told = true;
            }
            self.say(format_args!("  {}", shortened(&statement.text)));
            for judged in &keys {
                if let Some(one) = runs(&judged.figures, place) {
                    let rows = many(one.rows, "row");
                    let partitions = many(one.partitions, "partition");
                    let name = &judged.name;
                    self.say(format_args!("    {rows} in {partitions} under {name}"));
                }
            }
        }
    }

    fn current(&mut self, advice: &Advice) {
        let Some(current) = advice.current() else {
            return;
        };
        let figures = &current.figures;
        self.say(format_args!(
            "\nNow {}: at the load of the recording the busiest of {} does {} of the work.",
            current.name,
            many(figures.recorded_partitions as f64, "partition"),
            percent(figures.recorded.value)
        ));
        for why in &current.why {
            self.say(format_args!("  {why}"));
        }
    }

    fn best(&mut self, advice: &Advice) {
        if advice.best().next().is_some_and(|best| best.is_current) {
            self.say(format_args!("\nNo key is better than the one that is."));
        }
        let others = advice.best().filter(|judged| !judged.is_current);
        for (number, judged) in (1..).zip(others) {
            self.say(format_args!("\n{number}. {}", judged.name));
            for why in &judged.why {
                self.say(format_args!("   + {why}"));
            }
            for worse in &judged.worse {
                self.say(format_args!("   - {worse}"));
            }
            if let Some(refusal) = &judged.figures.refusal {
                self.say(format_args!("   its busiest partition then: {refusal}"));
            }
            self.say(format_args!(""));
            for line in judged.ddl.create.lines() {
                self.say(format_args!("   {line}"));
            }
            self.say(format_args!(
                "   -- stop those who write to {}, then",
                advice.table.name
            ));
            for statement in &judged.ddl.migrate {
                self.say(format_args!("   {statement}"));
            }
        }
    }

    fn heat(&mut self, advice: &Advice) {
        let drawn: Vec<(&Judged, &HeatMap)> = advice
            .keys
            .iter()
            .filter_map(|judged| Some((judged, judged.heat.as_ref()?)))
            .collect();
        let now = drawn.iter().filter(|(judged, _)| judged.is_current);
        let then = drawn.iter().filter(|(judged, _)| !judged.is_current);
        let sides: Vec<_> = now.chain(then).collect();
        if sides.is_empty() {
            return;
        }
        self.say(format_args!(
            "\nThe recorded {}, from left to right; the last rows of the table on top.",
            duration(advice.timeline.duration_us())
        ));
        let hottest = sides
            .iter()
            .map(|(_, heat)| heat.hottest_us())
            .fold(0.0, f64::max);
        let names = sides.iter().map(|(judged, _)| {
            let name: String = judged.name.chars().take(COLUMNS + 2).collect();
            format!("  {name:width$}", width = COLUMNS + 2)
        });
        let names: String = names.collect();
        self.say(format_args!("{}", names.trim_end()));
        for row in (0..ROWS).rev() {
            let line: String = sides
                .iter()
                .map(|(_, heat)| format!("  │{}│", shades(heat, row, hottest)))
                .collect();
            self.say(format_args!("{line}"));
        }
    }
}

fn shades(heat: &HeatMap, row: usize, hottest: f64) -> String {
    (0..COLUMNS)
        .map(|column| shade(heat.busy_us(column, row), hottest))
        .collect()
}

/// A little heat is to be seen as well, so the steps are not even.
fn shade(busy_us: f64, hottest: f64) -> char {
    let part = if hottest > 0.0 {
        busy_us / hottest
    } else {
        0.0
    };
    let step = [0.01, 0.1, 0.3, 0.6].iter().filter(|one| part >= **one);
    SHADES.get(step.count()).copied().unwrap_or(' ')
}

fn heading(advice: &Advice) -> String {
    let txns = advice.txns;
    let stands_for = match advice.txns_weight > 1.01 * txns as f64 {
        true => format!(", standing for {:.0}", advice.txns_weight),
        false => String::new(),
    };
    let timeline = &advice.timeline;
    let mut said = format!(
        "Keys for {}, from {txns} recorded transactions{stands_for} of {}",
        advice.table.name,
        duration(timeline.duration_us())
    );
    let _ = match timeline.paused_us() {
        0..1_000_000 => write!(said, "."),
        paused_us => write!(said, ", pauses of {} left out.", duration(paused_us)),
    };
    let _ = write!(
        said,
        "\nThe work kept {} of a core busy. Each key is judged at a load of {} cores or more, which one \
         partition\ncannot carry.",
        percent(advice.cores),
        few(advice.judged_cores)
    );
    if txns < 4 * TXNS_MIN {
        let _ = write!(
            said,
            "\nThat is not much: {} would give narrower intervals.",
            4 * TXNS_MIN
        );
    }
    said
}

fn interval(interval: Interval) -> String {
    format!(
        "{} ({:.0}–{:.0})",
        percent(interval.value),
        interval.low * 100.0,
        interval.high * 100.0
    )
}

fn duration(us: u64) -> String {
    let seconds = us as f64 / 1e6;
    if seconds < 120.0 {
        many(seconds.round(), "second")
    } else if seconds < 7200.0 {
        many((seconds / 60.0).round(), "minute")
    } else {
        many((seconds / 3600.0).round(), "hour")
    }
}
