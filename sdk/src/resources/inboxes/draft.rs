//! The inputs for creating, changing and sending drafts.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};

use super::{
    message::{body, check_attachments, check_headers, check_recipients},
    patch::check_touched,
};
use crate::{
    body::Body,
    problem::{Validator, limits},
    resources::shared::Attachment,
    types::{InboxEmailId, InboxThreadId, Patch, Recipients},
};

const FIELDS: &str = "`to`, `cc`, `bcc`, `subject`, `html`, `text` and `attachments`";

input! {
    /// A draft to create with [`Inboxes::create_draft`](super::Inboxes::create_draft). It must not be empty.
    #[derive(Default)]
    pub struct NewInboxDraft {
        /// Creates a draft without content.
        new();
        optional {
            /// Sets the subject, at most 2,000 characters.
            subject: String,
            /// Sets the HTML body.
            html: String,
            /// Sets the plain-text body.
            text: String,
        }
        other {
            #[serde(skip_serializing_if = "Recipients::is_empty")]
            to: Recipients,
            #[serde(skip_serializing_if = "Recipients::is_empty")]
            cc: Recipients,
            #[serde(skip_serializing_if = "Recipients::is_empty")]
            bcc: Recipients,
            #[serde(skip_serializing_if = "Option::is_none")]
            thread_id: Option<InboxThreadId>,
            #[serde(skip_serializing_if = "Option::is_none")]
            reply_to_email_id: Option<InboxEmailId>,
            #[serde(skip)]
            attachments: Vec<Attachment>,
        }
    }
}

impl NewInboxDraft {
    setters! {
        /// Adds recipients.
        to += Recipients => to;
        /// Adds `Cc` recipients.
        cc += Recipients => cc;
        /// Adds `Bcc` recipients.
        bcc += Recipients => bcc;
        /// Attaches a file; at most 10 files with 25 MB in total.
        attach += Attachment => attachments;
    }

    /// Makes the draft a reply to an email in a thread.
    pub fn reply_to(mut self, thread: impl Into<InboxThreadId>, email: impl Into<InboxEmailId>) -> Self {
        self.thread_id = Some(thread.into());
        self.reply_to_email_id = Some(email.into());
        self
    }

    pub(super) fn body(&self) -> Body {
        body(self, &self.attachments)
    }

    fn validate(&self, v: &mut Validator) {
        let is_blank = self.to.is_empty()
            && self.cc.is_empty()
            && self.bcc.is_empty()
            && self.subject.is_none()
            && self.html.is_none()
            && self.text.is_none()
            && self.attachments.is_empty();
        check_touched(v, is_blank, FIELDS);
        check_recipients(v, &[("to", &self.to), ("cc", &self.cc), ("bcc", &self.bcc)]);
        check_subject(v, self.subject.as_deref());
        v.not_empty("thread_id", self.thread_id.as_ref().map(InboxThreadId::as_str));
        v.not_empty("reply_to_email_id", self.reply_to_email_id.as_ref().map(InboxEmailId::as_str));
        check_attachments(v, &self.attachments);
    }
}

validate!(NewInboxDraft);

fn check_subject(v: &mut Validator, subject: Option<&str>) {
    v.check_one_line("subject", subject);
    v.max_length("subject", subject, limits::INBOX_SUBJECT_CHARS);
}

patch! {
    /// Changes to a draft: [`Inboxes::update_draft`](super::Inboxes::update_draft). Fields that aren't set are left unchanged, except that the body
    /// is replaced as a whole: setting only `html` removes the text, and vice versa.
    pub struct InboxDraftPatch {
        /// Replaces the recipients.
        to: Recipients |
        /// Removes the recipients.
        clear_to,
        /// Replaces the `Cc` recipients.
        cc: Recipients |
        /// Removes the `Cc` recipients.
        clear_cc,
        /// Replaces the `Bcc` recipients.
        bcc: Recipients |
        /// Removes the `Bcc` recipients.
        clear_bcc,
        /// Sets the subject, at most 2,000 characters.
        subject: String |
        /// Removes the subject.
        clear_subject,
        /// Sets the HTML body.
        html: String |
        /// Removes the HTML body.
        clear_html,
        /// Sets the plain-text body.
        text: String |
        /// Removes the plain-text body.
        clear_text,
    }
    other {
        #[serde(skip_serializing_if = "Patch::is_keep")]
        thread_id: Patch<InboxThreadId> | null,
        #[serde(skip_serializing_if = "Patch::is_keep")]
        reply_to_email_id: Patch<InboxEmailId> | null,
        // New attachments are written after the other fields, since they can be streams.
        #[serde(skip_serializing_if = "is_not_cleared", serialize_with = "null")]
        attachments: Patch<Vec<Attachment>> | null,
    }
}

impl InboxDraftPatch {
    /// Makes the draft a reply to an email in a thread.
    pub fn reply_to(mut self, thread: impl Into<InboxThreadId>, email: impl Into<InboxEmailId>) -> Self {
        self.thread_id = Patch::Set(thread.into());
        self.reply_to_email_id = Patch::Set(email.into());
        self
    }

    /// Makes the draft a new email instead of a reply.
    pub fn clear_reply_to(mut self) -> Self {
        self.thread_id = Patch::Clear;
        self.reply_to_email_id = Patch::Clear;
        self
    }

    /// Attaches a file. The attached files replace all existing attachments of the draft.
    pub fn attach(mut self, attachment: Attachment) -> Self {
        match &mut self.attachments {
            Patch::Set(attachments) => attachments.push(attachment),
            others => *others = Patch::Set(vec![attachment]),
        }
        self
    }

    setters! {
        /// Removes all attachments.
        clear_attachments = Patch::Clear => attachments;
    }

    fn new_attachments(&self) -> &[Attachment] {
        self.attachments.value().map(Vec::as_slice).unwrap_or_default()
    }

    pub(super) fn body(&self) -> Body {
        body(self, self.new_attachments())
    }

    fn validate(&self, v: &mut Validator) {
        let is_untouched = self.is_untouched() && self.thread_id.is_keep() && self.attachments.is_keep();
        check_touched(v, is_untouched, FIELDS);
        let none = Recipients::default();
        let lists = [("to", &self.to), ("cc", &self.cc), ("bcc", &self.bcc)];
        check_recipients(v, &lists.map(|(name, list)| (name, list.value().unwrap_or(&none))));
        check_subject(v, self.subject.text());
        v.not_empty("thread_id", self.thread_id.value().map(InboxThreadId::as_str));
        v.not_empty("reply_to_email_id", self.reply_to_email_id.value().map(InboxEmailId::as_str));
        check_attachments(v, self.new_attachments());
    }
}

validate!(InboxDraftPatch);

fn is_not_cleared<T>(patch: &Patch<T>) -> bool {
    !matches!(patch, Patch::Clear)
}

fn null<T, S: Serializer>(_: &T, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_none()
}

/// Options for sending a draft.
#[derive(Default, Serialize)]
pub(super) struct SendDraft {
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) headers: BTreeMap<String, String>,
}

impl SendDraft {
    fn validate(&self, v: &mut Validator) {
        check_headers(v, &self.headers);
    }
}

validate!(private SendDraft);

#[cfg(test)]
mod tests {
    use serde_json::{json, to_value};

    use super::*;
    use crate::problem::codes;

    #[test]
    fn a_draft_needs_content() {
        assert_eq!(codes(NewInboxDraft::new().reply_to("t", "e").check()), "required");
        assert_eq!(codes(NewInboxDraft::new().subject("x".repeat(2_000)).check()), "");
        assert_eq!(codes(NewInboxDraft::new().subject("x".repeat(2_001)).check()), "length /subject");
        assert_eq!(codes(InboxDraftPatch::new().check()), "required");
        for patch in [InboxDraftPatch::new().clear_attachments(), InboxDraftPatch::new().clear_reply_to()] {
            assert_eq!(codes(patch.check()), "");
        }
    }

    #[test]
    fn clearing_differs_from_keeping() {
        let patch = InboxDraftPatch::new().clear_to().cc("a@b.test").clear_reply_to().clear_attachments();
        let expected = json!({ "to": null, "cc": ["a@b.test"], "thread_id": null, "reply_to_email_id": null, "attachments": null });
        assert_eq!(to_value(patch).unwrap(), expected);
    }
}
