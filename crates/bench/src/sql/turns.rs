//! Rounds of both servers in turns, and the line that comes of them.

use std::time::Duration;

use super::Arena;
use super::client::{self, Load, Mode};
use super::server::Server;
use crate::Result;
use crate::measure::{Report, Sample, Stopwatch, grouped, settle_by};

/// What one server did in its turns.
#[derive(Clone, Debug, Default)]
struct Side {
    per_second: Sample,
    /// Processor time of the server for each transaction or row.
    cpu_us: Sample,
    /// Share of the transactions that needed more than one try.
    retried: Sample,
}

/// What one turn did.
struct Turn {
    per_second: f64,
    cpu_us: f64,
    retried: f64,
}

impl Side {
    fn add(&mut self, turn: &Turn) {
        self.per_second.add(turn.per_second);
        self.cpu_us.add(turn.cpu_us);
        self.retried.add(turn.retried);
    }

    fn show(&self, name: &str) -> String {
        let rate = &self.per_second;
        let (least, most) = (counted(rate.least()), counted(rate.most()));
        let mut text = format!("{name} {}/s ({least}–{most})", counted(rate.median()));
        text.push_str(&format!(", {:.1} µs CPU", self.cpu_us.median()));
        if self.retried.median() > 0.0 {
            text.push_str(&format!(", {:.1} % retried", self.retried.median() * 100.0));
        }
        text
    }
}

/// Both sides, and how they compare in each round.
#[derive(Clone, Debug, Default)]
pub(crate) struct Contest {
    ours: Side,
    theirs: Side,
    /// Our rate over theirs.
    rates: Sample,
    /// Their processor time over ours.
    costs: Sample,
}

impl Contest {
    fn add(&mut self, ours: &Turn, theirs: &Turn) {
        self.ours.add(ours);
        self.theirs.add(theirs);
        self.rates.add(ours.per_second / theirs.per_second);
        self.costs.add(theirs.cpu_us / ours.cpu_us);
    }

    /// Prints the ratio of the rates.
    pub(crate) fn tell(&self, report: &mut Report, name: &str, floor: Option<f64>) {
        report.against(name, self.rates.median(), floor, &self.figures());
    }

    /// Prints how much more processor time the other server takes.
    pub(crate) fn tell_cpu(&self, report: &mut Report, name: &str, floor: Option<f64>) {
        report.against(name, self.costs.median(), floor, &self.figures());
    }

    fn figures(&self) -> String {
        let ours = self.ours.show("evenkeel");
        format!("{ours:<60} {}", self.theirs.show("postgresql"))
    }
}

/// What differs between the two servers in a contest of pgbench.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scripts<'a> {
    pub(crate) ours: &'a [&'a str],
    pub(crate) theirs: &'a [&'a str],
    pub(crate) clients: u32,
    pub(crate) mode: Mode,
    /// The isolation level that PostgreSQL is asked for.
    pub(crate) isolation: Option<&'a str>,
}

/// Puts the same load on both. Scripts find the number of the round in `:round`.
pub(crate) fn pgbench(arena: &mut Arena<'_>, scripts: Scripts<'_>) -> Result<Contest> {
    let seconds = arena.scale.seconds;
    let rows = i64::from(arena.scale.rows);
    in_turns(arena, arena.scale.rounds, |server, round| {
        let ours = server.name == "evenkeel";
        let load = Load {
            script: if ours { scripts.ours } else { scripts.theirs },
            variables: &[("rows", rows), ("round", round.into()), ("n", 0)],
            clients: scripts.clients,
            mode: scripts.mode,
            seconds,
            isolation: scripts.isolation.filter(|_| !ours),
        };
        let before = server.cpu();
        let run = client::pgbench(server, load)?;
        Ok(Turn {
            per_second: run.per_second,
            cpu_us: micros(server.cpu() - before) / run.transactions,
            retried: run.retried / run.transactions,
        })
    })
}

/// Lets both do a piece of work of so many rows, after something that is not timed. It is long enough
/// for a few rounds.
pub(crate) fn work(
    arena: &mut Arena<'_>,
    rows: u32,
    prepare: impl Fn(&Server) -> Result<()>,
    work: impl Fn(&Server) -> Result<()>,
) -> Result<Contest> {
    in_turns(arena, arena.scale.works, |server, _| {
        prepare(server)?;
        let before = server.cpu();
        let watch = Stopwatch::start();
        work(server)?;
        let took = watch.elapsed();
        server.note_memory();
        Ok(Turn {
            per_second: f64::from(rows) / took.as_secs_f64(),
            cpu_us: micros(server.cpu() - before) / f64::from(rows),
            retried: 0.0,
        })
    })
}

fn in_turns(
    arena: &mut Arena<'_>,
    rounds: u32,
    mut turn: impl FnMut(&mut Server, u32) -> Result<Turn>,
) -> Result<Contest> {
    let mut contest = Contest::default();
    for round in 0..rounds {
        let mut take = |our_turn: bool| -> Result<Turn> {
            settle(arena);
            let server = match our_turn {
                true => &mut arena.ours,
                false => &mut arena.theirs,
            };
            let done = turn(server, round)?;
            eprintln!(
                "  round {}: {} {}/s, {:.1} µs CPU",
                round + 1,
                server.name,
                counted(done.per_second),
                done.cpu_us
            );
            Ok(done)
        };
        let ours_first = round.is_multiple_of(2);
        let (first, second) = (take(ours_first)?, take(!ours_first)?);
        match ours_first {
            true => contest.add(&first, &second),
            false => contest.add(&second, &first),
        }
    }
    Ok(contest)
}

/// Waits until neither server has anything left to do.
pub(crate) fn settle(arena: &Arena<'_>) {
    settle_by(|| arena.ours.cpu() + arena.theirs.cpu());
}

/// A rate; slow ones need their tenths.
fn counted(rate: f64) -> String {
    if rate < 100.0 {
        format!("{rate:.1}")
    } else {
        grouped(rate)
    }
}

fn micros(took: Duration) -> f64 {
    took.as_secs_f64() * 1_000_000.0
}
