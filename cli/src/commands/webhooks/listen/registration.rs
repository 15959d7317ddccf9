//! The listener's temporary webhook, which is always deleted on exit.

use std::collections::BTreeSet;
use std::time::Duration;

use idempost::{
    Client, Outcome, WebhookId,
    webhooks::{CreatedWebhook, EventType, NewWebhook},
};
use url::Url;
use uuid::Uuid;

use super::leftovers::{self, Mark};
use crate::context::Context;
use crate::diagnostics::{Fail, Kind};
use crate::input::flags::all_event_types;
use crate::output::write_stderr;
use crate::signals::Signals;

/// The timeout for the response to the creation after a signal.
const TIMEOUT: Duration = Duration::from_secs(10);
/// The timeout for deleting the webhook, including all retries.
const REMOVAL: Duration = Duration::from_secs(30);
/// Prefixes of event types that not every description of the service lists.
const DISPUTED: [&str; 3] = ["contact.topics.", "suppression.", "topic."];

/// The listener's webhook, deleted with it.
#[derive(Debug)]
pub(super) struct Registration {
    pub(super) id: WebhookId,
    pub(super) endpoint: String,
    pub(super) secret: idempost::types::SigningSecret,
    /// The random path of the endpoint, unique to this webhook.
    pub(super) path: String,
    /// Whether it is registered at a sandbox.
    pub(super) sandboxed: bool,
    client: Client,
    mark: Option<Mark>,
}

/// The default event types: for a sandbox, all; for the service, those that all its descriptions list.
pub(super) fn default_types(public: bool) -> BTreeSet<String> {
    let agreed = |kind: &&str| !public || !DISPUTED.iter().any(|disputed| kind.starts_with(disputed));
    all_event_types().filter(agreed).map(str::to_owned).collect()
}

impl Registration {
    /// Deletes the webhooks of killed listeners, and creates this one's. After a signal, nothing is left behind.
    pub(super) async fn create(
        context: &Context,
        public_url: Option<&Url>,
        here: &str,
        events: &BTreeSet<String>,
        signals: &mut Signals,
    ) -> Result<Self, Fail> {
        let client = context.client()?;
        let base = public_url.map_or(here, Url::as_str).trim_end_matches('/');
        let endpoint = format!("{base}/{}", Uuid::new_v4().simple());
        let path = Url::parse(&endpoint).map(|url| url.path().to_owned()).unwrap_or_default();
        tokio::select! {
            deleted = leftovers::delete(&client, context) => if let Err(error) = deleted {
                let why = crate::output::report::sdk_message(&error);
                context.out.warn(&format!("couldn't delete the webhook of a listener that was killed: {why}"));
            },
            signal = signals.next() => return Err(Fail::interrupted(signal)),
        }
        let mark = Mark::write(&endpoint, context);
        let webhook = NewWebhook::new(&endpoint, events.iter().cloned().map(EventType::from));
        let mut call = std::future::IntoFuture::into_future(client.webhooks().create(&webhook));
        let mut stopped = None;
        let made = tokio::select! {
            made = &mut call => Some(made),
            signal = signals.next() => {
                stopped = Some(signal);
                write_stderr("waiting up to 10 s for the service's response, so that no webhook is left behind\n");
                tokio::select! {
                    made = tokio::time::timeout(TIMEOUT, call) => made.ok(),
                    _ = signals.next() => None,
                }
            }
        };
        let unknown_outcome =
            format!("a webhook for {endpoint} may have been created; check: idempost webhooks list");
        let made = match made {
            Some(Ok(made)) => made,
            // The service rejected the request or never received it.
            Some(Err(error)) if matches!(error.outcome(), Outcome::Rejected | Outcome::NotSent) => {
                if let Some(mark) = mark {
                    mark.remove();
                }
                return Err(Fail::Sdk(error));
            }
            unsure => {
                let looked =
                    tokio::time::timeout(TIMEOUT, leftovers::delete_by_endpoint(&client, &endpoint)).await;
                let doubtful = !matches!(looked, Ok(Ok(_)));
                return Err(match (unsure, stopped) {
                    (_, Some(signal)) => {
                        if doubtful {
                            context.out.warn(&unknown_outcome);
                        }
                        Fail::interrupted(signal)
                    }
                    (Some(Err(error)), None) if doubtful => Fail::from_call(error, &unknown_outcome, false),
                    (Some(Err(error)), None) => Fail::unavailable(format!(
                        "couldn't create the webhook, and none was left behind: {error}"
                    ))
                    .hint("run it again"),
                    (_, None) => Fail::new(Kind::Unknown, unknown_outcome),
                });
            }
        };
        let sandboxed = public_url.is_none();
        let CreatedWebhook { id, signing_secret: secret, .. } = made;
        let registration = Self { id, endpoint, secret, path, sandboxed, client, mark };
        match stopped {
            None => Ok(registration),
            Some(signal) => {
                registration.remove(context, signals).await?;
                Err(Fail::interrupted(signal))
            }
        }
    }

    /// Deletes the webhook. Further signals print the status.
    pub(super) async fn remove(self, context: &Context, signals: &mut Signals) -> Result<(), Fail> {
        let removal = async {
            match self.client.webhooks().delete(&self.id).timeout(REMOVAL).await {
                Ok(_) => Ok(()),
                // Another process has already deleted it.
                Err(idempost::Error::Api(error)) if error.status == http::StatusCode::NOT_FOUND => Ok(()),
                Err(error) => Err(error),
            }
        };
        let mut removal = std::pin::pin!(removal);
        let removed = loop {
            tokio::select! {
                removed = &mut removal => break removed,
                _ = signals.next() => write_stderr("deleting the webhook, for up to 30 s\n"),
            }
        };
        if let Err(error) = removed {
            let advice = format!("idempost webhooks delete {}", self.id);
            context.out.warn(&format!("the webhook for {} may still exist: {advice}", self.endpoint));
            return Err(Fail::Sdk(error));
        }
        if let Some(mark) = self.mark {
            mark.remove();
        }
        Ok(())
    }
}
