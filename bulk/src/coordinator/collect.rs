//! Copies the ledger into the journal.

use std::time::Duration;

use super::Coordinator;
use crate::{
    clock::check_step,
    error::Result,
    journal::{EmailOutcome, Record, UnixMillis},
    queue::{Backend, EmailIntent, Entry, Intent, IntentState, QueueError},
    run::outcome_event,
    state::BatchState,
    worker::RequestCounts,
};

/// The number of records per request.
const PAGE: usize = 500;

impl<B: Backend> Coordinator<B> {
    /// Copies new ledger records.
    pub(super) async fn collect(&mut self) -> Result<()> {
        let now = self.backend.now().await?;
        let seen = self.memory.seen_until.map_or(Duration::ZERO, Duration::from_millis);
        check_step(seen, now, now).map_err(QueueError::clock)?;
        loop {
            // An intent is older than its result, so reading the intents afterwards finds it.
            let results = self.backend.results(self.results, PAGE).await?;
            self.collect_intents().await?;
            self.collect_results(&results, now).await?;
            if results.len() < PAGE {
                break;
            }
        }
        self.memory.last_intent = self.intents;
        self.memory.last_result = self.results;
        self.memory.seen_until = Some(u64::try_from(now.as_millis()).unwrap_or(u64::MAX));
        Ok(())
    }

    async fn collect_intents(&mut self) -> Result<()> {
        loop {
            let entries = self.backend.intents(self.intents, PAGE).await?;
            let mut records = Vec::new();
            for entry in &entries {
                // An unreadable intent is from a newer version; treat its batch as if the ledger had lost it.
                if let Ok(intent) = serde_json::from_slice::<Intent>(&entry.payload) {
                    self.intent_records(entry.batch, &intent, &mut records);
                }
            }
            self.record(&records).await?;
            if let Some(last) = entries.last() {
                self.intents = last.position;
            }
            if entries.len() < PAGE {
                return Ok(());
            }
        }
    }

    fn intent_records(&self, batch: u32, intent: &Intent, records: &mut Vec<Record>) {
        let Some(size) = self.sizes.get(batch as usize) else { return };
        let record = Record::Intent {
            batch,
            emails: size.emails,
            at: UnixMillis(intent.first_attempt),
            hash: intent.hash,
        };
        match (self.states.state(batch), intent.state) {
            (Some(BatchState::Fresh), IntentState::Open | IntentState::Split) => records.push(record),
            (Some(BatchState::Maybe { .. }), IntentState::NotSent) => records.push(Record::NotSent { batch }),
            (Some(BatchState::Maybe { first_attempt, hash }), IntentState::Open | IntentState::Split) => {
                let at = UnixMillis(intent.first_attempt);
                // A later time or different content appears only if the intent was withdrawn and then replaced before it was read.
                if hash != intent.hash || at > first_attempt {
                    records.push(Record::NotSent { batch });
                    records.push(record);
                } else if at < first_attempt {
                    records.push(record);
                }
            }
            _ => return,
        }
        if intent.state == IntentState::Split && !self.states.is_split(batch) {
            records.push(Record::Split { batch });
        }
        for (email, found) in (0..).zip(&intent.known_emails(size.emails)) {
            let known = self.states.emails(batch).get(usize::from(email));
            let known = known.map_or(EmailIntent::NotSent, EmailIntent::from);
            let outcome = found.outcome();
            if *found == known || known.outcome().is_some() {
                continue;
            }
            let is_withdrawn = matches!((&known, found), (EmailIntent::Open(known), EmailIntent::Open(found)) if known < found);
            if !matches!(found, EmailIntent::Open(_)) || is_withdrawn {
                records.push(Record::EmailResult { batch, email, outcome });
            }
            if let EmailIntent::Open(first) = found {
                records.push(Record::EmailIntent { batch, email, at: UnixMillis(*first) });
            }
        }
    }

    async fn collect_results(&mut self, entries: &[Entry], now: Duration) -> Result<()> {
        let mut records = Vec::new();
        for entry in entries {
            let batch = entry.batch;
            let Some(&size) = self.sizes.get(batch as usize) else { continue };
            let state = self.states.state(batch);
            if state.is_none_or(BatchState::is_terminal) {
                continue;
            }
            if state == Some(BatchState::Fresh) {
                let known = self.backend.intent(batch).await?.map(|stored| stored.intent);
                let now = u64::try_from(now.as_millis()).unwrap_or(u64::MAX);
                let (at, hash) = known.map_or((now, [0; 16]), |intent| (intent.first_attempt, intent.hash));
                records.push(Record::Intent { batch, emails: size.emails, at: UnixMillis(at), hash });
            }
            let (effort, record) = RequestCounts::split(&entry.payload);
            self.progress.requests += u64::from(effort.requests);
            self.progress.throttled += u64::from(effort.throttled);
            self.replayed += u64::from(effort.repeated);
            let record = result_record(batch, record, size.emails);
            if let Some(event) = outcome_event(batch, size.first_row, size.emails, &record) {
                let _ = self.events.try_send(event);
            }
            records.push(record);
        }
        self.record(&records).await?;
        if let Some(last) = entries.last() {
            self.results = last.position;
        }
        Ok(())
    }
}

/// Decodes the result of a batch. A result that doesn't fit the plan proves nothing about its emails.
fn result_record(batch: u32, record: &[u8], emails: u16) -> Record {
    let record = Record::from_bytes(record);
    let fits = match &record {
        Some(Record::Result { batch: of, ids }) => *of == batch && ids.len() == usize::from(emails),
        Some(Record::Partial { batch: of, emails: outcomes }) => {
            *of == batch && outcomes.len() == usize::from(emails)
        }
        Some(Record::Rejected { batch: of, .. } | Record::Unknown { batch: of, .. }) => *of == batch,
        _ => false,
    };
    record
        .filter(|_| fits)
        .unwrap_or_else(|| Record::Partial { batch, emails: vec![EmailOutcome::Unknown; emails.into()] })
}
