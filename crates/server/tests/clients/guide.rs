//! Guides run as printed: their commands, one after another, against the real server.
//!
//! Blocks of `sh` and `sql` are run, by bash and psql. A block of `text` that follows one with nothing
//! but an empty line between is what it answers; without one it answers nothing. The answers are
//! written anew with UPDATE_GOLDEN=1.

use std::fmt::Write;
use std::ops::Range;
use std::path::PathBuf;

use crate::program::Target;

/// Where the guide says that the server is.
const API_PRINTED: &str = "http://127.0.0.1:8081";

/// What stands between the answers of two blocks.
const BETWEEN: &str = "=== the next block ===";

/// Lines of the guide: those of a block that is run, and those of its answer.
struct Block {
    is_sql: bool,
    lines: Range<usize>,
    answer: Option<Range<usize>>,
}

/// The blocks that are run.
fn blocks(lines: &[&str]) -> Vec<Block> {
    let mut fences = lines
        .iter()
        .enumerate()
        .filter(|(_, line)| line.starts_with("```"));
    let mut all = Vec::new();
    while let (Some((begin, opening)), Some((end, closing))) = (fences.next(), fences.next()) {
        assert_eq!(
            *closing,
            "```",
            "line {}: a fence that closes nothing",
            end + 1
        );
        all.push((&opening[3..], begin + 1..end));
    }
    let mut found = Vec::new();
    for (at, (language, lines)) in all.iter().enumerate() {
        if !matches!(*language, "sh" | "sql") {
            continue;
        }
        let next = all.get(at + 1).cloned();
        let answer = next.filter(|(next, after)| *next == "text" && after.start == lines.end + 3);
        found.push(Block {
            is_sql: *language == "sql",
            lines: lines.clone(),
            answer: answer.map(|(_, lines)| lines),
        });
    }
    found
}

/// A program for bash that runs all blocks.
fn program(lines: &[&str], blocks: &[Block]) -> String {
    let mut program = "exec 2>&1\n".to_owned();
    for block in blocks {
        let text = lines[block.lines.clone()].join("\n");
        match block.is_sql {
            true => writeln!(program, "psql --no-psqlrc <<'SQL'\n{text}\nSQL"),
            false => writeln!(program, "{}", text.replace(API_PRINTED, "$V3IO_API")),
        }
        .unwrap();
        writeln!(program, "echo '{BETWEEN}'").unwrap();
    }
    program
}

#[test]
fn the_guide_to_collections_runs_as_printed() {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../docs/guides/collections.md"
    );
    let path = PathBuf::from(path);
    let guide = std::fs::read_to_string(&path).unwrap();
    let lines: Vec<&str> = guide.lines().collect();
    let blocks = blocks(&lines);
    assert!(blocks.len() > 10, "the guide has commands");

    let target = Target::start();
    let printed = target.run("bash", &["-c", &program(&lines, &blocks)]);
    let mut answers: Vec<Vec<&str>> = vec![Vec::new()];
    for line in printed.lines() {
        match line.strip_suffix(BETWEEN) {
            Some(rest) => {
                answers
                    .last_mut()
                    .unwrap()
                    .extend((!rest.is_empty()).then_some(rest));
                answers.push(Vec::new());
            }
            None => answers.last_mut().unwrap().push(line.trim_end()),
        }
    }
    assert_eq!(answers.len(), blocks.len() + 1, "{printed}");

    let mut anew: Vec<String> = Vec::new();
    let mut wrong = String::new();
    let mut copied = 0;
    for (block, answer) in blocks.iter().zip(&answers) {
        let answer = match answer.as_slice() {
            [lines @ .., ""] => lines,
            lines => lines,
        };
        let expected = block.answer.clone().map_or(&[][..], |range| &lines[range]);
        if expected != answer {
            let at = block.lines.start + 1;
            let answer = answer.join("\n");
            writeln!(wrong, "line {at}: another answer than printed:\n{answer}\n").unwrap();
        }
        let end = block.lines.end + 1;
        anew.extend(lines[copied..end].iter().map(|line| (*line).to_owned()));
        copied = block.answer.as_ref().map_or(end, |answer| answer.end + 1);
        if !answer.is_empty() {
            anew.extend(["".to_owned(), "```text".to_owned()]);
            anew.extend(answer.iter().map(|line| (*line).to_owned()));
            anew.push("```".to_owned());
        }
    }
    anew.extend(lines[copied..].iter().map(|line| (*line).to_owned()));
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, anew.join("\n") + "\n").unwrap();
    } else {
        assert!(wrong.is_empty(), "{wrong}");
    }
}
