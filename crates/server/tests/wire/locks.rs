//! Advisory locks over the wire, as tools that migrate schemas take them.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;

use tokio_postgres::types::ToSql;

use crate::process::Server;

const LOCK: &str = "SELECT pg_advisory_lock($1)";

#[tokio::test]
async fn a_client_gets_a_lock_when_the_one_that_has_it_hangs_up() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let [first, second] = [server.connect().await, server.connect().await];
    let number = 3_141_592_653_589_i64;
    first.execute(LOCK, &[&number]).await.unwrap();
    let tried = "SELECT pg_try_advisory_lock($1)";
    let tried = second.query_one(tried, &[&number]).await.unwrap();
    assert!(!tried.get::<_, bool>(0));
    let given: [&(dyn ToSql + Sync); 1] = [&number];
    let mut waits = pin!(second.execute(LOCK, &given));
    let early = poll_fn(|context| Poll::Ready(waits.as_mut().poll(context))).await;
    assert!(early.is_pending());
    let two = first.query_one("SELECT pg_try_advisory_lock($1, $2) AS both", &[&1, &2]);
    assert!(two.await.unwrap().get::<_, bool>("both"));
    drop(first);
    assert_eq!(waits.await.unwrap(), 1);
    let unlocked = "SELECT pg_advisory_unlock($1)";
    let unlocked = second.query_one(unlocked, &[&number]).await.unwrap();
    assert!(unlocked.get::<_, bool>(0));
}

#[tokio::test]
async fn a_client_that_waits_for_a_lock_can_cancel() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let [first, second] = [server.connect().await, server.connect().await];
    first.execute(LOCK, &[&7_i64]).await.unwrap();
    let token = second.cancel_token();
    // A request that comes before the statement runs does nothing, so it is made again.
    let cancel = async {
        loop {
            token.cancel_query(tokio_postgres::NoTls).await.unwrap();
        }
    };
    let ended = tokio::select! {
        ended = second.batch_execute("SELECT pg_advisory_lock(7)") => ended.unwrap_err(),
        () = cancel => unreachable!("it asks for ever"),
    };
    assert_eq!(ended.code().unwrap().code(), "57014");
    let freed = "SELECT pg_advisory_unlock(7), pg_try_advisory_lock(7)";
    let freed = first.query_one(freed, &[]).await.unwrap();
    assert!(freed.get::<_, bool>(0) && freed.get::<_, bool>(1));
}
