//! Plain objects, directories, containers and their listings.

use serde_json::json;

use crate::client::{Client, start};

#[test]
fn objects_are_put_read_in_part_grown_and_deleted() {
    let (mut client, _server, _data) = start();
    let kind = [("Content-Type", "application-octet-stream")];
    client
        .send("PUT", "/users/dir/o", &kind, b"0123456789")
        .done();
    let whole = client.send("GET", "/users/dir/o", &[], b"");
    assert_eq!((whole.status, whole.text().as_str()), (200, "0123456789"));
    for (range, status, part) in [
        ("bytes=2-4", 206, "234"),
        ("bytes=7", 206, "789"),
        ("bytes=-2", 206, "89"),
        ("bytes=8-99", 206, "89"),
        ("bytes=10-20", 200, ""),
    ] {
        let got = client.send("GET", "/users/dir/o", &[("Range", range)], b"");
        assert_eq!((got.status, got.text().as_str()), (status, part), "{range}");
    }
    let appended = client.send("PUT", "/users/dir/o", &[("Range", "-1")], b"abc");
    appended.done();
    let head = client.send("HEAD", "/users/dir/o", &[], b"");
    assert_eq!(
        (head.status, head.header("content-length")),
        (200, Some("13"))
    );
    assert!(head.header("last-modified").is_some());
    // An object has attributes too, and they leave its bytes alone.
    let update = json!({"UpdateExpression": "a = 1"});
    client.call("UpdateItem", "/users/dir/o", &update).done();
    let wanted = json!({"AttributesToGet": "a,__size"});
    let got = client.call("GetItem", "/users/dir/o", &wanted).json();
    assert_eq!(
        got,
        json!({"Item": {"a": {"N": "1"}, "__size": {"N": "13"}}})
    );

    let large = vec![7; 16 << 20];
    client.send("PUT", "/users/dir/large", &[], &large).done();
    assert_eq!(client.send("GET", "/users/dir/large", &[], b"").body, large);
    let grown = client.send("PUT", "/users/dir/large", &[("Range", "-1")], b"x");
    grown.done();
    let head = client.send("HEAD", "/users/dir/large", &[], b"");
    assert_eq!(head.header("content-length"), Some("16777217"));

    assert_eq!(client.send("DELETE", "/users/dir/o", &[], b"").status, 204);
    assert_eq!(client.send("GET", "/users/dir/o", &[], b"").status, 404);
    assert_eq!(client.send("HEAD", "/users/dir/o", &[], b"").status, 404);
}

#[test]
fn a_schema_is_an_object_and_an_item_of_its_table() {
    let (mut client, _server, _data) = start();
    let schema = r#"{"hashingBucketNum":0,"key":"k","fields":[{"name":"k","type":"string","nullable":false}]}"#;
    assert_eq!(
        client.send("GET", "/users/t/.%23schema", &[], b"").status,
        404
    );
    client
        .send("PUT", "/users/t/.%23schema", &[], schema.as_bytes())
        .done();
    client
        .call("PutItem", "/users/t/a", &json!({"Item": {}}))
        .done();
    assert_eq!(
        client.send("GET", "/users/t/.%23schema", &[], b"").text(),
        schema
    );
    let mut names = client.names("/users/t/", &json!({}));
    names.sort();
    assert_eq!(names, [".#schema", "a"]);
    let others = json!({"FilterExpression": "__name != '.#schema'"});
    assert_eq!(client.names("/users/t/", &others), ["a"]);
}

#[test]
fn whoever_writes_while_a_directory_is_deleted_is_found_again() {
    let (mut client, server, _data) = start();
    let schema = br#"{"key": "k", "sortingKey": "n", "fields": [{"name": "n", "type": "long"}]}"#;
    for round in 0..5 {
        client
            .send("PUT", "/users/t/sub/.%23schema", &[], schema)
            .done();
        std::thread::scope(|scope| {
            for writer in 0..4 {
                let mut client = Client::connect(&server);
                scope.spawn(move || {
                    for n in 0..60 {
                        let path = format!("/users/t/sub/r{round}w{writer}.{n}");
                        client.call("PutItem", &path, &json!({"Item": {}})).done();
                    }
                });
            }
            let deleted = client.send("DELETE", "/users/t/?recursive=1", &[], b"");
            assert_eq!(deleted.status, 204);
        });
        // What is listed lies where its name says.
        for name in client.names("/users/t/sub/", &json!({})) {
            let path = format!("/users/t/sub/{}", name.replace('#', "%23"));
            let found = client.call("GetItem", &path, &json!({}));
            assert_eq!(found.status, 200, "{name} is listed and not found");
        }
    }
}
