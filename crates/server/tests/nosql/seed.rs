//! The examples that people know collections by: drivers and their trips, cars, and the requests
//! that the frames service makes.

use serde_json::{Value as Json, json};

use crate::client::{Client, start};

#[test]
fn trips_of_a_driver_are_one_range() {
    let (mut client, _server, _data) = start();
    let trips = [
        ("johnd", "20180601", 25),
        ("johnd", "20180602", 224),
        ("johnd", "20180523", 17),
        ("bbrian", "20180603", 63),
        ("bbrian", "20180717", 12),
    ];
    for (driver, day, passengers) in trips {
        let item = json!({"Item": {
            "driver_id": {"S": driver},
            "date": {"S": day},
            "num_passengers": {"N": passengers.to_string()},
        }});
        let path = format!("/users/drivers/rides/{driver}.{day}");
        client.call("PutItem", &path, &item).done();
    }
    let june = json!({
        "ShardingKey": "johnd",
        "SortKeyRangeStart": "20180601",
        "SortKeyRangeEnd": "20180701",
    });
    assert_eq!(
        client.names("/users/drivers/rides/", &june),
        ["johnd.20180601", "johnd.20180602"]
    );
    let busy = json!({"ShardingKey": "johnd", "FilterExpression": "num_passengers > 100"});
    assert_eq!(
        client.names("/users/drivers/rides/", &busy),
        ["johnd.20180602"]
    );
}

#[test]
fn cars_are_counted_and_filtered() {
    let (mut client, _server, _data) = start();
    for (id, maker, state, miles) in [
        ("1", "Honda", "new", 3),
        ("2", "Mazda", "old", 80_000),
        ("3", "Honda", "old", 120_000),
    ] {
        let item = json!({"Item": {
            "manufacturer": {"S": maker}, "state": {"S": state}, "odometer": {"N": miles.to_string()},
        }});
        client
            .call("PutItem", &format!("/users/cars/{id}"), &item)
            .done();
    }
    let query = json!({
        "AttributesToGet": "__name,odometer",
        "FilterExpression": "(odometer >= 3 and manufacturer == 'Honda') and state IN ('old', 'used')",
    });
    assert_eq!(
        client.scan("/users/cars/", &query),
        [json!({"__name": {"S": "3"}, "odometer": {"N": "120000"}})]
    );
    let drive = json!({
        "UpdateExpression": "odometer = odometer + 1000; SET service = if_not_exists(service, 0) + 1;",
        "ConditionExpression": "state == 'old'",
    });
    client.call("UpdateItem", "/users/cars/2", &drive).done();
    let got = client.call(
        "GetItem",
        "/users/cars/2",
        &json!({"AttributesToGet": "odometer,service"}),
    );
    assert_eq!(
        got.json(),
        json!({"Item": {"odometer": {"N": "81000"}, "service": {"N": "1"}}})
    );
}

/// What the frames service sends for a write of a frame: the schema, and an update for each row.
fn write_frame(client: &mut Client, rows: &[(i64, f64)]) {
    let found = client.send("GET", "/users/frame/.%23schema", &[], b"");
    assert_eq!(found.status, 404);
    let schema = json!({
        "fields": [
            {"name": "id", "type": "long", "nullable": false},
            {"name": "x", "type": "double", "nullable": true},
        ],
        "key": "id", "sortingKey": "", "hashingBucketNum": 0,
    });
    client
        .send(
            "PUT",
            "/users/frame/.%23schema",
            &[],
            schema.to_string().as_bytes(),
        )
        .done();
    for (id, x) in rows {
        // Floats are written with an exponent, and times with a colon.
        let body = json!({
            "Item": {"id": {"N": id.to_string()}, "x": {"N": format!("{x:E}")}},
            "UpdateMode": "CreateNewItemOnly",
        });
        client
            .call("PutItem", &format!("/users/frame/{id}"), &body)
            .done();
        let again = client.call("PutItem", &format!("/users/frame/{id}"), &body);
        assert_eq!(
            (again.status, again.text().matches("ErrorCode").count()),
            (400, 2)
        );
        let update = json!({
            "UpdateMode": "CreateOrReplaceAttributes",
            "UpdateExpression": format!("x={x};seen=12:500;ok=true;delete(gone);id={id};"),
            "ConditionExpression": "seen != 12:500 or not exists(seen)",
        });
        client
            .call("UpdateItem", &format!("/users/frame/{id}"), &update)
            .done();
        let again = client.call("UpdateItem", &format!("/users/frame/{id}"), &update);
        assert_eq!(
            (again.status, again.text().contains("16777244")),
            (400, true)
        );
    }
}

#[test]
fn frames_writes_reads_infers_and_deletes() {
    let (mut client, _server, _data) = start();
    let rows = [(1, 1.5), (2, -2.25), (3, 1e10)];
    write_frame(&mut client, &rows);
    // A read: a scan of each segment, as many as there are nodes.
    let nodes = client.call("GetClusterMD", "/users/", &json!({})).json();
    let nodes = nodes["NumberOfVNs"].as_u64().unwrap();
    let mut items: Vec<Json> = Vec::new();
    for segment in 0..nodes {
        let body = json!({
            "AttributesToGet": "*", "Segment": segment, "TotalSegment": nodes,
            "FilterExpression": "__name != '.#schema'", "AllowObjectScatter": "true",
            "ReturnData": "true", "DataMaxSize": 1024,
        });
        items.extend(client.scan("/users/frame/", &body));
    }
    items.sort_by_key(|item| item["id"]["N"].as_str().unwrap().to_owned());
    let found: Vec<f64> = items
        .iter()
        .map(|item| item["x"]["N"].as_str().unwrap().parse().unwrap())
        .collect();
    assert_eq!(found, rows.map(|(_, x)| x));
    assert!(
        items
            .iter()
            .all(|item| item["seen"] == json!({"TS": "12:500"}))
    );
    // An inference: a few items with all their attributes.
    let sample = client.call(
        "GetItems",
        "/users/frame/",
        &json!({"AttributesToGet": "**", "Limit": 2}),
    );
    assert_eq!(sample.json()["NumItems"], 2);
    // A delete: names, each of them, and the directory.
    for item in client.scan("/users/frame/", &json!({"AttributesToGet": "__name"})) {
        let name = item["__name"]["S"].as_str().unwrap().replace('#', "%23");
        let gone = client.send("DELETE", &format!("/users/frame/{name}"), &[], b"");
        assert_eq!(gone.status, 204);
    }
    assert_eq!(client.send("DELETE", "/users/frame/", &[], b"").status, 204);
    assert_eq!(
        client.call("GetItems", "/users/frame/", &json!({})).status,
        404
    );
}
