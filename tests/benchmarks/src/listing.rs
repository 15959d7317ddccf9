//! A list of sent emails that is generated on request, and the cost of decoding it with serde alone.

use std::fmt::Write as _;

use serde::Deserialize;

/// The page size.
pub const PAGE: u64 = 100;

/// The page after item `number` of a list of `items`. The newest item has the number 0.
pub fn page(first: u64, items: u64) -> String {
    let last = items.min(first + PAGE);
    let mut page = String::from(r#"{"object":"list","data":["#);
    for number in first..last {
        if number > first {
            page.push(',');
        }
        // Writing to a string does not fail.
        let _ = write!(
            page,
            r#"{{"id":"{id}","message_id":"<{id}@acme.test>","to":["ada.{number}@example.com"],"from":"Acme <hi@acme.test>","created_at":"2026-11-22 15:28:00.000000+00","subject":"Your order no. {number} is on its way","bcc":null,"cc":null,"reply_to":["help@acme.test"],"last_event":"delivered","scheduled_at":null}}"#,
            id = id(number),
        );
    }
    let _ = write!(page, r#"],"has_more":{}}}"#, last < items);
    page
}

fn id(number: u64) -> String {
    format!("49a3999c-0ce1-4ea6-ab68-{number:012x}")
}

/// The page for a path with its query: `/ITEMS/emails?limit=100&after=ID`.
pub fn answer(path: &str, query: &str) -> Option<String> {
    let items = path.strip_prefix('/')?.strip_suffix("/emails")?.parse().ok()?;
    let after = query.split('&').find_map(|pair| pair.strip_prefix("after="));
    let first = match after {
        Some(id) => u64::from_str_radix(id.rsplit('-').next()?, 16).ok()? + 1,
        None => 0,
    };
    Some(page(first, items))
}

/// A minimal page type, as an application without the SDK would write it.
#[derive(Deserialize)]
struct Page {
    data: Vec<Email>,
    has_more: bool,
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "what is decoded counts, not what is done with it")]
struct Email {
    id: String,
    message_id: Option<String>,
    to: Vec<String>,
    from: String,
    created_at: String,
    subject: String,
    bcc: Option<Vec<String>>,
    cc: Option<Vec<String>>,
    reply_to: Option<Vec<String>>,
    last_event: Option<String>,
    scheduled_at: Option<String>,
}

/// Decodes a page; returns the number of items, and whether more follow.
///
/// # Errors
/// The bytes are not a page.
pub fn decode(page: &[u8]) -> serde_json::Result<(usize, bool)> {
    let page: Page = serde_json::from_slice(page)?;
    Ok((page.data.len(), page.has_more))
}
