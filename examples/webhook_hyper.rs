//! Receiving webhooks with hyper alone, during a rotation of the signing secret: both secrets are accepted.

use std::{
    collections::HashSet,
    convert::Infallible,
    sync::{Arc, Mutex, PoisonError},
};

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use idempost::{WebhookEventId, WebhookPayload, WebhookVerifier};
use tokio::net::TcpListener;

/// The maximum size of a body, so that no client can exhaust the memory.
const MOST: usize = 1024 * 1024;

struct Receiver {
    verifier: WebhookVerifier,
    /// In production, a table with a unique column, kept for two days: the service retries for 28 hours.
    seen: Mutex<HashSet<WebhookEventId>>,
    /// Queues an event for later processing; the response must not wait for it.
    queue: Box<dyn Fn(WebhookPayload) + Send + Sync>,
}

impl Receiver {
    async fn answer(&self, request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
        let (head, body) = request.into_parts();
        // The body as received: the signature covers bytes.
        let (status, why) = match Limited::new(body, MOST).collect().await {
            Err(error) => (StatusCode::PAYLOAD_TOO_LARGE, error.to_string()),
            Ok(body) => match self.verifier.verify(&head.headers, &body.to_bytes()) {
                Err(refusal) => (StatusCode::UNAUTHORIZED, refusal.to_string()),
                Ok(delivery) => {
                    let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
                    // Of a duplicate, the earlier response was lost: the event has been processed already.
                    if seen.insert(delivery.id.clone())
                        && let Ok(event) = delivery.event()
                    {
                        (self.queue)(event);
                    }
                    (StatusCode::NO_CONTENT, String::new())
                }
            },
        };
        let mut response = Response::new(Full::from(why));
        *response.status_mut() = status;
        Ok(response)
    }
}

async fn serve(listener: TcpListener, receiver: Receiver) -> std::io::Result<()> {
    let receiver = Arc::new(receiver);
    loop {
        let (stream, _) = listener.accept().await?;
        let receiver = Arc::clone(&receiver);
        tokio::spawn(async move {
            let answer = service_fn(|request| receiver.answer(request));
            // A client that disconnects is no error.
            let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), answer).await;
        });
    }
}

#[tokio::main]
#[expect(clippy::print_stdout, reason = "the events are the program's result")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut verifier = WebhookVerifier::new(std::env::var("WEBHOOK_SECRET")?)?;
    if let Ok(old) = std::env::var("WEBHOOK_SECRET_OLD") {
        verifier = verifier.or(old)?;
    }
    let queue = Box::new(|event: WebhookPayload| println!("{} {:?}", event.kind, event.created_at));
    let receiver = Receiver { verifier, seen: Mutex::default(), queue };
    Ok(serve(TcpListener::bind("127.0.0.1:3000").await?, receiver).await?)
}

#[cfg(test)]
mod tests {
    use idempost::{Client, EventType, NewContact, NewWebhook};
    use idempost_reference_server::{ReferenceServer, Settings};
    use tokio::sync::mpsc;

    use super::*;

    /// A receiver with these secrets, and its queue.
    fn receive(listener: TcpListener, verifier: WebhookVerifier) -> mpsc::UnboundedReceiver<WebhookPayload> {
        let (sender, queued) = mpsc::unbounded_channel();
        let queue = Box::new(move |event| drop(sender.send(event)));
        tokio::spawn(serve(listener, Receiver { verifier, seen: Mutex::default(), queue }));
        queued
    }

    #[tokio::test]
    async fn no_delivery_is_missed_during_a_secret_rotation() {
        // EVT-11
        let server = ReferenceServer::over_http(Settings::default()).await;
        let client = Client::new(&server.base_url(), &server.api_key()).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let endpoint = format!("http://{}/", listener.local_addr().unwrap());
        let webhook = NewWebhook::new(endpoint, [EventType::ContactCreated]);
        let made = client.webhooks().create(&webhook).await.unwrap();
        let mut queued = receive(listener, WebhookVerifier::new(&made.signing_secret).unwrap());

        let create = async |address: &str| {
            client.contacts().create(&NewContact::new(address)).await.unwrap();
        };
        create("ada@example.com").await;
        assert_eq!(queued.recv().await.unwrap().kind, EventType::ContactCreated);

        // The receiver knows only the old secret, and the service signs with both.
        let rotated = client.webhooks().rotate_secret(&made.id).await.unwrap();
        create("bob@example.com").await;
        assert_eq!(queued.recv().await.unwrap().raw()["data"]["email"], "bob@example.com");

        // A receiver that knows both secrets takes over in time.
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let endpoint = format!("http://{}/", listener.local_addr().unwrap());
        let both = WebhookVerifier::new(&rotated.signing_secret).unwrap().or(&made.signing_secret).unwrap();
        let mut queued = receive(listener, both);
        client.webhooks().update(&made.id, &idempost::WebhookPatch::new().endpoint(endpoint)).await.unwrap();
        create("eve@example.com").await;
        assert_eq!(queued.recv().await.unwrap().raw()["data"]["email"], "eve@example.com");
    }
}
