//! Invalid input for sending: every problem is reported with its location and rule, and nothing is sent.
//!
//! The closest valid input is sent and validated against the contract, so the client rejects no more than it has to.

use idempost::{Attachment, BatchEmail, Email, Error, emails::check_batch, types::Scalar};
use idempost_conformance::bench::{Bench, EXPECT, Expect};
use serde_json::json;

use super::letters;

fn good() -> Email {
    Email::new("hi@acme.test", "ada@example.com", "Hello").text("It works")
}

fn template() -> Email {
    Email::from_template("welcome", "ada@example.com")
}

/// Sends invalid and valid input.
struct Trial {
    bench: Bench,
}

impl Trial {
    async fn begin() -> Self {
        Self { bench: Bench::start().await }
    }

    /// Expects exactly these problems, and no request.
    #[track_caller]
    fn problems(&self, error: &Error, expected: &[(&str, &str)]) {
        let Error::Invalid(problems) = error else { panic!("expected {expected:?}, found {error:?}") };
        let found: Vec<_> = problems.iter().map(|problem| (problem.path.as_str(), problem.code)).collect();
        assert_eq!(found, expected, "{problems}");
        assert!(!problems.iter().any(|problem| problem.message.is_empty()));
        assert!(self.bench.requests().is_empty(), "a request was made");
    }

    async fn wrong(&self, email: Email, expected: &[(&str, &str)]) {
        let error = self.bench.client().emails().send(&email).await.expect_err(&format!("{expected:?}"));
        self.problems(&error, expected);
        assert!(email.check().is_err());
    }

    /// Expects a request that keeps the contract; the response doesn't matter.
    async fn right(email: Email) {
        email.check().unwrap();
        let bench = Bench::start().await;
        let _ = bench.client().emails().send(&email).await;
        assert_eq!(bench.requests().len(), 1);
    }
}

#[tokio::test]
async fn input_01_02_03_recipients() {
    //
    let trial = Trial::begin().await;
    let to = |n: usize| Email::new("hi@acme.test", vec!["ada@example.com"; n], "Hello").text("x");
    trial.wrong(to(51), &[("/to/50", "count")]).await;
    trial.wrong(to(0), &[("/to", "required")]).await;
    for (to, code) in
        [("", "empty"), ("  ", "empty"), ("a@x.test, b@x.test", "address"), ("nobody", "address")]
    {
        trial.wrong(Email::new("hi@acme.test", to, "Hello").text("x"), &[("/to/0", code)]).await;
    }
    Trial::right(to(50)).await;
    Trial::right(to(1)).await;
}

#[tokio::test]
async fn input_04_senders() {
    //
    let trial = Trial::begin().await;
    for from in ["Name <a@b.test", "<>", "a@", "@b", "Name a@b.test", "nobody"] {
        trial.wrong(good().from(from), &[("/from", "address")]).await;
    }
    for from in ["a@b.c", "Name <a@b.c>", "\"N, x\" <a@b.c>", "Zoë <zoe@b.c>"] {
        Trial::right(good().from(from)).await;
    }
}

#[tokio::test]
async fn input_05_06_line_breaks_and_other_controls() {
    //
    let trial = Trial::begin().await;
    for evil in ["x\r\nBcc: victim@example.com", "x\ny", "x\0y", "x\u{7}y", "x\ty", "x\u{7f}y"] {
        for (path, email) in [
            ("/from", good().from(format!("{evil} <a@b.test>"))),
            ("/to/0", Email::new("hi@acme.test", format!("{evil} <a@b.test>"), "Hello").text("x")),
            ("/cc/0", good().cc(format!("{evil} <a@b.test>"))),
            ("/bcc/0", good().bcc(format!("{evil} <a@b.test>"))),
            ("/reply_to/0", good().reply_to(format!("{evil} <a@b.test>"))),
            ("/subject", good().subject(evil)),
            ("/headers/X-A", good().header("X-A", evil)),
            ("/attachments/0/filename", good().attach(Attachment::from_bytes(evil, "x"))),
            (
                "/attachments/0/content_type",
                good().attach(Attachment::from_bytes("a", "x").content_type(evil)),
            ),
            ("/attachments/0/content_id", good().attach(Attachment::from_bytes("a", "x").content_id(evil))),
        ] {
            trial.wrong(email, &[(path, "header")]).await;
        }
    }
    Trial::right(good().subject("a\u{85}b\u{2028}c")).await;
}

#[tokio::test]
async fn input_07_08_09_subject_and_body() {
    // EMAIL-21, A-07, A-08, A-09
    let trial = Trial::begin().await;
    let bare = || Email::new("hi@acme.test", "ada@example.com", "Hello");
    trial.wrong(bare(), &[("", "required")]).await;
    trial.wrong(bare().text(""), &[("", "required")]).await;
    Trial::right(bare().subject("").text("x")).await;
    Trial::right(bare().html("<p>x</p>").text("")).await;
    Trial::right(template()).await;
    let without = Email::from_json(&json!({ "from": "a@b.test", "to": "c@d.test", "text": "x" }));
    assert_eq!(without.unwrap_err()[0].path, "/subject");
}

#[tokio::test]
async fn input_10_11_templates() {
    // EMAIL-21, EMAIL-50, A-10, A-11
    let trial = Trial::begin().await;
    trial.wrong(Email::from_template("", "ada@example.com"), &[("/template/id", "required")]).await;
    trial.wrong(template().html("x"), &[("/html", "exclusive")]).await;
    trial.wrong(good().template("welcome"), &[("/text", "exclusive")]).await;
    trial.wrong(good().variable("A", 1), &[("/text", "exclusive")]).await;
    for (field, value) in [("html", "x"), ("text", "x"), ("text", "")] {
        let both = json!({ "to": "a@b.test", "template": { "id": "t" }, field: value });
        let problems = Email::from_json(&both).unwrap_err();
        assert_eq!((problems[0].path.as_str(), problems[0].code), (&*format!("/{field}"), "exclusive"));
        assert!(problems[0].message.contains("template"), "{}", problems[0].message);
    }
    let react = json!({ "to": "a@b.test", "from": "a@b.test", "subject": "s", "text": "x", "react": "y" });
    assert_eq!(Email::from_json(&react).unwrap_err()[0].code, "unknown");
}

#[tokio::test]
async fn input_12_13_keys_of_variables() {
    //
    let trial = Trial::begin().await;
    let with = |key: &str| template().variable(key, "v");
    for (key, code) in [
        ("a-b", "charset"),
        ("é", "charset"),
        ("a b", "charset"),
        (&letters(51), "length"),
        ("FIRST_NAME", "reserved"),
        ("LAST_NAME", "reserved"),
        ("EMAIL", "reserved"),
        ("UNSUBSCRIBE_URL", "reserved"),
        ("SERVICE_UNSUBSCRIBE_URL", "reserved"),
        ("contact", "reserved"),
        ("this", "reserved"),
    ] {
        trial.wrong(with(key), &[(&format!("/template/variables/{key}"), code)]).await;
    }
    assert!(with("").check().is_err());
    for key in ["A", "a_1", "first_name", "7", &letters(50)] {
        Trial::right(with(key)).await;
    }
}

#[tokio::test]
async fn input_14_15_values_of_variables() {
    // EMAIL-60, A-14, A-15
    let trial = Trial::begin().await;
    let with = |value: Scalar| template().variable("A", value);
    for (value, code) in [
        (letters(2_001).into(), "length"),
        ("🦀".repeat(2_001).into(), "length"),
        ((1_u64 << 53).into(), "range"),
        (1e300.into(), "range"),
        (f64::NAN.into(), "type"),
        (f64::INFINITY.into(), "type"),
    ] {
        trial.wrong(with(value), &[("/template/variables/A", code)]).await;
    }
    for value in [
        Scalar::from(""),
        letters(2_000).into(),
        "🦀".repeat(2_000).into(),
        ((1_u64 << 53) - 1).into(),
        (-(1_i64 << 53)).into(),
        1.5.into(),
        "007".into(),
    ] {
        Trial::right(with(value)).await;
    }
    for value in [json!(true), json!({}), json!([]), json!(null)] {
        let email = json!({ "to": "a@b.test", "template": { "id": "t", "variables": { "A": value } } });
        assert_eq!(Email::from_json(&email).unwrap_err()[0].path, "/template/variables/A", "{value}");
    }
}

#[tokio::test]
async fn input_16_tags() {
    //
    let trial = Trial::begin().await;
    for (text, code) in
        [("a b", "charset"), ("é", "charset"), (".", "charset"), ("/", "charset"), (&letters(257), "length")]
    {
        trial.wrong(good().tag(text, "v"), &[("/tags/0/name", code)]).await;
        trial.wrong(good().tag("n", text), &[("/tags/0/value", code)]).await;
    }
    assert!(good().tag("", "v").check().is_err() && good().tag("n", "").check().is_err());
    Trial::right(good().tag(letters(256), letters(256)).tag("azAZ09_-", "-")).await;
    let half = json!({ "from": "a@b.test", "to": "a@b.test", "subject": "", "text": "x", "tags": [{ "name": "n" }] });
    assert_eq!(Email::from_json(&half).unwrap_err()[0].path, "/tags/0/value");
}

#[tokio::test]
async fn input_20_24_25_26_attachments() {
    //
    let trial = Trial::begin().await;
    for url in ["file:///etc/passwd", "ftp://x.test/a", "https://u:p@x.test/a", "report.pdf", ""] {
        trial.wrong(good().attach(Attachment::from_url(url)), &[("/attachments/0/path", "url")]).await;
    }
    let with = |attachment: Attachment| good().attach(attachment);
    for id in ["a>", "<a", "a b"] {
        let attachment = Attachment::from_bytes("a.png", "x").content_id(id);
        trial.wrong(with(attachment), &[("/attachments/0/content_id", "charset")]).await;
    }
    trial.wrong(with(Attachment::from_bytes("", "x")), &[("/attachments/0/filename", "empty")]).await;
    trial.wrong(with(Attachment::from_bytes("a/", "x")), &[("/attachments/0/filename", "empty")]).await;
    Trial::right(with(Attachment::from_bytes("../../x", "x"))).await;
    Trial::right(with(Attachment::from_bytes("C:\\x\\y", "x").content_id("logo@acme"))).await;
    let problem = |attachment: serde_json::Value| {
        let email = json!({ "from": "a@b.test", "to": "a@b.test", "subject": "", "text": "x", "attachments": [attachment] });
        Email::from_json(&email).unwrap_err()[0].clone()
    };
    let from_json = |attachment| {
        let problem = problem(attachment);
        (problem.path, problem.code)
    };
    assert_eq!(from_json(json!({ "filename": "a" })), ("/attachments/0".into(), "required"));
    let both = json!({ "content": "YQ==", "path": "https://x.test/a" });
    assert_eq!(from_json(both), ("/attachments/0/path".into(), "exclusive"));
    assert_eq!(from_json(json!({ "content": "Y*==" })), ("/attachments/0/content".into(), "base64"));
    let found = problem(json!({ "content": "Y*==" })).found;
    assert!(found.as_ref().is_some_and(|found| found.contains("position 2")), "{found:?}");
}

#[tokio::test]
async fn input_21_22_the_size_of_attachments() {
    // EMAIL-30, A-21, A-22
    let trial = Trial::begin().await;
    let of = |sizes: &[usize]| {
        sizes.iter().fold(good(), |email, size| email.attach(Attachment::from_bytes("a.bin", vec![0; *size])))
    };
    trial.wrong(of(&[31_457_281]), &[("/attachments", "size")]).await;
    trial.wrong(of(&[20_000_000, 11_457_281]), &[("/attachments", "size")]).await;
    Trial::right(of(&[31_457_280])).await;
    assert!(of(&[30_000_000]).warnings().is_empty());
    assert_eq!(of(&[30_000_001]).warnings().len(), 1);
    let hosted = Attachment::from_url("https://x.test/large.iso");
    of(&[31_457_280]).attach(hosted).check().unwrap();
}

#[tokio::test]
async fn input_27_custom_headers() {
    //
    let trial = Trial::begin().await;
    for (name, path) in
        [("X A", "/headers/X A"), ("X:", "/headers/X:"), ("", "/headers/"), ("X-é", "/headers/X-é")]
    {
        trial.wrong(good().header(name, "v"), &[(path, "header")]).await;
    }
    Trial::right(good().header("X-A", letters(2_000)).header("x-b", "a b")).await;
    assert_eq!(good().header("From", "x").warnings().len(), 1);
    good().header("From", "x").check().unwrap();
}

#[tokio::test]
async fn input_28_schedules() {
    //
    let trial = Trial::begin().await;
    trial.wrong(good().scheduled_at(" "), &[("/scheduled_at", "empty")]).await;
    for when in ["in 1 min", "2099-01-01T00:00:00Z", "2001-01-01T00:00:00Z", "Freitag um neun"] {
        Trial::right(good().scheduled_at(when)).await;
    }
}

#[tokio::test]
async fn input_29_30_batches() {
    // BATCH-03, A-29, A-30
    let trial = Trial::begin().await;
    let batch = |n: usize| vec![BatchEmail::new("hi@acme.test", "ada@example.com", "Hello").text("x"); n];
    let client = trial.bench.client();
    trial.problems(&client.emails().send_batch(&batch(0)).await.unwrap_err(), &[("", "count")]);
    trial.problems(&client.emails().send_batch(&batch(101)).await.unwrap_err(), &[("/100", "count")]);
    let mut mixed = batch(3);
    mixed[1] = mixed[1].clone().from("nobody").tag("a b", "v");
    mixed[2] = BatchEmail::from_template("", "ada@example.com");
    let expected = [("/1/from", "address"), ("/1/tags/0/name", "charset"), ("/2/template/id", "required")];
    trial.problems(&client.emails().send_batch(&mixed).await.unwrap_err(), &expected);
    assert!(check_batch(&batch(1)).is_ok() && check_batch(&batch(100)).is_ok());
    client.emails().send_batch(&batch(100)).await.unwrap();
    let json = json!({ "attachments": [], "scheduled_at": "in 1 min", "subjct": "x", "from": 7 });
    let (_, problems) = BatchEmail::read(&json);
    let problems = problems.unwrap_err();
    let mut found: Vec<_> = problems.iter().map(|problem| (problem.path.as_str(), problem.code)).collect();
    found.sort_unstable();
    assert_eq!(
        found,
        [
            ("/attachments", "unsupported"),
            ("/from", "type"),
            ("/scheduled_at", "unsupported"),
            ("/subjct", "unknown")
        ]
    );
}

/// Methods that are called on a type only if it has none of the same name.
trait Setters: Sized {
    fn attach(self, _: Attachment) -> Absent {
        Absent
    }

    fn scheduled_at(self, _: &str) -> Absent {
        Absent
    }
}

#[derive(Debug, PartialEq)]
struct Absent;

impl Setters for BatchEmail {}

#[test]
fn an_email_of_a_batch_has_neither_attachments_nor_a_schedule() {
    // BATCH-07: a method of the type would return the type, and this wouldn't compile.
    let email = || BatchEmail::new("hi@acme.test", "ada@example.com", "Hello").text("x");
    assert_eq!(email().attach(Attachment::from_bytes("a.txt", "abc")), Absent);
    assert_eq!(email().scheduled_at("in 1 min"), Absent);
    let written = serde_json::to_value(email()).unwrap();
    assert_eq!(
        written,
        json!({ "from": "hi@acme.test", "to": ["ada@example.com"], "subject": "Hello", "text": "x" })
    );

    // From an `Email`, both are reported and nothing is dropped in silence.
    let whole = Email::new("hi@acme.test", "ada@example.com", "Hello").text("x");
    for (given, field) in [
        (whole.clone().scheduled_at("in 1 min"), "/scheduled_at"),
        (whole.attach(Attachment::from_bytes("a.txt", "abc")), "/attachments"),
    ] {
        let converted: BatchEmail = given.into();
        let problems = converted.check().unwrap_err();
        let found: Vec<_> = problems.iter().map(|problem| (problem.path.as_str(), problem.code)).collect();
        assert_eq!(found, [(field, "unsupported")]);
    }
}

#[tokio::test]
async fn all_problems_are_reported_at_once() {
    let trial = Trial::begin().await;
    let email =
        Email::new("nobody", vec!["ada@example.com", "x"], "a\nb").tag("a b", "v").scheduled_at("").cc("");
    trial
        .wrong(
            email,
            &[
                ("/from", "address"),
                ("/subject", "header"),
                ("/to/1", "address"),
                ("/cc/0", "empty"),
                ("", "required"),
                ("/tags/0/name", "charset"),
                ("/scheduled_at", "empty"),
            ],
        )
        .await;
}

#[tokio::test]
async fn validation_can_be_skipped() {
    // LIM-18
    let bench = Bench::start().await;
    let email = Email::new("hi@acme.test", vec!["ada@example.com"; 51], "Hello").text("x");
    let call = bench.client().emails().send(&email).unchecked().header(EXPECT, Expect::Refusal.as_str());
    assert!(matches!(call.await.unwrap_err(), Error::Api(_)));
    assert_eq!(bench.requests().len(), 1);
}

#[tokio::test]
async fn invalid_settings_are_reported_before_anything_is_sent() {
    // GEN-12, A-47, A-48, A-51
    let settings = |builder: idempost::ClientBuilder| match builder.build().unwrap_err() {
        Error::Settings(error) => error.setting,
        other => panic!("{other:?}"),
    };
    let base = |url: &str| idempost::Client::builder().base_url(url).api_key("sb_test");
    for url in [
        "",
        "api.example.com",
        "ftp://x.test",
        "http://api.example.com",
        "https://u:p@api.example.com",
        "https://api.example.com?x=1",
        "https://api.example.com#x",
    ] {
        assert_eq!(settings(base(url)), "base_url", "{url}");
    }
    for url in [
        "https://api.example.com",
        "https://api.example.com/v1/",
        "http://127.0.0.1:1",
        "http://[::1]:1",
        "http://localhost:1",
    ] {
        base(url).build().unwrap();
    }
    base("http://api.example.com").allow_plain_http().build().unwrap();
    for key in ["", "a b", "a\nb", "a\0", "é"] {
        assert_eq!(settings(base("https://x.test").api_key(key)), "api_key", "{key:?}");
    }
    assert_eq!(settings(idempost::Client::builder().base_url("https://x.test")), "api_key");
    assert_eq!(settings(base("https://x.test").timeout(std::time::Duration::ZERO)), "timeout");
    base("https://x.test").timeout(std::time::Duration::MAX).build().unwrap();
}
