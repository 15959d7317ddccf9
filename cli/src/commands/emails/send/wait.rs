//! `--wait`: waits until the email is delivered or has failed.

use std::cell::RefCell;
use std::time::Duration;

use idempost::{
    Client, EmailId,
    call::WithResponse,
    emails::{Accepted, LastEvent, SentEmail},
};

use crate::actions::mutation;
use crate::actions::wait::{self, End, Messages};
use crate::context::Context;
use crate::diagnostics::Fail;

/// The state to wait for.
pub(super) const DELIVERED: &str = "delivered";

fn terminal_state(email: &SentEmail) -> End {
    match &email.last_event {
        Some(event) if event.is_delivered() => End::Good(event.to_string()),
        event => End::Bad(event.as_ref().map_or("unknown", LastEvent::as_str).to_owned()),
    }
}

/// Waits until the email is delivered. Sets `seen` to its final state.
pub(super) async fn wait_until_final(
    timeout: Duration,
    client: &Client,
    id: &EmailId,
    seen: impl Fn(Option<String>),
    context: &Context,
) -> Result<(), Fail> {
    let words = Messages {
        timed_out: "the email hasn't been delivered".to_owned(),
        continues: "the email was accepted; delivery continues in the background".to_owned(),
        failed: "the email was accepted, but delivery failed".to_owned(),
        check: format!("idempost emails get {id}"),
    };
    let end = |email: &SentEmail| {
        seen(email.last_event.as_ref().map(ToString::to_string));
        terminal_state(email)
    };
    wait::poll_until_terminal(client.emails().wait(id), timeout, &words, context, end).await.map(drop)
}

/// Like [`wait_until_final`], and then prints the response with the final state, as one document.
pub(super) async fn wait_and_print(
    timeout: Duration,
    client: &Client,
    accepted: &WithResponse<Accepted>,
    context: &Context,
) -> Result<(), Fail> {
    let (id, last_event) = (&accepted.value.id, RefCell::new(None));
    let waited =
        wait_until_final(timeout, client, id, |state| drop(last_event.replace(state)), context).await;
    let mut document = mutation::document(accepted);
    document["last_event"] = last_event.take().into();
    mutation::report(context, || context.out.result(&[id.to_string()], &document))?;
    waited
}
