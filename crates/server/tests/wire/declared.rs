//! What drivers are told of columns and parameters: their declared types, and their tables.

use crate::process::Server;

#[tokio::test]
async fn descriptions_name_declared_types_and_their_tables() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let client = server.connect().await;
    let create = "CREATE TABLE declared (id bigint PRIMARY KEY, name varchar(5), flag char(2),
        moment timestamp, doc jsonb, price numeric(10, 2),
        milli timestamp(3), second timestamptz(0))";
    client.batch_execute(create).await.unwrap();
    let insert = client
        .prepare("INSERT INTO declared VALUES ($1, $2, $3, $4, $5, $6, $7, $8)")
        .await
        .unwrap();
    let names: Vec<&str> = insert.params().iter().map(|kind| kind.name()).collect();
    let expected = [
        "int8",
        "varchar",
        "bpchar",
        "timestamp",
        "jsonb",
        "numeric",
        "timestamp",
        "timestamptz",
    ];
    assert_eq!(names, expected);
    let table = client
        .query_one("SELECT 'declared'::regclass::oid", &[])
        .await
        .unwrap();
    let table: i64 = table.get(0);
    let table = u32::try_from(table).unwrap();
    for text in [
        "SELECT * FROM declared WHERE id = 1",
        "SELECT * FROM declared ORDER BY name",
    ] {
        let select = client.prepare(text).await.unwrap();
        let told: Vec<_> = select
            .columns()
            .iter()
            .map(|one| (one.type_().name(), one.type_modifier(), one.column_id()))
            .collect();
        let expected = [
            ("int8", -1, Some(1)),
            ("varchar", 9, Some(2)),
            ("bpchar", 6, Some(3)),
            ("timestamp", -1, Some(4)),
            ("jsonb", -1, Some(5)),
            ("numeric", 655_366, Some(6)),
            ("timestamp", 3, Some(7)),
            ("timestamptz", 0, Some(8)),
        ];
        assert_eq!(told, expected, "{text}");
        let mut tables = select.columns().iter().map(|one| one.table_oid());
        assert!(tables.all(|one| one == Some(table)), "{text}");
    }
    let computed = client
        .prepare("SELECT price * 2, name || 'x' FROM declared WHERE moment > $1")
        .await
        .unwrap();
    assert_eq!(computed.params()[0].name(), "timestamp");
    let told: Vec<_> = computed
        .columns()
        .iter()
        .map(|one| (one.type_().name(), one.type_modifier(), one.table_oid()))
        .collect();
    assert_eq!(told, [("numeric", -1, None), ("text", -1, None)]);
}

#[tokio::test]
async fn characters_of_one_length_come_filled_up_with_blanks() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let client = server.connect().await;
    let fill = "CREATE TABLE codes (code char(5) PRIMARY KEY, land char(3), free bpchar);
        INSERT INTO codes VALUES ('ab', 'zw', 'x  '), ('äö', NULL, '')";
    client.batch_execute(fill).await.unwrap();
    // By key and by DataFusion, in binary and in text, whatever blanks the question has.
    for (text, asked) in [
        ("SELECT code, land, free FROM codes WHERE code = $1", "ab"),
        (
            "SELECT code, land, free FROM codes WHERE code = $1",
            "ab       ",
        ),
        (
            "SELECT max(code), max(land), max(free) FROM codes WHERE code = $1",
            "ab ",
        ),
        (
            "SELECT code, land, free FROM codes WHERE land = $1 ORDER BY free",
            "zw ",
        ),
    ] {
        let rows = client.query(text, &[&asked]).await.unwrap();
        assert_eq!(rows.len(), 1, "{text} {asked:?}");
        let found: Vec<&str> = (0..3).map(|at| rows[0].get(at)).collect();
        assert_eq!(found, ["ab   ", "zw ", "x"], "{text} {asked:?}");
    }
    // What is one of several lengths has the blanks of the one that it is.
    for text in [
        "SELECT code FROM codes WHERE code = 'ab' UNION ALL SELECT land FROM codes WHERE land = 'zw'
            ORDER BY code",
        "SELECT code FROM codes WHERE land = 'zw' UNION SELECT land FROM codes WHERE code = 'ab'
            ORDER BY code LIMIT 2",
        "SELECT CASE WHEN n = 1 THEN code ELSE land END FROM codes
            CROSS JOIN (VALUES (1), (2)) AS v (n) WHERE code = 'ab' ORDER BY n",
    ] {
        let rows = client.query(text, &[]).await.unwrap();
        assert_eq!(rows[0].columns()[0].type_().name(), "bpchar", "{text}");
        assert_eq!(rows[0].columns()[0].type_modifier(), -1, "{text}");
        let found: Vec<&str> = rows.iter().map(|row| row.get(0)).collect();
        assert_eq!(found, ["ab   ", "zw "], "{text}");
    }
    let shown = "SELECT code, land, code::text, code || '|' FROM codes ORDER BY code";
    let mut lines = Vec::new();
    for message in client.simple_query(shown).await.unwrap() {
        if let tokio_postgres::SimpleQueryMessage::Row(row) = message {
            let cells = (0..4).map(|at| row.get(at).unwrap_or("NULL"));
            lines.push(cells.collect::<Vec<_>>().join(","));
        }
    }
    assert_eq!(lines, ["ab   ,zw ,ab,ab|", "äö   ,NULL,äö,äö|"]);
}
