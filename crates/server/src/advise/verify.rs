//! `evenkeel advise --verify`: a key is tried out where the data lies, and the figures are printed.

use std::fmt::Write as _;
use std::sync::Arc;

use advisor::Advice;
use db::{Database, Reply, Session};
use serde_json::{Value, json};
use tokio::runtime::Builder;
use tokio_postgres::{NoTls, SimpleQueryMessage};

use super::{Args, Format, Source};
use crate::Error;
use crate::serve::STACK_BYTES;

/// What an answer has for each figure.
#[derive(Debug, Default)]
struct Figure {
    name: String,
    predicted: f64,
    measured: f64,
    difference: Option<f64>,
    remark: Option<String>,
}

/// Tries out the key that is wanted, and tells what came of it.
pub(super) fn page(
    args: &Args,
    source: &Source<'_>,
    advice: &Advice,
    wanted: &str,
) -> Result<String, String> {
    let key = chosen(advice, wanted)?;
    let statement = format!(
        "ADVISE TABLE `{}` VERIFY KEY '{}'",
        args.table.replace('`', "``"),
        key.replace('\'', "''")
    );
    let runtime = Builder::new_multi_thread()
        .thread_stack_size(STACK_BYTES)
        .enable_all()
        .build()
        .map_err(|error| error.to_string())?;
    let figures = runtime.block_on(async {
        match source {
            Source::Server(url) => remote(url, &statement).await,
            Source::Data(database) => local(Arc::clone(database), &statement).await,
            // The command line does not let these two come together.
            Source::File(_) => Ok(Vec::new()),
        }
    });
    let figures = figures.map_err(|error| error.to_string())?;
    Ok(match args.format {
        Format::Text => text(&key, &figures),
        Format::Json => object(&key, &figures),
    })
}

/// The key of a rank or a name among those that were judged; the best if nothing is said.
fn chosen(advice: &Advice, wanted: &str) -> Result<String, String> {
    let found = match (wanted, wanted.parse::<usize>()) {
        ("", _) => {
            let better = advice.best().find(|one| !one.is_current);
            better.or_else(|| advice.best().next())
        }
        (_, Ok(rank)) => rank.checked_sub(1).and_then(|place| advice.keys.get(place)),
        (name, Err(_)) => advice.keys.iter().find(|one| one.name == name),
    };
    let missing = || {
        let keys = advice.keys.len();
        format!(
            "there is no key {wanted} among the {keys} that were judged: say its rank or its name"
        )
    };
    found.map(|one| one.name.clone()).ok_or_else(missing)
}

async fn remote(url: &str, statement: &str) -> crate::Result<Vec<Figure>> {
    let connect = |source| Error::Connect {
        url: url.to_owned(),
        source,
    };
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.map_err(connect)?;
    // Whoever asks is told when the connection is gone.
    tokio::spawn(connection);
    let mut figures = Vec::new();
    for message in client.simple_query(statement).await? {
        if let SimpleQueryMessage::Row(row) = message {
            figures.push(Figure::read(|column| row.get(column).map(str::to_owned)));
        }
    }
    Ok(figures)
}

async fn local(database: Arc<Database>, statement: &str) -> crate::Result<Vec<Figure>> {
    let mut session = Session::new(database);
    let mut figures = Vec::new();
    for one in session.parse(statement)? {
        let prepared = session.prepare(one, &[]).await?;
        if let Reply::Rows(mut rows) = session.execute(&prepared, &[]).await? {
            while let Some(some) = rows.next().await {
                let read = |row: &Vec<db::Value>| {
                    Figure::read(|column| {
                        let value = row.get(column).filter(|value| !value.is_null());
                        value.map(ToString::to_string)
                    })
                };
                figures.extend(some?.iter().map(read));
            }
        }
    }
    Ok(figures)
}

impl Figure {
    fn read(cell: impl Fn(usize) -> Option<String>) -> Self {
        let number = |column| cell(column).and_then(|text| text.parse().ok());
        Self {
            name: cell(1).unwrap_or_default(),
            predicted: number(2).unwrap_or_default(),
            measured: number(3).unwrap_or_default(),
            difference: number(4),
            remark: cell(5),
        }
    }

    /// A number of this figure as people read it.
    fn shown(&self, number: f64) -> String {
        match self.name.ends_with("share") {
            true => format!("{:.1} %", number * 100.0),
            false if number >= 100.0 => format!("{number:.0}"),
            false => format!("{number:.2}"),
        }
    }
}

fn text(key: &str, figures: &[Figure]) -> String {
    let mut page = format!("\nTried out {key} in a scratch database:\n\n");
    let mut line = |cells: [&str; 4], remark: &str| {
        let [name, predicted, measured, difference] = cells;
        let line = format!("  {name:<24}{predicted:>11}{measured:>11}{difference:>12}  {remark}");
        writeln!(page, "{}", line.trim_end()).expect("writing to a String never fails");
    };
    line(["", "predicted", "measured", "difference"], "");
    for figure in figures {
        let difference = figure.difference;
        let difference = difference.map(|part| format!("{:+.1} %", part * 100.0));
        let (predicted, measured) = (
            figure.shown(figure.predicted),
            figure.shown(figure.measured),
        );
        let cells = [
            figure.name.as_str(),
            &predicted,
            &measured,
            difference.as_deref().unwrap_or_default(),
        ];
        line(cells, figure.remark.as_deref().unwrap_or_default());
    }
    page
}

fn object(key: &str, figures: &[Figure]) -> String {
    let figures: Vec<Value> = figures
        .iter()
        .map(|one| {
            json!({
                "figure": one.name,
                "predicted": one.predicted,
                "measured": one.measured,
                "difference": one.difference,
                "remark": one.remark,
            })
        })
        .collect();
    json!({ "verified": key, "figures": figures }).to_string() + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures() -> Vec<Figure> {
        let cells = [
            ["peak share", "0.111", "0.25", "1.25", "more than predicted"],
            ["rows per read", "1501", "1501", "0", ""],
            ["splits", "12", "14", "", ""],
        ];
        let read = |row: [&str; 5]| {
            Figure::read(|column| {
                let cell = column.checked_sub(1).and_then(|place| row.get(place));
                cell.filter(|cell| !cell.is_empty())
                    .map(|cell| (*cell).to_owned())
            })
        };
        cells.map(read).into()
    }

    #[test]
    fn figures_stand_side_by_side() {
        let expected = "
Tried out (a, b) in a scratch database:

                            predicted   measured  difference
  peak share                   11.1 %     25.0 %    +125.0 %  more than predicted
  rows per read                  1501       1501      +0.0 %
  splits                        12.00      14.00
";
        assert_eq!(text("(a, b)", &figures()), expected);
        let object: Value = serde_json::from_str(&object("(a, b)", &figures())).unwrap();
        assert_eq!(object["verified"], "(a, b)");
        assert_eq!(object["figures"][0]["measured"], 0.25);
        assert_eq!(object["figures"][2]["difference"], Value::Null);
    }
}
