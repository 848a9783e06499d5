//! Golden schemas: for each dialect and rule one file that it finds something in and one where not.
//!
//! `golden/lint/<dialect>/KEY0NN-{hits,misses}.sql` lie beside what is printed about them. A file
//! of hits must hold a finding of its code for each CREATE TABLE, one of misses none; other findings
//! may come along and are shown. KEY008 judges the statements after `-- queries` against those before.

#![cfg(test)]

use std::path::{Path, PathBuf};
use std::{env, fs};

use advisor::lint::{Dialect, Finding, Severity, Source, dialect_named, explain, fix, render};

fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("golden/lint")
}

/// The golden schemas: dialect, code, whether it hits, path.
fn schemas() -> Vec<(Dialect, String, bool, PathBuf)> {
    let mut found = Vec::new();
    for folder in fs::read_dir(golden()).expect("golden/lint is there") {
        let folder = folder.expect("golden/lint is readable").path();
        let name = folder
            .file_name()
            .expect("a folder has a name")
            .to_string_lossy()
            .into_owned();
        let Some(dialect) = dialect_named(&name) else {
            continue;
        };
        for file in fs::read_dir(&folder).expect("a folder is readable") {
            let path = file.expect("a folder is readable").path();
            let stem = path
                .file_stem()
                .expect("a file has a name")
                .to_string_lossy()
                .into_owned();
            if path.extension().is_some_and(|ending| ending == "sql") {
                let (code, kind) = stem
                    .split_once('-')
                    .expect("files are called KEY0NN-hits or -misses");
                found.push((dialect, code.to_owned(), kind == "hits", path.clone()));
            }
        }
    }
    found.sort_by(|one, other| one.3.cmp(&other.3));
    assert!(
        found.len() > 60,
        "golden schemas are missing: {}",
        found.len()
    );
    found
}

fn judged(dialect: Dialect, text: &str) -> (Vec<Finding>, String) {
    let (schema, queries) = text.split_once("-- queries\n").unwrap_or((text, ""));
    let source = Source::read(schema, Some(dialect));
    let mut page: String = source
        .errors
        .iter()
        .map(|error| render::error("schema.sql", schema, error))
        .collect();
    let mut findings = source.findings();
    if queries.is_empty() {
        let pages = findings
            .iter()
            .map(|finding| render::finding("schema.sql", schema, finding));
        page.push_str(&pages.collect::<Vec<_>>().join("\n"));
    } else {
        let (found, errors) = source.query_findings(queries);
        page.extend(
            errors
                .iter()
                .map(|error| render::error("queries.sql", queries, error)),
        );
        let pages = found
            .iter()
            .map(|finding| render::finding("queries.sql", queries, finding));
        page.push_str(&pages.collect::<Vec<_>>().join("\n"));
        findings = found;
    }
    assert!(
        !page.contains("error: "),
        "the golden schema is readable:\n{page}"
    );
    (findings, page)
}

#[test]
fn rules_find_what_the_golden_files_show() {
    for (dialect, code, hits, path) in schemas() {
        let text = fs::read_to_string(&path).expect("a golden schema is readable");
        let (findings, page) = judged(dialect, &text);
        let own = findings
            .iter()
            .filter(|finding| finding.code == code)
            .count();
        if hits {
            let part = text
                .split_once("-- queries\n")
                .map_or(text.as_str(), |(_, queries)| queries);
            let wanted = part
                .split(';')
                .filter(|statement| {
                    statement.contains("CREATE TABLE")
                        || statement.contains("FROM")
                        || statement.contains("UPDATE")
                })
                .count();
            assert!(
                own >= wanted,
                "{}: {own} of {wanted} are found\n{page}",
                path.display()
            );
        } else {
            assert_eq!(own, 0, "{}:\n{page}", path.display());
        }
        let beside = path.with_extension("txt");
        if env::var_os("UPDATE_GOLDEN").is_some() {
            fs::write(&beside, &page).expect("the golden file is writable");
        } else {
            let expected = fs::read_to_string(&beside).unwrap_or_default();
            assert_eq!(
                page,
                expected,
                "{}: run with UPDATE_GOLDEN=1 and review the diff",
                path.display()
            );
        }
    }
}

#[test]
fn known_statements_are_passed_over_and_misspelt_ones_are_told() {
    let mut seen = 0;
    for file in fs::read_dir(golden().join("statements")).expect("the folder is there") {
        let path = file.expect("a folder is readable").path();
        if path.extension().is_none_or(|ending| ending != "sql") {
            continue;
        }
        seen += 1;
        let stem = path.file_stem().expect("a file has a name");
        let stem = stem.to_string_lossy().into_owned();
        let (name, kind) = stem.split_once('-').expect("files are called DIALECT-KIND");
        let text = fs::read_to_string(&path).expect("a golden file is readable");
        let source = Source::read(&text, dialect_named(name));
        let errors = source.errors.iter();
        let errors = errors.map(|error| render::error("schema.sql", &text, error));
        let findings = source.findings();
        let findings = findings
            .iter()
            .map(|one| render::finding("schema.sql", &text, one));
        let page = errors.chain(findings).collect::<Vec<_>>().join("\n");
        match kind {
            "known" => assert_eq!(source.errors, [], "{}:\n{page}", path.display()),
            // The last statement is right, and something is found about it.
            _ => {
                let wrong = text.matches(';').count() - 1;
                assert_eq!(source.errors.len(), wrong, "{}:\n{page}", path.display());
                assert!(page.contains("KEY001"), "{}:\n{page}", path.display());
            }
        }
        let beside = path.with_extension("txt");
        if env::var_os("UPDATE_GOLDEN").is_some() {
            fs::write(&beside, &page).expect("the golden file is writable");
        }
        let expected = fs::read_to_string(&beside).unwrap_or_default();
        assert_eq!(page, expected, "{}", path.display());
    }
    assert_eq!(seen, 10);
}

#[test]
fn what_is_rewritten_is_readable_and_mended() {
    for (dialect, code, _, path) in schemas() {
        let text = fs::read_to_string(&path).expect("a golden schema is readable");
        let schema = text
            .split_once("-- queries\n")
            .map_or(text.as_str(), |(schema, _)| schema);
        let mendable = |text: &str| {
            let source = Source::read(text, Some(dialect));
            assert!(
                source.errors.is_empty(),
                "{}: {:?}\n{text}",
                path.display(),
                source.errors
            );
            source
                .findings()
                .iter()
                .filter(|found| found.code == code && !found.edits.is_empty())
                .count()
        };
        let (fixed, mended) = fix(schema, dialect, |found| found.code == code);
        assert!(mended >= mendable(schema), "{}", path.display());
        assert_eq!(mendable(&fixed), 0, "{}:\n{fixed}", path.display());
        let (again, mended) = fix(&fixed, dialect, |found| found.code == code);
        assert_eq!((again, mended), (fixed, 0), "{}", path.display());
    }
}

#[test]
fn every_code_has_a_page() {
    for number in 1..=14 {
        let code = format!("KEY{number:03}");
        let page = explain(&code).unwrap_or_default();
        assert!(page.starts_with(&format!("# {code}: ")), "{code}");
    }
}

/// The worst that is said about a schema.
fn worst(text: &str) -> Option<Severity> {
    let source = Source::read(text, Some(Dialect::Ydb));
    assert!(source.errors.is_empty(), "{:?}", source.errors);
    source
        .findings()
        .iter()
        .map(|finding| finding.severity)
        .max()
}

#[test]
fn the_documents_examples_are_judged_as_the_documents_do() {
    let columns = "timestamp Timestamp, userid Uint64, userevent Utf8";
    let poor = [
        format!("CREATE TABLE events ({columns}, PRIMARY KEY (timestamp, userid))"),
        "CREATE TABLE orders (order_id Uint64, customer_id Uint64, amount Double, PRIMARY KEY \
         (order_id))"
            .to_owned(),
        "CREATE TABLE orders (order_id Serial, customer_id Uint64, PRIMARY KEY (order_id))"
            .to_owned(),
        "CREATE TABLE orders (order_id Uint64, customer_id Uint64, PRIMARY KEY (order_id, \
         customer_id))"
            .to_owned(),
    ];
    for text in poor {
        let findings = Source::read(&text, Some(Dialect::Ydb)).findings();
        assert!(
            findings.iter().any(|found| found.code == "KEY001"),
            "{text}"
        );
    }
    let good = [
        format!("CREATE TABLE events ({columns}, PRIMARY KEY (userid, timestamp))"),
        format!(
            "CREATE TABLE events (userhash Uint64, {columns}, PRIMARY KEY (userhash, userid, \
                 timestamp))"
        ),
        "CREATE TABLE orders (order_hash Uint64, order_id Uint64, customer_id Uint64, amount \
         Double, \
         PRIMARY KEY (order_hash, order_id))"
            .to_owned(),
        "CREATE TABLE orders (id Uuid, customer_id Uint64, PRIMARY KEY (id))".to_owned(),
    ];
    for text in good {
        assert_eq!(worst(&text), Some(Severity::Note), "{text}");
    }
}

#[test]
fn the_rewritten_orders_are_the_documents_good_example() {
    let poor = "CREATE TABLE orders (order_id Uint64, customer_id Uint64, amount Double, PRIMARY \
                KEY (order_id))";
    let (fixed, _) = fix(poor, Dialect::Ydb, |found| found.code == "KEY001");
    assert_eq!(
        fixed,
        "CREATE TABLE orders (order_hash Uint64 NOT NULL, order_id Uint64, customer_id Uint64, \
         amount Double, \
         PRIMARY KEY (order_hash, order_id))"
    );
}

#[test]
fn what_cannot_be_read_is_told_and_the_rest_is_judged() {
    let text = "CREATE TABLE a (id bigint PRIMARY KEI (id));\nCREAT TABLE b (id int);\n\
                CREATE TABLE c (id bigserial PRIMARY KEY);\nCREATE TABLE d (id int";
    for dialect in [Dialect::Postgres, Dialect::Cockroach, Dialect::Mysql] {
        let source = Source::read(text, Some(dialect));
        let lines: Vec<usize> = source
            .errors
            .iter()
            .map(|error| error.position().line)
            .collect();
        assert!(lines.ends_with(&[2, 4]), "{dialect:?}: {lines:?}");
        assert!(
            source
                .findings()
                .iter()
                .any(|found| found.table == "c" || dialect == Dialect::Mysql)
        );
    }
}

#[test]
fn what_stands_before_a_string_that_is_not_closed_is_judged() {
    for (rest, column, said) in [
        ("SELECT 'x", 8, "unterminated string literal"),
        ("/* x", 1, "the comment that begins here is not closed"),
    ] {
        // The mark of byte order that some editors write is in no column.
        let text = format!("\u{feff}CREATE TABLE a (id bigserial PRIMARY KEY);\n{rest}; SELECT 1");
        let source = Source::read(&text, None);
        let errors: Vec<String> = source.errors.iter().map(ToString::to_string).collect();
        assert_eq!(errors, [format!("line 2, column {column}: {said}")]);
        let findings = source.findings();
        let found: Vec<&str> = findings.iter().map(|found| found.code).collect();
        assert_eq!(found, ["KEY001"], "{text}");
        let page = render::finding("a.sql", &text, &findings[0]);
        assert!(page.contains("--> a.sql:1:17\n"), "{page}");
        let (fixed, _) = fix(&text, source.dialect, |_| true);
        assert!(
            fixed.starts_with("\u{feff}CREATE TABLE a (id_bucket"),
            "{fixed}"
        );
    }
}

#[test]
fn a_key_that_other_tables_hold_is_not_rewritten_alone() {
    let shop = "CREATE TABLE users (id bigserial PRIMARY KEY);\n\
                CREATE TABLE orders (id uuid PRIMARY KEY, buyer bigint REFERENCES public.users (id));";
    let late = "CREATE TABLE users (id int NOT NULL AUTO_INCREMENT PRIMARY KEY);\n\
                CREATE TABLE orders (id char(36) PRIMARY KEY, buyer int);\n\
                ALTER TABLE orders ADD CONSTRAINT f FOREIGN KEY (buyer) REFERENCES users (id);";
    let songs = "CREATE TABLE Users (UserId INT64 NOT NULL) PRIMARY KEY (UserId);\n\
                 CREATE TABLE Orders (UserId INT64 NOT NULL, N INT64 NOT NULL) PRIMARY KEY (UserId, N),\n\
                 INTERLEAVE IN PARENT Users;";
    for (text, dialect) in [
        (shop, Dialect::Postgres),
        (late, Dialect::Mysql),
        (songs, Dialect::Spanner),
    ] {
        let findings = Source::read(text, Some(dialect)).findings();
        let found = findings.iter().find(|found| found.code == "KEY001");
        let found = found.unwrap_or_else(|| panic!("{dialect:?}: nothing is found"));
        assert!(
            found
                .help
                .to_lowercase()
                .contains("; `orders` holds this key too"),
            "{}",
            found.help
        );
        assert_eq!(found.rewritten, None);
        let (fixed, _) = fix(text, dialect, |found| found.code == "KEY001");
        assert_eq!(fixed, text);
    }
    // A key in another order is the same to whoever refers to its columns.
    let pairs = "CREATE TABLE a (at timestamptz, b bigint, PRIMARY KEY (at, b));\n\
                 CREATE TABLE c (at timestamptz, b bigint, FOREIGN KEY (at, b) REFERENCES a (at, b));";
    let (fixed, mended) = fix(pairs, Dialect::Postgres, |found| found.code == "KEY001");
    assert_eq!(mended, 1, "{fixed}");
}

#[test]
fn a_dump_with_many_rows_is_read() {
    let rows = "(1,'it\\'s; CREATE TABL'),".repeat(400_000);
    let text = format!(
        "CREATE TABLE `a` (`id` int NOT NULL AUTO_INCREMENT PRIMARY KEY) ENGINE=InnoDB;\n\
         INSERT INTO `a` VALUES {rows}(2,'');\nCREATE TABLE b (id serial PRIMARY KEY);"
    );
    let source = Source::read(&text, None);
    assert_eq!(source.errors, []);
    let tables: Vec<String> = source
        .findings()
        .into_iter()
        .map(|found| found.table)
        .collect();
    assert_eq!(tables, ["a", "b"]);
}

#[test]
fn a_comment_exempts_its_statement_and_no_other() {
    let text = "-- evenkeel: allow KEY001 few rows\nCREATE TABLE a (id bigserial PRIMARY KEY);\n\
                CREATE TABLE b (id bigserial PRIMARY KEY); -- evenkeel: allow KEY001 few rows\n\
                CREATE TABLE c (\n  id bigserial PRIMARY KEY -- evenkeel: allow KEY001, \
                KEY004\n);\n\
                CREATE TABLE d (id bigserial PRIMARY KEY);\n-- evenkeel: allow KEY003 another\n\
                CREATE TABLE e (id bigserial PRIMARY KEY);\n";
    let source = Source::read(text, Some(Dialect::Postgres));
    let tables: Vec<String> = source
        .findings()
        .into_iter()
        .map(|found| found.table)
        .collect();
    assert_eq!(tables, ["d", "e"]);
}

#[test]
fn many_tables_and_comments_are_judged_in_one_pass_each() {
    let text: String = (0..1000)
        .map(|number| {
            format!(
                "-- evenkeel: allow KEY003 old\nCREATE TABLE t{number} (id bigserial PRIMARY KEY);\n"
            )
        })
        .collect();
    let source = Source::read(&text, Some(Dialect::Postgres));
    assert_eq!(source.findings().len(), 1000);
}
