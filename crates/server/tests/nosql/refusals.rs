//! What is wrong with a request is said, with the status that the documentation names.

use serde_json::{Value as Json, json};

use crate::client::{Answer, start};

fn refused(answer: &Answer, status: u16, reason: &str) {
    assert_eq!(answer.status, status, "{}", answer.text());
    let body: Json = serde_json::from_slice(&answer.body).unwrap();
    assert!(body["ErrorCode"].as_i64().unwrap() < 0);
    let message = body["ErrorMessage"].as_str().unwrap();
    assert!(message.contains(reason), "{message}");
}

/// The function, the path, the body, and what the refusal says.
const BAD_REQUESTS: &str = r#"
Jump       /users/t/k {} => there is no function `Jump`
PutItem    /users/t/k {} => `Item` is missing
PutItem    /users/t/k {"Item": 5} => `Item` is not an object
PutItem    /users/t/k {"Item": => the body is no JSON
PutItem    /users/t/k [] => no JSON object
PutItem    /users/t/k {"Item": {"a": 5}} => expected an object with one of
PutItem    /users/t/k {"Item": {"a": {"N": "x"}}} => is no number
PutItem    /users/t/k {"Item": {"a": {"N": 5}}} => a number as a string
PutItem    /users/t/k {"Item": {"a": {"N": "1e400"}}} => beyond the doubles
UpdateItem /users/t/k {"UpdateExpression": "b = -1e400"} => beyond the doubles
PutItem    /users/t/k {"Item": {"a": {"B": "*"}}} => Base64
PutItem    /users/t/k {"Item": {"set": {"N": "1"}}} => reserved word
PutItem    /users/t/k {"Item": {"__name": {"S": "x"}}} => keeps this attribute
PutItem    /users/t/k {"Item": {"a b": {"S": "x"}}} => letters, digits
PutItem    /users/t/k {"Item": {}, "UpdateMode": "x"} => `UpdateMode` is
PutItem    /users/t/.. {"Item": {}} => means a directory
PutItem    /users/t/%ff {"Item": {}} => not UTF-8
PutItem    /Users/t/k {"Item": {}} => container name `Users`
PutItem    /metrics/t/k {"Item": {}} => container name `metrics`
PutItem    /users/t/ {"Item": {}} => the item has no name
PutItem    /users/t/ {"Item": {}, "Key": {"a": {"BOOL": true}}} => S or N
PutItem    /users/t/ {"Item": {}, "Key": {}} => `Key` has one attribute
UpdateItem /users/t/k {"UpdateExpression": "a ="} => character 4: expected
UpdateItem /users/t/k {"UpdateExpression": "b = c"} => `c` does not exist
UpdateItem /users/t/k {"UpdateExpression": 5} => is not a string
UpdateItem /users/t/k {"UpdateExpression": "__name = 'x'"} => keeps this
GetItem    /users/t/k {"AttributesToGet": ["a"]} => is not a string
GetItems   /users/t/ {"FilterExpression": "a = 1"} => expected
GetItems   /users/t/ {"Limit": "5"} => `Limit` is not a whole number
GetItems   /users/t/ {"Limit": -5} => `Limit` is not a whole number
GetItems   /users/t/ {"Marker": "rubbish!"} => the marker is none
GetItems   /users/t/ {"Segment": 1} => go together
GetItems   /users/t/ {"Segment": 4, "TotalSegment": 4} => below that
GetItems   /users/t/ {"Segment": 0, "TotalSegment": 1025} => 1 to 1024
GetItems   /users/t/ {"SortKeyRangeStart": "a"} => need a `ShardingKey`
GetItems   /users/t/ {"ShardingKey": "a.b"} => has no period
GetItems   /users/t/ {"ShardingKey": "a", "Segment": 0, "TotalSegment": 2} => has no segments
GetItems   /users/t/ {"TableName": "a*"} => `TableName` names one table
GetItems   /users/t/ {"TableName": "/*", "ShardingKey": "a"} => `ShardingKey` is one of one table
PutItem    /users/t/ {"TableName": "/*", "Item": {}, "Key": {"a": {"S": "b"}}} => names one table
"#;

#[test]
fn bad_requests_are_told_what_is_wrong() {
    let (mut client, _server, _data) = start();
    let item = json!({"Item": {"a": {"N": "1"}}});
    client.call("PutItem", "/users/t/k", &item).done();
    let mut lines = 0;
    for line in BAD_REQUESTS.trim().lines() {
        let (request, reason) = line.split_once(" => ").unwrap();
        let (function, rest) = request.split_once(' ').unwrap();
        let (path, body) = rest.trim_start().split_once(' ').unwrap();
        let headers = [("X-v3io-function", function)];
        let answer = client.send("PUT", path, &headers, body.as_bytes());
        refused(&answer, 400, reason);
        lines += 1;
    }
    assert_eq!(lines, 40);
    let got = client.call("GetItem", "/users/t/k", &json!({}));
    assert_eq!(got.json(), item);
}

#[test]
fn what_is_too_long_is_refused() {
    let (mut client, _server, _data) = start();
    let item = json!({"Item": {}});
    let long = format!("/users/t/{}", "x".repeat(256));
    let refusal = client.call("PutItem", &long, &item);
    refused(&refusal, 400, "1 to 255 characters");
    let deep = format!("/users/{}k", "d/".repeat(2100));
    let refusal = client.call("PutItem", &deep, &item);
    refused(&refusal, 400, "above the limit of 4096 bytes");
    let text = json!({"Item": {"a": {"S": "x".repeat(61_201)}}});
    let refusal = client.call("PutItem", "/users/t/k", &text);
    refused(&refusal, 400, "above the limit of 61200");
    client.call("PutItem", "/users/t/k", &item).done();
    let operators = format!("a == 1{}", " or a == 1".repeat(3000));
    for (filter, reason) in [
        (operators, "more than 5600"),
        ("x".repeat(65_537), "limit of 65536 bytes"),
    ] {
        let body = json!({"FilterExpression": filter});
        refused(&client.call("GetItems", "/users/t/", &body), 400, reason);
    }
}

#[test]
fn bad_methods_and_headers_are_told_what_is_wrong() {
    let (mut client, _server, _data) = start();
    let function = [("X-v3io-function", "PutItem")];
    refused(
        &client.send("PUT", "/users/t/k", &function, b"{\"Item\":"),
        400,
        "no JSON",
    );
    refused(
        &client.send("PUT", "/users/t/%ff", &function, b"{}"),
        400,
        "not UTF-8",
    );
    refused(
        &client.send("GET", "/users/t/k", &function, b""),
        400,
        "PUT or POST",
    );
    refused(
        &client.send("POST", "/users/t/k", &[], b""),
        400,
        "X-v3io-function",
    );
    for path in ["/", "/users", "/users/t/k"] {
        let methods = client.send("OPTIONS", path, &[], b"");
        let allowed = methods.header("allow");
        assert_eq!(
            (methods.status, allowed),
            (204, Some("GET, HEAD, PUT, POST, DELETE, OPTIONS"))
        );
    }
    let range = [("Range", "bytes=5-6")];
    refused(
        &client.send("PUT", "/users/t/o", &range, b""),
        400,
        "Range: -1",
    );
    let buckets = [("X-evenkeel-buckets", "0")];
    refused(
        &client.send("GET", "/users/t/k", &buckets, b""),
        400,
        "1 to 1024",
    );
    refused(
        &client.send("PUT", "/users/t/.%23schema", &[], b"no"),
        400,
        "no JSON",
    );
}

#[test]
fn a_container_that_is_not_there_is_not_made_by_mistake() {
    let (mut client, _server, _data) = start();
    let item = json!({"Item": {"a": {"N": "1"}}});
    for (method, function, path) in [
        ("PUT", Some("PutItem"), "/user/t/k"),
        ("POST", Some("UpdateItem"), "/user/t/k"),
        ("PUT", None, "/user/t/o"),
        ("PUT", None, "/user/t/"),
        ("PUT", None, "/user/t/.%23schema"),
        ("GET", None, "/user?prefix=t/"),
        ("GET", None, "/user/t/o"),
        ("DELETE", None, "/user/"),
    ] {
        let headers: Vec<_> = function
            .map(|name| ("X-v3io-function", name))
            .into_iter()
            .collect();
        let body = match (function, path.ends_with("schema")) {
            (Some(_), _) => item.to_string(),
            (None, true) => r#"{"key": "k", "fields": []}"#.to_owned(),
            (None, false) => String::new(),
        };
        let answer = client.send(method, path, &headers, body.as_bytes());
        refused(&answer, 404, "Container not found");
    }
    assert!(
        !client
            .send("GET", "/", &[], b"")
            .text()
            .contains("<Bucket>")
    );
    // It is made when that is asked for.
    client.send("PUT", "/user/", &[], b"").done();
    client.call("PutItem", "/user/t/k", &item).done();
    assert_eq!(client.call("GetItem", "/user/t/k", &json!({})).json(), item);
}

#[test]
fn what_is_too_large_is_refused_and_the_connection_lives() {
    let (mut client, _server, _data) = start();
    let bytes = |size: usize| json!({"B": "AAAA".repeat(size / 3)});
    let item = json!({"Item": {"a": bytes(750_000), "b": bytes(750_000), "c": bytes(120_000)}});
    let answer = client.call("PutItem", "/users/t/k", &item);
    // Base64 of an item that is too large does not fit in a body either.
    refused(&answer, 413, "2097152 bytes");
    let item = json!({"Item": {"a": bytes(1_200_000)}});
    refused(
        &client.call("PutItem", "/users/t/k", &item),
        400,
        "above the limit of 1048576",
    );
    let item = json!({"Item": {"a": bytes(700_000), "b": bytes(700_000)}});
    client.call("PutItem", "/users/t/k", &item).done();
    let grow = json!({"UpdateExpression": "c = a; d = b"});
    refused(
        &client.call("UpdateItem", "/users/t/k", &grow),
        400,
        "above the limit of 1572864",
    );
    assert_eq!(
        client.call("GetItem", "/users/t/k", &json!({})).json(),
        item
    );
}

#[test]
fn sharding_keys_have_no_period_where_the_schema_forbids_it() {
    let (mut client, _server, _data) = start();
    let schema = json!({"key": "driver", "sortingKey": "day", "fields": []}).to_string();
    client
        .send("PUT", "/users/t/.%23schema", &[], schema.as_bytes())
        .done();
    let item = json!({"Item": {"driver": {"S": "a.b"}, "day": {"S": "1"}}});
    refused(
        &client.call("PutItem", "/users/t/a.b.1", &item),
        400,
        "has a period in it",
    );
    let update = json!({"UpdateExpression": "driver = 'a.b'"});
    refused(
        &client.call("UpdateItem", "/users/t/a.1", &update),
        400,
        "has a period in it",
    );
}
