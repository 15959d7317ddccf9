//! Replies and forwards, and the rules shared with drafts.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::{
    body::Body,
    problem::{Validator, limits},
    resources::shared::{Attachment, write_object},
    types::Recipients,
};

/// Headers that the service sets itself.
const REJECTED_HEADERS: [&str; 3] = ["in-reply-to", "references", "reply-to"];

input! {
    /// A reply to an email in a thread: [`Inboxes::reply`](super::Inboxes::reply).
    ///
    /// It goes to the email's `Reply-To` address or, if there is none, to its sender. It needs [`html`](Self::html), [`text`](Self::text) or both.
    #[derive(Default)]
    pub struct InboxReply {
        /// Creates a reply without a body.
        new();
        optional {
            /// Sets the HTML body.
            html: String,
            /// Sets the plain-text body.
            text: String,
            /// Sets the subject; the default is the email's subject, prefixed with `Re: `.
            subject: String,
            /// Sets whether the other recipients of the email receive a copy.
            reply_all: bool,
        }
        other {
            #[serde(skip_serializing_if = "Recipients::is_empty")]
            cc: Recipients,
            #[serde(skip_serializing_if = "Recipients::is_empty")]
            bcc: Recipients,
            #[serde(skip_serializing_if = "BTreeMap::is_empty")]
            headers: BTreeMap<String, String>,
            #[serde(skip)]
            attachments: Vec<Attachment>,
        }
    }
}

impl InboxReply {
    setters! {
        /// Adds `Cc` recipients.
        cc += Recipients => cc;
        /// Adds `Bcc` recipients.
        bcc += Recipients => bcc;
        /// Attaches a file; at most 10 files with 25 MB in total.
        attach += Attachment => attachments;
        /// Sets a custom header, except `In-Reply-To`, `References` and `Reply-To`, which the service sets itself.
        header(name: String, value: String) => headers;
    }

    pub(super) fn body(&self) -> Body {
        body(self, &self.attachments)
    }

    fn validate(&self, v: &mut Validator) {
        if [&self.html, &self.text].into_iter().flatten().all(String::is_empty) {
            v.report("required", "`html` or `text` is required");
        }
        check_recipients(v, &[("cc", &self.cc), ("bcc", &self.bcc)]);
        v.check_one_line("subject", self.subject.as_deref());
        check_headers(v, &self.headers);
        check_attachments(v, &self.attachments);
    }
}

validate!(InboxReply);

input! {
    /// An email in a thread to forward: [`Inboxes::forward`](super::Inboxes::forward).
    ///
    /// The service appends the email and its attachments; [`html`](Self::html) and [`text`](Self::text) precede it.
    pub struct InboxForward {
        /// Creates a forward to these recipients.
        new(to: Recipients);
        optional {
            /// Sets the HTML that precedes the email.
            html: String,
            /// Sets the text that precedes the email.
            text: String,
            /// Sets the subject; the default is the email's subject, prefixed with `Fwd: `.
            subject: String,
        }
        other {
            #[serde(skip_serializing_if = "Recipients::is_empty")]
            cc: Recipients,
            #[serde(skip_serializing_if = "Recipients::is_empty")]
            bcc: Recipients,
            #[serde(skip_serializing_if = "BTreeMap::is_empty")]
            headers: BTreeMap<String, String>,
            #[serde(skip)]
            attachments: Vec<Attachment>,
        }
    }
}

impl InboxForward {
    setters! {
        /// Adds recipients.
        to += Recipients => to;
        /// Adds `Cc` recipients.
        cc += Recipients => cc;
        /// Adds `Bcc` recipients.
        bcc += Recipients => bcc;
        /// Attaches another file; at most 10 files with 25 MB in total.
        attach += Attachment => attachments;
        /// Sets a custom header, except `In-Reply-To`, `References` and `Reply-To`, which the service sets itself.
        header(name: String, value: String) => headers;
    }

    pub(super) fn body(&self) -> Body {
        body(self, &self.attachments)
    }

    fn validate(&self, v: &mut Validator) {
        if self.to.is_empty() {
            v.report_at("to", "required", "`to` must have at least one address");
        }
        check_recipients(v, &[("to", &self.to), ("cc", &self.cc), ("bcc", &self.bcc)]);
        v.check_one_line("subject", self.subject.as_deref());
        check_headers(v, &self.headers);
        check_attachments(v, &self.attachments);
    }
}

validate!(InboxForward);

/// Returns the JSON of an input with its attachments.
pub(super) fn body(input: &impl Serialize, attachments: &[Attachment]) -> Body {
    // Maps with string keys, strings and booleans: every input can be represented in JSON.
    write_object(serde_json::to_vec(input).unwrap_or_default(), attachments, Body::default())
}

pub(super) fn check_recipients(v: &mut Validator, lists: &[(&str, &Recipients)]) {
    for (name, list) in lists {
        v.addresses(name, list.as_slice());
    }
    let found: usize = lists.iter().map(|(_, list)| list.as_slice().len()).sum();
    let max = limits::INBOX_RECIPIENTS;
    if found > max {
        let rule = format!("`to`, `cc` and `bcc` must have at most {max} addresses in total");
        v.report_found("count", rule, format_args!("{found} addresses"));
    }
}

pub(super) fn check_headers(v: &mut Validator, headers: &BTreeMap<String, String>) {
    for (name, value) in headers {
        v.field("headers", |v| {
            v.field(name, |v| {
                if REJECTED_HEADERS.iter().any(|refused| refused.eq_ignore_ascii_case(name)) {
                    v.report_found("reserved", "the service sets this header itself", name);
                }
                v.check_header(name, value);
            });
        });
    }
}

pub(super) fn check_attachments(v: &mut Validator, attachments: &[Attachment]) {
    let max = limits::INBOX_ATTACHMENTS;
    let report = |v: &mut Validator, code, rule: String, found: String| {
        v.field("attachments", |v| v.report_found(code, rule, found));
    };
    if attachments.len() > max {
        let rule = format!("`attachments` must have at most {max} files");
        report(v, "count", rule, format!("{} files", attachments.len()));
    }
    let size = attachments.iter().filter_map(Attachment::size).fold(0, u64::saturating_add);
    if size > limits::INBOX_ATTACHMENT_BYTES {
        let rule = "`attachments` must have at most 25 MB in total".to_owned();
        report(v, "size", rule, format!("{size} bytes"));
    }
    v.for_each_item("attachments", attachments, |v, attachment| attachment.validate(v));
}

#[cfg(test)]
mod tests {
    use futures_util::TryStreamExt as _;
    use serde_json::{Value, json};

    use super::*;
    use crate::problem::codes;

    #[tokio::test]
    async fn attachments_are_part_of_the_body() {
        let reply =
            InboxReply::new().text("x").cc(["a@b.test"]).attach(Attachment::from_bytes("a.txt", "ab"));
        let pieces: Vec<bytes::Bytes> = reply.body().stream().try_collect().await.unwrap();
        let expected = json!({ "text": "x", "cc": ["a@b.test"], "attachments": [{ "filename": "a.txt", "content": "YWI=" }] });
        assert_eq!(serde_json::from_slice::<Value>(&pieces.concat()).unwrap(), expected);
    }

    #[test]
    fn rules_of_replies_and_forwards_are_checked() {
        assert_eq!(codes(InboxReply::new().check()), "required");
        assert_eq!(codes(InboxReply::new().html("").text("").check()), "required");
        assert_eq!(codes(InboxForward::new(Vec::<String>::new()).check()), "required /to");
        let many = |count: usize| vec!["a@b.test"; count];
        assert_eq!(codes(InboxForward::new(many(25)).cc(many(25)).check()), "");
        assert_eq!(codes(InboxForward::new(many(25)).bcc(many(26)).check()), "count");
        for name in ["References", "in-reply-to", "REPLY-TO"] {
            let reply = InboxReply::new().text("x").header(name, "y");
            assert_eq!(codes(reply.check()), format!("reserved /headers/{name}"));
        }
        let file = || Attachment::from_bytes("a.txt", "x");
        let files = (0..11).fold(InboxReply::new().text("x"), |reply, _| reply.attach(file()));
        assert_eq!(codes(files.check()), "count /attachments");
        let large = InboxReply::new().text("x").attach(Attachment::from_bytes("a", vec![0; (25 << 20) + 1]));
        assert_eq!(codes(large.check()), "size /attachments");
    }
}
