//! A worker's claim on a batch: what the ledger says about earlier attempts, and the intent version that this worker wrote.
//!
//! The ledger records the first attempt that is uncertain or open. As long as no attempt is uncertain, the claim can be withdrawn or renewed with a
//! later time; both replace exactly the version that this worker wrote, so they fail if another worker has adopted the intent in the meantime. From
//! then on, and after any uncertain attempt, the time doesn't change. The same holds for each email of a split batch, and each attempt of one replaces
//! the version before it, so a worker whose batch was taken sends no further email.
//!
//! If an intent can't be recorded within the duration of a lease, the worker gives up. This limits the time between the loss of a ledger and the last
//! record from a worker that hasn't noticed it; the one-hour margin in the age of keys covers that time.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::{
    clock::{self, Clock},
    deliver::{Before, EmailStart},
    journal::{EmailOutcome, Record, UnixMillis},
    plan::Prepared,
    queue::{
        Backend, EmailIntent, Intent, IntentResult, IntentState, Ledger, QueueError, RETRY, StoredIntent,
    },
    state::Situation,
};

/// A claim without an uncertain attempt is renewed after this time.
const RENEW_AFTER: Duration = Duration::from_mins(10);

/// A claim on a batch.
#[derive(Debug)]
pub(super) struct Claim {
    batch: u32,
    emails: u16,
    hash: [u8; 16],
    /// Identifies this claim in the ledger.
    name: String,
    /// When a batch without an intent may have been attempted, according to a ledger that was lost.
    possibly_attempted: Option<u64>,
    held: Option<Held>,
    /// What is known about the emails, if the batch is split.
    known: Vec<EmailIntent>,
    /// The index of the email that is attempted.
    current: usize,
    /// Whether an email was rejected or not processed since the last version of the intent: if this worker stopped, its next attempt would be
    /// uncertain.
    is_unrecorded: bool,
    attempts: u32,
    /// The number of requests that earlier workers may have sent.
    earlier_requests: u32,
}

#[derive(Clone, Debug)]
struct Held {
    first_attempt: u64,
    revision: u64,
    /// Whether an attempt may have been executed: any attempt of another worker, or an attempt of this worker with an uncertain outcome.
    uncertain: bool,
    /// Whether the service rejected the batch, so that its emails are sent one by one.
    split: bool,
}

impl Held {
    fn ready(&self) -> Before {
        if self.split { Before::Split } else { Before::Send }
    }
}

impl Claim {
    pub(super) fn new(prepared: &Prepared, name: String, possibly_attempted: Option<u64>) -> Self {
        Self {
            batch: prepared.batch,
            emails: prepared.emails(),
            hash: prepared.hash,
            name,
            possibly_attempted,
            held: None,
            known: Vec::new(),
            current: 0,
            is_unrecorded: false,
            attempts: 0,
            earlier_requests: 0,
        }
    }

    /// Makes sure that the intent is durable and another attempt is safe.
    ///
    /// # Errors
    /// The intent can't be recorded, so the batch has to be left.
    pub(super) async fn before_attempt(
        &mut self,
        ledger: &impl Backend,
        clock: &Clock,
    ) -> Result<Before, QueueError> {
        let deadline = Instant::now() + ledger.lease_time();
        loop {
            let tried = self.try_before_attempt(ledger, clock).await;
            // In a new ledger, this claim might hide an attempt recorded only in the lost one.
            if !matches!(tried, Err(QueueError::Unavailable { .. })) || Instant::now() >= deadline {
                return tried;
            }
            sleep(RETRY).await;
        }
    }

    async fn try_before_attempt(
        &mut self,
        ledger: &impl Ledger,
        clock: &Clock,
    ) -> Result<Before, QueueError> {
        if clock.is_in_doubt() {
            clock.follow(ledger.now().await?).map_err(QueueError::clock)?;
        }
        let now = clock.millis();
        let mut found = None;
        loop {
            let (intent, expected, uncertain) = match (&found, self.held.clone()) {
                (Some(StoredIntent { intent, revision }), _) => {
                    if ledger.result(self.batch).await?.is_some() {
                        return Ok(Before::Ended);
                    }
                    let state = intent.state;
                    let open = state != IntentState::NotSent;
                    self.known = intent.known_emails(self.emails);
                    let is_announced = open && (self.known.is_empty() || self.known.iter().any(is_open));
                    self.earlier_requests = intent.requests.saturating_add(u32::from(is_announced));
                    if open && intent.hash != self.hash {
                        let reason = "the content differs from that of the first attempt".into();
                        return Ok(Before::Settle(Record::Unknown { batch: self.batch, reason }));
                    }
                    let first = if open { intent.first_attempt } else { now.0 };
                    let state = if open { state } else { IntentState::Open };
                    (Intent { state, ..self.intent(first) }, Some(*revision), open)
                }
                (None, Some(held)) if held.uncertain => {
                    return Ok(match self.expired_record(held.first_attempt, now) {
                        Some(record) => Before::Settle(record),
                        None => held.ready(),
                    });
                }
                (None, Some(held)) if age(held.first_attempt, now).is_some_and(|age| age <= RENEW_AFTER) => {
                    return Ok(Before::Send);
                }
                (None, Some(held)) => (self.intent(now.0), Some(held.revision), false),
                (None, None) => {
                    let first = self.possibly_attempted.map_or(now.0, |time| time.min(now.0));
                    (self.intent(first), None, self.possibly_attempted.is_some())
                }
            };
            if uncertain
                && intent.state != IntentState::Split
                && let Some(expired) = self.expired_record(intent.first_attempt, now)
            {
                return Ok(Before::Settle(expired));
            }
            match ledger.record_intent(self.batch, &intent, expected).await? {
                IntentResult::Recorded(revision) => {
                    let split = intent.state == IntentState::Split;
                    let held = Held { first_attempt: intent.first_attempt, revision, uncertain, split };
                    return Ok(self.held.insert(held).ready());
                }
                IntentResult::Conflict(stored) => {
                    self.held = None;
                    found = Some(stored);
                }
            }
        }
    }

    fn intent(&mut self, first_attempt: u64) -> Intent {
        self.attempts += 1;
        Intent {
            first_attempt,
            hash: self.hash,
            state: IntentState::Open,
            emails: self.known.clone(),
            requests: self.earlier_requests,
            attempt: format!("{}.{}", self.name, self.attempts),
        }
    }

    /// Returns the result of a batch whose key the service may have forgotten.
    fn expired_record(&self, first_attempt: u64, now: UnixMillis) -> Option<Record> {
        let age = age(first_attempt, now);
        let situation = Situation { batch: self.batch, emails: self.emails, age, earlier_uncertain: true };
        (!clock::can_be_resent(age)).then(|| situation.expiry_record(None))
    }

    /// Records that the emails are sent one by one from here on, unless another worker has taken the batch. `sent` is the number of requests from
    /// this worker.
    ///
    /// # Errors
    /// The split can't be recorded, so the batch has to be left.
    pub(super) async fn split(&mut self, ledger: &impl Backend, sent: u32) -> Result<bool, QueueError> {
        self.known = vec![EmailIntent::NotSent; self.emails.into()];
        let split = self.split_intent(sent);
        self.replace(ledger, split).await
    }

    /// Returns whether the emails are sent one by one.
    pub(super) fn is_split(&self) -> bool {
        !self.known.is_empty()
    }

    /// Selects an email of a split batch.
    pub(super) fn select_email(&mut self, email: usize) -> EmailStart {
        self.current = email;
        let Some(known) = self.known.get(email) else { return EmailStart::Fresh };
        match known.outcome() {
            Some(outcome) => EmailStart::Settled(outcome),
            None if is_open(known) => EmailStart::Uncertain,
            None => EmailStart::Fresh,
        }
    }

    /// Notes the outcome of an email, or that none of its attempts was executed.
    pub(super) fn note_email(&mut self, email: usize, outcome: Option<&EmailOutcome>) {
        self.is_unrecorded |= outcome.is_none();
        if let Some(known) = self.known.get_mut(email) {
            *known = outcome.map_or(EmailIntent::NotSent, EmailIntent::from);
        }
    }

    /// Records what is known about the emails before a pause. If this fails, the next attempt does, too.
    pub(super) async fn record_emails(&mut self, ledger: &impl Backend, sent: u32) {
        if self.is_unrecorded {
            let known = self.split_intent(sent);
            let _ = self.replace(ledger, known).await;
        }
    }

    /// Makes sure that the attempt of the selected email is durable and safe. `None` if another worker has taken the batch.
    ///
    /// # Errors
    /// The attempt can't be recorded, so the batch has to be left.
    pub(super) async fn before_email(
        &mut self,
        ledger: &impl Backend,
        clock: &Clock,
        sent: u32,
    ) -> Result<Option<Before>, QueueError> {
        if clock.is_in_doubt() {
            clock.follow(ledger.now().await?).map_err(QueueError::clock)?;
        }
        let now = clock.millis();
        if let Some(EmailIntent::Open(first)) = self.known.get(self.current) {
            return Ok(Some(self.expired_record(*first, now).map_or(Before::Split, Before::Settle)));
        }
        let mut attempt = self.split_intent(sent);
        attempt.emails[self.current] = EmailIntent::Open(now.0);
        Ok(self.replace(ledger, attempt).await?.then_some(Before::Split))
    }

    /// Returns the next version of a split batch's intent.
    fn split_intent(&mut self, sent: u32) -> Intent {
        let first = self.held.as_ref().map_or(0, |held| held.first_attempt);
        let requests = self.earlier_requests.saturating_add(sent);
        Intent { state: IntentState::Split, requests, ..self.intent(first) }
    }

    /// Replaces the version that this worker wrote, unless another worker has taken the batch.
    async fn replace(&mut self, ledger: &impl Backend, intent: Intent) -> Result<bool, QueueError> {
        let Some(held) = self.held.take() else { return Ok(false) };
        let deadline = Instant::now() + ledger.lease_time();
        loop {
            match ledger.record_intent(self.batch, &intent, Some(held.revision)).await {
                Ok(IntentResult::Recorded(revision)) => {
                    self.known = intent.emails;
                    self.is_unrecorded = false;
                    self.held = Some(Held { revision, uncertain: true, split: true, ..held });
                    return Ok(true);
                }
                Ok(IntentResult::Conflict(_)) => return Ok(false),
                Err(QueueError::Unavailable { .. }) if Instant::now() < deadline => sleep(RETRY).await,
                Err(error) => return Err(error),
            }
        }
    }

    /// Describes the claim, to decide on a result.
    pub(super) fn situation(&self, now: UnixMillis) -> Situation {
        let (first, uncertain) = match (&self.held, self.known.get(self.current)) {
            (Some(_), Some(EmailIntent::Open(first))) => (*first, true),
            (Some(_), Some(_)) => (now.0, false),
            (Some(held), None) => (held.first_attempt, held.uncertain),
            (None, _) => (now.0, self.possibly_attempted.is_some()),
        };
        Situation {
            batch: self.batch,
            emails: self.emails,
            age: age(first, now),
            earlier_uncertain: uncertain,
        }
    }

    /// Records that the outcome of an attempt is uncertain.
    pub(super) fn set_uncertain(&mut self) {
        if let Some(held) = &mut self.held {
            held.uncertain = true;
        }
    }

    /// Returns the number of requests that earlier workers may have sent.
    pub(super) fn earlier_requests(&self) -> u32 {
        self.earlier_requests
    }

    /// Withdraws the intent if no attempt was executed, and records what is known about the emails of a split batch. If this fails, the only effect is
    /// that the batch's age counts from its first attempt, or that the last email is repeated. `sent` is the number of requests from this worker.
    pub(super) async fn withdraw(&mut self, ledger: &impl Ledger, sent: u32) {
        let mut intent = self.split_intent(sent);
        let Some(held) = self.held.take().filter(|held| held.split || !held.uncertain) else { return };
        if !held.split {
            intent.state = IntentState::NotSent;
        }
        let _ = ledger.record_intent(self.batch, &intent, Some(held.revision)).await;
    }
}

fn is_open(email: &EmailIntent) -> bool {
    matches!(email, EmailIntent::Open(_))
}

fn age(first_attempt: u64, now: UnixMillis) -> Option<Duration> {
    UnixMillis(first_attempt).age(now)
}
