//! The persisted state: segments of a database with replaced bytes, and a damaged database file.
//!
//! The first byte selects the file (0) or a segment; the next two the place; the rest replaces what is there.

use std::fs;
use std::path::Path;
use std::sync::OnceLock;

use idempost_sandbox::persistence::{self, PersistenceError};
use redb::{Database, ReadableDatabase as _, ReadableTable as _, TableDefinition};
use serde_json::json;

use super::service::{Sandbox, settings};

const SEGMENTS: TableDefinition<'_, u32, &[u8]> = TableDefinition::new("segments");
const FILE: &str = "sandbox.redb";

pub(crate) fn run(data: &[u8]) {
    let [selector, high, low, replacement @ ..] = data else { return };
    let place = usize::from(u16::from_be_bytes([*high, *low]));
    let folder = tempfile::tempdir().expect("a temporary folder can be created");
    let path = folder.path().join(FILE);
    fs::write(&path, sample()).expect("the file can be written");
    if *selector == 0 {
        damage(&path, place * 16, replacement);
    } else {
        replace(&path, usize::from(*selector), place, replacement);
    }
    let content = || {
        // Opening a database marks its file, so that of damaged segments is compared by its segments.
        if *selector == 0 {
            vec![(0, fs::read(&path).expect("the file can be read"))]
        } else {
            segments(&path)
        }
    };
    let before = content();
    match persistence::open(folder.path(), settings(), |_| {}) {
        Ok((service, persistence)) => {
            let sandbox = Sandbox { service };
            for list in [
                "/emails",
                "/emails/receiving",
                "/contacts",
                "/templates",
                "/domains",
                "/webhooks",
                "/_/messages",
            ] {
                sandbox.call("GET", list, bytes::Bytes::new());
            }
            assert!(persistence.close(), "the state can't be written");
        }
        Err(
            PersistenceError::Damaged(_) | PersistenceError::Newer { .. } | PersistenceError::Older { .. },
        ) => {
            assert!(content() == before, "a file that can't be read was changed");
        }
        Err(other) => panic!("{other}"),
    }
}

/// Overwrites bytes of the file.
fn damage(path: &Path, place: usize, replacement: &[u8]) {
    let mut bytes = fs::read(path).expect("the file can be read");
    let place = place % bytes.len();
    for (byte, new) in bytes[place..].iter_mut().zip(replacement) {
        *byte = *new;
    }
    fs::write(path, bytes).expect("the file can be written");
}

/// Replaces bytes of a segment, which then has a valid checksum.
fn replace(path: &Path, segment: usize, place: usize, replacement: &[u8]) {
    let all = segments(path);
    let (number, mut value) = all[segment % all.len()].clone();
    let start = place % value.len().max(1);
    let end = (start + replacement.len()).min(value.len());
    value.splice(start..end, replacement.iter().copied());
    let database = Database::open(path).expect("the sample is valid");
    let writing = database.begin_write().expect("the sample is valid");
    {
        let mut segments = writing.open_table(SEGMENTS).expect("the sample has segments");
        segments.insert(number, value.as_slice()).expect("the sample is valid");
    }
    writing.commit().expect("the sample is valid");
}

/// All segments with their numbers.
fn segments(path: &Path) -> Vec<(u32, Vec<u8>)> {
    let database = Database::open(path).expect("the file is valid");
    let reading = database.begin_read().expect("the file is valid");
    let segments = reading.open_table(SEGMENTS).expect("the file has segments");
    let all = segments.iter().expect("the file is valid").filter_map(Result::ok);
    all.map(|(number, value)| (number.value(), value.value().to_vec())).collect()
}

/// The file of a sandbox with a record of most kinds.
fn sample() -> &'static [u8] {
    static SAMPLE: OnceLock<Vec<u8>> = OnceLock::new();
    SAMPLE.get_or_init(|| {
        let folder = tempfile::tempdir().expect("a temporary folder can be created");
        let opened = persistence::open(folder.path(), settings(), |_| {});
        let (service, persistence) = opened.expect("an empty folder can be used");
        let sandbox = Sandbox { service };
        let email = json!({"from": "hi@acme.test", "to": "ada@example.com", "subject": "Hello", "html": "<p>Hi", "scheduled_at": "in 1 hour"});
        for (path, body) in [
            ("/emails", json!({"from": "hi@acme.test", "to": "ada@example.com", "subject": "Hello", "text": "Hi"})),
            ("/emails", email),
            ("/domains", json!({"name": "acme.test"})),
            ("/segments", json!({"name": "Weekly"})),
            ("/topics", json!({"name": "News", "default_subscription": "opt_in"})),
            ("/contact-properties", json!({"key": "city", "type": "string"})),
            ("/contacts", json!({"email": "ada@example.com", "properties": {"city": "Bergen"}})),
            ("/templates", json!({"name": "Welcome", "html": "<p>{{{NAME}}}</p>", "variables": [{"key": "NAME", "type": "string"}]})),
            ("/webhooks", json!({"endpoint": "https://acme.test/hook", "events": ["email.sent"]})),
            ("/suppressions", json!({"email": "no@example.com"})),
            ("/events", json!({"name": "user.created"})),
            ("/api-keys", json!({"name": "CI"})),
        ] {
            sandbox.call("POST", path, body.to_string().into());
        }
        let raw = &b"From: a@b.test\r\nTo: c@d.test\r\nSubject: x\r\n\r\nHi\r\n"[..];
        let _ = sandbox.service.receive(super::service::KEY, &["c@d.test"], raw);
        assert!(persistence.close());
        drop(sandbox);
        fs::read(folder.path().join(FILE)).expect("the file can be read")
    })
}
