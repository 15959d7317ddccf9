//! Values that are hard to encode in a mail: long, non-ASCII, or full of header syntax.
//!
//! The test sandbox compares each mail with its email (see `independent_parser`).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::Method;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, RngSeed, TestRunner};
use serde_json::{Value, json};

use crate::support::{Sandbox, email, email_of, email_with, exhaustive};

/// Text composed of fragments that have broken mail software before.
fn text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        8 => "[a-zA-Z]{1,12}".prop_map(String::from),
        6 => Just(" ".to_owned()),
        1 => Just("   ".to_owned()),
        1 => (60..80_usize).prop_map(|length| "w".repeat(length)),
        1 => Just(" ".repeat(80)),
        2 => prop::sample::select(vec!["\u{1f980}", "👩\u{200d}💻", "שלום", "\u{202e}", "é", "日本語", "ﬁ", "\u{feff}", "\u{2028}"]).prop_map(String::from),
        2 => prop::sample::select(vec!["\"", "\\", "'", "%", "%41", "*", "=", "?", "=?utf-8?q?=41?=", "=?", "?=", "(", ")", ";", ":", "@", "[", "#"]).prop_map(String::from),
    ];
    prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

/// Sometimes a word longer than a line.
fn long_text() -> impl Strategy<Value = String> {
    (text(), prop::option::weighted(0.05, 890..1_100_usize), text())
        .prop_map(|(before, long, after)| format!("{before}{}{after}", "L".repeat(long.unwrap_or_default())))
}

/// A display name, quoted.
fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('\\', "\\\\").replace('"', "\\\""))
}

fn emails() -> impl Strategy<Value = Value> {
    let names = prop::collection::vec(long_text(), 1..4);
    let file =
        (long_text(), prop::collection::vec(any::<u8>(), 0..200), prop::option::of("[!-;=?-~]{1,120}"));
    let bodies = ("[ -~\r\n\té]{0,300}", "[ -~\r\néש]{1,300}");
    (long_text(), names, long_text(), long_text(), prop::collection::vec(file, 0..3), bodies).prop_map(
        |(subject, names, free, structured, files, (text, html))| {
            let to: Vec<_> = names.iter().map(|name| format!("{} <ada@example.com>", quoted(name))).collect();
            let files: Vec<_> = files
                .iter()
                .map(|(name, bytes, id)| json!({"filename": name, "content": STANDARD.encode(bytes), "content_id": id}))
                .collect();
            json!({
                "from": format!("{} <hi@acme.test>", quoted(&names[0])), "to": to, "reply_to": to[0], "subject": subject,
                "text": format!("-{text}"), "html": html, "attachments": files,
                "headers": {"X-Free": free, "Comments": structured},
            })
        },
    )
}

#[test]
fn email_17_any_valid_value_round_trips_through_the_mail() {
    // EMAIL-17
    let cases = if exhaustive() { 2_000 } else { 200 };
    let config = Config {
        cases,
        failure_persistence: None,
        rng_algorithm: RngAlgorithm::ChaCha,
        rng_seed: RngSeed::Fixed(7),
        ..Config::default()
    };
    let refused = std::cell::Cell::new(0);
    let outcome = TestRunner::new(config).run(&emails(), |email| {
        let sandbox = Sandbox::new();
        let answer = sandbox.post("/emails", &email);
        if answer.status == 422 {
            let message = answer.message();
            let named = message.contains("filename`");
            prop_assert!(named, "{message}");
            refused.set(refused.get() + 1);
        } else {
            prop_assert_eq!(answer.status.as_u16(), 200, "{}", answer.text());
            prop_assert_eq!(sandbox.mails().len(), 1);
        }
        Ok(())
    });
    outcome.unwrap_or_else(|error| panic!("{error}"));
    assert!(refused.get() < cases * 3 / 5, "{} were refused", refused.get());
}

#[test]
fn folding_a_long_value_preserves_its_spaces() {
    let value = "the board of directors ".repeat(40).trim_end().to_owned();
    let sandbox = Sandbox::new();
    let email = email_of(&json!({
        "subject": value, "from": format!("{value} <hi@acme.test>"), "headers": {"X-Long": value, "Keywords": value},
        "attachments": [{"filename": format!("{value}.txt"), "content": "YQ=="}],
    }));
    sandbox.sent(&email);
    let mail = sandbox.mail();
    let mime = String::from_utf8_lossy(&mail.mime);
    assert!(!mime.contains('\t'), "{mime}");
    assert!(!mime.lines().any(|line| line.len() > 78), "{mime}");
}

#[test]
fn values_that_mime_cannot_represent_are_rejected() {
    let sandbox = Sandbox::new();
    let word = "w".repeat(901);
    for (email, field) in [
        (email_with("headers", json!({("X".repeat(301)): "a"})), "`headers`"),
        (
            email_with("attachments", json!([{"content": "", "content_id": word}])),
            "`attachments[0].content_id`",
        ),
        (
            email_with("attachments", json!([{"content": "", "content_type": format!("a/{word}")}])),
            "`attachments[0].content_type`",
        ),
    ] {
        sandbox.refused(&email).invalid(field);
    }
    let mut free = email();
    free["headers"] = json!({"X-Word": word, "Keywords": word, "Importance": " high", "X-Spaces": "  a  ", "X-Empty": "", "X-Encoded": "=?utf-8?q?=41?="});
    sandbox.sent(&free);
}

#[test]
fn a_number_beyond_the_range_of_floats_is_reported_as_too_large() {
    let sandbox = Sandbox::new();
    let body = r#"{"email": "ada@example.com", "properties": {"total": -1e999}}"#;
    sandbox.ask(Method::POST, "/contacts").send(body).invalid("found a number that is too large");
}
