//! Digest functions against the results of other implementations, in `golden/digests_*.txt`.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that panics has failed"
)]

use keys::digest::{self, DigestFunction, FUNCTIONS, Output};
use keys::{Value, hash_values};
use proptest::prelude::*;

const YDB: &str = include_str!("../golden/digests_ydb.txt");
const LONG: &str = include_str!("../golden/digests_long.txt");

struct Line<'a> {
    name: &'a str,
    arguments: Vec<Value>,
    expected: &'a str,
}

fn lines(golden: &str) -> impl Iterator<Item = Line<'_>> {
    golden
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(|line| {
            let (call, expected) = line.split_once(" = ").unwrap();
            let (name, arguments) = call.strip_suffix(')').unwrap().split_once('(').unwrap();
            Line {
                name,
                arguments: arguments.split(", ").map(argument).collect(),
                expected,
            }
        })
}

fn argument(text: &str) -> Value {
    if text == "NULL" {
        Value::Null
    } else if let Some(quoted) = text.strip_prefix('"') {
        Value::from(quoted.strip_suffix('"').unwrap())
    } else if let Some(length) = text.strip_prefix("bytes(") {
        Value::from(pattern(length.strip_suffix(')').unwrap().parse().unwrap()))
    } else {
        Value::Uint64(text.parse().unwrap())
    }
}

fn pattern(length: usize) -> Vec<u8> {
    (0..length)
        .map(|i| u8::try_from((7 * i + 131) % 256).unwrap())
        .collect()
}

fn show(function: &DigestFunction, value: &Value) -> String {
    match (function.output(), value) {
        (_, Value::Null) => "NULL".to_owned(),
        (Output::Pair, Value::String(bytes)) => {
            let (first, second) = bytes.split_at(8);
            let number = |half: &[u8]| u64::from_be_bytes(half.try_into().unwrap());
            format!("({}, {})", number(first), number(second))
        }
        (Output::Bytes, Value::String(bytes)) if function.name == "Md5Hex" => {
            format!("\"{}\"", std::str::from_utf8(bytes).unwrap())
        }
        (Output::Bytes, Value::String(bytes)) => {
            let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            format!("x'{hex}'")
        }
        (Output::Uint32, Value::Uint32(number)) => number.to_string(),
        (Output::Uint64, Value::Uint64(number)) => number.to_string(),
        (output, value) => panic!("{} gave {value:?} and not {output:?}", function.name),
    }
}

fn differences(golden: &str) -> Vec<String> {
    lines(golden)
        .filter_map(|line| {
            let function = DigestFunction::find(line.name).expect(line.name);
            let found = show(function, &function.call(&line.arguments).unwrap());
            (found != line.expected).then(|| format!("{} {:?}: {found}", line.name, line.arguments))
        })
        .collect()
}

#[test]
fn every_result_of_ydb_is_ours() {
    assert_eq!(differences(YDB), Vec::<String>::new());
}

#[test]
fn long_inputs_hash_as_elsewhere() {
    assert_eq!(differences(LONG), Vec::<String>::new());
}

#[test]
fn every_function_has_a_line() {
    for function in FUNCTIONS {
        assert!(
            lines(YDB)
                .chain(lines(LONG))
                .any(|l| l.name == function.name),
            "{}",
            function.name
        );
    }
}

#[test]
fn calls_that_make_no_sense_are_refused() {
    let text = Value::from("1");
    for (name, arguments, message) in [
        (
            "Sha3",
            vec![text.clone()],
            "unknown function `Sha3`: no such digest",
        ),
        (
            "Math::CityHash",
            vec![text.clone()],
            "unknown function `Math::CityHash`: no such digest",
        ),
        (
            "CityHash",
            vec![],
            "Digest::CityHash takes 1 to 2 arguments and was given 0",
        ),
        (
            "CityHash",
            vec![Value::Int32(1)],
            "Digest::CityHash, argument 1: text or bytes are wanted",
        ),
        (
            "NumericHash",
            vec![text.clone()],
            "Digest::NumericHash, argument 1: an integer is wanted",
        ),
        (
            "Fnv32",
            vec![text.clone(), Value::Int64(-1)],
            "Digest::Fnv32, argument 2: a seed of 32 bits is wanted",
        ),
        (
            "Argon2",
            vec![text.clone(), text.clone()],
            "Digest::Argon2, argument 2: a salt of at least 8 bytes is wanted",
        ),
        (
            "Blake2B",
            vec![text.clone(), Value::from(pattern(65))],
            "Digest::Blake2B, argument 2: a key of at most 64 bytes is wanted",
        ),
    ] {
        assert_eq!(
            digest::call(name, &arguments).unwrap_err().to_string(),
            message
        );
    }
}

#[test]
fn null_goes_through_and_a_null_seed_is_none() {
    assert_eq!(digest::call("NumericHash", &[Value::Null]), Ok(Value::Null));
    let plain = digest::call("Digest::CityHash", &[Value::from("1")]);
    assert_eq!(
        digest::call("cityhash", &[Value::from("1"), Value::Null]),
        plain
    );
}

#[test]
fn hashes_of_lists_stay_as_they_are() {
    let hashes = [
        hash_values(&[]),
        hash_values(&[Value::Null]),
        hash_values(&[Value::Int64(1001)]),
        hash_values(&[Value::from("a"), Value::from("b")]),
        hash_values(&[Value::from("ab"), Value::from("")]),
        hash_values(&[Value::Double(0.0)]),
    ];
    assert_eq!(
        hashes,
        [
            3_244_421_341_483_603_138,
            16_878_502_702_730_328_102,
            4_373_036_905_614_642_532,
            17_469_504_236_056_368_378,
            3_863_399_927_300_657_201,
            7_428_780_597_787_567_350,
        ]
    );
    assert_eq!(
        hash_values(&[Value::Double(-0.0)]),
        hash_values(&[Value::Double(0.0)])
    );
    assert_ne!(
        hash_values(&[Value::Int32(1)]),
        hash_values(&[Value::Int64(1)])
    );
}

/// Thomas Wang's mix undone step by step.
fn numeric_unhash(hash: u64) -> u64 {
    let unshift = |mut k: u64, bits: u32| {
        let whole = k;
        for _ in 0..64 / bits {
            k = whole ^ (k >> bits);
        }
        k
    };
    // k + !(k << n) is k × (1 - 2^n) - 1.
    let unmix = |k: u64, bits: u32| {
        k.wrapping_add(1)
            .wrapping_mul(inverse(1_u64.wrapping_sub(1 << bits)))
    };
    let k = unmix(unshift(hash, 31), 27);
    let k = unshift(k, 15).wrapping_mul(inverse(9));
    let k = unmix(unshift(k, 8), 13);
    unmix(unshift(k, 22), 32)
}

/// The number that an odd number times gives one.
fn inverse(odd: u64) -> u64 {
    (0..6).fold(odd, |x, _| {
        x.wrapping_mul(2_u64.wrapping_sub(odd.wrapping_mul(x)))
    })
}

proptest! {
    #[test]
    fn numeric_hash_loses_nothing(number: u64) {
        prop_assert_eq!(numeric_unhash(digest::numeric_hash(number)), number);
    }

    #[test]
    fn a_signed_number_hashes_as_its_bits(number: i64) {
        let signed = digest::call("NumericHash", &[Value::Int64(number)]).unwrap();
        prop_assert_eq!(signed, Value::Uint64(digest::numeric_hash(number.cast_unsigned())));
    }

    #[test]
    fn no_input_makes_a_digest_panic(input in prop::collection::vec(any::<u8>(), 0..600)) {
        for function in FUNCTIONS.iter().filter(|f| f.arguments().len() <= 2) {
            let outcome = function.call(&[Value::from(input.as_slice())]);
            prop_assert!(outcome.is_ok() == (function.arguments()[0] == digest::Argument::Bytes
                && function.name != "Argon2"));
        }
    }
}
