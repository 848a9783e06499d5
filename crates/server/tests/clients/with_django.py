"""Django 5: its own migrations, models with relations and constraints, the ORM, changes of a schema."""

import datetime
import decimal
import os
import uuid

import django
from django.apps import AppConfig
from django.conf import settings


class Boats(AppConfig):
    name = "__main__"
    label = "boats"


settings.configure(
    DATABASES={
        "default": {
            "ENGINE": "django.db.backends.postgresql",
            "HOST": os.environ["PGHOST"],
            "PORT": os.environ["PGPORT"],
            "USER": os.environ["PGUSER"],
            "NAME": os.environ["PGDATABASE"],
        }
    },
    INSTALLED_APPS=["django.contrib.contenttypes", "django.contrib.auth", "django.contrib.sessions", "__main__.Boats"],
    DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
    USE_TZ=True,
)
django.setup()

from django.contrib.auth.models import Group, Permission, User
from django.core.management import call_command
from django.db import IntegrityError, connection, models, transaction
from django.db.models import Avg, Count, Exists, F, OuterRef, Q, Sum, Value, Window
from django.db.models.functions import Concat, Lower, RowNumber, TruncMonth

from checks import UTC, main, refused, same, section


class Owner(models.Model):
    name = models.CharField(max_length=40, unique=True)
    age = models.PositiveIntegerField(default=30)

    class Meta:
        app_label = "boats"
        db_table = "django_owners"
        constraints = [models.CheckConstraint(condition=Q(age__lt=150), name="django_age_is_sane")]


class Tag(models.Model):
    word = models.SlugField()

    class Meta:
        app_label = "boats"
        db_table = "django_tags"


class Boat(models.Model):
    owner = models.ForeignKey(Owner, on_delete=models.CASCADE, related_name="boats")
    name = models.TextField()
    price = models.DecimalField(max_digits=8, decimal_places=2, null=True)
    built = models.DateField(null=True, db_index=True)
    seen = models.DateTimeField(null=True)
    notes = models.JSONField(default=dict)
    number = models.UUIDField(default=uuid.uuid4)
    tags = models.ManyToManyField(Tag, db_table="django_boats_tags")

    class Meta:
        app_label = "boats"
        db_table = "django_boats"
        unique_together = [("owner", "name")]


MODELS = [Owner, Tag, Boat]


def made():
    """New, empty tables."""
    present = connection.introspection.table_names()
    with connection.schema_editor() as editor:
        for model in reversed(MODELS):
            if model._meta.db_table in present:
                editor.delete_model(model)
    with connection.schema_editor() as editor:
        for model in MODELS:
            editor.create_model(model)


def filled():
    """Tables with some boats of two owners."""
    made()
    ann, bob = Owner.objects.bulk_create([Owner(name="Ann", age=41), Owner(name="Bob")])
    boats = [
        Boat(owner=ann, name="Ida", price=decimal.Decimal("12.50"), built=datetime.date(2001, 2, 3), notes={"masts": 2}),
        Boat(owner=ann, name="Ole", price=decimal.Decimal("7.25"), seen=datetime.datetime(2024, 5, 6, 7, 8, tzinfo=UTC)),
        Boat(owner=bob, name="Ida", built=datetime.date(2001, 2, 28), notes={"masts": 1, "sails": ["jib"]}),
    ]
    Boat.objects.bulk_create(boats)
    return ann, bob


@section
def migrating():
    """migrate, twice, and what it leaves"""
    call_command("migrate", verbosity=0, interactive=False)
    call_command("migrate", verbosity=0, interactive=False)
    same("permissions", Permission.objects.count(), 20)
    group = Group.objects.create(name="crew")
    user = User.objects.create_user("ann", password=None, email="ann@example.org")
    user.groups.add(group)
    same("users of the group", [one.username for one in group.user_set.all()], ["ann"])
    user.delete()
    same("users of the group", group.user_set.count(), 0)
    group.delete()


@section
def writing():
    """bulk_create, save, update, update_or_create, bulk_update, delete with what depends on it"""
    ann, bob = filled()
    same("keys", sorted(Boat.objects.values_list("owner__name", "name")), [("Ann", "Ida"), ("Ann", "Ole"), ("Bob", "Ida")])
    same("changed", Boat.objects.filter(price__isnull=False).update(price=F("price") * 2), 2)
    boat, new = Boat.objects.update_or_create(owner=bob, name="Ida", defaults={"price": decimal.Decimal("3.00")})
    same("made anew", new, False)
    boat, new = Boat.objects.get_or_create(owner=bob, name="Eva")
    same("made anew", new, True)
    boats = list(Boat.objects.order_by("id"))
    for boat in boats:
        boat.name = boat.name.upper()
    same("updated", Boat.objects.bulk_update(boats, ["name"]), 4)
    same("prices", list(Boat.objects.order_by("id").values_list("name", "price")), [
        ("IDA", decimal.Decimal("25.00")), ("OLE", decimal.Decimal("14.50")), ("IDA", decimal.Decimal("3.00")), ("EVA", None)])
    tag = Tag.objects.create(word="fast")
    boats[0].tags.add(tag, Tag.objects.create(word="old"))
    same("tags", list(boats[0].tags.order_by("word").values_list("word", flat=True)), ["fast", "old"])
    ann.delete()
    same("boats that are left", sorted(Boat.objects.values_list("name", flat=True)), ["EVA", "IDA"])
    same("tags of boats", Boat.tags.through.objects.count(), 0)


@section
def reading():
    """joins, aggregates, windows, subqueries, functions, JSON"""
    filled()
    boats = Boat.objects
    same("with their owners", [(one.name, one.owner.name) for one in boats.select_related("owner").order_by("owner__name", "name")],
         [("Ida", "Ann"), ("Ole", "Ann"), ("Ida", "Bob")])
    owners = Owner.objects.prefetch_related("boats").order_by("name")
    same("prefetched", [sorted(boat.name for boat in one.boats.all()) for one in owners], [["Ida", "Ole"], ["Ida"]])
    counted = Owner.objects.annotate(count=Count("boats"), worth=Sum("boats__price")).order_by("name")
    same("counted", [(one.name, one.count, one.worth) for one in counted], [("Ann", 2, decimal.Decimal("19.75")), ("Bob", 1, None)])
    same("average", boats.aggregate(Avg("owner__age")), {"owner__age__avg": 37.333333333333336})
    old = boats.filter(owner=OuterRef("pk"), built__year=2001)
    same("with an old one", Owner.objects.filter(Exists(old)).count(), 2)
    months = boats.filter(built__isnull=False).annotate(month=TruncMonth("built")).values("month").annotate(n=Count("id"))
    same("by month", list(months), [{"month": datetime.date(2001, 2, 1), "n": 2}])
    names = boats.annotate(full=Concat(Lower("name"), Value(" of "), "owner__name", output_field=models.TextField())).order_by("full").values_list("full", flat=True)
    same("put together", list(names), ["ida of Ann", "ida of Bob", "ole of Ann"])
    ranked = boats.annotate(place=Window(RowNumber(), partition_by=F("owner"), order_by="name")).order_by("owner__name", "name")
    same("ranked", [one.place for one in ranked], [1, 2, 1])
    same("by JSON", boats.filter(notes__masts=2).count(), 1)
    same("by a key of JSON", boats.filter(notes__has_key="sails").count(), 1)
    same("searched", boats.filter(Q(name__icontains="ID") & ~Q(owner__name__startswith="B")).count(), 1)
    same("one by one", len(list(boats.iterator(chunk_size=2))), 3)
    same("in bulk", sorted(one.name for one in boats.in_bulk().values()), ["Ida", "Ida", "Ole"])
    same("locked", _locked(), ["Ida", "Ole", "Ida"])


def _locked():
    with transaction.atomic():
        return [one.name for one in Boat.objects.select_for_update().order_by("id")]


@section
def constraints():
    """what is refused, when, and what a savepoint saves"""
    ann, bob = filled()
    refused("the same name twice", IntegrityError, lambda: Owner.objects.create(name="Ann"))
    refused("too old", IntegrityError, lambda: Owner.objects.create(name="Cid", age=150))
    refused("less than nothing", IntegrityError, lambda: Owner.objects.filter(name="Bob").update(age=-1))
    refused("an owner that is not there", IntegrityError, lambda: Boat.objects.create(owner_id=99, name="Lost"))
    with transaction.atomic():
        late = Boat.objects.create(owner_id=77, name="Early")
        Owner.objects.create(id=77, name="Late")
        with transaction.atomic():
            same("an owner that came later", Boat.objects.get(pk=late.pk).owner.name, "Late")
    with transaction.atomic():
        try:
            with transaction.atomic():
                Owner.objects.create(name="Ann")
        except IntegrityError:
            pass
        Owner.objects.create(name="Dan")
    same("owners", sorted(Owner.objects.values_list("name", flat=True)), ["Ann", "Bob", "Dan", "Late"])
    connection.check_constraints()


@section
def altering():
    """columns with relations, checks and defaults on tables that have rows; what is seen of them"""
    filled()
    captain = models.ForeignKey(Owner, on_delete=models.SET_NULL, null=True, related_name="+")
    captain.set_attributes_from_name("captain")
    captain.model = Boat
    length = models.PositiveIntegerField(default=5)
    length.set_attributes_from_name("length")
    length.model = Boat
    with connection.schema_editor() as editor:
        editor.add_field(Boat, captain)
        editor.add_field(Boat, length)
    with connection.cursor() as cursor:
        cursor.execute("SELECT name, captain_id, length FROM django_boats ORDER BY id")
        same("rows", cursor.fetchall(), [("Ida", None, 5), ("Ole", None, 5), ("Ida", None, 5)])
        cursor.execute("SELECT 1")
        seen = connection.introspection.get_constraints(cursor, "django_boats")
        same("keys", sorted(one["foreign_key"] for one in seen.values() if one["foreign_key"]),
             [("django_owners", "id"), ("django_owners", "id")])
        same("checks", [one["columns"] for one in seen.values() if one["check"]], [["length"]])
        same("primary", [one["columns"] for one in seen.values() if one["primary_key"]], [["id"]])
        relations = connection.introspection.get_relations(cursor, "django_boats")
        same("relations", relations, {"owner_id": ("id", "django_owners"), "captain_id": ("id", "django_owners")})
    with connection.schema_editor() as editor:
        editor.remove_field(Boat, captain)
        editor.remove_field(Boat, length)
    same("boats", Boat.objects.count(), 3)


main()
