//! Emails to send, individually or in a batch.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use serde_json::Value;

use super::{fields::EmailFields, from_json, message::Message, record::Tag};
use crate::{
    body::Body,
    problem::{Problem, Problems, Validate, Validator, limits},
    resources::shared::{Attachment, write_object},
    types::{Recipients, Scalar, ScheduledAt, TopicId},
};

/// Methods shared by both types of emails.
macro_rules! message {
    ($email:ident) => {
        impl $email {
            /// Creates an email with a body: add [`html`](Self::html), [`text`](Self::text), or both.
            pub fn new(
                from: impl Into<String>,
                to: impl Into<Recipients>,
                subject: impl Into<String>,
            ) -> Self {
                Self::default().from(from).to(to).subject(subject)
            }

            /// Creates an email from a published template, by ID or alias. Sender and subject come from the template unless they are set here.
            ///
            /// The service fills the same placeholders as in a [broadcast](crate::broadcasts::NewBroadcast). Multiple recipients share one body: it
            /// contains the fallbacks, or nothing, instead of a contact's values, and its unsubscribe link asks which address to unsubscribe.
            pub fn from_template(template: impl Into<String>, to: impl Into<Recipients>) -> Self {
                Self::default().template(template).to(to)
            }

            setters! {
                /// Sets the sender (`email` or `Name <email>`), replacing the template's.
                from: String => message.from;
                /// Adds recipients, at most 50 in total.
                to += Recipients => message.to;
                /// Sets the subject, replacing the template's. It may be empty.
                subject: String => message.subject;
                /// Adds `Cc` recipients.
                cc += Recipients => message.cc;
                /// Adds `Bcc` recipients.
                bcc += Recipients => message.bcc;
                /// Adds `Reply-To` addresses, replacing the template's.
                reply_to += Recipients => message.reply_to;
                /// Sets the HTML body. A body and a template are mutually exclusive; validation reports both.
                html: String => message.html;
                /// Sets the plain-text body. By default the service derives it from the HTML; an empty string disables that. A body and a
                /// template are mutually exclusive; validation reports both.
                text: String => message.text;
                /// Uses a published template, by ID or alias. A body and a template are mutually exclusive; validation reports both.
                template: String => message.template;
                /// Sends only to recipients subscribed to this topic. Each address in `to`, `cc` and `bcc` is checked individually; a contact who
                /// opted out receives nothing, and the email is marked as failed instead of being rejected.
                topic_id: TopicId => message.topic_id;
                /// Sets a template variable. The key consists of ASCII letters, digits and `_`, at most 50 characters; a string value has at most 2,000
                /// characters, a number is at most 2^53 − 1.
                variable(key: String, value: Scalar) => message.variables;
                /// Sets a custom header of the email, replacing any header of the same name.
                header(name: String, value: String) => message.headers;
            }

            /// Lets recipients unsubscribe with one click in their mail client: sets the headers `List-Unsubscribe` (RFC 2369) and
            /// `List-Unsubscribe-Post` (RFC 8058). Mail clients post `List-Unsubscribe=One-Click` to the URL without cookies or other authorization,
            /// so the URL must identify the recipient. Validation reports a URL that isn't https. Broadcasts get these headers automatically.
            ///
            /// ```
            /// use idempost::Email;
            ///
            /// let email = Email::new("hi@acme.test", "ada@example.com", "Weekly report")
            ///     .text("…")
            ///     .list_unsubscribe("https://acme.test/unsubscribe?token=3f8a1c2d");
            /// assert!(email.check().is_ok());
            /// ```
            pub fn list_unsubscribe(self, url: impl AsRef<str>) -> Self {
                self.header("List-Unsubscribe", format!("<{}>", url.as_ref()))
                    .header("List-Unsubscribe-Post", "List-Unsubscribe=One-Click")
            }

            /// Adds a tag. Name and value consist of ASCII letters, digits, `_` and `-`, at most 256 characters each.
            pub fn tag(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
                self.message.tags.push(Tag { name: name.into(), value: value.into() });
                self
            }

            /// Returns the fields that were set.
            pub fn fields(&self) -> EmailFields<'_> {
                self.message.fields()
            }
        }

        /// Serializes to the service's JSON.
        ///
        /// In-memory content is Base64-encoded. An attachment from a file or a stream can't be serialized: it is read while it is sent, so a stored
        /// email would depend on its source. Attach its bytes instead.
        impl Serialize for $email {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                self.fields().serialize(serializer)
            }
        }

        /// Deserializes the service's JSON. Wrong types and unknown fields are errors; all other rules are left to validation.
        impl<'de> Deserialize<'de> for $email {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let json = Value::deserialize(deserializer)?;
                let (message, shape) = Validator::read(|v| from_json::parse_message(v, &json));
                shape.map(|()| Self::from_message(message)).map_err(D::Error::custom)
            }
        }

        validate!($email);
    };
}

/// An email to send with [`Emails::send`](super::Emails::send).
///
/// ```
/// use idempost::{Attachment, Email};
///
/// let email = Email::new("Acme <hi@acme.test>", "ada@example.com", "Your invoice")
///     .html("<p>Thank you. The invoice is attached.</p>")
///     .attach(Attachment::from_bytes("invoice.txt", "17 apples"))
///     .tag("kind", "invoice");
/// assert!(email.check().is_ok());
/// assert_eq!(email.fields().to, ["ada@example.com"]);
/// ```
///
/// An email can be stored as JSON and sent later:
///
/// ```
/// # use idempost::Email;
/// # let email = Email::new("hi@acme.test", "ada@example.com", "Hello").text("It works");
/// let row = serde_json::to_string(&email)?;
/// assert_eq!(serde_json::from_str::<Email>(&row)?, email);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[must_use]
pub struct Email {
    message: Message,
}

message!(Email);

impl Email {
    fn from_message(message: Message) -> Self {
        Self { message }
    }

    setters! {
        /// Schedules the email for a point in time, or a time in natural language such as `in 1 min`.
        scheduled_at: ScheduledAt => message.scheduled_at;
        /// Adds an attachment.
        attach += Attachment => message.attachments;
    }

    /// Parses an email from the service's JSON.
    ///
    /// # Errors
    /// Every wrong type, unknown field and violated rule, with its JSON pointer.
    pub fn from_json(json: &Value) -> Result<Self, Problems> {
        let (email, shape) = Self::read(json);
        Problems::merge(shape, email.check()).map(|()| email)
    }

    /// Parses as much of an email as possible, and returns its format errors: wrong types and unknown fields. The rules of [`check`](Self::check)
    /// aren't applied yet, so fields can still be added; [`Problems::merge`] combines the two results.
    pub fn read(json: &Value) -> (Self, Result<(), Problems>) {
        let (message, shape) = Validator::read(|v| from_json::parse_message(v, json));
        (Self { message }, shape)
    }

    /// Returns fields that are accepted but probably a mistake, or that a service may reject: because of a strict reading of the specification, or
    /// because of Resend limits that the specification doesn't define (more than 75 tags, a schedule more than 30 days ahead, executable
    /// attachments).
    pub fn warnings(&self) -> Vec<Problem> {
        let mut warnings = self.message.warnings();
        let size = self.attachments_size();
        if size > limits::ATTACHMENTS_ENCODED_BYTES_ADVISED && size <= limits::ATTACHMENTS_ENCODED_BYTES {
            let rule =
                "the attachments exceed 40,000,000 bytes after Base64 encoding; the service may reject them";
            warnings
                .push(Problem::new("/attachments", "size", rule).with_value(format_args!("{size} bytes")));
        }
        warnings
    }

    fn attachments_size(&self) -> u64 {
        self.message.attachments.iter().map(Attachment::encoded_size).fold(0, u64::saturating_add)
    }

    fn validate(&self, v: &mut Validator) {
        let attachments = &self.message.attachments;
        self.message.validate(v);
        v.schedule(self.message.scheduled_at.as_ref().map(ScheduledAt::as_str));
        v.for_each_item("attachments", attachments, |v, attachment| attachment.validate(v));
        let size = self.attachments_size();
        if size > limits::ATTACHMENTS_ENCODED_BYTES {
            let rule = "`attachments` must have at most 40 MB in total after Base64 (30 MB of files)";
            let files = attachments.iter().filter_map(Attachment::size).fold(0, u64::saturating_add);
            let found = format!("{size} bytes after Base64, {files} bytes of files");
            v.field("attachments", |v| v.report_found("size", rule, found));
        }
    }

    pub(super) fn body(&self) -> Body {
        write(&self.message, Body::default())
    }
}

/// An email in a batch: an [`Email`] without attachments or a schedule, which batches don't support.
///
/// An [`Email`] can be converted with `email.into()`. Its attachments and schedule are kept, and validation reports them; Resend supports schedules,
/// which [`allow_schedule`](Self::allow_schedule) permits.
#[derive(Clone, Debug, Default, PartialEq)]
#[must_use]
pub struct BatchEmail {
    message: Message,
    /// Whether a schedule is permitted.
    schedule: bool,
}

message!(BatchEmail);

impl From<Email> for BatchEmail {
    fn from(email: Email) -> Self {
        Self { message: email.message, schedule: false }
    }
}

impl BatchEmail {
    /// Creates a stored email; it can only have been valid if its schedule was permitted.
    fn from_message(message: Message) -> Self {
        Self { schedule: message.scheduled_at.is_some(), message }
    }

    setters! {
        /// Permits the schedule taken over from an [`Email`]. Deserialized emails always have this permission, since JSON doesn't contain it.
        ///
        /// This goes beyond the specification, which doesn't support schedules in batches: a service that follows it rejects the batch with 422, and so
        /// does a sandbox without `--compat live`. Resend supports them.
        allow_schedule = true => schedule;
    }

    /// Returns fields that are accepted but probably a mistake, or that Resend may reject; see [`Email::warnings`].
    pub fn warnings(&self) -> Vec<Problem> {
        self.message.warnings()
    }

    /// Parses as much of an email as possible from the service's JSON, and returns its format errors. The rules of [`check`](Self::check) aren't
    /// applied yet.
    pub fn read(json: &Value) -> (Self, Result<(), Problems>) {
        Validator::read(|v| Self::read_at(v, json))
    }

    /// Parses a batch's emails like [`read`](Self::read), and returns all their problems; `/3/to/0` is the first recipient of the fourth email.
    pub fn read_all(items: &[Value]) -> (Vec<Self>, Result<(), Problems>) {
        let read = |v: &mut Validator, (i, json)| v.item(i, |v| Self::read_at(v, json));
        Validator::read(|v| items.iter().enumerate().map(|item| read(v, item)).collect())
    }

    fn read_at(v: &mut Validator, json: &Value) -> Self {
        let message = from_json::parse_message(v, json);
        for field in ["attachments", "scheduled_at"] {
            // A null counts as an unset field.
            if json.get(field).is_some_and(|value| !value.is_null()) {
                reject_unsupported(v, field);
            }
        }
        Self { message, schedule: false }
    }

    fn validate(&self, v: &mut Validator) {
        self.message.validate(v);
        match &self.message.scheduled_at {
            Some(when) if self.schedule => v.schedule(Some(when.as_str())),
            Some(_) => reject_unsupported(v, "scheduled_at"),
            None => {}
        }
        if !self.message.attachments.is_empty() {
            reject_unsupported(v, "attachments");
        }
    }
}

fn reject_unsupported(v: &mut Validator, field: &str) {
    v.report_at(field, "unsupported", format!("`{field}` is not supported in a batch"));
}

/// Validates a batch: 1 to 100 emails, each of them valid.
///
/// # Errors
/// All problems together; `/3/to/0` is the first recipient of the fourth email.
pub fn check_batch(emails: &[BatchEmail]) -> Result<(), Problems> {
    emails.check()
}

impl Validate for [BatchEmail] {
    fn check(&self) -> Result<(), Problems> {
        Validator::run(|v| {
            let most = limits::EMAILS_PER_BATCH;
            if self.is_empty() {
                v.report_found("count", "a batch must have at least 1 email", "none");
            } else if self.len() > most {
                let found = format!("{} emails", self.len());
                v.item(most, |v| {
                    v.report_found("count", format!("a batch must have at most {most} emails"), found);
                });
            }
            for (i, email) in self.iter().enumerate() {
                v.item(i, |v| email.validate(v));
            }
        })
    }
}

pub(super) fn batch_body(emails: &[BatchEmail]) -> Body {
    if emails.iter().all(|email| email.message.attachments.is_empty()) {
        return Body::from(to_json(&emails));
    }
    let items = emails.iter().enumerate().fold(Body::default().with_bytes("["), |body, (i, email)| {
        write(&email.message, if i > 0 { body.with_bytes(",") } else { body })
    });
    items.with_bytes("]")
}

/// Appends the JSON of a message, with the content of its attachments.
fn write(message: &Message, body: Body) -> Body {
    write_object(to_json(&EmailFields { attachments: &[], ..message.fields() }), &message.attachments, body)
}

/// Maps with string keys, strings and numbers: every email can be represented in JSON.
fn to_json(fields: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(fields).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use futures_util::TryStreamExt as _;
    use serde_json::json;

    use super::*;
    use crate::problem::codes;

    async fn wire(email: &Email) -> Value {
        let pieces: Vec<bytes::Bytes> = email.body().stream().try_collect().await.unwrap();
        let text = pieces.concat();
        assert_eq!(text.len() as u64, email.body().len());
        serde_json::from_slice(&text).unwrap()
    }

    fn good() -> Email {
        Email::new("a@x.test", "b@x.test", "s").text("t")
    }

    #[tokio::test]
    async fn every_field_is_sent_under_its_name() {
        // GEN-16, EMAIL-07, EMAIL-12, EMAIL-13, EMAIL-16, EMAIL-22, EMAIL-31, EMAIL-33, EMAIL-34, A-09, EMAIL-20
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
        let derived = Email::new("a@x.test", "b@x.test", "s").html("<p>x</p>");
        assert_eq!(wire(&derived).await.get("text"), None);
    }

    /// As written by Ruby's `Base64.encode64` and Python's `base64.encodebytes`.
    #[tokio::test]
    async fn base64_in_several_lines_is_read_and_sent_in_one() {
        let attachments = json!([{"filename": "a.txt", "content": "aGVsbG8g\r\nd29y\nbGQ=\n"}]);
        let email = json!({"from": "a@x.test", "to": "b@x.test", "subject": "s", "text": "t", "attachments": attachments});
        let sent = wire(&Email::from_json(&email).unwrap()).await;
        assert_eq!(sent["attachments"][0]["content"], "aGVsbG8gd29ybGQ=");
    }

    #[tokio::test]
    async fn a_body_with_a_template_is_reported_and_not_dropped() {
        // EMAIL-50, A-10
        let template = Email::from_template("welcome", "b@x.test").variable("NAME", "Ada").variable("N", 7);
        let expected =
            json!({"to": ["b@x.test"], "template": {"id": "welcome", "variables": {"NAME": "Ada", "N": 7}}});
        assert_eq!(wire(&template).await, expected);
        assert!(template.check().is_ok());
        let both = template.html("<p>x</p>").text("");
        let problems = both.check().unwrap_err();
        assert_eq!(problems[0].message, "`html` and `template` are mutually exclusive");
        assert_eq!(codes(both.check()), "exclusive /html, exclusive /text");
        assert_eq!(wire(&both).await["template"], expected["template"]);
        assert_eq!(Email::from_json(&wire(&both).await).unwrap_err(), problems);

        let variable = good().variable("N", 1);
        assert_eq!(codes(variable.check()), "exclusive /text");
        let message = &variable.check().unwrap_err()[0].message;
        assert_eq!(message, "`text` and `template.variables` are mutually exclusive");
    }

    #[test]
    fn ten_thousand_problems_are_counted_in_linear_time() {
        let start = std::time::Instant::now();
        let many = |item: fn(usize) -> (String, Value)| -> Value {
            (0..10_000).map(item).collect::<serde_json::Map<_, _>>().into()
        };
        let list = |item: Value| Value::from(vec![item; 10_000]);
        let with = |field: &str, value: Value| {
            let mut email = json!({"from": "a@x.test", "to": "b@x.test", "subject": "s", "text": "t"});
            email[field] = value;
            Email::from_json(&email).unwrap_err()
        };
        let mut unknown = many(|i| (format!("k{i}"), json!(1)));
        for (field, value) in [("from", "a@x.test"), ("to", "b@x.test"), ("subject", "s"), ("text", "t")] {
            unknown[field] = value.into();
        }
        for problems in [
            Email::from_json(&unknown).unwrap_err(),
            with("cc", list(json!("nobody"))),
            with("cc", list(json!(7))),
            with("headers", many(|i| (format!("X {i}"), json!("x")))),
        ] {
            assert_eq!((problems.len(), problems.omitted()), (1_000, 9_000));
        }
        let template = json!({"to": "b@x.test", "template": {"id": "t", "variables": many(|i| (format!("a-{i}"), json!("x")))}});
        assert_eq!(Email::from_json(&template).unwrap_err().omitted(), 9_000);
        let (batch, shape) = BatchEmail::read_all(&vec![json!({"subject": 7}); 5_000]);
        let problems = Problems::merge(shape, check_batch(&batch)).unwrap_err();
        assert_eq!((problems.len(), problems.omitted()), (1_000, 4_000));
        let built = (0..10_000).fold(good(), |email, i| email.header(format!("X-{i}"), "v"));
        assert_eq!((built.check(), built.fields().headers.len()), (Ok(()), 10_000));
        // Takes seconds in a debug build; a quadratic algorithm would take many minutes.
        assert!(start.elapsed().as_secs() < 120, "{:?}", start.elapsed());
    }

    #[test]
    fn an_email_in_an_outbox_equals_the_original() {
        let email = good()
            .cc(["c@x.test"])
            .header("X-A", "1")
            .tag("k", "v")
            .topic_id("t1")
            .scheduled_at("in 1 min")
            .attach(Attachment::from_bytes("a.txt", "abc"));
        let row = serde_json::to_string(&email).unwrap();
        assert_eq!(serde_json::from_str::<Email>(&row).unwrap(), email);
        let fields = email.fields();
        assert_eq!((fields.from, fields.subject, fields.text), (Some("a@x.test"), Some("s"), Some("t")));
        assert_eq!((fields.to, fields.cc), (&["b@x.test".to_owned()][..], &["c@x.test".to_owned()][..]));
        assert_eq!(fields.headers, [("X-A", "1")]);
        assert_eq!(fields.scheduled_at.unwrap().as_str(), "in 1 min");
        assert_eq!(fields.attachments[0].file_name(), Some("a.txt"));
        let template = Email::from_template("welcome", "b@x.test").variable("N", 7);
        let fields = template.fields().template.unwrap();
        assert_eq!((fields.id, &fields.variables["N"]), ("welcome", &7.into()));
        let wrong = serde_json::from_str::<Email>(r#"{"subjct": 1}"#).unwrap_err().to_string();
        assert!(wrong.contains("/subjct: an email has no field `subjct`"), "{wrong}");
    }

    #[tokio::test]
    async fn an_attachment_from_a_file_is_not_serialized() {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
        let email = good().attach(Attachment::from_file(path).await.unwrap());
        assert!(email.check().is_ok());
        let error = serde_json::to_string(&email).unwrap_err().to_string();
        assert!(error.contains("`Cargo.toml`") && error.contains("from_bytes"), "{error}");
    }

    #[test]
    fn recipients_are_borrowed_or_owned_and_numbers_are_of_any_type() {
        let (owned, borrowed) =
            (vec!["b@x.test".to_owned(), "c@x.test".to_owned()], vec!["b@x.test", "c@x.test"]);
        let to = |to: Recipients| to.as_slice().len();
        assert_eq!(to((&owned).into()) + to((&borrowed).into()) + to((&["a@x.test"]).into()), 5);
        assert_eq!(good().to(&owned).cc(&owned[..]).bcc(&borrowed).fields().to.len(), 3);
        let email = Email::from_template("t", &owned)
            .variable("A", owned.len())
            .variable("B", -1_isize)
            .variable("C", 1.1_f32)
            .variable("D", u64::MAX);
        let variables = email.fields().template.unwrap().variables;
        assert_eq!(serde_json::to_string(&variables["C"]).unwrap(), "1.1");
        assert_eq!(variables["A"], 2.into());
        assert_eq!(codes(email.check()), "range /template/variables/D");
    }

    #[test]
    fn a_system_time_is_scheduled_in_rfc_3339() {
        let moment = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_mins(29_920_606);
        let timestamp = crate::Timestamp::from("2026-11-21 04:46:00+00");
        for email in [good().scheduled_at(moment), good().scheduled_at(timestamp)] {
            assert_eq!(email.fields().scheduled_at.unwrap().as_str(), "2026-11-21T04:46:00Z");
        }
    }

    #[test]
    fn a_blank_schedule_is_rejected_everywhere() {
        // A-28
        let blank = "empty /scheduled_at";
        assert_eq!(codes(good().scheduled_at(" ").check()), blank);
        let client = crate::Client::new("http://127.0.0.1:1", "re_x").unwrap();
        let invalid = |error: crate::Error| match error {
            crate::Error::Invalid(problems) => codes(Err(problems)),
            other => panic!("{other}"),
        };
        assert_eq!(invalid(client.emails().reschedule("e1", " ").preview().unwrap_err()), blank);
        assert_eq!(invalid(client.broadcasts().send_at("b1", " ").preview().unwrap_err()), blank);
    }

    #[test]
    fn all_problems_are_reported_at_once() {
        let email = Email::default().to("bob@@example.com").tag("week 47", "x");
        assert_eq!(
            codes(email.check()),
            "required /from, required /subject, address /to/0, required, charset /tags/0/name"
        );
    }

    #[test]
    fn limits_are_enforced_exactly() {
        // A-02
        // EMAIL-09, EMAIL-39, EMAIL-40, EMAIL-55 to EMAIL-59, LIM-17, LIM-18, A-01, A-12, A-13, A-14, A-15
        let many = |n: usize| -> Vec<String> { (0..n).map(|i| format!("u{i}@x.test")).collect() };
        let to = |n| Email::new("a@x.test", many(n), "s").text("t");
        assert_eq!(codes(to(50).check()), "");
        assert_eq!(codes(to(51).check()), "count /to/50");
        assert_eq!(codes(to(0).check()), "required /to");
        for blank in ["", "  "] {
            assert_eq!(codes(good().to([blank]).check()), "empty /to/1");
        }

        let long = |n| "x".repeat(n);
        assert_eq!(codes(good().tag(long(256), long(256)).check()), "");
        assert_eq!(good().tag(long(257), long(257)).check().unwrap_err().len(), 2);
        for text in ["a b", "é", ".", "/", ""] {
            assert_eq!(good().tag(text, "v").check().unwrap_err().len(), 1, "{text}");
            assert_eq!(good().tag("n", text).check().unwrap_err().len(), 1, "{text}");
        }

        let with = |key: &str, value: Scalar| Email::from_template("t", "b@x.test").variable(key, value);
        for key in ["A", "a_1", "first_name", &long(50)] {
            assert_eq!(codes(with(key, "v".into()).check()), "", "{key}");
        }
        let reserved =
            ["FIRST_NAME", "LAST_NAME", "EMAIL", "UNSUBSCRIBE_URL", "SERVICE_UNSUBSCRIBE_URL", "this"];
        for key in reserved.into_iter().chain(["a-b", "é", "", " ", &long(51)]) {
            assert_eq!(with(key, "v".into()).check().unwrap_err().len(), 1, "{key}");
        }
        for value in [Scalar::from(""), long(2_000).into(), "🦀".repeat(2_000).into(), 1.5.into()] {
            assert_eq!(codes(with("A", value).check()), "");
        }
        let max = limits::VARIABLE_VALUE_MAX;
        assert_eq!(codes(with("A", max.into()).check()), "");
        assert_eq!(codes(with("A", (-9_007_199_254_740_992_i64).into()).check()), "");
        for value in [long(2_001).into(), (max + 1).into(), f64::NAN.into(), f64::INFINITY.into()] {
            assert_eq!(with("A", value).check().unwrap_err().len(), 1);
        }
    }

    #[test]
    fn headers_cannot_be_injected() {
        // A-05, A-06
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
            let problems = email.check().unwrap_err();
            assert_eq!((problems.len(), problems[0].code), (1, "header"), "{email:?}");
        }
        assert_eq!(codes(good().subject("a\u{85}b\u{2028}c").check()), "", "no line break of a mail header");
    }

    #[test]
    fn a_header_in_two_spellings_is_reported_and_not_dropped() {
        let json = json!({"from": "a@x.test", "to": "b@x.test", "subject": "s", "text": "t", "headers": {"X-A": "1", "x-a": "2"}});
        let problems = Email::from_json(&json).unwrap_err();
        assert_eq!(codes(Err(problems.clone())), "repeated /headers/x-a");
        assert_eq!(problems[0].found.as_deref(), Some("x-a"));
        assert!(serde_json::from_value::<Email>(json).is_err());
    }

    #[test]
    fn names_of_headers_and_content_ids_are_checked() {
        // A-27
        for name in ["X A", "X:", "", "X-é"] {
            assert_eq!(good().header(name, "v").check().unwrap_err().len(), 1, "{name:?}");
        }
        assert_eq!(codes(good().header("X-A", "v".repeat(2_000)).check()), "");
        assert_eq!(good().header("Content-Type", "x").warnings().len(), 1);
    }

    #[test]
    fn one_click_unsubscribing_needs_an_https_url() {
        let check = |url: &str| codes(good().list_unsubscribe(url).check());
        assert_eq!(check("https://acme.test/u?t=1"), "");
        for url in [
            "http://acme.test/u",
            "mailto:leave@acme.test",
            "acme.test/u",
            "",
            "https://",
            "https://acme.test/a b",
            "https://ada:secret@acme.test/u",
        ] {
            assert_eq!(check(url), "url /headers/List-Unsubscribe", "{url}");
        }
        assert!(check("https://a.test/\r\nBcc: x").starts_with("header "));
        // Without one-click unsubscribe, any URL is valid (RFC 2369).
        assert!(good().header("List-Unsubscribe", "<mailto:leave@acme.test>").check().is_ok());
        let both = good()
            .list_unsubscribe("https://acme.test/u")
            .header("list-unsubscribe", "<mailto:a@acme.test>, <https://acme.test/u>");
        assert!(both.check().is_ok());
    }

    #[test]
    fn limits_that_only_the_public_service_has_are_warnings() {
        // A-24, A-26
        let warned = |email: Email| {
            assert!(email.check().is_ok());
            codes(Problems::check(email.warnings()))
        };
        let tagged = |count| (0..count).fold(good(), |email, n| email.tag(format!("n{n}"), "x"));
        assert_eq!(warned(tagged(75)), "");
        assert_eq!(warned(tagged(76)), "count /tags");
        let days = |days: u64| SystemTime::now() + Duration::from_hours(days * 24);
        assert_eq!(warned(good().scheduled_at(days(29))), "");
        assert_eq!(warned(good().scheduled_at("in 2 years")), "", "the service interprets texts");
        assert_eq!(warned(good().scheduled_at(days(31))), "range /scheduled_at");
        let attached = |name| {
            warned(
                good().attach(Attachment::from_bytes("a.pdf", "")).attach(Attachment::from_bytes(name, "")),
            )
        };
        for name in ["exe", "a.exe.pdf", "a.js.map"] {
            assert_eq!(attached(name), "", "{name}");
        }
        for name in ["a.exe", "a.pdf.JS", ".url", "a.exe. ."] {
            assert_eq!(attached(name), "file_type /attachments/1/filename", "{name}");
        }
        for id in ["a>", "a b", "<a", ""] {
            let image = Attachment::from_bytes("a", "x").content_id(id);
            assert_eq!(good().attach(image).check().unwrap_err().len(), 1, "{id:?}");
        }
        for url in ["file:///etc/passwd", "ftp://x.test/a", "https://u:p@x.test/a", "report.pdf", ""] {
            assert_eq!(good().attach(Attachment::from_url(url)).check().unwrap_err().len(), 1, "{url:?}");
        }
        let hidden = good().attach(Attachment::from_url("https://u:sentinel@x.test/a")).check();
        assert!(!format!("{hidden:?}").contains("sentinel"));
    }

    #[test]
    fn attachments_are_limited_by_their_encoded_size() {
        // EMAIL-30, A-21, A-22
        let of = |sizes: &[usize]| {
            let attach =
                |email: Email, size: &usize| email.attach(Attachment::from_bytes("a", vec![0; *size]));
            sizes.iter().fold(good(), attach)
        };
        assert_eq!((of(&[30_000_000]).check(), of(&[30_000_000]).warnings().len()), (Ok(()), 0));
        assert_eq!((of(&[30_000_001]).check(), of(&[30_000_001]).warnings().len()), (Ok(()), 1));
        assert_eq!(codes(of(&[31_457_280]).check()), "");
        assert_eq!(codes(of(&[31_457_281]).check()), "size /attachments");
        assert_eq!(codes(of(&[20_000_000, 20_000_000]).check()), "size /attachments");
    }

    #[test]
    fn a_file_name_is_reduced_to_its_last_component() {
        // A-25
        for (given, kept) in [("../../x", "x"), ("C:\\x\\y.txt", "y.txt"), ("a.txt", "a.txt")] {
            assert_eq!(Attachment::from_bytes(given, "x").file_name(), Some(kept));
        }
        assert_eq!(good().attach(Attachment::from_bytes("", "x")).check().unwrap_err().len(), 1);
    }

    #[test]
    fn a_body_is_required() {
        // A-07, A-08, A-11
        let bare = || Email::new("a@x.test", "b@x.test", "s");
        assert_eq!(codes(bare().check()), "required");
        assert_eq!(codes(bare().text("").check()), "required");
        assert_eq!(codes(bare().subject("").text("x").check()), "");
        assert_eq!(codes(bare().html("x").text("").check()), "");
        assert_eq!(codes(bare().text("x").scheduled_at("").check()), "empty /scheduled_at");
        assert_eq!(codes(bare().template("").check()), "required /template/id");
    }

    #[test]
    fn json_of_the_wrong_shape_is_reported_with_its_location() {
        // A-10, A-16, A-20, EMAIL-21
        let of = |json: &Value| codes(Email::from_json(json).map(drop));
        assert_eq!(of(&json!([])), "type");
        let wrong = json!({
            "from": 7, "to": ["a@x.test", 1], "subject": "s", "html": "h", "template": {"id": "t"}, "subjct": "x",
            "tags": [{"name": "n"}], "headers": {"X": 1}, "react": "x",
            "attachments": [{"filename": "a"}, {"content": "YQ==", "path": "https://x.test"}, {"content": "Y*=="}],
        });
        let found = of(&wrong);
        let mut found: Vec<_> = found.split(", ").collect();
        found.sort_unstable();
        let expected = [
            "base64 /attachments/2/content",
            "exclusive /attachments/1/path",
            "exclusive /html",
            "required /attachments/0",
            "required /tags/0/value",
            "type /from",
            "type /headers/X",
            "type /to/1",
            "unknown /react",
            "unknown /subjct",
        ];
        assert_eq!(found, expected);
    }

    fn emails(n: usize) -> Vec<BatchEmail> {
        (0..n).map(|i| BatchEmail::new("a@x.test", "b@x.test", i.to_string()).text("t")).collect()
    }

    #[test]
    fn a_batch_has_1_to_100_emails() {
        // BATCH-03, A-29
        assert_eq!(check_batch(&emails(0)).unwrap_err()[0].code, "count");
        assert!(check_batch(&emails(1)).is_ok());
        assert!(check_batch(&emails(100)).is_ok());
        assert_eq!(check_batch(&emails(101)).unwrap_err()[0].path, "/100");
        assert_eq!(emails(1)[0].clone().from("nobody").check().unwrap_err()[0].path, "/from");
    }

    #[test]
    fn an_email_with_a_permitted_schedule_survives_its_json() {
        let email: BatchEmail = good().scheduled_at("in 1 min").into();
        for email in [email.allow_schedule(), good().into()] {
            let stored = serde_json::to_string(&email).unwrap();
            let restored: BatchEmail = serde_json::from_str(&stored).unwrap();
            assert_eq!((&restored, restored.check()), (&email, Ok(())), "{stored}");
        }
    }

    #[test]
    fn a_null_is_an_unset_field() {
        let mut json = serde_json::to_value(good()).unwrap();
        for field in [
            "cc",
            "bcc",
            "reply_to",
            "html",
            "template",
            "headers",
            "topic_id",
            "tags",
            "scheduled_at",
            "attachments",
        ] {
            json[field] = Value::Null;
        }
        assert_eq!(Email::from_json(&json), Ok(good()));
        let (email, shape) = BatchEmail::read(&json);
        assert_eq!((email, shape), (good().into(), Ok(())));
        assert_eq!(serde_json::from_value::<BatchEmail>(json).unwrap(), good().into());
    }

    #[tokio::test]
    async fn a_batch_is_a_bare_array_and_reports_unsupported_fields() {
        // BATCH-01, BATCH-10, A-30
        let json: Value = serde_json::from_slice(&batch_body(&emails(3)).as_bytes().unwrap()).unwrap();
        let subjects: Vec<_> =
            json.as_array().unwrap().iter().map(|email| email["subject"].clone()).collect();
        assert_eq!(subjects, ["0", "1", "2"]);
        let (_, shape) = BatchEmail::read(&json!({"attachments": [], "scheduled_at": "in 1 min"}));
        assert_eq!(codes(shape), "unsupported /attachments, unsupported /scheduled_at");

        let email = good().scheduled_at("in 1 min").attach(Attachment::from_bytes("a.txt", "abc"));
        let batch: [BatchEmail; 2] = [good().into(), email.clone().into()];
        assert_eq!(codes(batch[1].check()), "unsupported /scheduled_at, unsupported /attachments");
        assert_eq!(codes(batch[1].clone().allow_schedule().check()), "unsupported /attachments");
        let scheduled = |when| {
            let email: BatchEmail = good().scheduled_at(when).into();
            email.allow_schedule().check()
        };
        assert!(scheduled("in 1 min").is_ok());
        assert_eq!(codes(scheduled("")), "empty /scheduled_at");
        assert_eq!(batch[1].fields(), email.fields());
        let pieces: Vec<bytes::Bytes> = batch_body(&batch).stream().try_collect().await.unwrap();
        assert_eq!(serde_json::from_slice::<Value>(&pieces.concat()).unwrap(), json!([good(), email]));
    }
}
