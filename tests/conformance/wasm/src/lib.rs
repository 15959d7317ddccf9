//! How an application for Node.js uses the library.
#![cfg(target_family = "wasm")]

use std::time::Duration;

use futures_util::{TryStreamExt as _, stream};
use idempost::{Attachment, Client, Email, http::HeaderMap, webhooks::WebhookVerifier};
use wasm_bindgen::{JsError, prelude::wasm_bindgen};

#[wasm_bindgen]
pub struct Mail(Client);

#[wasm_bindgen]
impl Mail {
    #[wasm_bindgen(constructor)]
    pub fn new(base_url: &str, timeout: u32) -> Result<Self, JsError> {
        let timeout = Duration::from_millis(timeout.into());
        Ok(Self(Client::builder().base_url(base_url).api_key("re_wasm").timeout(timeout).build()?))
    }

    /// Sends an email with an attachment, and returns its ID.
    pub async fn send(&self, subject: &str, key: Option<String>) -> Result<String, JsError> {
        let open = || stream::iter([Ok("kilo".into()), Ok("bytes".into())]);
        let email = Email::new("hi@acme.test", "ada@example.com", subject)
            .text("From WebAssembly")
            .attach(Attachment::from_stream("report.txt", 9, open));
        let call = self.0.emails().send(&email);
        let call = key.into_iter().fold(call, |call, key| call.idempotency_key(key));
        match call.await {
            Ok(accepted) => Ok(accepted.id.to_string()),
            Err(error) => Err(JsError::new(&format!("{:?}: {error}", error.outcome()))),
        }
    }

    /// Returns the subjects of all emails, from pages of two.
    pub async fn subjects(&self) -> Result<Vec<String>, JsError> {
        let emails = self.0.emails().list().page_size(2).stream();
        Ok(emails.map_ok(|email| email.subject.to_string()).try_collect().await?)
    }
}

/// Returns the ID of a webhook request, if it is signed now.
#[wasm_bindgen]
pub fn verify(
    secret: &str,
    id: &str,
    timestamp: &str,
    signature: &str,
    body: &str,
) -> Result<String, JsError> {
    let mut headers = HeaderMap::new();
    for (name, value) in [("svix-id", id), ("svix-timestamp", timestamp), ("svix-signature", signature)] {
        headers.insert(name, value.parse()?);
    }
    Ok(WebhookVerifier::new(secret)?.verify(&headers, body.as_bytes())?.id.to_string())
}
