//! The links of a mail that may be requested, and the findings about requested links.
//!
//! A link that may unsubscribe the recipient is never requested, even if only the surrounding paragraph says so: the request couldn't be undone,
//! while wrongly skipping a link costs only a finding.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use aho_corasick::AhoCorasick;
use http::StatusCode;
use serde::Serialize;
use url::Url;

use super::findings::{Findings, Spot};
use super::rules::{self, Rule};
use idempost_reference_server::wire::described;

/// The maximum number of links to request.
const MAX_REQUESTED: usize = 100;
/// The maximum number of links to count, which limits the memory used for hostile mails.
const MAX_COUNTED: usize = 10_000;

/// The path of the sandbox's own links.
pub(super) const OWN_PATH: &str = "/_/unsubscribe/";

/// Parts of words in unsubscribe links, in the most common languages, in lower case. A false match only omits a request.
const UNSUBSCRIBING: &str = "unsub, opt-out, opt_out, optout, opt out, stop receiving, abmeld, abbestell, désabonn, \
    desabonn, désinscri, desinscri, de baja, desuscri, cancelar suscrip, cancelar la suscrip, \
    cancelar inscri, cancelar a inscri, cancelar subscri, descadastr, disiscri, annulla iscri, \
    annulla l'iscri, afmeld, uitschrijv, avregistrera, avprenumerera, wypisz, odhlás, leiratkoz, \
    отпис, 配信停止, 登録解除, 退订, 取消订阅, 수신거부";

/// Returns whether a text or URL seems to be about unsubscribing.
pub(super) fn mentions_unsubscribe(text: &str) -> bool {
    static WORDS: LazyLock<Option<AhoCorasick>> =
        LazyLock::new(|| AhoCorasick::new(UNSUBSCRIBING.split(", ")).ok());
    // Without the word list, no link is requested.
    WORDS.as_ref().is_none_or(|words| words.is_match(&text.to_lowercase()))
}

/// The outcome of requesting a link.
#[derive(Clone, Debug)]
pub(crate) enum Outcome {
    Response {
        status: StatusCode,
        /// The URL after all redirects.
        location: Url,
        /// Whether a redirect led to an `http:` URL.
        is_insecure: bool,
    },
    /// There is no final response: the link's state, and why.
    Failed(LinkState, String),
}

described! {
    /// A mail's links and the results of requesting them.
    #[derive(Debug)]
    pub struct LinkReport {
        /// The number of distinct links, at most 10,000. Only the first 100 are requested.
        pub total: usize,
        /// The requested links, followed by the first ones skipped because they may unsubscribe the recipient.
        pub data: Vec<RequestedLink>,
    }

    /// A link and the result of its request.
    #[derive(Debug)]
    pub struct RequestedLink {
        /// The URL without its fragment.
        pub url: String,
        /// The result of the request.
        pub state: LinkState,
        /// The status of the last response.
        pub status: Option<u16>,
        /// The URL after all redirects, if any.
        pub location: Option<String>,
        /// Why the state isn't `ok`.
        pub reason: Option<String>,
    }

    /// The result of a link's request.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
    #[serde(rename_all = "snake_case")]
    pub enum LinkState {
        /// The status is below 400.
        Ok,
        /// An error status, an invalid redirect, or too many.
        Broken,
        /// The server rejects this client.
        Denied,
        /// The server can't be reached.
        Unreachable,
        /// The URL, or a redirect's, isn't public.
        NotPublic,
        /// The link wasn't requested; there is no finding about it.
        Skipped,
    }
}

#[derive(Clone)]
struct Target {
    url: Url,
    unsubscribes: bool,
    /// The link's first position.
    spot: Spot,
}

/// The distinct links of a mail.
#[derive(Clone, Default)]
pub(super) struct Targets {
    list: Vec<Target>,
    indices: HashMap<String, usize>,
    /// The URLs of `List-Unsubscribe`.
    header: HashSet<String>,
    /// The links in the current block of text.
    block: Vec<usize>,
    /// Whether the block's text outside its links is about unsubscribing: a link's own text may just be `here`.
    block_unsubscribes: bool,
}

impl Targets {
    pub(super) fn new(header: impl Iterator<Item = Url>) -> Self {
        Self { header: header.map(strip_fragment).map(String::from).collect(), ..Self::default() }
    }

    /// Adds a link, or counts another occurrence of it.
    pub(super) fn add(&mut self, url: Url, unsubscribes: bool, spot: impl FnOnce() -> Spot) {
        let url = strip_fragment(url);
        let index = match self.indices.get(url.as_str()) {
            Some(index) => *index,
            None if self.list.len() == MAX_COUNTED => return,
            None => {
                let index = self.list.len();
                self.indices.insert(url.as_str().to_owned(), index);
                let is_known = self.header.contains(url.as_str()) || url.path().starts_with(OWN_PATH);
                self.list.push(Target { url, unsubscribes: is_known, spot: spot() });
                index
            }
        };
        self.list[index].unsubscribes |= unsubscribes;
        self.block.push(index);
    }

    /// Examines text outside of links.
    pub(super) fn text(&mut self, text: &str) {
        self.block_unsubscribes = self.block_unsubscribes || mentions_unsubscribe(text);
    }

    /// Ends a block of text.
    pub(super) fn end_block(&mut self) {
        let unsubscribes = std::mem::take(&mut self.block_unsubscribes);
        for index in self.block.drain(..) {
            self.list[index].unsubscribes |= unsubscribes;
        }
    }

    /// Returns the links to request.
    pub(super) fn urls(&self) -> Vec<Url> {
        let requested = self.list.iter().filter(|target| !target.unsubscribes);
        requested.take(MAX_REQUESTED).map(|target| target.url.clone()).collect()
    }

    /// Adds the findings about requested links.
    pub(super) fn finish(self, mut outcomes: HashMap<Url, Outcome>, findings: &mut Findings) -> LinkReport {
        let mut report = LinkReport { total: self.list.len(), data: Vec::new() };
        let mut unsubscribing = 0;
        for Target { url, unsubscribes, spot } in self.list {
            let outcome = if unsubscribes {
                unsubscribing += 1;
                let reason = "not requested, since it may unsubscribe the recipient".to_owned();
                (unsubscribing <= MAX_REQUESTED).then_some(Outcome::Failed(LinkState::Skipped, reason))
            } else {
                outcomes.remove(&url)
            };
            let Some(outcome) = outcome else { continue };
            if let Some((rule, reason)) = outcome.finding() {
                // Some reasons already contain a URL, possibly a redirect's.
                let has_url = reason.starts_with(url.as_str());
                findings.add(rule, || {
                    spot.with_excerpt(&if has_url { reason } else { format!("{reason}: {url}") })
                });
            }
            report.data.push(outcome.into_link(url));
        }
        report
    }
}

impl Outcome {
    fn state(&self) -> LinkState {
        match self {
            Self::Response { status, .. } => match status.as_u16() {
                401 | 403 | 407 | 429 | 451 | 999 => LinkState::Denied,
                400.. => LinkState::Broken,
                _ => LinkState::Ok,
            },
            Self::Failed(state, _) => *state,
        }
    }

    /// Returns the reason for a finding about the link, if there is one.
    fn reason(&self) -> Option<String> {
        match self {
            Self::Response { status, .. } if status.as_u16() >= 400 => {
                Some(format!("the status is {status}"))
            }
            Self::Response { is_insecure, .. } => {
                is_insecure.then(|| "a redirect leads to an http: URL".to_owned())
            }
            Self::Failed(_, reason) => Some(reason.clone()),
        }
    }

    fn finding(&self) -> Option<(&'static Rule, String)> {
        let rule = match self.state() {
            LinkState::Ok => &rules::LINK_REDIRECT_INSECURE,
            LinkState::Broken => &rules::LINK_BROKEN,
            LinkState::Denied => &rules::LINK_DENIED,
            LinkState::Unreachable => &rules::LINK_UNREACHABLE,
            LinkState::NotPublic => &rules::LINK_NOT_PUBLIC,
            LinkState::Skipped => return None,
        };
        Some((rule, self.reason()?))
    }

    fn into_link(self, url: Url) -> RequestedLink {
        let (state, reason) = (self.state(), self.reason());
        let (status, location) = match self {
            Self::Response { status, location, .. } => {
                (Some(status.as_u16()), (location != url).then(|| location.into()))
            }
            Self::Failed(..) => (None, None),
        };
        RequestedLink { url: url.into(), state, status, location, reason }
    }
}

fn strip_fragment(mut url: Url) -> Url {
    url.set_fragment(None);
    url
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unsubscribing_is_recognized_in_the_languages_of_mails() {
        for text in [
            "Unsubscribe",
            "https://acme.com/unsub?u=1",
            "OPT OUT",
            "Newsletter abbestellen",
            "Se désabonner",
            "DÉSINSCRIPTION",
            "Darse de baja",
            "Annulla l'iscrizione",
            "Uitschrijven",
            "Отписаться",
            "配信停止はこちら",
            "退订",
        ] {
            assert!(mentions_unsubscribe(text), "{text}");
        }
        for text in
            ["Verify your email", "Subscribe", "https://acme.com/sub", "Jetzt anmelden", "Option", "Bajar"]
        {
            assert!(!mentions_unsubscribe(text), "{text}");
        }
    }
}
