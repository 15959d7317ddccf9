//! The bodies of an email, made when they are read.
//!
//! Laying out HTML as text takes longer than everything else that a send does, and a mail of a broadcast differs from the next one in a few words.
//! So a derived text is made for the first reader, and the bodies of a broadcast's mail from the broadcast and its contact.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use mail_parser::decoders::html::html_to_text;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::broadcast::personal::Personal;
use super::text::derive;

/// How much of a text body a search looks into, in bytes.
const LOOKED_INTO: usize = 64 << 10;

/// Stands for a link while a text is derived: one short word, of a character without a meaning. A link as long as the real one would be broken where a
/// line of the text ends.
pub(super) const STAND_IN: &str = "\u{e000}link\u{e000}";

/// The HTML and the text of one email. Clones share them.
#[derive(Clone, Debug)]
pub(crate) enum Bodies {
    Written(Arc<Written>),
    /// Of a mail of a broadcast.
    Personal(Arc<Personal>),
}

/// Bodies that belong to this email alone.
#[derive(Debug)]
pub(crate) struct Written {
    html: Option<Arc<str>>,
    text: Text,
}

#[derive(Debug)]
enum Text {
    Given(Option<Arc<str>>),
    /// Derived from the HTML, once it is read; for most emails as it stands.
    Derived(Option<Box<Derivation>>, OnceLock<Arc<str>>),
}

/// How a text is derived from its HTML.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub(super) struct Derivation {
    /// A link that no line break may divide.
    pub(super) link: Option<Box<str>>,
    /// What the text leaves out: the bytes of the hidden preview in the HTML.
    pub(super) hidden: Option<Range<usize>>,
}

impl Derivation {
    /// None if the text is derived from the HTML as it stands.
    fn into_box(self) -> Option<Box<Self>> {
        (self.link.is_some() || self.hidden.is_some()).then(|| Box::new(self))
    }

    fn derive(&self, html: &str) -> String {
        let mut html = html.to_owned();
        if let Some(hidden) = self.hidden.clone().filter(|hidden| html.get(hidden.clone()).is_some()) {
            html.replace_range(hidden, "");
        }
        match &self.link {
            Some(link) => derive(&html.replace(&**link, STAND_IN)).replace(STAND_IN, link),
            None => derive(&html),
        }
    }
}

impl Bodies {
    /// Bodies as they were given; the text is absent if the sender switched its derivation off.
    pub(crate) fn given(html: Option<Arc<str>>, text: Option<Arc<str>>) -> Self {
        Self::Written(Arc::new(Written { html, text: Text::Given(text) }))
    }

    /// HTML, and the text that is derived from it.
    pub(crate) fn of_html(html: Arc<str>) -> Self {
        Self::Written(Arc::new(Written { html: Some(html), text: Text::Derived(None, OnceLock::new()) }))
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

    /// How many bytes this email keeps for them. A text that is still to be derived is counted as large as its HTML.
    pub(crate) fn size(&self) -> usize {
        match self {
            Self::Written(written) => written.size(),
            Self::Personal(personal) => personal.size(),
        }
    }

    /// Whether the text has this word in lower case, whatever its own case. A text that was not read yet isn't derived for this: the search is
    /// in the HTML without its tags.
    pub(crate) fn has_word(&self, word: &str) -> bool {
        match self {
            Self::Written(written) => written.has_word(word),
            Self::Personal(personal) => personal.has_word(word),
        }
    }
}

/// Whether the beginning of a text has this word in lower case, whatever its own case.
pub(crate) fn has_word(text: &str, word: &str) -> bool {
    text[..text.floor_char_boundary(LOOKED_INTO)].to_lowercase().contains(word)
}

impl Written {
    pub(super) fn derived(html: Arc<str>, how: Derivation) -> Self {
        Self { html: Some(html), text: Text::Derived(Some(Box::new(how)), OnceLock::new()) }
    }

    fn text(&self) -> Option<Arc<str>> {
        let (how, made) = match &self.text {
            Text::Given(text) => return text.clone(),
            Text::Derived(how, made) => (how, made),
        };
        if let Some(text) = made.get() {
            return Some(Arc::clone(text));
        }
        let html = self.html.as_deref()?;
        let text: Arc<str> = how.as_deref().map_or_else(|| derive(html), |how| how.derive(html)).into();
        // No more is kept than was counted.
        if text.len() <= html.len() {
            return Some(Arc::clone(made.get_or_init(|| text)));
        }
        Some(text)
    }

    fn size(&self) -> usize {
        let html = self.html.as_ref().map_or(0, |html| html.len());
        match &self.text {
            Text::Given(text) => html + text.as_ref().map_or(0, |text| text.len()),
            Text::Derived(..) => 2 * html,
        }
    }

    fn has_word(&self, word: &str) -> bool {
        match &self.text {
            Text::Given(text) => text.as_ref().is_some_and(|text| has_word(text, word)),
            Text::Derived(_, made) => match made.get() {
                Some(text) => has_word(text, word),
                None => self.html.as_ref().is_some_and(|html| has_word(&html_to_text(html), word)),
            },
        }
    }
}

/// Bodies as they are stored. A text that was not derived yet is derived after it is read back.
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
            Text::Given(text) => (text.clone(), None),
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
            None => Text::Given(text),
        };
        Ok(Self::Written(Arc::new(Written { html, text })))
    }
}

impl From<(Option<Arc<str>>, Option<Arc<str>>)> for Written {
    fn from((html, text): (Option<Arc<str>>, Option<Arc<str>>)) -> Self {
        Self { html, text: Text::Given(text) }
    }
}
