//! Signatures of deliveries: Standard Webhooks, HMAC-SHA256.
//!
//! The signed content is `<id>.<timestamp>.<body>`; the key is the Base64 text after `whsec_`. While two secrets are valid, both sign.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderMap, HeaderValue, header};
use jiff::Timestamp;

use crate::digest::hmac_sha256;
use crate::model::webhook_delivery::WebhookDelivery;

/// The prefix of a secret.
pub const PREFIX: &str = "whsec_";

/// The headers of one attempt.
///
/// The signed timestamp is the system's, not the service clock's: the receiver compares it with its own.
pub(super) fn headers(delivery: &WebhookDelivery, secrets: &[&str]) -> HeaderMap {
    let (id, timestamp) = (delivery.message_id(), Timestamp::now().as_second().to_string());
    let signatures: Vec<_> =
        secrets.iter().map(|secret| signature(secret, &id, &timestamp, &delivery.payload)).collect();
    let mut headers = HeaderMap::new();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(header::USER_AGENT, HeaderValue::from_static("idempost-sandbox-webhooks"));
    for (name, value) in
        [("svix-id", id), ("svix-timestamp", timestamp), ("svix-signature", signatures.join(" "))]
    {
        if let Ok(value) = HeaderValue::try_from(value) {
            headers.insert(name, value);
        }
    }
    headers
}

fn signature(secret: &str, id: &str, timestamp: &str, body: &[u8]) -> String {
    let key = STANDARD.decode(secret.trim_start_matches(PREFIX)).unwrap_or_default();
    let signature = hmac_sha256(&key, &[id.as_bytes(), b".", timestamp.as_bytes(), b".", body]);
    format!("v1,{}", STANDARD.encode(signature))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signature_matches_the_standard_webhooks_vector() {
        // EVT-11: the example of Standard Webhooks.
        let signed = signature(
            "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
            "msg_p5jXN8AQM9LWM0D4loKWxJek",
            "1614265330",
            br#"{"test": 2432232314}"#,
        );
        assert_eq!(signed, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }
}
