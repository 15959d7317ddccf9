//! The actions of steps, with their configuration.

use jiff::SignedDuration;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

use crate::model::automation::duration;
use crate::model::automation::rule::{Rule, check_origin};
use crate::model::email::recipients::Mailbox;
use crate::store::size::{Size, heap_size};
use crate::wire::paging::quoted;
use crate::wire::validation::{Change, Fields, Ignored, Problems, kind};

/// The step types.
pub(crate) const KINDS: [&str; 8] = [
    "trigger",
    "send_email",
    "delay",
    "wait_for_event",
    "condition",
    "contact_update",
    "contact_delete",
    "add_to_segment",
];

/// The action of a step.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) enum Action {
    Trigger { event_name: String },
    SendEmail(EmailAction),
    Delay(SignedDuration),
    WaitForEvent { event_name: String, timeout: Option<SignedDuration>, filter: Option<Rule> },
    Condition(Rule),
    ContactUpdate(Vec<(Part, ValueSource)>),
    ContactDelete,
    AddToSegment(Uuid),
}

/// Sends an email from a template.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct EmailAction {
    /// The template's ID or alias.
    pub(crate) template: String,
    pub(crate) variables: Vec<(String, ValueSource)>,
    pub(crate) subject: Option<String>,
    pub(crate) from: Option<String>,
    pub(crate) reply_to: Option<String>,
}

/// The field of a contact that changes.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub(crate) enum Part {
    FirstName,
    LastName,
    Unsubscribed,
    Property(String),
}

/// A value, or the name of a variable of the run.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub(crate) enum ValueSource {
    Fixed(Value),
    Var(String),
}

impl Size for Action {
    fn heap_size(&self) -> usize {
        match self {
            Self::Trigger { event_name } => event_name.heap_size(),
            Self::SendEmail(email) => email.heap_size(),
            Self::WaitForEvent { event_name, timeout: _, filter } => {
                event_name.heap_size() + filter.heap_size()
            }
            Self::Condition(rule) => rule.heap_size(),
            Self::ContactUpdate(parts) => parts.heap_size(),
            Self::Delay(_) | Self::ContactDelete | Self::AddToSegment(_) => 0,
        }
    }
}

heap_size!(EmailAction { template, variables, subject, from, reply_to });

impl Size for Part {
    fn heap_size(&self) -> usize {
        match self {
            Self::FirstName | Self::LastName | Self::Unsubscribed => 0,
            Self::Property(key) => key.heap_size(),
        }
    }
}

impl Size for ValueSource {
    fn heap_size(&self) -> usize {
        match self {
            Self::Fixed(value) => value.heap_size(),
            Self::Var(name) => name.heap_size(),
        }
    }
}

impl Action {
    pub(crate) fn read(
        kind: &str,
        config: &str,
        name: &str,
        pointer: String,
        problems: &mut Problems,
        ignored: &mut Ignored,
    ) -> Option<Self> {
        if kind == "condition" {
            return Rule::read(config, name, pointer, problems, ignored).map(Self::Condition);
        }
        let mut fields = Fields::read(config, format!("{name}."), pointer, problems)?;
        let action = match kind {
            "trigger" => {
                fields.require_text("event_name", problems).map(|event_name| Self::Trigger { event_name })
            }
            "send_email" => EmailAction::take(&mut fields, problems, ignored).map(Self::SendEmail),
            "delay" => {
                let text = fields.require_text("duration", problems);
                text.and_then(|text| read_duration(&fields, "duration", &text, problems)).map(Self::Delay)
            }
            "wait_for_event" => take_wait(&mut fields, problems, ignored),
            "contact_update" => take_update(&mut fields, problems, ignored),
            "contact_delete" => Some(Self::ContactDelete),
            _ => {
                let text = fields.require_text("segment_id", problems);
                text.and_then(|text| {
                    let id = Uuid::try_parse(&text).ok();
                    if id.is_none() {
                        problems.wrong(|| {
                            format!(
                                "`{}` must be a UUID; found {}.",
                                fields.name("segment_id"),
                                quoted(&text)
                            )
                        });
                    }
                    id.map(Self::AddToSegment)
                })
            }
        };
        fields.report_ignored(ignored);
        action
    }
}

fn read_duration(
    fields: &Fields<'_>,
    name: &str,
    text: &str,
    problems: &mut Problems,
) -> Option<SignedDuration> {
    match duration::read(text) {
        Ok(duration) => Some(duration),
        Err(rule) => {
            problems.wrong(|| format!("`{}` {rule}; found {}.", fields.name(name), quoted(text)));
            None
        }
    }
}

fn take_wait(fields: &mut Fields<'_>, problems: &mut Problems, ignored: &mut Ignored) -> Option<Action> {
    let event_name = fields.require_text("event_name", problems);
    let timeout = match fields.take_text("timeout", problems) {
        Some(text) => Some(read_duration(fields, "timeout", &text, problems)?),
        None => None,
    };
    let (name, pointer) = (fields.name("filter_rule"), fields.pointer("filter_rule"));
    let filter = match fields.take("filter_rule") {
        Some(json) => Some(Rule::read(json, &name, pointer, problems, ignored)?),
        None => None,
    };
    Some(Action::WaitForEvent { event_name: event_name?, timeout, filter })
}

fn take_update(fields: &mut Fields<'_>, problems: &mut Problems, ignored: &mut Ignored) -> Option<Action> {
    let before = problems.count();
    let mut parts = Vec::new();
    for (name, part) in [("first_name", Part::FirstName), ("last_name", Part::LastName)] {
        if let Some(given) = ValueSource::take(fields, name, "a string, null", problems, ignored, |value| {
            value.is_string() || value.is_null()
        }) {
            parts.push((part, given));
        }
    }
    if let Some(given) =
        ValueSource::take(fields, "unsubscribed", "a boolean", problems, ignored, Value::is_boolean)
    {
        parts.push((Part::Unsubscribed, given));
    }
    let (name, pointer) = (fields.name("properties"), fields.pointer("properties"));
    if let Some(json) = fields.take("properties")
        && let Some(mut properties) = Fields::read(json, format!("{name}."), pointer, problems)
    {
        for key in properties.names() {
            let what = "a string, a number, a boolean, null";
            let scalar = |value: &Value| !value.is_array() && !value.is_object();
            if let Some(given) = ValueSource::take(&mut properties, &key, what, problems, ignored, scalar) {
                parts.push((Part::Property(key), given));
            }
        }
    }
    (problems.count() == before).then_some(Action::ContactUpdate(parts))
}

impl EmailAction {
    fn take(fields: &mut Fields<'_>, problems: &mut Problems, ignored: &mut Ignored) -> Option<Self> {
        let before = problems.count();
        let subject = fields.take_line("subject", problems).map(Into::into);
        let from = take_mailbox(fields, "from", problems);
        let reply_to = take_mailbox(fields, "reply_to", problems);
        let (name, pointer) = (fields.name("template"), fields.pointer("template"));
        let Some(json) = fields.take("template") else {
            problems.missing(name);
            return None;
        };
        let mut template = Fields::read(json, format!("{name}."), pointer, problems)?;
        let id = template.require_text("id", problems);
        let mut variables = Vec::new();
        let (name, pointer) = (template.name("variables"), template.pointer("variables"));
        if let Some(json) = template.take("variables")
            && let Some(mut given) = Fields::read(json, format!("{name}."), pointer, problems)
        {
            for key in given.names() {
                let right = |value: &Value| value.is_string() || value.is_number();
                if let Some(value) =
                    ValueSource::take(&mut given, &key, "a string, a number", problems, ignored, right)
                {
                    variables.push((key, value));
                }
            }
        }
        template.report_ignored(ignored);
        let template = id?;
        (problems.count() == before).then_some(Self { template, variables, subject, from, reply_to })
    }
}

fn take_mailbox(fields: &mut Fields<'_>, name: &str, problems: &mut Problems) -> Option<String> {
    let text = fields.take_text(name, problems)?;
    match Mailbox::parse(&text) {
        Ok(_) => Some(text.into_owned()),
        Err(reason) => {
            problems.wrong(|| format!("`{}` {reason}: {}.", fields.name(name), quoted(&text)));
            None
        }
    }
}

impl ValueSource {
    /// Reads a value that may be null or `{"var": …}`; `what` names the other accepted types.
    fn take(
        fields: &mut Fields<'_>,
        name: &str,
        what: &str,
        problems: &mut Problems,
        ignored: &mut Ignored,
        right: impl Fn(&Value) -> bool,
    ) -> Option<Self> {
        let (at, pointer) = (fields.name(name), fields.pointer(name));
        let json = match fields.take_change(name, |fields| fields.take(name)) {
            Change::Keep => return None,
            Change::Clear => "null",
            Change::Set(json) => json,
        };
        if json.starts_with('{') {
            let mut fields = Fields::read(json, format!("{at}."), pointer, problems)?;
            let var = fields.require_text("var", problems);
            if let Some(var) = &var {
                check_origin(&fields.name("var"), var, problems);
            }
            fields.report_ignored(ignored);
            return var.map(Self::Var);
        }
        let value = serde_json::from_str(json).ok().filter(|value| right(value));
        if value.is_none() {
            problems.wrong(|| format!("`{at}` must be {what} or {{\"var\": …}}; found {}.", kind(json)));
        }
        value.map(Self::Fixed)
    }
}
