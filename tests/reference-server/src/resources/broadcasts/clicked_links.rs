//! `GET /broadcasts/{id}/clicked-links`: the clicked links of a broadcast, the most clicked first.
//!
//! The specification doesn't define it; the shape is Resend's, where items have an opaque cursor as their `id`. Paging continues after the cursor's
//! link even if the order has changed.

use std::cmp::Reverse;
use std::collections::HashMap;

use serde_json::json;
use uuid::Uuid;

use crate::context::Context;
use crate::digest::uuid_of;
use crate::model::metric::Metric;
use crate::wire::{HandlerResult, IdForm, Mode, list};

/// `GET /broadcasts/{id}/clicked-links`, mode A.
pub fn index(context: &Context<'_>) -> HandlerResult {
    let broadcast = context.find(&context.tenant.broadcasts)?.id;
    let window = context.window_of(Mode::A, IdForm::Opaque)?;
    let mut counts = HashMap::<_, (u64, u64)>::new();
    for email in context.tenant.emails_of_broadcast(broadcast, Metric::Clicked) {
        for (url, clicks) in email.engagement().clicks {
            let (all, unique) = counts.entry(url).or_default();
            *all += clicks;
            *unique += 1;
        }
    }
    let mut links: Vec<_> = counts.into_iter().collect();
    links.sort_by(|(url, counts), (other, fewer)| (Reverse(counts), url).cmp(&(Reverse(fewer), other)));
    let page = window.slice(&links, |(url, _)| id(url))?;
    Ok(list(&page.map(|(url, (clicks, unique_clicks))| {
        json!({ "id": window.ids.format(id(&url)), "url": url, "clicks": clicks, "unique_clicks": unique_clicks })
    })))
}

/// The ID of a link, for cursors.
fn id(url: &str) -> Uuid {
    uuid_of(&[url.as_bytes()])
}
