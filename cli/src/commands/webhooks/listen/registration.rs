//! The webhook that a listener makes for itself, and always deletes again.

use std::collections::BTreeSet;
use std::time::Duration;

use futures_util::TryStreamExt as _;
use posthaste::{Client, CreatedWebhook, EventType, NewWebhook, Outcome, WebhookId};
use url::Url;
use uuid::Uuid;

use crate::context::Context;
use crate::diagnostics::Fail;
use crate::input::flags::all_event_types;
use crate::output::write_stderr;
use crate::signals::Signals;

/// How long the answer to its making is waited for once a signal has come.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long its deletion may take, with all attempts.
const REMOVAL: Duration = Duration::from_secs(30);
/// The kinds of types that not every description of the service has.
const DISPUTED: [&str; 3] = ["contact.topics.", "suppression.", "topic."];

/// A webhook that is there as long as the listener.
#[derive(Debug)]
pub(super) struct Registration {
    pub(super) id: WebhookId,
    pub(super) endpoint: String,
    pub(super) secret: posthaste::types::SigningSecret,
    /// The path of the endpoint: one that nobody guesses, and that no other webhook has.
    pub(super) path: String,
    /// It is one of a sandbox.
    pub(super) sandboxed: bool,
    client: Client,
}

/// The types that are told when none were named: all of them by a sandbox, and of the service those on which its descriptions agree.
pub(super) fn usual(public: bool) -> BTreeSet<String> {
    let agreed = |kind: &&str| !public || !DISPUTED.iter().any(|disputed| kind.starts_with(disputed));
    all_event_types().filter(agreed).map(str::to_owned).collect()
}

impl Registration {
    /// Makes it. A signal that comes meanwhile leaves nothing behind.
    pub(super) async fn make(
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
        let webhook = NewWebhook::new(&endpoint, events.iter().cloned().map(EventType::from));
        let mut call = std::future::IntoFuture::into_future(client.webhooks().create(&webhook));
        let mut stopped = None;
        let made = tokio::select! {
            made = &mut call => Some(made),
            signal = signals.next() => {
                stopped = Some(signal);
                write_stderr("waiting for the service's answer, at most 10 s, so that no webhook stays behind\n");
                tokio::select! {
                    made = tokio::time::timeout(PATIENCE, call) => made.ok(),
                    _ = signals.next() => None,
                }
            }
        };
        let doubt = format!("a webhook to {endpoint} may have been made; look: posthaste webhooks list");
        let made = match made {
            Some(Ok(made)) => made,
            // The service said no, or never heard of it.
            Some(Err(error)) if matches!(error.outcome(), Outcome::Rejected | Outcome::NotSent) => {
                return Err(Fail::Sdk(error));
            }
            unsure => {
                let looked = tokio::time::timeout(PATIENCE, remove_by_endpoint(&client, &endpoint)).await;
                let doubtful = !matches!(looked, Ok(Ok(())));
                return Err(match (unsure, stopped) {
                    (_, Some(signal)) => {
                        if doubtful {
                            context.out.warn(&doubt);
                        }
                        Fail::Interrupted(signal)
                    }
                    (Some(Err(error)), None) if doubtful => Fail::of_call(error, &doubt),
                    (Some(Err(error)), None) => Fail::Unavailable {
                        message: format!("the webhook could not be made, and none stays behind: {error}"),
                        hint: Some("run it again".to_owned()),
                    },
                    (_, None) => Fail::Unavailable { message: doubt, hint: None },
                });
            }
        };
        let sandboxed = public_url.is_none();
        let CreatedWebhook { id, signing_secret: secret, .. } = made;
        let registration = Self { id, endpoint, secret, path, sandboxed, client };
        match stopped {
            None => Ok(registration),
            Some(signal) => {
                registration.remove(context, signals).await?;
                Err(Fail::Interrupted(signal))
            }
        }
    }

    /// Deletes it. Who asks the program to stop once more is told what is going on, and waits, too.
    pub(super) async fn remove(self, context: &Context, signals: &mut Signals) -> Result<(), Fail> {
        let removal = async {
            match self.client.webhooks().delete(&self.id).timeout(REMOVAL).await {
                Ok(_) => Ok(()),
                // Somebody else was faster.
                Err(posthaste::Error::Api(error)) if error.status == http::StatusCode::NOT_FOUND => Ok(()),
                Err(error) => Err(error),
            }
        };
        let mut removal = std::pin::pin!(removal);
        let removed = loop {
            tokio::select! {
                removed = &mut removal => break removed,
                _ = signals.next() => write_stderr("deleting the webhook, at most 30 s\n"),
            }
        };
        removed.map_err(|error| {
            let advice = format!("posthaste webhooks delete {}", self.id);
            context.out.warn(&format!("the webhook to {} may still be there: {advice}", self.endpoint));
            Fail::Sdk(error)
        })
    }
}

/// Deletes the webhook with this endpoint, if there is one. No other has it: its path is random.
async fn remove_by_endpoint(client: &Client, endpoint: &str) -> posthaste::Result<()> {
    let mut webhooks = client.webhooks().list().stream();
    while let Some(webhook) = webhooks.try_next().await? {
        if webhook.endpoint == endpoint {
            client.webhooks().delete(&webhook.id).await?;
        }
    }
    Ok(())
}
