//! Webhook deliveries: headers and a payload.
//!
//! The lines up to the first empty one are headers, in which `SIGNED` stands for the signature of the rest.

use std::time::{Duration, SystemTime};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, Mac as _};
use http::{HeaderMap, HeaderValue};
use idempost::webhooks::WebhookVerifier;
use sha2::Sha256;

use crate::text;

const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const ID: &str = "msg_1";
/// The time of the verification, in seconds since 1970.
const NOW: u64 = 1_760_000_000;

pub(crate) fn run(data: &[u8]) {
    let (fields, body) = text::head(data);
    let verifier = WebhookVerifier::new(SECRET).expect("the secret is valid");
    let now = SystemTime::UNIX_EPOCH + Duration::from_secs(NOW);
    let right = verifier.sign(ID, NOW, body);
    assert_eq!(right, signature(ID, &NOW.to_string(), body));

    // A correctly signed payload is accepted, whatever it contains.
    let signed = |signature: &str| {
        let mut headers = HeaderMap::new();
        headers.insert("svix-id", HeaderValue::from_static(ID));
        headers.insert("svix-timestamp", HeaderValue::from(NOW));
        headers.insert("svix-signature", HeaderValue::try_from(signature).expect("Base64 is a header value"));
        headers
    };
    let headers = signed(&right);
    let delivery = verifier.verify_at(&headers, body, now).expect("the delivery is signed");
    assert_eq!((delivery.id.as_str(), delivery.body), (ID, body));
    match delivery.event() {
        Ok(event) => {
            let json: serde_json::Value = serde_json::from_slice(body).expect("the event was read");
            assert_eq!(event.raw(), &json);
            assert_eq!(serde_json::to_value(&event).ok(), Some(json));
            let _ = format!("{event:?}");
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }

    // Other headers are accepted only if they contain the signature of what they name.
    let mut headers = text::headers(&fields);
    for value in headers.values_mut() {
        let replaced = value.to_str().unwrap_or_default().replace("SIGNED", &right);
        if let (true, Ok(replaced)) = (value.to_str().is_ok(), HeaderValue::try_from(replaced)) {
            *value = replaced;
        }
    }
    match verifier.verify_at(&headers, body, now) {
        Ok(delivery) => {
            let seconds =
                delivery.signed_at.duration_since(SystemTime::UNIX_EPOCH).expect("it is after 1970");
            assert!(seconds.as_secs().abs_diff(NOW) <= 300, "a timestamp outside of the tolerance");
            let families = ["svix-", "webhook-"];
            let value = |name: &str| {
                let mut found = families.iter().filter_map(|family| headers.get(format!("{family}{name}")));
                found.next().and_then(|value| value.to_str().ok()).unwrap_or_default().trim()
            };
            let expected = signature(value("id"), value("timestamp"), body);
            assert!(
                value("signature").split(' ').any(|one| one == expected),
                "a wrong signature is accepted"
            );
        }
        Err(error) => assert!(!error.to_string().contains('\n')),
    }
}

/// The signature of Standard Webhooks, computed independently of the client.
fn signature(id: &str, timestamp: &str, body: &[u8]) -> String {
    let key = STANDARD.decode(SECRET.trim_start_matches("whsec_")).expect("the secret is valid");
    let mac = Hmac::<Sha256>::new_from_slice(&key).expect("every length is valid");
    let mac =
        mac.chain_update(id).chain_update(".").chain_update(timestamp).chain_update(".").chain_update(body);
    format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()))
}
