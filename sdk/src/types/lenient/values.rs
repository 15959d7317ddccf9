//! The types that decode values of other JSON types.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{Lenient, Reading};

impl Lenient for Value {
    fn read(value: &Value) -> Reading<Self> {
        Reading::Exact(value.clone())
    }

    fn fallback() -> Option<Self> {
        Some(Value::Null)
    }

    fn take(value: Value) -> (Option<Self>, Option<Value>) {
        (Some(value), None)
    }
}

impl Lenient for String {
    fn read(value: &Value) -> Reading<Self> {
        match value {
            Value::String(text) => Reading::Exact(text.clone()),
            Value::Number(_) | Value::Bool(_) => Reading::Converted(value.to_string()),
            _ => Reading::Unreadable,
        }
    }

    fn fallback() -> Option<Self> {
        Some(Self::new())
    }

    fn is_plain(value: &Value) -> bool {
        value.is_string()
    }

    fn take(value: Value) -> (Option<Self>, Option<Value>) {
        match value {
            Value::String(text) => (Some(text), None),
            Value::Number(_) | Value::Bool(_) => (Some(value.to_string()), Some(value)),
            _ => (None, Some(value)),
        }
    }

    fn from_text(text: &str) -> Option<Self> {
        Some(text.to_owned())
    }

    fn elements(texts: Vec<String>) -> Result<Vec<Self>, Vec<String>> {
        Ok(texts)
    }
}

impl Lenient for bool {
    fn read(value: &Value) -> Reading<Self> {
        match value {
            Value::Bool(on) => Reading::Exact(*on),
            Value::Number(number) if number.as_u64() == Some(0) => Reading::Converted(false),
            Value::Number(number) if number.as_u64() == Some(1) => Reading::Converted(true),
            Value::String(text) if text == "false" => Reading::Converted(false),
            Value::String(text) if text == "true" => Reading::Converted(true),
            _ => Reading::Unreadable,
        }
    }

    fn fallback() -> Option<Self> {
        Some(false)
    }
}

macro_rules! integers {
    ($($integer:ty),+) => {
        $(impl Lenient for $integer {
            fn read(value: &Value) -> Reading<Self> {
                if let Some(number) = value.as_u64().and_then(|number| number.try_into().ok()) {
                    return Reading::Exact(number);
                }
                let text = match value {
                    Value::Number(number) => number.as_f64().filter(|n| n.fract() == 0.0).map(|n| format!("{n:.0}")),
                    Value::String(text) => Some(text.trim().to_owned()),
                    _ => None,
                };
                text.and_then(|text| text.parse().ok()).map_or(Reading::Unreadable, Reading::Converted)
            }
        })+
    };
}

integers!(u16, u64, usize);

impl Lenient for f64 {
    fn read(value: &Value) -> Reading<Self> {
        match value {
            Value::Number(number) => number
                .as_f64()
                .map_or(Reading::Unreadable, |read| Reading::exact_or_converted(number.is_f64(), read)),
            Value::String(text) => {
                let number = text.trim().parse().ok().filter(|number: &Self| number.is_finite());
                number.map_or(Reading::Unreadable, Reading::Converted)
            }
            _ => Reading::Unreadable,
        }
    }
}

impl<T: Lenient> Lenient for Option<T> {
    fn read(value: &Value) -> Reading<Self> {
        if value.is_null() { Reading::Exact(None) } else { T::read(value).map(Some) }
    }

    fn fallback() -> Option<Self> {
        Some(None)
    }

    fn take(value: Value) -> (Option<Self>, Option<Value>) {
        if value.is_null() {
            return (Some(None), None);
        }
        let (read, raw) = T::take(value);
        (read.map(Some), raw)
    }

    fn from_text(text: &str) -> Option<Self> {
        T::from_text(text).map(Some)
    }

    fn from_texts(texts: Vec<String>) -> Result<Self, Vec<String>> {
        T::from_texts(texts).map(Some)
    }
}

/// A single value is decoded as a list of one; unreadable elements are omitted.
impl<T: Lenient> Lenient for Vec<T> {
    fn read(value: &Value) -> Reading<Self> {
        let Value::Array(items) = value else {
            return match value {
                Value::String(text) if text.is_empty() => Reading::Converted(Self::new()),
                one => match (T::read(one), one) {
                    (Reading::Exact(item) | Reading::Converted(item), _) => Reading::Converted(vec![item]),
                    (Reading::Unreadable, Value::Object(entries)) => {
                        let list: Self =
                            entries.iter().filter_map(|(name, value)| T::from_entry(name, value)).collect();
                        if list.is_empty() { Reading::Unreadable } else { Reading::Converted(list) }
                    }
                    (Reading::Unreadable, _) => Reading::Unreadable,
                },
            };
        };
        let mut exact = true;
        let list = items.iter().filter_map(|item| element(item, &mut exact)).collect();
        Reading::exact_or_converted(exact, list)
    }

    fn fallback() -> Option<Self> {
        Some(Self::new())
    }

    fn take(value: Value) -> (Option<Self>, Option<Value>) {
        match value {
            Value::Array(items) if items.iter().all(T::is_plain) => {
                (Some(items.into_iter().filter_map(|item| T::take(item).0).collect()), None)
            }
            other => match Self::read(&other) {
                Reading::Exact(list) => (Some(list), None),
                Reading::Converted(list) => (Some(list), Some(other)),
                Reading::Unreadable => (None, Some(other)),
            },
        }
    }

    fn from_texts(texts: Vec<String>) -> Result<Self, Vec<String>> {
        T::elements(texts)
    }
}

/// A list of `{name, value}` is decoded as an object; unreadable entries are omitted.
impl<T: Lenient> Lenient for BTreeMap<String, T> {
    fn read(value: &Value) -> Reading<Self> {
        let mut exact = true;
        let entries = match value {
            Value::Object(entries) => entries,
            Value::Array(pairs) => {
                let pair = |pair: &Value| {
                    let read = T::read(pair.get("value")?);
                    let (Reading::Exact(value) | Reading::Converted(value)) = read else { return None };
                    Some((pair.get("name")?.as_str()?.to_owned(), value))
                };
                return Reading::Converted(pairs.iter().filter_map(pair).collect());
            }
            _ => return Reading::Unreadable,
        };
        let entry = |(key, value)| element::<T>(value, &mut exact).map(|value| (String::clone(key), value));
        let map = entries.iter().filter_map(entry).collect();
        Reading::exact_or_converted(exact, map)
    }

    fn fallback() -> Option<Self> {
        Some(Self::new())
    }
}

fn element<T: Lenient>(value: &Value, exact: &mut bool) -> Option<T> {
    match T::read(value) {
        Reading::Exact(element) => Some(element),
        Reading::Converted(element) => {
            *exact = false;
            Some(element)
        }
        Reading::Unreadable => {
            *exact = false;
            None
        }
    }
}
