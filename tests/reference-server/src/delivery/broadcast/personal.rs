//! One contact's mail: the broadcast's message with this contact's values in place of the placeholders.
//!
//! Placeholders are `FIRST_NAME`, `LAST_NAME`, `EMAIL`, `SERVICE_UNSUBSCRIBE_URL`, and `contact.` with a property, or with one of the
//! contact's own fields. What a contact lacks is what stands behind the `|`, else the property's own fallback value, else nothing. A name
//! that is none of these stays as it was written, so that a misspelling shows; the specification is silent here.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use uuid::Uuid;

use super::audience;
use crate::delivery::placeholders::{Placeholder, fill_within, line};
use crate::delivery::text::derive;
use crate::delivery::unsubscribe;
use crate::resources::broadcasts::record::{Broadcast, Message};
use crate::resources::contacts::book::Contact;
use crate::resources::emails::draft::{Draft, Origin};
use crate::resources::emails::recipients::Mailbox;
use crate::resources::templates::version::LARGEST;
use crate::service::Service;
use crate::state::Tenant;

/// Stands for the link while a text is derived: one short word, of a character that nobody has given a meaning.
const STAND_IN: &str = "\u{e000}link\u{e000}";

/// What is the same in every mail of a broadcast.
pub(super) struct Letter<'a> {
    tenant: &'a Tenant,
    broadcast: Uuid,
    message: &'a Message,
    /// Of each contact property the value for contacts that have none.
    fallbacks: HashMap<String, String>,
}

impl<'a> Letter<'a> {
    pub(super) fn of(tenant: &'a Tenant, broadcast: &'a Broadcast) -> Self {
        let message = &broadcast.message;
        Self { tenant, broadcast: broadcast.id, message, fallbacks: audience::fallbacks(tenant) }
    }

    /// The mail for one contact; none if its address is none that a mail can be sent to, or if its values make it larger than any mail may be.
    pub(super) fn to(&self, contact: &Contact, service: &Service) -> Option<Draft> {
        let to = Mailbox::parse(&contact.email).ok()?;
        let message = self.message;
        let link = unsubscribe::link(service, self.tenant, contact.id, message.topic);
        let filled_with = |text: &str, link: &str| {
            fill_within(text, LARGEST, |placeholder| self.value(placeholder, contact, link))
        };
        let filled = |text: &str| filled_with(text, &link);
        let html = match &message.html {
            Some(html) => Some(filled(html)?),
            None => None,
        };
        let text = match (&message.text, &message.html) {
            (Some(text), _) => Some(filled(text)?).filter(|text| !text.is_empty()),
            // A link as long as this one would be broken where a line of the text ends.
            (None, Some(html)) => Some(derive(&filled_with(html, STAND_IN)?).replace(STAND_IN, &link)),
            (None, None) => None,
        };
        let html = match (html, &message.preview_text) {
            (Some(html), Some(preview)) => Some(with_preview(&html, &filled(preview)?)),
            (html, _) => html,
        };
        Some(Draft {
            from: message.from.clone(),
            to: vec![to],
            cc: None,
            bcc: None,
            reply_to: message.reply_to.clone(),
            subject: line(&filled(&message.subject)?),
            html: html.map(Arc::from),
            text: text.map(Arc::from),
            // RFC 2369, and RFC 8058 for the button in a mail program.
            headers: vec![
                ("List-Unsubscribe".to_owned(), format!("<{link}>")),
                ("List-Unsubscribe-Post".to_owned(), unsubscribe::ONE_CLICK.to_owned()),
            ],
            attachments: Vec::new(),
            tags: Vec::new(),
            topic: message.topic,
            scheduled_at: None,
            origin: Origin { broadcast: Some(self.broadcast), ..Origin::default() },
        })
    }

    fn value<'v>(
        &'v self,
        placeholder: Placeholder<'_>,
        contact: &'v Contact,
        link: &'v str,
    ) -> Option<Cow<'v, str>> {
        let text = |text: &'v Option<String>| text.as_deref().map(Cow::Borrowed);
        let mut of_property = None;
        let own = match placeholder.name {
            "SERVICE_UNSUBSCRIBE_URL" => return Some(link.into()),
            "FIRST_NAME" | "contact.first_name" => text(&contact.first_name),
            "LAST_NAME" | "contact.last_name" => text(&contact.last_name),
            "EMAIL" | "contact.email" => Some(contact.email.as_str().into()),
            name => {
                let key = name.strip_prefix("contact.")?;
                of_property = self.fallbacks.get(key).map(|value| Cow::Borrowed(value.as_str()));
                contact.properties.get(key).map(|value| Cow::Owned(value.to_string()))
            }
        };
        let written = placeholder.fallback.map(|text| Cow::Owned(text.to_owned()));
        Some(own.filter(|own| !own.is_empty()).or(written).or(of_property).unwrap_or_default())
    }
}

/// The HTML with a preview where mail programs look for one: at the beginning of the body, and not to be seen there.
fn with_preview(html: &str, preview: &str) -> String {
    const HIDDEN: &str = "display:none;overflow:hidden;line-height:1px;opacity:0;max-height:0;max-width:0";
    let body = html.to_ascii_lowercase().find("<body").and_then(|at| Some(at + html[at..].find('>')? + 1));
    let (head, rest) = html.split_at(body.unwrap_or(0));
    let mut escaped = String::with_capacity(preview.len());
    for char in preview.chars() {
        match char {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            char => escaped.push(char),
        }
    }
    format!("{head}<div style=\"{HIDDEN}\">{escaped}</div>{rest}")
}
