//! Receiving webhooks with axum: verify the bytes, respond immediately, process each event once. `WEBHOOK_SECRET` contains the signing secret.

use std::{collections::HashSet, future::IntoFuture as _, sync::Arc};

use axum::http::{HeaderMap, StatusCode};
use axum::{Router, body::Bytes, extract::State, routing::post};
use idempost::webhooks::{EventData, WebhookPayload, WebhookVerifier};
use tokio::{net::TcpListener, sync::Mutex, sync::mpsc};

struct Receiver {
    verifier: WebhookVerifier,
    /// In production, use a table with a unique column and keep its rows for two days: the service retries for 28 hours.
    seen: Mutex<HashSet<idempost::WebhookEventId>>,
    jobs: mpsc::Sender<WebhookPayload>,
}

/// `Bytes`, not `Json<…>`: the signature covers the body as received.
async fn hook(to: State<Arc<Receiver>>, headers: HeaderMap, body: Bytes) -> Result<StatusCode, StatusCode> {
    let delivery = to.verifier.verify(&headers, &body).map_err(|_| StatusCode::UNAUTHORIZED)?;
    let event = delivery.event().map_err(|_| StatusCode::BAD_REQUEST)?;
    let mut seen = to.seen.lock().await;
    // The response to an earlier attempt may have been lost.
    if !seen.contains(&delivery.id) {
        // The service waits 15 seconds, so the event is processed elsewhere. If the queue is full, the service retries later.
        to.jobs.try_send(event).map_err(|_| StatusCode::SERVICE_UNAVAILABLE)?;
        seen.insert(delivery.id);
    }
    Ok(StatusCode::NO_CONTENT)
}

fn app(verifier: WebhookVerifier) -> (Router, mpsc::Receiver<WebhookPayload>) {
    let (jobs, todo) = mpsc::channel(1_000);
    let receiver = Receiver { verifier, seen: Mutex::default(), jobs };
    (Router::new().route("/hooks", post(hook)).with_state(Arc::new(receiver)), todo)
}

#[tokio::main]
#[expect(clippy::print_stdout, reason = "what it does about bounces is the program's result")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (app, mut todo) = app(WebhookVerifier::new(std::env::var("WEBHOOK_SECRET")?)?);
    let listener = TcpListener::bind("127.0.0.1:3000").await?;
    tokio::spawn(axum::serve(listener, app).into_future());
    while let Some(event) = todo.recv().await {
        if let EventData::EmailBounced(bounced) = &event.data {
            println!("write no more to {}", bounced.to.join(", "));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::time::{SystemTime, UNIX_EPOCH};

    use idempost::{
        Client, Email,
        webhooks::{EventType, NewWebhook},
    };
    use idempost_reference_server::{ReferenceServer, Settings};

    use super::*;

    #[tokio::test]
    async fn events_of_an_email_are_delivered() {
        // EVT-11
        let server = ReferenceServer::start_http(Settings::default()).await;
        let client = Client::new(&server.base_url(), &server.api_key()).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let endpoint = format!("http://{}/hooks", listener.local_addr().unwrap());
        let webhook = NewWebhook::new(endpoint, [EventType::EmailDelivered, EventType::EmailBounced]);
        let made = client.webhooks().create(&webhook).await.unwrap();
        let (app, mut todo) = app(WebhookVerifier::new(&made.signing_secret).unwrap());
        tokio::spawn(async move { axum::serve(listener, app).await });

        let send = async |to: &str| {
            let email = Email::new("Acme <hi@acme.test>", to, "Hello").text("It works");
            client.emails().send(&email).await.unwrap().id
        };
        let id = send("ada@example.com").await;
        let event = todo.recv().await.unwrap();
        assert!(matches!(event.data, EventData::EmailDelivered(email) if email.email_id == id));
        send("bounced@example.com").await;
        let event = todo.recv().await.unwrap();
        assert!(matches!(event.data, EventData::EmailBounced(email) if email.to == ["bounced@example.com"]));
    }

    #[tokio::test]
    async fn a_delivery_is_verified_and_processed_once() {
        // EVT-11
        let verifier = WebhookVerifier::new("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
        let (jobs, mut todo) = mpsc::channel(1);
        let receiver = Arc::new(Receiver { verifier: verifier.clone(), seen: Mutex::default(), jobs });
        let body = Bytes::from_static(br#"{"type":"email.opened","data":{"email_id":"1"}}"#);
        let deliver = async |id: &str, signature: Option<String>| {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
            let signature = signature.unwrap_or_else(|| verifier.sign(id, now, &body));
            let mut headers = HeaderMap::new();
            headers.insert("svix-id", id.parse().unwrap());
            headers.insert("svix-timestamp", now.into());
            headers.insert("svix-signature", signature.parse().unwrap());
            hook(State(Arc::clone(&receiver)), headers, body.clone()).await
        };
        assert_eq!(deliver("msg_1", Some("v1,wrong".into())).await, Err(StatusCode::UNAUTHORIZED));
        assert_eq!(deliver("msg_1", None).await, Ok(StatusCode::NO_CONTENT));
        assert_eq!(deliver("msg_2", None).await, Err(StatusCode::SERVICE_UNAVAILABLE), "the queue is full");
        assert_eq!(deliver("msg_1", None).await, Ok(StatusCode::NO_CONTENT), "it is a duplicate");
        assert_eq!(todo.recv().await.unwrap().kind.as_str(), "email.opened");
        assert!(todo.try_recv().is_err());
        assert_eq!(deliver("msg_2", None).await, Ok(StatusCode::NO_CONTENT), "the service retries");
        assert!(todo.try_recv().is_ok());
    }
}
