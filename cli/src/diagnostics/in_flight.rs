//! What a command has begun and not yet reported. Whatever ends the command, the last thing that it says is what became of that.

use std::sync::{Arc, Mutex, PoisonError};

use posthaste::Outcome;

/// The place where a command notes what it begins; whoever reports the command's end reads it.
#[derive(Debug, Clone, Default)]
pub(crate) struct InFlight(Arc<Mutex<Option<Begun>>>);

/// Something that was begun.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Begun {
    /// What is known of it.
    pub(crate) outcome: Outcome,
    /// What may have happened and how to find out, or what did happen.
    pub(crate) sentence: String,
    /// The IDs that the service gave.
    pub(crate) ids: Vec<String>,
    /// The key with which it can be repeated without harm.
    pub(crate) idempotency_key: Option<String>,
}

impl InFlight {
    /// From now on nobody knows what the service has done; `doubt` says what may have happened and how to look.
    pub(crate) fn begin(&self, doubt: impl Into<String>, idempotency_key: Option<&str>) {
        self.set(Some(Begun {
            outcome: Outcome::Unknown,
            sentence: doubt.into(),
            ids: Vec::new(),
            idempotency_key: idempotency_key.map(str::to_owned),
        }));
    }

    /// The service accepted it, under these IDs.
    pub(crate) fn accepted(&self, ids: Vec<String>) {
        let mut place = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let idempotency_key = place.take().and_then(|begun| begun.idempotency_key);
        let mut sentence = "the service accepted it".to_owned();
        if !ids.is_empty() {
            sentence = format!("{sentence}: {}", ids.join(", "));
        }
        if let Some(key) = &idempotency_key {
            sentence = format!("{sentence} (idempotency key {key})");
        }
        *place = Some(Begun { outcome: Outcome::Accepted, sentence, ids, idempotency_key });
    }

    /// The service accepted it earlier and goes on with it: what the command waits for.
    pub(crate) fn wait(&self, sentence: &str) {
        let begun = Begun {
            outcome: Outcome::Accepted,
            sentence: sentence.to_owned(),
            ids: Vec::new(),
            idempotency_key: None,
        };
        self.set(Some(begun));
    }

    /// It was reported, or its error will be.
    pub(crate) fn finish(&self) {
        self.set(None);
    }

    /// What was begun and not reported.
    pub(crate) fn unreported(&self) -> Option<Begun> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn set(&self, begun: Option<Begun>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = begun;
    }
}
