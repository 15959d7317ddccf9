//! `GET /broadcasts/{id}/clicked-links`: the clicked links of a broadcast, the most clicked first.
//!
//! The specification doesn't define it; the shape is Resend's, where items have an opaque cursor as their `id`. Paging continues after the cursor's
//! link even if the order has changed.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use serde::Serialize;
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use super::recipients::unknown_cursor;
use crate::context::Context;
use crate::model::email::Email;
use crate::model::metric::Metric;
use crate::store::ledger::Ordered;
use crate::wire::answers::HandlerResult;
use crate::wire::paging::{Mode, list, opaque_cursor};

/// `GET /broadcasts/{id}/clicked-links`, mode A.
pub fn index(context: &Context<'_>) -> HandlerResult {
    let broadcast = context.find(&context.tenant.broadcasts)?.id;
    let window = context.opaque_window(Mode::A)?;
    let clicked = context.tenant.emails_of_broadcast(broadcast, Metric::Clicked);
    let links = Links::from_emails(&clicked);
    window.check_cursor(|id| links.position(id).is_some()).map_err(|_| unknown_cursor())?;
    Ok(list(&window.show(&links)?.map(|link| Item {
        id: opaque_cursor(link.id),
        url: link.url,
        clicks: link.clicks,
        unique_clicks: link.unique_clicks,
    })))
}

#[derive(Clone)]
struct Link {
    id: Uuid,
    url: String,
    clicks: u64,
    /// The number of recipients who clicked it.
    unique_clicks: u64,
}

/// The links, the least clicked first.
struct Links(Vec<Link>);

impl Links {
    fn from_emails(emails: &[Arc<Email>]) -> Self {
        let mut counts = HashMap::<_, (u64, u64)>::new();
        for (url, clicks) in emails.iter().flat_map(|email| email.engagement().clicks) {
            let (all, unique) = counts.entry(url).or_default();
            *all += clicks;
            *unique += 1;
        }
        let links = counts.into_iter().map(|(url, (clicks, unique_clicks))| {
            let digest = Sha256::digest(&url);
            let id = Uuid::from_bytes(*digest.first_chunk().unwrap_or(&[0; 16]));
            Link { id, url, clicks, unique_clicks }
        });
        let mut links: Vec<_> = links.collect();
        links.sort_by(|one, other| {
            let counts = |link: &Link| (link.clicks, link.unique_clicks);
            counts(one).cmp(&counts(other)).then_with(|| other.url.cmp(&one.url))
        });
        Self(links)
    }

    fn part(&self, range: &Range<u64>) -> &[Link] {
        let at =
            |position| usize::try_from(position).map_or(self.0.len(), |position| position.min(self.0.len()));
        &self.0[at(range.start)..at(range.end)]
    }
}

impl Ordered for Links {
    type Item = Link;

    fn position(&self, id: Uuid) -> Option<u64> {
        self.0.iter().position(|link| link.id == id).map(|position| position as u64)
    }

    fn newest_first_of(&self, range: Range<u64>) -> impl Iterator<Item = &Link> {
        self.part(&range).iter().rev()
    }

    fn oldest_first_of(&self, range: Range<u64>) -> impl Iterator<Item = &Link> {
        self.part(&range).iter()
    }
}

#[derive(Serialize)]
struct Item {
    id: String,
    url: String,
    clicks: u64,
    unique_clicks: u64,
}
