//! Words of the program itself, read back from where they were kept.

use std::collections::BTreeSet;
use std::sync::Mutex;

use jiff::Timestamp;
use serde::{Deserialize, Deserializer};

use crate::lock::lock;

/// A word that the program has, such as the type of an event. Records are made of them without a copy each.
pub(crate) type Interned = &'static str;

/// Every word that was read so far. There are as many as the program ever wrote.
static KNOWN: Mutex<BTreeSet<Interned>> = Mutex::new(BTreeSet::new());

/// Reads a word; the same one twice is the same.
pub(crate) fn word<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Interned, D::Error> {
    String::deserialize(deserializer).map(intern)
}

/// Reads when something was and why, if it was.
pub(crate) fn dated<'de, D: Deserializer<'de>>(
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
    fn the_same_word_is_kept_once() {
        let (one, other) = (intern("email.sent".to_owned()), intern("email.sent".to_owned()));
        assert!(std::ptr::eq(one, other));
    }
}
