//! The input of a request that creates or updates a template.

use std::sync::Arc;

use jiff::Timestamp;

use crate::context::Context;
use crate::model::email::recipients::{self, Mailbox};
use crate::model::template::Template;
use crate::model::template::version::Variable;
use crate::model::value::ValueType;
use crate::wire::paging::quoted;
use crate::wire::problem::Problem;
use crate::wire::validation::{Change, Fields, Ignored, Problems};
use crate::wire::variable::check_key;

/// The maximum number of variables of a template (`SPEC.md`, Limits).
const MAX_VARIABLES: usize = 50;

#[derive(Debug)]
pub(crate) struct TemplateInput {
    name: Option<String>,
    alias: Change<String>,
    from: Change<Mailbox>,
    subject: Change<String>,
    reply_to: Change<Vec<Mailbox>>,
    html: Option<String>,
    text: Change<String>,
    variables: Change<Vec<Variable>>,
}

impl TemplateInput {
    pub(super) fn to_create(context: &Context<'_>) -> Result<Self, Problem> {
        Self::read(context, &["name", "html"])
    }

    pub(super) fn to_update(context: &Context<'_>) -> Result<Self, Problem> {
        Self::read(context, &[])
    }

    fn read(context: &Context<'_>, needed: &[&str]) -> Result<Self, Problem> {
        let now = context.now();
        context.body(|fields, problems, ignored| {
            for field in needed.iter().filter(|field| !fields.has(field)) {
                problems.missing(fields.name(field));
            }
            if fields.take("react").is_some() {
                problems.wrong(|| {
                    "`react` exists only in client libraries, which render it; send the result as `html`."
                        .to_owned()
                });
            }
            let next_id = || context.state.next_id();
            Some(Self {
                name: take_filled(fields, "name", problems),
                alias: fields.take_change("alias", |fields| take_alias(fields, problems)),
                from: fields.take_change("from", |fields| take_from(fields, problems)),
                subject: fields.take_change("subject", |fields| {
                    fields.take_line("subject", problems).map(std::borrow::Cow::into_owned)
                }),
                reply_to: take_reply_to(fields, problems),
                html: take_filled(fields, "html", problems),
                text: fields.take_change("text", |fields| {
                    fields.take_text("text", problems).map(std::borrow::Cow::into_owned)
                }),
                variables: fields.take_change("variables", |fields| {
                    take_variables(fields, now, &next_id, problems, ignored)
                }),
            })
        })
    }

    /// Whether it creates a new version: every change except of the name and the alias does.
    pub(super) fn changes_content(&self) -> bool {
        !(self.from == Change::Keep
            && self.subject == Change::Keep
            && self.reply_to == Change::Keep
            && self.html.is_none()
            && self.text == Change::Keep
            && matches!(self.variables, Change::Keep))
    }

    /// Applies the input to a template.
    pub(super) fn apply(self, template: &mut Template) {
        if let Some(name) = self.name {
            template.name = name;
        }
        set(&mut template.alias, self.alias);
        let version = Arc::make_mut(&mut template.newest);
        set(&mut version.from, self.from);
        set(&mut version.subject, self.subject);
        set(&mut version.reply_to, self.reply_to);
        if let Some(html) = self.html {
            version.html = html;
        }
        set(&mut version.text, self.text);
        match self.variables {
            Change::Keep => {}
            Change::Clear => version.variables.clear(),
            Change::Set(variables) => version.variables = variables,
        }
    }
}

fn set<T>(field: &mut Option<T>, change: Change<T>) {
    match change {
        Change::Keep => {}
        Change::Clear => *field = None,
        Change::Set(value) => *field = Some(value),
    }
}

fn take_filled(fields: &mut Fields<'_>, field: &str, problems: &mut Problems) -> Option<String> {
    let text = fields.take_text(field, problems)?;
    if text.trim().is_empty() {
        problems.wrong(|| format!("`{}` must not be empty.", fields.name(field)));
        return None;
    }
    Some(text.into_owned())
}

/// An alias must be distinguishable from an ID, and appears in paths. The specification doesn't define its characters: any except control
/// characters.
fn take_alias(fields: &mut Fields<'_>, problems: &mut Problems) -> Option<String> {
    let alias = fields.take_line("alias", problems)?;
    if alias.trim().is_empty() || uuid::Uuid::try_parse(&alias).is_ok() {
        problems.wrong(|| {
            format!(
                "`{}` must be a name, neither empty nor a UUID; found {}.",
                fields.name("alias"),
                quoted(&alias)
            )
        });
        return None;
    }
    Some(alias.into_owned())
}

fn take_from(fields: &mut Fields<'_>, problems: &mut Problems) -> Option<Mailbox> {
    let text = fields.take_text("from", problems)?;
    match Mailbox::parse(&text) {
        Ok(mailbox) => Some(mailbox),
        Err(reason) => {
            problems.wrong(|| format!("`{}` {reason}: {}.", fields.name("from"), quoted(&text)));
            None
        }
    }
}

/// An empty list means no address: the specification doesn't define it, and a header can't be empty.
fn take_reply_to(fields: &mut Fields<'_>, problems: &mut Problems) -> Change<Vec<Mailbox>> {
    let reply_to = fields.take_change("reply_to", |fields| recipients::take(fields, "reply_to", problems));
    if matches!(&reply_to, Change::Set(list) if list.is_empty()) { Change::Clear } else { reply_to }
}

fn take_variables(
    fields: &mut Fields<'_>,
    now: Timestamp,
    next_id: &dyn Fn() -> uuid::Uuid,
    problems: &mut Problems,
    ignored: &mut Ignored,
) -> Option<Vec<Variable>> {
    let items = fields.take_array("variables", problems)?;
    if items.len() > MAX_VARIABLES {
        problems.wrong(|| {
            format!(
                "`{}` must have at most {MAX_VARIABLES} variables; found {}.",
                fields.name("variables"),
                items.len()
            )
        });
        // Each is compared with all before it, which is slow for a large number.
        return None;
    }
    let mut variables: Vec<Variable> = Vec::with_capacity(items.len());
    for (index, item) in items.iter().enumerate() {
        let Some(mut item) = Fields::read_element(item.get(), fields, "variables", index, problems) else {
            continue;
        };
        for field in ["key", "type"] {
            if !item.has(field) {
                problems.missing(item.name(field));
            }
        }
        let key = item.take_text("key", problems);
        if let Some(key) = &key {
            check_key(&item.name("key"), key, problems);
            if variables.iter().any(|known| known.key == **key) {
                problems.wrong(|| {
                    format!(
                        "`{}` must differ from the others; found {} again.",
                        item.name("key"),
                        quoted(key)
                    )
                });
            }
        }
        let r#type = item.take_word("type", ValueType::WORDS, problems);
        let fallback_value = r#type.and_then(|r#type| r#type.take_fallback(&mut item, "variable", problems));
        if let (Some(key), Some(r#type)) = (key, r#type) {
            let (id, key) = (next_id(), key.into_owned());
            variables.push(Variable { id, key, r#type, fallback_value, created_at: now });
        }
        item.report_ignored(ignored);
    }
    Some(variables)
}
