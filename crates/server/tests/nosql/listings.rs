//! Listings of containers and directories, and paths with and without a slash at their end.

use serde_json::json;

use crate::client::{Client, start};

/// The texts of all elements of this name.
fn elements(xml: &str, name: &str) -> Vec<String> {
    let (open, close) = (format!("<{name}>"), format!("</{name}>"));
    let pieces = xml.split(&open).skip(1);
    pieces
        .map(|piece| piece.split(&close).next().unwrap().to_owned())
        .collect()
}

fn list(client: &mut Client, query: &str) -> String {
    let answer = client.send("GET", &format!("/users?{query}"), &[], b"");
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.text()
}

/// Puts an object of five bytes at each of some paths.
fn put_some(client: &mut Client) {
    for path in ["a/x", "a/b/y", "a/b/c/z", "a/d&e/w", "u"] {
        let path = format!("/users/{path}");
        client.send("PUT", &path, &[], b"12345").done();
    }
}

#[test]
fn containers_are_listed_with_the_date_that_they_were_made() {
    let (mut client, _server, _data) = start();
    put_some(&mut client);
    client.send("PUT", "/another", &[], b"").done();
    let containers = client.send("GET", "/", &[], b"").text();
    assert_eq!(elements(&containers, "Name"), ["another", "users"]);
    assert_eq!(elements(&containers, "Id").len(), 2);
    for date in elements(&containers, "CreationDate") {
        assert!(!date.starts_with("1970"), "{date}");
    }
    let full = client.send("DELETE", "/users/", &[], b"");
    assert_eq!(full.status, 409, "{}", full.text());
    assert_eq!(client.send("DELETE", "/another/", &[], b"").status, 204);
    let containers = client.send("GET", "/", &[], b"").text();
    assert_eq!(elements(&containers, "Name"), ["users"]);
}

#[test]
fn listings_have_what_clients_need() {
    let (mut client, _server, _data) = start();
    put_some(&mut client);
    let root = list(&mut client, "prefix=");
    assert_eq!(elements(&root, "Name"), ["users"]);
    assert_eq!(elements(&root, "NextMarker"), ["u"]);
    assert_eq!(elements(&root, "MaxKeys"), ["1000"]);
    assert_eq!(elements(&root, "IsTruncated"), ["false"]);
    assert_eq!(elements(&root, "Key"), ["u"]);
    assert_eq!(elements(&root, "Size"), ["5"]);
    // What is told on request only, and what never is.
    assert_eq!(elements(&root, "LastModified").len(), 1);
    for name in ["CreatingTime", "Mode", "InodeNumber", "LastSequenceId"] {
        assert_eq!(elements(&root, name).len(), 0, "{name}");
    }
    let below = list(&mut client, "prefix=a%2F&prefix-info=1");
    assert_eq!(elements(&below, "Key"), ["a/x"]);
    assert_eq!(elements(&below, "CommonPrefixes").len(), 2);
    assert!(below.contains("<Prefix>a/d&amp;e/</Prefix>"));
    for name in [
        "LastModified",
        "AccessTime",
        "CreatingTime",
        "GID",
        "UID",
        "InodeNumber",
    ] {
        assert_eq!(elements(&below, name).len(), 3, "{name}");
    }
    assert_eq!(elements(&below, "Mode"), ["0100664", "040775", "040775"]);
    assert_eq!(elements(&below, "LastSequenceId").len(), 0);
    let asked = json!({"AttributesToGet": "__inode_number"});
    let item = client.call("GetItem", "/users/a/x", &asked).json();
    let inode = item["Item"]["__inode_number"]["N"]
        .as_str()
        .unwrap()
        .to_owned();
    assert_eq!(elements(&below, "InodeNumber")[0], inode);
    let only = list(&mut client, "prefix=a/&prefix-only=1");
    assert_eq!(elements(&only, "Key").len(), 0);
    assert_eq!(elements(&only, "CommonPrefixes").len(), 2);
}

#[test]
fn listings_go_on_behind_the_last_key() {
    let (mut client, _server, _data) = start();
    put_some(&mut client);
    let (mut found, mut query) = (Vec::new(), "prefix=a/&max-keys=1".to_owned());
    loop {
        let page = list(&mut client, &query);
        found.extend(elements(&page, "CommonPrefixes"));
        found.extend(elements(&page, "Key"));
        if elements(&page, "IsTruncated") == ["false"] {
            break;
        }
        query = format!(
            "prefix=a/&max-keys=1&marker={}",
            elements(&page, "NextMarker")[0].replace("&amp;", "%26")
        );
    }
    assert_eq!(
        found,
        [
            "<Prefix>a/b/</Prefix>",
            "<Prefix>a/d&amp;e/</Prefix>",
            "a/x"
        ]
    );
}

#[test]
fn a_prefix_is_a_directory() {
    let (mut client, _server, _data) = start();
    // Nobody has put anything into it yet.
    assert_eq!(elements(&list(&mut client, "prefix=/"), "Key").len(), 0);
    put_some(&mut client);
    for (prefix, status) in [
        ("none/", 404),
        ("none", 404),
        ("a/b/", 200),
        ("a/b", 200),
        ("a/", 200),
        ("//a//b//", 200),
        // Not the beginning of a name, and not an object.
        ("a/d", 404),
        ("a/x", 404),
        ("a/b/c/z", 404),
    ] {
        let path = format!("/users?prefix={prefix}&max-keys=0");
        let answer = client.send("GET", &path, &[], b"");
        assert_eq!(answer.status, status, "{prefix}");
        assert_eq!(elements(&answer.text(), "Key").len(), 0, "{prefix}");
    }
    let doubled = list(&mut client, "prefix=//a//b//");
    assert_eq!(elements(&doubled, "Key"), ["a/b/y"]);
}

#[test]
fn a_slash_at_the_end_is_neither_needed_nor_wrong() {
    let (mut client, _server, _data) = start();
    client.send("PUT", "/users/dir/o", &[], b"123").done();
    for path in ["/users/dir", "/users/dir/", "/users//dir//"] {
        let head = client.send("HEAD", path, &[], b"");
        assert_eq!(
            (head.status, head.header("content-length")),
            (200, Some("0")),
            "{path}"
        );
        assert!(head.header("last-modified").is_some(), "{path}");
    }
    for path in ["/users/dir/o", "/users/dir/o/"] {
        let head = client.send("HEAD", path, &[], b"");
        assert_eq!(
            (head.status, head.header("content-length")),
            (200, Some("3")),
            "{path}"
        );
        let got = client.send("GET", path, &[], b"");
        assert_eq!((got.status, got.text().as_str()), (200, "123"), "{path}");
        let asked = json!({"AttributesToGet": "__size,__mode"});
        let item = client.call("GetItem", path, &asked).json();
        let expected = json!({"Item": {"__size": {"N": "3"}, "__mode": {"N": "33204"}}});
        assert_eq!(item, expected, "{path}");
    }
    // Whether a path is a file is found out by asking for its item.
    for path in ["/users/dir", "/users/dir/", "/users/none", "/users/none/"] {
        assert_eq!(
            client.call("GetItem", path, &json!({})).status,
            404,
            "{path}"
        );
    }
    for path in ["/users/none", "/users/none/", "/users/dir/o/p"] {
        assert_eq!(client.send("HEAD", path, &[], b"").status, 404, "{path}");
    }
    assert_eq!(client.send("HEAD", "/users", &[], b"").status, 200);
}

#[test]
fn names_of_headers_are_written_as_clients_look_for_them() {
    let (mut client, _server, _data) = start();
    client.send("PUT", "/users/o", &[], b"123").done();
    let head = client.send("HEAD", "/users/o", &[], b"");
    for name in [
        "Last-Modified",
        "Content-Length",
        "Content-Type",
        "X-V3io-Transaction-Verifier",
    ] {
        assert!(
            head.as_written.iter().any(|written| written == name),
            "{name}"
        );
    }
}
