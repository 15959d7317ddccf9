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
    pub(super) fn finish(
        self,
        mut links: HashMap<Url, RequestedLink>,
        findings: &mut Findings,
    ) -> LinkReport {
        let mut report = LinkReport { total: self.list.len(), data: Vec::new() };
        let mut unsubscribing = 0;
        for Target { url, unsubscribes, spot } in self.list {
            let link = if unsubscribes {
                unsubscribing += 1;
                let reason = "not requested, since it may unsubscribe the recipient".to_owned();
                (unsubscribing <= MAX_REQUESTED)
                    .then(|| RequestedLink::failed(&url, LinkState::Skipped, reason))
            } else {
                links.remove(&url)
            };
            let Some(link) = link else { continue };
            if let (Some(rule), Some(reason)) = (link.state.rule(), &link.reason) {
                // Some reasons already contain a URL, possibly a redirect's.
                let has_url = reason.starts_with(url.as_str());
                findings.add(rule, || {
                    spot.with_excerpt(&if has_url { reason.clone() } else { format!("{reason}: {url}") })
                });
            }
            report.data.push(link);
        }
        report
    }
}

impl RequestedLink {
    /// Creates the result of a link's final response, after all redirects.
    pub(crate) fn from_response(url: &Url, status: StatusCode, location: &Url, is_insecure: bool) -> Self {
        let state = match status.as_u16() {
            401 | 403 | 407 | 429 | 451 | 999 => LinkState::Denied,
            400.. => LinkState::Broken,
            _ => LinkState::Ok,
        };
        let reason = match state {
            LinkState::Ok => is_insecure.then(|| "a redirect leads to an http: URL".to_owned()),
            _ => Some(format!("the status is {status}")),
        };
        let location = (location != url).then(|| location.to_string());
        Self { url: url.to_string(), state, status: Some(status.as_u16()), location, reason }
    }

    /// Creates the result of a link without a final response.
    pub(crate) fn failed(url: &Url, state: LinkState, reason: String) -> Self {
        Self { url: url.to_string(), state, status: None, location: None, reason: Some(reason) }
    }
}

impl LinkState {
    /// Returns the rule of findings about links with this state and a reason.
    fn rule(self) -> Option<&'static Rule> {
        match self {
            Self::Ok => Some(&rules::LINK_REDIRECT_INSECURE),
            Self::Broken => Some(&rules::LINK_BROKEN),
            Self::Denied => Some(&rules::LINK_DENIED),
            Self::Unreachable => Some(&rules::LINK_UNREACHABLE),
            Self::NotPublic => Some(&rules::LINK_NOT_PUBLIC),
            Self::Skipped => None,
        }
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
