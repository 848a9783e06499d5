//! Reading a trace, one transaction at a time.

use std::collections::BTreeMap;
use std::io::{BufRead, Read};

use keys::{Type, Value};
use partitions::decide::Settings;
use serde_json::Value as Json;

use super::value::{read as read_value, shortened};
use super::{
    Column, Flaw, Flaws, Header, Index, Kind, Op, Order, Row, Spent, Statement, Table, Trace, Txn,
    VERSION,
};
use crate::{Error, Result};

/// Bytes of the longest line.
pub const LINE_BYTES_MAX: usize = 8 << 20;
/// Most tables of a trace.
pub const TABLES_MAX: usize = 10_000;
/// Most shapes of statements in a trace.
pub const STATEMENTS_MAX: usize = 100_000;
/// Most columns of a table.
pub const COLUMNS_MAX: usize = keys::COLUMNS_MAX;
/// So many broken lines are remembered with their reason.
pub const FLAWS_SHOWN_MAX: usize = 5;

/// Why a line makes no sense.
type Reason = String;
type Read1<T> = std::result::Result<T, Reason>;
type Object = serde_json::Map<String, Json>;

/// Reads the lines of a trace.
#[derive(Debug)]
pub struct Reader<R> {
    input: R,
    line: Vec<u8>,
    number: u64,
    known: Known,
    header: Header,
    flaws: Flaws,
    txns: u64,
}

/// The tables and statements so far, by number.
#[derive(Debug, Default)]
struct Known {
    tables: Vec<Table>,
    statements: Vec<Statement>,
    table_at: BTreeMap<u32, usize>,
    statement_at: BTreeMap<u32, usize>,
}

enum Line {
    Shape,
    Txn(Txn),
}

impl<R: BufRead> Reader<R> {
    /// Reads the first line.
    pub fn new(input: R) -> Result<Self> {
        let mut reader = Self {
            input,
            line: Vec::new(),
            number: 0,
            known: Known::default(),
            header: Header::default(),
            flaws: Flaws::default(),
            txns: 0,
        };
        let not = |reason: String| Error::NotATrace { reason };
        match reader.take_line()? {
            Taken::Line => {}
            Taken::Long => return Err(not("it is too long".to_owned())),
            Taken::End => return Err(not("the file is empty".to_owned())),
        }
        let json: Json = serde_json::from_slice(&reader.line)
            .map_err(|error| not(format!("it is no JSON: {error}")))?;
        let fields = json.as_object();
        let version = fields.and_then(|fields| fields.get("evenkeel_trace")?.as_u64());
        let (Some(fields), Some(version)) = (fields, version) else {
            return Err(not(format!("it is {}", shortened(&json.to_string()))));
        };
        let made_by = fields.get("made_by").and_then(Json::as_str);
        let made_by = made_by.unwrap_or("unknown").to_owned();
        if version > VERSION {
            return Err(Error::TraceNewer {
                version,
                known: VERSION,
                made_by,
            });
        }
        let number = |name| fields.get(name).and_then(Json::as_u64).unwrap_or_default();
        reader.header = Header {
            made_by,
            from_us: number("from_us"),
            to_us: number("to_us"),
            transactions_seen: number("transactions_seen"),
            transactions_kept: number("transactions_kept"),
        };
        Ok(reader)
    }

    /// The first line.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The tables so far.
    pub fn tables(&self) -> &[Table] {
        &self.known.tables
    }

    /// The shapes of statements so far.
    pub fn statements(&self) -> &[Statement] {
        &self.known.statements
    }

    /// What could not be used so far. What is missing is known only at the end.
    pub fn flaws(&self) -> &Flaws {
        &self.flaws
    }

    /// The next transaction; tables, statements and broken lines before it are taken in.
    pub fn next_txn(&mut self) -> Result<Option<Txn>> {
        loop {
            let taken = match self.take_line()? {
                Taken::End => {
                    let lines = self.txns.saturating_add(self.flaws.lines);
                    self.flaws.missing = self.header.transactions_kept.saturating_sub(lines);
                    return Ok(None);
                }
                Taken::Long => Err(format!("it is longer than {LINE_BYTES_MAX} bytes")),
                Taken::Line if self.line.trim_ascii().is_empty() => continue,
                Taken::Line => self.known.take_in(&self.line),
            };
            match taken {
                Ok(Line::Shape) => {}
                Ok(Line::Txn(txn)) => {
                    self.txns += 1;
                    return Ok(Some(txn));
                }
                Err(reason) => self.flaw(reason),
            }
        }
    }

    /// All of it, with these transactions.
    pub fn into_trace(self, txns: Vec<Txn>) -> Trace {
        Trace {
            header: self.header,
            tables: self.known.tables,
            statements: self.known.statements,
            txns,
            flaws: self.flaws,
        }
    }

    fn flaw(&mut self, reason: Reason) {
        self.flaws.lines += 1;
        if self.flaws.first.len() < FLAWS_SHOWN_MAX {
            self.flaws.first.push(Flaw {
                line: self.number,
                reason,
            });
        }
    }

    /// Takes the next line without its end. One that is too long is passed over.
    fn take_line(&mut self) -> Result<Taken> {
        self.line.clear();
        self.number += 1;
        let bytes_max = u64::try_from(LINE_BYTES_MAX).unwrap_or(u64::MAX);
        let mut bounded = self.input.by_ref().take(bytes_max);
        bounded.read_until(b'\n', &mut self.line)?;
        if self.line.is_empty() {
            return Ok(Taken::End);
        }
        if self.line.last() != Some(&b'\n') && self.line.len() >= LINE_BYTES_MAX {
            while self.line.last() != Some(&b'\n') && !self.line.is_empty() {
                self.line.clear();
                let mut bounded = self.input.by_ref().take(bytes_max);
                bounded.read_until(b'\n', &mut self.line)?;
            }
            return Ok(Taken::Long);
        }
        Ok(Taken::Line)
    }
}

enum Taken {
    Line,
    Long,
    End,
}

impl Known {
    fn take_in(&mut self, line: &[u8]) -> Read1<Line> {
        let json: Json = serde_json::from_slice(line).map_err(|error| {
            match error.is_eof() && line.last() != Some(&b'\n') {
                true => "it is cut off: the file ends in the middle of it".to_owned(),
                false => format!("it is no JSON: {error}"),
            }
        })?;
        let fields = json.as_object().ok_or("it is no object")?;
        let one = |name| fields.get(name).and_then(Json::as_object);
        if let Some(txn) = one("txn") {
            return self.read_txn(txn).map(Line::Txn);
        }
        if let Some(table) = one("table") {
            self.add_table(read_table(table)?)?;
        } else if let Some(statement) = one("statement") {
            self.add_statement(read_statement(statement)?)?;
        } else if let Some(spent) = one("spent") {
            self.add_spent(required(spent, "table")?, read_spent(spent)?)?;
        } else {
            return Err("it is neither a table nor a statement nor a txn nor spent".to_owned());
        }
        Ok(Line::Shape)
    }

    fn add_table(&mut self, table: Table) -> Read1<()> {
        if self.tables.len() >= TABLES_MAX {
            return Err(format!("a trace has at most {TABLES_MAX} tables"));
        }
        if self.table_at.contains_key(&table.id) {
            return Err(format!("table {} is there already", table.id));
        }
        self.table_at.insert(table.id, self.tables.len());
        self.tables.push(table);
        Ok(())
    }

    fn add_spent(&mut self, table: u32, more: Spent) -> Read1<()> {
        let at = self.table_at.get(&table);
        let table = at
            .and_then(|at| self.tables.get_mut(*at))
            .ok_or_else(|| format!("table {table} is not there"))?;
        table.spent = Some(table.spent.unwrap_or_default().plus(more));
        Ok(())
    }

    fn add_statement(&mut self, statement: Statement) -> Read1<()> {
        if self.statements.len() >= STATEMENTS_MAX {
            return Err(format!("a trace has at most {STATEMENTS_MAX} statements"));
        }
        if self.statement_at.contains_key(&statement.id) {
            return Err(format!("statement {} is there already", statement.id));
        }
        if !self.table_at.contains_key(&statement.table) {
            return Err(format!("table {} is not there", statement.table));
        }
        self.statement_at
            .insert(statement.id, self.statements.len());
        self.statements.push(statement);
        Ok(())
    }

    fn read_txn(&self, fields: &Object) -> Read1<Txn> {
        let weight = match fields.get("weight") {
            None => 1.0,
            Some(weight) => weight.as_f64().unwrap_or_default(),
        };
        if !(weight.is_finite() && weight > 0.0) {
            return Err("its weight is no number above zero".to_owned());
        }
        let ops = list(fields, "ops")?;
        Ok(Txn {
            at_us: required(fields, "at_us")?,
            weight,
            ops: ops
                .iter()
                .map(|op| self.read_op(op))
                .collect::<Read1<_>>()?,
        })
    }

    fn read_op(&self, json: &Json) -> Read1<Op> {
        let fields = json.as_object().ok_or("an op is no object")?;
        let statement: u32 = required(fields, "s")?;
        let table = self
            .statement_at
            .get(&statement)
            .and_then(|at| self.statements.get(*at))
            .and_then(|statement| self.table_at.get(&statement.table))
            .and_then(|at| self.tables.get(*at))
            .ok_or_else(|| format!("statement {statement} is not there"))?;
        let mut eq = Vec::new();
        for (name, values) in object(fields, "eq")? {
            let (column, kind) = find(table, name)?;
            let values = values
                .as_array()
                .ok_or_else(|| format!("the values of {name} are no list"))?;
            let values = values.iter().map(|value| read_in(name, kind, value));
            eq.push((column, values.collect::<Read1<_>>()?));
        }
        let rows = list(fields, "rows")?.iter();
        Ok(Op {
            statement,
            eq,
            low: read_row(table, object(fields, "low")?)?,
            high: read_row(table, object(fields, "high")?)?,
            limit: optional(fields, "limit")?,
            order: list(fields, "order")?
                .iter()
                .map(|name| read_order(table, name))
                .collect::<Read1<_>>()?,
            rows: rows
                .map(|row| match row.as_object() {
                    Some(row) => read_row(table, row.iter()),
                    None => Err("a row is no object".to_owned()),
                })
                .collect::<Read1<_>>()?,
            found: optional(fields, "found")?,
            rows_read: optional(fields, "rows_read")?,
            busy_us: optional(fields, "busy_us")?,
        })
    }
}

fn find(table: &Table, name: &str) -> Read1<(u16, Type)> {
    let missing = || format!("table {} has no column {name}", table.name);
    let place = table.column(name).ok_or_else(missing)?;
    let column = table.columns.get(usize::from(place)).ok_or_else(missing)?;
    Ok((place, column.kind))
}

fn read_in(name: &str, kind: Type, json: &Json) -> Read1<Value> {
    read_value(kind, json).map_err(|reason| format!("column {name}: {reason}"))
}

fn read_row<'j>(table: &Table, cells: impl Iterator<Item = (&'j String, &'j Json)>) -> Read1<Row> {
    let cells = cells.map(|(name, json)| {
        let (column, kind) = find(table, name)?;
        Ok((column, read_in(name, kind, json)?))
    });
    let mut row: Row = cells.collect::<Read1<_>>()?;
    row.sort_by_key(|(column, _)| *column);
    Ok(row)
}

/// A name, with a minus before it if the greatest comes first.
fn read_order(table: &Table, json: &Json) -> Read1<Order> {
    let name = json.as_str().ok_or("an order is no list of names")?;
    let ascending = table.column(name).map(|column| Order {
        column,
        descending: false,
    });
    let (plain, descending) = match name.strip_prefix('-') {
        Some(plain) => (plain, true),
        None => (name, false),
    };
    match ascending {
        Some(order) => Ok(order),
        None => find(table, plain).map(|(column, _)| Order { column, descending }),
    }
}

fn read_spent(fields: &Object) -> Read1<Spent> {
    let number = |name| Ok::<_, String>(optional(fields, name)?.unwrap_or_default());
    Ok(Spent {
        gets: number("gets")?,
        scans: number("scans")?,
        rows: number("rows")?,
        writes: number("writes")?,
        get_us: number("get_us")?,
        scan_us: number("scan_us")?,
        commit_us: number("commit_us")?,
    })
}

fn read_table(fields: &Object) -> Read1<Table> {
    let columns = list(fields, "columns")?;
    if columns.len() > COLUMNS_MAX {
        return Err(format!("a table has at most {COLUMNS_MAX} columns"));
    }
    let mut table = Table {
        id: required(fields, "id")?,
        name: text(fields, "name")?,
        columns: columns.iter().map(read_column).collect::<Read1<_>>()?,
        key: names(list(fields, "key")?)?,
        unique: Vec::new(),
        indexes: list(fields, "indexes")?
            .iter()
            .map(read_index)
            .collect::<Read1<_>>()?,
        rows: optional(fields, "rows")?.unwrap_or_default(),
        bytes: optional(fields, "bytes")?.unwrap_or_default(),
        partitions: optional(fields, "partitions")?.unwrap_or_default(),
        spent: None,
        settings: Settings::default(),
        check_interval_s: 0,
    };
    if let Some(spent) = fields.get("spent") {
        let spent = spent.as_object().ok_or("spent is no object")?;
        table.spent = Some(read_spent(spent)?);
    }
    for columns in list(fields, "unique")? {
        let columns = columns.as_array().ok_or("unique is no list of lists")?;
        table.unique.push(names(columns)?);
    }
    let indexes = table.indexes.iter();
    let indexed = indexes.flat_map(|index| index.columns.iter().chain(&index.cover));
    let unique = table.unique.iter().flatten();
    for name in table.key.iter().chain(unique).chain(indexed) {
        find(&table, name)?;
    }
    if let Some(settings) = fields.get("settings") {
        let settings = settings.as_object().ok_or("settings are no object")?;
        read_settings(settings, &mut table)?;
    }
    Ok(table)
}

fn read_index(json: &Json) -> Read1<Index> {
    let fields = json.as_object().ok_or("an index is no object")?;
    let name = fields.get("name").and_then(Json::as_str);
    let unique = fields.get("unique").and_then(Json::as_bool);
    Ok(Index {
        name: name.unwrap_or_default().to_owned(),
        columns: names(list(fields, "columns")?)?,
        cover: names(list(fields, "cover")?)?,
        unique: unique.unwrap_or_default(),
    })
}

fn read_column(json: &Json) -> Read1<Column> {
    let fields = json.as_object().ok_or("a column is no object")?;
    let name = text(fields, "name")?;
    let kind = text(fields, "type")?;
    let kind = Type::parse(&kind).map_err(|error| format!("column {name}: {error}"))?;
    let flag = |flag| fields.get(flag).and_then(Json::as_bool).unwrap_or_default();
    let generated = fields.get("generated").and_then(Json::as_str);
    Ok(Column {
        kind,
        not_null: flag("not_null"),
        generated: generated.map(str::to_owned),
        counted: flag("counted"),
        name,
    })
}

fn read_settings(fields: &Object, table: &mut Table) -> Read1<()> {
    table.check_interval_s = optional(fields, "check_interval_s")?.unwrap_or_default();
    let settings = &mut table.settings;
    let usual = Settings::default();
    let flag = |flag, usual| fields.get(flag).and_then(Json::as_bool).unwrap_or(usual);
    let number = |name, usual| Ok::<_, Reason>(optional(fields, name)?.unwrap_or(usual));
    *settings = Settings {
        by_size: flag("by_size", usual.by_size),
        by_load: flag("by_load", usual.by_load),
        partition_size_mib: number("partition_size_mib", usual.partition_size_mib)?,
        force_split_size_mib: number("force_split_size_mib", usual.force_split_size_mib)?,
        partitions_min: optional(fields, "partitions_min")?.unwrap_or(usual.partitions_min),
        partitions_max: optional(fields, "partitions_max")?,
        split_load_percent: number("split_load_percent", usual.split_load_percent)?,
        split_load_lasting_s: number("split_load_lasting_s", usual.split_load_lasting_s)?,
        merge_uptime_s_min: number("merge_uptime_s_min", usual.merge_uptime_s_min)?,
        merge_low_load_s: number("merge_low_load_s", usual.merge_low_load_s)?,
        merge_load_percent: number("merge_load_percent", usual.merge_load_percent)?,
        merge_size_percent: number("merge_size_percent", usual.merge_size_percent)?,
    };
    Ok(())
}

fn read_statement(fields: &Object) -> Read1<Statement> {
    let kind = text(fields, "kind")?;
    Ok(Statement {
        id: required(fields, "id")?,
        fingerprint: text(fields, "fingerprint").unwrap_or_default(),
        text: text(fields, "text").unwrap_or_default(),
        table: required(fields, "table")?,
        kind: Kind::named(&kind).ok_or_else(|| format!("{kind} is no kind of statement"))?,
    })
}

fn text(fields: &Object, name: &str) -> Read1<String> {
    let text = fields.get(name).and_then(Json::as_str);
    text.map(str::to_owned)
        .ok_or_else(|| format!("it has no {name}"))
}

/// A list of the object; one that is not there is empty.
fn list<'j>(fields: &'j Object, name: &str) -> Read1<&'j [Json]> {
    match fields.get(name) {
        None => Ok(&[]),
        Some(Json::Array(items)) => Ok(items),
        Some(_) => Err(format!("{name} is no list")),
    }
}

/// An object in the object; one that is not there is empty.
fn object<'j>(
    fields: &'j Object,
    name: &str,
) -> Read1<impl Iterator<Item = (&'j String, &'j Json)> + use<'j>> {
    match fields.get(name) {
        None => Ok(None),
        Some(Json::Object(inner)) => Ok(Some(inner)),
        Some(_) => Err(format!("{name} is no object")),
    }
    .map(|inner| inner.into_iter().flatten())
}

fn names(items: &[Json]) -> Read1<Vec<String>> {
    let one = |item: &Json| item.as_str().map(str::to_owned);
    let names: Option<_> = items.iter().map(one).collect();
    names.ok_or_else(|| "a list of columns is no list of names".to_owned())
}

fn required<T: TryFrom<u64>>(fields: &Object, name: &str) -> Read1<T> {
    optional(fields, name)?.ok_or_else(|| format!("it has no {name}"))
}

/// A whole number of the object, if it is there.
fn optional<T: TryFrom<u64>>(fields: &Object, name: &str) -> Read1<Option<T>> {
    let Some(json) = fields.get(name).filter(|json| !json.is_null()) else {
        return Ok(None);
    };
    let number = json.as_u64().and_then(|number| T::try_from(number).ok());
    number
        .map(Some)
        .ok_or_else(|| format!("{name} is {}", shortened(&json.to_string())))
}
