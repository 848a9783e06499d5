//! The functions of the data service: PutItem, UpdateItem, GetItem, GetItems, GetClusterMD.

use axum::response::Response;
use keys::attribute::format_double;
use keys::{Attribute, Item};
use serde_json::{Map, Value as Json, json};

use super::answer;
use super::attributes::{Wanted, write_text};
use super::fields::Fields;
use super::request::Asked;
use crate::nosql::json::{attribute_from_json, item_from_json};
use db::items::Collections;
use db::items::scan::SEGMENTS_MAX;
use db::items::{Ask, Directory, Error, Mode, Page, Place, Result, Scope, Write};

/// Into how many parts a client that asks for our nodes should divide its scans.
const NODES: u32 = 8;

/// Calls a function.
pub(super) async fn call(
    collections: &Collections,
    asked: &Asked,
    function: &str,
    body: &[u8],
) -> Result<Response> {
    let fields = Fields::parse(body)?;
    match function {
        "PutItem" => write(collections, asked, &fields, Mode::Replace).await,
        "UpdateItem" => write(collections, asked, &fields, Mode::Merge).await,
        "GetItem" => get(collections, asked, &fields).await,
        "GetItems" => scan(collections, asked, &fields).await,
        "GetClusterMD" => Ok(answer::json(json!({"NumberOfVNs": NODES}).to_string())),
        _ => {
            let function: String = function.chars().take(60).collect();
            Err(Error::Invalid(format!(
                "there is no function `{function}`: ask for PutItem, UpdateItem, GetItem, GetItems \
                 or GetClusterMD"
            )))
        }
    }
}

async fn write(
    collections: &Collections,
    asked: &Asked,
    fields: &Fields,
    usual: Mode,
) -> Result<Response> {
    let (place, key) = place(asked, fields)?;
    let mode = match fields.text("UpdateMode")? {
        None => usual,
        Some(mode) => parse_mode(mode)?,
    };
    let mut item = fields.object("Item")?.map(item_from_json).transpose()?;
    if let Some((name, attribute)) = key {
        item.get_or_insert_with(Item::new).set(name, attribute);
    }
    if item.is_none() && usual == Mode::Replace {
        return Err(Error::Invalid("`Item` is missing".to_owned()));
    }
    let write = Write {
        item,
        mode,
        condition: fields.condition("ConditionExpression")?,
        update: fields.update("UpdateExpression")?,
        alternate: fields.update("AlternateUpdateExpression")?,
        buckets: asked.buckets,
    };
    let changed_ns = collections.write(&place, &write).await?;
    Ok(answer::changed(changed_ns))
}

fn parse_mode(mode: &str) -> Result<Mode> {
    const MODES: [(&str, Mode); 3] = [
        ("CreateOrReplaceAttributes", Mode::Merge),
        ("OverWriteAttributes", Mode::Replace),
        ("CreateNewItemOnly", Mode::CreateOnly),
    ];
    let known = MODES
        .iter()
        .find(|(name, _)| name.eq_ignore_ascii_case(mode));
    let known = known.map(|(_, mode)| *mode);
    known.ok_or_else(|| {
        Error::Invalid(
            "`UpdateMode` is CreateOrReplaceAttributes, OverWriteAttributes or CreateNewItemOnly"
                .to_owned(),
        )
    })
}

async fn get(collections: &Collections, asked: &Asked, fields: &Fields) -> Result<Response> {
    let is_whole = fields.object("Key")?.is_none() && fields.text("TableName")?.is_none();
    let place = match is_whole && asked.has_name() {
        // Also with a slash at its end: what clients ask so is whether a path is a file.
        true => asked.place()?,
        false => place(asked, fields)?.0,
    };
    let wanted = Wanted::parse(fields.text("AttributesToGet")?.unwrap_or("*"));
    let record = collections.get(&place, asked.buckets).await?;
    let mut body = b"{\"Item\":".to_vec();
    wanted.write(&mut body, &record)?;
    body.push(b'}');
    Ok(answer::with_changed(answer::json(body), record.changed_ns))
}

async fn scan(collections: &Collections, asked: &Asked, fields: &Fields) -> Result<Response> {
    let (directory, all_below) = tables(asked.directory()?, fields)?;
    let wanted = Wanted::parse(fields.text("AttributesToGet")?.unwrap_or("*")).with_name();
    let limit = fields.number("Limit")?.filter(|limit| *limit > 0);
    let ask = Ask {
        scope: match (scope(fields)?, all_below) {
            (scope, false) => scope,
            (Scope::Whole, true) => Scope::Below(None),
            (Scope::Segment(segment, total), true) => Scope::Below(Some((segment, total))),
            (_, true) => {
                let reason = "a `ShardingKey` is one of one table: `TableName` has no `*` with it";
                return Err(Error::Invalid(reason.to_owned()));
            }
        },
        filter: fields.condition("FilterExpression")?,
        limit: limit.map(|limit| usize::try_from(limit).unwrap_or(usize::MAX)),
        marker: fields
            .text("Marker")?
            .filter(|marker| !marker.is_empty())
            .map(str::to_owned),
        buckets: asked.buckets,
    };
    let Page {
        records,
        marker,
        changed_ns,
        ..
    } = collections.scan(&directory, &ask).await?;
    let last = if marker.is_some() { "FALSE" } else { "TRUE" };
    let size = records.len();
    let mut body = format!("{{\"LastItemIncluded\":\"{last}\",\"NumItems\":{size},").into_bytes();
    if let Some(marker) = marker {
        body.extend_from_slice(b"\"NextMarker\":");
        write_text(&mut body, &marker);
        body.push(b',');
    }
    body.extend_from_slice(b"\"Items\":[");
    for (at, record) in records.iter().enumerate() {
        if at > 0 {
            body.push(b',');
        }
        wanted.write(&mut body, record)?;
    }
    body.extend_from_slice(b"]}");
    let response = answer::json(body);
    Ok(match changed_ns {
        Some(changed_ns) => answer::with_changed(response, changed_ns),
        None => response,
    })
}

fn scope(fields: &Fields) -> Result<Scope> {
    let invalid = |reason: &str| Err(Error::Invalid(reason.to_owned()));
    let bound = |name| Ok::<_, Error>(fields.text(name)?.filter(|bound| !bound.is_empty()));
    let sharding = bound("ShardingKey")?;
    let (start, end) = (bound("SortKeyRangeStart")?, bound("SortKeyRangeEnd")?);
    let segment = fields.number("Segment")?;
    let total = fields.number("TotalSegment")?;
    let segments = match (segment, total) {
        (None, None) => None,
        (Some(segment), Some(total)) => Some((segment, total)),
        _ => return invalid("`Segment` and `TotalSegment` go together"),
    };
    match (sharding, segments) {
        (Some(_), Some(_)) => {
            invalid("a range of one `ShardingKey` has no segments: leave out `Segment`")
        }
        (None, _) if start.or(end).is_some() => {
            invalid("`SortKeyRangeStart` and `SortKeyRangeEnd` need a `ShardingKey`")
        }
        (Some(key), None) if key.contains('.') => {
            invalid("`ShardingKey` has no period: it is what is left of the first one in a name")
        }
        (Some(key), None) => Ok(Scope::Sharding {
            key: key.to_owned(),
            start: start.map(str::to_owned),
            end: end.map(str::to_owned),
        }),
        (None, None) => Ok(Scope::Whole),
        (None, Some((segment, total))) => {
            let fits = (1..=u64::from(SEGMENTS_MAX)).contains(&total) && segment < total;
            match (u16::try_from(segment), u16::try_from(total)) {
                (Ok(segment), Ok(total)) if fits => Ok(Scope::Segment(segment, total)),
                _ => invalid(
                    "`TotalSegment` is a number from 1 to 1024 and `Segment` one below that",
                ),
            }
        }
    }
}

/// Where an item is, which path and body tell together, and the attribute that the body names it by.
fn place(asked: &Asked, fields: &Fields) -> Result<(Place, Option<(String, Attribute)>)> {
    let key = fields.object("Key")?;
    if key.is_none() && !asked.is_directory() {
        return Ok((asked.place()?, None));
    }
    let directory = below(asked.directory()?, fields)?;
    let key = key.map(key_attribute).transpose()?;
    let Some((name, attribute)) = key else {
        let reason = "the item has no name: it is the end of the path, or in `Key`";
        return Err(Error::Invalid(reason.to_owned()));
    };
    let text = match &attribute {
        Attribute::Text(text) => text.clone(),
        Attribute::Integer(integer) => integer.to_string(),
        Attribute::Double(double) => format_double(*double),
        _ => return Err(Error::Invalid("`Key` has type S or N".to_owned())),
    };
    Ok((directory.place(text)?, Some((name, attribute))))
}

fn key_attribute(key: &Map<String, Json>) -> Result<(String, Attribute)> {
    let mut entries = key.iter();
    let (Some((name, value)), None) = (entries.next(), entries.next()) else {
        return Err(Error::Invalid("`Key` has one attribute".to_owned()));
    };
    Ok((name.clone(), attribute_from_json(name, value)?))
}

/// The table that a scan is of, and whether all tables below it are meant too: `*` stands for them.
fn tables(directory: Directory, fields: &Fields) -> Result<(Directory, bool)> {
    match fields.text("TableName")? {
        Some(table) if table == "*" || table.ends_with("/*") => {
            let table = table.trim_end_matches('*');
            Ok((directory.below(table)?, true))
        }
        _ => Ok((below(directory, fields)?, false)),
    }
}

/// The table that the body names, below the path.
fn below(directory: Directory, fields: &Fields) -> Result<Directory> {
    match fields.text("TableName")? {
        Some(table) if table.contains('*') => Err(Error::Invalid(
            "`TableName` names one table, or all below one as in `cars/*`".to_owned(),
        )),
        Some(table) => directory.below(table),
        None => Ok(directory),
    }
}
