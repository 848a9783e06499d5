//! Values of every type over a real driver, as it binds and reads them.

use bytes::BytesMut;
use keys::{Type, Value};
use server::pg::types::{Format, encode};
use tokio_postgres::SimpleQueryMessage;
use tokio_postgres::types::{FromSql, IsNull, ToSql, to_sql_checked};

use crate::process::Server;

/// Bytes that go to the server as they are, in the format they are in.
#[derive(Debug)]
pub(crate) struct Raw {
    pub(crate) format: Format,
    pub(crate) bytes: Option<Vec<u8>>,
}

impl Raw {
    fn new(value: &Value, format: Format) -> Self {
        let mut bytes = BytesMut::new();
        encode(value, format, &mut bytes).unwrap();
        Self {
            format,
            bytes: Some(bytes.to_vec()).filter(|_| !value.is_null()),
        }
    }
}

impl ToSql for Raw {
    fn to_sql(
        &self,
        _: &tokio_postgres::types::Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn std::error::Error + Sync + Send>> {
        match &self.bytes {
            Some(bytes) => out.extend_from_slice(bytes),
            None => return Ok(IsNull::Yes),
        }
        Ok(IsNull::No)
    }

    fn accepts(_: &tokio_postgres::types::Type) -> bool {
        true
    }

    fn encode_format(&self, _: &tokio_postgres::types::Type) -> tokio_postgres::types::Format {
        match self.format {
            Format::Text | Format::TextLocal | Format::TextFilled(_) => {
                tokio_postgres::types::Format::Text
            }
            Format::Binary
            | Format::BinaryList(_)
            | Format::BinaryJson
            | Format::BinaryFilled(_) => tokio_postgres::types::Format::Binary,
        }
    }

    to_sql_checked!();
}

/// Bytes as they came.
#[derive(Debug, PartialEq, Eq)]
struct Came(Vec<u8>);

impl<'a> FromSql<'a> for Came {
    fn from_sql(
        _: &tokio_postgres::types::Type,
        raw: &'a [u8],
    ) -> Result<Self, Box<dyn std::error::Error + Sync + Send>> {
        Ok(Self(raw.to_vec()))
    }

    fn accepts(_: &tokio_postgres::types::Type) -> bool {
        true
    }
}

/// One value of every type.
const EVERY: &[(&str, &str)] = &[
    ("Bool", "true"),
    ("Int8", "-128"),
    ("Int16", "-32768"),
    ("Int32", "-2147483648"),
    ("Int64", "-9223372036854775808"),
    ("Uint8", "255"),
    ("Uint16", "65535"),
    ("Uint32", "4294967295"),
    ("Uint64", "18446744073709551615"),
    ("Float", "0.1"),
    ("Double", "1e-300"),
    ("Decimal(22,9)", "-12345.6"),
    ("Utf8", "größer; 'quoted'"),
    ("String", "\\x00ff27"),
    ("Date", "2018-06-02"),
    ("Datetime", "2018-06-02T00:00:00Z"),
    ("Timestamp", "2018-06-02T00:00:00.25Z"),
    ("Interval", "P1DT2H3M4.5S"),
    ("Uuid", "0189c2a0-7b1e-7c3d-8f00-0123456789ab"),
    ("Json", "{\"a\": [1, null]}"),
];

#[tokio::test]
async fn values_of_every_type_come_back_as_they_went() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let client = server.connect().await;
    let values: Vec<Value> = EVERY
        .iter()
        .map(|(kind, text)| Value::parse(Type::parse(kind).unwrap(), text).unwrap())
        .collect();
    let names: Vec<String> = (0..EVERY.len()).map(|at| format!("c{at}")).collect();
    let columns: Vec<String> = names
        .iter()
        .zip(EVERY)
        .map(|(name, (kind, _))| format!("{name} {kind}"))
        .collect();
    let create = format!(
        "CREATE TABLE every (id Int64 NOT NULL, {}, PRIMARY KEY (id))",
        columns.join(", ")
    );
    client.batch_execute(&create).await.unwrap();
    let marks: Vec<String> = (2..EVERY.len() + 2).map(|at| format!("${at}")).collect();
    let insert = format!(
        "INSERT INTO every (id, {}) VALUES ($1, {})",
        names.join(", "),
        marks.join(", ")
    );
    let insert = client.prepare(&insert).await.unwrap();

    for (id, format) in [(1_i64, Format::Text), (2, Format::Binary)] {
        let raw: Vec<Raw> = values.iter().map(|value| Raw::new(value, format)).collect();
        let mut parameters: Vec<&(dyn ToSql + Sync)> = vec![&id];
        parameters.extend(raw.iter().map(|raw| raw as &(dyn ToSql + Sync)));
        assert_eq!(client.execute(&insert, &parameters).await.unwrap(), 1);
    }
    let nulls: Vec<Raw> = values
        .iter()
        .map(|_| Raw::new(&Value::Null, Format::Binary))
        .collect();
    let mut parameters: Vec<&(dyn ToSql + Sync)> = vec![&3_i64];
    parameters.extend(nulls.iter().map(|raw| raw as &(dyn ToSql + Sync)));
    client.execute(&insert, &parameters).await.unwrap();

    let select = format!("SELECT {} FROM every WHERE id = $1", names.join(", "));
    for id in [1_i64, 2] {
        let row = client.query_one(&select, &[&id]).await.unwrap();
        for (at, value) in values.iter().enumerate() {
            let expected = Raw::new(value, Format::Binary).bytes;
            let came = row.get::<_, Option<Came>>(at).map(|came| came.0);
            assert_eq!(came, expected, "{} in row {id}", EVERY[at].0);
        }
    }
    let row = client.query_one(&select, &[&3_i64]).await.unwrap();
    assert!((0..EVERY.len()).all(|at| row.get::<_, Option<Came>>(at).is_none()));

    let text = format!("SELECT {} FROM every WHERE id = 2", names.join(", "));
    let messages = client.simple_query(&text).await.unwrap();
    let SimpleQueryMessage::Row(row) = &messages[1] else {
        panic!("a row comes after the columns: {messages:?}");
    };
    for (at, value) in values.iter().enumerate() {
        let expected = Raw::new(value, Format::Text)
            .bytes
            .map(|text| String::from_utf8(text).unwrap());
        assert_eq!(row.get(at), expected.as_deref(), "{}", EVERY[at].0);
    }
}

#[tokio::test]
async fn a_client_may_state_other_types_than_the_columns_have() {
    use tokio_postgres::types::Type as Stated;
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let client = server.connect().await;
    let create = "CREATE TABLE typed (id Uint64 NOT NULL, at Timestamp, key Uuid, n Decimal(22,9), PRIMARY KEY (id))";
    client.batch_execute(create).await.unwrap();
    let insert = "INSERT INTO typed (id, at, key, n) VALUES ($1, $2, $3, $4)";
    let text = |text: &str| Raw {
        format: Format::Text,
        bytes: Some(text.as_bytes().to_vec()),
    };
    let binary = |bytes: &[u8]| Raw {
        format: Format::Binary,
        bytes: Some(bytes.to_vec()),
    };
    let at = text("2018-06-02 00:00:00");
    let key = text("0189c2a0-7b1e-7c3d-8f00-0123456789ab");
    for (id, stated) in [
        (
            binary(&[0, 1]),
            [Stated::INT2, Stated::TIMESTAMP, Stated::UUID, Stated::INT4],
        ),
        (
            binary(&[0, 0, 0, 2]),
            [Stated::INT4, Stated::TEXT, Stated::TEXT, Stated::INT4],
        ),
        (
            text("3"),
            [
                Stated::UNKNOWN,
                Stated::UNKNOWN,
                Stated::VARCHAR,
                Stated::INT4,
            ],
        ),
    ] {
        let insert = client.prepare_typed(insert, &stated).await.unwrap();
        let n = binary(&[0, 0, 0, 9]);
        assert_eq!(
            client
                .execute(&insert, &[&id, &at, &key, &n])
                .await
                .unwrap(),
            1,
            "{stated:?}"
        );
    }
    for (id, stated) in [
        (binary(&[0, 1]), Stated::INT2),
        (binary(&[0, 0, 0, 0, 0, 0, 0, 2]), Stated::INT8),
        (text("3"), Stated::UNKNOWN),
    ] {
        let select = "SELECT at FROM typed WHERE id = $1";
        let select = client.prepare_typed(select, &[stated]).await.unwrap();
        let row = client.query_one(&select, &[&id]).await.unwrap();
        let micros = row.get::<_, Came>(0).0;
        assert_eq!(
            micros,
            581_212_800_000_000_i64.to_be_bytes(),
            "2018-06-02 from 2000-01-01"
        );
    }
}
