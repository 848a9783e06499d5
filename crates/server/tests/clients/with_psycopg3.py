"""psycopg 3: parameters in text and binary, pipelines, cursors, COPY, transactions, errors."""

import asyncio
import datetime
import decimal
import threading
import uuid

import psycopg
from psycopg import errors, sql
from psycopg.rows import dict_row
from psycopg.types.json import Json, Jsonb

from checks import COLUMNS, create_everything, main, refused, rows_of_everything, same, section


def connect(**options):
    return psycopg.connect(autocommit=True, **options)


def fresh(conn, table, columns):
    conn.execute(f"DROP TABLE IF EXISTS {table}")
    conn.execute(f"CREATE TABLE {table} ({columns})")


@section
def connecting():
    """what the server says about itself at the start"""
    with connect(application_name="psycopg3-test") as conn:
        status = conn.info.parameter_status
        same("server_version is that of a PostgreSQL", conn.info.server_version >= 120000, True)
        same("client_encoding", status("client_encoding"), "UTF8")
        same("server_encoding", status("server_encoding"), "UTF8")
        same("integer_datetimes", status("integer_datetimes"), "on")
        same("standard_conforming_strings", status("standard_conforming_strings"), "on")
        same("application_name", status("application_name"), "psycopg3-test")
        same("DateStyle", status("DateStyle").startswith("ISO"), True)
        same("IntervalStyle", status("IntervalStyle"), "postgres")
        same("SHOW", conn.execute("SHOW application_name").fetchone(), ("psycopg3-test",))
        same("current_database", conn.execute("SELECT current_database(), current_user").fetchone(),
             (conn.info.dbname, conn.info.user))


def _round_trip(binary, placeholder):
    table = f"psycopg3_types_{'binary' if binary else 'text'}"
    rows = rows_of_everything()
    with connect(options="-c timezone=UTC") as conn:
        conn.execute(f"DROP TABLE IF EXISTS {table}")
        conn.execute(create_everything(table))
        marks = ", ".join([placeholder] * (1 + len(COLUMNS)))
        for row in rows:
            conn.execute(f"INSERT INTO {table} VALUES ({marks})", row)
        with conn.cursor(binary=binary) as cur:
            for at, (column, (kind, _)) in enumerate(COLUMNS.items(), start=1):
                cur.execute(f"SELECT {column} FROM {table} ORDER BY id")
                same(f"{column} {kind}", cur.fetchall(), [(row[at],) for row in rows])
            for at, (column, (kind, _)) in enumerate(COLUMNS.items(), start=1):
                for row in rows[:-1]:
                    cur.execute(f"SELECT id FROM {table} WHERE {column} = {placeholder} AND id = %s", (row[at], row[0]))
                    same(f"{column} = a parameter of {kind}", cur.fetchall(), [(row[0],)])


@section
def types_in_text():
    """parameters and results of every type in text"""
    _round_trip(False, "%t")


@section
def types_in_binary():
    """parameters and results of every type in binary"""
    _round_trip(True, "%b")


@section
def casts_of_parameters():
    """SELECT %s::type for every type"""
    with connect(options="-c timezone=UTC") as conn:
        for kind, values in COLUMNS.values():
            for value in values:
                for binary in (False, True):
                    cur = conn.cursor(binary=binary)
                    cur.execute(f"SELECT %s::{kind}", (value,))
                    same(f"%s::{kind}, binary {binary}", cur.fetchone(), (value,))
            same(f"NULL::{kind}", conn.execute(f"SELECT %s::{kind}", (None,)).fetchone(), (None,))


@section
def parameters_without_a_type():
    """parameters whose type only the statement can tell, or nothing"""
    with connect() as conn:
        same("text", conn.execute("SELECT %s", ("zwölf",)).fetchone(), ("zwölf",))
        same("small", conn.execute("SELECT %s", (7,)).fetchone(), (7,))
        same("arithmetic", conn.execute("SELECT %s + 1, 2.5 * %s", (2**40, 2)).fetchone(),
             (2**40 + 1, decimal.Decimal("5.0")))
        same("concatenation", conn.execute("SELECT 'a' || %s", ("b",)).fetchone(), ("ab",))
        same("NULL", conn.execute("SELECT %s::integer IS NULL", (None,)).fetchone(), (True,))
        fresh(conn, "psycopg3_untyped", "id integer PRIMARY KEY, day date, price numeric(10, 2)")
        conn.execute("INSERT INTO psycopg3_untyped VALUES (%s, %s, %s)", ("1", "2024-02-29", "1.5"))
        same("strings for every column", conn.execute("SELECT * FROM psycopg3_untyped WHERE day = %s", ("2024-02-29",)).fetchall(),
             [(1, datetime.date(2024, 2, 29), decimal.Decimal("1.50"))])


@section
def json():
    """json and jsonb"""
    value = {"name": "Zwölf", "built": [1, 2.5, None, True], "deep": {"a": "\"b\""}}
    with connect() as conn:
        fresh(conn, "psycopg3_json", "id integer PRIMARY KEY, a json, b jsonb")
        conn.execute("INSERT INTO psycopg3_json VALUES (%s, %s, %s)", (1, Json(value), Jsonb(value)))
        for binary in (False, True):
            cur = conn.cursor(binary=binary).execute("SELECT a, b FROM psycopg3_json")
            same(f"binary {binary}", cur.fetchone(), (value, value))
        same("member", conn.execute("SELECT b ->> 'name', b -> 'deep' ->> 'a' FROM psycopg3_json").fetchone(),
             ("Zwölf", '"b"'))


@section
def lists():
    """arrays as parameters and results"""
    with connect() as conn:
        fresh(conn, "psycopg3_lists", "id bigint PRIMARY KEY, name text")
        conn.execute("INSERT INTO psycopg3_lists VALUES (1, 'a'), (2, 'b'), (3, 'c')")
        found = conn.execute("SELECT id FROM psycopg3_lists WHERE id = ANY(%s) ORDER BY id", ([1, 3, 9],))
        same("= ANY of numbers", found.fetchall(), [(1,), (3,)])
        found = conn.execute("SELECT id FROM psycopg3_lists WHERE name = ANY(%s) ORDER BY id", (["b", "x"],))
        same("= ANY of texts", found.fetchall(), [(2,)])
        for binary in (False, True):
            cur = conn.cursor(binary=binary).execute("SELECT ARRAY[1, 2, NULL], ARRAY['a', 'b,\"c']")
            same(f"arrays, binary {binary}", cur.fetchone(), ([1, 2, None], ["a", 'b,"c']))
        same("array_agg", conn.execute("SELECT array_agg(name ORDER BY id) FROM psycopg3_lists").fetchone(),
             (["a", "b", "c"],))


@section
def lists_of_types():
    """= ANY with lists of each type, as text and in binary, by key and not"""
    ids = [uuid.UUID(int=number) for number in (1, 2, 3)]
    with connect() as conn:
        fresh(conn, "psycopg3_any", "id bigint PRIMARY KEY, four integer, two smallint, name text, short varchar(5), code char(4), mark uuid, day date, price numeric(10, 2)")
        for number, mark in enumerate(ids, 1):
            conn.execute("INSERT INTO psycopg3_any VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s)",
                         (number, number * 10, number, f"n{number}", f"s{number}", f"c{number}", mark, datetime.date(2024, 2, number), decimal.Decimal(number)))
        for sign in ("s", "b", "t"):
            for column, values in {
                "id": [1, 3, 2**40], "four": [10, 30], "two": [1, 3], "name": ["n1", "n3", 'x,"y'], "short": ["s1", "s3"], "code": ["c1", "c3"],
                "mark": [ids[0], ids[2]], "day": [datetime.date(2024, 2, 1), datetime.date(2024, 2, 3)], "price": [decimal.Decimal(1), decimal.Decimal("3.00")],
            }.items():
                found = conn.execute(f"SELECT id FROM psycopg3_any WHERE {column} = ANY(%{sign}) ORDER BY id", (values,))
                same(f"{column} = ANY, %{sign}", found.fetchall(), [(1,), (3,)])
                found = conn.execute(f"SELECT count(*) FROM psycopg3_any WHERE {column} <> ALL(%{sign})", (values,))
                same(f"{column} <> ALL, %{sign}", found.fetchone(), (1,))
            same(f"none, %{sign}", conn.execute(f"SELECT id FROM psycopg3_any WHERE id = ANY(%{sign})", ([],)).fetchall(), [])
        done = conn.execute("UPDATE psycopg3_any SET name = 'new' WHERE id = ANY(%s)", ([1, 2],))
        same("UPDATE", done.rowcount, 2)
        done = conn.execute("DELETE FROM psycopg3_any WHERE mark = ANY(%s)", ([ids[1]],))
        same("DELETE", done.rowcount, 1)


@section
def executemany():
    """many rows at once, with counts and RETURNING"""
    with connect() as conn:
        fresh(conn, "psycopg3_many", "id integer PRIMARY KEY, name text")
        cur = conn.cursor()
        cur.executemany("INSERT INTO psycopg3_many VALUES (%s, %s)", [(id, f"n{id}") for id in range(1000)])
        same("rowcount", cur.rowcount, 1000)
        cur.executemany("UPDATE psycopg3_many SET name = %s WHERE id = %s RETURNING id, name",
                        [("x", 5), ("y", 5000), ("z", 7)], returning=True)
        results = [cur.fetchall()]
        while cur.nextset():
            results.append(cur.fetchall())
        same("RETURNING", results, [[(5, "x")], [], [(7, "z")]])
        error = refused("a row that is there", errors.UniqueViolation, cur.executemany,
                        "INSERT INTO psycopg3_many VALUES (%s, %s)", [(2000, "a"), (5, "b")])
        same("sqlstate", error.sqlstate, "23505")
        same("all rows", conn.execute("SELECT count(*), min(id), max(id) FROM psycopg3_many").fetchone(), (1000, 0, 999))


@section
def pipeline():
    """pipeline mode: answers in order, and what follows an error is skipped"""
    with connect() as conn:
        fresh(conn, "psycopg3_pipeline", "id integer PRIMARY KEY, name text")
        with conn.pipeline():
            cursors = [conn.execute("INSERT INTO psycopg3_pipeline VALUES (%s, %s) RETURNING id", (id, "n")) for id in range(50)]
            count = conn.execute("SELECT count(*) FROM psycopg3_pipeline")
            same("answers", [cur.fetchone() for cur in cursors], [(id,) for id in range(50)])
            same("count", count.fetchone(), (50,))

        def fails_within():
            with conn.pipeline() as pipe:
                conn.execute("INSERT INTO psycopg3_pipeline VALUES (100, 'before')")
                conn.execute("INSERT INTO psycopg3_pipeline VALUES (1, 'there')")
                conn.execute("INSERT INTO psycopg3_pipeline VALUES (101, 'after')")
                pipe.sync()

        refused("a pipeline with an error", errors.UniqueViolation, fails_within)
        same("a failed pipeline is undone up to its sync",
             conn.execute("SELECT count(*) FROM psycopg3_pipeline WHERE id >= 100").fetchone(), (0,))
        with conn.pipeline(), conn.transaction():
            conn.execute("INSERT INTO psycopg3_pipeline VALUES (102, 'in a transaction')")
        same("transaction in a pipeline", conn.execute("SELECT name FROM psycopg3_pipeline WHERE id = 102").fetchone(),
             ("in a transaction",))


@section
def server_side_cursor():
    """DECLARE, FETCH, MOVE and CLOSE through a named cursor"""
    with connect() as conn:
        fresh(conn, "psycopg3_cursor", "id integer PRIMARY KEY")
        conn.cursor().executemany("INSERT INTO psycopg3_cursor VALUES (%s)", [(id,) for id in range(500)])
    with psycopg.connect() as conn:
        with conn.cursor("wanderer") as cur:
            cur.itersize = 100
            cur.execute("SELECT id FROM psycopg3_cursor WHERE id >= %s ORDER BY id", (10,))
            same("description", [column.name for column in cur.description], ["id"])
            same("first", cur.fetchone(), (10,))
            same("some", cur.fetchmany(3), [(11,), (12,), (13,)])
            cur.scroll(100)
            same("after MOVE", cur.fetchone(), (114,))
            same("rest", [id for id, in cur], list(range(115, 500)))
        with conn.cursor("second", binary=True) as cur:
            cur.execute("SELECT id FROM psycopg3_cursor ORDER BY id DESC LIMIT 2")
            same("binary", cur.fetchall(), [(499,), (498,)])
    with connect() as conn, conn.cursor("holder", withhold=True) as cur:
        cur.execute("SELECT id FROM psycopg3_cursor ORDER BY id")
        same("with hold, outside of a transaction", cur.fetchmany(2), [(0,), (1,)])


@section
def streaming():
    """single rows as they come"""
    with connect() as conn:
        fresh(conn, "psycopg3_stream", "id integer PRIMARY KEY")
        conn.cursor().executemany("INSERT INTO psycopg3_stream VALUES (%s)", [(id,) for id in range(300)])
        rows = conn.cursor().stream("SELECT id FROM psycopg3_stream ORDER BY id")
        same("rows", [id for id, in rows], list(range(300)))


@section
def copy_in():
    """COPY FROM STDIN in text, CSV and binary"""
    rows = rows_of_everything()
    with connect(options="-c timezone=UTC") as conn:
        conn.execute("DROP TABLE IF EXISTS psycopg3_copy")
        conn.execute(create_everything("psycopg3_copy"))
        with conn.cursor().copy("COPY psycopg3_copy FROM STDIN") as copy:
            for row in rows:
                copy.write_row(row)
        same("text", conn.execute("SELECT * FROM psycopg3_copy ORDER BY id").fetchall(), rows)

        conn.execute("DELETE FROM psycopg3_copy")
        types = ["int4"] + [kind.split("(")[0] for kind, _ in COLUMNS.values()]
        types = ["float8" if kind == "double precision" else kind for kind in types]
        with conn.cursor().copy("COPY psycopg3_copy FROM STDIN (FORMAT binary)") as copy:
            copy.set_types(types)
            for row in rows:
                copy.write_row(row)
        same("binary", conn.execute("SELECT * FROM psycopg3_copy ORDER BY id").fetchall(), rows)

        conn.execute("DELETE FROM psycopg3_copy")
        cur = conn.cursor()
        with cur.copy("COPY psycopg3_copy (words, id) FROM STDIN WITH (FORMAT csv, HEADER true, NULL '-')") as copy:
            copy.write('words,id\n"a ""b"",\nc",1\n-,2\n"-",3\n')
        same("rowcount", cur.rowcount, 3)
        same("csv", conn.execute("SELECT id, words, day FROM psycopg3_copy ORDER BY id").fetchall(),
             [(1, 'a "b",\nc', None), (2, None, None), (3, "-", None)])


@section
def copy_in_refused():
    """what goes wrong in COPY FROM leaves nothing behind"""
    with connect() as conn:
        fresh(conn, "psycopg3_copy_bad", "id integer PRIMARY KEY, name text")

        def copy_text(text):
            with conn.cursor().copy("COPY psycopg3_copy_bad FROM STDIN") as copy:
                copy.write(text)

        refused("no number", errors.InvalidTextRepresentation, copy_text, "1\ta\nx\tb\n")
        refused("a missing column", errors.BadCopyFileFormat, copy_text, "1\ta\n2\n")
        refused("the same key twice", errors.UniqueViolation, copy_text, "1\ta\n1\tb\n")

        class Doubt(Exception):
            pass

        def give_up():
            with conn.cursor().copy("COPY psycopg3_copy_bad FROM STDIN") as copy:
                copy.write("1\ta\n")
                raise Doubt

        refused("the program gives up", Doubt, give_up)
        same("nothing is left", conn.execute("SELECT count(*) FROM psycopg3_copy_bad").fetchone(), (0,))


@section
def copy_out():
    """COPY TO STDOUT of a table and of a query"""
    with connect() as conn:
        fresh(conn, "psycopg3_out", "id integer PRIMARY KEY, name text")
        conn.execute("INSERT INTO psycopg3_out VALUES (1, 'a\tb'), (2, NULL), (3, 'zwölf')")
        with conn.cursor().copy("COPY psycopg3_out TO STDOUT") as copy:
            same("text", b"".join(copy), "1\ta\\tb\n2\t\\N\n3\tzwölf\n".encode())
        with conn.cursor().copy("COPY (SELECT name, id FROM psycopg3_out ORDER BY id DESC LIMIT 2) TO STDOUT (FORMAT csv, HEADER)") as copy:
            same("csv", b"".join(copy), "name,id\nzwölf,3\n,2\n".encode())
        with conn.cursor().copy("COPY psycopg3_out TO STDOUT (FORMAT binary)") as copy:
            copy.set_types(["int4", "text"])
            same("binary", list(copy.rows()), [(1, "a\tb"), (2, None), (3, "zwölf")])


@section
def transactions():
    """BEGIN, COMMIT, ROLLBACK, savepoints and the state that the driver shows"""
    with connect() as conn:
        fresh(conn, "psycopg3_txn", "id integer PRIMARY KEY, name text")
    with psycopg.connect() as conn:
        ids = lambda: [id for id, in conn.execute("SELECT id FROM psycopg3_txn ORDER BY id")]
        status = lambda: conn.info.transaction_status.name
        same("idle", status(), "IDLE")
        conn.execute("INSERT INTO psycopg3_txn VALUES (1, 'a')")
        same("in a transaction", status(), "INTRANS")
        conn.rollback()
        same("rolled back", (status(), ids()), ("IDLE", []))
        conn.execute("INSERT INTO psycopg3_txn VALUES (2, 'b')")
        conn.commit()
        same("committed", ids(), [2])
        refused("no such table", errors.UndefinedTable, conn.execute, "SELECT * FROM psycopg3_missing")
        same("failed", status(), "INERROR")
        refused("a failed transaction", errors.InFailedSqlTransaction, conn.execute, "SELECT 1")
        refused("whatever is asked of it", errors.InFailedSqlTransaction, conn.execute, "SELECT * FROM psycopg3_missing")
        conn.rollback()

        with conn.transaction():
            conn.execute("INSERT INTO psycopg3_txn VALUES (3, 'outer')")
            try:
                with conn.transaction():
                    conn.execute("INSERT INTO psycopg3_txn VALUES (4, 'inner')")
                    conn.execute("INSERT INTO psycopg3_txn VALUES (3, 'again')")
            except errors.UniqueViolation:
                pass
            with conn.transaction():
                conn.execute("INSERT INTO psycopg3_txn VALUES (5, 'inner')")
        same("the failed savepoint is undone, the other stays", ids(), [2, 3, 5])


@section
def isolation_and_read_only():
    """isolation levels and read-only transactions"""
    with connect() as conn:
        fresh(conn, "psycopg3_levels", "id integer PRIMARY KEY")
    with psycopg.connect() as conn:
        for level in psycopg.IsolationLevel:
            conn.set_isolation_level(level)
            conn.execute("INSERT INTO psycopg3_levels VALUES (%s)", (level.value,))
            conn.commit()
        conn.set_isolation_level(psycopg.IsolationLevel.SERIALIZABLE)
        same("SHOW", conn.execute("SHOW transaction_isolation").fetchone(), ("serializable",))
        conn.rollback()
        conn.set_read_only(True)
        refused("a write", errors.ReadOnlySqlTransaction, conn.execute, "INSERT INTO psycopg3_levels VALUES (9)")
        conn.rollback()
        conn.set_read_only(None)
        conn.set_isolation_level(None)
        same("rows", conn.execute("SELECT count(*) FROM psycopg3_levels").fetchone(), (4,))


@section
def refusals():
    """the class of each error, and the parts that programs look at"""
    with connect() as conn:
        fresh(conn, "psycopg3_errors", "id integer PRIMARY KEY, name text NOT NULL, small smallint")
        conn.execute("INSERT INTO psycopg3_errors VALUES (1, 'a', 1)")
        for statement, expected in [
            ("INSERT INTO psycopg3_errors VALUES (1, 'b', 1)", errors.UniqueViolation),
            ("INSERT INTO psycopg3_errors VALUES (2, NULL, 1)", errors.NotNullViolation),
            ("INSERT INTO psycopg3_errors (id) VALUES (2)", errors.NotNullViolation),
            ("INSERT INTO psycopg3_errors VALUES (2, 'b', 40000)", errors.NumericValueOutOfRange),
            ("INSERT INTO psycopg3_errors VALUES ('x', 'b', 1)", errors.InvalidTextRepresentation),
            ("INSERT INTO psycopg3_errors (id, nothing) VALUES (2, 'b')", errors.UndefinedColumn),
            ("INSERT INTO psycopg3_errors (id, id) VALUES (2, 3)", errors.DuplicateColumn),
            ("SELECT nothing FROM psycopg3_errors", errors.UndefinedColumn),
            ("SELECT * FROM psycopg3_nothing", errors.UndefinedTable),
            ("SELECT nothing(1)", errors.UndefinedFunction),
            ("SELECT 1 / (id - id) FROM psycopg3_errors", errors.DivisionByZero),
            ("SELEC 1", errors.SyntaxError),
            ("SELECT 'x'::integer", errors.InvalidTextRepresentation),
            ("SELECT '2024-02-30'::date", errors.DatetimeFieldOverflow),
            ("SELECT name FROM psycopg3_errors GROUP BY id % 2", errors.GroupingError),
            ("SELECT (SELECT id FROM (VALUES (1), (2)) AS v(id))", errors.CardinalityViolation),
            ("CREATE TABLE psycopg3_errors (id integer PRIMARY KEY)", errors.DuplicateTable),
            ("DROP TABLE psycopg3_nothing", errors.UndefinedTable),
        ]:
            refused(statement, expected, conn.execute, statement)
        error = refused("diagnostics", errors.UniqueViolation, conn.execute, "INSERT INTO psycopg3_errors VALUES (1, 'b', 1)")
        diag = error.diag
        same("severity, state and table", (diag.severity, diag.sqlstate, diag.table_name, diag.constraint_name),
             ("ERROR", "23505", "psycopg3_errors", "psycopg3_errors_pkey"))
        same("detail", diag.message_detail, "Key (id)=(1) already exists.")
        error = refused("a null", errors.NotNullViolation, conn.execute, "INSERT INTO psycopg3_errors (id) VALUES (2)")
        same("column", error.diag.column_name, "name")
        error = refused("a position", errors.UndefinedColumn, conn.execute, "SELECT id, nothing FROM psycopg3_errors")
        same("position", error.diag.statement_position, "12")


@section
def serialization_failures():
    """of two transactions that cannot be put in an order, one is told to try again"""
    with connect() as conn:
        fresh(conn, "psycopg3_conflict", "id integer PRIMARY KEY, n integer")
        conn.execute("INSERT INTO psycopg3_conflict VALUES (1, 1), (2, 1)")
    level = psycopg.IsolationLevel.SERIALIZABLE
    with psycopg.connect() as one, psycopg.connect() as two:
        for conn in (one, two):
            conn.set_isolation_level(level)
            conn.execute("SELECT n FROM psycopg3_conflict WHERE id = 1").fetchone()
        two.execute("UPDATE psycopg3_conflict SET n = n + 1 WHERE id = 1")
        two.commit()

        def lost_update():
            one.execute("UPDATE psycopg3_conflict SET n = n + 10 WHERE id = 1")
            one.commit()

        error = refused("a lost update", errors.SerializationFailure, lost_update)
        same("sqlstate", error.sqlstate, "40001")
        one.rollback()
        same("the first stays", one.execute("SELECT n FROM psycopg3_conflict WHERE id = 1").fetchone(), (2,))
        one.rollback()

        def write_skew():
            for conn, id in ((one, 1), (two, 2)):
                conn.execute("SELECT sum(n) FROM psycopg3_conflict").fetchone()
                conn.execute("UPDATE psycopg3_conflict SET n = 0 WHERE id = %s", (id,))
            one.commit()
            two.commit()

        refused("write skew", errors.SerializationFailure, write_skew)
        two.rollback()
        one.rollback()
        left = one.execute("SELECT count(*) FROM psycopg3_conflict WHERE n = 0").fetchone()
        same("one of both writes", left, (1,))


@section
def prepared_statements():
    """named statements, many of them, and their end"""
    with connect() as conn:
        fresh(conn, "psycopg3_prepared", "id integer PRIMARY KEY, name text")
        for id in range(20):
            conn.execute("INSERT INTO psycopg3_prepared VALUES (%s, %s)", (id, f"n{id}"), prepare=True)
        for id in range(150):
            found = conn.execute(sql.SQL("SELECT name, {} FROM psycopg3_prepared WHERE id = %s").format(sql.Literal(id)),
                                 (id % 20,), prepare=True)
            same("found", found.fetchone(), (f"n{id % 20}", id))
        conn.execute("DEALLOCATE ALL")
        conn.execute("PREPARE finder (integer) AS SELECT name FROM psycopg3_prepared WHERE id = $1")
        same("EXECUTE", conn.execute("EXECUTE finder (3)").fetchone(), ("n3",))
        conn.execute("DEALLOCATE finder")
        refused("a statement that is gone", errors.InvalidSqlStatementName, conn.execute, "EXECUTE finder (3)")


@section
def client_side_binding():
    """literals written by the client, in the simple protocol"""
    rows = rows_of_everything()
    with psycopg.connect(autocommit=True, cursor_factory=psycopg.ClientCursor, options="-c timezone=UTC") as conn:
        conn.execute("DROP TABLE IF EXISTS psycopg3_client")
        conn.execute(create_everything("psycopg3_client"))
        marks = ", ".join(["%s"] * (1 + len(COLUMNS)))
        for row in rows:
            conn.execute(f"INSERT INTO psycopg3_client VALUES ({marks})", row)
        same("rows", conn.execute("SELECT * FROM psycopg3_client ORDER BY id").fetchall(), rows)
        cur = conn.execute("SELECT 1; SELECT 2, 'b'")
        same("the first of two statements", cur.fetchall(), [(1,)])
        cur.nextset()
        same("the second", cur.fetchall(), [(2, "b")])


@section
def descriptions():
    """names, types and counts of results"""
    with connect(row_factory=dict_row) as conn:
        fresh(conn, "psycopg3_columns", 'id integer PRIMARY KEY, "Mixed Case" text, price numeric(10, 2), short varchar(5)')
        cur = conn.execute('SELECT id, "Mixed Case", price, short, count(*) AS n FROM psycopg3_columns GROUP BY id, "Mixed Case", price, short')
        same("names", [column.name for column in cur.description], ["id", "Mixed Case", "price", "short", "n"])
        same("types", [column.type_code for column in cur.description], [23, 25, 1700, 1043, 20])
        same("precision", (cur.description[2].precision, cur.description[2].scale), (10, 2))
        same("length", cur.description[3].display_size, 5)
        cur = conn.execute("INSERT INTO psycopg3_columns VALUES (1, 'a', 1.5, 'x'), (2, 'b', NULL, NULL)")
        same("inserted", (cur.rowcount, cur.statusmessage), (2, "INSERT 0 2"))
        cur = conn.execute("UPDATE psycopg3_columns SET price = 2 WHERE id < 2 RETURNING id, price")
        same("returned", cur.fetchall(), [{"id": 1, "price": decimal.Decimal("2.00")}])
        same("updated", cur.statusmessage, "UPDATE 1")
        same("deleted", conn.execute("DELETE FROM psycopg3_columns").statusmessage, "DELETE 2")


@section
def catalog_lookups():
    """the driver's own look at pg_type"""
    from psycopg.types import TypeInfo

    with connect() as conn:
        info = TypeInfo.fetch(conn, "text")
        same("text", (info.name, info.oid, info.array_oid), ("text", 25, 1009))
        same("no such type", TypeInfo.fetch(conn, "psycopg3_no_such_type"), None)


@section
def cancelling():
    """a statement that is running can be cancelled, and the connection goes on"""
    with connect() as conn:
        timer = threading.Timer(0.3, conn.cancel)
        timer.start()
        refused("a long statement", errors.QueryCanceled, conn.execute, "SELECT pg_sleep(20)")
        timer.join()
        same("afterwards", conn.execute("SELECT 1").fetchone(), (1,))
        conn.execute("SET statement_timeout = '200ms'")
        refused("a statement over time", errors.QueryCanceled, conn.execute, "SELECT pg_sleep(20)")
        conn.execute("RESET statement_timeout")
        same("and after that", conn.execute("SELECT 2").fetchone(), (2,))


@section
async def asynchronous():
    """the asynchronous connection, and many of them at once"""
    with connect() as conn:
        fresh(conn, "psycopg3_async", "id integer PRIMARY KEY")

    async def insert(worker):
        async with await psycopg.AsyncConnection.connect() as conn:
            for id in range(worker * 20, worker * 20 + 20):
                await conn.execute("INSERT INTO psycopg3_async VALUES (%s)", (id,))
                await conn.commit()

    await asyncio.gather(*map(insert, range(8)))
    async with await psycopg.AsyncConnection.connect() as conn:
        cur = await conn.execute("SELECT count(*), max(id) FROM psycopg3_async")
        same("rows of all connections", await cur.fetchone(), (160, 159))


main()
