//! Interned strings: constants of the program, restored from disk.

use std::collections::BTreeSet;
use std::sync::Mutex;

use jiff::Timestamp;
use serde::{Deserialize, Deserializer};

use crate::lock::lock;

/// A constant of the program, such as an event type. Records refer to it without a copy each.
pub type Interned = &'static str;

/// All strings restored so far. Their number is bounded by the program's constants.
static KNOWN: Mutex<BTreeSet<Interned>> = Mutex::new(BTreeSet::new());

/// Deserializes a string; equal ones share one allocation.
pub fn deserialize_interned<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Interned, D::Error> {
    String::deserialize(deserializer).map(intern)
}

/// Deserializes an optional time with its reason.
pub fn deserialize_dated<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<(Timestamp, Interned)>, D::Error> {
    let dated = Option::<(Timestamp, String)>::deserialize(deserializer)?;
    Ok(dated.map(|(at, text)| (at, intern(text))))
}

fn intern(text: String) -> Interned {
    let mut known = lock(&KNOWN);
    if let Some(word) = known.get(text.as_str()) {
        return word;
    }
    let word: Interned = String::leak(text);
    known.insert(word);
    word
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_strings_are_interned_once() {
        let (one, other) = (intern("email.sent".to_owned()), intern("email.sent".to_owned()));
        assert!(std::ptr::eq(one, other));
    }
}
