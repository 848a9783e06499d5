//! Objects that are too large for a row: streamed in and out, cut off, killed, damaged.
//!
//! The memory of the server is measured over an object of 80 MiB. One of a GiB takes a minute and two
//! gigabytes of disk:
//!
//! ```sh
//! EVENKEEL_TEST_OBJECT_MIB=1024 cargo test -p server --test nosql -- --nocapture memory_does_not_grow
//! ```

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::json;
use tokio::runtime::Runtime;
use tokio::time::{Instant, sleep};

use crate::client::{Answer, Client, start};
use crate::process::Server;

const MIB: usize = 1 << 20;

/// How long anything may take that the server does by itself.
const PATIENCE: Duration = Duration::from_secs(60);

/// How long there is between two looks at what the server has done.
const POLL: Duration = Duration::from_millis(20);

/// Says how large an object is whose memory is measured.
const OBJECT_MIB: &str = "EVENKEEL_TEST_OBJECT_MIB";

/// How much memory an object may take, of any size.
const MEMORY_KIB_MAX: u64 = 64 << 10;

/// Bytes of a test object that begin with where they are.
const BLOCK: usize = 1 << 10;

/// The bytes of a test object from a place on.
fn content(seed: u64, from: usize, length: usize) -> Vec<u8> {
    let (first, skipped) = (from / BLOCK, from % BLOCK);
    let mut bytes = Vec::with_capacity(skipped + length + BLOCK);
    for block in first.. {
        if bytes.len() >= skipped + length {
            break;
        }
        let number = u64::try_from(block).unwrap() ^ (seed << 48);
        let word = number.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes();
        bytes.extend(word);
        bytes.resize(bytes.len() + BLOCK - word.len(), word[7]);
    }
    bytes.truncate(skipped + length);
    bytes.drain(..skipped);
    bytes
}

/// All files with parts.
fn parts(data: &Path) -> Vec<PathBuf> {
    let list = |folder: &Path| {
        let entries = std::fs::read_dir(folder).into_iter().flatten();
        let paths = entries.map(|entry| entry.unwrap().path());
        paths.collect::<Vec<_>>()
    };
    let folders = list(&data.join("objects"));
    let mut files: Vec<PathBuf> = folders.iter().flat_map(|one| list(one)).collect();
    files.sort();
    files
}

/// Waits until there are as many parts as this says.
fn wait_for_parts(data: &Path, enough: impl Fn(usize) -> bool) {
    Runtime::new().unwrap().block_on(async {
        let begun = Instant::now();
        loop {
            let found = parts(data).len();
            if enough(found) {
                return;
            }
            assert!(begun.elapsed() < PATIENCE, "{found} parts are there");
            sleep(POLL).await;
        }
    });
}

fn get(client: &mut Client, path: &str, range: &str) -> Answer {
    client.send("GET", path, &[("Range", range)], b"")
}

/// Sends an object of so many bytes piece by piece, as far as the server takes it.
fn send(
    client: &mut Client,
    (path, seed): (&str, u64),
    (length, pieces): (usize, usize),
) -> std::io::Result<()> {
    let length_told = length.to_string();
    client.begin("PUT", path, &[("Content-Length", &length_told)]);
    for at in (0..length).step_by(MIB).take(pieces) {
        client.write(&content(seed, at, MIB.min(length - at)))?;
    }
    Ok(())
}

/// Reads an object back by ranges, the end of each beside the beginning of the next.
fn check_by_ranges(client: &mut Client, (path, seed): (&str, u64), length: usize, step: usize) {
    for at in (0..length).step_by(step) {
        let end = (at + step).min(length);
        let found = get(client, path, &format!("bytes={at}-{}", end - 1));
        assert_eq!(found.status, 206);
        assert!(found.body == content(seed, at, end - at), "{at} to {end}");
    }
}

#[test]
fn large_objects_are_read_in_part_grown_told_and_deleted() {
    let (mut client, server, data) = start();
    let path = "/users/dir/o";
    let size = 5 * MIB + 1000;
    let whole = content(1, 0, size);
    client.send("PUT", path, &[], &whole).done();
    assert_eq!(parts(data.path()).len(), 6);
    let got = client.send("GET", path, &[], b"");
    assert_eq!(got.status, 200);
    assert!(got.body == whole);
    for (range, from, to) in [
        ("bytes=0-0", 0, 1),
        ("bytes=1048570-1048580", 1_048_570, 1_048_581),
        ("bytes=100-4194303", 100, 4 * MIB),
        ("bytes=5242880-", 5 * MIB, size),
        ("bytes=3000000", 3_000_000, size),
        ("bytes=-1500", size - 1500, size),
        ("bytes=5000000-999999999", 5_000_000, size),
    ] {
        let got = get(&mut client, path, range);
        let told = format!("bytes {from}-{}/{size}", to - 1);
        assert_eq!(
            (got.status, got.header("content-range")),
            (206, Some(&*told))
        );
        assert!(got.body == whole[from..to], "{range}");
    }
    let behind = get(&mut client, path, &format!("bytes={size}-"));
    assert_eq!((behind.status, behind.body.len()), (200, 0));

    let more = content(2, 0, 2 * MIB);
    for (range, more) in [("-1", &more[..]), ("bytes=-1", b"the end")] {
        client.send("PUT", path, &[("Range", range)], more).done();
    }
    let size = size + 2 * MIB + 7;
    let length = size.to_string();
    let head = client.send("HEAD", path, &[], b"");
    assert_eq!(head.header("content-length"), Some(&*length));
    let listed = client.send("GET", "/users?prefix=dir/", &[], b"").text();
    assert!(
        listed.contains(&format!("<Size>{length}</Size>")),
        "{listed}"
    );
    let wanted = json!({"AttributesToGet": "__size"});
    let item = client.call("GetItem", path, &wanted).json();
    assert_eq!(item["Item"]["__size"]["N"], length);
    let end = get(&mut client, path, "bytes=-8").body;
    assert_eq!(end[1..], *b"the end");

    // SQL sees its size as well.
    let schema = br#"{"key": "k", "fields": [{"name": "k", "type": "string"}]}"#;
    client
        .send("PUT", "/users/dir/.%23schema", &[], schema)
        .done();
    let runtime = Runtime::new().unwrap();
    runtime.block_on(async {
        let sql = server.connect().await;
        let text = "SELECT __size FROM \"users/dir\" WHERE k = 'o'";
        let row = sql.query_one(text, &[]).await.unwrap();
        assert_eq!(row.get::<_, i64>(0), i64::try_from(size).unwrap());
    });

    assert_eq!(client.send("DELETE", path, &[], b"").status, 204);
    assert_eq!(client.send("GET", path, &[], b"").status, 404);
    wait_for_parts(data.path(), |parts| parts == 0);
}

#[test]
fn bodies_without_a_length_are_taken_and_too_long_ones_refused_at_once() {
    let (mut client, _server, data) = start();
    let whole = content(1, 0, 3 * MIB);
    let chunked = [("Transfer-Encoding", "chunked")];
    client.begin("PUT", "/users/o", &chunked);
    for chunk in whole.chunks(100_000) {
        let head = format!("{:x}\r\n", chunk.len());
        client.write(head.as_bytes()).unwrap();
        client.write(chunk).unwrap();
        client.write(b"\r\n").unwrap();
    }
    client.write(b"0\r\n\r\n").unwrap();
    client.answer().unwrap().done();
    assert!(client.send("GET", "/users/o", &[], b"").body == whole);

    let length = ((5_u64 << 30) + 1).to_string();
    client.begin("PUT", "/users/o", &[("Content-Length", &length)]);
    let refused = client.answer().unwrap();
    assert_eq!(refused.status, 413);
    assert!(
        refused.text().contains("5368709120 bytes"),
        "{}",
        refused.text()
    );
    assert_eq!(parts(data.path()).len(), 3);
}

#[test]
fn a_client_that_stops_in_the_middle_leaves_nothing() {
    let (mut client, server, data) = start();
    client.send("PUT", "/users/o", &[], b"before").done();
    let mut stopping = Client::connect(&server);
    // In the middle of a part.
    send(&mut stopping, ("/users/o", 1), (20 * MIB, 4)).unwrap();
    stopping.write(&[7; 300_000]).unwrap();
    wait_for_parts(data.path(), |parts| parts >= 4);
    assert_eq!(
        client.send("GET", "/users/o", &[], b"").text(),
        "before",
        "nothing is shown that is not whole"
    );
    drop(stopping);
    wait_for_parts(data.path(), |parts| parts == 0);
    assert_eq!(client.send("GET", "/users/o", &[], b"").text(), "before");
    // A chunk that is none ends a body as well.
    client.begin("PUT", "/users/o", &[("Transfer-Encoding", "chunked")]);
    client.write(b"20000\r\n").unwrap();
    client.write(&vec![7; 0x20000]).unwrap();
    client.write(b"\r\nrubbish\r\n").unwrap();
    if let Ok(refused) = client.answer() {
        assert_eq!(refused.status, 400, "{}", refused.text());
    }
    let mut client = Client::connect(&server);
    wait_for_parts(data.path(), |parts| parts == 0);
    assert_eq!(client.send("GET", "/users/o", &[], b"").text(), "before");
}

#[test]
fn an_upload_that_is_killed_shows_nothing_and_its_parts_go() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let mut client = Client::connect(&server);
    let (kept, path) = (("/users/kept", 1), "/users/dir/o");
    send(&mut client, kept, (3 * MIB, 3)).unwrap();
    client.answer().unwrap().done();
    let length = 40 * MIB;
    send(&mut client, (path, 2), (length, 20)).unwrap();
    wait_for_parts(data.path(), |parts| parts >= 3 + 15);
    server.kill();

    let server = Server::start(data.path(), &[]);
    let mut client = Client::connect(&server);
    assert_eq!(client.send("GET", path, &[], b"").status, 404);
    wait_for_parts(data.path(), |parts| parts == 3);
    send(&mut client, (path, 3), (length, usize::MAX)).unwrap();
    client.answer().unwrap().done();
    check_by_ranges(&mut client, (path, 3), length, 5 * MIB / 2 + 1);
    server.kill();

    // What was acknowledged is there, and nothing else.
    let server = Server::start(data.path(), &[]);
    let mut client = Client::connect(&server);
    check_by_ranges(&mut client, (path, 3), length, 7 * MIB);
    check_by_ranges(&mut client, kept, 3 * MIB, MIB);
    assert_eq!(parts(data.path()).len(), 43);
}

#[test]
fn an_object_whose_parts_are_gone_is_said_to_be_damaged() {
    let (mut client, _server, data) = start();
    let path = "/users/dir/o";
    client
        .send("PUT", path, &[], &content(1, 0, 3 * MIB))
        .done();
    let parts = parts(data.path());
    std::fs::remove_file(&parts[2]).unwrap();
    let mut other = std::fs::read(&parts[0]).unwrap();
    other[77] ^= 4;
    std::fs::write(&parts[0], other).unwrap();
    for (range, reason) in [("bytes=0-10", "has other bytes"), ("bytes=-10", "is gone")] {
        let refused = get(&mut client, path, range);
        assert_eq!(refused.status, 500);
        let words = refused.text();
        assert!(
            words.contains("object `/users/dir/o` is damaged"),
            "{words}"
        );
        assert!(words.contains(reason), "{words}");
    }
    let middle = get(&mut client, path, "bytes=1048576-2097151");
    assert!(middle.body == content(1, MIB, MIB));
    // What is found later breaks the answer off: the client sees that it is not whole.
    client.begin("GET", path, &[("Range", "bytes=1048576-")]);
    let broken = client.answer().unwrap_err();
    assert_eq!(broken.kind(), std::io::ErrorKind::UnexpectedEof);
}

/// Names the directory to fill, for the child.
const SMALL_DISK: &str = "EVENKEEL_TEST_SMALL_DISK";

/// A shell line that makes `$0` a small file system and runs the rest there.
const TMPFS: &str = "mount -t tmpfs -o size=48m tmpfs \"$0\" && exec \"$@\"";

/// Ways to get a mount namespace: as root, and as anyone.
const UNSHARE: [&[&str]; 2] = [&["--mount"], &["--user", "--map-root-user", "--mount"]];

/// Runs in a child process that has a small file system of its own; where no mount namespace is allowed it
/// is passed over, with a message.
#[test]
fn a_full_disk_refuses_an_object_and_keeps_nothing_of_it() {
    if let Some(path) = std::env::var_os(SMALL_DISK) {
        return fill(&PathBuf::from(path));
    }
    let directory = tempfile::tempdir().unwrap();
    let run = |way: &[&str], rest: &[&str]| {
        Command::new("unshare")
            .args(way)
            .args(["sh", "-c", TMPFS])
            .arg(directory.path())
            .args(rest)
            .env(SMALL_DISK, directory.path())
            .output()
    };
    let works = |way: &&&[&str]| run(way, &["true"]).is_ok_and(|tried| tried.status.success());
    let Some(way) = UNSHARE.iter().find(works) else {
        println!("passed over: this machine allows no mount namespace");
        return;
    };
    let program = std::env::current_exe().unwrap();
    let name = "large_objects::a_full_disk_refuses_an_object_and_keeps_nothing_of_it";
    let rest = [program.to_str().unwrap(), "--exact", name, "--nocapture"];
    let output = run(way, &rest).unwrap();
    let reported = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && reported.contains("1 passed"),
        "{reported}\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

fn fill(disk: &Path) {
    let data = disk.join("data");
    let server = Server::start(&data, &[]);
    let mut client = Client::connect(&server);
    client.send("PUT", "/users/o", &[], b"before").done();
    let small = content(1, 0, 5 * MIB);
    client.send("PUT", "/users/small", &[], &small).done();
    for _ in 0..2 {
        send(&mut client, ("/users/o", 2), (60 * MIB, usize::MAX)).unwrap();
        let refused = client.answer().unwrap();
        assert_eq!(refused.status, 507, "{}", refused.text());
        assert!(
            refused.text().contains("no space left"),
            "{}",
            refused.text()
        );
        wait_for_parts(&data, |parts| parts == 5);
        assert_eq!(client.send("GET", "/users/o", &[], b"").text(), "before");
    }
    client.send("PUT", "/users/o", &[], &small).done();
    assert!(client.send("GET", "/users/o", &[], b"").body == small);
    assert!(client.send("GET", "/users/small", &[], b"").body == small);
}

/// The memory that an object of so many MiB takes, in KiB: written, cut off halfway, written again, read
/// whole and by ranges.
fn memory_of(mebibytes: usize) -> u64 {
    let (mut client, server, data) = start();
    let path = "/users/dir/o";
    client
        .send("PUT", path, &[], &content(9, 0, 2 * MIB))
        .done();
    client.send("GET", path, &[], b"");
    let before = server.memory_kib_max();
    let length = mebibytes * MIB;
    let mut stopping = Client::connect(&server);
    send(&mut stopping, (path, 1), (length, mebibytes / 2)).unwrap();
    wait_for_parts(data.path(), |parts| parts >= mebibytes / 2 - 4);
    drop(stopping);
    send(&mut client, (path, 2), (length, usize::MAX)).unwrap();
    client.answer().unwrap().done();
    check_by_ranges(&mut client, (path, 2), length, 16 * MIB + 1);
    let whole = client.send("GET", path, &[], b"");
    assert!(whole.body == content(2, 0, length));
    wait_for_parts(data.path(), |parts| parts == mebibytes);
    server.memory_kib_max() - before
}

#[test]
fn memory_does_not_grow_with_an_object() {
    let asked = std::env::var(OBJECT_MIB);
    let mebibytes = asked.map_or(80, |asked| asked.parse().unwrap());
    let begun = Instant::now();
    let grown = memory_of(mebibytes);
    println!("{mebibytes} MiB took {grown} KiB and {:?}", begun.elapsed());
    assert!(grown < MEMORY_KIB_MAX, "{grown} KiB");
}
