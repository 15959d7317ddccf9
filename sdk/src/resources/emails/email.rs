//! One email to send.

use serde_json::Value;

use super::{
    Attachment, Tag, VariableValue, from_json,
    message::{Message, message_setters},
};
use crate::{
    body::Body,
    problem::{Problem, Problems, limits},
    types::{Recipients, TopicId},
};

/// One email to send with [`Emails::send`](super::Emails::send).
///
/// ```
/// use posthaste::{Attachment, Email};
///
/// let email = Email::new("Acme <hi@acme.test>", "ada@example.com", "Your invoice")
///     .html("<p>Thank you. The invoice is attached.</p>")
///     .attach(Attachment::from_bytes("invoice.txt", "17 apples"))
///     .tag("kind", "invoice");
/// assert!(email.check().is_ok());
/// ```
#[derive(Clone, Debug, Default)]
pub struct Email {
    pub(super) message: Message,
    pub(super) scheduled_at: Option<String>,
    pub(super) attachments: Vec<Attachment>,
}

impl Email {
    /// An email with a body: add [`html`](Self::html) or [`text`](Self::text), or both.
    pub fn new(from: impl Into<String>, to: impl Into<Recipients>, subject: impl Into<String>) -> Self {
        Self::default().from(from).to(to).subject(subject)
    }

    /// An email from a published template, by its id or alias. Sender and subject come from the template unless they are given here.
    pub fn from_template(template: impl Into<String>, to: impl Into<Recipients>) -> Self {
        Self::default().template(template).to(to)
    }

    message_setters!();

    /// Sends it later: ISO 8601, or words such as `in 1 min`. The text goes to the service unchanged.
    #[must_use]
    pub fn scheduled_at(mut self, when: impl Into<String>) -> Self {
        self.scheduled_at = Some(when.into());
        self
    }

    /// Adds an attachment.
    #[must_use]
    pub fn attach(mut self, attachment: Attachment) -> Self {
        self.attachments.push(attachment);
        self
    }

    /// Reads an email from the JSON object that the service takes, with all that is wrong with it.
    ///
    /// # Errors
    /// Every wrong type, unknown field and broken rule, with its JSON pointer.
    pub fn from_json(json: &Value) -> Result<Self, Problems> {
        let (email, mut problems) = Self::read(json);
        if json.is_object() {
            let shape: Vec<String> = problems.iter().map(|problem| problem.path.clone()).collect();
            let told = |path: &str| {
                shape.iter().any(|shape| {
                    path.strip_prefix(shape).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
                })
            };
            problems.extend(email.problems().into_iter().filter(|problem| !told(&problem.path)));
        }
        Problems::check(problems).map(|()| email)
    }

    /// Reads as much of an email as makes sense, with what is wrong about its shape: wrong types, unknown fields, a template beside a
    /// body. The rules that [`check`](Self::check) knows are not applied yet, so fields can still be added.
    pub fn read(json: &Value) -> (Self, Vec<Problem>) {
        from_json::email(json)
    }

    /// Whether the email keeps all rules of the specification that can be checked here.
    ///
    /// # Errors
    /// Everything that is wrong, at once.
    pub fn check(&self) -> Result<(), Problems> {
        Problems::check(self.problems())
    }

    /// What can be sent but is hardly meant, or may be refused by a service that reads the specification narrowly.
    pub fn warnings(&self) -> Vec<Problem> {
        let mut warnings = self.message.warnings("");
        let size = self.attachments_size();
        if size > limits::ATTACHMENTS_ENCODED_BYTES_ADVISED && size <= limits::ATTACHMENTS_ENCODED_BYTES {
            let rule = "more than 40,000,000 bytes of attachments after Base64: the service may refuse them";
            warnings.push(Problem::new("/attachments", "size", rule).found(format!("{size} bytes")));
        }
        warnings
    }

    /// The attachments, in order.
    pub fn attachments(&self) -> &[Attachment] {
        &self.attachments
    }

    fn attachments_size(&self) -> u64 {
        self.attachments.iter().map(Attachment::encoded_size).sum()
    }

    pub(super) fn problems(&self) -> Vec<Problem> {
        let mut problems = Vec::new();
        self.message.check("", &mut problems);
        if let Some(when) = &self.scheduled_at
            && when.trim().is_empty()
        {
            problems.push(Problem::new("/scheduled_at", "empty", "`scheduled_at` must not be empty"));
        }
        for (i, attachment) in self.attachments.iter().enumerate() {
            attachment.check(&format!("/attachments/{i}"), &mut problems);
        }
        let size = self.attachments_size();
        if size > limits::ATTACHMENTS_ENCODED_BYTES {
            let rule = "attachments have at most 40 MB in all after Base64 (30 MB of files)";
            let files: u64 = self.attachments.iter().filter_map(Attachment::size).sum();
            let found = format!("{size} bytes after Base64, {files} bytes of files");
            problems.push(Problem::new("/attachments", "size", rule).found(found));
        }
        problems
    }

    /// The JSON, with the attachments' contents put in where they are sent from.
    pub(super) fn body(&self) -> Body {
        let mut wire = self.message.wire();
        wire.scheduled_at = self.scheduled_at.as_deref();
        // Maps with text keys and numbers: there is nothing in it that JSON can't say.
        let mut text = serde_json::to_vec(&wire).unwrap_or_default();
        if self.attachments.is_empty() {
            return Body::from(text);
        }
        text.pop();
        let comma = if text.len() > 1 { "," } else { "" };
        text.extend_from_slice(comma.as_bytes());
        text.extend_from_slice(br#""attachments":["#);
        let mut body = Body::default().plain(text);
        for (i, attachment) in self.attachments.iter().enumerate() {
            body = attachment.write(if i > 0 { body.plain(",") } else { body });
        }
        body.plain("]}")
    }
}

#[cfg(test)]
mod tests {
    use futures_util::TryStreamExt as _;
    use serde_json::json;

    use super::*;

    async fn wire(email: &Email) -> Value {
        let pieces: Vec<bytes::Bytes> = email.body().stream().try_collect().await.unwrap();
        let text = pieces.concat();
        assert_eq!(text.len() as u64, email.body().len());
        serde_json::from_slice(&text).unwrap()
    }

    fn good() -> Email {
        Email::new("a@x.test", "b@x.test", "s").text("t")
    }

    fn codes(email: &Email) -> Vec<(String, &'static str)> {
        email.problems().into_iter().map(|problem| (problem.path, problem.code)).collect()
    }

    #[tokio::test]
    async fn every_field_goes_out_under_its_name() {
        // GEN-16, EMAIL-07, EMAIL-12, EMAIL-13, EMAIL-16, EMAIL-22, EMAIL-31, EMAIL-33, EMAIL-34
        let email = Email::new("Acme <a@x.test>", ["b@x.test", "c@x.test"], "Hi")
            .cc("d@x.test")
            .bcc(vec!["e@x.test".to_owned()])
            .reply_to("f@x.test")
            .html("<p>x</p>")
            .text("")
            .header("X-A", "1")
            .topic_id("t1")
            .tag("k", "v")
            .scheduled_at("in 1 min")
            .attach(Attachment::from_bytes("a.txt", "abc").content_type("text/plain").content_id("c1"))
            .attach(Attachment::from_url("https://x.test/r.pdf"));
        let expected = json!({
            "from": "Acme <a@x.test>", "to": ["b@x.test", "c@x.test"], "subject": "Hi", "cc": ["d@x.test"],
            "bcc": ["e@x.test"], "reply_to": ["f@x.test"], "html": "<p>x</p>", "text": "", "headers": {"X-A": "1"},
            "topic_id": "t1", "tags": [{"name": "k", "value": "v"}], "scheduled_at": "in 1 min",
            "attachments": [
                {"filename": "a.txt", "content_type": "text/plain", "content_id": "c1", "content": "YWJj"},
                {"path": "https://x.test/r.pdf"},
            ],
        });
        assert_eq!(wire(&email).await, expected);
        assert_eq!(wire(&Email::from_json(&expected).unwrap()).await, expected);
    }

    #[tokio::test]
    async fn a_template_and_a_body_cant_both_be_there() {
        // EMAIL-50
        let template = Email::from_template("welcome", "b@x.test").variable("NAME", "Ada").variable("N", 7);
        let expected =
            json!({"to": ["b@x.test"], "template": {"id": "welcome", "variables": {"NAME": "Ada", "N": 7}}});
        assert_eq!(wire(&template).await, expected);
        assert!(template.check().is_ok());
        let body = wire(&template.html("<p>x</p>")).await;
        assert_eq!(body, json!({"to": ["b@x.test"], "html": "<p>x</p>"}));
    }

    #[test]
    fn all_problems_are_told_at_once() {
        let email = Email::default().to("bob@@example.com").tag("week 47", "x");
        assert_eq!(
            codes(&email),
            [
                ("/from".to_owned(), "required"),
                ("/subject".to_owned(), "required"),
                ("/to/0".to_owned(), "address"),
                (String::new(), "required"),
                ("/tags/0/name".to_owned(), "charset"),
            ]
        );
    }

    #[test]
    fn limits_hold_on_both_sides() {
        // EMAIL-09, EMAIL-39, EMAIL-40, EMAIL-55 to EMAIL-59, LIM-17, LIM-18
        let many = |n: usize| -> Vec<String> { (0..n).map(|i| format!("u{i}@x.test")).collect() };
        let to = |n| Email::new("a@x.test", many(n), "s").text("t");
        assert_eq!(codes(&to(50)), []);
        assert_eq!(codes(&to(51)), [("/to/50".to_owned(), "count")]);
        assert_eq!(codes(&to(0)), [("/to".to_owned(), "required")]);

        let long = |n| "x".repeat(n);
        assert_eq!(codes(&good().tag(long(256), long(256))), []);
        assert_eq!(codes(&good().tag(long(257), long(257))).len(), 2);
        for text in ["a b", "é", ".", "/", ""] {
            assert_eq!(codes(&good().tag(text, "v")).len(), 1, "{text}");
            assert_eq!(codes(&good().tag("n", text)).len(), 1, "{text}");
        }

        let with =
            |key: &str, value: VariableValue| Email::from_template("t", "b@x.test").variable(key, value);
        for key in ["A", "a_1", "first_name", &long(50)] {
            assert_eq!(codes(&with(key, "v".into())), [], "{key}");
        }
        let reserved =
            ["FIRST_NAME", "LAST_NAME", "EMAIL", "UNSUBSCRIBE_URL", "SERVICE_UNSUBSCRIBE_URL", "this"];
        for key in reserved.into_iter().chain(["a-b", "é", "", " ", &long(51)]) {
            assert_eq!(codes(&with(key, "v".into())).len(), 1, "{key}");
        }
        for value in [VariableValue::from(""), long(2_000).into(), "🦀".repeat(2_000).into(), 1.5.into()] {
            assert_eq!(codes(&with("A", value)), []);
        }
        let max = limits::VARIABLE_VALUE_MAX;
        assert_eq!(codes(&with("A", max.into())), []);
        assert_eq!(codes(&with("A", (-9_007_199_254_740_992_i64).into())), []);
        for value in [long(2_001).into(), (max + 1).into(), f64::NAN.into(), f64::INFINITY.into()] {
            assert_eq!(codes(&with("A", value)).len(), 1);
        }
    }

    #[test]
    fn nothing_can_be_smuggled_into_the_mails_headers() {
        let evil = "x\r\nBcc: victim@y.test";
        for email in [
            good().from(format!("{evil} <a@x.test>")),
            good().to(evil),
            good().cc("a\0@x.test"),
            good().reply_to(evil),
            good().subject(evil),
            good().header("X-A", evil),
            good().header(evil, "v"),
            good().attach(Attachment::from_bytes(evil, "x")),
            good().attach(Attachment::from_bytes("a", "x").content_type(evil)),
            good().attach(Attachment::from_bytes("a", "x").content_id(evil)),
        ] {
            assert_eq!(codes(&email).len(), 1, "{email:?}");
            assert_eq!(codes(&email)[0].1, "header", "{email:?}");
        }
        assert_eq!(codes(&good().subject("a\u{85}b\u{2028}c")), [], "no line break of a mail header");
    }

    #[test]
    fn names_of_headers_and_content_ids_are_checked() {
        for name in ["X A", "X:", "", "X-é"] {
            assert_eq!(codes(&good().header(name, "v")).len(), 1, "{name:?}");
        }
        assert_eq!(codes(&good().header("X-A", "v".repeat(2_000))), []);
        assert_eq!(good().header("Content-Type", "x").warnings().len(), 1);
        for id in ["a>", "a b", "<a", ""] {
            assert_eq!(
                codes(&good().attach(Attachment::from_bytes("a", "x").content_id(id))).len(),
                1,
                "{id:?}"
            );
        }
        for url in ["file:///etc/passwd", "ftp://x.test/a", "https://u:p@x.test/a", "report.pdf", ""] {
            assert_eq!(codes(&good().attach(Attachment::from_url(url))).len(), 1, "{url:?}");
        }
        let hidden = good().attach(Attachment::from_url("https://u:sentinel@x.test/a")).problems();
        assert!(!format!("{hidden:?}").contains("sentinel"));
    }

    #[test]
    fn attachments_have_a_limit_on_the_wire() {
        // EMAIL-30
        let of = |sizes: &[usize]| {
            let attach =
                |email: Email, size: &usize| email.attach(Attachment::from_bytes("a", vec![0; *size]));
            sizes.iter().fold(good(), attach)
        };
        assert_eq!((codes(&of(&[30_000_000])), of(&[30_000_000]).warnings().len()), (vec![], 0));
        assert_eq!((codes(&of(&[30_000_001])), of(&[30_000_001]).warnings().len()), (vec![], 1));
        assert_eq!(codes(&of(&[31_457_280])), []);
        assert_eq!(codes(&of(&[31_457_281])), [("/attachments".to_owned(), "size")]);
        assert_eq!(codes(&of(&[20_000_000, 20_000_000])), [("/attachments".to_owned(), "size")]);
    }

    #[test]
    fn a_name_loses_its_folders() {
        for (given, kept) in [("../../x", "x"), ("C:\\x\\y.txt", "y.txt"), ("a.txt", "a.txt")] {
            assert_eq!(Attachment::from_bytes(given, "x").filename_str(), Some(kept));
        }
        assert_eq!(codes(&good().attach(Attachment::from_bytes("", "x"))).len(), 1);
    }

    #[test]
    fn a_body_is_needed() {
        let bare = || Email::new("a@x.test", "b@x.test", "s");
        assert_eq!(codes(&bare()), [(String::new(), "required")]);
        assert_eq!(codes(&bare().text("")), [(String::new(), "required")]);
        assert_eq!(codes(&bare().subject("").text("x")), []);
        assert_eq!(codes(&bare().html("x").text("")), []);
        assert_eq!(codes(&bare().text("x").scheduled_at("")), [("/scheduled_at".to_owned(), "empty")]);
        assert_eq!(codes(&bare().template("")), [("/template/id".to_owned(), "required")]);
    }

    #[test]
    fn json_of_the_wrong_shape_is_told_by_place() {
        let of = |json: &Value| -> Vec<(String, &'static str)> {
            let problems = Email::from_json(json).unwrap_err().into_vec();
            problems.into_iter().map(|problem| (problem.path, problem.code)).collect()
        };
        let at = |path: &str, code| (path.to_owned(), code);
        assert_eq!(of(&json!([])), [at("", "type")]);
        let wrong = json!({
            "from": 7, "to": ["a@x.test", 1], "subject": "s", "html": "h", "template": {"id": "t"}, "subjct": "x",
            "tags": [{"name": "n"}], "headers": {"X": 1}, "react": "x",
            "attachments": [{"filename": "a"}, {"content": "YQ==", "path": "https://x.test"}, {"content": "Y*=="}],
        });
        let mut found = of(&wrong);
        found.sort();
        let mut expected = vec![
            at("/from", "type"),
            at("/to/1", "type"),
            at("/html", "exclusive"),
            at("/subjct", "unknown"),
            at("/react", "unknown"),
            at("/tags/0/value", "required"),
            at("/headers/X", "type"),
            at("/attachments/0", "required"),
            at("/attachments/1/path", "exclusive"),
            at("/attachments/2/content", "base64"),
        ];
        expected.sort();
        assert_eq!(found, expected);
    }
}
