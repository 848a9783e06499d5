"""How a client program is written: sections, each of which ends at its first surprise.

A program asks a server what PostgreSQL would answer. It finds the server as libpq does, by
PGHOST, PGPORT, PGUSER and PGDATABASE, prints a line for each section, and ends with 1 if there was
a surprise. Later sections run all the same, so that one run shows everything that is wrong.
Arguments are names of sections; without them all are run. A name after a minus is one of a section
that is known to fail: it runs as well, and it is a surprise if it does not fail.
"""

import asyncio
import datetime
import decimal
import faulthandler
import inspect
import signal
import sys
import traceback
import uuid

# A section that hangs says where; one that cannot even do that ends the program.
SECTION_SECONDS_MAX = 20
PROGRAM_SECONDS_MAX = 60

_sections = []


class Surprise(Exception):
    """The server did something else than PostgreSQL would have done."""


def section(run):
    """Makes a function a section of the program."""
    _sections.append(run)
    return run


def same(what, actual, expected):
    """Both are of the same type and equal, and so is everything in them."""
    if not _alike(actual, expected):
        raise Surprise(f"{what}\n     expected {expected!r}\n     actual   {actual!r}")


def _alike(actual, expected):
    if type(actual) is not type(expected):
        return False
    if isinstance(expected, (list, tuple)):
        return len(actual) == len(expected) and all(map(_alike, actual, expected))
    if isinstance(expected, decimal.Decimal):
        # 1.50 and 1.5 are equal, but only one of them is what a numeric(10, 2) holds.
        return str(actual) == str(expected)
    return actual == expected


def refused(what, expected, run, *arguments):
    """The call raises an error of exactly this class, which is handed back."""
    try:
        run(*arguments)
    except expected as error:
        same(f"class of the error of {what}", type(error).__name__, expected.__name__)
        return error
    raise Surprise(f"{what}\n     expected {expected.__name__}\n     actual   no error")


async def refused_async(what, expected, awaitable):
    """The same for what is awaited."""
    try:
        await awaitable
    except expected as error:
        same(f"class of the error of {what}", type(error).__name__, expected.__name__)
        return error
    raise Surprise(f"{what}\n     expected {expected.__name__}\n     actual   no error")


UTC = datetime.timezone.utc

# Columns of every type that all the drivers know: the type in PostgreSQL's words, and values that
# stand at its edges.
COLUMNS = {
    "truth": ("boolean", [True, False]),
    "small": ("smallint", [0, -(2**15), 2**15 - 1]),
    "middle": ("integer", [0, -(2**31), 2**31 - 1]),
    "large": ("bigint", [0, -(2**63), 2**63 - 1]),
    "single": ("real", [0.0, -1.5, 0.25]),
    "double": ("double precision", [0.1, -1.5e300, float("inf")]),
    "exact": ("numeric(22, 9)", [decimal.Decimal("-1234567890123.000000001"), decimal.Decimal("0.500000000")]),
    "words": ("text", ["", "it's \"quoted\" \\ and\nzwölf ⛵", "NULL", "\\N\tx"]),
    "short": ("varchar(20)", ["Zwölf", " blanks "]),
    "bytes": ("bytea", [b"", bytes(range(256))]),
    "day": ("date", [datetime.date(1970, 1, 1), datetime.date(2024, 2, 29), datetime.date(1969, 7, 20)]),
    "moment": ("timestamp", [datetime.datetime(2018, 6, 2, 12, 30, 1, 999_999), datetime.datetime(1969, 7, 20, 20, 17)]),
    "instant": ("timestamptz", [datetime.datetime(2018, 6, 2, 12, 30, 1, 5, tzinfo=UTC)]),
    "span": ("interval", [datetime.timedelta(days=2, seconds=7, microseconds=9), datetime.timedelta(0)]),
    "name": ("uuid", [uuid.UUID("123e4567-e89b-12d3-a456-426614174000")]),
}


def create_everything(table):
    """The statement that makes a table with a column of each type behind its key."""
    columns = ", ".join(f'"{column}" {kind}' for column, (kind, _) in COLUMNS.items())
    return f"CREATE TABLE {table} (id integer PRIMARY KEY, {columns})"


def rows_of_everything():
    """Rows for that table: each value of each type once, and a row of NULLs."""
    longest = max(len(values) for _, values in COLUMNS.values())
    rows = [
        (id, *(values[id % len(values)] for _, values in COLUMNS.values()))
        for id in range(longest)
    ]
    return rows + [(longest, *(None for _ in COLUMNS))]


def main():
    """Runs the sections and ends the program."""
    faulthandler.dump_traceback_later(PROGRAM_SECONDS_MAX, exit=True)
    wanted = [name for name in sys.argv[1:] if not name.startswith("-")]
    not_yet = {name[1:] for name in sys.argv[1:] if name.startswith("-")}
    unknown = not_yet - {run.__name__ for run in _sections}
    chosen = [run for run in _sections if not wanted or run.__name__ in wanted]
    passed = {run.__name__: _passes(run) for run in chosen}
    failed = [name for name, passes in passed.items() if not passes and name not in not_yet]
    mended = [name for name, passes in passed.items() if passes and name in not_yet]
    if failed:
        print(f"{len(failed)} of {len(chosen)} sections failed: {', '.join(failed)}")
    if mended or unknown:
        print(f"sections that pass now, or do not exist, take them off the list: {', '.join([*mended, *unknown])}")
    sys.exit(1 if failed or mended or unknown or not chosen else 0)


def _passes(run):
    try:
        _run(run)
    except Exception as error:
        frames = traceback.extract_tb((error.__cause__ or error).__traceback__) + traceback.extract_tb(error.__traceback__)
        ours = [frame for frame in frames if frame.filename == run.__code__.co_filename]
        place = f"line {ours[-1].lineno}: {ours[-1].line}" if ours else ""
        kind = "" if isinstance(error, Surprise) else f"{type(error).__name__}: "
        print(f"FAIL {run.__name__}, {place}\n     {kind}{error}", flush=True)
        return False
    print(f"ok   {run.__name__}: {run.__doc__}", flush=True)
    return True


def _run(run):
    if inspect.iscoroutinefunction(run):
        asyncio.run(asyncio.wait_for(run(), SECTION_SECONDS_MAX))
        return
    signal.alarm(SECTION_SECONDS_MAX)
    try:
        run()
    finally:
        signal.alarm(0)


def _take_too_long(*_):
    raise Surprise(f"the section takes more than {SECTION_SECONDS_MAX} s")


signal.signal(signal.SIGALRM, _take_too_long)
