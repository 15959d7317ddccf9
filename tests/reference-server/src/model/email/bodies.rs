//! The bodies of an email, created on first access.
//!
//! Rendering HTML as text takes longer than everything else in a send, and the emails of a broadcast differ only in a few words. So a derived text is
//! created when it is first read, and the bodies of a broadcast's email are created from the broadcast and its contact.

use std::ops::Not;
use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::model::email::html_and_text::{HtmlAndText, Text};
use crate::model::email::personalized::Personalized;

/// Why `react`, a body of client libraries, is rejected.
pub const REACT_RULE: &str = "exists only in client libraries, which render it; send the result as `html`";

/// The HTML and text of one email. Clones share them.
#[derive(Clone, Debug)]
pub enum Bodies {
    HtmlAndText(Arc<HtmlAndText>),
    /// The bodies of a broadcast's email.
    Personalized(Arc<Personalized>),
}

impl Bodies {
    /// Bodies as given; the text is absent if the sender disabled its derivation.
    pub fn new(html: Option<Arc<str>>, text: Option<Arc<str>>) -> Self {
        Self::HtmlAndText(Arc::new(HtmlAndText { html, text: Text::Given(text) }))
    }

    /// HTML with a derived text.
    pub fn from_html(html: Arc<str>) -> Self {
        Self::HtmlAndText(Arc::new(HtmlAndText::from_html(html)))
    }

    pub fn html(&self) -> Option<Arc<str>> {
        match self {
            Self::HtmlAndText(written) => written.html.clone(),
            Self::Personalized(personal) => personal.html().map(Arc::from),
        }
    }

    /// The given text, or the derived one.
    pub fn text(&self) -> Option<Arc<str>> {
        match self {
            Self::HtmlAndText(written) => written.text(),
            Self::Personalized(personal) => personal.text().map(Arc::from),
        }
    }

    /// The text, unless it is derived from the HTML.
    pub fn explicit_text(&self) -> Option<Arc<str>> {
        match self {
            Self::HtmlAndText(written) => written.explicit_text().cloned(),
            Self::Personalized(personal) => personal.explicit_text().map(Arc::from),
        }
    }

    /// The number of bytes in this email. A text that isn't derived yet counts as much as its HTML.
    pub fn size(&self) -> usize {
        match self {
            Self::HtmlAndText(written) => written.size(),
            Self::Personalized(personal) => personal.size(),
        }
    }

    /// Whether a searched part of the text satisfies the condition. Doesn't derive a text: the search uses the HTML without its tags.
    pub fn any_of_text(&self, holds: &mut dyn FnMut(&str) -> bool) -> bool {
        match self {
            Self::HtmlAndText(written) => written.any_of_text(holds),
            Self::Personalized(personal) => personal.any_of_text(holds),
        }
    }
}

/// Bodies as persisted. A text that isn't derived yet is derived after it is restored.
#[derive(Deserialize, Serialize)]
struct Stored {
    html: Option<Arc<str>>,
    text: Option<Arc<str>>,
    /// Whether the text is derived from the HTML.
    #[serde(default, skip_serializing_if = "Not::not")]
    is_derived: bool,
}

impl Serialize for Bodies {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let own;
        let written = match self {
            Self::HtmlAndText(written) => &**written,
            Self::Personalized(personal) => {
                own = personal.render();
                &own
            }
        };
        let (text, is_derived) = match &written.text {
            Text::Given(text) => (text.clone(), false),
            Text::Derived(_) => (None, true),
        };
        Stored { html: written.html.clone(), text, is_derived }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Bodies {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Stored { html, text, is_derived } = Stored::deserialize(deserializer)?;
        let text = if is_derived { Text::Derived(OnceLock::new()) } else { Text::Given(text) };
        Ok(Self::HtmlAndText(Arc::new(HtmlAndText { html, text })))
    }
}
