//! The bodies of one contact's email: the broadcast's message with the contact's values in place of the placeholders.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, OnceLock};

use uuid::Uuid;

use crate::content::placeholders::{MAX_TEXT_BYTES, Placeholder, fill_within, find_placeholders};
use crate::content::text::derive;
use crate::model::broadcast::{Broadcast, Message};
use crate::model::contact::Contact;
use crate::model::email::html_and_text::{HtmlAndText, search_prefix, searched_html};
use crate::wire::escape_html;

/// The specification's name of the unsubscribe link, and Resend's: templates from there work unchanged. The third is reserved as well, so no variable
/// can use it.
const UNSUBSCRIBE: [&str; 3] = ["SERVICE_UNSUBSCRIBE_URL", "RESEND_UNSUBSCRIBE_URL", "UNSUBSCRIBE_URL"];

/// Whether a placeholder is the unsubscribe link.
pub fn is_unsubscribe(name: &str) -> bool {
    UNSUBSCRIBE.contains(&name)
}

/// Stands for the link in a text that all emails of a broadcast share: a word between private-use characters, which HTML contains only in isolation,
/// if at all.
const LINK_PLACEHOLDER: &str = "\u{e000}link\u{e000}";

/// The content that all emails of a broadcast share.
#[derive(Debug)]
pub struct SharedContent {
    pub broadcast: Arc<Broadcast>,
    /// The text derived from the HTML, if only the link differs.
    text: OnceLock<Option<String>>,
    /// The searched part of the text without any contact's values.
    words: OnceLock<String>,
    /// The distinct placeholders of the text.
    placeholders: OnceLock<Vec<(String, Option<String>)>>,
}

impl SharedContent {
    pub fn new(broadcast: Arc<Broadcast>) -> Self {
        Self { broadcast, text: OnceLock::new(), words: OnceLock::new(), placeholders: OnceLock::new() }
    }

    pub fn topic(&self) -> Option<Uuid> {
        self.message().topic
    }

    pub fn message(&self) -> &Message {
        &self.broadcast.message
    }

    /// The source of the text: the given text, or the HTML.
    fn source(&self) -> Option<&str> {
        self.message().text.as_deref().or(self.message().html.as_deref())
    }

    /// The derived text with [`LINK_PLACEHOLDER`] for the link; `None` if it contains other values.
    fn text(&self, html: &str) -> Option<&str> {
        let text = self.text.get_or_init(|| {
            let filled = fill_within(html, MAX_TEXT_BYTES, |one| {
                UNSUBSCRIBE.contains(&one.name).then_some(LINK_PLACEHOLDER.into())
            })?;
            find_placeholders(html).all(|one| UNSUBSCRIBE.contains(&one.name)).then(|| derive(&filled))
        });
        text.as_deref()
    }

    fn search_text(&self) -> &str {
        self.words.get_or_init(|| {
            let source = self.source().unwrap_or_default();
            let plain = fill_within(source, MAX_TEXT_BYTES, |_| Some(" ".into())).unwrap_or_default();
            if self.message().text.is_some() {
                search_prefix(&plain).to_owned()
            } else {
                searched_html(&plain)
            }
        })
    }

    fn placeholders(&self) -> impl Iterator<Item = Placeholder<'_>> {
        let distinct = self.placeholders.get_or_init(|| {
            let all: HashSet<_> = find_placeholders(self.source().unwrap_or_default()).collect();
            all.into_iter().map(|one| (one.name.to_owned(), one.fallback.map(str::to_owned))).collect()
        });
        distinct.iter().map(|(name, fallback)| Placeholder { name, fallback: fallback.as_deref() })
    }
}

/// The bodies of one contact's email.
#[derive(Debug)]
pub struct Personalized {
    pub shared: Arc<SharedContent>,
    pub values: Values,
}

/// The values of the placeholders.
#[derive(Debug)]
pub struct Values {
    /// The contact when the email was sent.
    pub contact: Arc<Contact>,
    pub link: Box<str>,
    /// The fallback values of contact properties.
    pub fallbacks: Arc<HashMap<String, String>>,
}

/// The values for the placeholders of one email.
#[derive(Clone, Copy)]
pub struct RecipientValues<'v, 'f> {
    /// The address and the contact of the only recipient. `None` for several recipients, since they share the bodies.
    pub address: Option<&'v str>,
    pub contact: Option<&'v Contact>,
    /// The unsubscribe link; `None` in a preview.
    pub link: Option<&'v str>,
    /// Finds the fallback value of a contact property.
    pub fallback: &'f dyn Fn(&str) -> Option<String>,
}

impl<'v> RecipientValues<'v, '_> {
    /// The value, or else the text after the `|`, the property's fallback value, or nothing. `None` for other placeholders.
    pub fn value(&self, placeholder: Placeholder<'_>) -> Option<Cow<'v, str>> {
        let text = |text: Option<&'v String>| text.map(|text| Cow::Borrowed(text.as_str()));
        let mut property = None;
        let own = match placeholder.name {
            name if UNSUBSCRIBE.contains(&name) => return self.link.map(Cow::Borrowed),
            "FIRST_NAME" | "contact.first_name" => text(self.contact.and_then(|one| one.first_name.as_ref())),
            "LAST_NAME" | "contact.last_name" => text(self.contact.and_then(|one| one.last_name.as_ref())),
            "EMAIL" | "contact.email" => self.address.map(Cow::Borrowed),
            name => {
                let key = name.strip_prefix("contact.")?;
                property = Some(key);
                let value = self.contact.and_then(|one| one.properties.get(key));
                value.map(|value| Cow::Owned(value.to_string()))
            }
        };
        let written = placeholder.fallback.map(|text| Cow::Owned(text.to_owned()));
        let of_property = || property.and_then(self.fallback).map(Cow::Owned);
        Some(own.filter(|own| !own.is_empty()).or(written).or_else(of_property).unwrap_or_default())
    }
}

impl Values {
    pub fn value<'v>(&'v self, placeholder: Placeholder<'_>) -> Option<Cow<'v, str>> {
        let contact = &*self.contact;
        let values = RecipientValues {
            address: Some(&contact.email),
            contact: Some(contact),
            link: Some(&self.link),
            fallback: &|key| self.fallbacks.get(key).cloned(),
        };
        values.value(placeholder)
    }

    /// Fills in the values; `None` if the result exceeds the size limit.
    pub fn fill(&self, text: &str) -> Option<String> {
        fill_within(text, MAX_TEXT_BYTES, |placeholder| self.value(placeholder))
    }
}

impl Personalized {
    /// The size limit was checked when the email was created.
    fn fill(&self, text: &str) -> String {
        self.values.fill(text).unwrap_or_default()
    }

    pub fn html(&self) -> Option<String> {
        let message = self.shared.message();
        let html = self.fill(message.html.as_deref()?);
        Some(match &message.preview_text {
            Some(preview) => with_preview(&html, &self.fill(preview)),
            None => html,
        })
    }

    /// The text, unless it is derived from the HTML.
    pub fn explicit_text(&self) -> Option<String> {
        let text = self.shared.message().text.as_deref()?;
        Some(self.fill(text)).filter(|text| !text.is_empty())
    }

    pub fn text(&self) -> Option<String> {
        let message = self.shared.message();
        if message.text.is_some() {
            return self.explicit_text();
        }
        let html = message.html.as_deref()?;
        if let Some(text) = self.shared.text(html) {
            return Some(text.replace(LINK_PLACEHOLDER, &self.values.link));
        }
        Some(derive(&self.html()?))
    }

    /// The same bodies without references to the broadcast and the contact.
    pub fn render(&self) -> HtmlAndText {
        let html = self.html().map(Arc::from);
        match html {
            Some(html) if self.shared.message().text.is_none() => HtmlAndText::from_html(html),
            html => HtmlAndText::from((html, self.text().map(Arc::from))),
        }
    }

    /// Approximate. The broadcast itself isn't counted.
    pub fn size(&self) -> usize {
        let contact = &self.values.contact;
        let names = [&contact.first_name, &contact.last_name].into_iter().flatten().map(String::len);
        let properties = contact.properties.iter().map(|(key, value)| key.len() + value.to_string().len());
        self.values.link.len() + contact.email.len() + names.chain(properties).sum::<usize>()
    }

    /// Whether the text without values, or one of the inserted values, satisfies the condition.
    pub fn any_of_text(&self, holds: &mut dyn FnMut(&str) -> bool) -> bool {
        let mut values = self.shared.placeholders().filter_map(|placeholder| self.values.value(placeholder));
        holds(self.shared.search_text()) || values.any(|value| holds(search_prefix(&value)))
    }
}

/// Inserts a hidden preview at the beginning of the body, where mail clients expect it.
fn with_preview(html: &str, preview: &str) -> String {
    const HIDDEN: &str = "display:none;overflow:hidden;line-height:1px;opacity:0;max-height:0;max-width:0";
    let body = html.to_ascii_lowercase().find("<body").and_then(|at| Some(at + html[at..].find('>')? + 1));
    let (head, rest) = html.split_at(body.unwrap_or(0));
    format!("{head}<div style=\"{HIDDEN}\">{}</div>{rest}", escape_html(preview))
}
