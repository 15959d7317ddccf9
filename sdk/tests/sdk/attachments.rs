//! Attachments from streams.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use bytes::Bytes;
use futures_util::stream;
use idempost::{Attachment, Client, Email, Error, Outcome, contact_imports::NewContactImport};
use idempost_reference_server::ReferenceServer;
use serde_json::{Value, json};

use super::script::{self, Reply, Script};

fn email(attachment: Attachment) -> Email {
    script::email().attach(attachment)
}

#[tokio::test(start_paused = true)]
async fn a_stream_is_opened_again_for_each_attempt_and_sent_as_base64() {
    // EMAIL-31
    let busy = Reply::error(503, "service_unavailable");
    let script = Script::of([busy, Reply::connection_lost(), script::accepted()]);
    let opened = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&opened);
    let report = Attachment::from_stream("/tmp/report.csv", 10, move || {
        count.fetch_add(1, Ordering::Relaxed);
        stream::iter(["appl", "es", ",17\n"].map(|piece| Ok(Bytes::from(piece))))
    });
    assert_eq!((report.file_name(), report.size()), (Some("report.csv"), Some(10)));
    let email = email(report.clone().content_type("text/csv"));
    assert!(email.check().is_ok());
    assert!(serde_json::to_value(&email).unwrap_err().to_string().contains("report.csv"));
    assert_eq!(report, report.clone());
    script.client().emails().send(&email).await.unwrap();
    let seen = script.seen();
    // The check against the contract also reads each body.
    assert_eq!((seen.len(), opened.load(Ordering::Relaxed)), (3, 2 * 3));
    for sent in &seen {
        assert_eq!(sent.body, seen[0].body);
    }
    let body: Value = serde_json::from_slice(&seen[0].body).unwrap();
    let expected =
        json!({"filename": "report.csv", "content_type": "text/csv", "content": "YXBwbGVzLDE3Cg=="});
    assert_eq!(body["attachments"], json!([expected]));
}

#[tokio::test]
async fn a_stream_of_another_length_or_that_fails_sends_nothing() {
    let server = ReferenceServer::start().await;
    let client = Client::new(&server.base_url(), &server.api_key()).unwrap();
    let pieces = |failing: bool| {
        move || {
            let last = if failing { Err(io::Error::other("the disk is on fire")) } else { Ok("fg".into()) };
            stream::iter([Ok(Bytes::from("abcde")), last])
        }
    };
    for (attachment, reason) in [
        (Attachment::from_stream("a", 6, pieces(false)), "longer"),
        (Attachment::from_stream("a", 8, pieces(false)), "shorter"),
        (Attachment::from_stream("a", 7, pieces(true)), "on fire"),
    ] {
        let error = client.emails().send(&email(attachment)).await.unwrap_err();
        let Error::File(source) = &error else { panic!("{error:?}") };
        assert!(source.source.to_string().contains(reason), "{source:?}");
        assert_eq!((error.outcome(), error.is_retryable()), (Outcome::NotSent, false));
    }
    client.emails().send(&email(Attachment::from_stream("a", 7, pieces(false)))).await.unwrap();
    assert_eq!(server.service().mails("sb_test").len(), 1);
}

#[tokio::test(start_paused = true)]
async fn an_import_is_streamed_again_after_a_429_and_not_repeated_if_its_outcome_is_unknown() {
    let limited = || Reply::error(429, "rate_limit_exceeded");
    let created = Reply::json(200, json!({"object": "contact_import", "id": "i1"}));
    let script = Script::of([limited(), limited(), created]);
    let rows = || stream::iter(["email\n", "ada@example.com\n"].map(|row| Ok(Bytes::from(row))));
    let import = NewContactImport::from_stream(22, rows);
    script.client().contact_imports().create(&import).await.unwrap();
    let seen = script.seen();
    assert!(seen.len() == 3 && seen.iter().all(|sent| sent.body == seen[0].body));
    assert!(String::from_utf8_lossy(&seen[0].body).contains("\r\n\r\nemail\nada@example.com\n\r\n--"));

    for lost in [Reply::connection_lost(), Reply::error(503, "service_unavailable")] {
        let script = Script::of([lost]);
        let error = script.client().contact_imports().create(&import).await.unwrap_err();
        assert_eq!((error.outcome(), error.is_retryable()), (Outcome::Unknown, false), "{error}");
        assert_eq!(script.seen().len(), 1);
    }
}

#[test]
fn streams_count_towards_the_maximum_size() {
    let attachment = Attachment::from_stream("a", 40 << 20, stream::empty);
    assert_eq!(email(attachment).check().unwrap_err()[0].code, "size");
}

#[tokio::test]
async fn a_stream_of_an_impossible_length_is_rejected() {
    for length in [u64::MAX, 1 << 63, 3 << 62] {
        let endless = Attachment::from_stream("a.bin", length, stream::empty);
        let script = Script::of([]);
        for email in [email(endless.clone()), email(endless.clone()).attach(endless)] {
            let error = script.client().emails().send(&email).await.unwrap_err();
            assert!(
                error.to_string().starts_with("/attachments: `attachments` must have at most 40 MB"),
                "{error}"
            );
        }
    }
}
