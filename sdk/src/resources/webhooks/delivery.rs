//! Verification of webhook requests: signature and timestamp (Standard Webhooks, HMAC-SHA256).
//!
//! The specification doesn't define signatures; they follow Standard Webhooks. This module never uses the network.

mod headers;
mod keys;
mod verification_error;

pub use keys::SecretError;
pub use verification_error::VerificationError;

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use http::HeaderMap;
use subtle::{Choice, ConstantTimeEq};

use self::{headers::Signed, keys::Key};
use super::event::{NotAnEvent, WebhookPayload};
use crate::{
    clock,
    types::{SigningSecret, WebhookEventId},
};

/// The default maximum difference between the timestamp of a request and now.
pub const TOLERANCE: Duration = Duration::from_secs(5 * 60);
/// The maximum number of signatures in a request. There are two while a secret is being rotated; the specification states no limit.
pub const MAX_SIGNATURES: usize = 32;

/// Verifies that a webhook request was signed by the service.
///
/// Pass the headers and the body **as received**: the signature covers bytes, so verification fails for a body that was parsed and serialized again.
///
/// ```
/// # fn example(headers: &http::HeaderMap, body: &[u8]) -> Result<(), Box<dyn std::error::Error>> {
/// use idempost::webhooks::{EventData, WebhookVerifier};
///
/// let verifier = WebhookVerifier::new("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")?;
/// let delivery = verifier.verify(headers, body)?;
/// match delivery.event()?.data {
///     EventData::EmailBounced(bounced) => println!("{:?}: {:?}", bounced.to, bounced.bounce.message),
///     _ => println!("{} ignored", delivery.id),
/// }
/// # Ok(())
/// # }
/// ```
///
/// An event can be delivered more than once: the service retries if the endpoint doesn't respond in time. [`Delivery::id`] stays the same, so store
/// the IDs of processed events.
#[derive(Clone, Debug)]
#[must_use]
pub struct WebhookVerifier {
    keys: Vec<Key>,
    tolerance: Duration,
}

impl WebhookVerifier {
    /// Creates a verifier for a signing secret: `whsec_` followed by Base64, as in [`CreatedWebhook`](crate::webhooks::CreatedWebhook). The prefix
    /// may be omitted.
    ///
    /// # Errors
    /// The text isn't a signing secret.
    pub fn new(secret: impl Into<SigningSecret>) -> Result<Self, SecretError> {
        Ok(Self { keys: vec![Key::from_secret(&secret.into())?], tolerance: TOLERANCE })
    }

    /// Also accepts requests signed with this secret: the previous or next secret in a [rotation](super::Webhooks::rotate_secret), or the secret of
    /// another webhook with the same endpoint.
    ///
    /// # Errors
    /// The text isn't a signing secret.
    pub fn add_secret(mut self, secret: impl Into<SigningSecret>) -> Result<Self, SecretError> {
        self.keys.push(Key::from_secret(&secret.into())?);
        Ok(self)
    }

    setters! {
        /// Sets the maximum difference between a request's timestamp and the current time, in either direction. Default: 5 minutes. [`Duration::MAX`]
        /// accepts every timestamp, and therefore every request that was ever signed.
        tolerance(Duration);
    }

    /// Verifies the signature and the timestamp of a request.
    ///
    /// Both families of header names are supported: `svix-…` and `webhook-…`. At least one signature must match; versions other than `v1` are
    /// ignored. Signatures are compared in constant time.
    ///
    /// # Errors
    /// The request wasn't signed by the service, or its timestamp is outside the tolerance.
    pub fn verify<'a>(&self, headers: &HeaderMap, body: &'a [u8]) -> Result<Delivery<'a>, VerificationError> {
        self.verify_at(headers, body, clock::wall())
    }

    /// Verifies a request as of a given time.
    ///
    /// # Errors
    /// The errors of [`verify`](Self::verify).
    pub fn verify_at<'a>(
        &self,
        headers: &HeaderMap,
        body: &'a [u8],
        now: SystemTime,
    ) -> Result<Delivery<'a>, VerificationError> {
        let signed = Signed::read(headers)?;
        let timestamp = self.timestamp(&signed, now)?;
        let signatures = signatures(&signed)?;
        let mut fits = Choice::from(0);
        for key in &self.keys {
            let right = key.sign(signed.id, signed.timestamp, body);
            for signature in &signatures {
                fits |= right.ct_eq(signature);
            }
        }
        if bool::from(fits) {
            return Ok(Delivery { id: signed.id.into(), signed_at: timestamp, body });
        }
        let (found, secrets) = (signatures.len(), self.keys.len());
        Err(VerificationError::WrongSignature { header: signed.names.signature, found, secrets })
    }

    /// Returns the signature that the service would send (`v1,` followed by Base64), computed with the first secret. Use it to test an endpoint,
    /// together with the headers `svix-id` and `svix-timestamp` (seconds since 1970).
    pub fn sign(&self, id: &str, timestamp: u64, body: &[u8]) -> String {
        let signature = self.keys.first().map(|key| key.sign(id, &timestamp.to_string(), body));
        format!("v1,{}", STANDARD.encode(signature.unwrap_or_default()))
    }

    fn timestamp(&self, signed: &Signed<'_>, now: SystemTime) -> Result<SystemTime, VerificationError> {
        let header = signed.names.timestamp;
        let text = signed.timestamp;
        // Digits only: `parse` would also accept a sign.
        let seconds = Some(text).filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
        let time = seconds
            .and_then(|text| text.parse::<i64>().ok())
            .and_then(|seconds| UNIX_EPOCH.checked_add(Duration::from_secs(seconds.unsigned_abs())))
            .ok_or_else(|| VerificationError::Timestamp { header, found: shorten(text) })?;
        // The header states whole seconds, so the comparison uses them as well.
        let whole = now.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let now = UNIX_EPOCH.checked_add(Duration::from_secs(whole)).unwrap_or(now);
        let tolerance = self.tolerance;
        match now.duration_since(time) {
            Ok(age) if age > tolerance => Err(VerificationError::TooOld { header, age, tolerance }),
            Err(ahead) if ahead.duration() > tolerance => {
                Err(VerificationError::TooNew { header, ahead: ahead.duration(), tolerance })
            }
            _ => Ok(time),
        }
    }
}

/// Returns the signatures of version 1; at least one.
fn signatures(signed: &Signed<'_>) -> Result<Vec<[u8; 32]>, VerificationError> {
    let (header, text) = (signed.names.signature, signed.signature);
    let count = text.split(' ').count();
    if count > MAX_SIGNATURES {
        return Err(VerificationError::TooManySignatures { header, count, max: MAX_SIGNATURES });
    }
    let read = |entry: &str| -> Option<[u8; 32]> {
        let (version, coded) = entry.split_once(',')?;
        let bytes = (version == "v1").then(|| STANDARD.decode(coded).ok())??;
        bytes.try_into().ok()
    };
    let signatures: Vec<_> = text.split(' ').filter_map(read).collect();
    if signatures.is_empty() {
        return Err(VerificationError::NoSignature { header, found: shorten(text) });
    }
    Ok(signatures)
}

fn shorten(text: &str) -> String {
    let mut shown: String = text.chars().take(80).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    shown
}

/// A verified webhook request.
#[derive(Clone)]
#[non_exhaustive]
pub struct Delivery<'a> {
    /// The event's ID. It is the same for all retries, so store the IDs of processed events.
    pub id: WebhookEventId,
    /// When the request was signed; each attempt is signed again.
    pub signed_at: SystemTime,
    /// The body as received.
    pub body: &'a [u8],
}

impl Delivery<'_> {
    /// Parses the event.
    ///
    /// # Errors
    /// The body isn't a JSON object with a `type`. A type or data that this version of the client doesn't know isn't an error: see
    /// [`EventData::Other`](super::EventData::Other).
    pub fn event(&self) -> Result<WebhookPayload, NotAnEvent> {
        WebhookPayload::from_slice(self.body)
    }
}

partial_debug! {
    /// `Debug` omits the body, which can contain private data.
    Delivery<'a> { id, signed_at, bytes = [body.len()] }
}

#[cfg(test)]
mod tests;
