"""storey, MLRun's stream processing: aggregations and items by its driver, files as sources and targets."""

import asyncio
import datetime
import os
import uuid

import pandas
import v3io.aio.dataplane
import v3io.dataplane
from storey import (
    AggregateByKey,
    AsyncEmitSource,
    CSVSource,
    CSVTarget,
    DataframeSource,
    FieldAggregator,
    Filter,
    JoinWithTable,
    Map,
    NoSqlTarget,
    ParquetSource,
    ParquetTarget,
    QueryByKey,
    Reduce,
    SyncEmitSource,
    Table,
    V3ioDriver,
    build_flow,
)
from storey.dtypes import FixedWindows, SlidingWindows

from checks import main, refused, same, section

ENDPOINT = os.environ["V3IO_API"]
os.environ["V3IO_ACCESS_KEY"] = "anything"
CONTAINER = "bigdata"
BEGIN = datetime.datetime(2020, 7, 21, 21, 40, tzinfo=datetime.timezone.utc)


def client():
    return v3io.dataplane.Client(endpoint=ENDPOINT, access_key="anything")


def table_path(name):
    return f"{CONTAINER}/storey/{name}-{uuid.uuid4().hex}"


def table(path, **options):
    return Table(path, V3ioDriver(webapi=ENDPOINT), **options)


def collected():
    return Reduce([], lambda found, event: [*found, event])


def run(*steps, events=(), key_of=None):
    """Runs a flow over events, each a body with its key and time."""
    controller = build_flow([SyncEmitSource(), *steps]).run()
    for body, key, at in events:
        controller.emit({**body, "when": at}, key)
    controller.terminate()
    return controller.await_termination()


def stuff(window):
    aggregator = FieldAggregator("stuff", "n", ["sum", "avg", "min", "max", "count", "sqr", "last", "first"], window)
    return [aggregator]


def ingest(path, window, events, **options):
    target = table(path, **options)
    aggregate = AggregateByKey(stuff(window), target, time_field="when")
    return run(aggregate, NoSqlTarget(target), collected(), events=events)


def query(path, window, names, key, at, **options):
    asked = QueryByKey(names, table(path, **options), time_field="when")
    return run(asked, collected(), events=[({"asked": 1}, key, at)])


def numbers(count, key="tal"):
    return [({"n": n}, key, BEGIN + datetime.timedelta(minutes=25 * n)) for n in range(count)]


def fixed_windows(partitioned):
    path = table_path("fixed")
    window = FixedWindows(["1h", "2h", "24h"])
    ingest(path, window, numbers(10), partitioned_by_key=partitioned)
    names = ["stuff_sum_24h", "stuff_min_24h", "stuff_max_24h", "stuff_count_24h", "stuff_avg_24h", "stuff_sqr_24h"]
    at = BEGIN + datetime.timedelta(minutes=130)
    found = query(path, window, names, "tal", at, partitioned_by_key=partitioned)
    # The day ends between the sixth and the seventh event.
    same("one answer", len(found), 1)
    same("day", [found[0][name] for name in names], [15.0, 0.0, 5.0, 6.0, 2.5, 55.0])
    nothing = query(path, window, names[:1], "nobody", at, partitioned_by_key=partitioned)
    same("nobody", nothing[0].get("stuff_sum_24h") in (0.0, None), True)


@section
def aggregations_of_one_writer():
    """windows of a key that one writer owns: a plain expression, guarded by the verifier"""
    fixed_windows(partitioned=True)


@section
def aggregations_of_many_writers():
    """windows of a key that others change too: an expression with if_else and times"""
    fixed_windows(partitioned=False)


@section
def sliding_windows():
    """sliding windows of many periods, whose expressions are long"""
    path = table_path("sliding")
    window = SlidingWindows(["1h", "2h", "24h"], "10m")
    ingest(path, window, numbers(10), partitioned_by_key=True)
    at = BEGIN + datetime.timedelta(minutes=25 * 9)
    names = ["stuff_sum_1h", "stuff_sum_24h", "stuff_count_24h", "stuff_max_2h"]
    found = query(path, window, names, "tal", at, partitioned_by_key=True)
    same("found", [found[0][name] for name in names[1:]], [45.0, 10.0, 9.0])
    # Seen from another writer, which has to fetch what the first one left.
    ingest(path, window, numbers(10), partitioned_by_key=False)
    found = query(path, window, names, "tal", at, partitioned_by_key=False)
    same("twice", [found[0][name] for name in names[1:]], [90.0, 20.0, 9.0])


@section
def long_expressions():
    """many aggregations at once: an expression of more than 8 KiB"""
    path = table_path("long")
    target = table(path, partitioned_by_key=False)
    window = SlidingWindows(["1h", "2h", "24h"], "10m")
    names = ["sum", "avg", "min", "max", "count", "stddev"]
    aggregators = [FieldAggregator(f"field_with_a_long_name_{at}", "n", names, window) for at in range(8)]
    aggregate = AggregateByKey(aggregators, target, time_field="when")
    sent = []
    driver = target._storage
    build = driver._build_feature_store_update_expression

    def noted(*arguments, **options):
        built = build(*arguments, **options)
        sent.append(len(built[0]))
        return built

    driver._build_feature_store_update_expression = noted
    run(aggregate, NoSqlTarget(target), collected(), events=numbers(3))
    same("longer than 8 KiB", max(sent) > 8192, True)
    columns = [f"field_with_a_long_name_{at}_sum_24h" for at in range(8)]
    found = query(path, window, columns, "tal", BEGIN + datetime.timedelta(minutes=50), partitioned_by_key=False)
    same("sums", [found[0][name] for name in columns], [3.0] * 8)


@section
def items():
    """items are written, joined and read back with every type"""
    path = table_path("items")
    target = table(path)
    at = datetime.datetime(2020, 1, 1, tzinfo=datetime.timezone.utc)
    body = {"number": 7, "real": 0.5, "words": "it's", "truth": True, "at": at}
    run(NoSqlTarget(target), events=[(body, "k", BEGIN)])
    container, where = path.split("/", 1)
    item = client().kv.get(container, where, "k").output.item
    same("stored", {name: item[name] for name in ("number", "real", "words")}, {"number": 7, "real": 0.5, "words": "it's"})
    joined = run(
        JoinWithTable(table(path), key_extractor=lambda _: "k", attributes=["number", "words"]),
        collected(),
        events=[({"own": 1}, "k", BEGIN)],
    )
    same("joined", [(event["own"], event["number"], event["words"]) for event in joined], [(1, 7, "it's")])
    missing = run(
        JoinWithTable(table(path), key_extractor=lambda _: "nobody", attributes=["number"], inner_join=True),
        collected(),
        events=[({"own": 1}, "nobody", BEGIN)],
    )
    same("nothing to join", missing, [])


@section
def csv_files():
    """CSV files are written and read, and one that is not there is told"""
    path = f"{CONTAINER}/storey/csv/{uuid.uuid4().hex}.csv"
    steps = [CSVTarget(f"v3io:///{path}", columns=["n", "n10"], header=True)]
    controller = build_flow([SyncEmitSource(), *steps]).run()
    for n in range(10):
        controller.emit({"n": n, "n10": 10 * n})
    controller.terminate()
    controller.await_termination()
    container, where = path.split("/", 1)
    text = client().object.get(container, where).body.decode()
    same("text", text, "n,n10\n" + "".join(f"{n},{10 * n}\n" for n in range(10)))
    controller = build_flow([
        CSVSource(f"v3io:///{path}", header=True),
        Map(lambda event: int(event[1])),
        Reduce(0, lambda sum, n: sum + n),
    ]).run()
    same("read", controller.await_termination(), 450)
    missing = build_flow([CSVSource(f"v3io:///{CONTAINER}/storey/none.csv", header=True)])
    refused("a file that is not there", FileNotFoundError, lambda: missing.run().await_termination())


@section
async def csv_by_an_async_source():
    """the same from a source that is awaited"""
    path = f"{CONTAINER}/storey/csv/{uuid.uuid4().hex}.csv"
    controller = build_flow([AsyncEmitSource(), CSVTarget(f"v3io:///{path}", columns=["n", "n10"], header=True)]).run()
    for n in range(3):
        await controller.emit([n, 10 * n])
    await controller.terminate()
    await controller.await_termination()
    own = v3io.aio.dataplane.Client(endpoint=ENDPOINT, access_key="anything")
    try:
        container, where = path.split("/", 1)
        same("text", (await own.object.get(container, where)).body, b"n,n10\n0,0\n1,10\n2,20\n")
    finally:
        await own.close()


@section
def parquet_files():
    """one Parquet file, partitioned ones, and a range of time from them"""
    path = f"v3io:///{CONTAINER}/storey/parquet/{uuid.uuid4().hex}"
    frame = pandas.DataFrame({
        "words": ["good", "hello", "world"],
        "at": pandas.to_datetime(["2018-05-07 13:52:37", "2019-01-26 14:52:37", "2020-05-11 13:52:37"]),
    })
    steps = [ParquetTarget(f"{path}/one.parquet", columns=["words", "at"])]
    build_flow([DataframeSource(frame), *steps]).run().await_termination()
    back = pandas.read_parquet(f"{path}/one.parquet")
    same("one file", list(back["words"]), ["good", "hello", "world"])
    parts = ParquetTarget(f"{path}/parts/", columns=["words", "at"], partition_cols=["$year"], time_field="at")
    build_flow([DataframeSource(frame), parts]).run().await_termination()
    source = ParquetSource(
        f"{path}/parts/",
        start_filter=pandas.Timestamp("2019-01-01 23:59:59"),
        end_filter=pandas.Timestamp("2019-12-01"),
        filter_column="at",
    )
    found = build_flow([source, Filter(lambda event: True), collected()]).run().await_termination()
    same("of one year", [event["words"] for event in found], ["hello"])


main()
