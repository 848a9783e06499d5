//! Inputs meant to hurt: long, deep and repeated. None may panic, overflow the stack or take long.

use std::fmt::Write;

use syntax::{Error, parse};

/// Parses, drops and prints on a small stack, as a server's worker thread would.
fn survives(text: &str) {
    let text = text.to_owned();
    let run = move || {
        if let Ok(statements) = parse(&text) {
            assert!(!format!("{statements:?}").is_empty());
        }
        assert!(syntax::fingerprint(&text).1.len() <= 4 * text.len() + 1);
    };
    std::thread::Builder::new()
        .stack_size(1 << 20)
        .spawn(run)
        .unwrap()
        .join()
        .unwrap();
}

#[test]
fn repeated_pieces_neither_overflow_nor_hang() {
    for piece in [
        "(",
        "[",
        "{",
        "(SELECT ",
        "CASE WHEN ",
        "NOT ",
        "- ",
        "+ ",
        "~ ",
        "@ ",
        "a.",
        "a::int",
        "::int",
        "1+",
        "1 AND ",
        "a OR ",
        "a IS NULL ",
        "IS NOT NULL ",
        "BETWEEN 1 AND ",
        "a COLLATE b ",
        "AT TIME ZONE 'x' ",
        "ARRAY[",
        "ARRAY<",
        "CAST(",
        "CAST(a AS ARRAY<",
        "f(",
        "EXISTS(",
        "INTERVAL ",
        "DATE ",
        "UNION SELECT 1 ",
        "UNION (SELECT 1 ",
        "JOIN a ",
        "JOIN a ON b ",
        "a JOIN ",
        "EXPLAIN ",
        "WITH a AS (",
        "IN (",
        "x IN (",
        "LIKE 'a' ",
        "[1]",
        "ROW(",
        "LATERAL (",
        "FROM (",
        "VALUES (",
        "DISTINCT ",
        "$a ",
        "$a = ",
        "\"a\" ",
        "'a' ",
        "1ul ",
        "/* ",
        "-- a\n",
        "$$",
        "a ",
        "*",
        "a,",
        ";",
        "é",
        "\u{0}",
        "`a` ",
        "VIEW a ",
        "SETOF ",
        "int[]",
        "a[1].",
        "PREPARE a AS ",
        "GROUPING SETS (",
        "OVER (",
        "FILTER (WHERE ",
        "WITHIN GROUP (",
        "EXTRACT(a FROM ",
        "SUBSTRING(a FROM ",
        "TRIM(BOTH a FROM ",
        "POSITION(a IN ",
        "OVERLAY(a PLACING ",
        "STRUCT<a ",
        "TABLE ",
        "a NOTNULL ",
        "! ",
        "PRIOR ",
        "a ? ",
        "a -> ",
        "::",
        "a::b(",
        "U&'a' ",
        "E'a' ",
    ] {
        for prefix in [
            "",
            "SELECT ",
            "SELECT * FROM ",
            "SELECT CAST(a AS ",
            "CREATE TABLE t (a ",
            "INSERT INTO t VALUES ",
            "ALTER TABLE t ",
        ] {
            for times in [20, 60, 3000] {
                survives(&format!("{prefix}{}", piece.repeat(times)));
            }
        }
    }
}

#[test]
fn nested_pairs_are_answered_at_every_depth() {
    for (open, close) in [
        ("(", ")"),
        ("f(", ")"),
        ("CAST(", " AS int)"),
        ("CASE WHEN true THEN ", " END"),
        ("ARRAY[", "]"),
        ("(SELECT ", ")"),
        ("EXISTS (SELECT ", ")"),
        ("NOT ", ""),
        ("a[", "]"),
        ("ROW(", ")"),
        ("COALESCE(1, ", ")"),
        ("x IN (", ")"),
        ("INTERVAL (", ")"),
        ("DATE (", ")"),
        ("(1, ", ")"),
        ("{a: ", "}"),
        ("trim(", ")"),
    ] {
        for depth in [10, 20, 30, 60] {
            let text = format!("SELECT {}1{}", open.repeat(depth), close.repeat(depth));
            survives(&text);
            survives(&format!(
                "SELECT * FROM {}t{}",
                open.repeat(depth),
                close.repeat(depth)
            ));
            survives(&format!(
                "SELECT * FROM a WHERE {}t{}",
                open.repeat(depth),
                close.repeat(depth)
            ));
        }
    }
}

/// Whatever word sqlparser knows, repeating it finds no way around the limits.
#[test]
fn every_keyword_may_be_repeated() {
    for keyword in sqlparser::keywords::ALL_KEYWORDS {
        let repeated = format!("{keyword} ").repeat(200);
        for prefix in ["", "SELECT ", "SELECT * FROM a "] {
            survives(&format!("{prefix}{repeated}"));
        }
        survives(&format!("CREATE {repeated}"));
        survives(&format!("{keyword} (").repeat(50));
    }
}

#[test]
fn a_long_statement_is_refused_with_its_length() {
    let text = format!("SELECT '{}'", "x".repeat(syntax::STATEMENT_BYTES_MAX));
    assert!(matches!(parse(&text), Err(Error::TooLong { bytes, .. }) if bytes == text.len()));
    let text = "SELECT 1;".repeat(syntax::TEXT_BYTES_MAX / 9 + 1);
    assert!(matches!(parse(&text), Err(Error::TooLong { .. })));
}

#[test]
fn a_large_insert_below_the_limit_is_read() {
    let mut text = String::from("UPSERT INTO t (a, b) VALUES (0, 'x')");
    for row in 1..20_000 {
        write!(text, ", ({row}, 'value {row}')").unwrap();
    }
    assert!(text.len() < syntax::STATEMENT_BYTES_MAX);
    assert_eq!(parse(&text).unwrap().len(), 1);
}

#[test]
fn depth_and_chains_have_limits_that_say_so() {
    let nest = |depth: usize| format!("SELECT {}1{}", "(".repeat(depth), ")".repeat(depth));
    assert!(parse(&nest(syntax::NESTING_MAX)).is_ok());
    let too_deep = parse(&nest(syntax::NESTING_MAX + 1));
    assert!(
        matches!(too_deep, Err(Error::TooDeep { .. })),
        "{too_deep:?}"
    );
    let case = |depth: usize| {
        let (open, close) = ("CASE WHEN ".repeat(depth), " THEN 1 END".repeat(depth));
        format!("SELECT {open}true{close}")
    };
    let too_deep = parse(&case(syntax::NESTING_MAX + 1));
    assert!(
        matches!(too_deep, Err(Error::TooDeep { .. })),
        "{too_deep:?}"
    );
    let chain = |operators: usize| format!("SELECT 1{}", " + 1".repeat(operators));
    assert!(parse(&chain(syntax::CHAIN_MAX)).is_ok());
    let too_long = parse(&chain(syntax::CHAIN_MAX + 1));
    assert!(
        matches!(too_long, Err(Error::TooDeep { .. })),
        "{too_long:?}"
    );
}

#[test]
fn a_chain_of_conditions_is_as_long_as_it_has_conditions() {
    let chain = |joint: &str, term: &str, count: usize| {
        let terms = vec![term; count].join(joint);
        parse(&format!("SELECT 1 FROM t WHERE {terms}"))
    };
    for term in ["a.b = -1 + 2", "x BETWEEN 1 AND 2", "NOT x IS NULL"] {
        assert!(chain(" OR ", term, 1000).is_ok(), "{term}");
        assert!(chain(" AND ", term, 1000).is_ok(), "{term}");
        assert!(
            chain(" OR ", term, syntax::CHAIN_MAX + 2).is_err(),
            "{term}"
        );
    }
    assert!(chain(" OR ", "a = 1 AND b = 2 AND c = 3", 1000).is_ok());
    let long = format!("a{}", " + 1".repeat(600));
    assert!(chain(" OR ", &long, 2).is_ok());
    let terms = vec!["a"; 600].join(" OR ");
    assert!(parse(&format!("SELECT {long} OR {terms}")).is_err());
    // What makes a tree deep counts also if there are conditions in between.
    for joint in [
        " UNION SELECT 1 FROM t WHERE ",
        " AND true UNION SELECT 1 WHERE ",
        " BETWEEN 1 AND 2 = ",
        " + END + ",
        " = CASE WHEN a OR b THEN 1 END = ",
    ] {
        assert!(chain(joint, "a", 2 * syntax::CHAIN_MAX).is_err(), "{joint}");
    }
}

/// Half the stack that threads of a server have.
const HALF_STACK_BYTES: usize = 4 << 20;

#[test]
fn what_is_read_can_be_walked_and_dropped_on_half_a_stack() {
    let sum = |operators: usize| format!("1{}", " + 1".repeat(operators));
    let nested = |levels: usize, operators: usize| {
        let add = |inner: String, _| format!("({inner}{})", " + 1".repeat(operators));
        (0..levels).fold("1".to_owned(), add)
    };
    let cases = |levels: usize, operators: usize| {
        let more = " + 1".repeat(operators);
        let add = |inner: String, _| format!("CASE WHEN {inner} = 1 OR a THEN 1 END{more}");
        (0..levels).fold("1".to_owned(), add)
    };
    let unions = |count: usize| vec!["SELECT 1, 2 FROM t WHERE a OR b"; count].join(" UNION ");
    let named = |words: &str| vec![sum(500); 20].join(words);
    for (text, accepted) in [
        (format!("SELECT {}", sum(1020)), true),
        (format!("SELECT {}", nested(60, 14)), true),
        (format!("SELECT {}", nested(4, 1000)), false),
        (format!("SELECT {}", nested(60, 1000)), false),
        (format!("SELECT {}", cases(8, 100)), true),
        (format!("SELECT {}", cases(8, 900)), false),
        (unions(1000), true),
        (unions(2000), false),
        (unions(30_000), false),
        (format!("SELECT {}", named(" + t.or + ")), false),
        (format!("SELECT {}", named(" + or + ")), false),
        (format!("SELECT {}", named(" AT TIME ZONE or + ")), false),
        (format!("SELECT {}", named(" AT TIME ZONE where + ")), false),
        (format!("SELECT {}", named(" + end + ")), false),
        (format!("SELECT {}", named("::or + ")), false),
        (format!("SELECT {}", vec![sum(1000); 20].join(", ")), true),
        (
            format!("SELECT 1 FROM (SELECT {}) s WHERE {}", sum(900), sum(900)),
            true,
        ),
    ] {
        let start: String = text.chars().take(60).collect();
        let work = move || {
            let read = parse(&text);
            let length = |statement: &syntax::Statement| match &statement.kind {
                syntax::Kind::Query(query) => query.query.clone().to_string().len(),
                _ => 0,
            };
            let shown = read.map(|statements| syntax::deep(|| length(&statements[0])));
            shown.is_ok_and(|length| length > 0)
        };
        let thread = std::thread::Builder::new().name(start.clone());
        let thread = thread.stack_size(HALF_STACK_BYTES);
        let read = thread.spawn(work).unwrap().join().unwrap();
        assert_eq!(read, accepted, "{start}");
    }
}

#[test]
fn forms_of_yql_neither_multiply_nor_hang() {
    let groups = "SELECT k FROM t GROUP BY a + 1 AS k UNION ".repeat(5_000);
    let uses = format!(
        "SELECT {} FROM t GROUP BY {} AS k",
        "k, ".repeat(50_000),
        "a + ".repeat(1_000)
    );
    let names = format!("SELECT 1 GROUP BY {} b", "a AS k, ".repeat(20_000));
    let marks = "@@ '".repeat(50_000);
    let nothing = "Nothing(".repeat(60) + &"a?".repeat(100_000);
    let lists = "IN [".repeat(60) + &"? ? ".repeat(100_000);
    for text in [groups, uses, names, marks, nothing, lists] {
        let outcome = parse(&text);
        assert!(outcome.is_err(), "{}", text.get(..60).unwrap_or_default());
    }
}
