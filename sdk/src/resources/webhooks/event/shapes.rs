//! Shapes on which descriptions of the events differ, read in each form.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::email::EmailHeader;

/// A list of texts, one text, or null.
pub(super) fn texts<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Texts {
        Many(Vec<String>),
        One(String),
    }
    Ok(match Option::deserialize(deserializer)? {
        Some(Texts::Many(texts)) => texts,
        Some(Texts::One(text)) => vec![text],
        None => Vec::new(),
    })
}

/// Names and values: an object, or a list of `{name, value}`.
#[derive(Deserialize)]
#[serde(untagged)]
enum Pairs {
    Object(BTreeMap<String, Value>),
    List(Vec<Pair>),
}

#[derive(Deserialize)]
struct Pair {
    name: String,
    #[serde(default)]
    value: Value,
}

/// Tags: an object, or a list of `{name, value}`.
pub(super) fn tags<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BTreeMap<String, String>, D::Error> {
    Ok(pairs(deserializer)?.collect())
}

/// Headers: a list of `{name, value}`, in which a name can occur again, or an object.
pub(super) fn headers<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<EmailHeader>, D::Error> {
    Ok(pairs(deserializer)?.map(|(name, value)| EmailHeader { name, value }).collect())
}

fn pairs<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<impl Iterator<Item = (String, String)>, D::Error> {
    let pairs: Vec<(String, Value)> = match Option::deserialize(deserializer)? {
        Some(Pairs::Object(object)) => object.into_iter().collect(),
        Some(Pairs::List(list)) => list.into_iter().map(|pair| (pair.name, pair.value)).collect(),
        None => Vec::new(),
    };
    Ok(pairs.into_iter().map(|(name, value)| match value {
        Value::String(text) => (name, text),
        Value::Null => (name, String::new()),
        other => (name, other.to_string()),
    }))
}
