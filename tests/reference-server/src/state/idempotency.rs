//! `Idempotency-Key`: a repeated request is processed once.
//!
//! The specification defines the header, its length and its lifetime, but not its reuse. Here a key belongs to its tenant, method and path.
//! The same key with the same body replays the first response; a different body is rejected with 409, and so is a request while the first
//! is in flight. Error responses aren't stored: the request had no effect and can be retried.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Response, StatusCode};
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use crate::clock::saturating_add;
use crate::digest::{Digest, sha256};
use crate::lock::lock;
use crate::store::budget::Budget;
use crate::store::changes;
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

#[derive(Debug)]
struct Slots {
    used: HashMap<Name, Slot>,
    /// Names in order of use, each with its number in `used`.
    order: VecDeque<(u64, Name)>,
    count: u64,
    bytes: usize,
    /// The budget of the responses of all tenants.
    budget: Arc<Budget>,
    /// Numbers of added and removed slots, once persistence has subscribed.
    changed: Option<Vec<(u64, Name)>>,
}

/// A digest of method, path and key.
type Name = Digest;

#[derive(Debug)]
struct Slot {
    number: u64,
    body: Digest,
    used: Timestamp,
    answer: Option<Response<Bytes>>,
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
    name: Name,
    number: u64,
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
        let slots =
            Slots { used: HashMap::new(), order: VecDeque::new(), count: 0, bytes: 0, budget, changed: None };
        Self { slots: Mutex::new(slots) }
    }

    pub fn begin(
        &self,
        method: &Method,
        path: &str,
        key: &str,
        body: &[u8],
        now: Timestamp,
    ) -> Result<KeyLookup<'_>, Problem> {
        let name = sha256(&[method.as_str().as_bytes(), b" ", path.as_bytes(), b"\n", key.as_bytes()]);
        let body = sha256(&[body]);

        let mut slots = lock(&self.slots);
        slots.expire(now);
        if let Some(slot) = slots.used.get(&name) {
            if slot.body != body {
                return Err(Problem::new(
                    StatusCode::CONFLICT,
                    "invalid_idempotent_request",
                    "This `Idempotency-Key` was used within the last 24 hours with another request body.",
                ));
            }
            return match &slot.answer {
                Some(answer) => {
                    let mut answer = answer.clone();
                    for name in REPLAYED {
                        answer
                            .headers_mut()
                            .insert(HeaderName::from_static(name), HeaderValue::from_static("true"));
                    }
                    Ok(KeyLookup::Replay(answer))
                }
                None => Err(Problem::new(
                    StatusCode::CONFLICT,
                    "concurrent_idempotent_requests",
                    "The first request with this `Idempotency-Key` is still in progress.",
                )),
            };
        }
        let number = slots.count;
        slots.count += 1;
        slots.order.push_back((number, name));
        slots.used.insert(name, Slot { number, body, used: now, answer: None });
        Ok(KeyLookup::First(Claim { keys: self, name, number }))
    }
}

/// A key with its response, as persisted.
#[derive(Deserialize, Serialize)]
pub struct StoredKey {
    name: Name,
    body: Digest,
    used: Timestamp,
    status: u16,
    headers: Vec<(String, Bytes)>,
    answer: Bytes,
}

impl Keys {
    /// Reports the keys that were added or removed since the last call, by number; the first call reports all of them. Returns whether this
    /// was the first call.
    pub fn changes(&self, mut show: impl FnMut(u64, Option<StoredKey>)) -> bool {
        let mut slots = lock(&self.slots);
        let changed = slots.changed.replace(Vec::new());
        let first = changed.is_none();
        let all = || slots.used.iter().map(|(name, slot)| (slot.number, *name)).collect();
        for (number, name) in changed.unwrap_or_else(all) {
            let slot = slots.used.get(&name).filter(|slot| slot.number == number);
            let stored = slot.and_then(|slot| {
                let answer = slot.answer.as_ref()?;
                let headers = answer.headers().iter();
                let headers = headers.map(|(name, value)| {
                    (name.as_str().to_owned(), Bytes::copy_from_slice(value.as_bytes()))
                });
                Some(StoredKey {
                    name,
                    body: slot.body,
                    used: slot.used,
                    status: answer.status().as_u16(),
                    headers: headers.collect(),
                    answer: answer.body().clone(),
                })
            });
            show(number, stored);
        }
        first
    }

    /// Restores a persisted key, in the order of the numbers.
    pub fn restore(&self, number: u64, stored: StoredKey) {
        let mut answer = Response::new(stored.answer);
        *answer.status_mut() = StatusCode::from_u16(stored.status).unwrap_or(StatusCode::OK);
        for (name, value) in stored.headers {
            if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::from_maybe_shared(value))
            {
                answer.headers_mut().append(name, value);
            }
        }
        let mut slots = lock(&self.slots);
        slots.changed.get_or_insert_default();
        slots.count_bytes(0, response_size(&answer));
        slots.count = slots.count.max(number + 1);
        slots.order.push_back((number, stored.name));
        let slot = Slot { number, body: stored.body, used: stored.used, answer: Some(answer) };
        slots.used.insert(stored.name, slot);
    }
}

/// The bytes of a key with its response.
fn response_size(answer: &Response<Bytes>) -> usize {
    size_of::<Slot>() + size::row::<HeaderMap>(size::headers(answer.headers())) + answer.body().len()
}

/// Releases the budget of an evicted tenant's responses.
impl Drop for Slots {
    fn drop(&mut self) {
        self.budget.count(self.bytes, 0);
    }
}

impl Slots {
    fn exceeds_limits(&self) -> bool {
        self.used.len() > MAX_KEYS || self.bytes > MAX_BYTES || self.budget.is_over()
    }

    fn expire(&mut self, now: Timestamp) {
        while let Some((number, name)) = self.order.front() {
            let current = self.used.get(name).filter(|slot| slot.number == *number);
            let keep = match current {
                None => false,
                Some(slot) if self.exceeds_limits() => slot.answer.is_none(),
                Some(slot) => now < saturating_add(slot.used, LIFETIME),
            };
            if keep {
                break;
            }
            let stale = current.is_none();
            let Some((_, name)) = self.order.pop_front() else { break };
            if !stale {
                self.remove(&name);
            }
        }
    }

    fn remove(&mut self, name: &Name) {
        let Some(slot) = self.used.remove(name) else { return };
        if let Some(answer) = slot.answer {
            self.count_bytes(response_size(&answer), 0);
            self.mark_changed(slot.number, *name);
        }
        // `order` may contain names of expired keys until they reach its front; this bounds their number.
        if self.order.len() > 2 * self.used.len() + 1_024 {
            self.order
                .retain(|(number, name)| self.used.get(name).is_some_and(|slot| slot.number == *number));
        }
    }

    fn count_bytes(&mut self, before: usize, after: usize) {
        self.bytes = self.bytes - before + after;
        self.budget.count(before, after);
    }

    fn mark_changed(&mut self, number: u64, name: Name) {
        if let Some(changed) = &mut self.changed {
            changed.push((number, name));
        }
    }
}

impl Claim<'_> {
    /// Stores a success; releases the key after an error.
    pub fn finish(self, answer: &Response<Bytes>) {
        if !answer.status().is_success() {
            return;
        }
        let mut slots = lock(&self.keys.slots);
        if let Some(slot) = slots.used.get_mut(&self.name).filter(|slot| slot.number == self.number) {
            slot.answer = Some(answer.clone());
            let size = response_size(answer);
            slots.count_bytes(0, size);
            changes::count(size);
            slots.mark_changed(self.number, self.name);
        }
    }
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        let mut slots = lock(&self.keys.slots);
        let unanswered = slots
            .used
            .get(&self.name)
            .is_some_and(|slot| slot.number == self.number && slot.answer.is_none());
        if unanswered {
            slots.remove(&self.name);
        }
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
        let key_bytes = response_size(&Response::new(Bytes::new()));
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
            let slots = lock(&keys.slots);
            assert!(slots.used.len() == 1 && slots.order.len() <= 1_026, "{}", slots.order.len());
        }
        let expiry = Timestamp::UNIX_EPOCH + LIFETIME;
        assert!(begin("used", expiry - SignedDuration::from_nanos(1)).is_none());
        assert!(begin("used", expiry).is_some());
    }

    #[test]
    fn keys_have_numbers_of_their_own_before_and_after_a_restart() {
        let (keys, restarted) = (keys(usize::MAX), keys(usize::MAX));
        for key in ["a", "b", "c"] {
            assert!(!send(&keys, key, &Bytes::new()));
        }
        let mut stored = Vec::new();
        assert!(
            keys.changes(|number, key| stored.push((number, key.unwrap()))),
            "the first call reports all"
        );
        stored.sort_by_key(|(number, _)| *number);
        let mut numbers: Vec<_> = stored.iter().map(|(number, _)| *number).collect();
        for (number, key) in stored {
            restarted.restore(number, key);
        }
        assert!(send(&restarted, "a", &Bytes::new()) && !send(&restarted, "d", &Bytes::new()));
        assert!(!restarted.changes(|number, _| numbers.push(number)));
        assert_eq!(numbers, [0, 1, 2, 3]);
    }
}
