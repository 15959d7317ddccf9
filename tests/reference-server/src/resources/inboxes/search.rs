//! `GET /inboxes/{inbox}/threads/search`.
//!
//! The search is a scan without an index, bounded by `MAX_THREADS` and `MAX_EMAILS`: the most recently active threads of the selected
//! folders and labels. It takes a few records at a time from the tables, and examines them without a lock.

use std::sync::Arc;

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use uuid::Uuid;

use crate::clock::saturating_add;
use crate::context::Context;
use crate::model::inboxes::search::{MAX_QUERY, MAX_WORDS, Query, Search, fold};
use crate::model::inboxes::thread::Thread;
use crate::resources::inboxes::inbox;
use crate::resources::inboxes::input::values;
use crate::resources::inboxes::threads::selection;
use crate::wire::{BOOLEANS, Cursor, HandlerResult, Mode, Problem, Window, list, quote};

/// The maximum number of threads that a search examines.
const MAX_THREADS: usize = 1_000;
/// The maximum number of emails that a search examines.
const MAX_EMAILS: usize = 2_000;
/// The number of threads taken from the table together.
const STEP: usize = 100;
/// The maximum number of addresses in a filter.
const MAX_ADDRESSES: usize = 20;

/// A thread that matches, and its newest matching email, if emails were searched.
type Match = (Arc<Thread>, Option<Uuid>);

/// `GET /inboxes/{inbox}/threads/search`: 20 by default, as in mode A.
pub fn index(context: &Context<'_>) -> HandlerResult {
    let (inbox, window) = (inbox(context)?.id, context.window(Mode::A)?);
    let search = read(context)?;
    let page = window.slice(&matches(context, inbox, &search)?, |(thread, _)| thread.id)?;
    Ok(list(&page.map(|(thread, email)| {
        let mut item = context.tenant.inboxes.item(&thread);
        item["matched_email_id"] = email.map_or(Value::Null, |id| id.to_string().into());
        item
    })))
}

/// The matching threads, most recently active first.
fn matches(context: &Context<'_>, inbox: Uuid, search: &Search) -> Result<Vec<Match>, Problem> {
    let (groups, tables) = (selection(context, inbox)?, &context.tenant.inboxes);
    let (mut found, mut emails, mut threads) = (Vec::new(), 0, 0);
    let mut window = Window { limit: Some(STEP), ..Window::default() };
    loop {
        // A thread can move or disappear between two steps; then the scan ends.
        let Ok(step) = tables.threads.page_of(&window, groups.clone(), |_| true) else { return Ok(found) };
        for thread in &step.items {
            if threads >= MAX_THREADS || emails >= MAX_EMAILS {
                return Ok(found);
            }
            threads += 1;
            if search.is_empty() {
                found.push((Arc::clone(thread), None));
                continue;
            }
            let of_thread = tables.emails_of(thread.id);
            emails += of_thread.len();
            if let Some(email) = of_thread.iter().rev().find(|email| search.matches(email)) {
                found.push((Arc::clone(thread), Some(email.id)));
            }
        }
        match step.items.last() {
            Some(last) if step.has_more => window.cursor = Some(Cursor::After(last.id)),
            _ => return Ok(found),
        }
    }
}

fn read(context: &Context<'_>) -> Result<Search, Problem> {
    let text = context.query("query").unwrap_or_default();
    let query = Query::parse(&text);
    let (length, words) = (text.chars().count(), query.word_count());
    if length > MAX_QUERY || words > MAX_WORDS {
        return Err(Problem::validation(format!(
            "`query` must have at most {MAX_QUERY} characters and {MAX_WORDS} words; found {length} characters and {words} words."
        )));
    }
    let addresses = |name: &str| {
        let addresses = values(context, name).unwrap_or_default();
        if addresses.len() > MAX_ADDRESSES {
            let found = addresses.len();
            return Err(Problem::validation(format!(
                "`{name}` must have at most {MAX_ADDRESSES} values; found {found}."
            )));
        }
        Ok(addresses.iter().map(|text| fold(text)).collect::<Vec<_>>())
    };
    Ok(Search {
        query,
        from: addresses("from")?,
        to: addresses("to")?,
        cc: addresses("cc")?,
        bcc: addresses("bcc")?,
        has_attachment: context.one_of("has_attachment", &BOOLEANS)?,
        start: time(context, "start_date")?.map(|(from, _)| from),
        end: time(context, "end_date")?.map(|(_, to)| to),
    })
}

/// Reads a date, which covers the whole day in UTC, or a time: its start, and its end (exclusive).
fn time(context: &Context<'_>, name: &str) -> Result<Option<(Timestamp, Timestamp)>, Problem> {
    let Some(text) = context.query(name) else { return Ok(None) };
    if let Ok(time) = text.parse::<Timestamp>() {
        return Ok(Some((time, saturating_add(time, SignedDuration::from_nanos(1)))));
    }
    let day = text.parse::<Date>().ok().and_then(|day| day.to_zoned(TimeZone::UTC).ok());
    let day = day.ok_or_else(|| {
        let found = quote(&text);
        Problem::validation(format!(
            "`{name}` must be a date like `2026-09-01` or an ISO 8601 time with its offset; found {found}."
        ))
    })?;
    let start = day.timestamp();
    Ok(Some((start, saturating_add(start, SignedDuration::from_hours(24)))))
}
