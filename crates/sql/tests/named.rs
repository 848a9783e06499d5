//! What texts with names become, as a person can read it; `UPDATE_GOLDEN=1` rewrites the file.
//!
//! A case is a text, a line `---`, and the statements that are left of it. A line `$1 = …` before the
//! text's `---` binds a value to a parameter, so that lists can be seen in their places.

#![cfg(test)]

use std::fmt::Write as _;
use std::path::Path;

use keys::Value;
use sql::named;
use syntax::{Kind, Statement};

fn print(kind: &Kind) -> String {
    match kind {
        Kind::Query(query) => query.query.to_string(),
        Kind::Insert(insert) => {
            let columns: Vec<&str> = insert
                .columns
                .iter()
                .map(|one| one.value.as_str())
                .collect();
            let source = insert.source.as_ref().map(ToString::to_string);
            let table: Vec<&str> = insert
                .table
                .parts
                .iter()
                .map(|one| one.value.as_str())
                .collect();
            format!(
                "{:?} {} ({}) {}",
                insert.mode,
                table.join("."),
                columns.join(", "),
                source.unwrap_or_default()
            )
        }
        Kind::Update(update) => update.to_string(),
        Kind::Delete(delete) => delete.to_string(),
        Kind::Explain(explain) => format!("explain {}", print(&explain.statement.kind)),
        Kind::CreateTable(create) => format!("create {}", create.name.parts[0].value),
        Kind::AlterTable(alter) => format!("alter {}", alter.name.parts[0].value),
        Kind::DropTable(drop) => {
            let names: Vec<&str> = drop
                .names
                .iter()
                .map(|one| one.parts[0].value.as_str())
                .collect();
            format!("drop {}", names.join(", "))
        }
        Kind::Commit { .. } => "commit".to_owned(),
        other => format!("{other:?}"),
    }
}

fn bound(statement: &Statement, values: &[Value], out: &mut String) {
    match named::bind(statement, values) {
        Ok(None) => {}
        Ok(Some((filled, all))) => {
            let shown: Vec<String> = all
                .iter()
                .skip(values.len())
                .map(ToString::to_string)
                .collect();
            writeln!(out, "bound: {}", print(&filled.kind)).unwrap();
            writeln!(out, "       {}", shown.join(" | ")).unwrap();
        }
        Err(error) => writeln!(out, "bound: error: {error}").unwrap(),
    }
}

fn answer(text: &str) -> String {
    let (text, values): (Vec<&str>, Vec<&str>) =
        text.lines().partition(|line| !line.starts_with("$1 = "));
    let values: Vec<Value> = values
        .iter()
        .filter_map(|line| line.strip_prefix("$1 = "))
        .map(Value::from)
        .collect();
    let text = text.join("\n");
    let mut out = String::new();
    match named::resolve(&text, syntax::parse(&text).unwrap()) {
        Err(error) => writeln!(out, "error: {error}").unwrap(),
        Ok(resolved) => {
            for notice in resolved.notices {
                writeln!(out, "notice: {notice}").unwrap();
            }
            for statement in &resolved.statements {
                writeln!(out, "{}", print(&statement.kind)).unwrap();
                for (number, declare) in statement.declared.iter().enumerate() {
                    let name = &declare.name.value;
                    writeln!(out, "  ${} {name} {:?}", number + 1, declare.kind).unwrap();
                }
                if !values.is_empty() {
                    bound(statement, &values, &mut out);
                }
            }
        }
    }
    out
}

/// The file with the answer after each `---` replaced.
fn rewrite(written: &str) -> String {
    let mut out = String::new();
    let mut text = String::new();
    let mut in_answer = false;
    for line in written.lines() {
        if in_answer {
            in_answer = !line.is_empty();
            if !in_answer {
                out.push('\n');
            }
        } else if line == "---" {
            out.push_str("---\n");
            out.push_str(&answer(text.trim_end()));
            text.clear();
            in_answer = true;
        } else {
            writeln!(out, "{line}").unwrap();
            let aside = line.starts_with('#') || line.is_empty() && text.is_empty();
            if !aside {
                text.push_str(line);
                text.push('\n');
            }
        }
    }
    out
}

#[test]
fn names_become_what_the_golden_file_shows() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden/named.txt");
    let written = std::fs::read_to_string(&path).unwrap();
    let found = rewrite(&written);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, &found).unwrap();
    } else {
        assert_eq!(
            found, written,
            "rewrite it with UPDATE_GOLDEN=1 if that is meant"
        );
    }
    assert!(written.matches("---").count() > 10, "the cases are gone");
}

/// Resolves a text on a stack of the size that threads of a server have.
fn outcome(text: &str) -> Result<usize, String> {
    let resolved = named::resolve(
        text,
        syntax::parse(text).map_err(|error| error.to_string())?,
    );
    let resolved = resolved.map_err(|error| error.to_string())?;
    Ok(resolved.statements.len())
}

#[test]
fn definitions_cannot_grow_without_bound() {
    let mut doubling = "$x0 = 1 + 1;".to_owned();
    for number in 1..40 {
        let before = number - 1;
        write!(doubling, "$x{number} = $x{before} + $x{before};").unwrap();
    }
    let error = outcome(&format!("{doubling} SELECT $x39")).unwrap_err();
    assert!(error.contains("longer than"), "{error}");

    let mut nesting = "$x0 = 1;".to_owned();
    for number in 1..900 {
        let before = number - 1;
        write!(nesting, "$x{number} = $x{before} + 1;").unwrap();
    }
    let error = outcome(&format!("{nesting} SELECT $x899")).unwrap_err();
    assert!(error.contains("nested too deeply"), "{error}");

    let long = vec!["1"; 1000].join(" + ");
    assert_eq!(outcome(&format!("$n = 5; SELECT {long} + $n")), Ok(1));
}
