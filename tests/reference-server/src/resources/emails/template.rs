//! Sending with a stored template (`docs/specification.md`, POST /emails, Template rules).

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde_json::{Number, Value};
use uuid::Uuid;

use crate::model::template::version::Version;
use crate::model::value::{PropertyValue, ValueType};
use crate::resources::templates::{self, Lookup};
use crate::state::tenant::Tenant;
use crate::wire::{Checked, Field, Fields, check_key, quote};

/// The maximum length of a string value in characters.
const MAX_VALUE: usize = 2_000;
/// The maximum number: 2^53 - 1.
const MAX_NUMBER: u64 = (1 << 53) - 1;

/// The published template of an email, with the values of its variables.
pub struct TemplateUse {
    /// The template's ID, even if the request names its alias.
    pub id: Uuid,
    pub version: Arc<Version>,
    pub variables: BTreeMap<String, PropertyValue>,
}

impl TemplateUse {
    /// Reads `template`, which replaces `html` and `text`.
    pub fn read(fields: &mut Fields<'_>, tenant: &Tenant) -> Checked<Option<Self>> {
        if fields.has("template") {
            let template = fields.name("template");
            for body in ["html", "text"] {
                if fields.has(body) {
                    let body = fields.name(body);
                    fields.report().report(format_args!("`{template}` and `{body}` can't be sent together."));
                }
                fields.skip(body);
            }
        }
        fields.optional("template", |template| template.object(|fields| Self::read_object(fields, tenant)))
    }

    fn read_object(fields: &mut Fields<'_>, tenant: &Tenant) -> Checked<Self> {
        let variables = fields.optional("variables", read_variables);
        let found = fields.required("id", |field| read_template(field, tenant));
        let (variables, (id, version)) = (variables?.unwrap_or_default(), found?);
        check_values(fields, &version, &variables)?;
        Ok(Self { id, version, variables })
    }
}

fn read_template(field: &Field<'_>, tenant: &Tenant) -> Checked<(Uuid, Arc<Version>)> {
    let id = field.text()?;
    let reason = match templates::find_published(tenant, &id) {
        Lookup::Published(id, version) => return Ok((id, version)),
        Lookup::Draft => format!("the template {} was not published yet", quote(&id)),
        Lookup::Unknown => format!("there is no template {}", quote(&id)),
    };
    Err(field.reject(format_args!("must be the id or alias of a published template; {reason}")))
}

/// Checks that every variable has a value of its type, or a numeric string where the type is `number`. The specification doesn't define
/// values of another type.
fn check_values(
    template: &Fields<'_>,
    version: &Version,
    given: &BTreeMap<String, PropertyValue>,
) -> Checked<()> {
    let mut checked = Ok(());
    let missing = version.missing_values(given);
    if !missing.is_empty() {
        let missing = missing.join(", ");
        checked = Err(template.reject(
            "variables",
            format_args!(
                "must have a value for every variable without a fallback; there is none for {missing}"
            ),
        ));
    }
    for variable in &version.variables {
        let Some(value) = given.get(&variable.key) else { continue };
        let reject = |rule: fmt::Arguments<'_>| {
            let name = template.name("variables");
            Err(template.report().report(format_args!("`{name}.{}` {rule}.", variable.key)))
        };
        let number = match (variable.r#type, value) {
            (ValueType::Number, PropertyValue::Text(text)) => text.parse().ok(),
            _ => None,
        };
        let fits = match (number, variable.r#type) {
            (Some(number), _) => check_number(&number, reject),
            (None, r#type) if !r#type.matches(value) => {
                let (wanted, found) = (r#type.as_str(), value.kind());
                reject(format_args!("must be a {wanted}, as the template says; found a {found}"))
            }
            _ => Ok(()),
        };
        checked = checked.and(fits);
    }
    checked
}

fn read_variables(field: &Field<'_>) -> Checked<BTreeMap<String, PropertyValue>> {
    let variables = field.object(|variables| {
        variables.each(|key, variable| {
            let named = check_key(format_args!("Keys of `{}`", field.name()), key, field.report());
            let value = match variable.value() {
                Some(Value::String(text)) => {
                    let length = text.chars().count();
                    if length > MAX_VALUE {
                        let rule = format_args!("must have at most {MAX_VALUE} characters; found {length}");
                        return Err(variable.reject(rule));
                    }
                    PropertyValue::Text(text)
                }
                Some(Value::Number(number)) => {
                    check_number(&number, |rule| Err(variable.reject(rule)))?;
                    PropertyValue::Number(number)
                }
                _ => return Err(variable.reject_type("a string or a number")),
            };
            named.map(|()| (key.to_owned(), value))
        })
    });
    Ok(variables?.into_iter().collect())
}

fn check_number(number: &Number, reject: impl FnOnce(fmt::Arguments<'_>) -> Checked<()>) -> Checked<()> {
    let exceeds = match (number.as_u64(), number.as_i64()) {
        (Some(integer), _) => integer > MAX_NUMBER,
        (None, Some(_)) => false,
        #[expect(clippy::cast_precision_loss, reason = "2^53 - 1 is the greatest integer that fits")]
        (None, None) => number.as_f64().is_none_or(|float| float > MAX_NUMBER as f64),
    };
    if exceeds {
        return reject(format_args!("must not be greater than {MAX_NUMBER}; found {number}"));
    }
    Ok(())
}
