"""psycopg 2: literals written by the client, the simple protocol, and the helpers of its extras."""

import datetime
import decimal
import io
import os
import uuid

import psycopg2
import psycopg2.extensions as extensions
import psycopg2.extras as extras
from psycopg2 import errors

from checks import COLUMNS, create_everything, main, refused, rows_of_everything, same, section

extras.register_uuid()


def connect(autocommit=True, **options):
    conn = psycopg2.connect(dbname=os.environ["PGDATABASE"], **options)
    conn.autocommit = autocommit
    return conn


def fresh(cur, table, columns):
    cur.execute(f"DROP TABLE IF EXISTS {table}")
    cur.execute(f"CREATE TABLE {table} ({columns})")


def ask(cur, statement, parameters=None):
    cur.execute(statement, parameters)
    return cur.fetchall()


def plain(rows):
    """Bytes come as views of memory."""
    return [tuple(bytes(value) if isinstance(value, memoryview) else value for value in row) for row in rows]


@section
def connecting():
    """what the driver asks when it connects and resets"""
    conn = connect(application_name="psycopg2-test")
    cur = conn.cursor()
    same("encoding", conn.encoding, "UTF8")
    same("status", conn.status, extensions.STATUS_READY)
    same("version", conn.server_version >= 120000, True)
    same("application_name", conn.get_parameter_status("application_name"), "psycopg2-test")
    same("version()", isinstance(ask(cur, "SELECT version()")[0][0], str), True)
    conn.set_client_encoding("UTF8")
    conn.autocommit = False
    cur.execute("SELECT 1")
    same("in a transaction", conn.get_transaction_status(), extensions.TRANSACTION_STATUS_INTRANS)
    conn.reset()
    same("reset", conn.get_transaction_status(), extensions.TRANSACTION_STATUS_IDLE)
    conn.close()


@section
def types():
    """every type as a literal and as a result"""
    rows = rows_of_everything()
    conn = connect(options="-c timezone=UTC")
    cur = conn.cursor()
    cur.execute("DROP TABLE IF EXISTS psycopg2_types")
    cur.execute(create_everything("psycopg2_types"))
    marks = ", ".join(["%s"] * (1 + len(COLUMNS)))
    for row in rows:
        cur.execute(f"INSERT INTO psycopg2_types VALUES ({marks})", row)
    for at, (column, (kind, _)) in enumerate(COLUMNS.items(), start=1):
        found = plain(ask(cur, f"SELECT {column} FROM psycopg2_types ORDER BY id"))
        same(f"{column} {kind}", found, [(row[at],) for row in rows])
        for row in rows[:-1]:
            found = ask(cur, f"SELECT id FROM psycopg2_types WHERE {column} = %s AND id = %s", (row[at], row[0]))
            same(f"{column} = {row[at]!r}", found, [(row[0],)])
    conn.close()


@section
def lists_and_json():
    """ARRAY literals, IN with a tuple, json"""
    conn = connect()
    cur = conn.cursor()
    fresh(cur, "psycopg2_lists", "id bigint PRIMARY KEY, name text, doc jsonb")
    cur.execute("INSERT INTO psycopg2_lists VALUES (1, 'a', %s), (2, 'b', NULL), (3, 'c', NULL)",
                (extras.Json({"a": [1, "x"]}),))
    same("IN", ask(cur, "SELECT id FROM psycopg2_lists WHERE id IN %s ORDER BY id", ((1, 3, 9),)), [(1,), (3,)])
    same("ANY", ask(cur, "SELECT id FROM psycopg2_lists WHERE id = ANY(%s) ORDER BY id", ([2, 3],)), [(2,), (3,)])
    same("ANY of texts", ask(cur, "SELECT id FROM psycopg2_lists WHERE name = ANY(%s)", (["b"],)), [(2,)])
    same("json", ask(cur, "SELECT doc FROM psycopg2_lists WHERE id = 1"), [({"a": [1, "x"]},)])
    same("array", ask(cur, "SELECT ARRAY[1, 2], ARRAY['a', 'b']"), [([1, 2], ["a", "b"])])
    conn.close()


@section
def many_rows():
    """executemany, execute_batch, execute_values"""
    conn = connect()
    cur = conn.cursor()
    fresh(cur, "psycopg2_many", "id integer PRIMARY KEY, name text, day date")
    day = datetime.date(2024, 2, 29)
    cur.executemany("INSERT INTO psycopg2_many VALUES (%s, %s, %s)", [(id, "x", day) for id in range(50)])
    extras.execute_batch(cur, "INSERT INTO psycopg2_many VALUES (%s, %s, %s)",
                         [(id, "it's", day) for id in range(50, 350)])
    returned = extras.execute_values(
        cur, "INSERT INTO psycopg2_many VALUES %s RETURNING id, name",
        [(id, None, day) for id in range(350, 1000)], page_size=200, fetch=True)
    same("RETURNING", sorted(returned), [(id, None) for id in range(350, 1000)])
    same("rows", ask(cur, "SELECT count(*), count(name), max(id) FROM psycopg2_many"), [(1000, 350, 999)])
    extras.execute_values(
        cur, "UPDATE psycopg2_many SET name = data.name FROM (VALUES %s) AS data (id, name) WHERE psycopg2_many.id = data.id",
        [(1, "one"), (2, "two")])
    same("UPDATE FROM VALUES", ask(cur, "SELECT id, name FROM psycopg2_many WHERE id < 3 ORDER BY id"),
         [(0, "x"), (1, "one"), (2, "two")])
    conn.close()


@section
def copying():
    """copy_from, copy_to, copy_expert"""
    conn = connect()
    cur = conn.cursor()
    fresh(cur, "psycopg2_copy", "id integer PRIMARY KEY, name text, price numeric(10, 2)")
    cur.copy_from(io.StringIO("1\tzwölf\t1.5\n2\t\\N\t\\N\n"), "psycopg2_copy")
    cur.copy_from(io.StringIO("3;a;7\n"), "psycopg2_copy", sep=";", columns=("id", "name", "price"))
    same("rowcount", cur.rowcount, 1)
    cur.copy_expert("COPY psycopg2_copy FROM STDIN WITH CSV HEADER", io.StringIO('id,name,price\n4,"a,b",\n'))
    out = io.StringIO()
    cur.copy_to(out, "psycopg2_copy", columns=("id", "name", "price"))
    same("copy_to", out.getvalue(), "1\tzwölf\t1.50\n2\t\\N\t\\N\n3\ta\t7.00\n4\ta,b\t\\N\n")
    out = io.StringIO()
    cur.copy_expert("COPY (SELECT id, name FROM psycopg2_copy WHERE id > 2 ORDER BY id) TO STDOUT CSV", out)
    same("of a query", out.getvalue(), '3,a\n4,"a,b"\n')
    conn.close()


@section
def named_cursor():
    """a cursor on the server, forwards and by steps"""
    conn = connect()
    cur = conn.cursor()
    fresh(cur, "psycopg2_cursor", "id integer PRIMARY KEY")
    extras.execute_values(cur, "INSERT INTO psycopg2_cursor VALUES %s", [(id,) for id in range(300)])
    conn.autocommit = False
    with conn.cursor("wanderer") as named:
        named.itersize = 50
        named.execute("SELECT id FROM psycopg2_cursor ORDER BY id")
        same("first", named.fetchone(), (0,))
        same("some", named.fetchmany(2), [(1,), (2,)])
        named.scroll(10)
        same("after a step", named.fetchone(), (13,))
        same("rest", [id for id, in named], list(range(14, 300)))
    with conn.cursor("scroller", scrollable=True) as named:
        named.execute("SELECT id FROM psycopg2_cursor ORDER BY id")
        same("forwards", named.fetchmany(5)[-1], (4,))
        named.scroll(-3)
        same("backwards", named.fetchone(), (2,))
    conn.rollback()
    conn.close()


@section
def transactions():
    """commit, rollback, with-blocks, savepoints, sessions"""
    conn = connect()
    cur = conn.cursor()
    fresh(cur, "psycopg2_txn", "id integer PRIMARY KEY")
    conn.autocommit = False
    cur.execute("INSERT INTO psycopg2_txn VALUES (1)")
    conn.rollback()
    with conn, conn.cursor() as inner:
        inner.execute("INSERT INTO psycopg2_txn VALUES (2)")
    cur.execute("SAVEPOINT here")
    cur.execute("INSERT INTO psycopg2_txn VALUES (3)")
    cur.execute("ROLLBACK TO SAVEPOINT here")
    cur.execute("INSERT INTO psycopg2_txn VALUES (4)")
    cur.execute("RELEASE SAVEPOINT here")
    conn.commit()
    same("rows", ask(cur, "SELECT id FROM psycopg2_txn ORDER BY id"), [(2,), (4,)])
    conn.rollback()
    conn.set_session(isolation_level="SERIALIZABLE", readonly=True)
    same("level", ask(cur, "SHOW transaction_isolation"), [("serializable",)])
    refused("a write in a read-only session", errors.ReadOnlySqlTransaction, cur.execute, "DELETE FROM psycopg2_txn")
    conn.rollback()
    conn.close()


@section
def refusals():
    """classes of errors, and what they carry"""
    conn = connect()
    cur = conn.cursor()
    fresh(cur, "psycopg2_errors", "id integer PRIMARY KEY, name text NOT NULL")
    cur.execute("INSERT INTO psycopg2_errors VALUES (1, 'a')")
    for statement, expected in [
        ("INSERT INTO psycopg2_errors VALUES (1, 'b')", errors.UniqueViolation),
        ("INSERT INTO psycopg2_errors VALUES (2, NULL)", errors.NotNullViolation),
        ("SELECT * FROM psycopg2_missing", errors.UndefinedTable),
        ("SELECT missing FROM psycopg2_errors", errors.UndefinedColumn),
        ("SELECT 1 +", errors.SyntaxError),
        ("SELECT 1 / (id - id) FROM psycopg2_errors", errors.DivisionByZero),
    ]:
        refused(statement, expected, cur.execute, statement)
    error = refused("a key that is there", errors.UniqueViolation, cur.execute, "INSERT INTO psycopg2_errors VALUES (1, 'b')")
    same("code", (error.pgcode, error.diag.constraint_name), ("23505", "psycopg2_errors_pkey"))
    same("the base class", isinstance(error, psycopg2.IntegrityError), True)
    one, two = connect(autocommit=False), connect(autocommit=False)
    for other in (one, two):
        other.set_session(isolation_level="SERIALIZABLE")
        other.cursor().execute("SELECT name FROM psycopg2_errors WHERE id = 1")
    two.cursor().execute("UPDATE psycopg2_errors SET name = 'two' WHERE id = 1")
    two.commit()

    def lost_update():
        one.cursor().execute("UPDATE psycopg2_errors SET name = 'one' WHERE id = 1")
        one.commit()

    refused("a lost update", errors.SerializationFailure, lost_update)
    for other in (one, two, conn):
        other.close()


@section
def rows_as_mappings():
    """the cursors of the extras, and notices"""
    conn = connect()
    cur = conn.cursor(cursor_factory=extras.RealDictCursor)
    fresh(cur, "psycopg2_rows", "id integer PRIMARY KEY, price numeric(10, 2)")
    cur.execute("INSERT INTO psycopg2_rows VALUES (1, 2.5) RETURNING *")
    same("RETURNING", [dict(row) for row in cur.fetchall()], [{"id": 1, "price": decimal.Decimal("2.50")}])
    same("description", [(column.name, column.type_code) for column in cur.description], [("id", 23), ("price", 1700)])
    del conn.notices[:]
    cur.execute("DROP TABLE IF EXISTS psycopg2_no_such_table")
    same("notice", conn.notices, ['NOTICE:  table "psycopg2_no_such_table" does not exist, skipping\n'])
    named = conn.cursor(cursor_factory=extras.NamedTupleCursor)
    named.execute("SELECT %s::uuid AS name", (uuid.UUID(int=7),))
    same("named tuples", named.fetchone().name, uuid.UUID(int=7))
    conn.close()


main()
