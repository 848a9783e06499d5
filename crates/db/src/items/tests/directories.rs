//! Directories: what is in them, and what they keep while items in them go.

use super::super::record::CHANGED_NS;
use super::*;

/// How often a directory is changed while items in it are deleted.
const CHANGES: i64 = 400;

#[tokio::test]
async fn directories_are_listed_and_deleted() {
    let collections = collections();
    for path in ["a/x", "a/b/y", "a/b/c/z", "a/d/w", "ab/v", "u"] {
        let at = place(&format!("/users/{path}"));
        collections.put_object(&at, b"data".to_vec()).await.unwrap();
    }
    let list = async |prefix: &str, limit| {
        let mut ask = ListingAsk {
            prefix: prefix.to_owned(),
            limit,
            ..ListingAsk::default()
        };
        let mut found = Vec::new();
        loop {
            let listing = collections.list("users", &ask).await.unwrap();
            let entries = listing.directories.into_iter().chain(listing.entries);
            found.extend(entries.map(|entry| entry.path));
            if !listing.truncated {
                return found.join(" ");
            }
            ask.marker = listing.last;
        }
    };
    for limit in [None, Some(1)] {
        assert_eq!(list("", limit).await, "a/ ab/ u");
        assert_eq!(list("a/", limit).await, "a/b/ a/d/ a/x");
        assert_eq!(list("a", limit).await, "a/b/ a/d/ a/x");
        assert_eq!(list("//a//b", limit).await, "a/b/c/ a/b/y");
        assert_eq!(list("a/d/", limit).await, "a/d/w");
    }
    collections
        .append(&place("/users/u"), b" and more")
        .await
        .unwrap();
    let record = collections.get(&place("/users/u"), None).await.unwrap();
    assert_eq!(record.data.as_deref(), Some(b"data and more".as_slice()));

    let delete = async |path: &str, contents| {
        let deleted = collections
            .delete_directory(&directory(path), contents)
            .await;
        deleted.map_err(|error| error.to_string())
    };
    let full = delete("/users/a/b/", Contents::Stay).await.unwrap_err();
    assert!(full.starts_with("Directory not empty"), "{full}");
    delete("/users/a/b/", Contents::Go).await.unwrap();
    let again = delete("/users/a/b/", Contents::Go).await.unwrap_err();
    assert_eq!(again, "No such file or directory");
    assert_eq!(list("a/", None).await, "a/d/ a/x");

    // What was in it goes first, and the directory stays until it is deleted itself.
    collections
        .delete(&place("/users/a/d/w"), None)
        .await
        .unwrap();
    assert_eq!(list("a/", None).await, "a/d/ a/x");
    delete("/users/a/d/", Contents::Stay).await.unwrap();
    let again = delete("/users/a/d/", Contents::Stay).await.unwrap_err();
    assert_eq!(again, "No such file or directory");
    assert_eq!(list("a/", None).await, "a/x");

    let full = collections.remove_container("users", Contents::Stay).await;
    assert!(matches!(full, Err(Error::NotEmpty)));
    let gone = collections.remove_container("users", Contents::Go).await;
    gone.unwrap();
    assert!(collections.containers().is_empty());
}

#[tokio::test]
async fn pages_of_a_listing_are_in_the_order_of_names() {
    let collections = collections();
    let mut names = Vec::new();
    for number in 0..40 {
        names.push(format!("file-{number:02}.txt"));
        names.push(format!("dir-{number:02}/x"));
    }
    // A directory and an object of one name, and names that paths and slices order differently.
    let others = [
        "a", "a/x", "a!", "a!/x", "a.b", "a.b/x", "a-b", "ä", "file", "file/x",
    ];
    names.extend(others.map(str::to_owned));
    for name in &names {
        let at = place(&format!("/users/d/{name}"));
        collections.put_object(&at, b"data".to_vec()).await.unwrap();
    }
    let mut expected: Vec<String> = Vec::new();
    for name in &names {
        let entry = match name.strip_suffix("/x") {
            Some(directory) => format!("d/{directory}/"),
            None => format!("d/{name}"),
        };
        expected.push(entry);
    }
    // A directory comes before an object of its name.
    expected.sort_by_key(|path| {
        let bare = path.strip_suffix('/');
        (bare.unwrap_or(path).to_owned(), bare.is_none())
    });
    for limit in [1, 2, 7, 90, 1000] {
        let mut ask = ListingAsk {
            prefix: "d".to_owned(),
            limit: Some(limit),
            ..ListingAsk::default()
        };
        let mut found = Vec::new();
        loop {
            let listing = collections.list("users", &ask).await.unwrap();
            let mut page: Vec<String> = Vec::new();
            let entries = listing.directories.into_iter().chain(listing.entries);
            page.extend(entries.map(|entry| entry.path));
            assert!(page.len() <= limit);
            page.sort_by_key(|path| expected.iter().position(|other| other == path));
            found.extend(page);
            ask.marker = listing.last;
            if !listing.truncated {
                break;
            }
        }
        assert_eq!(found, expected, "{limit}");
        // Clients go on until a listing is empty.
        let after = collections.list("users", &ask).await.unwrap();
        assert!(after.entries.is_empty() && after.directories.is_empty());
        assert_eq!(after.last, None);
    }
    let none = ListingAsk {
        prefix: "d/file-01.txt".to_owned(),
        ..ListingAsk::default()
    };
    let file = collections.list("users", &none).await;
    assert!(matches!(file, Err(Error::NotFound)));
}

#[tokio::test]
async fn an_empty_directory_is_not_deleted_under_those_who_write_into_it() {
    let collections = Arc::new(collections());
    let writes = 200;
    std::thread::scope(|scope| {
        let collections = &collections;
        let alone = || {
            tokio::runtime::Builder::new_current_thread()
                .build()
                .unwrap()
        };
        scope.spawn(move || {
            alone().block_on(async {
                for number in 0..writes {
                    let at = place(&format!("/users/d/{number}"));
                    collections.write(&at, &put(&[("a", 1)])).await.unwrap();
                }
            });
        });
        scope.spawn(move || {
            alone().block_on(async {
                for _ in 0..writes {
                    let at = directory("/users/d/");
                    match collections.delete_directory(&at, Contents::Stay).await {
                        Ok(()) | Err(Error::NotFound | Error::NotEmpty) => {}
                        Err(other) => panic!("{other}"),
                    }
                }
            });
        });
    });
    let found = names(&collections, "/users/d/", ask(Scope::Whole)).await;
    assert_eq!(found.len(), writes);
}

#[tokio::test]
async fn containers_say_when_they_were_made() {
    let collections = collections();
    let missing = collections
        .write(&place("/misspelt/t/k"), &put(&[("a", 1)]))
        .await;
    assert!(matches!(missing, Err(Error::NoContainer)));
    assert!(collections.containers().is_empty());

    let before = collections.now_ns();
    collections.create_container("logs").unwrap();
    let created = collections.container_created_ns("logs").await.unwrap();
    assert!(created > before);
    let at = place("/logs/t/k");
    collections.write(&at, &put(&[("a", 1)])).await.unwrap();
    collections.create_container("logs").unwrap();
    assert_eq!(
        collections.container_created_ns("logs").await.unwrap(),
        created
    );

    // One from before that was kept is as old as what is in it, and stays so.
    let table = collections.database.table("v3io/logs").unwrap();
    let mut transaction = collections.database.begin();
    let root = Key::of_directory("").values();
    transaction.delete(&table, &root).unwrap();
    transaction.commit().unwrap();
    let oldest = collections.container_created_ns("logs").await.unwrap();
    assert!(oldest > created && oldest < collections.now_ns());
    for path in ["t/k", "t/"] {
        let path = format!("/logs/{path}");
        match path.ends_with('/') {
            true => collections
                .delete_directory(&directory(&path), Contents::Stay)
                .await
                .unwrap(),
            false => collections.delete(&place(&path), None).await.unwrap(),
        }
    }
    assert_eq!(
        collections.container_created_ns("logs").await.unwrap(),
        oldest
    );
    let empty = collections.remove_container("logs", Contents::Stay).await;
    empty.unwrap();
}

/// The record of a directory of container `users`.
fn record(collections: &Collections, path: &str) -> Record {
    let table = collections.database.table("v3io/users").unwrap();
    let key = Key::of_directory(path).values();
    let row = collections.database.snapshot().get(&table, &key).unwrap();
    Record::from_row(row.unwrap()).unwrap()
}

/// Counts in the attributes of a directory; others are not waited for.
fn count(collections: &Collections, path: &str) {
    let table = collections.database.table("v3io/users").unwrap();
    let key = Key::of_directory(path).values();
    loop {
        let mut transaction = collections.database.begin();
        let row = transaction.get(&table, &key).unwrap().unwrap();
        let mut record = Record::from_row(row).unwrap();
        let number = match record.item().unwrap().get("n") {
            Some(Attribute::Integer(number)) => *number,
            _ => 0,
        };
        record.attributes = item(&[("n", number + 1)]).encode().unwrap();
        let row = record.into_row(table.schema());
        transaction.replace(&table, &row).unwrap();
        match transaction.commit() {
            Ok(_) => return,
            Err(error) => assert_eq!(error.kind(), Kind::Conflict, "{error}"),
        }
    }
}

#[test]
fn what_others_change_of_a_directory_stays_while_its_items_go() {
    let collections = Arc::new(collections());
    let alone = || {
        tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap()
    };
    let at = |number: i64| place(&format!("/users/cars/{number}"));
    alone().block_on(async {
        for number in 0..CHANGES {
            let put = put(&[("a", number)]);
            collections.write(&at(number), &put).await.unwrap();
        }
    });
    let before = record(&collections, "cars/");
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..CHANGES {
                count(&collections, "cars/");
            }
        });
        let collections = &collections;
        for half in 0..2 {
            scope.spawn(move || {
                alone().block_on(async {
                    for number in (0..CHANGES).filter(|number| number % 2 == half) {
                        collections.delete(&at(number), None).await.unwrap();
                    }
                });
            });
        }
    });
    let after = record(&collections, "cars/");
    assert_eq!(after.item().unwrap(), item(&[("n", CHANGES)]));
    assert!(after.changed_ns > before.changed_ns);
    assert_eq!(after.created_ns, before.created_ns);
}

#[tokio::test]
async fn a_directory_changes_with_each_item_that_goes_and_nobody_waits() {
    let collections = collections();
    let at = |name: &str| place(&format!("/users/cars/{name}"));
    for name in ["a", "b", "c"] {
        collections.write(&at(name), &put(&[])).await.unwrap();
    }
    let mut changed = record(&collections, "cars/").changed_ns;
    for name in ["a", "b"] {
        collections.delete(&at(name), None).await.unwrap();
        let now = record(&collections, "cars/").changed_ns;
        assert!(now > changed, "{now} {changed}");
        changed = now;
    }
    // Two at once, the later moment first: both commit, and time does not go back.
    let table = collections.database.table("v3io/users").unwrap();
    let key = Key::of_directory("cars/").values();
    let later = |by: i64| (CHANGED_NS, changed + by);
    let (mut one, mut other) = (collections.database.begin(), collections.database.begin());
    one.raise(&table, &key, later(500)).unwrap();
    other.raise(&table, &key, later(1_000)).unwrap();
    other.commit().unwrap();
    one.commit().unwrap();
    assert_eq!(record(&collections, "cars/").changed_ns, changed + 1_001);

    // Who makes a directory at the same moment leaves it as it is.
    let mut other = collections.database.begin();
    let mut made = record(&collections, "cars/");
    made.created_ns = 1;
    let row = made.into_row(table.schema());
    other.ensure(&table, &row).unwrap();
    other.commit().unwrap();
    assert!(record(&collections, "cars/").created_ns > 1);

    // A directory that is gone does not come back.
    let mut late = collections.database.begin();
    late.raise(&table, &key, later(2_000)).unwrap();
    collections
        .delete_directory(&directory("/users/cars/"), Contents::Go)
        .await
        .unwrap();
    late.commit().unwrap();
    let row = collections.database.snapshot().get(&table, &key).unwrap();
    assert_eq!(row, None);
}
