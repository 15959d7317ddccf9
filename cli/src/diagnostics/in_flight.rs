//! The started operation whose result isn't reported yet. The command's last message always reports its outcome.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use idempost::Outcome;

/// Records started operations; read when the command ends.
#[derive(Debug, Clone, Default)]
pub(crate) struct InFlight {
    operation: Arc<Mutex<Option<Operation>>>,
    may_be_repeated: Arc<AtomicBool>,
}

/// A started operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Operation {
    /// Its outcome so far.
    pub(crate) outcome: Outcome,
    /// The effect, or the possible effect and how to check.
    pub(crate) sentence: String,
    /// The IDs assigned by the service.
    pub(crate) ids: Vec<String>,
    /// The idempotency key for a safe retry.
    pub(crate) idempotency_key: Option<String>,
    /// Whether the outcome and the sentence are those of the whole operation, whatever becomes of its next request.
    pub(crate) is_whole: bool,
}

/// A command that continues the operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NextStep {
    /// The command, quoted for the shell.
    pub(crate) command: String,
    /// When to run it.
    pub(crate) when: String,
}

impl InFlight {
    /// Starts an operation that isn't sent yet; `unknown_outcome` states its possible effect and how to check.
    pub(crate) fn begin(&self, unknown_outcome: impl Into<String>, idempotency_key: Option<&str>) {
        self.set(Some(Operation {
            outcome: Outcome::NotSent,
            sentence: unknown_outcome.into(),
            ids: Vec::new(),
            idempotency_key: idempotency_key.map(str::to_owned),
            is_whole: false,
        }));
    }

    /// The progress of an operation of several requests, and how to continue.
    pub(crate) fn record_progress(&self, outcome: Outcome, sentence: impl Into<String>) {
        self.set(Some(Operation {
            outcome,
            sentence: sentence.into(),
            ids: Vec::new(),
            idempotency_key: None,
            is_whole: true,
        }));
    }

    /// The outcome of all requests so far.
    pub(crate) fn record_outcome(&self, outcome: Outcome) {
        if let Some(operation) = &mut *self.operation.lock().unwrap_or_else(PoisonError::into_inner)
            && !operation.is_whole
        {
            operation.outcome = outcome;
        }
    }

    /// A request is sent again, unless the service did nothing for certain the first time.
    pub(crate) fn record_retry(&self) {
        let operation = self.operation.lock().unwrap_or_else(PoisonError::into_inner);
        if operation.as_ref().is_some_and(|operation| operation.outcome == Outcome::Unknown) {
            self.may_be_repeated.store(true, Ordering::Relaxed);
        }
    }

    /// Whether the service may have executed a request more than once, so that its response shows only what the last one did.
    pub(crate) fn may_be_repeated(&self) -> bool {
        self.may_be_repeated.load(Ordering::Relaxed)
    }

    /// The service accepted it, with these IDs.
    pub(crate) fn record_accepted(&self, ids: Vec<String>) {
        let mut place = self.operation.lock().unwrap_or_else(PoisonError::into_inner);
        let idempotency_key = place.take().and_then(|operation| operation.idempotency_key);
        let mut sentence = "the service accepted it".to_owned();
        if !ids.is_empty() {
            sentence = format!("{sentence}: {}", ids.join(", "));
        }
        if let Some(key) = &idempotency_key {
            sentence = format!("{sentence} (idempotency key {key})");
        }
        *place =
            Some(Operation { outcome: Outcome::Accepted, sentence, ids, idempotency_key, is_whole: true });
    }

    /// Starts a wait for an accepted operation. Returns the unreported operations, to [resume](Self::resume) them.
    pub(crate) fn wait(&self, sentence: &str) -> Option<Operation> {
        let earlier = self.unreported_operation();
        let operation = Operation {
            outcome: Outcome::Accepted,
            sentence: sentence.to_owned(),
            ids: earlier.as_ref().map(|operation| operation.ids.clone()).unwrap_or_default(),
            idempotency_key: None,
            is_whole: true,
        };
        self.set(Some(operation));
        earlier
    }

    /// The wait has ended.
    pub(crate) fn resume(&self, earlier: Option<Operation>) {
        self.set(earlier);
    }

    /// Marks the result as reported.
    pub(crate) fn finish(&self) {
        self.set(None);
    }

    /// The unreported operation.
    pub(crate) fn unreported_operation(&self) -> Option<Operation> {
        let mut operation = self.operation.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        match operation.outcome {
            Outcome::NotSent => "the request wasn't sent".clone_into(&mut operation.sentence),
            Outcome::Rejected => {
                "the service rejected the request and did nothing".clone_into(&mut operation.sentence);
            }
            _ => {}
        }
        Some(operation)
    }

    fn set(&self, operation: Option<Operation>) {
        *self.operation.lock().unwrap_or_else(PoisonError::into_inner) = operation;
    }
}
