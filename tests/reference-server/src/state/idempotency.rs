//! `Idempotency-Key`: a repeated request is processed once.
//!
//! The specification defines the header, its length and its lifetime, but not its reuse. Here a key belongs to its tenant, method and path.
//! The same key with the same body replays the first response; a different body is rejected with 409, and so is a request while the first
//! is in flight. Error responses aren't stored: the request had no effect and can be retried.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Response, StatusCode};
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::clock::saturating_add;
use crate::digest::{Digest, sha256, uuid_of};
use crate::lock::lock;
use crate::store::budget::Budget;
use crate::store::changes;
use crate::store::ledger::{Ledger, Persist};
use crate::store::packed_headers::PackedHeaders;
use crate::store::size;
use crate::wire::Problem;

/// The lifetime of a key (`docs/specification.md`, Limits).
const LIFETIME: SignedDuration = SignedDuration::from_hours(24);
/// The maximum length of a key in characters (`docs/specification.md`, Limits).
const MAX_KEY: usize = 256;
/// The maximum number of keys per tenant, and of bytes of their responses; the oldest are evicted first. All tenants share a part of
/// `Settings::max_memory`.
const MAX_KEYS: usize = 50_000;
const MAX_BYTES: usize = 64 << 20;

/// The idempotency keys of a tenant.
#[derive(Debug)]
pub struct Keys {
    slots: Mutex<Slots>,
}

/// The keys by their IDs, which are digests of method, path and key.
#[derive(Debug)]
pub struct Slots {
    answered: Ledger<Arc<Answered>>,
    /// The bodies of the requests in progress.
    in_progress: HashMap<Uuid, Digest>,
    bytes: usize,
    /// The budget of the responses of all tenants.
    budget: Arc<Budget>,
}

/// The first request with a key, and its response.
#[derive(Debug, Deserialize, Serialize)]
pub struct Answered {
    body: Digest,
    used: Timestamp,
    status: u16,
    headers: PackedHeaders,
    answer: Bytes,
}

/// The result of looking up a request's key.
pub enum KeyLookup<'a> {
    /// The first request with this key: process it, then call [`finish`](Claim::finish).
    First(Claim<'a>),
    /// The stored response of an earlier request.
    Replay(Response<Bytes>),
}

/// The exclusive right to process a request with a key. Dropped without a response (also by a panic), it releases the key.
pub struct Claim<'a> {
    keys: &'a Keys,
    id: Uuid,
    body: Digest,
    used: Timestamp,
}

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
/// The headers of a replayed response: Resend's, and the sandbox's own.
const REPLAYED: [&str; 2] = ["idempotent-replayed", "x-sandbox-idempotent-replay"];

/// Reads the key of a request, if it has one.
pub fn read(headers: &HeaderMap) -> Result<Option<&str>, Problem> {
    let Some(value) = headers.get(IDEMPOTENCY_KEY) else { return Ok(None) };
    let refuse = |found: &str| {
        Problem::new(
            StatusCode::BAD_REQUEST,
            "invalid_idempotency_key",
            format!("`Idempotency-Key` must have 1 to {MAX_KEY} characters; found {found}."),
        )
    };
    let key = std::str::from_utf8(value.as_bytes()).map_err(|_| refuse("bytes that are not UTF-8"))?;
    match key.chars().count() {
        1..=MAX_KEY => Ok(Some(key)),
        length => Err(refuse(&length.to_string())),
    }
}

impl Keys {
    pub fn new(budget: Arc<Budget>) -> Self {
        let slots = Slots { answered: Ledger::new(), in_progress: HashMap::new(), bytes: 0, budget };
        Self { slots: Mutex::new(slots) }
    }

    /// Locks the keys, for persistence.
    pub fn lock(&self) -> MutexGuard<'_, Slots> {
        lock(&self.slots)
    }

    pub fn begin(
        &self,
        method: &Method,
        path: &str,
        key: &str,
        body: &[u8],
        now: Timestamp,
    ) -> Result<KeyLookup<'_>, Problem> {
        let id = uuid_of(&[method.as_str().as_bytes(), b" ", path.as_bytes(), b"\n", key.as_bytes()]);
        let body = sha256(&[body]);

        let mut slots = self.lock();
        slots.expire(id, now);
        let answered = slots.answered.get(id);
        let first = answered.map(|answered| &answered.body).or(slots.in_progress.get(&id));
        if first.is_some_and(|first| *first != body) {
            return Err(Problem::new(
                StatusCode::CONFLICT,
                "invalid_idempotent_request",
                "This `Idempotency-Key` was used within the last 24 hours with another request body.",
            ));
        }
        if let Some(answered) = answered {
            return Ok(KeyLookup::Replay(answered.replay()));
        }
        if first.is_some() {
            return Err(Problem::new(
                StatusCode::CONFLICT,
                "concurrent_idempotent_requests",
                "The first request with this `Idempotency-Key` is still in progress.",
            ));
        }
        slots.in_progress.insert(id, body);
        Ok(KeyLookup::First(Claim { keys: self, id, body, used: now }))
    }
}

impl Answered {
    /// The response for a repeated request.
    fn replay(&self) -> Response<Bytes> {
        let mut answer = Response::new(self.answer.clone());
        *answer.status_mut() = StatusCode::from_u16(self.status).unwrap_or(StatusCode::OK);
        *answer.headers_mut() = self.headers.to_map();
        for name in REPLAYED {
            answer.headers_mut().insert(HeaderName::from_static(name), HeaderValue::from_static("true"));
        }
        answer
    }

    fn is_expired(&self, now: Timestamp) -> bool {
        now >= saturating_add(self.used, LIFETIME)
    }

    /// The bytes of a key with its response.
    fn size(&self) -> usize {
        size::row::<Self>(self.headers.heap_size() + self.answer.len())
    }
}

/// Releases the budget of an evicted tenant's responses.
impl Drop for Slots {
    fn drop(&mut self) {
        self.budget.count(self.bytes, 0);
    }
}

impl Persist<Answered> for Slots {
    fn ledger(&mut self) -> &mut Ledger<Arc<Answered>> {
        &mut self.answered
    }

    fn restore(&mut self, position: u64, id: Uuid, answered: Arc<Answered>) {
        self.count_bytes(0, answered.size());
        self.answered.restore(position, id, answered);
    }
}

impl Slots {
    /// Removes this key if it is expired, and the oldest ones that are expired or beyond the limits.
    fn expire(&mut self, id: Uuid, now: Timestamp) {
        if self.answered.get(id).is_some_and(|answered| answered.is_expired(now)) {
            let removed = self.answered.remove(id);
            self.release(removed);
        }
        let is_stale = |slots: &Self| {
            let oldest = slots.answered.oldest_first().next();
            oldest.is_some_and(|oldest| slots.exceeds_limits() || oldest.is_expired(now))
        };
        while is_stale(self) {
            let removed = self.answered.take_oldest();
            self.release(removed.map(|(_, answered)| answered));
        }
    }

    fn exceeds_limits(&self) -> bool {
        self.answered.len() > MAX_KEYS || self.bytes > MAX_BYTES || self.budget.is_over()
    }

    fn release(&mut self, removed: Option<Arc<Answered>>) {
        self.count_bytes(removed.map_or(0, |answered| answered.size()), 0);
    }

    fn count_bytes(&mut self, before: usize, after: usize) {
        self.bytes = self.bytes - before + after;
        self.budget.count(before, after);
    }
}

impl Claim<'_> {
    /// Stores a success; releases the key after an error.
    pub fn finish(self, answer: &Response<Bytes>) {
        if !answer.status().is_success() {
            return;
        }
        let answered = Answered {
            body: self.body,
            used: self.used,
            status: answer.status().as_u16(),
            headers: PackedHeaders::new(answer.headers()),
            answer: answer.body().clone(),
        };
        let size = answered.size();
        let mut slots = self.keys.lock();
        slots.count_bytes(0, size);
        changes::count(size);
        slots.answered.insert(self.id, Arc::new(answered));
    }
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        self.keys.lock().in_progress.remove(&self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(budget: usize) -> Keys {
        Keys::new(Arc::new(Budget::new(budget)))
    }

    /// Sends a request with a key. Returns whether its response was replayed.
    fn send(keys: &Keys, key: &str, answer: &Bytes) -> bool {
        match keys.begin(&Method::POST, "/emails", key, b"{}", Timestamp::UNIX_EPOCH) {
            Ok(KeyLookup::First(claim)) => {
                claim.finish(&Response::new(answer.clone()));
                false
            }
            Ok(KeyLookup::Replay(_)) => true,
            Err(problem) => panic!("{problem:?}"),
        }
    }

    #[test]
    fn keys_and_responses_of_64_mib_are_kept_and_the_oldest_is_evicted_a_byte_above() {
        let key_bytes = size::row::<Answered>(0);
        let answer = Bytes::from(vec![b'x'; (8 << 20) - key_bytes]);
        let longer = Bytes::from(vec![b'x'; answer.len() + 1]);
        for (last, is_kept) in [(&answer, true), (&longer, false)] {
            let keys = keys(usize::MAX);
            for key in 0..7 {
                assert!(!send(&keys, &key.to_string(), &answer));
            }
            assert!(!send(&keys, "7", last));
            for key in 1..8 {
                assert!(send(&keys, &key.to_string(), last), "{key} is still known");
            }
            assert_eq!(send(&keys, "0", &answer), is_kept, "the oldest");
        }
    }

    #[test]
    fn all_tenants_share_a_budget_and_an_evicted_tenant_returns_its_part() {
        let budget = Arc::new(Budget::new(10_000));
        let (one, other) = (Keys::new(Arc::clone(&budget)), Keys::new(Arc::clone(&budget)));
        let answer = Bytes::from(vec![b'x'; 4_000]);
        assert!(!send(&one, "first", &answer) && !send(&one, "second", &answer));
        assert!(send(&one, "first", &answer));
        assert!(!send(&other, "third", &answer) && budget.is_over());
        assert!(send(&one, "second", &answer) && !budget.is_over(), "the first was evicted");
        assert!(!send(&one, "first", &Bytes::new()));
        drop((one, other));
        assert!(budget.check(0, 10_000, "responses").is_ok());
    }

    #[test]
    fn fifty_thousand_keys_are_remembered_and_the_oldest_is_evicted_above() {
        let keys = keys(usize::MAX);
        for key in 0..MAX_KEYS {
            assert!(!send(&keys, &key.to_string(), &Bytes::new()));
        }
        assert!(send(&keys, "0", &Bytes::new()));
        assert!(!send(&keys, "one more", &Bytes::new()));
        assert!(send(&keys, "1", &Bytes::new()));
        assert!(!send(&keys, "0", &Bytes::new()), "the oldest is evicted");
    }

    #[test]
    fn failed_requests_take_no_memory_and_the_keys_of_others_expire_on_time() {
        let keys = keys(usize::MAX);
        let begin = |key: &str, now| match keys.begin(&Method::POST, "/emails", key, b"{}", now) {
            Ok(KeyLookup::First(claim)) => Some(claim),
            Ok(KeyLookup::Replay(_)) => None,
            Err(problem) => panic!("{problem:?}"),
        };
        assert!(!send(&keys, "used", &Bytes::new()));
        for pair in 0..5_000 {
            let claims = ["a", "b"].map(|name| begin(&format!("{pair}{name}"), Timestamp::UNIX_EPOCH));
            assert!(claims.iter().all(Option::is_some));
        }
        {
            let slots = keys.lock();
            assert!(slots.answered.len() == 1 && slots.in_progress.is_empty(), "{slots:?}");
        }
        let expiry = Timestamp::UNIX_EPOCH + LIFETIME;
        assert!(begin("used", expiry - SignedDuration::from_nanos(1)).is_none());
        assert!(begin("used", expiry).is_some());
    }

    #[test]
    fn keys_are_restored_in_their_order_and_only_later_ones_are_written() {
        let (keys, restarted) = (keys(usize::MAX), keys(usize::MAX));
        for key in ["a", "b", "c"] {
            assert!(!send(&keys, key, &Bytes::new()));
        }
        {
            let (mut from, mut to) = (keys.lock(), restarted.lock());
            for position in from.ledger().positions().into_iter().rev() {
                let (id, key) = from.ledger().get_at(position).unwrap();
                to.restore(position, id, Arc::clone(key));
            }
        }
        assert!(send(&restarted, "a", &Bytes::new()) && !send(&restarted, "d", &Bytes::new()));
        assert_eq!(restarted.lock().ledger().take_changed(), Some(vec![3]));
        assert_eq!(restarted.lock().ledger().positions(), [0, 1, 2, 3]);
    }
}
