"""asyncpg: binary everything, prepared statements, the pool's reset, COPY, cursors."""

import asyncio
import datetime
import decimal
import io
import os
import uuid

import asyncpg

from checks import COLUMNS, create_everything, main, refused_async, rows_of_everything, same, section


async def connect(**options):
    return await asyncpg.connect(database=os.environ["PGDATABASE"], **options)


async def fresh(conn, table, columns):
    await conn.execute(f"DROP TABLE IF EXISTS {table}")
    await conn.execute(f"CREATE TABLE {table} ({columns})")


def tuples(records):
    return [tuple(record) for record in records]


@section
async def connecting():
    """settings at the start, and statements without parameters"""
    conn = await connect(server_settings={"application_name": "asyncpg-test", "timezone": "UTC"})
    settings = conn.get_settings()
    same("application_name", settings.application_name, "asyncpg-test")
    same("version", conn.get_server_version().major >= 12, True)
    same("process", conn.get_server_pid() > 0, True)
    same("fetchval", await conn.fetchval("SELECT 1"), 1)
    same("execute", await conn.execute("SELECT 1; SELECT 2"), "SELECT 1")
    await conn.close()


@section
async def types():
    """parameters and results of every type"""
    conn = await connect(server_settings={"timezone": "UTC"})
    rows = rows_of_everything()
    await conn.execute("DROP TABLE IF EXISTS asyncpg_types")
    await conn.execute(create_everything("asyncpg_types"))
    marks = ", ".join(f"${at}" for at in range(1, len(COLUMNS) + 2))
    for row in rows:
        await conn.execute(f"INSERT INTO asyncpg_types VALUES ({marks})", *row)
    for at, (column, (kind, _)) in enumerate(COLUMNS.items(), start=1):
        found = await conn.fetch(f"SELECT {column} FROM asyncpg_types ORDER BY id")
        # asyncpg has a UUID of its own below the standard one.
        found = [(type(row[at])(str(value)) if column == "name" and value else value,) for (value,), row in zip(tuples(found), rows)]
        same(f"{column} {kind}", found, [(row[at],) for row in rows])
        for row in rows[:-1]:
            found = await conn.fetchval(f"SELECT id FROM asyncpg_types WHERE {column} = $1 AND id = $2", row[at], row[0])
            same(f"{column} = a parameter", found, row[0])
    await conn.close()


@section
async def json():
    """json and jsonb as text, and with a codec"""
    import json as codec

    conn = await connect()
    await fresh(conn, "asyncpg_json", "id integer PRIMARY KEY, a json, b jsonb")
    await conn.execute("INSERT INTO asyncpg_json VALUES (1, $1, $2)", '{"a": 1}', '{"b": [2]}')
    same("text", tuples(await conn.fetch("SELECT a, b FROM asyncpg_json")), [('{"a": 1}', '{"b": [2]}')])
    for kind in ("json", "jsonb"):
        await conn.set_type_codec(kind, encoder=codec.dumps, decoder=codec.loads, schema="pg_catalog")
    await conn.execute("INSERT INTO asyncpg_json VALUES (2, $1, $2)", {"x": None}, ["y"])
    same("codec", tuples(await conn.fetch("SELECT a, b FROM asyncpg_json WHERE id = 2")), [({"x": None}, ["y"])])
    await conn.close()


@section
async def lists():
    """arrays, for which the driver looks into the catalog"""
    conn = await connect()
    await fresh(conn, "asyncpg_lists", "id bigint PRIMARY KEY, name text")
    await conn.executemany("INSERT INTO asyncpg_lists VALUES ($1, $2)", [(1, "a"), (2, "b"), (3, "c")])
    found = await conn.fetch("SELECT id FROM asyncpg_lists WHERE id = ANY($1::bigint[]) ORDER BY id", [1, 3])
    same("= ANY", tuples(found), [(1,), (3,)])
    found = await conn.fetch("SELECT id FROM asyncpg_lists WHERE name = ANY($1) ORDER BY id", ["b"])
    same("= ANY of texts", tuples(found), [(2,)])
    same("array", await conn.fetchval("SELECT ARRAY[1, NULL, 3]"), [1, None, 3])
    same("array_agg", await conn.fetchval("SELECT array_agg(name ORDER BY id) FROM asyncpg_lists"), ["a", "b", "c"])
    found = await conn.fetch("SELECT * FROM unnest($1::integer[], $2::text[]) AS v(id, name)", [7, 8], ["x", None])
    same("unnest", tuples(found), [(7, "x"), (8, None)])
    await conn.close()


@section
async def lists_of_types():
    """= ANY with lists of the type that the server tells"""
    ids = [uuid.UUID(int=number) for number in (1, 2, 3)]
    conn = await connect()
    await fresh(conn, "asyncpg_any", "id bigint PRIMARY KEY, four integer, two smallint, name text, short varchar(5), mark uuid, day date, price numeric(10, 2)")
    await conn.executemany("INSERT INTO asyncpg_any VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
                           [(number, number * 10, number, f"n{number}", f"s{number}", mark, datetime.date(2024, 2, number), decimal.Decimal(number))
                            for number, mark in enumerate(ids, 1)])
    for column, kind, values in (
        ("id", "bigint", [1, 3, 2**40]), ("four", "integer", [10, 30]), ("two", "smallint", [1, 3]), ("name", "text", ["n1", "n3", 'x,"y']),
        ("short", "varchar", ["s1", "s3"]), ("mark", "uuid", [ids[0], ids[2]]), ("day", "date", [datetime.date(2024, 2, 1), datetime.date(2024, 2, 3)]),
        ("price", None, [decimal.Decimal(1), decimal.Decimal("3.00")]),
    ):
        for cast in ("", f"::{kind}[]") if kind else ("",):
            found = await conn.fetch(f"SELECT id FROM asyncpg_any WHERE {column} = ANY($1{cast}) ORDER BY id", values)
            same(f"{column} = ANY($1{cast})", tuples(found), [(1,), (3,)])
    same("none", tuples(await conn.fetch("SELECT id FROM asyncpg_any WHERE id = ANY($1)", [])), [])
    same("UPDATE", await conn.execute("UPDATE asyncpg_any SET name = 'new' WHERE id = ANY($1)", [1, 2]), "UPDATE 2")
    await conn.close()


@section
async def prepared():
    """prepared statements: parameters, attributes, reuse, a schema that changes"""
    conn = await connect()
    await fresh(conn, "asyncpg_prepared", "id integer PRIMARY KEY, name text, price numeric(10, 2)")
    insert = await conn.prepare("INSERT INTO asyncpg_prepared VALUES ($1, $2, $3)")
    same("parameters", [kind.name for kind in insert.get_parameters()], ["int4", "text", "numeric"])
    await insert.executemany([(id, f"n{id}", decimal.Decimal(id)) for id in range(100)])
    same("no rows", await insert.fetch(1000, "x", None), [])
    same("status message", insert.get_statusmsg(), "INSERT 0 1")
    select = await conn.prepare("SELECT name, price FROM asyncpg_prepared WHERE id = $1")
    same("attributes", [(column.name, column.type.name) for column in select.get_attributes()],
         [("name", "text"), ("price", "numeric")])
    for id in (3, 99, 3):
        same("row", tuple(await select.fetchrow(id)), (f"n{id}", decimal.Decimal(f"{id}.00")))
    same("no row", await select.fetchrow(500), None)
    star = "SELECT * FROM asyncpg_prepared WHERE id = $1"
    same("before", len(await conn.fetchrow(star, 1)), 3)
    await conn.execute("ALTER TABLE asyncpg_prepared ADD COLUMN more text")
    same("after", tuple(await conn.fetchrow(star, 1)), (1, "n1", decimal.Decimal("1.00"), None))
    await conn.close()


@section
async def pool():
    """a pool, whose connections are reset when they come back"""
    async with asyncpg.create_pool(database=os.environ["PGDATABASE"], min_size=2, max_size=4) as pool:
        await fresh(pool, "asyncpg_pool", "id integer PRIMARY KEY, name text")

        async def work(id):
            async with pool.acquire() as conn, conn.transaction():
                await conn.execute("INSERT INTO asyncpg_pool VALUES ($1, $2)", id, "n")
                return await conn.fetchval("SELECT id FROM asyncpg_pool WHERE id = $1", id)

        same("answers", await asyncio.gather(*map(work, range(40))), list(range(40)))
        same("rows", await pool.fetchval("SELECT count(*) FROM asyncpg_pool"), 40)
    async with asyncpg.create_pool(database=os.environ["PGDATABASE"], min_size=1, max_size=1) as pool:
        async with pool.acquire() as conn:
            await conn.execute("SET application_name = 'left behind'")
        async with pool.acquire() as conn:
            same("settings do not stay", (await conn.fetchval("SHOW application_name")) == "left behind", False)


@section
async def copying():
    """COPY of records, of files, from queries and from tables"""
    conn = await connect(server_settings={"timezone": "UTC"})
    rows = rows_of_everything()
    await conn.execute("DROP TABLE IF EXISTS asyncpg_copy")
    await conn.execute(create_everything("asyncpg_copy"))
    same("records", await conn.copy_records_to_table("asyncpg_copy", records=rows), f"COPY {len(rows)}")
    found = tuples(await conn.fetch("SELECT id, words, double, day, exact FROM asyncpg_copy ORDER BY id"))
    at = {column: at for at, column in enumerate(COLUMNS, start=1)}
    same("their rows", found, [(row[0], row[at["words"]], row[at["double"]], row[at["day"]], row[at["exact"]]) for row in rows])
    source = io.BytesIO("100,zwölf\n101,\n".encode())
    same("a file", await conn.copy_to_table("asyncpg_copy", source=source, columns=["id", "words"], format="csv"), "COPY 2")
    out = io.BytesIO()
    await conn.copy_from_query("SELECT id, words FROM asyncpg_copy WHERE id >= $1 ORDER BY id", 100, output=out)
    same("from a query", out.getvalue(), "100\tzwölf\n101\t\\N\n".encode())
    out = io.BytesIO()
    same("from a table", await conn.copy_from_table("asyncpg_copy", columns=["id"], output=out, format="csv"), f"COPY {len(rows) + 2}")
    await conn.close()


@section
async def cursors():
    """cursors within a transaction: portals that are read by pieces"""
    conn = await connect()
    await fresh(conn, "asyncpg_cursor", "id integer PRIMARY KEY")
    await conn.executemany("INSERT INTO asyncpg_cursor VALUES ($1)", [(id,) for id in range(500)])
    async with conn.transaction():
        found = [record["id"] async for record in conn.cursor("SELECT id FROM asyncpg_cursor WHERE id >= $1 ORDER BY id", 5, prefetch=50)]
        same("iterated", found, list(range(5, 500)))
        cur = await conn.cursor("SELECT id FROM asyncpg_cursor ORDER BY id")
        same("first", (await cur.fetchrow())["id"], 0)
        same("skipped", await cur.forward(10), 10)
        same("then", [record["id"] for record in await cur.fetch(3)], [11, 12, 13])
    await conn.close()


@section
async def transactions():
    """isolation levels, savepoints, read-only transactions"""
    conn = await connect()
    await fresh(conn, "asyncpg_txn", "id integer PRIMARY KEY")
    for at, level in enumerate(["serializable", "repeatable_read", "read_committed"]):
        async with conn.transaction(isolation=level):
            await conn.execute("INSERT INTO asyncpg_txn VALUES ($1)", at)
    async with conn.transaction():
        await conn.execute("INSERT INTO asyncpg_txn VALUES (10)")
        try:
            async with conn.transaction():
                await conn.execute("INSERT INTO asyncpg_txn VALUES (11)")
                await conn.execute("INSERT INTO asyncpg_txn VALUES (10)")
        except asyncpg.UniqueViolationError:
            pass
        async with conn.transaction():
            await conn.execute("INSERT INTO asyncpg_txn VALUES (12)")
    same("rows", [id for id, in tuples(await conn.fetch("SELECT id FROM asyncpg_txn ORDER BY id"))], [0, 1, 2, 10, 12])
    async with conn.transaction(isolation="serializable", readonly=True, deferrable=True):
        same("read", await conn.fetchval("SELECT count(*) FROM asyncpg_txn"), 5)
    transaction = conn.transaction(readonly=True)
    await transaction.start()
    await refused_async("a write", asyncpg.ReadOnlySQLTransactionError, conn.execute("DELETE FROM asyncpg_txn"))
    await transaction.rollback()
    await conn.close()


@section
async def refusals():
    """classes of errors, conflicts, and executemany that fails as a whole"""
    conn = await connect()
    await fresh(conn, "asyncpg_errors", "id integer PRIMARY KEY, name text NOT NULL")
    await conn.execute("INSERT INTO asyncpg_errors VALUES (1, 'a')")
    for statement, expected in [
        ("INSERT INTO asyncpg_errors VALUES (1, 'b')", asyncpg.UniqueViolationError),
        ("INSERT INTO asyncpg_errors VALUES (2, NULL)", asyncpg.NotNullViolationError),
        ("SELECT * FROM asyncpg_missing", asyncpg.UndefinedTableError),
        ("SELECT missing FROM asyncpg_errors", asyncpg.UndefinedColumnError),
        ("SELECT FROM WHERE", asyncpg.PostgresSyntaxError),
        ("SELECT 1 / (id - id) FROM asyncpg_errors", asyncpg.DivisionByZeroError),
    ]:
        await refused_async(statement, expected, conn.fetch(statement))
    await refused_async("many rows, one of them there", asyncpg.UniqueViolationError,
                        conn.executemany("INSERT INTO asyncpg_errors VALUES ($1, $2)", [(5, "a"), (1, "b"), (6, "c")]))
    same("none of them", await conn.fetchval("SELECT count(*) FROM asyncpg_errors"), 1)

    other = await connect()
    mine, theirs = (each.transaction(isolation="serializable") for each in (conn, other))
    await mine.start()
    await theirs.start()
    for each in (conn, other):
        await each.fetch("SELECT name FROM asyncpg_errors WHERE id = 1")
    await other.execute("UPDATE asyncpg_errors SET name = 'theirs' WHERE id = 1")
    await theirs.commit()

    async def lost_update():
        await conn.execute("UPDATE asyncpg_errors SET name = 'mine' WHERE id = 1")
        await mine.commit()

    await refused_async("a lost update", asyncpg.SerializationError, lost_update())
    await refused_async("a value of another type", asyncpg.DataError,
                        other.fetch("SELECT * FROM asyncpg_errors WHERE id = $1", "x"))
    same("what stayed", await other.fetchval("SELECT name FROM asyncpg_errors WHERE id = 1"), "theirs")
    await conn.close()
    await other.close()


@section
async def cancelling():
    """a timeout cancels the statement, and the connection goes on"""
    conn = await connect()
    same("a short statement", await conn.execute("SELECT pg_sleep(0)"), "SELECT 1")
    await refused_async("a long statement", TimeoutError, conn.fetch("SELECT pg_sleep(20)", timeout=0.3))
    same("afterwards", await conn.fetchval("SELECT 1"), 1)
    await conn.close()


@section
async def upserts():
    """ON CONFLICT with parameters, and RETURNING"""
    conn = await connect()
    await fresh(conn, "asyncpg_upserts", "id integer PRIMARY KEY, n integer, at timestamptz DEFAULT now()")
    statement = """INSERT INTO asyncpg_upserts (id, n) VALUES ($1, $2)
        ON CONFLICT (id) DO UPDATE SET n = asyncpg_upserts.n + EXCLUDED.n RETURNING n"""
    same("new", await conn.fetchval(statement, 1, 5), 5)
    same("there", await conn.fetchval(statement, 1, 7), 12)
    at = await conn.fetchval("SELECT at FROM asyncpg_upserts")
    same("a default", abs(at - datetime.datetime.now(datetime.timezone.utc)) < datetime.timedelta(minutes=5), True)
    same("nothing", await conn.execute("INSERT INTO asyncpg_upserts (id) VALUES (1) ON CONFLICT DO NOTHING"), "INSERT 0 0")
    await conn.close()


main()
