//! The input of a send: every field of `POST /emails`, parsed and validated.

use std::borrow::Cow;
use std::sync::Arc;

use jiff::Timestamp;
use uuid::Uuid;

use crate::content::placeholders::LARGEST;
use crate::model::email::attachments::{self, Attachment};
use crate::model::email::bodies::Bodies;
use crate::model::email::draft::{Draft, Origin};
use crate::model::email::recipients::{self, Mailbox};
use crate::model::email::{headers, tags};
use crate::model::template::version::Version;
use crate::resources::emails::template;
use crate::state::tenant::Tenant;
use crate::wire::paging::quoted;
use crate::wire::schedule;
use crate::wire::validation::{Fields, Ignored, Problems};

/// The form of an email: single, or in a batch.
pub(crate) struct Form<'a> {
    pub(crate) tenant: &'a Tenant,
    now: Timestamp,
    /// Its index in a batch, which allows neither attachments nor a schedule.
    pub(crate) place: Option<usize>,
}

impl<'a> Form<'a> {
    pub(crate) fn single(tenant: &'a Tenant, now: Timestamp) -> Self {
        Self { tenant, now, place: None }
    }

    pub(crate) fn in_batch(tenant: &'a Tenant, now: Timestamp, index: usize) -> Self {
        Self { tenant, now, place: Some(index) }
    }
}

impl Draft {
    /// Reads one email. Returns `None` if there are problems.
    pub(crate) fn read(
        json: &str,
        form: &Form<'_>,
        problems: &mut Problems,
        ignored: &mut Ignored,
    ) -> Option<Self> {
        let fields = match form.place {
            None => Fields::read(json, String::new(), String::new(), problems),
            Some(index) => Fields::read_top_element(json, index, problems),
        };
        Self::read_all(fields?, form, problems, ignored)
    }

    /// Like [`read`](Self::read), for a body whose fields are parsed already.
    pub(crate) fn read_all(
        mut fields: Fields<'_>,
        form: &Form<'_>,
        problems: &mut Problems,
        ignored: &mut Ignored,
    ) -> Option<Self> {
        let before = problems.count();
        let draft = Self::read_fields(&mut fields, form, problems, ignored);
        fields.leave(ignored);
        draft.filter(|_| problems.count() == before)
    }

    fn read_fields(
        fields: &mut Fields<'_>,
        form: &Form<'_>,
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
        let used = template::take(fields, form.tenant, problems, ignored);
        let version = used.as_ref().and_then(|used| used.version.as_deref());
        // Fields for which the template has a default are optional; for an unusable template this is unknown.
        let needed = |has_default: fn(&Version) -> bool| match &used {
            None => true,
            Some(_) => version.is_some_and(|version| !has_default(version)),
        };

        let from = take_from(fields, needed(|version| version.from.is_some()), problems);
        let to = recipients::take_to(fields, problems);
        let cc = recipients::take(fields, "cc", problems).filter(|list| !list.is_empty());
        let bcc = recipients::take(fields, "bcc", problems).filter(|list| !list.is_empty());
        let reply_to = recipients::take(fields, "reply_to", problems).filter(|list| !list.is_empty());
        let subject = take_subject(fields, needed(|version| version.subject.is_some()), problems);
        let (html, text) = take_bodies(fields, used.is_none(), problems);
        let topic = take_topic(fields, form.tenant, problems);
        let headers = headers::take(fields, reply_to.is_some(), problems, ignored);
        let tags = fields.take_array("tags", problems);
        let tags = tags.map(|items| tags::read(fields, &items, problems, ignored).into()).unwrap_or_default();
        let attachments = take_attachments(fields, form, problems, ignored);
        let scheduled_at = take_schedule(fields, form, problems);

        if !problems.is_empty() {
            return None;
        }
        let html = html.filter(|html| !html.is_empty()).map(|html| Arc::from(&*html));
        let bodies = match (html, text) {
            (Some(html), None) => Bodies::of_html(html),
            (html, text) => {
                Bodies::given(html, text.filter(|text| !text.is_empty()).map(|text| Arc::from(&*text)))
            }
        };
        let own_subject = subject.is_some();
        let own_reply_to = headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("reply-to"));
        let mut draft = Self {
            // The template's value is the default.
            from: from.or_else(|| version?.from.clone())?,
            to,
            cc,
            bcc,
            // A `Reply-To` in `headers` takes precedence.
            reply_to: reply_to.or_else(|| version?.reply_to.clone().filter(|_| !own_reply_to)),
            subject: subject.unwrap_or_default().into_owned(),
            bodies,
            headers,
            attachments,
            tags,
            topic,
            scheduled_at,
            origin: Origin { template: used.as_ref().and_then(|used| used.id), ..Origin::default() },
        };
        if let Some(used) = &used
            && draft.fill(used, own_subject, form.tenant).is_none()
        {
            problems.wrong(|| {
                format!(
                    "`{}` must make a subject and bodies of at most {LARGEST} bytes with these values.",
                    fields.name("template")
                )
            });
            return None;
        }
        Some(draft)
    }

    /// Renders subject and bodies from a template, within the size limit. The payload's subject takes precedence.
    fn fill(&mut self, used: &template::Use, own_subject: bool, tenant: &Tenant) -> Option<()> {
        let Some(version) = &used.version else { return Some(()) };
        let only = if self.recipients().count() == 1 { self.recipients().next() } else { None };
        let only = only.map(|one| one.address.clone());
        let contact = only.as_deref().and_then(|address| tenant.contacts.by_key(address));
        let rendered =
            version.render(&used.variables, only.as_deref().map(|address| (address, contact.as_deref())))?;
        if !own_subject {
            self.subject = rendered.subject.unwrap_or_default();
        }
        self.bodies = rendered.bodies;
        Some(())
    }
}

pub(crate) fn take_from(fields: &mut Fields<'_>, needed: bool, problems: &mut Problems) -> Option<Mailbox> {
    if needed && !fields.has("from") {
        problems.missing(fields.name("from"));
    }
    let text = fields.take_text("from", problems)?;
    match Mailbox::parse(&text) {
        Ok(mailbox) => Some(mailbox),
        Err(reason) => {
            problems.wrong(|| format!("`{}` {reason}: {}.", fields.name("from"), quoted(&text)));
            None
        }
    }
}

pub(crate) fn take_subject<'a>(
    fields: &mut Fields<'a>,
    needed: bool,
    problems: &mut Problems,
) -> Option<Cow<'a, str>> {
    if needed && !fields.has("subject") {
        problems.missing(fields.name("subject"));
    }
    fields.take_line("subject", problems)
}

type Body<'a> = Option<Cow<'a, str>>;

pub(crate) fn take_bodies<'a>(
    fields: &mut Fields<'a>,
    needed: bool,
    problems: &mut Problems,
) -> (Body<'a>, Body<'a>) {
    let given = fields.has("html") || fields.has("text");
    let html = fields.take_text("html", problems);
    let text = fields.take_text("text", problems);
    // The specification doesn't define an email without a body; it is rejected. An empty `text` only disables the derivation and is no
    // body.
    if needed && !given {
        problems.missing(format_args!("{}` or `{}", fields.name("html"), fields.name("text")));
    } else if needed && [&html, &text].iter().all(|body| body.as_deref() == Some("") || body.is_none()) {
        problems.wrong(|| {
            let (html, text) = (fields.name("html"), fields.name("text"));
            format!("`{html}` or `{text}` must have content; found none.")
        });
    }
    (html, text)
}

pub(crate) fn take_topic(fields: &mut Fields<'_>, tenant: &Tenant, problems: &mut Problems) -> Option<Uuid> {
    let text = fields.take_text("topic_id", problems)?;
    let topic = Uuid::try_parse(&text).ok().filter(|id| tenant.topics.get(*id).is_some());
    if topic.is_none() {
        problems.wrong(|| {
            format!(
                "`{}` must be the id of a topic; there is no topic {}.",
                fields.name("topic_id"),
                quoted(&text)
            )
        });
    }
    topic
}

pub(crate) fn take_attachments(
    fields: &mut Fields<'_>,
    form: &Form<'_>,
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

pub(crate) fn take_schedule(
    fields: &mut Fields<'_>,
    form: &Form<'_>,
    problems: &mut Problems,
) -> Option<Timestamp> {
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
