//! The emails received since the cursor, oldest first, one page in memory at a time.
//!
//! The list is read from the last printed email toward newer ones, so that new emails don't shift pages. If the service no longer has that
//! email, the list is searched from the newest end, up to a printed email or one older than the last printed one. So no email is lost, and no
//! remembered email is printed twice.

use std::ops::ControlFlow;

use futures_util::TryStreamExt as _;
use idempost::Error;
use serde_json::Value;

use super::Watch;
use super::cursor::Cursor;
use crate::actions::trace;
use crate::diagnostics::Fail;
use crate::output::table::text_at;
use crate::output::time;

/// Prints everything after the cursor.
pub(super) async fn print_all(watch: &mut Watch<'_>, cursor: &mut Cursor) -> Result<(), Fail> {
    let Some(last) = cursor.last().map(|last| last.id.clone()) else {
        let oldest = oldest_after_cursor(watch, |_| ControlFlow::Continue(())).await?;
        if oldest.is_some() {
            cursor.check_account()?;
        }
        return from(oldest, watch, cursor).await;
    };
    match print_newer(&last, watch, cursor).await {
        Err(Fail::Sdk(error)) if is_unknown_cursor(&error) => {}
        walked => return walked,
    }
    let limit = cursor.last().and_then(|last| time::read(&last.created_at));
    let older = |row: &Value| match (limit, time::read(&text_at(row, "/created_at"))) {
        (Some(limit), Some(created_at)) => created_at < limit,
        // Without a time, an email is printed again rather than lost.
        _ => false,
    };
    let mut known = None;
    let boundary = oldest_after_cursor(watch, |row| {
        if cursor.contains(&text_at(row, "/id")) {
            known = Some(text_at(row, "/id"));
            return ControlFlow::Break(());
        }
        if older(row) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })
    .await?;
    if let Some(known) = known {
        return print_newer(&known, watch, cursor).await;
    }
    cursor.check_account()?;
    if boundary.is_some() {
        watch
            .context
            .out
            .warn("the service no longer lists the last printed emails; continuing by arrival time");
    }
    from(boundary, watch, cursor).await
}

/// Reads from the newest email toward older ones until the callback stops; returns the last email before that.
async fn oldest_after_cursor(
    watch: &Watch<'_>,
    mut goes_on: impl FnMut(&Value) -> ControlFlow<()>,
) -> Result<Option<Value>, Fail> {
    let list = watch.client.received().list().as_json();
    let mut telling = trace::Pages::begin(watch.context, &list);
    let (mut pages, mut reached) = (list.pages(), None);
    while let Some(page) = pages.try_next().await? {
        telling.page(page.data.len(), page.has_more);
        for row in page.data {
            if goes_on(&row).is_break() {
                return Ok(reached);
            }
            reached = Some(row);
        }
    }
    Ok(reached)
}

/// Prints this email and all newer ones.
async fn from(oldest: Option<Value>, watch: &mut Watch<'_>, cursor: &mut Cursor) -> Result<(), Fail> {
    let Some(oldest) = oldest else { return Ok(()) };
    if watch.print(&oldest, cursor).await?.is_break() {
        return Ok(());
    }
    print_newer(&text_at(&oldest, "/id"), watch, cursor).await
}

/// Prints all emails newer than this one.
async fn print_newer(id: &str, watch: &mut Watch<'_>, cursor: &mut Cursor) -> Result<(), Fail> {
    let list = watch.client.received().since(id).as_json();
    let mut telling = trace::Pages::begin(watch.context, &list);
    let mut pages = list.pages();
    while let Some(page) = pages.try_next().await? {
        telling.page(page.data.len(), page.has_more);
        for row in page.data.iter().rev() {
            if !cursor.contains(&text_at(row, "/id")) && watch.print(row, cursor).await?.is_break() {
                return Ok(());
            }
        }
        cursor.save()?;
    }
    Ok(())
}

/// The specification doesn't define the error for an unknown cursor; services use either.
fn is_unknown_cursor(error: &Error) -> bool {
    matches!(error, Error::Api(api) if matches!(api.status.as_u16(), 400 | 404 | 422))
}
