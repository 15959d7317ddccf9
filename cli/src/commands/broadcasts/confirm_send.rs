//! Sending a broadcast: the confirmation before it and the wait after it.

use std::time::Duration;

use idempost::{
    BroadcastId, Client,
    broadcasts::{Broadcast, BroadcastStatus},
};

use super::show_command;
use crate::actions::confirm;
use crate::actions::wait::{self, End, Messages};
use crate::context::Context;
use crate::diagnostics::Fail;

/// The state to wait for.
pub(super) const SENT: &str = "sent";

/// The broadcast about to be sent.
#[derive(Debug, Default)]
pub(super) struct SendSummary {
    pub(super) subject: String,
    pub(super) from: String,
    pub(super) segment: String,
    /// The scheduled time, as given.
    pub(super) when: Option<String>,
}

/// Asks for confirmation.
pub(super) async fn confirm(summary: &SendSummary, context: &Context) -> Result<(), Fail> {
    let SendSummary { subject, from, segment, when } = summary;
    let when = when.as_ref().map(|when| format!(", {when}")).unwrap_or_default();
    let readers = if context.global.yes || !confirm::is_interactive(context)? {
        "all contacts".to_owned()
    } else {
        count(&context.client()?, segment).await
    };
    let question = format!("Send {subject:?} from {from} to {readers} of segment {segment}{when}?");
    confirm::confirm(&question, context).await
}

/// The number of contacts in a segment, as far as one request shows.
async fn count(client: &Client, segment: &str) -> String {
    match client.segments().contacts(segment).page_size(100).await {
        Ok(page) if page.has_more => format!("more than {} contacts", page.data.len()),
        Ok(page) => match page.data.len() {
            0 => "no contacts".to_owned(),
            1 => "1 contact".to_owned(),
            n => format!("{n} contacts"),
        },
        // The question works without the number.
        Err(_) => "all contacts".to_owned(),
    }
}

/// Waits until the broadcast is sent.
pub(super) async fn wait(
    client: &Client,
    id: BroadcastId,
    timeout: Duration,
    context: &Context,
) -> Result<(), Fail> {
    let words = Messages {
        interrupted: "sending continues in the background".to_owned(),
        timed_out: "the broadcast isn't sent".to_owned(),
        continues: "sending continues in the background".to_owned(),
        failed: "the broadcast failed".to_owned(),
        check: show_command(id.as_str()),
    };
    wait::until(client.broadcasts().wait(id), timeout, &words, context, end).await.map(drop)
}

fn end(broadcast: &Broadcast) -> End {
    match &broadcast.status {
        Some(BroadcastStatus::Sent) => End::Good("sent".to_owned()),
        status => End::Bad(status.as_ref().map_or("unknown", BroadcastStatus::as_str).to_owned()),
    }
}
