"""v3iofs, Iguazio's files for fsspec: what pandas, dask and MLRun do with files, listings and partitions."""

import os

import fsspec
import pandas
import v3io.dataplane
from v3iofs import V3ioFS

from checks import main, refused, same, section

ENDPOINT = os.environ["V3IO_API"]
os.environ["V3IO_ACCESS_KEY"] = "anything"
CONTAINER = "bigdata"


def files(**options):
    # What is remembered of paths would hide what the server says of them; without a memory it cannot write.
    return V3ioFS(v3io_api=ENDPOINT, cache_validity_seconds=0.1, skip_instance_cache=True, **options)


def root(section_name):
    return f"/{CONTAINER}/v3iofs/{section_name}"


@section
def written_and_read():
    """a file is written in parts, read whole and in part, grown, and gone"""
    fs = files()
    path = f"{root('written')}/some file.bin"
    content = bytes(range(256)) * 4096
    with fs.open(path, "wb", block_size=300_000) as file:
        for at in range(0, len(content), 100_000):
            file.write(content[at:at + 100_000])
    same("size", fs.info(path)["size"], len(content))
    same("whole", fs.cat_file(path), content)
    with fs.open(path, "rb", block_size=1000) as file:
        file.seek(500_000)
        same("part", file.read(5000), content[500_000:505_000])
        file.seek(-7, 2)
        same("end", file.read(), content[-7:])
    with fs.open(path, "ab") as file:
        file.write(b"more")
    same("grown", fs.cat_file(path)[-10:], content[-6:] + b"more")
    with fs.open(path, "wb") as file:
        file.write(b"anew")
    same("written anew", fs.cat_file(path), b"anew")
    fs.touch(path)
    same("emptied", fs.info(path)["size"], 0)
    fs.rm(path)
    same("gone", fs.exists(path), False)
    refused("read what is gone", FileNotFoundError, fs.cat_file, path)


@section
def what_is_there():
    """files, directories and what is neither are told apart"""
    fs = files()
    base = root("there")
    fs.pipe_file(f"{base}/dir/file", b"12345")
    for path, kind in [
        (f"{base}/dir/file", "file"),
        (f"{base}/dir/file/", "file"),
        (f"{base}/dir", "directory"),
        (f"{base}/dir/", "directory"),
        (f"{base}//dir//", "directory"),
        (f"/{CONTAINER}/v3iofs", "directory"),
    ]:
        same(path, fs.info(path)["type"], kind)
        same(f"exists {path}", fs.exists(path), True)
        same(f"isdir {path}", fs.isdir(path), kind == "directory")
        same(f"isfile {path}", fs.isfile(path), kind == "file")
    info = fs.info(f"{base}/dir/file")
    same("attributes", (info["size"], info["mode"], info["uid"], info["gid"]), (5, 0o100664, 0, 0))
    for path in [f"{base}/di", f"{base}/dir/fil", f"{base}/dir/file/deeper", f"/{CONTAINER}/zzz", f"/{CONTAINER}/zzz/"]:
        same(f"exists {path}", fs.exists(path), False)
        refused(f"info {path}", FileNotFoundError, fs.info, path)
        refused(f"ls {path}", FileNotFoundError, fs.ls, path)


@section
def names():
    """names with blanks, signs and letters of every kind"""
    fs = files()
    base = root("names")
    for name in ("a b", "a+b", "a&b<c>", "ü#1.txt", "50%", "year=2019", "'quoted\"", "a?b"):
        path = f"{base}/{name}/{name}"
        fs.pipe_file(path, name.encode())
        same(name, fs.cat_file(path), name.encode())
        same(f"ls {name}", fs.ls(f"{base}/{name}", detail=False), [path])
        same(f"info {name}", fs.info(path)["size"], len(name.encode()))
        fs.rm(f"{base}/{name}", recursive=True)
    same("none left", fs.ls(base, detail=False), [])


@section
def listings():
    """names in order, with their attributes, page after page"""
    fs = files()
    base = root("listings")
    names = [f"file-{number}.csv" for number in range(10)]
    for name in names:
        fs.pipe_file(f"{base}/{name}", b"x" * 7)
    for name in ("year=2019", "year=2020"):
        fs.pipe_file(f"{base}/{name}/part.csv", b"y")
    directories = [f"{base}/year=2019", f"{base}/year=2020"]
    everything = directories + [f"{base}/{name}" for name in names]
    for path in (base, f"{base}/", f"/{CONTAINER}//v3iofs//listings"):
        same(f"ls {path}", fs.ls(path, detail=False), everything)
    same("by pages", sorted(fs.ls(base, detail=False, limit=5)), sorted(everything))
    entries = {entry["name"]: entry for entry in fs.ls(base)}
    file, directory = entries[f"{base}/file-3.csv"], entries[directories[0]]
    same("file", (file["type"], file["size"]), ("file", 7))
    same("directory", (directory["type"], directory["size"]), ("directory", 0))
    same("dates", file["mtime"] > 1.5e9 and directory["mtime"] > 1.5e9, True)
    same("of one file", [entry["size"] for entry in fs.ls(f"{base}/file-3.csv")], [7])
    found = fs.find(base)
    same("find", len(found), 12)
    same("glob", fs.glob(f"{base}/year=*/*.csv"), [f"{name}/part.csv" for name in directories])
    same("walk", [path for path, _, _ in fs.walk(base)], [base, *directories])
    same("containers", f"/{CONTAINER}" in fs.ls("/", detail=False), True)
    created = {entry["name"]: entry["created"] for entry in fs.ls("/")}
    same("their dates", created[CONTAINER] > 1.5e9, True)


@section
def deletes():
    """files, whole trees, and directories that are not empty"""
    fs = files()
    base = root("deletes")
    for path in ("a", "b/c", "b/d/e"):
        fs.pipe_file(f"{base}/{path}", b"1")
    # A directory that is not empty stays, and nobody is told.
    fs.rmdir(f"{base}/b")
    same("kept", sorted(fs.find(base)), [f"{base}/a", f"{base}/b/c", f"{base}/b/d/e"])
    fs.rm(f"{base}/b", recursive=True)
    same("without the tree", fs.ls(base, detail=False), [f"{base}/a"])
    fs.rm(base, recursive=True)
    same("nothing", fs.exists(base), False)
    refused("a read", FileNotFoundError, fs.cat_file, f"{base}/a")
    fs.rm_file(f"{base}/a")


@section
def data_frames():
    """pandas writes and reads CSV and partitioned Parquet"""
    url = f"v3io://{root('frames')}"
    options = {"v3io_api": ENDPOINT}
    frame = pandas.DataFrame({"year": [2019, 2019, 2020], "n": [1, 2, 3], "x": [0.5, None, 2.0]})
    frame.to_csv(f"{url}/t.csv", index=False, storage_options=options)
    same("csv", pandas.read_csv(f"{url}/t.csv", storage_options=options).equals(frame), True)
    frame.to_parquet(f"{url}/t.parquet", storage_options=options)
    same("parquet", pandas.read_parquet(f"{url}/t.parquet", storage_options=options).equals(frame), True)
    frame.to_parquet(f"{url}/parts", partition_cols=["year"], storage_options=options)
    back = pandas.read_parquet(f"{url}/parts", storage_options=options).sort_values("n")
    same("parts", (list(back["n"]), [int(year) for year in back["year"]]), ([1, 2, 3], [2019, 2019, 2020]))
    one = pandas.read_parquet(f"{url}/parts", filters=[("year", "==", 2020)], storage_options=options)
    same("one part", list(one["n"]), [3])
    with fsspec.open(f"{url}/t.csv", "rt", **options) as file:
        same("fsspec", file.readline(), "year,n,x\n")


@section
def data_items():
    """what MLRun asks of a file: its size and date by HEAD, its bytes, and a list of names"""
    client = v3io.dataplane.Client(endpoint=ENDPOINT, access_key="anything")
    base = "v3iofs/items"
    body = b"0123456789" * 300_000
    client.object.put(CONTAINER, f"{base}/model.bin", body=b"")
    for at in range(0, len(body), 1_000_000):
        client.object.put(CONTAINER, f"{base}/model.bin", body=body[at:at + 1_000_000], append=True)
    # They are looked for in a dictionary, in this case of letters.
    head = dict(client.object.head(CONTAINER, f"{base}/model.bin").headers)
    same("size", int(head["Content-Length"]), len(body))
    same("date", head["Last-Modified"].endswith(" GMT"), True)
    part = client.object.get(CONTAINER, f"{base}/model.bin", offset=1_000_000, num_bytes=20).body
    same("part", part, body[1_000_000:1_000_020])
    same("whole", client.object.get(CONTAINER, f"{base}/model.bin").body == body, True)
    client.object.put(CONTAINER, f"{base}/deep/er", body=b"1")
    listing = client.container.list(CONTAINER, f"{base}/").output
    same("names", [one.key for one in listing.contents], [f"{base}/model.bin"])
    same("directories", [one.prefix for one in listing.common_prefixes], [f"{base}/deep/"])


main()
