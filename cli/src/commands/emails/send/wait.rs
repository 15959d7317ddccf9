//! `--wait`: asks after an email until its fate is known or the time is over.

use std::time::{Duration, Instant};

use posthaste::{ApiErrorKind, Client, EmailId, Error, LastEvent};

use crate::context::Context;
use crate::fail::Fail;
use crate::unsettled::Unsettled;

/// What can be waited for.
pub(super) const DELIVERED: &str = "delivered";
/// The first pause between two questions; each is half as long again as the one before.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
/// No pause is longer.
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// How long to wait.
#[derive(Debug)]
pub(super) struct Wait {
    pub(super) timeout: Duration,
}

/// What an event says about the end of the wait.
#[derive(Debug, PartialEq, Eq)]
enum Fate {
    Delivered,
    Failed,
    Open,
}

fn fate(event: &LastEvent) -> Fate {
    match event.as_str() {
        "delivered" | "opened" | "clicked" | "complained" => Fate::Delivered,
        "bounced" | "failed" | "suppressed" | "canceled" => Fate::Failed,
        _ => Fate::Open,
    }
}

/// Waits until the email is delivered.
pub(super) async fn until_final(
    wait: &Wait,
    client: &Client,
    id: EmailId,
    context: &Context,
) -> Result<(), Fail> {
    let unsettled = Unsettled::new(context, "the email was accepted and goes its way".to_owned());
    let begun = Instant::now();
    let mut pause = FIRST_PAUSE;
    let mut known = String::new();
    let ended = loop {
        let event = match last_event(client, &id).await {
            Ok(event) => event,
            Err(error) if error.is_retryable() => None,
            Err(error) => break Err(error.into()),
        };
        if let Some(event) = event {
            event.as_str().clone_into(&mut known);
            match fate(&event) {
                Fate::Delivered => break Ok(()),
                Fate::Failed => {
                    break Err(Fail::Rejected {
                        message: format!("the email was accepted and then not delivered: {event}"),
                        hint: Some(format!("posthaste emails get {id}")),
                    });
                }
                Fate::Open => {}
            }
        }
        let left = wait.timeout.saturating_sub(begun.elapsed());
        if left.is_zero() {
            let state = if known.is_empty() {
                "its state is not known yet".to_owned()
            } else {
                format!("it is {known}")
            };
            break Err(Fail::Pending {
                message: format!("the email is not delivered after {} s: {state}", wait.timeout.as_secs()),
                hint: Some(format!("it goes its way; look again: posthaste emails get {id}")),
            });
        }
        tokio::time::sleep(pause.min(left)).await;
        pause = (pause * 3 / 2).min(LONGEST_PAUSE);
    };
    unsettled.settled();
    if ended.is_ok() {
        context.out.note(&format!("{known} after {} s", begun.elapsed().as_secs()));
    }
    ended
}

/// The newest event. A service that doesn't know how to tell of one email is asked for its list.
async fn last_event(client: &Client, id: &EmailId) -> posthaste::Result<Option<LastEvent>> {
    match client.emails().get(id).await {
        Ok(record) => Ok(record.summary.last_event),
        Err(Error::Api(error)) if error.kind() == ApiErrorKind::NotFound || error.status.as_u16() == 405 => {
            let page = client.emails().list().limit(100).await?;
            Ok(page.data.into_iter().find(|email| email.id == *id).and_then(|email| email.last_event))
        }
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_that_nobody_knows_yet_ends_no_wait() {
        let of = |event: &str| fate(&serde_json::from_value(event.into()).unwrap());
        assert_eq!(of("delivered"), Fate::Delivered);
        assert_eq!(of("opened"), Fate::Delivered);
        assert_eq!(of("bounced"), Fate::Failed);
        assert_eq!(of("delivery_delayed"), Fate::Open);
        assert_eq!(of("teleported"), Fate::Open);
    }
}
