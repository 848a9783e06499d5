//! Tables and collections do not hide or drop each other.

use super::*;

#[tokio::test]
async fn a_table_cannot_hide_a_collection() {
    let mut both = Both::new();
    both.put("a.1", None, 1).await;
    for name in ["users/t", "/users/t", "v3io/users/t", "users/t/"] {
        let create = format!(r#"CREATE TABLE "{name}" (a int PRIMARY KEY)"#);
        let error = both.refused(&create).await;
        assert!(error.starts_with("42P07 "), "{error}");
        assert!(
            error
                .contains("choose another name for the table, or first DELETE /users/t/ over HTTP"),
            "{error}"
        );
    }
    both.sql("CREATE TABLE other (a int PRIMARY KEY)").await;
    let rename = both
        .refused(r#"ALTER TABLE other RENAME TO "users/t""#)
        .await;
    assert!(rename.starts_with("42P07 "), "{rename}");
    let of_container = both
        .refused(r#"CREATE TABLE "v3io/more" (a int PRIMARY KEY)"#)
        .await;
    assert!(of_container.starts_with("42809 "), "{of_container}");
    assert_eq!(both.get("a.1").await, Some(1));
    // What is not there can be a table, and then is no directory any more.
    both.sql(r#"CREATE TABLE "users/free" (a int PRIMARY KEY)"#)
        .await;
    for path in ["/users/free/", "/users/free/below/"] {
        let at = Directory::parse(path).unwrap().place("a").unwrap();
        let write = Write {
            item: Some(item(None, 1)),
            ..Write::default()
        };
        let error = both.http.write(&at, &write).await.unwrap_err();
        assert!(error.to_string().contains("table `users/free`"), "{error}");
        let object = both.http.put_object(&at, Vec::new()).await.unwrap_err();
        assert!(object.to_string().contains("RENAME TO"), "{object}");
        let made = both.http.make_directory(&at.directory).await;
        assert!(made.is_err());
    }
    both.sql(r#"DROP TABLE "users/free""#).await;
    let at = Directory::parse("/users/free/").unwrap();
    both.http.make_directory(&at).await.unwrap();
}

#[tokio::test]
async fn sql_does_not_take_a_container_away() {
    let mut both = Both::new();
    both.put("a.1", None, 1).await;
    for (statement, done) in [
        (r#"DROP TABLE "v3io/users""#, "dropped"),
        (r#"DROP TABLE IF EXISTS "v3io/users" CASCADE"#, "dropped"),
        (r#"TRUNCATE "v3io/users""#, "emptied"),
        (r#"ALTER TABLE "v3io/users" RENAME TO mine"#, "renamed"),
        (r#"ALTER TABLE "v3io/users" DROP COLUMN data"#, "altered"),
        (
            r#"ALTER TABLE "v3io/users" RENAME COLUMN data TO d"#,
            "altered",
        ),
    ] {
        let error = both.refused(statement).await;
        assert!(error.starts_with("42809 "), "{error}");
        assert!(error.contains(&format!("cannot be {done}")), "{error}");
        assert!(
            error.contains("DELETE its directories and then /users/ over HTTP"),
            "{error}"
        );
    }
    both.sql("BEGIN").await;
    let error = both.refused(r#"TRUNCATE "v3io/users""#).await;
    assert!(error.starts_with("42809 "), "{error}");
    both.sql("ROLLBACK").await;
    both.sql(r#"ALTER TABLE "v3io/users" ADD COLUMN mine int"#)
        .await;
    both.sql(r#"ALTER TABLE "v3io/users" DROP COLUMN mine"#)
        .await;
    assert_eq!(both.get("a.1").await, Some(1));
    both.http
        .remove_container("users", db::items::Contents::Go)
        .await
        .unwrap();
    assert!(both.http.containers().is_empty());
}

#[tokio::test]
async fn what_the_server_keeps_beside_a_schema_is_not_shown() {
    let both = Both::new();
    both.schema(64).await;
    both.put("a.1", Some("a"), 1).await;
    let kept = place(".#layout");
    let write = Write {
        item: Some(item(None, 1)),
        ..Write::default()
    };
    assert!(both.http.write(&kept, &write).await.is_err());
    assert!(both.http.put_object(&kept, Vec::new()).await.is_err());
    assert!(both.http.delete(&kept, None).await.is_err());
    assert!(both.http.get(&kept, None).await.is_err());
    let names = both.scan(Scope::Whole).await;
    assert_eq!(names.len(), 1, "{names:?}");
    let ask = db::items::ListingAsk {
        prefix: "t/".to_owned(),
        ..Default::default()
    };
    let listing = both.http.list("users", &ask).await.unwrap();
    let paths = listing.entries.into_iter().map(|entry| entry.path);
    let mut paths: Vec<String> = paths.collect();
    paths.sort();
    assert_eq!(paths.len(), 2, "{paths:?}");
    assert!(paths[1].starts_with("t/a_"), "{paths:?}");
}
