//! Inputs of a bulk job: CSV, TSV or JSON Lines, plain or compressed, as their first character shows.

use std::io::Cursor;

use idempost::Client;
use idempost_bulk::{Bulk, Input, Message};

pub(crate) fn run(data: &[u8]) {
    let folder = tempfile::tempdir().expect("a temporary folder can be created");
    let client = Client::new("http://127.0.0.1:9", "re_test").expect("the settings are valid");
    let plan = || {
        let message = Message::new()
            .from("hi@acme.test")
            .subject("Hello {{{NAME|there}}}")
            .text("Code {{{CODE|none}}}");
        let bulk = Bulk::new(Input::reader("input", Cursor::new(data.to_vec())), message);
        let runtime =
            tokio::runtime::Builder::new_current_thread().build().expect("a runtime without I/O starts");
        runtime.block_on(bulk.plan(&client, folder.path()))
    };
    match plan() {
        Ok(job) => {
            let counts = job.plan().counts();
            assert_eq!(counts.rows, counts.valid + counts.invalid + counts.blank + counts.repeated);
            assert!(counts.rows <= data.len() as u64 || data.starts_with(&[0x1f, 0x8b]), "{counts:?}");
            let emails = job.plan().preview(1_000).expect("valid rows can be rendered");
            assert_eq!(emails.len() as u64, counts.valid.min(1_000));
            assert!(
                emails.iter().all(|email| email.email.check().is_ok()),
                "a valid row has an invalid email"
            );
            assert!(emails.is_sorted_by_key(|email| email.row));
            // The same input is the same job.
            assert_eq!(plan().expect("it was planned before").plan().id(), job.plan().id());
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}
