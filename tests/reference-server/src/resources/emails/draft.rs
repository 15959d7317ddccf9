//! The input of a send: every field of `POST /emails`, parsed and validated.

use std::cell::RefCell;
use std::sync::Arc;

use jiff::Timestamp;

use crate::content::placeholders::MAX_TEXT_BYTES;
use crate::delivery::broadcast::audience;
use crate::delivery::unsubscribe;
use crate::model::email::attachments;
use crate::model::email::bodies::{Bodies, REACT_RULE};
use crate::model::email::draft::{Draft, Origin};
use crate::model::email::headers;
use crate::model::email::personalized::RecipientValues;
use crate::model::email::recipients::{self, Mailbox};
use crate::model::email::tags;
use crate::model::template::version::Version;
use crate::resources::emails::template::TemplateUse;
use crate::state::State;
use crate::state::tenant::Tenant;
use crate::wire::{Body, Checked, Field, Fields, Problem, fields, line, schedule, shared};

/// The form of an email: single, or in a batch.
pub struct Form<'a> {
    pub state: &'a State,
    pub tenant: &'a Tenant,
    pub now: Timestamp,
    /// The disallowed fields: in a batch attachments, and a schedule unless the settings permit it.
    pub unsupported: &'static [&'static str],
}

impl<'a> Form<'a> {
    pub fn single(state: &'a State, tenant: &'a Tenant, now: Timestamp) -> Self {
        Self { state, tenant, now, unsupported: &[] }
    }

    /// Reads a field that a batch may not allow.
    fn read_single<T>(
        &self,
        fields: &mut Fields<'_>,
        name: &str,
        read: impl FnOnce(&Field<'_>) -> Checked<T>,
    ) -> Checked<Option<T>> {
        fields.optional(name, |field| {
            if self.unsupported.contains(&name) {
                return Err(field.reject("is not supported in a batch"));
            }
            read(field)
        })
    }
}

impl Draft {
    /// Parses an email that isn't the body of a request to the API.
    pub fn parse(state: &State, json: &[u8], tenant: &Tenant, now: Timestamp) -> Result<Self, Problem> {
        let form = Form::single(state, tenant, now);
        Ok(fields::read(Body::parse(json)?, &RefCell::default(), |fields| Self::read(fields, &form))?)
    }

    /// Reads one email.
    pub fn read(fields: &mut Fields<'_>, form: &Form<'_>) -> Checked<Self> {
        let Form { state, tenant, now, .. } = *form;
        fields.forbid("react", REACT_RULE);
        // Some clients send an empty string for unset fields.
        fields.ignore_empty(&["scheduled_at", "topic_id"]);
        if fields.has("template") {
            fields.ignore_empty(&["from", "subject", "html", "text"]);
        }
        let used = TemplateUse::read(fields, tenant);
        // Fields for which the template has a default are optional; for an unusable template this is unknown.
        let needed = |has_default: fn(&Version) -> bool| match &used {
            Ok(None) => true,
            Ok(Some(used)) => !has_default(&used.version),
            Err(_) => false,
        };

        let from = fields.required_if(needed(|version| version.from.is_some()), "from", Mailbox::read_sender);
        let to = fields.required("to", recipients::read_to);
        let cc = recipients::read_optional(fields, "cc");
        let bcc = recipients::read_optional(fields, "bcc");
        let reply_to = recipients::read_optional(fields, "reply_to");
        let subject = fields.required_if(needed(|version| version.subject.is_some()), "subject", line);
        let bodies = read_bodies(fields, matches!(used, Ok(None)));
        let topic = fields.optional("topic_id", |field| tenant.topics.read_id(field));
        let has_reply_to = matches!(reply_to, Ok(Some(_)));
        let headers = fields.optional("headers", |field| headers::read(field, has_reply_to));
        let tags = fields.optional("tags", tags::read);
        let attachments = form.read_single(fields, "attachments", attachments::read);
        let scheduled_at = form
            .read_single(fields, "scheduled_at", |field| field.parse_with(|text| schedule::read(text, now)));

        let (used, from, subject, reply_to) = (used?, from?, subject?, reply_to?);
        let headers = headers?.unwrap_or_default();
        let version = used.as_ref().map(|used| &*used.version);
        let own_subject = subject.is_some();
        let own_reply_to = headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("reply-to"));
        let mut draft = Self {
            id: None,
            // The template's value is the default.
            from: from
                .or_else(|| version?.from.clone())
                .ok_or_else(|| fields.report().report_missing(fields.name("from")))?,
            to: to?,
            cc: cc?,
            bcc: bcc?,
            // A `Reply-To` in `headers` takes precedence.
            reply_to: reply_to.or_else(|| version?.reply_to.clone().filter(|_| !own_reply_to)),
            subject: subject.unwrap_or_default(),
            bodies: bodies?,
            headers,
            attachments: attachments?.unwrap_or_default(),
            tags: tags?.unwrap_or_default().into(),
            topic: topic?,
            scheduled_at: scheduled_at?,
            origin: Origin { template: used.as_ref().map(|used| used.id), ..Origin::default() },
        };
        if let Some(used) = &used {
            draft.fill(used, own_subject, state, tenant).ok_or_else(|| {
                fields.reject(
                    "template",
                    format_args!(
                        "must make a subject and bodies of at most {MAX_TEXT_BYTES} bytes with these values"
                    ),
                )
            })?;
        }
        Ok(draft)
    }

    /// Renders subject and bodies from a template, within the size limit. The payload's subject takes precedence.
    /// Several recipients share the bodies, so these refer to none of them.
    fn fill(&mut self, used: &TemplateUse, own_subject: bool, state: &State, tenant: &Tenant) -> Option<()> {
        let id = state.next_id();
        let only = if self.recipients().count() == 1 { self.recipients().next() } else { None };
        let only = only.map(|one| one.address.clone());
        let contact = only.as_deref().and_then(|address| tenant.contacts.find_by_key(address));
        let recipient = RecipientValues {
            address: only.as_deref(),
            contact: contact.as_deref(),
            link: Some(&unsubscribe::email_link(state, tenant, id, self.topic)),
            fallback: &|key| audience::fallback(tenant, key),
        };
        let rendered = used.version.render(&used.variables, Some(recipient))?;
        self.id = Some(id);
        if !own_subject {
            self.subject = rendered.subject.unwrap_or_default();
        }
        self.bodies = rendered.bodies;
        Some(())
    }
}

/// Reads `html` and `text`. The specification doesn't define an email without a body; it is rejected. An empty `text` only disables the derivation
/// and doesn't count as a body.
fn read_bodies(fields: &mut Fields<'_>, needed: bool) -> Checked<Bodies> {
    let given = fields.has("html") || fields.has("text");
    let (html, text) = (fields.optional("html", shared), fields.optional("text", shared));
    let is_empty = |body: &Checked<Option<Arc<str>>>| {
        body.as_ref().is_ok_and(|body| body.as_deref().is_none_or(str::is_empty))
    };
    if needed && is_empty(&html) && is_empty(&text) {
        let (html, text) = (fields.name("html"), fields.name("text"));
        return Err(if given {
            fields.report().report(format_args!("`{html}` or `{text}` must have content; found none."))
        } else {
            fields.report().report_missing(format_args!("{html}` or `{text}"))
        });
    }
    let filled = |body: Option<Arc<str>>| body.filter(|body| !body.is_empty());
    Ok(match (filled(html?), text?) {
        (Some(html), None) => Bodies::from_html(html),
        (html, text) => Bodies::new(html, filled(text)),
    })
}
