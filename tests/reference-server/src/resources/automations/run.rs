//! Runs: what an automation does for one contact, and the two routes that show it.
//!
//! A run goes from step to step, and every move is made under the lock of the table of runs: whoever moves it (the request that sent the
//! event, the clock, another event) finds it where it is, and a run that was cancelled meanwhile goes no further.

use std::sync::Arc;

use bytes::Bytes;
use http::{Response, StatusCode};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use uuid::Uuid;

use super::definition::{Action, Definition, EventName, Way};
use crate::keep::word::{Word, word};
use crate::paging::{Mode, Window, list, quoted};
use crate::problem::{self, Problem};
use crate::resources::timestamp::database;
use crate::routes::Context;
use crate::store::size::{Size, heap_size, no_heap};
use crate::store::table;

/// A run of an automation.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Run {
    pub(crate) id: Uuid,
    pub(crate) automation: Uuid,
    pub(crate) contact: Uuid,
    /// What the event told that started it: `event.…`.
    pub(crate) event: Arc<Value>,
    /// What it goes by.
    pub(crate) definition: Arc<Definition>,
    status: Status,
    created_at: Timestamp,
    started_at: Timestamp,
    completed_at: Option<Timestamp>,
    steps: Vec<Progress>,
    /// The step that waits, and which wait it is: one that was noted earlier has nothing to say.
    waiting: Option<Waiting>,
    waits: u64,
}

heap_size!(Run {
    id,
    automation,
    contact,
    event,
    definition,
    status,
    created_at,
    started_at,
    completed_at,
    steps,
    waiting,
    waits
});
heap_size!(Progress { status, started_at, completed_at, output, error });
no_heap!(Status, Waiting);

impl Size for Group {
    fn heap_size(&self) -> usize {
        match self {
            Self::Of(_) | Self::WithStatus(..) | Self::Ended => 0,
            Self::WaitsFor(_, name) => name.heap_size(),
        }
    }
}

#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
struct Waiting {
    place: usize,
    number: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
pub(crate) enum Status {
    Running,
    Completed,
    Failed,
    Cancelled,
}

/// The groups of runs.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Group {
    /// The runs of an automation.
    Of(Uuid),
    /// The runs of an automation that have this status.
    WithStatus(Uuid, Status),
    /// The runs for a contact that wait for an event of this name.
    WaitsFor(Uuid, String),
    /// The runs that have ended, of all automations.
    Ended,
}

impl table::Record for Run {
    const PLURAL: &'static str = "automation runs";

    type Group = Group;

    fn groups(&self) -> Vec<Group> {
        let waits_for = self.awaited_event().map(|name| Group::WaitsFor(self.contact, name.to_owned()));
        let ended = (!self.is_running()).then_some(Group::Ended);
        [Group::Of(self.automation), Group::WithStatus(self.automation, self.status)]
            .into_iter()
            .chain(waits_for)
            .chain(ended)
            .collect()
    }
}

const STATUSES: [(&str, Status); 4] = [
    ("running", Status::Running),
    ("completed", Status::Completed),
    ("failed", Status::Failed),
    ("cancelled", Status::Cancelled),
];

impl Status {
    fn as_str(self) -> &'static str {
        STATUSES.iter().find(|(_, status)| *status == self).map_or("running", |(name, _)| name)
    }
}

/// How far a step is.
#[derive(Clone, Debug, Deserialize, Serialize)]
struct Progress {
    #[serde(deserialize_with = "word")]
    status: Word,
    started_at: Option<Timestamp>,
    completed_at: Option<Timestamp>,
    output: Option<Value>,
    error: Option<Value>,
}

/// What came of doing a step.
pub(crate) enum Outcome {
    /// It is done; the run goes on this way.
    Done(Way, Option<Value>),
    /// It goes on later: at this time if nothing happens before.
    Waits(Option<Timestamp>),
    /// It can't be done, and this is why.
    Failed(String),
}

/// Where a run goes from here.
pub(crate) enum Move {
    /// To this step.
    To(usize),
    /// Nowhere before this time, unless something happens; the number is the wait's.
    Pause { until: Option<Timestamp>, number: u64 },
    /// It has ended.
    Ended,
}

impl Run {
    /// A run that begins with the trigger at `trigger`.
    pub(crate) fn new(
        id: Uuid,
        automation: &super::Automation,
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
            waiting: None,
            waits: 0,
        }
    }

    pub(crate) fn is_running(&self) -> bool {
        self.status == Status::Running
    }

    /// Takes up a step. False if the run has ended meanwhile.
    pub(crate) fn begin(&mut self, place: usize, at: Timestamp) -> bool {
        if self.is_running()
            && let Some(step) = self.steps.get_mut(place)
        {
            step.status = "running";
            step.started_at = Some(at);
            return true;
        }
        false
    }

    /// Notes what came of a step, and says where to go.
    pub(crate) fn settle(&mut self, place: usize, outcome: Outcome, at: Timestamp) -> Move {
        let running = self.is_running();
        let Some(step) = self.steps.get_mut(place).filter(|_| running) else { return Move::Ended };
        match outcome {
            Outcome::Waits(until) => {
                step.status = "waiting";
                self.waits += 1;
                self.waiting = Some(Waiting { place, number: self.waits });
                return Move::Pause { until, number: self.waits };
            }
            Outcome::Done(way, output) => {
                step.status = "completed";
                step.completed_at = Some(at);
                step.output = output;
                if let Some(next) = self.definition.next(place, way) {
                    return Move::To(next);
                }
                self.end(Status::Completed, at);
            }
            Outcome::Failed(message) => {
                step.status = "failed";
                step.completed_at = Some(at);
                step.error = Some(json!({ "message": message }));
                self.end(Status::Failed, at);
            }
        }
        Move::Ended
    }

    /// The step that waits, if it is still this wait.
    pub(crate) fn woken_by_time(&mut self, number: u64) -> Option<usize> {
        let waiting = self.waiting.filter(|waiting| waiting.number == number && self.is_running())?;
        self.waiting = None;
        Some(waiting.place)
    }

    /// The name of the event that it waits for.
    fn awaited_event(&self) -> Option<&str> {
        let waiting = self.waiting.filter(|_| self.is_running())?;
        match &self.definition.steps.get(waiting.place)?.action {
            Action::WaitForEvent { event_name, .. } => Some(event_name),
            _ => None,
        }
    }

    /// The step that waits, if it waits for an event of this name that `fits` its rule.
    pub(crate) fn woken_by_event(
        &mut self,
        name: EventName<'_>,
        fits: impl FnOnce(&Action) -> bool,
    ) -> Option<usize> {
        let waiting = self.waiting.filter(|_| self.is_running())?;
        let action = &self.definition.steps.get(waiting.place)?.action;
        if !matches!(action, Action::WaitForEvent { event_name, .. } if name.is(event_name)) || !fits(action)
        {
            return None;
        }
        self.waiting = None;
        Some(waiting.place)
    }

    /// Ends it where it is, unless it has ended.
    pub(crate) fn cancel(&mut self, at: Timestamp) {
        if self.is_running() {
            self.end(Status::Cancelled, at);
        }
    }

    fn end(&mut self, status: Status, at: Timestamp) {
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

/// `GET /automations/{id}/runs`, mode B.
pub(crate) fn index(context: &Context<'_>) -> Result<Response<Bytes>, Problem> {
    let window = Window::read(context.request.uri().query(), Mode::B)?;
    let wanted = context.query("status").map(|words| read_statuses(&words)).transpose()?;
    let automation = super::find(context)?.id;
    let with_status = |status| Group::WithStatus(automation, status);
    let groups = wanted
        .map_or_else(|| vec![Group::Of(automation)], |wanted| wanted.into_iter().map(with_status).collect());
    let page = context.tenant.runs.page_of(&window, groups, |run| run.automation == automation)?;
    Ok(list(&page.map(|run| Item::of(&run))))
}

/// `GET /automations/{id}/runs/{run_id}`.
pub(crate) fn show(context: &Context<'_>) -> Result<Response<Bytes>, Problem> {
    let automation = super::find(context)?.id;
    let run = context.tenant.runs.get(context.id_at(1, "a run")?);
    let run = run.filter(|run| run.automation == automation);
    let run = run.ok_or_else(|| Problem::not_found("Automation run not found."))?;
    let steps = run.definition.steps.iter().zip(&run.steps).map(|(step, progress)| StepShown {
        key: &step.key,
        kind: step.kind,
        status: progress.status,
        started_at: progress.started_at.map(database),
        completed_at: progress.completed_at.map(database),
        output: progress.output.as_ref(),
        error: progress.error.as_ref(),
        created_at: database(run.created_at),
    });
    let whole = Whole { object: "automation_run", item: Item::of(&run), steps: steps.collect() };
    Ok(problem::json(StatusCode::OK, &whole))
}

/// A list of statuses with commas. (The specification is silent on an empty entry; it is no status.)
fn read_statuses(words: &str) -> Result<Vec<Status>, Problem> {
    let read = words.split(',').map(|word| {
        STATUSES.iter().find(|(name, _)| *name == word).map(|(_, status)| *status).ok_or_else(|| {
            Problem::validation(format!(
                "`status` must be a comma-separated list of `running`, `completed`, `failed`, `cancelled`; found {}.",
                quoted(word)
            ))
        })
    });
    read.collect()
}

/// `SPEC.md`, Automation run (list item).
#[derive(Serialize)]
struct Item {
    id: String,
    status: &'static str,
    started_at: String,
    completed_at: Option<String>,
    created_at: String,
}

impl Item {
    fn of(run: &Run) -> Self {
        Self {
            id: run.id.to_string(),
            status: run.status.as_str(),
            started_at: database(run.started_at),
            completed_at: run.completed_at.map(database),
            created_at: database(run.created_at),
        }
    }
}

#[derive(Serialize)]
struct Whole<'a> {
    object: &'static str,
    #[serde(flatten)]
    item: Item,
    steps: Vec<StepShown<'a>>,
}

#[derive(Serialize)]
struct StepShown<'a> {
    key: &'a str,
    #[serde(rename = "type")]
    kind: &'a str,
    status: &'a str,
    started_at: Option<String>,
    completed_at: Option<String>,
    output: Option<&'a Value>,
    error: Option<&'a Value>,
    created_at: String,
}
