//! PostgreSQL's types: their numbers and names, and which of them ours are.

use std::sync::OnceLock;

use keys::Type;

pub(crate) const TEXT: i64 = 25;

/// How far a number's precision is shifted in PostgreSQL's type modifier, which counts from 4.
const PRECISION_SHIFT: u32 = 16;
const MODIFIER_BASE: i32 = 4;
/// Digits that hold every Uint64.
const UINT64_DIGITS: u8 = 20;

/// A type of PostgreSQL's.
#[derive(Debug)]
pub(crate) struct PgType {
    pub(crate) oid: i64,
    pub(crate) name: &'static str,
    /// Bytes of a value; -1 if they vary.
    pub(crate) bytes: i64,
    pub(crate) by_value: bool,
    /// `b` for a type of values, `p` for a placeholder.
    pub(crate) kind: &'static str,
    pub(crate) category: &'static str,
    pub(crate) preferred: bool,
    pub(crate) element: i64,
    pub(crate) array: i64,
    pub(crate) alignment: &'static str,
    pub(crate) storage: &'static str,
    pub(crate) collation: i64,
}

impl PgType {
    fn parse(line: &'static str) -> Option<Self> {
        let mut words = line.split_whitespace();
        let number = |words: &mut std::str::SplitWhitespace<'static>| -> Option<i64> {
            words.next()?.parse().ok()
        };
        Some(Self {
            oid: number(&mut words)?,
            name: words.next()?,
            bytes: number(&mut words)?,
            by_value: words.next()? == "t",
            kind: words.next()?,
            category: words.next()?,
            preferred: words.next()? == "t",
            element: number(&mut words)?,
            array: number(&mut words)?,
            alignment: words.next()?,
            storage: words.next()?,
            collation: number(&mut words)?,
        })
    }

    /// Whether it is an array of another type, other than a vector.
    pub(crate) fn is_array(&self) -> bool {
        self.category == "A" && !is_vector(self.name)
    }

    /// The function of this type that ends so.
    pub(crate) fn function(&self, ending: &str) -> String {
        match self.name {
            _ if self.is_array() => format!("array_{ending}"),
            name @ ("json" | "jsonb" | "uuid" | "numeric" | "date" | "time" | "timestamp"
            | "timestamptz" | "interval" | "inet" | "xml" | "point") => format!("{name}_{ending}"),
            name => format!("{name}{ending}"),
        }
    }
}

/// All types.
pub(crate) fn all() -> &'static [PgType] {
    static ALL: OnceLock<Vec<PgType>> = OnceLock::new();
    ALL.get_or_init(|| {
        include_str!("pg_types.txt")
            .lines()
            .filter(|line| !line.starts_with('#'))
            .map(|line| PgType::parse(line).expect("the list is well formed"))
            .collect()
    })
}

pub(crate) fn by_oid(oid: i64) -> Option<&'static PgType> {
    all().iter().find(|one| one.oid == oid)
}

pub(crate) fn by_name(name: &str) -> Option<&'static PgType> {
    all().iter().find(|one| one.name == name)
}

/// Whether values print as numbers with spaces between, as old catalogs do.
pub(crate) fn is_vector(name: &str) -> bool {
    matches!(name, "int2vector" | "oidvector")
}

/// The type that ours travels as: its number, and the modifier that holds precision and scale.
pub fn postgres_type(kind: Type) -> (u32, i32) {
    let numeric = |precision: u8, scale: u8| {
        let digits = i32::from(precision) << PRECISION_SHIFT | i32::from(scale);
        (1700, digits + MODIFIER_BASE)
    };
    match kind {
        Type::Bool => (16, -1),
        Type::Int8 | Type::Uint8 | Type::Int16 => (21, -1),
        Type::Int32 | Type::Uint16 => (23, -1),
        Type::Int64 | Type::Uint32 => (20, -1),
        Type::Uint64 => numeric(UINT64_DIGITS, 0),
        Type::Decimal { precision, scale } => numeric(precision, scale),
        Type::Float => (700, -1),
        Type::Double => (701, -1),
        Type::Utf8 => (25, -1),
        Type::String => (17, -1),
        Type::Date => (1082, -1),
        Type::Datetime | Type::Timestamp => (1184, -1),
        Type::Interval => (1186, -1),
        Type::Uuid => (2950, -1),
        Type::Json => (114, -1),
    }
}

/// The precision and scale in a modifier of `numeric`.
pub(crate) fn digits(modifier: i64) -> Option<(i64, i64)> {
    let digits = modifier.checked_sub(i64::from(MODIFIER_BASE))?;
    (digits >= 0).then_some((digits >> PRECISION_SHIFT, digits & 0xffff))
}

/// The length in a modifier of a character type.
pub(crate) fn length(modifier: i64) -> Option<i64> {
    let length = modifier.checked_sub(i64::from(MODIFIER_BASE))?;
    (length >= 0).then_some(length)
}

/// How SQL spells a type, with its modifier if there is one.
pub(crate) fn format(oid: i64, modifier: Option<i64>) -> String {
    let Some(found) = by_oid(oid) else {
        return if oid == 0 { "-" } else { "???" }.to_owned();
    };
    if found.is_array() {
        return format!("{}[]", format(found.element, modifier));
    }
    let plain = spelled(found.name);
    match (found.name, modifier.filter(|modifier| *modifier >= 0)) {
        ("numeric", Some(modifier)) => match digits(modifier) {
            Some((precision, scale)) => format!("{plain}({precision},{scale})"),
            None => plain.to_owned(),
        },
        ("varchar" | "bpchar", Some(modifier)) => match length(modifier) {
            Some(length) => format!("{plain}({length})"),
            None => plain.to_owned(),
        },
        ("timestamp" | "timestamptz", Some(digits)) => match plain.split_once(' ') {
            Some((time, zone)) => format!("{time}({digits}) {zone}"),
            None => plain.to_owned(),
        },
        _ => plain.to_owned(),
    }
}

/// SQL's spelling of a type that has one besides its name.
fn spelled(name: &'static str) -> &'static str {
    match name {
        "bool" => "boolean",
        "int2" => "smallint",
        "int4" => "integer",
        "int8" => "bigint",
        "float4" => "real",
        "float8" => "double precision",
        "varchar" => "character varying",
        "bpchar" => "character",
        "char" => "\"char\"",
        "time" => "time without time zone",
        "timetz" => "time with time zone",
        "timestamp" => "timestamp without time zone",
        "timestamptz" => "timestamp with time zone",
        "varbit" => "bit varying",
        "any" => "\"any\"",
        other => other,
    }
}

/// The type that a text names, in any of its spellings.
pub(crate) fn parse(text: &str) -> Option<&'static PgType> {
    let text = text.trim().to_lowercase();
    let text = text.strip_prefix("pg_catalog.").unwrap_or(&text);
    if let Some(element) = text.strip_suffix("[]") {
        return parse(element).and_then(|found| by_oid(found.array));
    }
    let bare = match text.split_once('(') {
        Some((name, _)) => name.trim_end(),
        None => text,
    };
    let alias = match bare {
        "int" => "int4",
        "decimal" => "numeric",
        "float" => "float8",
        "string" => "text",
        other => other.trim_matches('"'),
    };
    by_name(alias).or_else(|| all().iter().find(|one| spelled(one.name) == alias))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_spelled_as_sql_does() {
        for (kind, expected) in [
            (Type::Uint64, "numeric(20,0)"),
            (Type::Int32, "integer"),
            (Type::Timestamp, "timestamp with time zone"),
            (
                Type::Decimal {
                    precision: 22,
                    scale: 9,
                },
                "numeric(22,9)",
            ),
        ] {
            let (oid, modifier) = postgres_type(kind);
            assert_eq!(format(i64::from(oid), Some(i64::from(modifier))), expected);
        }
        assert_eq!(format(1009, None), "text[]");
        assert_eq!(format(0, None), "-");
    }

    #[test]
    fn every_spelling_is_read_back() {
        for one in all() {
            let read = parse(&format(one.oid, None)).map(|found| found.oid);
            assert_eq!(read, Some(one.oid), "{}", one.name);
        }
        assert!(parse("hstore").is_none());
    }
}
