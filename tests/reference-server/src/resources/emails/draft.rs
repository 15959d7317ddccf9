//! An email as a request asks for it: every field of `POST /emails`, read and checked.

use std::sync::Arc;

use jiff::Timestamp;

use super::attachments::{self, Attachment};
use super::recipients::{self, Mailbox};
use super::tags::{self, Tag};
use super::{headers, template};
use crate::delivery::text::derive;
use crate::paging::quoted;
use crate::schedule;
use crate::validation::{Fields, Ignored, Problems};

/// An email that keeps all rules.
#[derive(Clone, Debug)]
pub(crate) struct Draft {
    pub(crate) from: Mailbox,
    pub(crate) to: Vec<Mailbox>,
    pub(crate) cc: Option<Vec<Mailbox>>,
    pub(crate) bcc: Option<Vec<Mailbox>>,
    pub(crate) reply_to: Option<Vec<Mailbox>>,
    pub(crate) subject: String,
    pub(crate) html: Option<Arc<str>>,
    /// The given text, or the derived one; none if the sender switched the derivation off.
    pub(crate) text: Option<Arc<str>>,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) attachments: Vec<Attachment>,
    pub(crate) tags: Vec<Tag>,
    pub(crate) scheduled_at: Option<Timestamp>,
}

/// Which of the two requests an email comes in.
pub(crate) struct Form {
    now: Timestamp,
    /// Its place in a batch, which has neither attachments nor a schedule.
    place: Option<usize>,
}

impl Form {
    pub(crate) fn single(now: Timestamp) -> Self {
        Self { now, place: None }
    }

    pub(crate) fn in_batch(now: Timestamp, index: usize) -> Self {
        Self { now, place: Some(index) }
    }
}

impl Draft {
    /// Reads one email. None if anything was wrong, and then `problems` says what.
    pub(crate) fn read(
        json: &str,
        form: &Form,
        problems: &mut Problems,
        ignored: &mut Ignored,
    ) -> Option<Self> {
        let (at, pointer) = match form.place {
            None => (String::new(), String::new()),
            Some(index) => (format!("[{index}]."), format!("/{index}")),
        };
        let mut fields = Fields::read(json, at, pointer, problems)?;
        let before = problems.count();
        let draft = Self::read_fields(&mut fields, form, problems, ignored);
        fields.leave(ignored);
        draft.filter(|_| problems.count() == before)
    }

    fn read_fields(
        fields: &mut Fields<'_>,
        form: &Form,
        problems: &mut Problems,
        ignored: &mut Ignored,
    ) -> Option<Self> {
        if fields.take("react").is_some() {
            problems.wrong(|| {
                format!(
                    "`{}` exists only in client libraries, which render it; send the result as `html`.",
                    fields.name("react")
                )
            });
        }
        let template = template::check(fields, problems, ignored);

        let from = take_from(fields, template, problems);
        let to = recipients::take_to(fields, problems);
        let cc = recipients::take(fields, "cc", problems).filter(|list| !list.is_empty());
        let bcc = recipients::take(fields, "bcc", problems).filter(|list| !list.is_empty());
        let reply_to = recipients::take(fields, "reply_to", problems).filter(|list| !list.is_empty());
        let subject = take_subject(fields, template, problems);

        let bodies = fields.has("html") || fields.has("text");
        let html = fields.take_text("html", problems);
        let text = fields.take_text("text", problems);
        // The specification is silent on an email without a body; it is refused. An empty `text` only switches the
        // derivation off and is no body.
        if !template && !bodies {
            problems.missing(format_args!("{}` or `{}", fields.name("html"), fields.name("text")));
        } else if !template && [&html, &text].iter().all(|body| body.as_deref() == Some("") || body.is_none())
        {
            problems.wrong(|| {
                let (html, text) = (fields.name("html"), fields.name("text"));
                format!("`{html}` or `{text}` must have content; found none.")
            });
        }

        if let Some(id) = fields.take_text("topic_id", problems) {
            // No topic can be made yet, so none is found.
            problems.wrong(|| {
                format!(
                    "`{}` must be the id of a topic; there is no topic {}.",
                    fields.name("topic_id"),
                    quoted(&id)
                )
            });
        }
        let headers = headers::take(fields, reply_to.is_some(), problems, ignored);
        let tags = fields.take_array("tags", problems);
        let tags = tags.map(|items| tags::read(fields, &items, problems, ignored)).unwrap_or_default();
        let attachments = take_attachments(fields, form, problems, ignored);
        let scheduled_at = take_schedule(fields, form, problems);

        if !problems.is_empty() {
            return None;
        }
        let text = match (text, &html) {
            (Some(text), _) if text.is_empty() => None,
            (Some(text), _) => Some(Arc::from(&*text)),
            (None, Some(html)) => Some(Arc::from(derive(html))),
            (None, None) => None,
        };
        Some(Self {
            from: from?,
            to,
            cc,
            bcc,
            reply_to,
            subject: subject?.into_owned(),
            html: html.filter(|html| !html.is_empty()).map(|html| Arc::from(&*html)),
            text,
            headers,
            attachments,
            tags,
            scheduled_at,
        })
    }

    /// Every recipient.
    pub(crate) fn recipients(&self) -> impl Iterator<Item = &Mailbox> {
        self.to.iter().chain(self.cc.iter().flatten()).chain(self.bcc.iter().flatten())
    }

    /// About how many bytes it will take as a mail.
    pub(crate) fn size(&self) -> usize {
        let attached: usize = self
            .attachments
            .iter()
            .map(|attachment| match &attachment.content {
                attachments::Content::Bytes(bytes) => bytes.len().div_ceil(3) * 4,
                attachments::Content::Hosted(_) => 0,
            })
            .sum();
        let html = self.html.as_ref().map_or(0, |html| html.len());
        let text = self.text.as_ref().map_or(0, |text| text.len());
        // The bodies are kept twice: in the record, and in the mail.
        2_048 + 2 * (html + text) + attached
    }
}

fn take_from(fields: &mut Fields<'_>, template: bool, problems: &mut Problems) -> Option<Mailbox> {
    let Some(json) = fields.take("from") else {
        if !template {
            problems.missing(fields.name("from"));
        }
        return None;
    };
    let Some(text) = crate::validation::text(json) else {
        problems.wrong(|| {
            format!("`{}` must be a string; found {}.", fields.name("from"), crate::validation::kind(json))
        });
        return None;
    };
    match Mailbox::parse(&text) {
        Ok(mailbox) => Some(mailbox),
        Err(reason) => {
            problems.wrong(|| format!("`{}` {reason}: {}.", fields.name("from"), quoted(&text)));
            None
        }
    }
}

fn take_subject<'a>(
    fields: &mut Fields<'a>,
    template: bool,
    problems: &mut Problems,
) -> Option<std::borrow::Cow<'a, str>> {
    if !template && !fields.has("subject") {
        problems.missing(fields.name("subject"));
        return None;
    }
    fields.take_line("subject", problems)
}

fn take_attachments(
    fields: &mut Fields<'_>,
    form: &Form,
    problems: &mut Problems,
    ignored: &mut Ignored,
) -> Vec<Attachment> {
    if form.place.is_some() {
        if fields.take("attachments").is_some() {
            problems.wrong(|| format!("`{}` is not supported in a batch.", fields.name("attachments")));
        }
        return Vec::new();
    }
    let items = fields.take_array("attachments", problems);
    items.map(|items| attachments::read(fields, &items, problems, ignored)).unwrap_or_default()
}

fn take_schedule(fields: &mut Fields<'_>, form: &Form, problems: &mut Problems) -> Option<Timestamp> {
    if form.place.is_some() {
        if fields.take("scheduled_at").is_some() {
            problems.wrong(|| format!("`{}` is not supported in a batch.", fields.name("scheduled_at")));
        }
        return None;
    }
    let text = fields.take_text("scheduled_at", problems)?;
    match schedule::read(&text, form.now) {
        Ok(instant) => Some(instant),
        Err(reason) => {
            problems
                .wrong(|| format!("`{}` {reason}; found {}.", fields.name("scheduled_at"), quoted(&text)));
            None
        }
    }
}
