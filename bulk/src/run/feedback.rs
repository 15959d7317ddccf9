//! Reads delivery outcomes of sent emails, for the rules that pause a job.
//!
//! The job reads metrics for a sample of its emails, in groups of 100, the maximum per request. The sample is chosen at random from all emails that
//! the service has accepted, including earlier runs (reservoir sampling).

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use rand::Rng as _;
use tokio::time::{Instant, sleep};

use super::{Shared, Stop, TICK};
use crate::{
    error::Result, folder, journal::Record, locked::Locked, plan::Plan, sender::Sender, state::AttemptResult,
    stop_rule::Feedback,
};

/// The number of emails per request for outcomes.
const GROUP: usize = 100;
/// The maximum number of groups.
const GROUPS: usize = 50;
/// A group's outcomes are read after this many requests of the job, or after [`INTERVAL`].
const REQUESTS: u64 = 20;
const INTERVAL: Duration = Duration::from_secs(5);

/// The sample of a running job.
#[derive(Debug, Default)]
pub(super) struct Sampler(Locked<Sample>);

#[derive(Debug, Default)]
struct Sample {
    groups: Vec<Group>,
    /// The group that isn't full yet.
    open: Group,
    /// The number of groups that have been filled.
    full: usize,
    next: usize,
    /// The time of the first attempt, in milliseconds since the Unix epoch.
    since: Option<u64>,
    /// Why the outcomes can't be read.
    failure: Option<String>,
}

#[derive(Clone, Debug, Default)]
struct Group {
    ids: Vec<String>,
    feedback: Feedback,
}

impl Sample {
    fn apply(&mut self, record: &Record) {
        if let Record::Intent { at, .. } = record {
            self.since.get_or_insert(at.0);
        }
        record.accepted().for_each(|id| self.push(id.to_string()));
    }

    fn push(&mut self, id: String) {
        self.open.ids.push(id);
        if self.open.ids.len() < GROUP {
            return;
        }
        let group = std::mem::take(&mut self.open);
        self.full += 1;
        if self.groups.len() < GROUPS {
            self.groups.push(group);
        } else if let Some(replaced) = self.groups.get_mut(rand::thread_rng().gen_range(0..self.full)) {
            *replaced = group;
        }
    }

    fn group(&mut self, n: usize) -> &mut Group {
        self.groups.get_mut(n).unwrap_or(&mut self.open)
    }
}

impl Sampler {
    /// Reads the job's sent emails, across all parts. Blocks.
    pub(super) fn open(plan: &Plan) -> Result<Self> {
        let mut sample = Sample::default();
        for dir in plan.earlier_dirs().chain([plan.dir().to_owned()]) {
            folder::read_journal(&dir, |record| {
                sample.apply(&record);
                Ok(())
            })?;
        }
        Ok(Self(Locked::new(sample)))
    }

    pub(super) fn apply(&self, record: &Record) {
        self.0.lock().apply(record);
    }

    pub(super) fn feedback(&self) -> Feedback {
        let sample = self.0.lock();
        sample
            .groups
            .iter()
            .chain([&sample.open])
            .fold(Feedback::default(), |sum, group| sum.combine(group.feedback))
    }

    pub(super) fn failure(&self) -> Option<String> {
        self.0.lock().failure.clone()
    }

    /// Reads the outcomes for the whole sample.
    pub(super) async fn read_all<S: Sender>(&self, shared: &Shared<S>) {
        let groups = self.0.lock().groups.len();
        for _ in 0..=groups {
            self.read_next(shared).await;
        }
    }

    /// Reads the outcomes for the next group, taking its turn among the job's requests.
    async fn read_next<S: Sender>(&self, shared: &Shared<S>) {
        let (n, ids, since) = {
            let mut sample = self.0.lock();
            let n = sample.next % (sample.groups.len() + 1);
            sample.next = n + 1;
            (n, sample.group(n).ids.clone(), sample.since)
        };
        if ids.is_empty() {
            return;
        }
        let mut permit = tokio::select! {
            permit = shared.gate.acquire() => permit,
            () = shared.control.wait_for(Stop::Drain) => return,
        };
        permit.sending();
        match shared.sender.feedback(&ids, since.unwrap_or_default()).await {
            Ok(feedback) => {
                drop(permit);
                let mut sample = self.0.lock();
                // In the meantime, the group may have been replaced or may have grown.
                let group = sample.group(n);
                if group.ids.first() == ids.first() {
                    group.feedback = feedback;
                }
            }
            Err(attempt) => {
                permit.finish(attempt.observation, &attempt.headers);
                if let AttemptResult::Unauthorized { message, .. } | AttemptResult::Rejected { message, .. } =
                    attempt.result
                {
                    self.0.lock().failure =
                        Some(format!("couldn't read the delivery outcomes of sent emails: {message}"));
                }
            }
        }
    }
}

/// Reads the outcomes for the sample repeatedly.
pub(super) async fn watch<S: Sender>(shared: Arc<Shared<S>>) {
    let Some(sampler) = &shared.sampler else { return };
    loop {
        let requests = || shared.requests.load(Ordering::Relaxed);
        let (started, before) = (Instant::now(), requests());
        while started.elapsed() < INTERVAL && requests() < before + REQUESTS {
            sleep(TICK).await;
        }
        sampler.read_next(&shared).await;
    }
}
