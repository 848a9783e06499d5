//! Records of CSV, one at a time; a field in quotes may hold lines.

use std::io::BufRead;

/// Bytes of the longest record.
const RECORD_BYTES_MAX: usize = 8 << 20;

/// Reads records.
#[derive(Debug)]
pub(super) struct Records<R> {
    input: R,
    line: u64,
}

/// A record, and the line that it begins in.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Record {
    pub(super) line: u64,
    pub(super) fields: Vec<String>,
}

impl<R: BufRead> Records<R> {
    pub(super) fn new(input: R) -> Self {
        Self { input, line: 0 }
    }

    /// The next record; one that has no end, or is too long, has no fields.
    pub(super) fn next(&mut self) -> std::io::Result<Option<Record>> {
        let mut bytes = Vec::new();
        let line = self.line + 1;
        let broken = Record {
            line,
            fields: Vec::new(),
        };
        let mut quotes = 0_usize;
        loop {
            let before = bytes.len();
            if self.input.read_until(b'\n', &mut bytes)? == 0 {
                return Ok((before > 0).then_some(broken));
            }
            self.line += 1;
            let more = bytes.iter().skip(before);
            quotes += more.filter(|byte| **byte == b'"').count();
            if quotes.is_multiple_of(2) {
                break;
            }
            if bytes.len() > RECORD_BYTES_MAX {
                return Ok(Some(broken));
            }
        }
        let text = String::from_utf8_lossy(&bytes);
        let fields = fields(text.trim_end_matches(['\n', '\r']));
        Ok(Some(Record { line, fields }))
    }
}

fn fields(text: &str) -> Vec<String> {
    let mut fields = Vec::new();
    let mut field = String::new();
    let mut quoted = false;
    let mut chars = text.chars().peekable();
    while let Some(one) = chars.next() {
        match one {
            '"' if quoted && chars.next_if_eq(&'"').is_some() => field.push('"'),
            '"' => quoted = !quoted,
            ',' if !quoted => fields.push(std::mem::take(&mut field)),
            other => field.push(other),
        }
    }
    fields.push(field);
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_hold_commas_quotes_and_lines() {
        let text = "a,\"b, \"\"c\"\"\nd\",\r\n,e\n\"open\n";
        let mut records = Records::new(text.as_bytes());
        let mut next = || records.next().unwrap().map(|one| (one.line, one.fields));
        let fields = |fields: &[&str]| fields.iter().map(|one| (*one).to_owned()).collect();
        assert_eq!(next(), Some((1, fields(&["a", "b, \"c\"\nd", ""]))));
        assert_eq!(next(), Some((3, fields(&["", "e"]))));
        assert_eq!(next(), Some((4, Vec::new())));
        assert_eq!(next(), None);
    }
}
