//! Sends what the outbox holds. The mounts do this, and whoever drives a service without one may.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use http::HeaderMap;
use jiff::Timestamp;
use reqwest::redirect::Policy;
use tokio::time::{Instant, timeout_at};
use url::Url;

use super::outbox::Job;
use crate::delivery::fetch::is_loopback;
use crate::service::Service;

/// How much of an answer is kept, in bytes.
const SHOWN: usize = 4 << 10;

/// An attempt that is to be made: this body, with these headers, by POST to this address.
pub struct WebhookPost {
    /// Where to.
    pub url: String,
    /// All of them; the signature is among them.
    pub headers: HeaderMap,
    /// The bytes that are signed.
    pub body: Bytes,
    job: Job,
    sent_at: Timestamp,
}

/// What came of an attempt.
#[derive(Clone, Debug, Default)]
pub struct Posted {
    /// The status of the answer, if there was one in time.
    pub status: Option<u16>,
    /// The beginning of the answer's body, or why there was no answer.
    pub response: String,
}

impl WebhookPost {
    pub(super) fn new(url: String, headers: HeaderMap, job: Job, sent_at: Timestamp) -> Self {
        Self { url, headers, body: job.told.payload.clone(), job, sent_at }
    }

    pub(super) fn into_job(self) -> (Job, Timestamp) {
        (self.job, self.sent_at)
    }
}

impl std::fmt::Debug for WebhookPost {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WebhookPost")
            .field("url", &self.url)
            .field("body", &self.body)
            .finish_non_exhaustive()
    }
}

/// The connections of one service to the endpoints of its webhooks.
#[derive(Default)]
pub(crate) struct Couriers {
    near: OnceLock<reqwest::Client>,
    far: OnceLock<reqwest::Client>,
}

impl Couriers {
    pub(in crate::delivery) fn to(&self, url: &Url) -> Result<reqwest::Client, reqwest::Error> {
        // A redirect is an answer, and none of the 2xx: the secret speaks to the address that was registered.
        let builder = reqwest::Client::builder().redirect(Policy::none());
        // A proxy of the environment knows nothing of this machine's own addresses.
        let near = is_loopback(url);
        let (kept, builder) = if near { (&self.near, builder.no_proxy()) } else { (&self.far, builder) };
        if let Some(client) = kept.get() {
            return Ok(client.clone());
        }
        let client = builder.build()?;
        Ok(kept.get_or_init(|| client).clone())
    }
}

/// Makes every attempt that may be made now, each in a task of its own. One that ends makes room for others.
pub(crate) fn run_all(service: &Arc<Service>) {
    while let Some(post) = service.next_post() {
        let service = Arc::clone(service);
        tokio::spawn(async move {
            let posted = send(&service, &post).await;
            service.finish_post(post, posted);
            run_all(&service);
        });
    }
}

async fn send(service: &Service, post: &WebhookPost) -> Posted {
    let deadline = Instant::now() + service.settings().webhook_patience;
    let answer = async {
        let url = Url::parse(&post.url).map_err(|error| error.to_string())?;
        let client = service.couriers().to(&url).map_err(|error| reasons(&error))?;
        let request = client.post(url).headers(post.headers.clone()).body(post.body.clone());
        request.send().await.map_err(|error| reasons(&error))
    };
    let mut answer = match timeout_at(deadline, answer).await {
        Ok(Ok(answer)) => answer,
        Ok(Err(reason)) => return Posted { status: None, response: format!("no answer: {reason}") },
        Err(_) => {
            let patience = shown(service.settings().webhook_patience);
            return Posted { status: None, response: format!("no answer within {patience}") };
        }
    };
    // The status has decided; the body is for whoever looks, as far as it comes in time.
    let mut body = Vec::new();
    while body.len() < SHOWN {
        match timeout_at(deadline, answer.chunk()).await {
            Ok(Ok(Some(chunk))) => body.extend_from_slice(&chunk[..chunk.len().min(SHOWN - body.len())]),
            _ => break,
        }
    }
    Posted { status: Some(answer.status().as_u16()), response: String::from_utf8_lossy(&body).into_owned() }
}

fn shown(patience: Duration) -> String {
    format!("{} s", patience.as_secs_f64())
}

/// An error with what it came from; the address is known already.
fn reasons(error: &(dyn std::error::Error + 'static)) -> String {
    let mut reasons = Vec::new();
    let mut cause = error.source().or(Some(error));
    while let Some(error) = cause {
        reasons.push(error.to_string());
        cause = error.source();
    }
    reasons.join(": ")
}
