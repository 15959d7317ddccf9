//! The runs of automations and their progress.

use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::model::automation::definition::{Action, BranchKind, Definition, EventName};
use crate::store::interned::{Interned, deserialize_interned};
use crate::store::table;
use crate::wire::{to_database_format, view, words};

/// A run of an automation.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Run {
    pub id: Uuid,
    pub automation: Uuid,
    pub contact: Uuid,
    /// The payload of the event that triggered it: `event.…`.
    pub event: Arc<Value>,
    /// The definition when it was triggered.
    pub definition: Arc<Definition>,
    pub status: Status,
    pub created_at: Timestamp,
    pub started_at: Timestamp,
    pub completed_at: Option<Timestamp>,
    pub steps: Vec<Progress>,
    /// The waits that an event has ended, oldest first.
    received: Vec<usize>,
    /// The waiting step. The number identifies the wait: a job of an earlier wait has no effect.
    waiting: Option<Waiting>,
    waits: u64,
}

#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
struct Waiting {
    index: usize,
    number: u64,
}

words! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize, Serialize)]
    pub enum Status {
        Running = "running",
        Completed = "completed",
        Failed = "failed",
        Cancelled = "cancelled",
    }
}

/// The groups of runs.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub enum Group {
    /// The runs of an automation.
    Of(Uuid),
    /// The runs of an automation that have this status.
    WithStatus(Uuid, Status),
    /// The runs for a contact that wait for an event of this name.
    WaitsFor(Uuid, String),
    /// The runs for a contact that wait for any event.
    Waits(Uuid),
    /// The ended runs of all automations.
    Ended,
}

impl table::Record for Run {
    const NOUN: &'static str = "an automation run";
    const PLURAL: &'static str = "automation runs";

    type Group = Group;

    fn groups(&self) -> Vec<Group> {
        let awaited = self.awaited_event();
        let waits_for = awaited.map(|name| Group::WaitsFor(self.contact, name.to_owned()));
        let waits = awaited.map(|_| Group::Waits(self.contact));
        let ended = (!self.is_running()).then_some(Group::Ended);
        [Group::Of(self.automation), Group::WithStatus(self.automation, self.status)]
            .into_iter()
            .chain(waits_for)
            .chain(waits)
            .chain(ended)
            .collect()
    }
}

/// The progress of a step.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Progress {
    #[serde(deserialize_with = "deserialize_interned")]
    pub status: Interned,
    pub started_at: Option<Timestamp>,
    pub completed_at: Option<Timestamp>,
    pub output: Option<Value>,
    pub error: Option<Value>,
}

/// The reason why a step fails that needs the contact.
pub const CONTACT_DELETED: &str = "The contact no longer exists.";

/// The outcome of a step.
pub enum Outcome {
    /// It completed; the run continues on this branch.
    Done(BranchKind, Option<Value>),
    /// Waits until this time, unless resumed earlier.
    Waits(Option<Timestamp>),
    /// It failed, with the reason.
    Failed(String),
}

/// How a run continues.
pub enum Transition {
    /// With this step.
    To(usize),
    /// After a pause until this time, unless resumed earlier. The number identifies the wait.
    Pause { until: Option<Timestamp>, number: u64 },
    /// Not at all, since it has ended.
    Ended,
}

impl Run {
    /// Creates a run that starts with the trigger at this index.
    pub fn new(
        id: Uuid,
        automation: &crate::model::automation::Automation,
        contact: Uuid,
        event: Arc<Value>,
        now: Timestamp,
    ) -> Self {
        let pending =
            Progress { status: "pending", started_at: None, completed_at: None, output: None, error: None };
        Self {
            id,
            automation: automation.id,
            contact,
            event,
            definition: Arc::clone(&automation.definition),
            status: Status::Running,
            created_at: now,
            started_at: now,
            completed_at: None,
            steps: vec![pending; automation.definition.steps.len()],
            received: Vec::new(),
            waiting: None,
            waits: 0,
        }
    }

    pub fn is_running(&self) -> bool {
        self.status == Status::Running
    }

    /// Starts a step. Returns false if the run has ended.
    pub fn begin(&mut self, index: usize, at: Timestamp) -> bool {
        if self.is_running()
            && let Some(step) = self.steps.get_mut(index)
        {
            step.status = "running";
            step.started_at = Some(at);
            return true;
        }
        false
    }

    /// Records the outcome of a step and returns how the run continues.
    pub fn record_outcome(&mut self, index: usize, outcome: Outcome, at: Timestamp) -> Transition {
        let running = self.is_running();
        let Some(step) = self.steps.get_mut(index).filter(|_| running) else { return Transition::Ended };
        match outcome {
            Outcome::Waits(until) => {
                step.status = "waiting";
                self.waits += 1;
                self.waiting = Some(Waiting { index, number: self.waits });
                return Transition::Pause { until, number: self.waits };
            }
            Outcome::Done(way, output) => {
                step.status = "completed";
                step.completed_at = Some(at);
                step.output = output;
                if way == BranchKind::EventReceived {
                    self.received.push(index);
                }
                if let Some(next) = self.definition.next(index, way) {
                    return Transition::To(next);
                }
                self.finish(Status::Completed, at);
            }
            Outcome::Failed(message) => {
                step.status = "failed";
                step.completed_at = Some(at);
                step.error = Some(json!({ "message": message }));
                self.finish(Status::Failed, at);
            }
        }
        Transition::Ended
    }

    /// The waiting step, if it is still in this wait.
    pub fn woken_by_time(&mut self, number: u64) -> Option<usize> {
        let waiting = self.waiting.filter(|waiting| waiting.number == number && self.is_running())?;
        self.waiting = None;
        Some(waiting.index)
    }

    /// The name of the event that it waits for.
    fn awaited_event(&self) -> Option<&str> {
        let waiting = self.waiting.filter(|_| self.is_running())?;
        match &self.definition.steps.get(waiting.index)?.action {
            Action::WaitForEvent { event_name, .. } => Some(event_name),
            _ => None,
        }
    }

    /// The waiting step, if it waits for an event of this name and the event `fits` its rule.
    pub fn woken_by_event(
        &mut self,
        name: EventName<'_>,
        fits: impl FnOnce(&Self, &Action) -> bool,
    ) -> Option<usize> {
        let waiting = self.waiting.filter(|_| self.is_running())?;
        let action = &self.definition.steps.get(waiting.index)?.action;
        if !matches!(action, Action::WaitForEvent { event_name, .. } if name.matches(event_name))
            || !fits(self, action)
        {
            return None;
        }
        self.waiting = None;
        Some(waiting.index)
    }

    /// Fails the run if it waits for an event.
    pub fn fail_wait(&mut self, reason: &str, at: Timestamp) {
        if self.awaited_event().is_some()
            && let Some(Waiting { index, .. }) = self.waiting
        {
            self.record_outcome(index, Outcome::Failed(reason.to_owned()), at);
        }
    }

    /// The names and payloads of the events that ended its waits, newest first.
    pub fn awaited_events(&self) -> Vec<(&str, &Value)> {
        let event = |index: &usize| {
            let output = self.steps.get(*index)?.output.as_ref()?;
            Some((output.get("event")?.as_str()?, output.get("payload")?))
        };
        self.received.iter().rev().filter_map(event).collect()
    }

    /// Cancels the run, unless it has ended.
    pub fn cancel(&mut self, at: Timestamp) {
        if self.is_running() {
            self.finish(Status::Cancelled, at);
        }
    }

    fn finish(&mut self, status: Status, at: Timestamp) {
        self.status = status;
        self.completed_at = Some(at);
        self.waiting = None;
        for step in &mut self.steps {
            if matches!(step.status, "pending" | "running" | "waiting") {
                step.status = "skipped";
            }
        }
    }
}

view! {
    pub Item of run: Run {
        id: run.id,
        status: run.status.as_str(),
        started_at: to_database_format(run.started_at),
        completed_at: run.completed_at.map(to_database_format),
        created_at: to_database_format(run.created_at),
    }
}
