"""v3io, the client of Iguazio's collections: its kv methods, plain and with asyncio, objects, lists."""

import datetime
import os

import v3io.aio.dataplane
import v3io.dataplane
from v3io.dataplane import RaiseForStatus
from v3io.dataplane.response import HttpResponseError

from checks import main, refused, refused_async, same, section

ENDPOINT = os.environ["V3IO_API"]
CONTAINER = "bigdata"


def connect(**options):
    return v3io.dataplane.Client(endpoint=ENDPOINT, access_key="anything", **options)


def connect_async():
    return v3io.aio.dataplane.Client(endpoint=ENDPOINT, access_key="anything")


def status_of(error):
    return error.status_code


EVERYTHING = {
    "integer": 7,
    "negative": -(2**63),
    "double": 1.5,
    "whole": 1.0,
    "huge": 1e300,
    "text": "it's \"quoted\" \\ zwölf\n",
    "empty": "",
    "truth": True,
    "bytes": b"\x00\xff\x10",
    "integers": [1, 2, -3],
    "doubles": [0.5, -1.25],
}


@section
def every_type():
    """attributes of every type come back as they were"""
    client = connect()
    same("put", client.kv.put(CONTAINER, "types", "all", EVERYTHING).status_code, 200)
    item = client.kv.get(CONTAINER, "types", "all").output.item
    same("item", sorted(item), sorted(EVERYTHING))
    for name, value in EVERYTHING.items():
        same(name, item[name], value)
    at = datetime.datetime(2018, 6, 2, 12, 30, 1, tzinfo=datetime.timezone.utc)
    client.kv.put(CONTAINER, "types", "time", {"at": at})
    found = client.kv.get(CONTAINER, "types", "time").output.item["at"]
    same("time", found.timestamp(), at.timestamp())


@section
def attribute_names():
    """some attributes, those of the system, and all of them"""
    client = connect()
    client.kv.put(CONTAINER, "names", "k", {"a": 1, "b": 2})
    get = lambda names: client.kv.get(CONTAINER, "names", "k", attribute_names=names).output.item
    same("some", get(["a", "__name", "absent"]), {"a": 1, "__name": "k"})
    same("own", get("*"), {"a": 1, "b": 2})
    for names in (["**"], "**"):
        item = get(names)
        same("all of it", (item["a"], item["__name"], item["__size"]), (1, "k", 0))


@section
def updates():
    """attributes merged, expressions, conditions, alternatives, and modes"""
    client = connect()
    item = lambda key: client.kv.get(CONTAINER, "updates", key).output.item
    client.kv.put(CONTAINER, "updates", "k", {"a": 1, "b": "x"})
    client.kv.update(CONTAINER, "updates", "k", attributes={"c": 3})
    same("merged", item("k"), {"a": 1, "b": "x", "c": 3})
    client.kv.update(CONTAINER, "updates", "k", expression="a=a+1; c=a*10")
    same("in order", item("k"), {"a": 2, "b": "x", "c": 20})
    client.kv.update(CONTAINER, "updates", "k", expression="a=100", condition="a==2 and b=='x'")
    same("condition", item("k")["a"], 100)
    false = refused("a false condition", HttpResponseError, lambda: client.kv.update(
        CONTAINER, "updates", "k", expression="a=7", condition="a==2"))
    same("status", status_of(false), 400)
    same("code", "16777244" in str(false), True)
    client.kv.update(CONTAINER, "updates", "k", expression="a=7", condition="a==2", alternate_expression="a=8")
    same("alternative", item("k")["a"], 8)
    client.kv.update(CONTAINER, "updates", "k", attributes={"z": 1}, update_mode="OverWriteAttributes")
    same("overwritten", item("k"), {"z": 1})
    client.kv.update(CONTAINER, "updates", "k", attributes={"z": 2}, expression="y=z+1")
    same("attributes and expression", item("k"), {"z": 2, "y": 3})
    exists = refused("an item that is there", HttpResponseError, lambda: client.kv.update(
        CONTAINER, "updates", "k", attributes={"z": 3}, update_mode="CreateNewItemOnly"))
    same("status", status_of(exists), 400)
    client.kv.update(CONTAINER, "updates", "fresh", expression="n=1")
    same("made by an update", item("fresh"), {"n": 1})
    refused("a put whose condition is false", HttpResponseError, lambda: client.kv.put(
        CONTAINER, "updates", "k", {"z": 9}, condition="z==1"))
    client.kv.put(CONTAINER, "updates", "k", {"z": 9}, condition="z==2")
    same("put with a condition", item("k"), {"z": 9})


@section
def arrays():
    """arrays are indexed by expressions"""
    client = connect()
    client.kv.put(CONTAINER, "arrays", "k", {"a": [1, 2, 3], "d": [0.5, 1.5]})
    client.kv.update(CONTAINER, "arrays", "k", expression="a[1]=a[1]*10; d[0]=a[2]; n=length(a)")
    item = client.kv.get(CONTAINER, "arrays", "k").output.item
    same("integers", item["a"], [1, 20, 3])
    same("doubles", item["d"], [3.0, 1.5])
    same("length", item["n"], 3)
    client.kv.update(CONTAINER, "arrays", "new", expression="a=init_array(3,'int'); a[2]=5")
    same("made by an expression", client.kv.get(CONTAINER, "arrays", "new").output.item["a"], [0, 0, 5])


@section
def missing():
    """what is not there is told with 404"""
    client = connect()
    error = refused("an item", HttpResponseError, lambda: client.kv.get(CONTAINER, "missing", "k"))
    same("status", status_of(error), 404)
    quiet = client.kv.get(CONTAINER, "missing", "k", raise_for_status=RaiseForStatus.never)
    same("status without raising", (quiet.status_code, quiet.output.item), (404, {}))
    listed = client.kv.get(CONTAINER, "missing", "k", raise_for_status=[200, 404])
    same("expected status", listed.status_code, 404)
    error = refused("a table", HttpResponseError, lambda: client.kv.scan(CONTAINER, "missing"))
    same("status", status_of(error), 404)


@section
def scans_and_cursors():
    """pages, cursors, filters, ranges and segments"""
    client = connect()
    for user in range(10):
        for day in range(5):
            client.kv.put(CONTAINER, "scans", f"user{user}.2018010{day}", {"user": user, "day": day})
    all_names = {f"user{user}.2018010{day}" for user in range(10) for day in range(5)}
    cursor = lambda **options: client.kv.new_cursor(CONTAINER, "scans", **options)
    items = cursor().all()
    same("all", {item["__name"] for item in items} == all_names and len(items), 50)
    page = client.kv.scan(CONTAINER, "scans/", limit=3)
    same("page", (len(page.output.items), page.output.last), (3, False))
    names, marker = [], None
    while True:
        page = client.kv.scan(CONTAINER, "scans", limit=7, marker=marker).output
        names += [item["__name"] for item in page.items]
        if page.last:
            break
        marker = page.next_marker
    same("by pages", (len(names), set(names) == all_names), (50, True))
    same("limit of a cursor", len(cursor(limit=12).all()), 12)
    same("attributes", cursor(attribute_names=["day"], limit=1).all()[0].keys(), {"day": 0}.keys())
    same("filter", len(cursor(filter_expression="user > 7 and day == 2").all()), 2)
    same("nothing", cursor(filter_expression="user > 70").all(), [])
    days = cursor(sharding_key="user3", sort_key_range_start="20180101", sort_key_range_end="20180104").all()
    same("range", [item["day"] for item in days], [1, 2, 3])
    parts = [item["__name"] for segment in range(4) for item in cursor(segment=segment, total_segments=4).all()]
    same("segments", (len(parts), set(parts) == all_names), (50, True))
    named = client.kv.scan(CONTAINER, "", table_name="scans", limit=2)
    same("table by name", len(named.output.items), 2)


@section
def deletes():
    """an item, and an item that is not there"""
    client = connect()
    client.kv.put(CONTAINER, "deletes", "k", {"a": 1})
    same("deleted", client.kv.delete(CONTAINER, "deletes", "k").status_code < 300, True)
    refused("gone", HttpResponseError, lambda: client.kv.get(CONTAINER, "deletes", "k"))
    error = refused("twice", HttpResponseError, lambda: client.kv.delete(CONTAINER, "deletes", "k"))
    same("status", status_of(error), 404)


@section
def schemas():
    """a schema is put and distributes its table"""
    client = connect()
    fields = [{"name": "k", "type": "string", "nullable": False}, {"name": "a", "type": "long", "nullable": True}]
    client.kv.create_schema(CONTAINER, "schemas", key="k", fields=fields)
    body = client.object.get(CONTAINER, "schemas/.#schema").body
    same("schema", b'"hashingBucketNum":0' in body.replace(b" ", b""), True)
    client.kv.put(CONTAINER, "schemas", "x", {"k": "x", "a": 1})
    names = sorted(item["__name"] for item in client.kv.new_cursor(CONTAINER, "schemas").all())
    same("the schema is an item too", names, [".#schema", "x"])


@section
def batches():
    """many requests on the way at once"""
    client = connect(max_connections=8)
    for i in range(40):
        client.batch.kv.put(CONTAINER, "batches", f"k{i}", {"i": i})
    statuses = [response.status_code for response in client.batch.wait()]
    same("puts", statuses, [200] * 40)
    for i in range(40):
        client.batch.kv.get(CONTAINER, "batches", f"k{i}")
    found = [response.output.item["i"] for response in client.batch.wait()]
    same("gets", sorted(found), list(range(40)))
    client.batch.kv.update(CONTAINER, "batches", "k0", expression="i=i+1")
    client.batch.kv.scan(CONTAINER, "batches")
    client.batch.kv.delete(CONTAINER, "batches", "k1")
    statuses = [response.status_code for response in client.batch.wait()]
    same("the others", statuses, [200, 200, 204])


@section
def deprecated_methods():
    """the older names of the same calls"""
    client = connect()
    client.put_item(CONTAINER, "older/k", {"a": 1})
    many = client.put_items(CONTAINER, "older", {"x": {"a": 2}, "y": {"a": 3}})
    same("put_items", many.success, True)
    client.update_item(CONTAINER, "older/k", expression="a=a+1")
    same("get_item", client.get_item(CONTAINER, "older/k").output.item, {"a": 2})
    items = client.get_items(CONTAINER, "older/").output.items
    same("get_items", sorted(item["a"] for item in items), [2, 2, 3])
    client.create_schema(CONTAINER, "older", key="k", fields=[])
    client.delete_object(CONTAINER, "older/k")
    refused("deleted", HttpResponseError, lambda: client.get_item(CONTAINER, "older/k"))


@section
def objects():
    """plain objects: put, read in part, grown, told about, deleted"""
    client = connect()
    client.object.put(CONTAINER, "objects/some file", body="0123456789")
    same("whole", client.object.get(CONTAINER, "objects/some file").body, b"0123456789")
    same("part", client.object.get(CONTAINER, "objects/some file", offset=2, num_bytes=3).body, b"234")
    same("rest", client.object.get(CONTAINER, "objects/some file", offset=8).body, b"89")
    client.object.put(CONTAINER, "objects/some file", body=b"abc", append=True)
    same("grown", client.object.get(CONTAINER, "objects/some file").body, b"0123456789abc")
    head = client.object.head(CONTAINER, "objects/some file")
    same("size", dict(head.headers)["Content-Length"], "13")
    head = client.object.head(CONTAINER, "objects")
    same("size of a directory", dict(head.headers)["Content-Length"], "0")
    error = refused("head", HttpResponseError, lambda: client.object.head(CONTAINER, "objects/none"))
    same("status of nothing", status_of(error), 404)
    client.object.delete(CONTAINER, "objects/some file")
    error = refused("gone", HttpResponseError, lambda: client.object.get(CONTAINER, "objects/some file"))
    same("status", status_of(error), 404)


@section
def listings():
    """containers, and what is in one"""
    client = connect()
    for path in ("a/x", "a/b/y", "a/c/z"):
        client.object.put(CONTAINER, f"listings/{path}", body="12")
    containers = [container.name for container in client.get_containers().output.containers]
    same("container", CONTAINER in containers, True)
    listing = client.container.list(CONTAINER, "listings/a/", get_all_attributes=True).output
    same("objects", [(one.key, one.size) for one in listing.contents], [("listings/a/x", 2)])
    same("directories", [one.prefix for one in listing.common_prefixes], ["listings/a/b/", "listings/a/c/"])
    same("all of it", listing.is_truncated, "false")
    only = client.container.list(CONTAINER, "listings/a/", directories_only=True).output
    same("only directories", (len(only.contents), len(only.common_prefixes)), (0, 2))
    for entry in (*listing.contents, *listing.common_prefixes):
        same("dates", (entry.last_modified[:2], entry.creating_time[:2]), ("20", "20"))
        same("number", entry.inode_number > 0, True)
        same("no shard", hasattr(entry, "last_sequence_id"), False)
    same("last", listing.next_marker, "listings/a/x")
    first = client.container.list(CONTAINER, "listings/a/", limit=2).output
    same("cut", (len(first.common_prefixes), first.is_truncated, first.next_marker), (2, "true", "listings/a/c"))
    rest = client.container.list(CONTAINER, "listings/a/", limit=2, marker=first.next_marker).output
    same("the rest", [one.key for one in rest.contents], ["listings/a/x"])
    for path in ("/no-such-path", "listings/a/x", "listings/a/no", "list"):
        missing = client.container.list(CONTAINER, path, raise_for_status=RaiseForStatus.never)
        same(path, (missing.status_code, "No such file" in str(missing.body)), (404, True))
    for path in ("listings/a", "/listings/a", "listings//a//"):
        same(path, len(client.container.list(CONTAINER, path).output.common_prefixes), 2)
    same("root", client.container.list(CONTAINER, "/").status_code, 200)
    created = [one.creation_date for one in client.get_containers().output.containers]
    same("dates of containers", [date for date in created if date < "2020"], [])


@section
def directories():
    """directories are made, kept while something is in them, and deleted"""
    client = connect()
    for name in ("dir-0/", "dir-1/"):
        client.object.put(CONTAINER, f"directories/{name}")
    client.object.put(CONTAINER, "directories/dir-1/object", body="1")
    listing = client.container.list(CONTAINER, "directories", directories_only=True).output
    same("made", [one.prefix for one in listing.common_prefixes], ["directories/dir-0/", "directories/dir-1/"])
    same("empty", client.object.delete(CONTAINER, "directories/dir-0/").status_code, 204)
    for path in ("directories/dir-1/", "directories/dir-1"):
        error = refused("not empty", HttpResponseError, lambda: client.object.delete(CONTAINER, path))
        same("status", status_of(error), 409)
    client.object.delete(CONTAINER, "directories/dir-1/object")
    same("emptied", client.object.delete(CONTAINER, "directories/dir-1").status_code, 204)
    listing = client.container.list(CONTAINER, "directories").output
    same("none left", (listing.contents, listing.common_prefixes), ([], []))


@section
def missing_containers():
    """a container that is not there is not made by those who write into it"""
    client = connect()
    attempts = [
        lambda: client.kv.put("misspelt", "t", "k", {"a": 1}),
        lambda: client.kv.update("misspelt", "t", "k", expression="a=1"),
        lambda: client.kv.get("misspelt", "t", "k"),
        lambda: client.object.put("misspelt", "o", body="1"),
        lambda: client.object.get("misspelt", "o"),
        lambda: client.container.list("misspelt", "/"),
    ]
    for at, attempt in enumerate(attempts):
        error = refused(f"attempt {at}", HttpResponseError, attempt)
        same(f"status {at}", (status_of(error), "Container not found" in str(error)), (404, True))


@section
async def with_asyncio():
    """the same kv methods, awaited"""
    client = connect_async()
    try:
        await client.kv.put(CONTAINER, "aio", "a b/ü.x", {"a": 1})
        same("name", (await client.kv.get(CONTAINER, "aio", "a b/ü.x")).output.item, {"a": 1})
        await client.kv.put(CONTAINER, "aio", "all", EVERYTHING)
        item = (await client.kv.get(CONTAINER, "aio", "all")).output.item
        for name, value in EVERYTHING.items():
            same(name, item[name], value)
        await client.kv.update(CONTAINER, "aio", "k", attributes={"n": 1})
        await client.kv.update(CONTAINER, "aio", "k", expression="n=n+1", condition="n==1")
        same("updated", (await client.kv.get(CONTAINER, "aio", "k")).output.item, {"n": 2})
        error = await refused_async("a false condition", HttpResponseError,
                                    client.kv.update(CONTAINER, "aio", "k", expression="n=0", condition="n==1"))
        same("status", status_of(error), 400)
        page = (await client.kv.scan(CONTAINER, "aio", filter_expression="n == 2")).output
        same("scan", ([one["__name"] for one in page.items], page.last), (["k"], True))
        items = await client.kv.new_cursor(CONTAINER, "aio").all()
        same("cursor", sorted(one["__name"] for one in items), ["all", "k"])
        await client.kv.create_schema(CONTAINER, "aio", key="k", fields=[])
        await client.object.put(CONTAINER, "aio/o", body="text")
        same("object", (await client.object.get(CONTAINER, "aio/o")).body, b"text")
        head = await client.object.head(CONTAINER, "aio")
        same("head of a directory", ("Content-Length", "0") in head.headers.items(), True)
        head = await client.object.head(CONTAINER, "aio/o")
        same("head", ("Content-Length", "4") in head.headers.items(), True)
        listing = (await client.container.list(CONTAINER, "aio", get_all_attributes=True)).output
        same("listing", [one.key for one in listing.contents], ["aio/.#schema", "aio/all", "aio/k", "aio/o"])
        error = await refused_async("a path that is not there", HttpResponseError,
                                    client.container.list(CONTAINER, "/no-such-path"))
        same("status", (status_of(error), "No such file" in str(error)), (404, True))
        error = await refused_async("a directory that is not empty", HttpResponseError,
                                    client.object.delete(CONTAINER, "aio/"))
        same("status", status_of(error), 409)
        error = await refused_async("a container", HttpResponseError,
                                    client.object.put("misspelt", "o", body="1"))
        same("status", (status_of(error), "Container not found" in str(error)), (404, True))
        await client.object.delete(CONTAINER, "aio/k")
        await refused_async("deleted", HttpResponseError, client.kv.get(CONTAINER, "aio", "k"))
    finally:
        await client.close()


main()
