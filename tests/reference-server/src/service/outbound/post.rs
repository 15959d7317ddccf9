//! Posts webhook events.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, timeout_at};
use url::Url;

use crate::delivery::webhooks::post::{Posted, WebhookPost};
use crate::service::Service;

/// The maximum length of a recorded response, in bytes.
const SHOWN: usize = 4 << 10;

/// Makes the attempts that may run now, each in a task of its own. A task that ends starts the next.
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
        let client = service.state().http_clients.to(&url).map_err(|error| reasons(&error))?;
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
    // The status decides; the body is informational, as far as it arrives in time.
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

/// An error with its causes, without the address, which the delivery has already.
fn reasons(error: &(dyn std::error::Error + 'static)) -> String {
    let mut reasons = Vec::new();
    let mut cause = error.source().or(Some(error));
    while let Some(error) = cause {
        reasons.push(error.to_string());
        cause = error.source();
    }
    reasons.join(": ")
}
