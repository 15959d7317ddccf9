//! The definition of an automation: its steps, and the connections between them.
//!
//! The specification doesn't define which definitions are valid. Here step keys are unique; connections refer to existing steps; at least
//! one step is a trigger, and no connection leads to it; a step has at most one connection of each type, so that a run follows a single
//! path; types that depend on an outcome belong to conditions and waits; and connections form no cycle, so that every run ends.

pub(crate) mod action;
pub(crate) mod graph;

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::store::interned::{Interned, word};
use crate::store::size::{heap_size, no_heap};
use crate::wire::paging::quoted;
use crate::wire::validation::{Fields, Ignored, Problems};

pub(crate) use crate::model::automation::definition::action::{Action, EmailAction, Part, ValueSource};

/// The maximum number of steps.
const MOST_STEPS: usize = 150;

/// The steps of an automation, with their connections.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct Definition {
    pub(crate) steps: Vec<Step>,
    pub(crate) connections: Vec<Connection>,
}

/// A step of an automation.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct Step {
    pub(crate) key: String,
    /// The wire name of its type.
    #[serde(deserialize_with = "word")]
    pub(crate) kind: Interned,
    /// The configuration as received.
    pub(crate) config: Value,
    pub(crate) action: Action,
}

/// A connection from one step to the next.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct Connection {
    pub(crate) from: String,
    pub(crate) to: String,
    pub(crate) kind: BranchKind,
}

heap_size!(Definition { steps, connections });
heap_size!(Step { key, kind, config, action });
heap_size!(Connection { from, to, kind });
no_heap!(BranchKind);

/// The type of a connection: the outcome that it is taken for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize, Serialize)]
pub(crate) enum BranchKind {
    Default,
    ConditionMet,
    ConditionNotMet,
    Timeout,
    EventReceived,
}

const WAYS: [(&str, BranchKind); 5] = [
    ("default", BranchKind::Default),
    ("condition_met", BranchKind::ConditionMet),
    ("condition_not_met", BranchKind::ConditionNotMet),
    ("timeout", BranchKind::Timeout),
    ("event_received", BranchKind::EventReceived),
];

impl BranchKind {
    pub(crate) fn as_str(self) -> &'static str {
        WAYS.iter().find(|(_, way)| *way == self).map_or("default", |(name, _)| name)
    }

    /// The type of the steps that have this outcome; `None` if all have.
    fn belongs_to(self) -> Option<&'static str> {
        match self {
            Self::Default => None,
            Self::ConditionMet | Self::ConditionNotMet => Some("condition"),
            Self::Timeout | Self::EventReceived => Some("wait_for_event"),
        }
    }
}

/// A prefix of the service's own events in definitions, which custom events can't have.
pub(crate) const RESERVED_PREFIX: &str = "resend:";

/// The name of an event in definitions.
#[derive(Clone, Copy, Debug)]
pub(crate) enum EventName<'a> {
    /// A custom event, as `POST /events/send` names it.
    Custom(&'a str),
    /// An event of the service, such as `email.opened`; also with the reserved prefix.
    Service(&'a str),
}

impl<'a> EventName<'a> {
    pub(crate) fn as_str(self) -> &'a str {
        match self {
            Self::Custom(name) | Self::Service(name) => name,
        }
    }

    /// All names of the event.
    pub(crate) fn names(self) -> impl Iterator<Item = Cow<'a, str>> {
        let prefixed = match self {
            Self::Custom(_) => None,
            Self::Service(own) => Some(Cow::Owned(format!("{RESERVED_PREFIX}{own}"))),
        };
        std::iter::once(Cow::Borrowed(self.as_str())).chain(prefixed)
    }

    pub(crate) fn is(self, name: &str) -> bool {
        self.names().any(|own| own == name)
    }
}

impl Definition {
    /// Reads `steps` and `connections`, which are both present.
    pub(crate) fn take(
        fields: &mut Fields<'_>,
        problems: &mut Problems,
        ignored: &mut Ignored,
    ) -> Option<Self> {
        let before = problems.count();
        let steps = take_items(fields, "steps", problems).map(|items| {
            if items.is_empty() || items.len() > MOST_STEPS {
                problems
                    .wrong(|| format!("`steps` must hold 1 to {MOST_STEPS} steps; found {}.", items.len()));
            }
            read_all(&items, "steps", |json, at, pointer| Step::read(json, at, pointer, problems, ignored))
        });
        let connections = take_items(fields, "connections", problems).map(|items| {
            read_all(&items, "connections", |json, at, pointer| {
                Connection::read(json, at, pointer, problems, ignored)
            })
        });
        let definition = Self { steps: steps??, connections: connections?? };
        if problems.count() == before {
            graph::check(&definition, problems);
        }
        (problems.count() == before).then_some(definition)
    }

    /// The names of the events that trigger it.
    pub(crate) fn triggers(&self) -> impl Iterator<Item = &str> {
        self.steps.iter().filter_map(|step| match &step.action {
            Action::Trigger { event_name } => Some(event_name.as_str()),
            _ => None,
        })
    }

    /// The index of the first trigger for this event.
    pub(crate) fn trigger(&self, event: EventName<'_>) -> Option<usize> {
        self.steps
            .iter()
            .position(|step| matches!(&step.action, Action::Trigger { event_name } if event.is(event_name)))
    }

    /// The index of the step that follows on this branch; the default branch applies if the outcome has none.
    pub(crate) fn next(&self, place: usize, way: BranchKind) -> Option<usize> {
        let from = &self.steps.get(place)?.key;
        let to = |way: BranchKind| self.connections.iter().find(|one| one.from == *from && one.kind == way);
        let to = &to(way).or_else(|| to(BranchKind::Default))?.to;
        self.steps.iter().position(|step| step.key == *to)
    }
}

fn take_items<'a>(fields: &mut Fields<'a>, name: &str, problems: &mut Problems) -> Option<Vec<&'a RawValue>> {
    if !fields.has(name) {
        fields.take(name);
        problems.missing(fields.name(name));
        return None;
    }
    fields.take_array(name, problems)
}

/// Reads all items, continuing after invalid ones.
fn read_all<T>(
    items: &[&RawValue],
    name: &str,
    mut read: impl FnMut(&str, &str, String) -> Option<T>,
) -> Option<Vec<T>> {
    let read = items
        .iter()
        .enumerate()
        .map(|(place, item)| read(item.get(), &format!("{name}[{place}]"), format!("/{name}/{place}")));
    read.collect::<Vec<_>>().into_iter().collect()
}

impl Step {
    fn read(
        json: &str,
        at: &str,
        pointer: String,
        problems: &mut Problems,
        ignored: &mut Ignored,
    ) -> Option<Self> {
        let mut fields = Fields::read(json, format!("{at}."), pointer, problems)?;
        let key = fields.require_text("key", problems);
        let kind = fields.require_text("type", problems);
        let config = fields.take("config");
        if config.is_none() {
            problems.missing(fields.name("config"));
        }
        let (name, pointer) = (fields.name("config"), fields.pointer("config"));
        let action = kind.zip(config).and_then(|(kind, config)| {
            let Some(kind) = action::KINDS.iter().copied().find(|known| *known == kind) else {
                problems.wrong(|| {
                    let names = action::KINDS.map(|name| format!("`{name}`")).join(", ");
                    format!("`{}` must be one of {names}; found {}.", fields.name("type"), quoted(&kind))
                });
                return None;
            };
            let action = Action::read(kind, config, &name, pointer, problems, ignored)?;
            let Ok(config) = serde_json::from_str(config) else {
                problems.wrong(|| format!("`{}` is nested too deeply.", fields.name("config")));
                return None;
            };
            Some((kind, config, action))
        });
        fields.leave(ignored);
        let (kind, config, action) = action?;
        Some(Self { key: key?, kind, config, action })
    }
}

impl Connection {
    fn read(
        json: &str,
        at: &str,
        pointer: String,
        problems: &mut Problems,
        ignored: &mut Ignored,
    ) -> Option<Self> {
        let mut fields = Fields::read(json, format!("{at}."), pointer, problems)?;
        let from = fields.require_text("from", problems);
        let to = fields.require_text("to", problems);
        let kind = fields.take_word("type", &WAYS, problems);
        fields.leave(ignored);
        Some(Self { from: from?, to: to?, kind: kind.unwrap_or(BranchKind::Default) })
    }
}
