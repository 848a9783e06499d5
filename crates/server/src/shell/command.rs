//! The shell's own commands, which begin with a backslash.

use std::io::Write;
use std::sync::Arc;

use db::Database;

use super::grid::{Align, Grid};
use super::{Next, Peer, ROWS_MEASURED_MAX, Shell};
use crate::{Error, Result};

const HELP: &str = "\
\\dt          the tables
\\d TABLE     the columns, key and partitions of a table
\\timing      say how long statements take, or stop saying it
\\q           quit (so does Ctrl-D)
\\?           this
Statements end with a semicolon and may span lines.
";

impl<W: Write> Shell<W> {
    /// Runs a line that begins with a backslash.
    pub(super) fn command(&mut self, line: &str) -> Result<Next> {
        let mut words = line.trim_end_matches(';').split_whitespace();
        match (words.next(), words.next()) {
            (Some("\\q"), _) => return Ok(Next::Quit),
            (Some("\\?" | "\\h" | "\\help"), _) => write!(self.out, "{HELP}")?,
            (Some("\\timing"), word) => {
                self.timing = match word {
                    Some(word) => word == "on",
                    None => !self.timing,
                };
                let state = if self.timing { "on" } else { "off" };
                writeln!(self.out, "Timing is {state}.")?;
            }
            (Some("\\dt"), _) | (Some("\\d"), None) => match &self.peer {
                Peer::Local { database, .. } => self.list_tables(&Arc::clone(database))?,
                Peer::Remote(_) => self.list_remote_tables()?,
            },
            (Some("\\d"), Some(name)) => match &self.peer {
                Peer::Local { database, .. } => self.describe_table(&Arc::clone(database), name)?,
                Peer::Remote(_) => self.describe_remote_table(name)?,
            },
            _ => return Err(Error::CommandUnknown(line.to_owned())),
        }
        Ok(Next::Line)
    }

    fn list_tables(&mut self, database: &Database) -> Result<()> {
        let columns = [
            ("table", Align::Left),
            ("primary key", Align::Left),
            ("partitions", Align::Right),
            ("rows", Align::Right),
        ];
        let mut lines = Vec::new();
        for table in database.tables() {
            let partitions = database.describe(&table)?;
            let key = table
                .schema()
                .key_columns()
                .map(|column| column.name.as_str());
            let rows: u64 = partitions.iter().map(|partition| partition.rows).sum();
            // A count is an estimate while a partition was split and not counted again.
            let about = if partitions.iter().all(|partition| partition.exact) {
                ""
            } else {
                "~"
            };
            lines.push(vec![
                table.schema().name().to_owned(),
                key.collect::<Vec<_>>().join(", "),
                partitions.len().to_string(),
                format!("{about}{rows}"),
            ]);
        }
        self.draw(&columns, lines)
    }

    fn describe_table(&mut self, database: &Database, name: &str) -> Result<()> {
        let table = database.table(name.trim_matches(['"', '`']))?;
        let key: Vec<&str> = table
            .schema()
            .key_columns()
            .filter(|column| !column.hidden)
            .map(|column| column.name.as_str())
            .collect();
        writeln!(self.out, "Table {}", table.schema().name())?;
        let columns = table.schema().columns().iter();
        let lines = columns.filter(|column| !column.hidden).map(|column| {
            let place = key.iter().position(|name| *name == column.name);
            vec![
                column.name.clone(),
                column.type_name(),
                if column.not_null {
                    "not null".to_owned()
                } else {
                    String::new()
                },
                place.map_or(String::new(), |place| (place + 1).to_string()),
            ]
        });
        let lines = lines.collect();
        let columns = [
            ("column", Align::Left),
            ("type", Align::Left),
            ("null", Align::Left),
            ("key", Align::Right),
        ];
        self.draw(&columns, lines)?;

        writeln!(self.out, "Partitions")?;
        let lines = database.describe(&table)?.into_iter().map(|partition| {
            let about = if partition.exact { "" } else { "~" };
            vec![
                partition.lower,
                partition.upper.unwrap_or_default(),
                format!("{about}{}", partition.rows),
                format!("{about}{}", partition.bytes),
            ]
        });
        let lines = lines.collect();
        let columns = [
            ("from", Align::Left),
            ("up to", Align::Left),
            ("rows", Align::Right),
            ("bytes", Align::Right),
        ];
        self.draw(&columns, lines)
    }

    fn list_remote_tables(&mut self) -> Result<()> {
        let query = "SELECT table_name FROM information_schema.tables \
                     WHERE table_schema = 'public' ORDER BY table_name";
        let lines = self.remote_rows(query)?;
        self.draw(&[("table", Align::Left)], lines)
    }

    fn describe_remote_table(&mut self, name: &str) -> Result<()> {
        let name = name.trim_matches(['"', '`']);
        let query = format!(
            "SELECT column_name, data_type || coalesce('(' || character_maximum_length || ')', ''), \
             is_nullable FROM information_schema.columns \
             WHERE table_schema = 'public' AND table_name = '{}' ORDER BY ordinal_position",
            name.replace('\'', "''")
        );
        let mut lines = self.remote_rows(&query)?;
        if lines.is_empty() {
            return Err(Error::Server {
                message: format!("table `{name}` does not exist"),
            });
        }
        for cell in lines.iter_mut().filter_map(|line| line.last_mut()) {
            let null = if cell == "NO" { "not null" } else { "" };
            *cell = null.to_owned();
        }
        writeln!(self.out, "Table {name}")?;
        let columns = ["column", "type", "null"].map(|name| (name, Align::Left));
        self.draw(&columns, lines)
    }

    fn remote_rows(&mut self, query: &str) -> Result<Vec<Vec<String>>> {
        match &self.peer {
            Peer::Remote(remote) => self.runtime.block_on(remote.rows(query)),
            Peer::Local { .. } => Ok(Vec::new()),
        }
    }

    /// The names of tables and columns, to be completed by Tab.
    pub(super) fn names(&mut self) -> Vec<String> {
        let mut names = Vec::new();
        match &self.peer {
            Peer::Local { database, .. } => {
                for table in database.tables() {
                    let schema = table.schema();
                    names.push(schema.name().to_owned());
                    names.extend(schema.columns().iter().map(|column| column.name.clone()));
                }
            }
            Peer::Remote(remote) => {
                let query = "SELECT table_name, column_name FROM information_schema.columns \
                             WHERE table_schema = 'public'";
                // Without names there is less to complete, and nothing else is lost.
                let rows = self.runtime.block_on(remote.rows(query));
                names.extend(rows.unwrap_or_default().into_iter().flatten());
            }
        }
        names
    }

    fn draw(&mut self, columns: &[(&str, Align)], lines: Vec<Vec<String>>) -> Result<()> {
        let columns = columns
            .iter()
            .map(|(name, align)| ((*name).to_owned(), *align));
        let mut grid = Grid::new(columns);
        for line in lines {
            grid.push(line.into_iter(), &mut self.out, ROWS_MEASURED_MAX)?;
        }
        grid.finish(&mut self.out)?;
        Ok(writeln!(self.out)?)
    }
}
