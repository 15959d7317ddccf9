//! The definition of an automation: its steps, and the connections between them.
//!
//! The specification doesn't define which definitions are valid. Here step keys are unique; connections refer to existing steps; at least
//! one step is a trigger, and no connection leads to it; a step has at most one connection of each type, so that a run follows a single
//! path; types that depend on an outcome belong to conditions and waits; and connections form no cycle, so that every run ends.

pub mod action;
pub mod graph;

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::model::event::RESERVED_PREFIX;
use crate::store::interned::{Interned, deserialize_interned};
use crate::wire::{Checked, Fields, non_empty, quote, view, words};

pub use crate::model::automation::definition::action::{Action, EmailAction, Part, ValueSource};

/// The maximum number of steps.
const MAX_STEPS: usize = 150;

/// The steps of an automation, with their connections.
#[derive(Debug, Deserialize, Serialize)]
pub struct Definition {
    pub steps: Vec<Step>,
    pub connections: Vec<Connection>,
}

/// A step of an automation.
#[derive(Debug, Deserialize, Serialize)]
pub struct Step {
    pub key: String,
    /// The wire name of its type.
    #[serde(deserialize_with = "deserialize_interned")]
    pub kind: Interned,
    /// The configuration as received.
    pub config: Value,
    pub action: Action,
}

/// A connection from one step to the next.
#[derive(Debug, Deserialize, Serialize)]
pub struct Connection {
    pub from: String,
    pub to: String,
    pub kind: BranchKind,
}

words! {
    /// The type of a connection: the outcome that selects it.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize, Serialize)]
    pub enum BranchKind {
        Default = "default",
        ConditionMet = "condition_met",
        ConditionNotMet = "condition_not_met",
        Timeout = "timeout",
        EventReceived = "event_received",
    }
}

impl BranchKind {
    /// The type of the steps with this outcome; `None` for all.
    fn belongs_to(self) -> Option<&'static str> {
        match self {
            Self::Default => None,
            Self::ConditionMet | Self::ConditionNotMet => Some("condition"),
            Self::Timeout | Self::EventReceived => Some("wait_for_event"),
        }
    }
}

/// The name of an event in definitions.
#[derive(Clone, Copy, Debug)]
pub enum EventName<'a> {
    /// A custom event, named as in `POST /events/send`.
    Custom(&'a str),
    /// An event of the service, such as `email.opened`, optionally with the reserved prefix.
    Service(&'a str),
}

impl<'a> EventName<'a> {
    pub fn as_str(self) -> &'a str {
        match self {
            Self::Custom(name) | Self::Service(name) => name,
        }
    }

    /// All names of the event.
    pub fn names(self) -> impl Iterator<Item = Cow<'a, str>> {
        let prefixed = match self {
            Self::Custom(_) => None,
            Self::Service(own) => Some(Cow::Owned(format!("{RESERVED_PREFIX}{own}"))),
        };
        std::iter::once(Cow::Borrowed(self.as_str())).chain(prefixed)
    }

    pub fn matches(self, name: &str) -> bool {
        self.names().any(|own| own == name)
    }
}

impl Definition {
    /// Reads `steps` and `connections`, which are both required.
    pub fn read(fields: &mut Fields<'_>) -> Checked<Self> {
        let steps = fields.required("steps", |field| {
            let steps = field.items()?;
            let fits = match steps.len() {
                1..=MAX_STEPS => Ok(()),
                found => Err(field.reject(format_args!("must have 1 to {MAX_STEPS} steps; found {found}"))),
            };
            let steps = steps.read(|_, step| step.object(Step::read));
            fits.and(steps)
        });
        let connections = fields.required("connections", |field| field.objects(Connection::read));
        let definition = Self { steps: steps?, connections: connections? };
        graph::check(&definition, fields.report());
        Ok(definition)
    }

    /// The names of its triggering events.
    pub fn triggers(&self) -> impl Iterator<Item = &str> {
        self.steps.iter().filter_map(|step| match &step.action {
            Action::Trigger { event_name } => Some(event_name.as_str()),
            _ => None,
        })
    }

    /// The index of the first trigger for this event.
    pub fn trigger(&self, event: EventName<'_>) -> Option<usize> {
        self.steps.iter().position(
            |step| matches!(&step.action, Action::Trigger { event_name } if event.matches(event_name)),
        )
    }

    /// The index of the step that follows on this branch; the default branch applies if the outcome has none.
    pub fn next(&self, index: usize, branch: BranchKind) -> Option<usize> {
        let from = &self.steps.get(index)?.key;
        let to =
            |branch: BranchKind| self.connections.iter().find(|one| one.from == *from && one.kind == branch);
        let to = &to(branch).or_else(|| to(BranchKind::Default))?.to;
        self.steps.iter().position(|step| step.key == *to)
    }
}

impl Step {
    fn read(fields: &mut Fields<'_>) -> Checked<Self> {
        let key = fields.required("key", non_empty);
        let kind = fields.required("type", non_empty);
        fields.require(&["config"]);
        let kind = kind.and_then(|kind| {
            action::KINDS.iter().copied().find(|known| *known == kind).ok_or_else(|| {
                let (names, found) = (action::KINDS.map(|name| format!("`{name}`")).join(", "), quote(&kind));
                fields.reject("type", format_args!("must be one of {names}; found {found}"))
            })
        });
        let step = fields.required("config", |config| {
            let kind = kind?;
            let action = Action::read(kind, config)?;
            let config = config.value().ok_or_else(|| config.reject("is nested too deeply"))?;
            Ok((kind, config, action))
        });
        let (key, (kind, config, action)) = (key?, step?);
        Ok(Self { key, kind, config, action })
    }
}

impl Connection {
    fn read(fields: &mut Fields<'_>) -> Checked<Self> {
        let from = fields.required("from", non_empty);
        let to = fields.required("to", non_empty);
        let kind = fields.optional("type", |field| field.one_of(BranchKind::WORDS));
        Ok(Self { from: from?, to: to?, kind: kind?.unwrap_or(BranchKind::Default) })
    }
}

view! {
    pub StepView of step: Step {
        key: step.key,
        type: step.kind,
        config: step.config,
    }
}

view! {
    pub ConnectionView of connection: Connection {
        from: connection.from,
        to: connection.to,
        type: connection.kind.as_str(),
    }
}
