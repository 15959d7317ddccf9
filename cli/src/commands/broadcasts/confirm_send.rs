//! Sending a broadcast: the confirmation before it and the wait after it.

use std::time::Duration;

use idempost::Client;
use idempost::broadcasts::{Broadcast, BroadcastStatus};
use serde_json::Value;

use crate::actions::confirm;
use crate::actions::wait::{self, End, Messages};
use crate::context::Context;
use crate::diagnostics::Fail;
use crate::output::format_count;

/// The state to wait for.
pub(super) const SENT: &str = "sent";

/// Asks for confirmation with a summary of the broadcast's JSON; `when` if the command sets the time.
pub(super) async fn confirm(broadcast: &Value, when: Option<&str>, context: &Context) -> Result<(), Fail> {
    let [subject, from, segment] =
        ["subject", "from", "segment_id"].map(|field| broadcast[field].as_str().unwrap_or_default());
    let when = when.or(broadcast["scheduled_at"].as_str());
    let when = when.map(|when| format!(", {when}")).unwrap_or_default();
    let readers = if context.global.yes {
        "all contacts".to_owned()
    } else {
        contacts(&context.client()?, segment).await
    };
    let question = format!("Send {subject:?} from {from} to {readers} of segment {segment}{when}?");
    confirm::confirm(&question, context).await
}

/// The number of contacts in a segment, or the minimum that one request shows.
async fn contacts(client: &Client, segment: &str) -> String {
    match client.segments().contacts(segment).page_size(100).await {
        Ok(page) if page.has_more => format!("more than {} contacts", page.data.len()),
        Ok(page) if page.data.is_empty() => "no contacts".to_owned(),
        Ok(page) => format_count(page.data.len() as u64, "contact"),
        // The question works without the number.
        Err(_) => "all contacts".to_owned(),
    }
}

/// With a timeout, waits until the broadcast is sent.
pub(super) async fn wait(timeout: Option<Duration>, response: &Value, context: &Context) -> Result<(), Fail> {
    let Some(timeout) = timeout else { return Ok(()) };
    let id = response["id"].as_str().unwrap_or_default();
    let words = Messages {
        timed_out: "the broadcast hasn't been sent".to_owned(),
        continues: "sending continues in the background".to_owned(),
        failed: "the broadcast failed".to_owned(),
        check: format!("idempost broadcasts get {id}"),
    };
    let end = |sent: &Broadcast| End::of(sent.status.as_ref().map(BroadcastStatus::as_str), SENT);
    let wait = context.client()?.broadcasts().wait(id);
    wait::poll_until_terminal(wait, timeout, &words, context, end).await.map(drop)
}
