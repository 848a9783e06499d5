//! The commands of golden scripts.
//!
//! ```text
//!   placement shared|separate     new media: one engine for all, or one each
//!   types TYPE…                   the columns of the key; two Int64 unless said
//!   settings NAME=VALUE…
//!   create [KEY…]                 the table, split at these keys
//!   split ID KEY · merge ID… · drop · recount · sweep
//!   rows KEY SIZE                 commits rows; {1..9} in the key means each of them
//!   load RATES: TRANSACTIONS      from now on (workload.rs) · load none
//!   run TIME                      time passes
//!   control TIME                  time passes and every verdict is acted on
//!   decide                        the verdict on each partition
//!   map · route KEY… · overlap LOWER UPPER · engines · rows?
//!   fault refuse|break N          the N-th write to the META engine from now fails
//!   restart · crash               a new process on the same media
//! ```

use std::fmt::Write as _;

use bytes::Bytes;
use keys::Type;
use partitions::decide::Verdict;
use partitions::{PartitionId, Share};
use storage::{EngineId, Fault, KeyRange};

use crate::workload::{Workload, number, parse_path};
use crate::world::{TABLE, TICK_S, World, text};

pub(crate) struct Script {
    world: World,
}

type Answer = Result<String, String>;

impl Script {
    pub(crate) fn new() -> Self {
        Self {
            world: World::new(false),
        }
    }

    /// Runs one command; the answer ends with a new line, or is empty.
    pub(crate) fn run(&mut self, command: &str) -> Answer {
        let (name, rest) = command.split_once(' ').unwrap_or((command, ""));
        let words: Vec<&str> = rest.split_whitespace().collect();
        match name {
            "placement" => {
                self.world = World::new(rest == "separate");
                Ok(String::new())
            }
            "types" => self.types(&words),
            "settings" => self.settings(&words),
            "create" | "split" | "merge" | "drop" => self.change(name, &words),
            "recount" => Ok(format!("{} counted\n", self.world.recount()?)),
            "sweep" => {
                let swept = self.world.directory.sweep().map_err(text)?;
                Ok(format!("{swept} engines discarded\n"))
            }
            "rows" => self.rows(&words),
            "rows?" => Ok(format!("{} rows missing\n", self.world.missing_rows()?)),
            "load" => {
                self.world.workload = if rest == "none" {
                    None
                } else {
                    Some(Workload::parse(rest)?)
                };
                Ok(String::new())
            }
            "run" => self.pass(rest, false),
            "control" => self.pass(rest, true),
            "decide" => self.decide(),
            "map" => self.map(),
            "route" => self.route(&words),
            "overlap" => self.overlap(&words),
            "engines" => Ok(self.engines()),
            "fault" => self.fault(&words),
            "restart" | "crash" => {
                self.world.restart(name == "crash")?;
                Ok(String::new())
            }
            other => Err(format!("{other} is no command")),
        }
    }

    fn types(&mut self, words: &[&str]) -> Answer {
        let types: keys::Result<Vec<Type>> = words.iter().map(|word| Type::parse(word)).collect();
        self.world.types = types.map_err(text)?;
        Ok(String::new())
    }

    fn settings(&mut self, words: &[&str]) -> Answer {
        let settings = &mut self.world.settings;
        for word in words {
            let (name, value) = word.split_once('=').ok_or("name=value")?;
            let count = || number(value).and_then(|count| usize::try_from(count).map_err(text));
            match name {
                "by_size" => settings.by_size = value == "on",
                "by_load" => settings.by_load = value == "on",
                "partition_size_mib" => settings.partition_size_mib = number(value)?,
                "force_split_size_mib" => settings.force_split_size_mib = number(value)?,
                "partitions_min" => settings.partitions_min = count()?,
                "partitions_max" => settings.partitions_max = Some(count()?),
                "split_load_percent" => settings.split_load_percent = number(value)?,
                other => return Err(format!("{other} is no setting")),
            }
        }
        Ok(String::new())
    }

    fn change(&mut self, name: &str, words: &[&str]) -> Answer {
        let directory = &self.world.directory;
        match (name, words) {
            ("create", keys) => {
                let keys: Result<Vec<Bytes>, String> = keys
                    .iter()
                    .map(|key| parse_path(&self.world.types, key))
                    .collect();
                directory.create_table(TABLE, &keys?).map_err(text)?;
            }
            ("split", [id, at]) => {
                let at = parse_path(&self.world.types, at)?;
                directory
                    .split(TABLE, partition(id)?, &at, Share::HALF)
                    .map_err(text)?;
            }
            ("merge", ids) => {
                let ids: Result<Vec<_>, String> = ids.iter().map(|id| partition(id)).collect();
                directory.merge(TABLE, &ids?).map_err(text)?;
            }
            ("drop", []) => directory.drop_table(TABLE).map_err(text)?,
            _ => return Err("split takes a partition and a key".to_owned()),
        }
        Ok(String::new())
    }

    fn rows(&mut self, words: &[&str]) -> Answer {
        let [pattern, size] = words else {
            return Err("rows takes a key and a size".to_owned());
        };
        let bytes = size_bytes(size)?;
        let paths = expand(pattern)?;
        for path in &paths {
            let key = parse_path(&self.world.types, path)?;
            self.world.commit(key, bytes)?;
        }
        Ok(format!("{} rows\n", paths.len()))
    }

    fn pass(&mut self, time: &str, acting: bool) -> Answer {
        let mut answer = String::new();
        let ticks = seconds(time)? / TICK_S;
        for _ in 0..ticks {
            self.world.tick()?;
            if !acting {
                continue;
            }
            for decision in self.world.decide()? {
                if self.world.act(&decision)? {
                    let ids: Vec<String> = decision
                        .partitions
                        .iter()
                        .map(|id| id.0.to_string())
                        .collect();
                    let (at_s, ids) = (self.world.elapsed_s(), ids.join(", "));
                    let verdict = &decision.verdict;
                    answer.push_str(&format!("{at_s:>6} s  {ids}: {verdict}\n"));
                }
            }
        }
        if acting && answer.is_empty() {
            answer.push_str("nothing changed\n");
        }
        Ok(answer)
    }

    fn decide(&mut self) -> Answer {
        let mut answer = String::new();
        for decision in self.world.decide()? {
            let ids: Vec<String> = decision
                .partitions
                .iter()
                .map(|id| id.0.to_string())
                .collect();
            let verdict: &Verdict = &decision.verdict;
            writeln!(answer, "{}: {verdict}", ids.join(", ")).map_err(text)?;
        }
        Ok(answer)
    }

    fn map(&self) -> Answer {
        let mut answer = String::new();
        for one in self.world.map()?.partitions() {
            let descriptor = &one.descriptor;
            let counts = one.counters.counts();
            let totals = counts.totals();
            let exact = if counts.exact() { "" } else { "about " };
            writeln!(
                answer,
                "{:>3}  {:<20} generation {}  {}  {exact}{} rows, {exact}{} bytes",
                descriptor.id.0,
                range(&descriptor.range),
                descriptor.generation,
                descriptor.engine,
                totals.rows,
                totals.bytes
            )
            .map_err(text)?;
        }
        Ok(answer)
    }

    fn route(&self, words: &[&str]) -> Answer {
        let map = self.world.map()?;
        let mut answer = String::new();
        for word in words {
            let key = parse_path(&self.world.types, word)?;
            writeln!(answer, "{word} → {}", map.route(&key).descriptor.id.0).map_err(text)?;
        }
        Ok(answer)
    }

    fn overlap(&self, words: &[&str]) -> Answer {
        let [lower, upper] = words else {
            return Err("overlap takes two keys".to_owned());
        };
        let lower = parse_path(&self.world.types, lower)?;
        let upper = parse_path(&self.world.types, upper)?;
        let map = self.world.map()?;
        let found = map.overlapping(&KeyRange {
            lower,
            upper: Some(upper),
        });
        let ids: Vec<String> = found
            .iter()
            .map(|one| one.descriptor.id.0.to_string())
            .collect();
        let none = "none".to_owned();
        Ok(format!(
            "{}\n",
            if ids.is_empty() { none } else { ids.join(", ") }
        ))
    }

    fn engines(&self) -> String {
        let names: Vec<String> = self
            .world
            .media
            .engines()
            .iter()
            .map(|id| id.0.to_string())
            .collect();
        format!("{}\n", names.join(", "))
    }

    fn fault(&mut self, words: &[&str]) -> Answer {
        let fault = match words {
            ["refuse", nth] => Fault::RefuseWrite { nth: number(nth)? },
            ["break", nth] => Fault::BreakWrite { nth: number(nth)? },
            _ => return Err("fault refuse|break N".to_owned()),
        };
        self.world.media.inject(EngineId::META, fault);
        Ok(String::new())
    }
}

fn partition(word: &str) -> Result<PartitionId, String> {
    number(word).map(PartitionId)
}

fn range(range: &KeyRange) -> String {
    let upper = range
        .upper
        .as_deref()
        .map_or("end".to_owned(), keys::format_key);
    format!("{} … {upper}", keys::format_key(&range.lower))
}

fn seconds(time: &str) -> Result<u64, String> {
    let units = [("h", 3600), ("m", 60), ("s", 1)];
    let unit = units
        .iter()
        .find_map(|(unit, s)| Some((time.strip_suffix(unit)?, s)));
    let (amount, unit_s) = unit.ok_or_else(|| format!("{time} is no time"))?;
    Ok(number(amount)? * unit_s)
}

fn size_bytes(size: &str) -> Result<u64, String> {
    let units = [("MiB", 1 << 20), ("KiB", 1 << 10), ("B", 1)];
    let unit = units
        .iter()
        .find_map(|(unit, bytes)| Some((size.strip_suffix(unit)?, bytes)));
    let (amount, unit_bytes) = unit.ok_or_else(|| format!("{size} is no size"))?;
    Ok(number(amount)? * unit_bytes)
}

/// Every path that a pattern with `{1..9}` stands for.
fn expand(pattern: &str) -> Result<Vec<String>, String> {
    let Some((before, rest)) = pattern.split_once('{') else {
        return Ok(vec![pattern.to_owned()]);
    };
    let (inner, after) = rest.split_once('}').ok_or("a closing brace")?;
    let (low, high) = inner.split_once("..").ok_or("a range of numbers")?;
    let mut paths = Vec::new();
    for value in number(low)?..=number(high)? {
        paths.extend(expand(&format!("{before}{value}{after}"))?);
    }
    Ok(paths)
}
