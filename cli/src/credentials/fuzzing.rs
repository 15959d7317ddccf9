//! Properties of stored credentials.

use super::file::{self, Contents};
use super::key::Key;
use super::stored::Record;

/// Records survive a round trip; nothing else decrypts; no message shows a secret.
pub(crate) fn records(data: &[u8]) {
    for read in [Record::from_json(data), Contents::from_file(data).and_then(|found| found.open(None))] {
        match read {
            Ok(record) => check(&record),
            Err(error) => {
                let shown = format!("{error} {error:?}");
                assert!(!shown.contains("SECRET"), "a secret is shown: {shown}");
            }
        }
    }
    if let Ok(text) = std::str::from_utf8(data) {
        let key = Key::from_text(text);
        assert!(key.is_none_or(|key| *key.to_text() == *text), "{text:?}");
    }
}

fn check(record: &Record) {
    let json = record.to_json();
    let again = Record::from_json(&json).expect("a written record can be read");
    assert_eq!(*again.to_json(), *json);
    for key in [None, Some(Key::new().expect("the system has random numbers"))] {
        let open = |file: &[u8]| Contents::from_file(file).and_then(|found| found.open(key.as_ref()));
        let file = file::to_file(record, key.as_ref()).expect("records can be encrypted");
        assert_eq!(*open(&file).expect("a written file can be read").to_json(), *json);
        // Every change of the file is detected.
        let place = usize::from(json[json.len() / 2]) % file.len();
        let mut changed = file.to_vec();
        changed[place] ^= 1;
        assert!(open(&changed).is_err());
    }
}
