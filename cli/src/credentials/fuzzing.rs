//! Properties of stored credentials.

use super::encrypted::{self, Key, Label};
use super::place::Place;
use super::stored::{self, Record};
use crate::settings::env::Env;

/// Records survive a round trip; nothing else decrypts; no message shows a secret.
pub(crate) fn records(data: &[u8]) {
    for read in [Record::from_json(data), stored::from_file(data)] {
        match read {
            Ok(record) => check(&record),
            Err(error) => {
                let shown = format!("{error} {error:?}");
                assert!(!shown.contains("SECRET"), "a secret is shown: {shown}");
            }
        }
    }
    let _ = encrypted::label(data);
    if let Ok(text) = std::str::from_utf8(data) {
        let key = Key::from_text(text);
        assert!(key.is_none_or(|key| *key.to_text() == *text), "{text:?}");
    }
}

fn check(record: &Record) {
    let json = record.to_json();
    let again = Record::from_json(&json).expect("a written record can be read");
    assert_eq!(*again.to_json(), *json);
    let file = stored::to_file(record);
    let read = stored::from_file(&file).expect("a written file can be read");
    assert_eq!(*read.to_json(), *json);
    let place = Place::new(&Env::from_pairs(&[("IDEMPOST_CONFIG_DIR", "/tmp/fuzz")]), Some("work"))
        .expect("the folder is absolute");
    let key = Key::new().expect("the system has random numbers");
    let label = || Label::new(&place, record);
    let sealed = encrypted::seal(&key, label(), &json).expect("records can be encrypted");
    let opened = encrypted::open(&key, &label(), &sealed).expect("the file is intact");
    assert_eq!(*opened, *json);
    // Every change of the file is detected.
    let place = usize::from(json[json.len() / 2]) % sealed.len();
    let mut changed = sealed.clone();
    changed[place] ^= 1;
    assert!(encrypted::open(&key, &label(), &changed).is_none_or(|opened| *opened == *json));
}
