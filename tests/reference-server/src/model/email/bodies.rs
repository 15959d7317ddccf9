//! The bodies of an email, created on first access.
//!
//! Rendering HTML as text takes longer than everything else in a send, and the emails of a broadcast differ only in a few words. So a
//! derived text is created for its first reader, and the bodies of a broadcast's email from the broadcast and its contact.

use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::model::email::personal::Personal;
use crate::model::email::written::{Derivation, Text, Written};

/// The HTML and text of one email. Clones share them.
#[derive(Clone, Debug)]
pub(crate) enum Bodies {
    Written(Arc<Written>),
    /// Of an email of a broadcast.
    Personal(Arc<Personal>),
}

impl Bodies {
    /// Bodies as given; the text is absent if the sender disabled its derivation.
    pub(crate) fn given(html: Option<Arc<str>>, text: Option<Arc<str>>) -> Self {
        Self::Written(Arc::new(Written { html, text: Text::ValueSource(text) }))
    }

    /// HTML with a derived text.
    pub(crate) fn of_html(html: Arc<str>) -> Self {
        Self::Written(Arc::new(Written::derived(html, Derivation::default())))
    }

    pub(crate) fn html(&self) -> Option<Arc<str>> {
        match self {
            Self::Written(written) => written.html.clone(),
            Self::Personal(personal) => personal.html().map(Arc::from),
        }
    }

    /// The given text, or the derived one.
    pub(crate) fn text(&self) -> Option<Arc<str>> {
        match self {
            Self::Written(written) => written.text(),
            Self::Personal(personal) => personal.text().map(Arc::from),
        }
    }

    /// The number of bytes that this email holds for them. A text that isn't derived yet counts as large as its HTML.
    pub(crate) fn size(&self) -> usize {
        match self {
            Self::Written(written) => written.size(),
            Self::Personal(personal) => personal.size(),
        }
    }

    /// Whether the text contains this word, ignoring case; the word is in lower case. A text that isn't derived yet isn't derived for this:
    /// the search uses the HTML without its tags.
    pub(crate) fn has_word(&self, word: &str) -> bool {
        match self {
            Self::Written(written) => written.has_word(word),
            Self::Personal(personal) => personal.has_word(word),
        }
    }
}

/// Bodies as persisted. A text that isn't derived yet is derived after it is restored.
#[derive(Deserialize, Serialize)]
struct Stored {
    html: Option<Arc<str>>,
    text: Option<Arc<str>>,
    #[serde(default)]
    derivation: Option<Derivation>,
}

impl Serialize for Bodies {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let own;
        let written = match self {
            Self::Written(written) => &**written,
            Self::Personal(personal) => {
                own = personal.written();
                &own
            }
        };
        let (text, derivation) = match &written.text {
            Text::ValueSource(text) => (text.clone(), None),
            Text::Derived(how, _) => (None, Some(how.as_deref().cloned().unwrap_or_default())),
        };
        Stored { html: written.html.clone(), text, derivation }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Bodies {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Stored { html, text, derivation } = Stored::deserialize(deserializer)?;
        let text = match derivation {
            Some(how) => Text::Derived(how.into_box(), OnceLock::new()),
            None => Text::ValueSource(text),
        };
        Ok(Self::Written(Arc::new(Written { html, text })))
    }
}
