//! Fills the queue and restores what it loses.

use std::time::Duration;

use super::{Coordinator, DistributeOptions, memory::Memory};
use crate::{
    account::JobAccount,
    error::{BulkError, Result},
    journal::UnixMillis,
    queue::{
        Backend, Control, ControlState, EmailIntent, Intent, IntentResult, IntentState, JobFile, QueueError,
        load_control, store_control,
    },
    state::BatchState,
    worker::DESCRIPTION,
};

/// The number of batches added before progress is recorded.
const CHUNK: u32 = 1_000;
/// An intent can appear this much later than its timestamp: a worker stops trying to record one after a minute.
const MARGIN: Duration = Duration::from_mins(2);
/// The salt of the accounts in names of rate limits, the same for all jobs.
const RATE_SALT: &str = "rate";

impl<B: Backend> Coordinator<B> {
    /// Returns whether all batches have been added.
    pub(super) fn is_supplied(&self) -> bool {
        self.control.as_ref().is_some_and(|(control, _)| control.added >= control.batches)
    }

    /// Takes over the job in the queue, or creates it.
    pub(super) async fn prepare(&mut self) -> Result<()> {
        let found = match load_control(&self.backend).await {
            Ok(found) => found,
            Err(QueueError::Lost { .. }) => None,
            Err(error) => return Err(error.into()),
        };
        let Some((control, revision)) = found else {
            let existed = self.memory.generation.is_some();
            return self.restore(existed).await;
        };
        let admitted = self.admit(&control).await?;
        if control.state == ControlState::Canceled {
            return Err(self.canceled());
        }
        self.check_unfinished(&control)?;
        self.backend.use_generation(&control.generation);
        if self.memory.generation.as_ref() != Some(&control.generation) {
            // The queue has another coordinator's data, which this one reads from the start.
            self.memory = Memory { generation: Some(control.generation.clone()), ..Memory::default() };
            self.memory.identity = self.backend.identity().await?;
        }
        // From now on, workers may be sending, so the job isn't run locally.
        self.memory.save(self.plan.dir())?;
        self.control = Some((control, revision));
        let DistributeOptions { max_rps, priority, .. } = self.options;
        self.change_control(|control| {
            control.state = ControlState::Running;
            control.reason = None;
            control.max_rps = max_rps;
            control.priority = priority;
            if let Some(account) = &admitted {
                control.account.clone_from(account);
            }
        })
        .await
    }

    fn canceled(&self) -> BulkError {
        BulkError::NotRunnable(format!("job {} was canceled", self.plan.id()))
    }

    /// Checks that no other coordinator has finished the job, and removed its results from the queue.
    pub(super) fn check_unfinished(&self, control: &Control) -> Result<()> {
        if control.state != ControlState::Finished || self.states.is_complete() {
            return Ok(());
        }
        Err(BulkError::NotRunnable(format!(
            "job {} was finished by another coordinator; the report is in its folder",
            self.plan.id(),
        )))
    }

    /// Checks that the job in the queue belongs to this account and has this plan, since another coordinator may have created it. Returns the job's
    /// account with this credential added, if it is new.
    async fn admit(&self, control: &Control) -> Result<Option<JobAccount>> {
        let stored = |name: &str| control.files.iter().find(|file| file.name == name);
        if !self.plan.has_hashes(|name| stored(name).map(|file| &*file.blake3)) {
            return Err(BulkError::NotRunnable(format!(
                "the queue has a job {} with other rows, planned in another folder",
                self.plan.id(),
            )));
        }
        let presented = self.sending.present(&control.account.salt).await?;
        Ok(control.account.check(&presented)?)
    }

    /// Returns whether the queue has lost data that it had before.
    pub(super) async fn is_lost(&mut self) -> Result<bool> {
        let Some(identity) = self.backend.identity().await? else { return Ok(true) };
        let known = self.memory.identity.get_or_insert_with(|| identity.clone());
        let same = (&known.intents, &known.results, &known.entries)
            == (&identity.intents, &identity.results, &identity.entries);
        Ok(!same
            || identity.last_intent < self.memory.last_intent
            || identity.last_result < self.memory.last_result)
    }

    /// Creates the job's data, initially or after a loss, in this order: the ledger with the known intents, the control record, and last the entries
    /// that workers act on.
    pub(super) async fn restore(&mut self, lost: bool) -> Result<()> {
        let generation = format!("{:08x}", rand::random::<u32>());
        self.backend.restore(&generation).await?;
        self.backend.drop_entries().await?;
        self.upload().await?;
        let open = (0..self.plan.batches()).filter_map(|batch| match self.states.state(batch) {
            Some(BatchState::Maybe { first_attempt, hash }) => Some((batch, first_attempt, hash)),
            _ => None,
        });
        let margin = u64::try_from(MARGIN.as_millis()).unwrap_or(0);
        let seen = lost.then(|| self.memory.seen_until.unwrap_or(0).saturating_sub(margin));
        for (batch, UnixMillis(first_attempt), hash) in open.collect::<Vec<_>>() {
            let attempt = format!("restored in {generation}");
            let state = if self.states.is_split(batch) { IntentState::Split } else { IntentState::Open };
            // A lost ledger may have had later attempts.
            let unread = seen.map_or(EmailIntent::NotSent, |seen| EmailIntent::Open(seen.max(first_attempt)));
            let emails = self.states.emails(batch).iter().map(|email| match EmailIntent::from(email) {
                EmailIntent::NotSent => unread.clone(),
                known => known,
            });
            let emails = emails.collect();
            let mut intent = Intent { first_attempt, hash, state, emails, requests: 0, attempt };
            let mut expected = None;
            // An intent recorded by a worker in the meantime can be newer, which would hide that the batch may have been sent before.
            while let IntentResult::Conflict(stored) =
                self.backend.record_intent(batch, &intent, expected).await?
            {
                let theirs = stored.intent;
                if theirs.state != IntentState::NotSent {
                    intent.first_attempt = intent.first_attempt.min(theirs.first_attempt);
                    if theirs.state == IntentState::Split {
                        let known = theirs.known_emails(self.sizes[batch as usize].emails);
                        intent.emails = match intent.state {
                            IntentState::Split => known
                                .iter()
                                .zip(&intent.emails)
                                .map(|(theirs, ours)| theirs.merge(ours))
                                .collect(),
                            _ => known,
                        };
                        intent.state = IntentState::Split;
                    }
                    if (theirs.first_attempt, theirs.state, &theirs.emails)
                        == (intent.first_attempt, intent.state, &intent.emails)
                    {
                        break;
                    }
                }
                expected = Some(stored.revision);
            }
        }
        let found = load_control(&self.backend).await?;
        let mut control = match &found {
            Some((control, _)) => {
                self.admit(control).await?;
                self.check_unfinished(control)?;
                control.clone()
            }
            None => match self.control.take() {
                Some((control, _)) => control,
                None => self.new_control().await?,
            },
        };
        if let Some(seen) = seen {
            control.possibly_attempted =
                Some(control.possibly_attempted.map_or(seen, |earlier| earlier.min(seen)));
            control.round += 1;
        }
        control.generation.clone_from(&generation);
        control.files.clone_from(&self.files);
        control.added = 0;
        let Some(revision) =
            store_control(&self.backend, &control, found.map(|(_, revision)| revision)).await?
        else {
            self.control = None;
            return Ok(());
        };
        self.control = Some((control, revision));
        let identity = self.backend.identity().await?;
        self.memory = Memory {
            generation: Some(generation),
            identity,
            last_intent: 0,
            last_result: 0,
            ..self.memory.clone()
        };
        self.memory.save(self.plan.dir())?;
        (self.intents, self.results, self.empty_looks) = (0, 0, 0);
        self.read_shared_rate().await
    }

    async fn new_control(&self) -> Result<Control> {
        let account = self.account.clone().ok_or_else(|| self.canceled())?;
        Ok(Control {
            state: ControlState::Running,
            reason: None,
            batches: self.plan.batches(),
            added: 0,
            round: 0,
            generation: String::new(),
            possibly_attempted: None,
            account,
            rate_scope: self.sending.present(RATE_SALT).await?.rate_scope()?,
            priority: self.options.priority,
            max_rps: self.options.max_rps,
            files: Vec::new(),
        })
    }

    /// Adds the next batches without a result.
    pub(super) async fn supply(&mut self) -> Result<()> {
        let Some((control, _)) = &self.control else { return Ok(()) };
        if control.added >= control.batches {
            return Ok(());
        }
        let until = control.added.saturating_add(CHUNK).min(control.batches);
        let batches: Vec<u32> = (control.added..until).filter(|batch| self.is_open(*batch)).collect();
        self.backend.put(&batches, control.round).await?;
        let generation = control.generation.clone();
        self.change_control(|control| {
            if control.generation == generation {
                control.added = until;
            }
        })
        .await
    }

    /// Adds all batches without a result again: the queue is empty, so it has lost them.
    pub(super) async fn supply_again(&mut self) -> Result<()> {
        self.collect().await?;
        let lost: Vec<u32> = (0..self.plan.batches()).filter(|batch| self.is_open(*batch)).collect();
        if lost.is_empty() {
            return Ok(());
        }
        // Advance the round first: after a crash in between, another coordinator then uses a later one.
        self.change_control(|control| control.round += 1).await?;
        let Some((control, _)) = &self.control else { return Ok(()) };
        for chunk in lost.chunks(CHUNK as usize) {
            self.backend.put(chunk, control.round).await?;
        }
        Ok(())
    }

    fn is_open(&self, batch: u32) -> bool {
        self.states.state(batch).is_some_and(|state| !state.is_terminal())
    }

    /// Changes the latest version of the control record.
    async fn change_control(&mut self, mut change: impl FnMut(&mut Control)) -> Result<()> {
        while let Some((control, revision)) = self.control.clone() {
            let mut changed = control.clone();
            change(&mut changed);
            if changed == control {
                return Ok(());
            }
            if let Some(revision) = store_control(&self.backend, &changed, Some(revision)).await? {
                self.control = Some((changed, revision));
                return Ok(());
            }
            self.control = load_control(&self.backend).await?;
        }
        Ok(())
    }

    /// Stores the files that workers need.
    async fn upload(&mut self) -> Result<()> {
        let (described, files) = self
            .plan
            .blocking(|plan| {
                let path = plan.dir().join(DESCRIPTION);
                crate::files::replace(&path, &plan.description()?)?;
                let mut portable = plan.portable_files()?;
                portable.push(crate::plan::PortableFile { name: DESCRIPTION.to_owned(), path });
                let described = portable.iter().map(|file| {
                    JobFile::from_path(&file.name, &file.path).map_err(BulkError::io("read", &file.path))
                });
                Ok((described.collect::<Result<Vec<_>>>()?, portable))
            })
            .await?;
        for (file, portable) in described.iter().zip(&files) {
            self.backend.upload(file, &portable.path).await?;
        }
        self.files = described;
        Ok(())
    }
}
