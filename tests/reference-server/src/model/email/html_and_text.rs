//! HTML and text of a single email; a text derived from the HTML is created on first access.

use std::sync::{Arc, OnceLock};

use crate::content::plain;
use crate::content::text::derive;

/// The number of searched bytes of a text body.
const MAX_SEARCHED: usize = 64 << 10;

/// Bodies of this email only.
#[derive(Debug)]
pub struct HtmlAndText {
    pub html: Option<Arc<str>>,
    pub text: Text,
}

#[derive(Debug)]
pub enum Text {
    Given(Option<Arc<str>>),
    /// Derived from the HTML on first access, once for all readers.
    Derived(OnceLock<Arc<str>>),
}

/// The searched part of a text.
pub fn search_prefix(text: &str) -> &str {
    &text[..text.floor_char_boundary(MAX_SEARCHED)]
}

/// The searched part of the text of HTML.
pub(super) fn searched_html(html: &str) -> String {
    plain::to_text(html, MAX_SEARCHED)
}

/// Whether the searched part of HTML, without its tags, satisfies the condition.
pub fn any_of_html(html: &str, holds: &mut dyn FnMut(&str) -> bool) -> bool {
    holds(&searched_html(html))
}

impl HtmlAndText {
    pub fn from_html(html: Arc<str>) -> Self {
        Self { html: Some(html), text: Text::Derived(OnceLock::new()) }
    }

    pub fn text(&self) -> Option<Arc<str>> {
        match &self.text {
            Text::Given(text) => text.clone(),
            Text::Derived(derived) => {
                let html = self.html.as_deref()?;
                Some(Arc::clone(derived.get_or_init(|| derive(html).into())))
            }
        }
    }

    /// The text, unless it is derived from the HTML.
    pub fn explicit_text(&self) -> Option<&Arc<str>> {
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
            Text::Given(text) => text.as_ref().is_some_and(|text| holds(search_prefix(text))),
            Text::Derived(derived) => match derived.get() {
                Some(text) => holds(search_prefix(text)),
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
