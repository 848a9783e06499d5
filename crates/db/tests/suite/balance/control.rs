//! The control loop over real transactions: partitions split and merge by themselves, and when that
//! would not help it is said why.

use db::Value;

use super::stage::Stage;

const EVENTS: &str = "SELECT Kind, Reason, OldPartitions, NewPartitions, Count FROM \
                      sys.partition_events ORDER BY EventId";

#[tokio::test]
async fn a_busy_table_splits_and_a_quiet_one_is_merged_again() {
    let stage = Stage::new();
    stage
        .ask("CREATE TABLE t (id Int64 PRIMARY KEY, v text)")
        .await
        .unwrap();
    stage.round(1);
    let mut splits = 0;
    for _ in 0..12 {
        stage.read_all_over("t");
        splits += stage.round(5).splits;
    }
    assert!(splits >= 2, "{splits} splits");
    assert_eq!(stage.partitions("t"), splits + 1);
    let events = stage.lines(EVENTS).await;
    assert_eq!(events[0], "Split | Load | 2 | 3, 4 | 1");

    // For an hour the peak is remembered.
    for _ in 0..29 {
        assert_eq!(stage.round(120).merges, 0);
    }
    let merges: usize = (0..20).map(|_| stage.round(60).merges).sum();
    assert!(merges >= 1);
    assert_eq!(stage.partitions("t"), 1);

    // What happened is known after a restart, and so is the number of the next event.
    let events = stage.lines(EVENTS).await;
    assert_eq!(events.len(), splits + merges);
    let stage = stage.restart();
    assert_eq!(stage.lines(EVENTS).await, events);
    stage.ask("ALTER TABLE t SPLIT AT (5)").await.unwrap();
    let after = stage
        .lines("SELECT EventId, Reason FROM `.sys/partition_events` ORDER BY EventId")
        .await;
    assert_eq!(after.last().unwrap(), &format!("{} | ByHand", events.len()));
}

#[tokio::test]
async fn a_growing_tail_is_not_split_and_the_refusal_is_one_event() {
    let stage = Stage::new();
    stage
        .ask("CREATE TABLE t (id Int64 PRIMARY KEY, v text)")
        .await
        .unwrap();
    stage.round(1);
    for round in 0..10 {
        stage.append("t", round * 1000);
        stage.round(5);
    }
    assert_eq!(stage.partitions("t"), 1);
    let events = stage
        .ask("SELECT Kind, Reason, Count, Detail FROM sys.partition_events")
        .await
        .unwrap();
    assert_eq!(events.len(), 1, "{events:?}");
    assert_eq!(
        events[0][..2],
        [Value::from("Refused"), Value::from("Tail")]
    );
    assert!(
        matches!(events[0][2], Value::Uint64(count) if count > 3),
        "{events:?}"
    );
    assert!(
        events[0][3]
            .to_string()
            .contains("of the writes land above")
    );
}

#[tokio::test]
async fn options_and_settings_take_effect_while_the_database_runs() {
    let stage = Stage::new();
    stage
        .ask("CREATE TABLE t (id Int64 PRIMARY KEY, v text)")
        .await
        .unwrap();
    stage
        .ask("ALTER TABLE t SET (AUTO_PARTITIONING_BY_LOAD = DISABLED)")
        .await
        .unwrap();
    stage.round(1);
    for _ in 0..6 {
        stage.read_all_over("t");
        assert_eq!(stage.round(5).splits, 0);
    }
    assert_eq!(
        stage
            .lines("SELECT DISTINCT Reason FROM sys.partition_events")
            .await,
        ["LoadOff"]
    );
    stage
        .ask("ALTER TABLE t SET (AUTO_PARTITIONING_BY_LOAD = ENABLED)")
        .await
        .unwrap();
    stage
        .ask("ALTER SYSTEM SET partition_split_load_percent = 90000")
        .await
        .unwrap();
    stage.read_all_over("t");
    assert_eq!(stage.round(5).splits, 0);
    stage
        .ask("ALTER SYSTEM SET partition_split_load_percent = 20")
        .await
        .unwrap();
    stage
        .ask("ALTER SYSTEM SET partition_split_load_lasting_s = 0")
        .await
        .unwrap();
    stage.read_all_over("t");
    assert_eq!(stage.round(5).splits, 1);

    // The most partitions bound what load splits make.
    stage
        .ask("ALTER TABLE t SET (AUTO_PARTITIONING_MAX_PARTITIONS_COUNT = 3)")
        .await
        .unwrap();
    for _ in 0..6 {
        stage.read_all_over("t");
        stage.round(5);
    }
    assert_eq!(stage.partitions("t"), 3);
    let reasons = "SELECT DISTINCT Reason FROM sys.partition_events ORDER BY Reason";
    assert_eq!(stage.lines(reasons).await, ["AtMost", "Load", "LoadOff"]);

    // And settings of the whole database are there after a restart.
    let stage = stage.restart();
    assert_eq!(
        stage.lines("SHOW partition_split_load_percent").await,
        ["20"]
    );
    stage.ask("ALTER SYSTEM RESET ALL").await.unwrap();
    let stage = stage.restart();
    assert_eq!(
        stage.lines("SHOW partition_split_load_percent").await,
        ["50"]
    );
}

#[tokio::test]
async fn a_large_partition_is_split_near_its_middle_and_small_ones_keep_the_minimum() {
    let stage = Stage::new();
    stage
        .ask(
            "CREATE TABLE t (id Int64 PRIMARY KEY, v text) WITH (AUTO_PARTITIONING_PARTITION_SIZE_MB = 1, \
             AUTO_PARTITIONING_BY_LOAD = DISABLED)",
        )
        .await
        .unwrap();
    let table = stage.db.table("t").unwrap();
    let text = Value::from("x".repeat(1000).as_str());
    let rows = (0..1500_i64).map(|id| [Value::Int64(id), text.clone()]);
    stage.db.load(&table, rows).unwrap();
    assert_eq!(stage.round(5).splits, 1);
    assert_eq!(stage.round(5).splits, 0);
    let bounds = "SELECT FromKey, ToKey FROM sys.partition_stats WHERE Path = 't' ORDER BY PartIdx";
    let bounds = stage.lines(bounds).await;
    assert_eq!(bounds.len(), 2);
    let events = stage
        .lines("SELECT Reason, Key FROM sys.partition_events")
        .await;
    let key: i64 = events[0].strip_prefix("Size | /").unwrap().parse().unwrap();
    assert!((400..1100).contains(&key), "{events:?}");

    // Emptied, it is merged, unless the table wants two.
    stage.ask("DELETE FROM t").await.unwrap();
    stage
        .ask("ALTER TABLE t SET (AUTO_PARTITIONING_MIN_PARTITIONS_COUNT = 2)")
        .await
        .unwrap();
    stage.db.housekeep().unwrap();
    stage.round(700);
    assert_eq!(stage.partitions("t"), 2);
    stage
        .ask("ALTER TABLE t RESET (AUTO_PARTITIONING_MIN_PARTITIONS_COUNT)")
        .await
        .unwrap();
    stage.round(5);
    assert_eq!(stage.partitions("t"), 1);
}

#[tokio::test]
async fn heat_is_kept_by_the_second_and_by_the_minute() {
    let stage = Stage::new();
    stage
        .ask("CREATE TABLE t (id Int64 PRIMARY KEY, v text)")
        .await
        .unwrap();
    stage.round(1);
    for _ in 0..90 {
        stage.read_all_over("t");
        stage.round(1);
    }
    let seconds =
        "SELECT count(*), sum(RowReads) FROM sys.heat WHERE Path = 't' AND IntervalSeconds = 1";
    let minutes = "SELECT count(*) > 1, sum(RowReads) FROM sys.heat WHERE Path = 't' AND IntervalSeconds = 60";
    let seconds = stage.lines(seconds).await;
    assert!(seconds[0].ends_with("| 90000"), "{seconds:?}");
    assert_eq!(stage.lines(minutes).await, ["true | 90000"]);
    let top = "SELECT Rank, Path, CPUCores > 0.5 FROM `.sys/top_partitions_one_minute` WHERE Rank = 1 LIMIT 1";
    assert_eq!(stage.lines(top).await, ["1 | t | true"]);
    let hour = "SELECT count(*) > 0 FROM sys.top_partitions_one_hour";
    assert_eq!(stage.lines(hour).await, ["true"]);
}
