//! Letting a broadcast go: the question before it, and the wait after it.

use std::time::Duration;

use posthaste::{Broadcast, BroadcastId, BroadcastStatus, Client};

use super::look;
use crate::actions::confirm;
use crate::actions::wait::{self, End, Words};
use crate::context::Context;
use crate::diagnostics::Fail;

/// What can be waited for.
pub(super) const SENT: &str = "sent";

/// What is about to go out.
#[derive(Debug, Default)]
pub(super) struct Letter {
    pub(super) subject: String,
    pub(super) from: String,
    pub(super) segment: String,
    /// When, in the words that were given.
    pub(super) when: Option<String>,
}

/// Asks whether it may go.
pub(super) async fn confirm(letter: &Letter, context: &Context) -> Result<(), Fail> {
    let Letter { subject, from, segment, when } = letter;
    let when = when.as_ref().map(|when| format!(", {when}")).unwrap_or_default();
    let readers = if context.global.yes || !confirm::may_ask(context)? {
        "all contacts".to_owned()
    } else {
        count(&context.client()?, segment).await
    };
    let question = format!("send {subject:?} from {from} to {readers} of segment {segment}{when}?");
    confirm::confirm(&question, context).await
}

/// How many contacts a segment has, as far as one request tells.
async fn count(client: &Client, segment: &str) -> String {
    match client.segments().contacts(segment).page_size(100).await {
        Ok(page) if page.has_more => format!("more than {} contacts", page.data.len()),
        Ok(page) => match page.data.len() {
            0 => "no contact".to_owned(),
            1 => "1 contact".to_owned(),
            n => format!("{n} contacts"),
        },
        // It may be asked without the number.
        Err(_) => "all contacts".to_owned(),
    }
}

/// Waits until it has gone out.
pub(super) async fn wait(
    client: &Client,
    id: BroadcastId,
    timeout: Duration,
    context: &Context,
) -> Result<(), Fail> {
    let words = Words {
        left: "the broadcast goes its way".to_owned(),
        open: "the broadcast is not sent".to_owned(),
        goes_on: "it goes its way".to_owned(),
        failed: "the broadcast does not go out".to_owned(),
        look: look(id.as_str()),
    };
    wait::until(client.broadcasts().wait(id), timeout, &words, context, end).await.map(drop)
}

fn end(broadcast: &Broadcast) -> End {
    match &broadcast.status {
        Some(BroadcastStatus::Sent) => End::Good("sent".to_owned()),
        status => End::Bad(status.as_ref().map_or("unknown", BroadcastStatus::as_str).to_owned()),
    }
}
