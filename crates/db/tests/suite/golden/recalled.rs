//! Texts that are not read, because others of their shape were, answer as if they were read.

use std::sync::Arc;

use db::{Database, Recalled, Session, Type};
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::TestCaseResult;

use super::{
    answer_prepared, assert_alike, is_query, notices, play, refusal, run, scripts, set_fast_path,
    shortened,
};

/// Whether texts are recalled.
pub(crate) enum Recalls {
    Never,
    /// Whenever one can be, and how many were.
    Counted(usize),
}

impl Recalls {
    /// The answer to a text that is recalled; `None` if it has to be read.
    pub(crate) async fn run(&mut self, session: &mut Session, text: &str) -> Option<String> {
        let Self::Counted(count) = self else {
            return None;
        };
        let statements = session.parse(text).ok()?;
        notices(session);
        let [statement] = <[_; 1]>::try_from(statements).ok()?;
        let prepared = match session.prepare(statement, &[]).await {
            Ok(prepared) => prepared,
            // An open transaction has failed with it.
            Err(error) => return Some(refusal(&error)),
        };
        // A shape serves from its second text on, a text by itself from its third time on.
        session.remember(text, &prepared);
        session.remember(text, &prepared);
        let Recalled { prepared, values } = session.recall(text)?;
        *count += 1;
        let outcome = answer_prepared(session, &prepared, &values).await;
        if is_query(text)
            && let Ok(fast) = &outcome
        {
            set_fast_path(session, "off").await;
            let planned = answer_prepared(session, &prepared, &values).await;
            set_fast_path(session, "on").await;
            assert_alike(text, fast, planned);
        }
        Some(outcome.unwrap_or_else(|error| refusal(&error)))
    }
}

#[tokio::test]
async fn every_conversation_goes_as_written_if_texts_are_recalled() {
    let mut recalls = Recalls::Counted(0);
    for path in scripts() {
        let script = std::fs::read_to_string(&path).unwrap();
        let played = shortened(play(&script, &mut recalls).await, &script);
        for (played, written) in played.lines().zip(script.lines()) {
            assert_eq!(played, written, "{}", path.display());
        }
    }
    let Recalls::Counted(count) = recalls else {
        return;
    };
    assert!(count > 300, "only {count} texts were recalled");
}

const TABLES: &str = "CREATE TABLE all_types (id bigint NOT NULL, small smallint, tiny Uint8, \
    number integer, real double precision, exact numeric(6,2), note text, short varchar(4), \
    filled char(4), at timestamp, at_zone timestamptz, day date, yes boolean, \
    PRIMARY KEY (id)); \
    CREATE TABLE by_text (name text NOT NULL, at timestamp NOT NULL, n integer, \
    PRIMARY KEY (name, at));";

/// Statements with `?` in place of literals.
const STATEMENTS: &[&str] = &[
    "INSERT INTO all_types (id, small, tiny, number) VALUES (?, ?, ?, ?)",
    "UPSERT INTO all_types (id, real, exact) VALUES (?, ?, ?), (?, ? + ?, ? * ?)",
    "INSERT INTO all_types (id, note, short, filled) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
    "INSERT INTO all_types (id, at) VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET at = ?, note = ?",
    "UPSERT INTO all_types (id, at, at_zone, day, yes) VALUES (?, ?, ?, ?, ?)",
    "UPDATE all_types SET number = number + ?, exact = ? WHERE id = ? RETURNING number, exact",
    "UPDATE all_types SET exact = exact * ?, real = real + ?, small = small - ? WHERE id = ?",
    "UPDATE all_types SET note = ?, short = ? WHERE id = ? AND note = ?",
    "DELETE FROM all_types WHERE id = ? AND exact > ?",
    "SELECT * FROM all_types WHERE id = ?",
    "SELECT id, note FROM all_types WHERE id >= ? AND id < ? AND filled = ? ORDER BY id LIMIT ?",
    "SELECT id FROM all_types WHERE id IN (?, ?, ?) AND real <> ?",
    "SELECT id FROM all_types WHERE id BETWEEN ? AND ? AND exact = ?",
    "SELECT id, at FROM all_types WHERE id = ? AND at > ? AND at_zone < ?",
    "UPSERT INTO by_text (name, at, n) VALUES (?, ?, ?)",
    "SELECT n FROM by_text WHERE name = ? AND at >= ?",
    "SELECT n FROM by_text WHERE name = ? AND at = ? AND n = ? + ?",
];

fn literal() -> impl Strategy<Value = String> {
    let texts = [
        "''",
        "'a'",
        "'ab  '",
        "'it''s'",
        "'\u{e4}\u{20ac}'",
        "'7'",
        "' 7 '",
        "'-1'",
        "'1.5'",
        "'true'",
        "'2024-02-29'",
        "'2024-02-29 12:00:00'",
        "'2024-02-29 12:00:00+02'",
        "'12:00'",
        "'{1,2}'",
        "'\\x00'",
        "NULL",
        "true",
        "1e2",
        "-0.125",
        "1e400",
        "300",
        "-32769",
        "2147483648",
        "9223372036854775808",
        "-9223372036854775808",
    ];
    prop_oneof![
        4 => (-3_i32..6).prop_map(|number| number.to_string()),
        1 => (0_u32..4, 0_u32..1_000).prop_map(|(whole, part)| format!("{whole}.{part}")),
        3 => select(texts.to_vec()).prop_map(str::to_owned),
    ]
}

fn statement() -> impl Strategy<Value = String> {
    let literals = proptest::collection::vec(literal(), 8);
    (select(STATEMENTS.to_vec()), literals).prop_map(|(statement, literals)| {
        let mut literals = literals.into_iter();
        let parts = statement
            .split_inclusive('?')
            .map(|part| match part.strip_suffix('?') {
                Some(before) => format!("{before}{}", literals.next().unwrap()),
                None => part.to_owned(),
            });
        parts.collect()
    })
}

/// Runs texts on two databases, one of which is told of texts of each shape before.
async fn run_both_ways(texts: &[String]) -> TestCaseResult {
    let session = || Session::new(Arc::new(Database::memory().unwrap()));
    let (mut read, mut recalled) = (session(), session());
    run(&mut read, TABLES).await;
    run(&mut recalled, TABLES).await;
    let mut recalls = Recalls::Counted(0);
    for text in texts {
        let expected = run(&mut read, text).await;
        let answer = match recalls.run(&mut recalled, text).await {
            Some(answer) => answer,
            None => run(&mut recalled, text).await,
        };
        prop_assert_eq!(answer, expected, "{}", text);
    }
    for all in [
        "SELECT * FROM all_types ORDER BY id",
        "SELECT * FROM by_text ORDER BY name, at",
    ] {
        let (answer, expected) = (run(&mut recalled, all).await, run(&mut read, all).await);
        prop_assert_eq!(answer, expected);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, max_shrink_iters: 40, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_literals_mean_the_same_recalled_and_read(
        texts in proptest::collection::vec(statement(), 40)
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(run_both_ways(&texts))?;
    }
}

/// Reads a text and tells the session what came of it, as a front end does.
async fn read(session: &mut Session, text: &str) {
    let statement = session.parse(text).unwrap().remove(0);
    let prepared = session.prepare(statement, &[]).await.unwrap();
    session.remember(text, &prepared);
}

#[tokio::test]
async fn a_shape_serves_from_its_second_text_on_until_a_table_changes() {
    let mut session = Session::new(Arc::new(Database::memory().unwrap()));
    run(&mut session, TABLES).await;
    let mut other = 0;
    let mut text = || {
        other += 1;
        format!("SELECT note FROM all_types WHERE id = {other}")
    };
    assert!(session.recall(&text()).is_none(), "nobody has read one");
    read(&mut session, &text()).await;
    assert!(session.recall(&text()).is_some());
    assert!(
        session
            .recall("SELECT note FROM all_types WHERE id = '7'")
            .is_some()
    );
    assert!(
        session
            .recall("SELECT note FROM all_types WHERE id = 'seven'")
            .is_none()
    );
    assert!(
        session
            .recall("SELECT note FROM all_types WHERE id = 1.5")
            .is_none()
    );

    run(&mut session, "ALTER TABLE all_types ADD COLUMN more text").await;
    assert!(
        session.recall(&text()).is_none(),
        "it was ready for other tables"
    );
    read(&mut session, &text()).await;
    assert!(session.recall(&text()).is_some());

    run(&mut session, "BEGIN").await;
    run(&mut session, "SELECT nothing").await;
    assert!(
        session.recall(&text()).is_none(),
        "the transaction has failed"
    );
    run(&mut session, "ROLLBACK").await;
    assert!(session.recall(&text()).is_some());
}

#[tokio::test]
async fn statements_that_a_planner_plans_are_known_by_their_text() {
    let mut session = Session::new(Arc::new(Database::memory().unwrap()));
    run(&mut session, TABLES).await;
    for text in [
        "SELECT count(*) FROM all_types WHERE id > 1",
        "SELECT count(*) FROM all_types",
        "SELECT id + 1 FROM all_types WHERE id = 1;",
        "INSERT INTO all_types (id, note) SELECT 1, 'a'",
        "WITH one AS (SELECT id FROM all_types) SELECT * FROM one",
    ] {
        for _ in 0..2 {
            assert!(session.recall(text).is_none(), "{text}");
            read(&mut session, text).await;
        }
        assert!(session.recall(text).is_some(), "{text}");
        let other = text.replace('1', "2");
        assert!(other == text || session.recall(&other).is_none(), "{other}");
    }
}

#[tokio::test]
async fn what_is_true_for_one_client_or_at_one_time_is_read_each_time() {
    let mut session = Session::new(Arc::new(Database::memory().unwrap()));
    run(&mut session, TABLES).await;
    for text in [
        "SELECT id FROM all_types WHERE note = current_user",
        "SELECT id FROM all_types WHERE id = 1 AND note = current_user",
        "SELECT current_setting('search_path')",
        "SELECT current_setting('app.tenant', true)",
        "SELECT id FROM all_types WHERE note = current_setting('app.tenant', true)",
        "SELECT relname FROM pg_class",
        "SELECT id FROM all_types WHERE id = 1; SELECT id FROM all_types WHERE id = 2",
        "DECLARE $id AS Int64; SELECT id FROM all_types WHERE id = $id",
    ] {
        for _ in 0..3 {
            assert!(session.recall(text).is_none(), "{text}");
            assert!(session.recall_prepared(text, &[]).is_none(), "{text}");
            for statement in session.parse(text).unwrap() {
                let prepared = session.prepare(statement, &[]).await.unwrap();
                session.remember(text, &prepared);
                session.remember_prepared(text, &[], &prepared);
            }
        }
    }
}

#[tokio::test]
async fn a_statement_with_parameters_is_known_by_its_text_and_their_types() {
    let mut session = Session::new(Arc::new(Database::memory().unwrap()));
    run(&mut session, TABLES).await;
    let text = "SELECT note FROM all_types WHERE id = $1";
    let stated = [Some(Type::Int32)];
    for _ in 0..2 {
        assert!(session.recall_prepared(text, &stated).is_none());
        let statement = session.parse(text).unwrap().remove(0);
        let prepared = session.prepare(statement, &stated).await.unwrap();
        session.remember_prepared(text, &stated, &prepared);
    }
    let recalled = session.recall_prepared(text, &stated).unwrap();
    assert_eq!(recalled.parameters(), [Type::Int32]);
    assert!(session.recall_prepared(text, &[]).is_none());
    assert!(session.recall(text).is_none(), "there is no value for it");
}
