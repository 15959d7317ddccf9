//! HTML and text that belong to one email alone; a text derived from the HTML is created on first access.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Serialize};

use crate::content::plain;
use crate::content::text::derive;

/// The number of bytes of a text body that a search covers.
const MAX_SEARCHED: usize = 64 << 10;

/// Stands for a link while a text is derived: one short word, of a private-use character. A line break could divide a link as long as the
/// real one.
pub const LINK_PLACEHOLDER: &str = "\u{e000}link\u{e000}";

/// Bodies that belong to this email alone.
#[derive(Debug)]
pub struct HtmlAndText {
    pub html: Option<Arc<str>>,
    pub text: Text,
}

#[derive(Debug)]
pub enum Text {
    Given(Option<Arc<str>>),
    /// Derived from the HTML on first access; for most emails from the HTML as it is.
    Derived(Option<Box<Derivation>>, OnceLock<Arc<str>>),
}

/// How a text is derived from its HTML.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub struct Derivation {
    /// A link that no line break may divide.
    pub link: Option<Box<str>>,
    /// The byte range of the hidden preview in the HTML, which the text omits.
    pub hidden: Option<Range<usize>>,
}

impl Derivation {
    /// `None` if the text is derived from the HTML as it is.
    pub(super) fn into_box(self) -> Option<Box<Self>> {
        (self.link.is_some() || self.hidden.is_some()).then(|| Box::new(self))
    }

    fn derive(&self, html: &str) -> String {
        let mut html = html.to_owned();
        if let Some(hidden) = self.hidden.clone().filter(|hidden| html.get(hidden.clone()).is_some()) {
            html.replace_range(hidden, "");
        }
        match &self.link {
            Some(link) => derive(&html.replace(&**link, LINK_PLACEHOLDER)).replace(LINK_PLACEHOLDER, link),
            None => derive(&html),
        }
    }
}

/// The part of a text that a search covers.
pub fn searched(text: &str) -> &str {
    &text[..text.floor_char_boundary(MAX_SEARCHED)]
}

/// The part of the text of HTML that a search covers.
pub(super) fn searched_html(html: &str) -> String {
    plain::text(html, MAX_SEARCHED)
}

/// Whether the searched part of HTML, without its tags, satisfies the condition.
pub fn any_of_html(html: &str, holds: &mut dyn FnMut(&str) -> bool) -> bool {
    holds(&searched_html(html))
}

impl HtmlAndText {
    pub fn derived(html: Arc<str>, how: Derivation) -> Self {
        Self { html: Some(html), text: Text::Derived(how.into_box(), OnceLock::new()) }
    }

    pub fn text(&self) -> Option<Arc<str>> {
        let (how, derived) = match &self.text {
            Text::Given(text) => return text.clone(),
            Text::Derived(how, derived) => (how, derived),
        };
        if let Some(text) = derived.get() {
            return Some(Arc::clone(text));
        }
        let html = self.html.as_deref()?;
        let text: Arc<str> = how.as_deref().map_or_else(|| derive(html), |how| how.derive(html)).into();
        // Stores no more than was counted.
        if text.len() <= html.len() {
            return Some(Arc::clone(derived.get_or_init(|| text)));
        }
        Some(text)
    }

    /// The text, unless it is derived from the HTML.
    pub fn given_text(&self) -> Option<&Arc<str>> {
        match &self.text {
            Text::Given(text) => text.as_ref(),
            Text::Derived(..) => None,
        }
    }

    pub fn size(&self) -> usize {
        let html = self.html.as_ref().map_or(0, |html| html.len());
        match &self.text {
            Text::Given(text) => html + text.as_ref().map_or(0, |text| text.len()),
            Text::Derived(..) => 2 * html,
        }
    }

    pub fn any_of_text(&self, holds: &mut dyn FnMut(&str) -> bool) -> bool {
        match &self.text {
            Text::Given(text) => text.as_ref().is_some_and(|text| holds(searched(text))),
            Text::Derived(_, derived) => match derived.get() {
                Some(text) => holds(searched(text)),
                None => self.html.as_ref().is_some_and(|html| any_of_html(html, holds)),
            },
        }
    }
}

impl From<(Option<Arc<str>>, Option<Arc<str>>)> for HtmlAndText {
    fn from((html, text): (Option<Arc<str>>, Option<Arc<str>>)) -> Self {
        Self { html, text: Text::Given(text) }
    }
}
