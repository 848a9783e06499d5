//! Items one by one: how they are put, changed, read and deleted, byte by byte.

use serde_json::json;

use crate::client::start;

#[test]
fn every_type_comes_back_as_it_was_sent() {
    let (mut client, _server, _data) = start();
    let item = json!({
        "i": {"N": "-7"},
        "d": {"N": "1.0"},
        "huge": {"N": "1e300"},
        "s": {"S": "it's \"quoted\" \\ zwölf\n"},
        "b": {"B": "AQIDBA=="},
        "array": {"B": "MEGrAAEAAAAQAAAAAwEAAAEAAAAAAAAAAgAAAAAAAAA="},
        "t": {"BOOL": true},
        "at": {"TS": "1536000000:677999973"},
    });
    let put = client.call("PutItem", "/users/tbl/k", &json!({"Item": item}));
    put.done();
    let verifier = put.header("x-v3io-transaction-verifier").unwrap();
    assert!(verifier.starts_with("__mtime_secs=="), "{verifier}");
    assert!(verifier.contains(" and __mtime_nsecs=="), "{verifier}");
    assert!(put.header("last-modified").unwrap().ends_with(" GMT"));

    let got = client.call("GetItem", "/users/tbl/k", &json!({"AttributesToGet": "*"}));
    assert_eq!(got.json(), json!({"Item": item}));
    assert_eq!(got.header("x-v3io-transaction-verifier"), Some(verifier));
    // Without a body too, with POST, and through a path with two slashes.
    let headers = [("X-v3io-function", "GetItem")];
    let posted = client.send("POST", "//users//tbl/k", &headers, b"");
    assert_eq!(posted.json(), json!({"Item": item}));

    let some = json!({"AttributesToGet": "i,__name,absent"});
    let some = client.call("GetItem", "/users/tbl/k", &some).json();
    assert_eq!(
        some,
        json!({"Item": {"i": {"N": "-7"}, "__name": {"S": "k"}}})
    );
    for stars in ["**", "*,*"] {
        let all = client.call(
            "GetItem",
            "/users/tbl/k",
            &json!({"AttributesToGet": stars}),
        );
        let all = all.json();
        assert_eq!(all["Item"]["__name"], json!({"S": "k"}));
        assert_eq!(all["Item"]["__size"], json!({"N": "0"}));
        assert_eq!(all["Item"]["i"], json!({"N": "-7"}));
    }
}

#[test]
fn names_are_decoded() {
    let (mut client, _server, _data) = start();
    let item = json!({"Item": {"a": {"N": "1"}}});
    client
        .call("PutItem", "/users/tbl/a%20b/%C3%BC.x", &item)
        .done();
    let name = json!({"AttributesToGet": "__name"});
    let got = client.call("GetItem", "/users/tbl/a%20b/%c3%bc.x", &name);
    assert_eq!(got.json(), json!({"Item": {"__name": {"S": "ü.x"}}}));
    assert_eq!(client.names("/users/tbl/a%20b/", &json!({})), ["ü.x"]);
}

#[test]
fn table_and_key_may_come_in_the_body() {
    let (mut client, _server, _data) = start();
    let body =
        json!({"TableName": "my/table", "Key": {"id": {"N": "7"}}, "Item": {"a": {"N": "1"}}});
    client.call("PutItem", "/users/", &body).done();
    let got = client.call("GetItem", "/users/my/table/7", &json!({}));
    assert_eq!(
        got.json(),
        json!({"Item": {"a": {"N": "1"}, "id": {"N": "7"}}})
    );
    let names = client.names("/users/", &json!({"TableName": "my/table"}));
    assert_eq!(names, ["7"]);
}

#[test]
fn updates_and_their_modes() {
    let (mut client, _server, _data) = start();
    let get = json!({"AttributesToGet": "*"});
    let merge = json!({"UpdateMode": "CreateOrReplaceAttributes", "Item": {"b": {"N": "2"}}});
    client
        .call("PutItem", "/users/t/k", &json!({"Item": {"a": {"N": "1"}}}))
        .done();
    client.call("PutItem", "/users/t/k", &merge).done();
    let both = json!({"Item": {"a": {"N": "1"}, "b": {"N": "2"}}});
    assert_eq!(client.call("GetItem", "/users/t/k", &get).json(), both);

    let update = json!({
        "UpdateMode": "CreateOrReplaceAttributes",
        "UpdateExpression": "SET a = a + 1; c = a * 10; REMOVE b;",
    });
    client.call("UpdateItem", "/users/t/k", &update).done();
    let changed = json!({"Item": {"a": {"N": "2"}, "c": {"N": "20"}}});
    assert_eq!(client.call("GetItem", "/users/t/k", &get).json(), changed);

    // What a client sends that was given attributes and an expression.
    let quirk = json!({
        "UpdateMode": "CreateOrReplaceAttributes",
        "Item": {"a": {"N": "5"}},
        "UpdateExpression": "c = a + c",
    });
    client.call("PutItem", "/users/t/k", &quirk).done();
    let changed = json!({"Item": {"a": {"N": "5"}, "c": {"N": "25"}}});
    assert_eq!(client.call("GetItem", "/users/t/k", &get).json(), changed);

    let whole = json!({"UpdateMode": "OverWriteAttributes", "Item": {"z": {"N": "1"}}});
    client.call("PutItem", "/users/t/k", &whole).done();
    let replaced = json!({"Item": {"z": {"N": "1"}}});
    assert_eq!(client.call("GetItem", "/users/t/k", &get).json(), replaced);

    let new = json!({"UpdateMode": "CreateNewItemOnly", "Item": {"z": {"N": "2"}}});
    let refused = client.call("PutItem", "/users/t/k", &new);
    assert_eq!(refused.status, 400);
    assert_eq!(refused.text().matches("ErrorCode").count(), 2);
    assert!(refused.text().contains("369098809"));
    client.call("PutItem", "/users/t/new", &new).done();

    client
        .call(
            "UpdateItem",
            "/users/t/empty",
            &json!({"UpdateExpression": ""}),
        )
        .done();
    let empty = client.call("GetItem", "/users/t/empty", &get).json();
    assert_eq!(empty, json!({"Item": {}}));
}

#[test]
fn a_false_condition_is_told_as_clients_look_for_it() {
    let (mut client, _server, _data) = start();
    let put = client.call("PutItem", "/users/t/k", &json!({"Item": {"a": {"N": "1"}}}));
    let verifier = put
        .header("x-v3io-transaction-verifier")
        .unwrap()
        .to_owned();
    for (path, condition) in [("/users/t/k", "a == 2"), ("/users/t/absent", "a == 1")] {
        let body = json!({"Item": {"a": {"N": "3"}}, "ConditionExpression": condition});
        let refused = client.call("PutItem", path, &body);
        assert_eq!(refused.status, 400);
        assert_eq!(refused.text().matches("ErrorCode").count(), 1);
        assert!(refused.text().contains("16777244"));
    }
    let mine = json!({"UpdateExpression": "a = a + 1", "ConditionExpression": verifier});
    client.call("UpdateItem", "/users/t/k", &mine).done();
    assert_eq!(client.call("UpdateItem", "/users/t/k", &mine).status, 400);
    let either = json!({
        "UpdateExpression": "a = a + 1",
        "ConditionExpression": verifier,
        "AlternateUpdateExpression": "lost = true",
    });
    client.call("UpdateItem", "/users/t/k", &either).done();
    let got = client.call("GetItem", "/users/t/k", &json!({})).json();
    assert_eq!(
        got,
        json!({"Item": {"a": {"N": "2"}, "lost": {"BOOL": true}}})
    );
}

#[test]
fn deletes_of_items_and_tables() {
    let (mut client, _server, _data) = start();
    let item = json!({"Item": {"a": {"N": "1"}}});
    for i in 0..1200 {
        client
            .call("PutItem", &format!("/users/t/sub/k{i}"), &item)
            .done();
    }
    client.call("PutItem", "/users/t/k", &item).done();
    assert_eq!(client.send("DELETE", "/users/t/k", &[], b"").status, 204);
    let again = client.send("DELETE", "/users/t/k", &[], b"");
    assert_eq!(again.status, 404);
    assert_eq!(
        again.text(),
        r#"{"ErrorCode":-2,"ErrorMessage":"No such file or directory"}"#
    );
    assert_eq!(client.call("GetItem", "/users/t/k", &json!({})).status, 404);
    assert_eq!(client.scan("/users/t/sub/", &json!({})).len(), 1200);
    let full = client.send("DELETE", "/users/t/", &[], b"");
    assert_eq!(full.status, 409, "{}", full.text());
    assert!(full.text().contains("?recursive=1"), "{}", full.text());
    assert_eq!(client.scan("/users/t/sub/", &json!({})).len(), 1200);
    let all = client.send("DELETE", "/users/t/?recursive=1", &[], b"");
    assert_eq!(all.status, 204);
    assert_eq!(
        client.call("GetItems", "/users/t/sub/", &json!({})).status,
        404
    );
    assert_eq!(client.call("GetItems", "/users/t/", &json!({})).status, 404);
    assert_eq!(client.send("DELETE", "/users/t/", &[], b"").status, 404);
    // A table that lost its items one by one is there still.
    client.call("PutItem", "/users/left/k", &item).done();
    assert_eq!(client.send("DELETE", "/users/left/k", &[], b"").status, 204);
    assert_eq!(client.names("/users/left/", &json!({})).len(), 0);
    // An empty one goes, whether its path ends with a slash or not.
    assert_eq!(client.send("DELETE", "/users/left", &[], b"").status, 204);
    assert_eq!(client.send("DELETE", "/users/left", &[], b"").status, 404);
}

#[tokio::test]
async fn sql_sees_the_table_of_a_container() {
    let (mut client, server, _data) = start();
    for name in ["johnd.1", "johnd.2", "mary.1"] {
        let item = json!({"Item": {"a": {"N": "1"}}});
        client
            .call("PutItem", &format!("/users/t/{name}"), &item)
            .done();
    }
    let sql = server.connect().await;
    let query =
        "SELECT name FROM \"v3io/users\" WHERE path = 't/' AND sharding = 'johnd' ORDER BY name";
    let rows = sql.query(query, &[]).await.unwrap();
    let names: Vec<&str> = rows.iter().map(|row| row.get(0)).collect();
    assert_eq!(names, ["johnd.1", "johnd.2"]);
}
