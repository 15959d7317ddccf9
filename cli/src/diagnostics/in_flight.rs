//! The operation that a command has started and not yet reported. However the command ends, its last message reports the outcome.

use std::sync::{Arc, Mutex, PoisonError};

use idempost::Outcome;

/// Where a command records what it starts; read when the command's end is reported.
#[derive(Debug, Clone, Default)]
pub(crate) struct InFlight(Arc<Mutex<Option<Operation>>>);

/// A started operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Operation {
    /// Its outcome so far.
    pub(crate) outcome: Outcome,
    /// What may have happened and how to check, or what did happen.
    pub(crate) sentence: String,
    /// The IDs assigned by the service.
    pub(crate) ids: Vec<String>,
    /// The idempotency key with which it can be retried safely.
    pub(crate) idempotency_key: Option<String>,
}

/// A command to continue with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NextStep {
    /// The command, quoted for the shell.
    pub(crate) command: String,
    /// When to run it.
    pub(crate) when: String,
}

impl InFlight {
    /// From now on the outcome is unknown; `unknown_outcome` says what may have happened and how to check.
    pub(crate) fn begin(&self, unknown_outcome: impl Into<String>, idempotency_key: Option<&str>) {
        self.set(Some(Operation {
            outcome: Outcome::Unknown,
            sentence: unknown_outcome.into(),
            ids: Vec::new(),
            idempotency_key: idempotency_key.map(str::to_owned),
        }));
    }

    /// The service accepted it, with these IDs.
    pub(crate) fn accepted(&self, ids: Vec<String>) {
        let mut place = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let idempotency_key = place.take().and_then(|operation| operation.idempotency_key);
        let mut sentence = "the service accepted it".to_owned();
        if !ids.is_empty() {
            sentence = format!("{sentence}: {}", ids.join(", "));
        }
        if let Some(key) = &idempotency_key {
            sentence = format!("{sentence} (idempotency key {key})");
        }
        *place = Some(Operation { outcome: Outcome::Accepted, sentence, ids, idempotency_key });
    }

    /// The service accepted it earlier and continues: what the command waits for. Returns what isn't reported yet, to [resume](Self::resume).
    pub(crate) fn wait(&self, sentence: &str) -> Option<Operation> {
        let earlier = self.unreported();
        let operation = Operation {
            outcome: Outcome::Accepted,
            sentence: sentence.to_owned(),
            ids: earlier.as_ref().map(|operation| operation.ids.clone()).unwrap_or_default(),
            idempotency_key: None,
        };
        self.set(Some(operation));
        earlier
    }

    /// The wait has ended.
    pub(crate) fn resume(&self, earlier: Option<Operation>) {
        self.set(earlier);
    }

    /// The result was reported, or its error will be.
    pub(crate) fn finish(&self) {
        self.set(None);
    }

    /// The operation that was started and not reported.
    pub(crate) fn unreported(&self) -> Option<Operation> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn set(&self, operation: Option<Operation>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = operation;
    }
}
