"""SQLAlchemy 2: reflection, create_all, the ORM, bulk inserts, upserts, with three drivers."""

import datetime
import decimal
import uuid

import sqlalchemy as sa
from sqlalchemy import orm
from sqlalchemy.dialects import postgresql
from sqlalchemy.exc import DBAPIError, IntegrityError, NoSuchTableError, ProgrammingError

from checks import UTC, main, refused, same, section

DRIVERS = ["psycopg", "psycopg2"]


def engine(driver="psycopg", **options):
    return sa.create_engine(f"postgresql+{driver}://", **options)


class Base(orm.DeclarativeBase):
    pass


class Boat(Base):
    __tablename__ = "sqlalchemy_boats"

    id: orm.Mapped[int] = orm.mapped_column(primary_key=True)
    name: orm.Mapped[str] = orm.mapped_column(sa.String(30))
    length: orm.Mapped[float | None]
    built: orm.Mapped[datetime.date | None]
    price: orm.Mapped[decimal.Decimal | None] = orm.mapped_column(sa.Numeric(10, 2))
    afloat: orm.Mapped[bool] = orm.mapped_column(default=True)
    made: orm.Mapped[datetime.datetime] = orm.mapped_column(sa.DateTime(timezone=True), server_default=sa.func.now())


class Trip(Base):
    __tablename__ = "sqlalchemy_trips"

    boat_id: orm.Mapped[int] = orm.mapped_column(sa.BigInteger, primary_key=True, autoincrement=False)
    started: orm.Mapped[datetime.datetime] = orm.mapped_column(primary_key=True)
    miles: orm.Mapped[int]
    notes: orm.Mapped[dict | None] = orm.mapped_column(postgresql.JSONB)


def tuples(result):
    return [tuple(row) for row in result]


def made(driver="psycopg"):
    """An engine over new, empty tables."""
    at = engine(driver)
    Base.metadata.drop_all(at)
    Base.metadata.create_all(at)
    return at


@section
def connecting():
    """what the dialect asks at the first connection"""
    for driver in DRIVERS:
        with engine(driver).connect() as conn:
            same(f"{driver}: answer", conn.scalar(sa.text("SELECT 1")), 1)
            same(f"{driver}: version", conn.dialect.server_version_info >= (12,), True)
            same(f"{driver}: schema", conn.dialect.default_schema_name, "public")


@section
def create_and_drop():
    """create_all and drop_all, each of them twice, and has_table"""
    at = made()
    Base.metadata.create_all(at)
    has = lambda name: sa.inspect(at).has_table(name)
    same("made", [has("sqlalchemy_boats"), has("sqlalchemy_trips"), has("sqlalchemy_none")], [True, True, False])
    Base.metadata.drop_all(at)
    Base.metadata.drop_all(at)
    same("dropped", has("sqlalchemy_boats"), False)


@section
def inspecting():
    """names, columns and keys through the inspector"""
    inspector = sa.inspect(made())
    names = [name for name in inspector.get_table_names() if name in ("sqlalchemy_boats", "sqlalchemy_trips")]
    same("tables", sorted(names), ["sqlalchemy_boats", "sqlalchemy_trips"])
    same("schemas", "public" in inspector.get_schema_names(), True)
    columns = inspector.get_columns("sqlalchemy_boats")
    same("columns", [(column["name"], str(column["type"]), column["nullable"]) for column in columns], [
        ("id", "INTEGER", False), ("name", "VARCHAR(30)", False), ("length", "DOUBLE PRECISION", True), ("built", "DATE", True),
        ("price", "NUMERIC(10, 2)", True), ("afloat", "BOOLEAN", False), ("made", "TIMESTAMP", False)])
    same("a default", columns[6]["default"], "now()")
    same("a sequence", "nextval(" in columns[0]["default"], True)
    same("key", inspector.get_pk_constraint("sqlalchemy_boats")["constrained_columns"], ["id"])
    same("its name", inspector.get_pk_constraint("sqlalchemy_boats")["name"], "sqlalchemy_boats_pkey")
    same("key of two", inspector.get_pk_constraint("sqlalchemy_trips")["constrained_columns"], ["boat_id", "started"])
    same("no foreign keys", inspector.get_foreign_keys("sqlalchemy_trips"), [])
    same("no unique constraints", inspector.get_unique_constraints("sqlalchemy_trips"), [])
    same("no check constraints", inspector.get_check_constraints("sqlalchemy_trips"), [])
    same("no indexes", inspector.get_indexes("sqlalchemy_trips"), [])
    same("no views", inspector.get_view_names(), [])
    same("no comment", inspector.get_table_comment("sqlalchemy_trips"), {"text": None})
    refused("no such table", NoSuchTableError, inspector.get_columns, "sqlalchemy_none")


@section
def reflecting():
    """tables made from the catalog alone, and used"""
    at = made()
    metadata = sa.MetaData()
    metadata.reflect(at, only=["sqlalchemy_boats", "sqlalchemy_trips"])
    trips = metadata.tables["sqlalchemy_trips"]
    same("key", [str(column.name) for column in trips.primary_key], ["boat_id", "started"])
    same("types", [type(column.type).__name__ for column in trips.columns], ["BIGINT", "TIMESTAMP", "INTEGER", "JSONB"])
    started = datetime.datetime(2024, 2, 29, 12)
    with at.begin() as conn:
        conn.execute(trips.insert(), {"boat_id": 7, "started": started, "miles": 5, "notes": {"wind": "south"}})
        same("row", tuples(conn.execute(sa.select(trips))), [(7, started, 5, {"wind": "south"})])
    alone = sa.Table("sqlalchemy_boats", sa.MetaData(), autoload_with=at)
    same("columns", [str(column.name) for column in alone.columns], ["id", "name", "length", "built", "price", "afloat", "made"])


def _orm(driver):
    at = made(driver)
    with orm.Session(at) as session:
        boat = Boat(name="Zwölf", length=9.5, built=datetime.date(2018, 6, 2), price=decimal.Decimal("1234.50"))
        session.add(boat)
        session.commit()
        same(f"{driver}: a number was given", isinstance(boat.id, int), True)
        same(f"{driver}: a default of the server", boat.made.tzinfo is not None, True)
        id = boat.id
    with orm.Session(at) as session:
        boat = session.get(Boat, id)
        same(f"{driver}: read", (boat.name, boat.length, boat.built, boat.price, boat.afloat),
             ("Zwölf", 9.5, datetime.date(2018, 6, 2), decimal.Decimal("1234.50"), True))
        boat.name, boat.price = "Thirteen", None
        session.commit()
        same(f"{driver}: changed", (session.get(Boat, id).name, session.get(Boat, id).price), ("Thirteen", None))
        session.add_all([Boat(name="next"), Boat(name="and next")])
        session.flush()
        session.rollback()
        same(f"{driver}: rolled back", session.scalar(sa.select(sa.func.count()).select_from(Boat)), 1)
        session.delete(session.get(Boat, id))
        session.commit()
        same(f"{driver}: deleted", session.get(Boat, id), None)


@section
def orm_with_psycopg():
    """an object's life with psycopg 3"""
    _orm("psycopg")


@section
def orm_with_psycopg2():
    """an object's life with psycopg 2"""
    _orm("psycopg2")


@section
async def orm_with_asyncpg():
    """an object's life with asyncpg"""
    import os

    from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine

    at = create_async_engine(f"postgresql+asyncpg:///{os.environ['PGDATABASE']}")
    async with at.begin() as conn:
        await conn.run_sync(Base.metadata.drop_all)
        await conn.run_sync(Base.metadata.create_all)
    async with AsyncSession(at, expire_on_commit=False) as session:
        boats = [Boat(name=f"n{at}", price=decimal.Decimal(at)) for at in range(5)]
        session.add_all(boats)
        await session.commit()
        same("keys", len({boat.id for boat in boats}), 5)
        found = await session.scalars(sa.select(Boat.name).where(Boat.id.in_([boat.id for boat in boats[:2]])).order_by(Boat.id))
        same("names", list(found), ["n0", "n1"])
    await at.dispose()


@section
def bulk_inserts():
    """many objects at once: keys come back in order"""
    for driver in DRIVERS:
        at = made(driver)
        with orm.Session(at) as session:
            boats = [Boat(name=f"n{at}", length=at / 2) for at in range(2500)]
            session.add_all(boats)
            session.commit()
            ids = dict(session.execute(sa.select(Boat.name, Boat.id)).all())
            same(f"{driver}: each object has its own key", [boat.id for boat in boats], [ids[f"n{at}"] for at in range(2500)])
            session.execute(sa.insert(Boat), [{"name": f"core{at}"} for at in range(500)])
            returned = session.scalars(sa.insert(Boat).returning(Boat.name, sort_by_parameter_order=True), [{"name": f"back{at}"} for at in range(100)])
            same(f"{driver}: RETURNING", list(returned), [f"back{at}" for at in range(100)])
            session.commit()
            same(f"{driver}: count", session.scalar(sa.select(sa.func.count(Boat.id))), 3100)


@section
def upserts():
    """ON CONFLICT DO UPDATE and DO NOTHING"""
    at = made()
    when = datetime.datetime(2024, 1, 1)
    with at.begin() as conn:
        rows = [{"boat_id": id, "started": when, "miles": id} for id in range(3)]
        insert = postgresql.insert(Trip)
        upsert = insert.on_conflict_do_update(
            index_elements=["boat_id", "started"], set_={"miles": Trip.miles + insert.excluded.miles})
        conn.execute(upsert, rows)
        conn.execute(upsert, rows[1:])
        conn.execute(insert.on_conflict_do_nothing(), rows + [{"boat_id": 9, "started": when, "miles": 9}])
        same("miles", tuples(conn.execute(sa.select(Trip.boat_id, Trip.miles).order_by(Trip.boat_id))),
             [(0, 0), (1, 2), (2, 4), (9, 9)])
        returned = conn.execute(upsert.returning(Trip.miles), rows[1])
        same("RETURNING", returned.scalar_one(), 3)
        named = insert.on_conflict_do_update(constraint="sqlalchemy_trips_pkey", set_={"miles": -1}, where=Trip.miles > 5)
        conn.execute(named, {"boat_id": 9, "started": when, "miles": 0})
        same("by the name of the constraint", conn.scalar(sa.select(Trip.miles).where(Trip.boat_id == 9)), -1)


@section
def queries():
    """what the expression language writes"""
    at = made()
    day = datetime.datetime(2024, 1, 1)
    with orm.Session(at) as session:
        session.execute(sa.insert(Boat), [
            {"id": id, "name": f"boat {id}", "length": id * 1.5, "price": decimal.Decimal(id % 3), "afloat": id % 2 == 0} for id in range(10)])
        session.execute(sa.insert(Trip), [
            {"boat_id": id, "started": day + datetime.timedelta(days=n), "miles": id * n} for id in range(5) for n in range(3)])
        session.commit()
        ask = lambda statement: tuples(session.execute(statement))
        b, t = Boat, Trip
        same("limit and offset", ask(sa.select(b.id).order_by(b.id.desc()).limit(2).offset(3)), [(6,), (5,)])
        same("in", ask(sa.select(b.id).where(b.id.in_([2, 4, 99])).order_by(b.id)), [(2,), (4,)])
        same("not in, nothing", ask(sa.select(b.id).where(b.id.not_in([]), b.id < 1)), [(0,)])
        same("like", ask(sa.select(b.id).where(b.name.like("%9")))+ask(sa.select(b.id).where(b.name.ilike("BOAT 8"))), [(9,), (8,)])
        same("startswith", ask(sa.select(sa.func.count()).where(b.name.startswith("boat", autoescape=True))), [(10,)])
        same("between", ask(sa.select(b.id).where(b.length.between(3, 4.5)).order_by(b.id)), [(2,), (3,)])
        same("is", ask(sa.select(sa.func.count()).where(b.afloat.is_(True), b.built.is_(None))), [(5,)])
        same("group", ask(sa.select(b.price, sa.func.count(), sa.func.max(b.id)).group_by(b.price).having(sa.func.count() > 3)),
             [(decimal.Decimal("0.00"), 4, 9)])
        same("join", ask(sa.select(b.name, sa.func.sum(t.miles)).join(t, t.boat_id == b.id).where(b.id > 2).group_by(b.name).order_by(b.name)),
             [("boat 3", 9), ("boat 4", 12)])
        same("outer join", ask(sa.select(b.id, t.miles).outerjoin(t, (t.boat_id == b.id) & (t.miles > 7)).where(b.id.in_([4, 9])).order_by(b.id)),
             [(4, 8), (9, None)])
        same("exists", ask(sa.select(sa.func.count()).select_from(b).where(sa.exists().where(t.boat_id == b.id))), [(5,)])
        same("subquery", ask(sa.select(b.id).where(b.id == sa.select(sa.func.max(t.boat_id)).scalar_subquery())), [(4,)])
        same("case and cast", ask(sa.select(sa.case((b.afloat, "yes"), else_="no"), sa.cast(b.id, sa.String)).where(b.id == 3)), [("no", "3")])
        same("coalesce", ask(sa.select(sa.func.coalesce(b.built, datetime.date(2000, 1, 1))).where(b.id == 3)), [(datetime.date(2000, 1, 1),)])
        same("distinct", ask(sa.select(b.price).distinct().order_by(b.price)), [(decimal.Decimal(f"{n}.00"),) for n in range(3)])
        same("union", sorted(ask(sa.union(sa.select(b.id).where(b.id < 2), sa.select(b.id).where(b.id < 3)))), [(0,), (1,), (2,)])
        cte = sa.select(t.boat_id, sa.func.sum(t.miles).label("miles")).group_by(t.boat_id).cte("far")
        same("with", ask(sa.select(cte.c.boat_id).where(cte.c.miles > 8).order_by(cte.c.boat_id)), [(3,), (4,)])
        rank = sa.func.row_number().over(partition_by=t.boat_id, order_by=t.miles.desc())
        ranked = sa.select(t.boat_id, t.miles, rank.label("rank")).subquery()
        same("window", ask(sa.select(ranked.c.boat_id, ranked.c.miles).where(ranked.c.rank == 1, ranked.c.boat_id > 2).order_by(ranked.c.boat_id)),
             [(3, 6), (4, 8)])
        same("extract", ask(sa.select(sa.extract("day", t.started)).where(t.boat_id == 1, t.miles == 2))[0][0] == 3, True)
        same("update returning", ask(sa.update(t).where(t.boat_id == 4, t.miles > 0).values(miles=t.miles + 1).returning(t.miles)), [(5,), (9,)])
        same("delete", session.execute(sa.delete(t).where(t.boat_id == 4)).rowcount, 3)
        session.rollback()


@section
def types():
    """every type that the dialect and the server share"""
    metadata = sa.MetaData()
    table = sa.Table(
        "sqlalchemy_types", metadata, sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("small", sa.SmallInteger), sa.Column("large", sa.BigInteger), sa.Column("real", sa.REAL),
        sa.Column("exact", sa.Numeric(22, 9)), sa.Column("words", sa.Text), sa.Column("bytes", sa.LargeBinary),
        sa.Column("moment", sa.DateTime), sa.Column("instant", sa.DateTime(timezone=True)), sa.Column("span", sa.Interval),
        sa.Column("name", sa.Uuid), sa.Column("doc", sa.JSON), sa.Column("truth", sa.Boolean))
    row = (1, -5, 2**40, 0.25, decimal.Decimal("1.500000000"), "zwölf", b"\x00\xff", datetime.datetime(2024, 1, 2, 3, 4, 5, 6),
           datetime.datetime(2024, 1, 2, tzinfo=UTC), datetime.timedelta(hours=30), uuid.UUID(int=9), {"a": [None]}, False)
    for driver in DRIVERS:
        at = engine(driver, connect_args={"options": "-c timezone=UTC"})
        metadata.drop_all(at)
        metadata.create_all(at)
        with at.begin() as conn:
            conn.execute(table.insert().values(row))
            for column, value in zip(table.columns, row):
                same(f"{driver}: {column.name}", conn.scalar(sa.select(column)), value)


@section
def identities_and_defaults():
    """GENERATED … AS IDENTITY, server defaults, quoted names"""
    metadata = sa.MetaData()
    table = sa.Table(
        "sqlalchemy Mixed", metadata, sa.Column("Id", sa.BigInteger, sa.Identity(), primary_key=True),
        sa.Column("order", sa.Text, server_default="none"), sa.Column("n", sa.Integer, server_default=sa.text("7"), nullable=False))
    at = engine()
    metadata.drop_all(at)
    metadata.create_all(at)
    with at.begin() as conn:
        first = conn.execute(table.insert().values(n=1)).inserted_primary_key[0]
        second = conn.execute(table.insert().values(order="b")).inserted_primary_key[0]
        same("keys grow", second > first, True)
        same("defaults", tuples(conn.execute(sa.select(table.c.order, table.c.n).order_by(table.c.Id))),
             [("none", 1), ("b", 7)])
    columns = sa.inspect(at).get_columns("sqlalchemy Mixed")
    same("identity", columns[0]["identity"]["always"], False)
    same("default", columns[1]["default"], "'none'::text")
    metadata.drop_all(at)


@section
def transactions_and_refusals():
    """isolation levels, savepoints, classes of errors, rows that stream"""
    at = made()
    with at.connect().execution_options(isolation_level="SERIALIZABLE") as conn:
        same("level", conn.get_isolation_level(), "SERIALIZABLE")
        conn.execute(sa.insert(Boat).values(id=1, name="a"))
        nested = conn.begin_nested()
        refused("the same key", IntegrityError, conn.execute, sa.insert(Boat).values(id=1, name="b"))
        nested.rollback()
        conn.execute(sa.insert(Boat).values(id=2, name="b"))
        conn.commit()
    with at.connect().execution_options(isolation_level="AUTOCOMMIT") as conn:
        conn.execute(sa.insert(Boat).values(id=3, name="c"))
        refused("no such table", ProgrammingError, conn.execute, sa.text("SELECT * FROM sqlalchemy_none"))
        same("rows", conn.scalar(sa.select(sa.func.count(Boat.id))), 3)
    with at.connect().execution_options(stream_results=True, yield_per=1) as conn:
        same("streamed", list(conn.scalars(sa.select(Boat.id).order_by(Boat.id))), [1, 2, 3])
    serializable = engine(isolation_level="SERIALIZABLE")
    with serializable.connect() as one, serializable.connect() as two:
        for conn in (one, two):
            conn.scalar(sa.select(Boat.name).where(Boat.id == 1))
        two.execute(sa.update(Boat).where(Boat.id == 1).values(name="two"))
        two.commit()

        def lost_update():
            one.execute(sa.update(Boat).where(Boat.id == 1).values(name="one"))
            one.commit()

        try:
            lost_update()
            state = None
        except DBAPIError as error:
            state = error.orig.sqlstate
        same("a lost update", state, "40001")


class Harbour(Base):
    __tablename__ = "sqlalchemy_harbours"
    __table_args__ = (sa.CheckConstraint("berths > 0", name="sqlalchemy_has_berths"),)

    id: orm.Mapped[int] = orm.mapped_column(primary_key=True)
    name: orm.Mapped[str] = orm.mapped_column(unique=True)
    berths: orm.Mapped[int]
    guests: orm.Mapped[list["Guest"]] = orm.relationship(back_populates="harbour", cascade="all, delete-orphan")


class Guest(Base):
    __tablename__ = "sqlalchemy_guests"

    id: orm.Mapped[int] = orm.mapped_column(primary_key=True)
    harbour_id: orm.Mapped[int] = orm.mapped_column(sa.ForeignKey("sqlalchemy_harbours.id", ondelete="CASCADE"), index=True)
    invited_by: orm.Mapped[int | None] = orm.mapped_column(sa.ForeignKey("sqlalchemy_guests.id"))
    name: orm.Mapped[str]
    harbour: orm.Mapped[Harbour] = orm.relationship(back_populates="guests")


@section
def relations():
    """foreign keys and checks: what is refused, what follows, what reflection finds"""
    at = made()
    with orm.Session(at) as session:
        oslo = Harbour(name="Oslo", berths=2, guests=[Guest(name="Ida"), Guest(name="Ole")])
        session.add(oslo)
        session.commit()
        loaded = session.scalars(sa.select(Harbour).options(orm.selectinload(Harbour.guests))).one()
        same("guests", sorted(guest.name for guest in loaded.guests), ["Ida", "Ole"])
        session.add(Harbour(name="Rome", berths=0))
        error = refused("no berths", IntegrityError, session.commit)
        same("code", error.orig.sqlstate, "23514")
        same("constraint", error.orig.diag.constraint_name, "sqlalchemy_has_berths")
        session.rollback()
        session.add(Guest(name="Lost", harbour_id=99))
        error = refused("no harbour", IntegrityError, session.commit)
        same("code", error.orig.sqlstate, "23503")
        same("table", error.orig.diag.table_name, "sqlalchemy_guests")
        same("detail", error.orig.diag.message_detail, 'Key (harbour_id)=(99) is not present in table "sqlalchemy_harbours".')
        session.rollback()
        session.execute(sa.delete(Harbour))
        session.commit()
        same("guests that are left", session.scalar(sa.select(sa.func.count()).select_from(Guest)), 0)
    look = sa.inspect(at)
    keys = sorted(look.get_foreign_keys("sqlalchemy_guests"), key=lambda one: one["constrained_columns"])
    same("foreign keys", [(one["name"], one["constrained_columns"], one["referred_table"], one["referred_columns"], one["options"]) for one in keys], [
        ("sqlalchemy_guests_harbour_id_fkey", ["harbour_id"], "sqlalchemy_harbours", ["id"], {"ondelete": "CASCADE"}),
        ("sqlalchemy_guests_invited_by_fkey", ["invited_by"], "sqlalchemy_guests", ["id"], {}),
    ])
    checks = look.get_check_constraints("sqlalchemy_harbours")
    same("checks", [(one["name"], one["sqltext"]) for one in checks], [("sqlalchemy_has_berths", "berths > 0")])
    again = sa.MetaData()
    again.reflect(at, only=["sqlalchemy_guests"])
    same("reflected with what it refers to", sorted(again.tables), ["sqlalchemy_guests", "sqlalchemy_harbours"])


main()
