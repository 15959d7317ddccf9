//! Posts webhook events.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::spawn_blocking;
use tokio::time::{Instant, timeout_at};
use url::Url;

use crate::delivery::webhooks::post::{Posted, WebhookPost};
use crate::service::Service;
use crate::state::http_clients::error_chain;

/// The maximum length of a recorded response, in bytes.
const MAX_RESPONSE: usize = 4 << 10;

/// Makes the attempts that may run now, each in its own task, which starts the next one when it ends.
pub fn run_all(service: &Arc<Service>) {
    if service.state().outbox.is_empty() {
        return;
    }
    let service = Arc::clone(service);
    // On a blocking thread, since recording an attempt may wait for the disk.
    spawn_blocking(move || {
        while let Some(post) = service.next_post() {
            let service = Arc::clone(&service);
            tokio::spawn(async move {
                let posted = send(&service, &post).await;
                let finished = Arc::clone(&service);
                // A panic was reported.
                let _ = spawn_blocking(move || finished.finish_post(post, posted)).await;
                run_all(&service);
            });
        }
    });
}

async fn send(service: &Service, post: &WebhookPost) -> Posted {
    let deadline = Instant::now() + service.settings().webhook_timeout;
    let response = async {
        let url = Url::parse(&post.url).map_err(|error| error.to_string())?;
        let clients = &service.state().http_clients;
        let networks = clients.networks();
        networks.check(&url).map_err(|reason| reason.to_string())?;
        let client = clients.client(networks).map_err(|error| error_chain(&error))?;
        let request = client.post(url).headers(post.headers.clone()).body(post.body.clone());
        request.send().await.map_err(|error| error_chain(&error))
    };
    let mut response = match timeout_at(deadline, response).await {
        Ok(Ok(response)) => response,
        Ok(Err(reason)) => return Posted { status: None, response: format!("no response: {reason}") },
        Err(_) => {
            let timeout = shown(service.settings().webhook_timeout);
            return Posted { status: None, response: format!("no response within {timeout}") };
        }
    };
    // The status decides; the body is informational, as much of it as arrives in time.
    let mut body = Vec::new();
    while body.len() < MAX_RESPONSE {
        match timeout_at(deadline, response.chunk()).await {
            Ok(Ok(Some(chunk))) => {
                body.extend_from_slice(&chunk[..chunk.len().min(MAX_RESPONSE - body.len())]);
            }
            _ => break,
        }
    }
    Posted { status: Some(response.status().as_u16()), response: String::from_utf8_lossy(&body).into_owned() }
}

fn shown(timeout: Duration) -> String {
    format!("{} s", timeout.as_secs_f64())
}
