//! Collections of items, from outside: what requests and SQL see of each other in tables with even
//! distribution, and what they may do to each other's tables.

mod even;
mod guarded;
mod meanwhile;
mod model;
mod older;

use std::sync::Arc;

use db::items::{Ask, Collections, Directory, Error, Place, Scope, Write};
use db::{Database, Session, Value};
use keys::{Attribute, Item};

use crate::session::run;

/// One database, seen from both sides.
struct Both {
    database: Arc<Database>,
    http: Collections,
    sql: Session,
}

impl Both {
    fn new() -> Self {
        Self::over(Arc::new(Database::memory().unwrap()))
    }

    fn over(database: Arc<Database>) -> Self {
        Self {
            http: Collections::new(Arc::clone(&database)),
            sql: Session::new(Arc::clone(&database)),
            database,
        }
    }

    /// Puts the schema of `t`: keys `k` and `s`, a number `n`, and so many buckets.
    async fn schema(&self, buckets: u32) {
        self.schema_of("string", buckets).await;
    }

    async fn schema_of(&self, kind: &str, buckets: u32) {
        let schema = format!(
            r#"{{"key": "k", "sortingKey": "s", "hashingBucketNum": {buckets}, "fields": [
                {{"name": "k", "type": "string"}}, {{"name": "s", "type": "{kind}"}},
                {{"name": "n", "type": "long"}}]}}"#
        );
        let at = place(".#schema");
        let put = self.http.put_object(&at, schema.into_bytes());
        put.await.unwrap();
    }

    /// Puts an item of `t` that says of its key what it is given.
    async fn put(&self, name: &str, key: Option<&str>, n: i64) {
        let write = Write {
            item: Some(item(key, n)),
            ..Write::default()
        };
        self.http.write(&place(name), &write).await.unwrap();
    }

    async fn get(&self, name: &str) -> Option<i64> {
        match self.http.get(&place(name), None).await {
            Ok(record) => Some(number(&record.item().unwrap())),
            Err(Error::NotFound) => None,
            Err(error) => panic!("{name}: {error}"),
        }
    }

    /// The names and numbers of a scan, which comes in pages.
    async fn scan(&self, scope: Scope) -> Vec<(String, i64)> {
        scan(&self.http, scope, Some(3)).await.unwrap()
    }

    async fn sharding(&self, key: &str) -> Vec<(String, i64)> {
        self.scan(Scope::Sharding {
            key: key.to_owned(),
            start: None,
            end: None,
        })
        .await
    }

    async fn sql(&mut self, text: &str) -> Vec<Vec<Value>> {
        run(&mut self.sql, text).await.expect(text)
    }

    async fn refused(&mut self, text: &str) -> String {
        let error = run(&mut self.sql, text).await.expect_err(text);
        format!("{} {error}", error.sqlstate())
    }
}

async fn scan(
    http: &Collections,
    scope: Scope,
    limit: Option<usize>,
) -> Result<Vec<(String, i64)>, Error> {
    let directory = Directory::parse("/users/t/").unwrap();
    let mut ask = Ask {
        scope,
        filter: None,
        limit,
        marker: None,
        buckets: None,
    };
    let mut found = Vec::new();
    loop {
        let page = http.scan(&directory, &ask).await?;
        for record in page.records {
            if record.name != ".#schema" {
                let n = number(&record.item().unwrap());
                found.push((record.name, n));
            }
        }
        if page.marker.is_none() {
            return Ok(found);
        }
        ask.marker = page.marker;
    }
}

fn place(name: &str) -> Place {
    Directory::parse("/users/t/").unwrap().place(name).unwrap()
}

fn item(key: Option<&str>, n: i64) -> Item {
    let key = key.map(|key| ("k".to_owned(), Attribute::Text(key.to_owned())));
    let n = ("n".to_owned(), Attribute::Integer(n));
    key.into_iter().chain([n]).collect()
}

fn number(item: &Item) -> i64 {
    match item.get("n") {
        Some(Attribute::Integer(n)) => *n,
        other => panic!("{other:?} is no number"),
    }
}

/// A text of SQL.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}
