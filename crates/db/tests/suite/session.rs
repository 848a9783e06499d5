//! How tests let a session run statements.

use db::{Error, Reply, Session, Value};

/// Runs statements and answers with the rows of the last.
pub(crate) async fn run(session: &mut Session, text: &str) -> Result<Vec<Vec<Value>>, Error> {
    let mut found = Vec::new();
    for statement in session.parse(text)? {
        let prepared = session.prepare(statement, &[]).await?;
        found.clear();
        if let Reply::Rows(mut rows) = session.execute(&prepared, &[]).await? {
            while let Some(more) = rows.next().await {
                found.extend(more?);
            }
        }
    }
    Ok(found)
}
