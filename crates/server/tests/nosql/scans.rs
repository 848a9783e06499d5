//! Reading many items: pages, segments, ranges, filters, and what happens in between.

use std::collections::BTreeSet;

use serde_json::json;

use crate::client::{Client, start};
use crate::process::Server;

fn fill(client: &mut Client, path: &str, sharding_keys: usize, sorting_keys: usize) {
    for i in 0..sharding_keys {
        for j in 0..sorting_keys {
            let item = json!({"Item": {"i": {"N": i.to_string()}, "j": {"N": j.to_string()}}});
            client
                .call("PutItem", &format!("{path}user{i}.{j:03}"), &item)
                .done();
        }
    }
}

#[test]
fn pages_segments_and_ranges() {
    let (mut client, _server, _data) = start();
    fill(&mut client, "/users/t/", 20, 10);
    let whole = client.names("/users/t/", &json!({"Limit": 7}));
    let all: BTreeSet<String> = whole.iter().cloned().collect();
    assert_eq!((whole.len(), all.len()), (200, 200));

    let mut parts = Vec::new();
    for segment in 0..5 {
        let body = json!({"Limit": 9, "Segment": segment, "TotalSegment": 5});
        parts.extend(client.names("/users/t/", &body));
    }
    assert_eq!(parts.len(), 200);
    assert_eq!(parts.into_iter().collect::<BTreeSet<_>>(), all);

    let range = json!({
        "ShardingKey": "user3", "SortKeyRangeStart": "004", "SortKeyRangeEnd": "007", "Limit": 2,
    });
    assert_eq!(
        client.names("/users/t/", &range),
        ["user3.004", "user3.005", "user3.006"]
    );
    let filter = json!({"FilterExpression": "j == 4 and (i < 3 or starts(__name, 'user19'))"});
    let mut found = client.names("/users/t/", &filter);
    found.sort();
    assert_eq!(found, ["user0.004", "user1.004", "user19.004", "user2.004"]);
    let none = json!({"FilterExpression": "absent == 1"});
    assert_eq!(client.names("/users/t/", &none).len(), 0);
    let only = json!({"AttributesToGet": "j", "ShardingKey": "user3", "SortKeyRangeStart": "009"});
    assert_eq!(client.scan("/users/t/", &only), [json!({"j": {"N": "9"}})]);
    assert_eq!(
        client.call("GetItems", "/users/absent/", &json!({})).status,
        404
    );
    assert_eq!(
        client.call("GetItems", "/absent/t/", &json!({})).status,
        404
    );
    let nodes = client.call("GetClusterMD", "/users/", &json!({})).json();
    assert!(nodes["NumberOfVNs"].as_u64().unwrap() > 0);
}

#[tokio::test]
async fn a_scan_goes_on_after_a_restart_and_after_splits() {
    let data = tempfile::tempdir().unwrap();
    let mut server = Server::start(data.path(), &[]);
    let mut client = Client::connect(&server);
    fill(&mut client, "/users/t/", 30, 4);
    let mut body = json!({"Limit": 10});
    let mut names = Vec::new();
    for round in 0.. {
        let page = client.call("GetItems", "/users/t/", &body).json();
        for item in page["Items"].as_array().unwrap() {
            names.push(item["__name"]["S"].as_str().unwrap().to_owned());
        }
        let Some(marker) = page.get("NextMarker") else {
            break;
        };
        body["Marker"] = marker.clone();
        match round {
            3 => {
                server.kill();
                server = Server::start(data.path(), &[]);
                client = Client::connect(&server);
            }
            _ => {
                let split = format!(
                    "ALTER TABLE \"v3io/users\" SPLIT AT ('t/', {})",
                    80 * round + 1
                );
                server.connect().await.batch_execute(&split).await.unwrap();
            }
        }
    }
    assert_eq!(names.len(), 120);
    assert_eq!(names.into_iter().collect::<BTreeSet<_>>().len(), 120);
}

#[test]
fn an_even_distribution_is_that_of_the_published_listings() {
    let (mut client, _server, _data) = start();
    let schema =
        json!({"hashingBucketNum": 64, "key": "driver", "sortingKey": "day", "fields": []});
    let put = client.send(
        "PUT",
        "/users/even/.%23schema",
        &[],
        schema.to_string().as_bytes(),
    );
    put.done();
    let stored = [
        ("20180101", "johnd_25.20180101"),
        ("20180102", "johnd_3.20180102"),
        ("20180202", "johnd_2.20180202"),
        ("20180601", "johnd_62.20180601"),
        ("20180602", "johnd_36.20180602"),
        ("20180701", "johnd_39.20180701"),
    ];
    let item = |day: &str| json!({"Item": {"day": {"S": day}}});
    for (day, _) in stored.iter().rev() {
        client
            .call("PutItem", &format!("/users/even/johnd.{day}"), &item(day))
            .done();
    }
    let names: Vec<&str> = stored.iter().map(|(_, name)| *name).collect();
    let by_original = json!({"ShardingKey": "johnd", "Limit": 4});
    assert_eq!(client.names("/users/even/", &by_original), names);
    let range = json!({
        "ShardingKey": "johnd", "SortKeyRangeStart": "20180102", "SortKeyRangeEnd": "20180602",
    });
    assert_eq!(client.names("/users/even/", &range), names[1..4]);
    let by_hand = json!({"ShardingKey": "johnd_36"});
    assert_eq!(
        client.names("/users/even/", &by_hand),
        ["johnd_36.20180602"]
    );
    for name in ["johnd.20180602", "johnd_36.20180602"] {
        let got = client.call("GetItem", &format!("/users/even/{name}"), &json!({}));
        assert_eq!(got.json()["Item"]["day"], json!({"S": "20180602"}));
    }
    // Bucket 0 is one of them, whatever the documentation of the original says.
    let in_bucket_0 = (0..).map(|i| i.to_string()).find(|day| {
        let buckets = keys::bucket::BUCKETS_DEFAULT;
        keys::bucket::even_bucket(day, buckets) == 0
    });
    let day = in_bucket_0.unwrap();
    client
        .call("PutItem", &format!("/users/even/mary.{day}"), &item(&day))
        .done();
    let found = client.names("/users/even/", &json!({"ShardingKey": "mary"}));
    assert_eq!(found, [format!("mary_0.{day}")]);

    // A header distributes where there is no schema.
    let buckets = [("X-evenkeel-buckets", "64")];
    let path = "/users/plain/johnd.20180602";
    client
        .call_with("PutItem", path, &buckets, &item("20180602"))
        .done();
    assert_eq!(
        client.names("/users/plain/", &json!({})),
        ["johnd_36.20180602"]
    );
    let got = client.call_with("GetItem", path, &buckets, &json!({}));
    assert_eq!(got.status, 200);
    assert_eq!(client.call("GetItem", path, &json!({})).status, 404);
}

#[test]
fn names_of_every_kind_are_found_in_a_distributed_table() {
    let (mut client, _server, _data) = start();
    let encoded =
        |name: &str| -> String { name.bytes().map(|byte| format!("%{byte:02X}")).collect() };
    let names: Vec<String> = [
        "é_7.ü", "a b.c d", "_.1", "a_.x", "a_0.", "a..b", "...", "#.#", "%.%", "_0._0",
    ]
    .into_iter()
    .map(str::to_owned)
    .chain(["plain_3".to_owned(), format!("{}.1", "x".repeat(253))])
    .collect();
    for buckets in [64, 1, 0, 10] {
        let schema =
            json!({"hashingBucketNum": buckets, "key": "k", "sortingKey": "s", "fields": []});
        let schema = schema.to_string();
        let path = "/users/even/.%23schema";
        client.send("PUT", path, &[], schema.as_bytes()).done();
        for (at, name) in names.iter().enumerate() {
            let path = format!("/users/even/{}", encoded(name));
            let item = json!({"Item": {"at": {"N": at.to_string()}}});
            client.call("PutItem", &path, &item).done();
        }
        let shown = client.names("/users/even/", &json!({"Limit": 5}));
        assert_eq!(shown.len(), names.len() + 1, "{shown:?}");
        let mut found = Vec::new();
        for name in shown.iter().filter(|name| *name != ".#schema") {
            let path = format!("/users/even/{}", encoded(name));
            let got = client.call("GetItem", &path, &json!({})).json();
            found.push(got["Item"]["at"]["N"].as_str().unwrap().to_owned());
        }
        found.sort_by_key(|at| at.parse::<usize>().unwrap());
        let all = (0..names.len()).map(|at| at.to_string());
        assert_eq!(found, all.collect::<Vec<_>>());
        for (at, name) in names.iter().enumerate() {
            let path = format!("/users/even/{}", encoded(name));
            let got = client.call("GetItem", &path, &json!({})).json();
            assert_eq!(got["Item"]["at"]["N"], at.to_string(), "{name}");
        }
    }
}

#[test]
fn sorting_keys_of_a_schema_are_numbers_and_times() {
    let (mut client, _server, _data) = start();
    for (kind, keys) in [
        ("long", ["-3", "5", "20", "100"]),
        ("double", ["-3.5", "0.5", "20", "1e2"]),
        ("timestamp", ["-1:0", "9:5", "10:40", "100:2"]),
    ] {
        let path = format!("/users/{kind}/");
        for key in keys.iter().rev() {
            client
                .call("PutItem", &format!("{path}k.{key}"), &json!({"Item": {}}))
                .done();
        }
        let schema = json!({
            "key": "k", "sortingKey": "s", "hashingBucketNum": 0,
            "fields": [
                {"name": "k", "type": "string", "nullable": false},
                {"name": "s", "type": kind, "nullable": false},
            ],
        });
        let schema = schema.to_string();
        client
            .send("PUT", &format!("{path}.%23schema"), &[], schema.as_bytes())
            .done();
        let names = keys.map(|key| format!("k.{key}"));
        assert_eq!(client.names(&path, &json!({"ShardingKey": "k"})), names);
        let range = json!({
            "ShardingKey": "k", "SortKeyRangeStart": keys[1], "SortKeyRangeEnd": keys[3],
        });
        assert_eq!(client.names(&path, &range), names[1..3]);
        // Partitions follow the schema of their table.
        let part = format!("{path}year=2018/");
        for key in keys.iter().rev() {
            client
                .call("PutItem", &format!("{part}k.{key}"), &json!({"Item": {}}))
                .done();
        }
        assert_eq!(client.names(&part, &json!({"ShardingKey": "k"})), names);
    }
}

#[test]
fn pages_of_all_tables_below_follow_each_other() {
    let (mut client, _server, _data) = start();
    for table in ["a", "a/b", "c/year=2018"] {
        fill(&mut client, &format!("/users/{table}/"), 5, 4);
    }
    let whole = client.names("/users/", &json!({"TableName": "/*", "Limit": 7}));
    assert_eq!(whole.len(), 60);
    let below = client.names("/users/a/", &json!({"TableName": "*", "Limit": 3}));
    assert_eq!(below.len(), 40);
    let page = client.call("GetItems", "/users/a/", &json!({}));
    let verifier = page.header("x-v3io-transaction-verifier").unwrap();
    assert!(verifier.starts_with("__mtime_secs=="), "{verifier}");
    let again = client.call("GetItems", "/users/a/", &json!({}));
    assert_eq!(again.header("x-v3io-transaction-verifier"), Some(verifier));
}
