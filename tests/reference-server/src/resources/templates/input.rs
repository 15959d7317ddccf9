//! The input of a request that creates or updates a template.

use std::collections::BTreeSet;
use std::sync::Arc;

use uuid::Uuid;

use crate::context::Context;
use crate::model::email::bodies::REACT_RULE;
use crate::model::email::recipients::{self, Mailbox};
use crate::model::template::Template;
use crate::model::template::version::Variable;
use crate::model::value::{PropertyValue, ValueType};
use crate::wire::{
    Change, Checked, Field, Problem, check_key, input, line, non_blank, quote, replace, string,
};

/// The maximum number of variables of a template (`docs/specification.md`, Limits).
const MAX_VARIABLES: usize = 50;

input! {
    #[derive(Debug)]
    pub(super) struct TemplateInput(fields, context: &Context<'_>) {
        name: Option<String> = fields.optional("name", non_blank),
        alias: Change<String> = fields.patch("alias", read_alias),
        from: Change<Mailbox> = fields.patch("from", Mailbox::read_sender),
        subject: Change<String> = fields.patch("subject", line),
        reply_to: Change<Vec<Mailbox>> = fields.patch("reply_to", recipients::read),
        html: Option<String> = fields.optional("html", non_blank),
        text: Change<String> = fields.patch("text", string),
        variables: Change<Vec<Variable>> = fields.patch("variables", |field| read_variables(field, context)),
    }
}

impl TemplateInput {
    pub(super) fn from_request(context: &Context<'_>, needed: &[&str]) -> Result<Self, Problem> {
        let mut input = context.body(|fields| {
            fields.require(needed);
            fields.forbid("react", REACT_RULE);
            Self::read(fields, context)
        })?;
        // An empty list means no address: the specification doesn't define it, and a header can't be empty.
        if matches!(&input.reply_to, Change::Set(list) if list.is_empty()) {
            input.reply_to = Change::Clear;
        }
        Ok(input)
    }

    /// Whether it creates a new version; otherwise it changes only the name or the alias.
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
        replace(&mut template.name, self.name);
        self.alias.apply(&mut template.alias);
        let version = Arc::make_mut(&mut template.newest);
        self.from.apply(&mut version.from);
        self.subject.apply(&mut version.subject);
        self.reply_to.apply(&mut version.reply_to);
        replace(&mut version.html, self.html);
        self.text.apply(&mut version.text);
        match self.variables {
            Change::Keep => {}
            Change::Clear => version.variables.clear(),
            Change::Set(variables) => version.variables = variables,
        }
    }
}

/// An alias must be distinguishable from an ID, and appears in paths. The specification doesn't define its characters: any except control
/// characters.
fn read_alias(field: &Field<'_>) -> Checked<String> {
    let alias = field.as_line()?;
    if alias.trim().is_empty() || Uuid::try_parse(&alias).is_ok() {
        let found = quote(&alias);
        return Err(field.reject(format_args!("must be a name, neither empty nor a UUID; found {found}")));
    }
    Ok(alias.into_owned())
}

input! {
    struct VariableInput(fields; requires "key", "type") {
        key: String = fields.required("key", |field| {
            let key = string(field)?;
            check_key(format_args!("`{}`", field.name()), &key, field.report())?;
            Ok(key)
        }),
        fallback: (ValueType, Option<PropertyValue>) = {
            let r#type = fields.required("type", |field| field.one_of(ValueType::WORDS));
            r#type.and_then(|r#type| {
                let value = fields.optional("fallback_value", |field| r#type.read_fallback(field, "variable"))?;
                Ok((r#type, value))
            })
        },
    }
}

fn read_variables(field: &Field<'_>, context: &Context<'_>) -> Checked<Vec<Variable>> {
    let items = field.items()?;
    if items.len() > MAX_VARIABLES {
        let found = items.len();
        return Err(field.reject(format_args!("must have at most {MAX_VARIABLES} variables; found {found}")));
    }
    let mut keys = BTreeSet::new();
    items.read(|_, item| {
        item.object(|fields| {
            let VariableInput { key, fallback: (r#type, fallback_value) } = VariableInput::read(fields)?;
            if !keys.insert(key.clone()) {
                let found = quote(&key);
                let rule = format_args!("must differ from the others; found {found} again");
                return Err(fields.reject("key", rule));
            }
            Ok(Variable {
                id: context.state.next_id(),
                key,
                r#type,
                fallback_value,
                created_at: context.now(),
            })
        })
    })
}
