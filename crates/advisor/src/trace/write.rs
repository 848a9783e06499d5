//! Writing a trace, line by line, so that a recorder can do it while it goes on.

use std::collections::BTreeMap;
use std::io::{self, Write};

use super::value::{append, append_string, append_text};
use super::{Header, Op, Order, Row, Spent, Statement, Table, Txn, VERSION};

/// Writes the lines of a trace. Tables come before their statements, statements before transactions
/// that name them; what names something that was not written is an error of kind `InvalidInput`.
#[derive(Debug)]
pub struct Writer<W> {
    out: W,
    /// The line that is being made, or what is left of one that was given up.
    line: String,
    columns: BTreeMap<u32, Vec<String>>,
    tables: BTreeMap<u32, u32>,
}

impl<W: Write> Writer<W> {
    /// Writes the first line.
    pub fn new(out: W, header: &Header) -> io::Result<Self> {
        let mut writer = Self {
            out,
            line: String::new(),
            columns: BTreeMap::new(),
            tables: BTreeMap::new(),
        };
        let line = &mut writer.line;
        append_text(
            line,
            format_args!("{{\"evenkeel_trace\":{VERSION},\"made_by\":"),
        );
        append_string(line, &header.made_by);
        append_text(
            line,
            format_args!(
                ",\"from_us\":{},\"to_us\":{},\"transactions_seen\":{},\"transactions_kept\":{}}}",
                header.from_us, header.to_us, header.transactions_seen, header.transactions_kept
            ),
        );
        writer.end_line()?;
        Ok(writer)
    }

    /// Writes a table.
    pub fn table(&mut self, table: &Table) -> io::Result<()> {
        let names = table.columns.iter().map(|column| column.name.clone());
        self.columns.insert(table.id, names.collect());
        self.line.clear();
        let line = &mut self.line;
        append_text(
            line,
            format_args!("{{\"table\":{{\"id\":{},\"name\":", table.id),
        );
        append_string(line, &table.name);
        line.push_str(",\"columns\":");
        append_list(line, &table.columns, |line, column| {
            line.push_str("{\"name\":");
            append_string(line, &column.name);
            append_text(line, format_args!(",\"type\":\"{}\"", column.kind));
            if column.not_null {
                line.push_str(",\"not_null\":true");
            }
            if let Some(generated) = &column.generated {
                line.push_str(",\"generated\":");
                append_string(line, generated);
            }
            if column.counted {
                line.push_str(",\"counted\":true");
            }
            line.push('}');
        });
        let names = |line: &mut String, names: &Vec<String>| {
            append_list(line, names, |line, name| append_string(line, name));
        };
        line.push_str(",\"key\":");
        names(line, &table.key);
        if !table.unique.is_empty() {
            line.push_str(",\"unique\":");
            append_list(line, &table.unique, names);
        }
        if !table.indexes.is_empty() {
            line.push_str(",\"indexes\":");
            append_list(line, &table.indexes, |line, index| {
                line.push_str("{\"name\":");
                append_string(line, &index.name);
                line.push_str(",\"columns\":");
                names(line, &index.columns);
                if !index.cover.is_empty() {
                    line.push_str(",\"cover\":");
                    names(line, &index.cover);
                }
                if index.unique {
                    line.push_str(",\"unique\":true");
                }
                line.push('}');
            });
        }
        append_text(
            line,
            format_args!(
                ",\"rows\":{},\"bytes\":{},\"partitions\":{},",
                table.rows, table.bytes, table.partitions
            ),
        );
        if let Some(spent) = &table.spent {
            line.push_str("\"spent\":{");
            append_spent(line, spent);
            line.push_str("},");
        }
        append_settings(line, table);
        line.push_str("}}");
        self.end_line()
    }

    /// Writes the shape of a statement.
    pub fn statement(&mut self, statement: &Statement) -> io::Result<()> {
        if !self.columns.contains_key(&statement.table) {
            return Err(unknown("table", statement.table));
        }
        self.tables.insert(statement.id, statement.table);
        self.line.clear();
        let line = &mut self.line;
        append_text(
            line,
            format_args!("{{\"statement\":{{\"id\":{},\"fingerprint\":", statement.id),
        );
        append_string(line, &statement.fingerprint);
        line.push_str(",\"text\":");
        append_string(line, &statement.text);
        append_text(
            line,
            format_args!(
                ",\"table\":{},\"kind\":\"{}\"}}}}",
                statement.table,
                statement.kind.name()
            ),
        );
        self.end_line()
    }

    /// Writes a transaction.
    pub fn txn(&mut self, txn: &Txn) -> io::Result<()> {
        self.line.clear();
        let line = &mut self.line;
        append_text(
            line,
            format_args!(
                "{{\"txn\":{{\"at_us\":{},\"weight\":{},\"ops\":[",
                txn.at_us, txn.weight
            ),
        );
        for (at, op) in txn.ops.iter().enumerate() {
            let table = self.tables.get(&op.statement);
            let columns = table.and_then(|table| self.columns.get(table));
            let columns = columns.ok_or_else(|| unknown("statement", op.statement))?;
            if at > 0 {
                line.push(',');
            }
            append_op(line, op, columns)?;
        }
        line.push_str("]}}");
        self.end_line()
    }

    /// What the partitions of a table were busy with besides what was told of it so far.
    pub fn spent(&mut self, table: u32, spent: &Spent) -> io::Result<()> {
        self.line.clear();
        append_text(
            &mut self.line,
            format_args!("{{\"spent\":{{\"table\":{table},"),
        );
        append_spent(&mut self.line, spent);
        self.line.push_str("}}");
        self.end_line()
    }

    /// The end: what the lines were written to, flushed.
    pub fn finish(mut self) -> io::Result<W> {
        self.out.flush()?;
        Ok(self.out)
    }

    fn end_line(&mut self) -> io::Result<()> {
        self.line.push('\n');
        self.out.write_all(self.line.as_bytes())
    }
}

/// What partitions were busy with.
fn append_spent(line: &mut String, spent: &Spent) {
    let parts = [
        ("gets", spent.gets),
        ("scans", spent.scans),
        ("rows", spent.rows),
        ("writes", spent.writes),
        ("get_us", spent.get_us),
        ("scan_us", spent.scan_us),
        ("commit_us", spent.commit_us),
    ];
    for (at, (name, number)) in parts.iter().enumerate() {
        if at > 0 {
            line.push(',');
        }
        append_text(line, format_args!("\"{name}\":{number}"));
    }
}

fn append_settings(line: &mut String, table: &Table) {
    let settings = &table.settings;
    append_text(
        line,
        format_args!(
            "\"settings\":{{\"by_size\":{},\"by_load\":{}",
            settings.by_size, settings.by_load
        ),
    );
    let most = settings.partitions_max.map(as_number);
    let numbers = [
        ("check_interval_s", Some(table.check_interval_s)),
        ("partition_size_mib", Some(settings.partition_size_mib)),
        ("force_split_size_mib", Some(settings.force_split_size_mib)),
        ("partitions_min", Some(as_number(settings.partitions_min))),
        ("partitions_max", most),
        ("split_load_percent", Some(settings.split_load_percent)),
        ("split_load_lasting_s", Some(settings.split_load_lasting_s)),
        ("merge_uptime_s_min", Some(settings.merge_uptime_s_min)),
        ("merge_low_load_s", Some(settings.merge_low_load_s)),
        ("merge_load_percent", Some(settings.merge_load_percent)),
        ("merge_size_percent", Some(settings.merge_size_percent)),
    ];
    for (name, number) in numbers {
        if let Some(number) = number {
            append_text(line, format_args!(",\"{name}\":{number}"));
        }
    }
    line.push('}');
}

fn as_number(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}

fn append_op(line: &mut String, op: &Op, columns: &[String]) -> io::Result<()> {
    let name = |column: u16| {
        let name = columns.get(usize::from(column));
        name.ok_or_else(|| unknown("column", u32::from(column)))
    };
    append_text(line, format_args!("{{\"s\":{}", op.statement));
    if !op.eq.is_empty() {
        line.push_str(",\"eq\":{");
        for (at, (column, values)) in op.eq.iter().enumerate() {
            append_name(line, at, name(*column)?);
            append_list(line, values, append);
        }
        line.push('}');
    }
    for (field, bounds) in [("low", &op.low), ("high", &op.high)] {
        if !bounds.is_empty() {
            append_text(line, format_args!(",\"{field}\":"));
            append_row(line, bounds, name)?;
        }
    }
    if let Some(limit) = op.limit {
        append_text(line, format_args!(",\"limit\":{limit}"));
    }
    if !op.order.is_empty() {
        line.push_str(",\"order\":[");
        for (at, Order { column, descending }) in op.order.iter().enumerate() {
            let sign = if *descending { "-" } else { "" };
            line.push_str(if at > 0 { "," } else { "" });
            append_string(line, &format!("{sign}{}", name(*column)?));
        }
        line.push(']');
    }
    if !op.rows.is_empty() {
        line.push_str(",\"rows\":[");
        for (at, row) in op.rows.iter().enumerate() {
            line.push_str(if at > 0 { "," } else { "" });
            append_row(line, row, name)?;
        }
        line.push(']');
    }
    let counts = [
        ("found", op.found),
        ("rows_read", op.rows_read),
        ("busy_us", op.busy_us),
    ];
    for (field, count) in counts {
        if let Some(count) = count {
            append_text(line, format_args!(",\"{field}\":{count}"));
        }
    }
    line.push('}');
    Ok(())
}

fn append_row<'n>(
    line: &mut String,
    row: &Row,
    name: impl Fn(u16) -> io::Result<&'n String>,
) -> io::Result<()> {
    line.push('{');
    for (at, (column, value)) in row.iter().enumerate() {
        append_name(line, at, name(*column)?);
        append(line, value);
    }
    line.push('}');
    Ok(())
}

fn append_name(line: &mut String, at: usize, name: &str) {
    line.push_str(if at > 0 { "," } else { "" });
    append_string(line, name);
    line.push(':');
}

fn append_list<T>(line: &mut String, items: &[T], append_one: impl Fn(&mut String, &T)) {
    line.push('[');
    for (at, item) in items.iter().enumerate() {
        line.push_str(if at > 0 { "," } else { "" });
        append_one(line, item);
    }
    line.push(']');
}

fn unknown(thing: &str, id: u32) -> io::Error {
    let message = format!("{thing} {id} is not in the trace yet: write it before what names it");
    io::Error::new(io::ErrorKind::InvalidInput, message)
}
