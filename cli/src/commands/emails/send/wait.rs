//! `--wait`: waits until the email is delivered or has failed.

use std::time::Duration;

use idempost::{
    Client, EmailId,
    emails::{LastEvent, SentEmail},
};

use crate::actions::wait::{self, End, Messages};
use crate::context::Context;
use crate::diagnostics::Fail;

/// The state to wait for.
pub(super) const DELIVERED: &str = "delivered";

fn end(email: &SentEmail) -> End {
    match &email.last_event {
        Some(event) if event.is_delivered() => End::Good(event.to_string()),
        event => End::Bad(event.as_ref().map_or("unknown", LastEvent::as_str).to_owned()),
    }
}

/// Waits until the email is delivered.
pub(super) async fn until_final(
    timeout: Duration,
    client: &Client,
    id: EmailId,
    context: &Context,
) -> Result<(), Fail> {
    let words = Messages {
        interrupted: "the email was accepted; delivery continues in the background".to_owned(),
        timed_out: "the email isn't delivered".to_owned(),
        continues: "delivery continues in the background".to_owned(),
        failed: "the email was accepted, but delivery failed".to_owned(),
        check: format!("idempost emails get {id}"),
    };
    wait::until(client.emails().wait(id), timeout, &words, context, end).await.map(drop)
}
