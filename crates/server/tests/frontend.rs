//! Whatever bytes come, they are messages, errors, or not all there yet; never a panic.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use bytes::{BufMut, BytesMut};
use proptest::prelude::*;
use server::pg::frontend::{MESSAGE_BYTES_MAX, Message, Opening, decode_opening, take};

fn framed(kind: u8, body: &[u8]) -> BytesMut {
    let mut bytes = BytesMut::new();
    bytes.put_u8(kind);
    bytes.put_u32(u32::try_from(body.len()).unwrap() + 4);
    bytes.put_slice(body);
    bytes
}

fn wrong(kind: u8, body: &[u8]) -> String {
    let frame = take(&mut framed(kind, body)).unwrap().unwrap();
    let error = frame.read().unwrap_err();
    format!("{} {error}", error.sqlstate())
}

#[test]
fn bodies_that_lie_about_their_contents_are_refused() {
    let early = "08P01 malformed bind message: it ends too early";
    assert_eq!(wrong(b'B', b"\0\0"), early);
    assert_eq!(wrong(b'B', b"\0\0\0\0\xff\xff"), early);
    assert_eq!(wrong(b'B', b"\0\0\0\0\0\x01\x7f\xff\xff\xff"), early);
    assert_eq!(
        wrong(b'B', b"\0\0\0\0\0\x01\xff\xff\xff\xfe"),
        "08P01 malformed bind message: a length is negative"
    );
    assert_eq!(
        wrong(b'Q', b"select 1"),
        "08P01 malformed query message: a text has no end"
    );
    assert_eq!(
        wrong(b'Q', b"a\0b"),
        "08P01 malformed query message: bytes are left over"
    );
    assert_eq!(
        wrong(b'Q', b"\xff\0"),
        "22021 text in a message is not UTF-8 text without zero bytes"
    );
    assert_eq!(
        wrong(b'D', b"X\0"),
        "08P01 malformed describe message: neither a statement nor a portal"
    );
}

#[test]
fn a_message_after_a_wrong_one_is_read() {
    let mut bytes = framed(b'Q', b"no end");
    bytes.extend_from_slice(&framed(b'S', b""));
    let wrong = take(&mut bytes).unwrap().unwrap();
    assert!(wrong.read().is_err() && !wrong.is_extended());
    let next = take(&mut bytes).unwrap().unwrap();
    assert!(matches!(next.read(), Ok(Message::Sync)) && next.is_extended());
    assert!(bytes.is_empty());
}

#[test]
fn lengths_that_cannot_be_end_the_conversation() {
    for length in [0, 3, MESSAGE_BYTES_MAX + 1, u32::MAX] {
        let mut bytes = BytesMut::from(&b"Q"[..]);
        bytes.put_u32(length);
        assert!(
            take(&mut bytes).is_err_and(|error| error.is_fatal()),
            "{length}"
        );
    }
    let mut http = BytesMut::from(&b"GET / HTTP/1.1\r\n\r\n"[..]);
    assert!(decode_opening(&mut http).is_err());
    assert!(take(&mut http).is_err_and(|error| error.is_fatal()));
}

#[test]
fn a_message_waits_until_it_is_whole() {
    let whole = framed(b'P', b"name\0select $1\0\0\x01\0\0\0\x17");
    for cut in 0..whole.len() {
        let mut part = BytesMut::from(&whole[..cut]);
        assert!(matches!(take(&mut part), Ok(None)), "{cut}");
        assert_eq!(part.len(), cut);
    }
    let frame = take(&mut whole.clone()).unwrap().unwrap();
    let Ok(Message::Parse { name, text, oids }) = frame.read() else {
        panic!("it is whole");
    };
    assert_eq!((name, text), ("name", "select $1"));
    assert_eq!(oids, [23]);
}

#[test]
fn a_bind_is_read_in_place() {
    let mut body = b"portal\0statement\0".to_vec();
    body.extend(b"\0\x02\0\0\0\x01");
    body.extend(b"\0\x03\0\0\0\x02ab\xff\xff\xff\xff\0\0\0\0");
    body.extend(b"\0\x01\0\x01");
    let frame = take(&mut framed(b'B', &body)).unwrap().unwrap();
    let Ok(Message::Bind(bind)) = frame.read() else {
        panic!("it is right");
    };
    assert_eq!((bind.portal, bind.statement), ("portal", "statement"));
    assert_eq!(bind.formats.iter().collect::<Vec<_>>(), [0, 1]);
    let cells: Vec<_> = bind.cells.iter().collect();
    assert_eq!(cells, [Some(&b"ab"[..]), None, Some(&b""[..])]);
    assert_eq!(bind.result_formats.iter().collect::<Vec<_>>(), [1]);
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(kind in prop::sample::select(b"QPBDECHSXdcfp".to_vec()), body in any::<Vec<u8>>()) {
        let mut bytes = framed(kind, &body);
        let frame = take(&mut bytes).unwrap().unwrap();
        prop_assert!(bytes.is_empty(), "a message takes exactly its own bytes");
        if let Ok(Message::Bind(bind)) = frame.read() {
            prop_assert_eq!(bind.cells.iter().count(), bind.cells.len());
        }
    }

    #[test]
    fn no_opening_makes_it_panic(body in any::<Vec<u8>>(), version in prop::sample::select(vec![196_608_u32, 196_610, 80_877_102, 80_877_103, 0])) {
        let mut bytes = BytesMut::new();
        bytes.put_u32(u32::try_from(body.len()).unwrap() + 8);
        bytes.put_u32(version);
        bytes.put_slice(&body);
        match decode_opening(&mut bytes) {
            Ok(opening) => prop_assert!(opening.is_some()),
            Err(error) => prop_assert!(error.sqlstate() == "08P01" || error.sqlstate() == "22021"),
        }
    }
}

#[test]
fn the_opening_names_who_is_there() {
    let mut bytes = BytesMut::new();
    let body = b"user\0ada\0database\0boats\0\0";
    bytes.put_u32(u32::try_from(body.len()).unwrap() + 8);
    bytes.put_u32(196_608);
    bytes.put_slice(body);
    let Ok(Some(Opening::Startup { minor, parameters })) = decode_opening(&mut bytes) else {
        panic!("it is whole");
    };
    assert_eq!(minor, 0);
    assert_eq!(parameters["user"], "ada");
    assert_eq!(parameters["database"], "boats");
}
