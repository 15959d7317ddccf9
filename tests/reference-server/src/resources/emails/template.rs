//! Sending with a stored template (`SPEC.md`, POST /emails, Template rules).

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Number, Value};
use uuid::Uuid;

use crate::model::template::version::Version;
use crate::model::value::{PropertyValue, ValueType};
use crate::resources::templates::{self, Lookup};
use crate::state::tenant::Tenant;
use crate::wire::paging::quoted;
use crate::wire::validation::{Fields, Ignored, Problems, kind};
use crate::wire::variable::check_key;

/// The maximum length of a string value in characters.
const MAX_VALUE: usize = 2_000;
/// The maximum number: 2^53 - 1.
const MAX_NUMBER: u64 = (1 << 53) - 1;

/// The template of an email, with its variables.
pub(crate) struct Use {
    /// The template's ID, even if the request names its alias.
    pub(crate) id: Option<Uuid>,
    /// The version to send; `None` if it is invalid, which was reported.
    pub(crate) version: Option<Arc<Version>>,
    pub(crate) variables: BTreeMap<String, PropertyValue>,
}

/// Reads `template`. Returns `None` if the email has none.
pub(crate) fn take(
    fields: &mut Fields<'_>,
    tenant: &Tenant,
    problems: &mut Problems,
    ignored: &mut Ignored,
) -> Option<Use> {
    let json = fields.take("template")?;
    for field in ["html", "text"] {
        if fields.take(field).is_some() {
            problems.wrong(|| {
                format!("`{}` and `{}` can't be sent together.", fields.name("template"), fields.name(field))
            });
        }
    }
    let at = format!("{}.", fields.name("template"));
    let pointer = fields.pointer("template");
    let mut used = Use { id: None, version: None, variables: BTreeMap::new() };
    let Some(mut template) = Fields::read(json, at, pointer, problems) else { return Some(used) };
    let before = problems.count();
    if let Some(json) = template.take("variables") {
        used.variables = take_variables(&template, json, problems);
    }
    if !template.has("id") {
        problems.missing(template.name("id"));
    }
    if let Some(id) = template.take_text("id", problems) {
        (used.id, used.version) = look_up(&template, tenant, &id, problems).unzip();
    }
    if let Some(version) = used.version.as_ref().filter(|_| problems.count() == before) {
        check_values(&template, version, &used.variables, problems);
    }
    template.report_ignored(ignored);
    Some(used)
}

fn look_up(
    template: &Fields<'_>,
    tenant: &Tenant,
    id: &str,
    problems: &mut Problems,
) -> Option<(Uuid, Arc<Version>)> {
    let reason = match templates::look_up(tenant, id) {
        Lookup::Published(id, version) => return Some((id, version)),
        Lookup::Draft => format!("the template {} was not published yet", quoted(id)),
        Lookup::Unknown => format!("there is no template {}", quoted(id)),
    };
    problems.wrong(|| {
        format!("`{}` must be the id or alias of a published template; {reason}.", template.name("id"))
    });
    None
}

/// Checks that every variable has a value of its type, or a numeric string where the type is `number`. The specification doesn't define
/// values of another type.
fn check_values(
    template: &Fields<'_>,
    version: &Version,
    given: &BTreeMap<String, PropertyValue>,
    problems: &mut Problems,
) {
    let missing = version.missing(given);
    if !missing.is_empty() {
        problems.wrong(|| {
            format!(
                "`{}` must have a value for every variable without a fallback; there is none for {}.",
                template.name("variables"),
                missing.join(", ")
            )
        });
    }
    for variable in &version.variables {
        let Some(value) = given.get(&variable.key) else { continue };
        let name = format!("{}.{}", template.name("variables"), variable.key);
        match (variable.r#type, value) {
            (ValueType::Number, PropertyValue::Text(text)) if let Ok(number) = text.parse() => {
                check_number(&name, &number, problems);
            }
            (r#type, value) if !r#type.fits(value) => problems.wrong(|| {
                format!(
                    "`{name}` must be a {}, as the template says; found a {}.",
                    r#type.name(),
                    value.kind()
                )
            }),
            _ => {}
        }
    }
}

fn take_variables(
    template: &Fields<'_>,
    json: &str,
    problems: &mut Problems,
) -> BTreeMap<String, PropertyValue> {
    let mut values = BTreeMap::new();
    let at = format!("{}.", template.name("variables"));
    let pointer = template.pointer("variables");
    let Some(mut variables) = Fields::read(json, at, pointer, problems) else { return values };
    for key in variables.names() {
        check_key(&template.name("variables"), &key, problems);
        let name = variables.name(&key);
        match variables.take_value(&key) {
            Some(Value::String(text)) if text.chars().count() > MAX_VALUE => problems.wrong(|| {
                format!("`{name}` must have at most {MAX_VALUE} characters; found {}.", text.chars().count())
            }),
            Some(Value::String(text)) => drop(values.insert(key, PropertyValue::Text(text))),
            Some(Value::Number(number)) => {
                check_number(&name, &number, problems);
                values.insert(key, PropertyValue::Number(number));
            }
            other => problems.wrong(|| {
                let found = other.map_or("null", |value| kind(&value.to_string()));
                format!("`{name}` must be a string or a number; found {found}.")
            }),
        }
    }
    values
}

fn check_number(name: &str, number: &Number, problems: &mut Problems) {
    let exceeds = match (number.as_u64(), number.as_i64()) {
        (Some(integer), _) => integer > MAX_NUMBER,
        (None, Some(_)) => false,
        #[expect(clippy::cast_precision_loss, reason = "2^53 - 1 is the greatest integer that fits")]
        (None, None) => number.as_f64().is_none_or(|float| float > MAX_NUMBER as f64),
    };
    if exceeds {
        problems.wrong(|| format!("`{name}` must not be greater than {MAX_NUMBER}; found {number}."));
    }
}
