//! The caller's idempotency keys and the requests they were used for.

use std::{
    collections::{HashMap, VecDeque},
    hash::{DefaultHasher, Hash as _, Hasher as _},
    sync::{Mutex, PoisonError},
};

use crate::{body::Body, types::IdempotencyKey};

/// The last 1,000 idempotency keys set by the caller, with the body of each. A key is scoped to its path.
///
/// Reusing a key for another body is a mistake: the service rejects the request, or replays the first response and sends nothing.
/// The client can't know which body was meant, so it logs a warning and sends.
#[derive(Debug, Default)]
pub(crate) struct KeyMemory(Mutex<Remembered>);

#[derive(Debug, Default)]
struct Remembered {
    bodies: HashMap<String, u64>,
    order: VecDeque<String>,
}

impl KeyMemory {
    const MAX_KEYS: usize = 1_000;

    /// Returns whether this key was used with another body before.
    pub(crate) fn contradicts(&self, key: &IdempotencyKey, path: &str, body: &Body) -> bool {
        let mut hasher = DefaultHasher::new();
        body.hash(&mut hasher);
        let (hash, key) = (hasher.finish(), format!("{path} {}", key.as_str()));
        let mut remembered = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(before) = remembered.bodies.insert(key.clone(), hash) {
            return before != hash;
        }
        remembered.order.push_back(key);
        if remembered.order.len() > Self::MAX_KEYS {
            if let Some(oldest) = remembered.order.pop_front() {
                remembered.bodies.remove(&oldest);
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_reused_with_another_body_is_detected() {
        //
        let memory = KeyMemory::default();
        let body = |text: &str| Body::from(text.as_bytes().to_vec());
        let key = |name: usize| IdempotencyKey::new(format!("k{name}")).unwrap();
        assert!(!memory.contradicts(&key(0), "/emails", &body("a")));
        assert!(!memory.contradicts(&key(0), "/emails", &body("a")));
        assert!(memory.contradicts(&key(0), "/emails", &body("b")));
        assert!(!memory.contradicts(&key(0), "/emails/batch", &body("c")), "a key is scoped to its path");

        let memory = KeyMemory::default();
        for name in 0..KeyMemory::MAX_KEYS {
            assert!(!memory.contradicts(&key(name), "/emails", &body("a")));
        }
        assert!(memory.contradicts(&key(0), "/emails", &body("b")));
        assert!(!memory.contradicts(&key(KeyMemory::MAX_KEYS), "/emails", &body("a")));
        assert!(!memory.contradicts(&key(0), "/emails", &body("c")), "the oldest is forgotten");
    }
}
