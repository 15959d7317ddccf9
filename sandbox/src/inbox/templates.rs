//! Previews of templates with values: `GET /_/templates`, `GET /_/templates/{id_or_alias}/preview`, and the HTML alone under
//! `/_/templates/{id_or_alias}/preview.html`.

use std::collections::BTreeMap;
use std::sync::Arc;

use http::StatusCode;
use serde_json::Value;

use crate::inbox::mail::sanitized::{self, Colors};
use idempost_reference_server::content::inline_images::InlineImages;
use idempost_reference_server::delivery::broadcast::audience;
use idempost_reference_server::model::email::personalized::RecipientValues;
use idempost_reference_server::model::template::Template;
use idempost_reference_server::model::template::version::{Rendered, Variable, Version};
use idempost_reference_server::model::value::PropertyValue;
use idempost_reference_server::route::AccountCall;
use idempost_reference_server::store::table::Record as _;
use idempost_reference_server::wire::answers::HandlerResult;
use idempost_reference_server::wire::declared::{Input, Kind, words_of};
use idempost_reference_server::wire::described;
use idempost_reference_server::wire::paging::{Mode, Window, list, quote};
use idempost_reference_server::wire::problem::{self, Problem};
use idempost_reference_server::wire::view::view;

/// The parameters of a preview.
pub(super) const QUERY: &[Input] = &[
    Input::new("variables", Kind::Text, "The values of the variables: a JSON object of strings and numbers"),
    Input::new("to", Kind::Text, "An address whose contact fills in the recipient placeholders"),
    Input::new("version", Kind::Words(|| words_of(&VERSIONS)), "The version; by default `newest`"),
];
/// The versions, and whether it is the published one.
const VERSIONS: [(&str, bool); 2] = [("newest", false), ("published", true)];

/// `GET /_/templates`, mode A.
pub(super) fn index(call: &AccountCall<'_>) -> HandlerResult {
    let window = Window::read(call.query(), Mode::A)?;
    Ok(list(&call.tenant.templates.page(&window)?.show(TemplateItem)))
}

/// `GET /_/templates/{id_or_alias}/preview`: everything except the HTML.
pub(super) fn preview(call: &AccountCall<'_>) -> HandlerResult {
    let (version, variables, rendered) = render(call)?;
    let missing = version.missing_values(&variables);
    Ok(problem::json(StatusCode::OK, &TemplatePreview::new(&version, rendered, missing)))
}

/// `GET /_/templates/{id_or_alias}/preview.html`: the HTML, as an isolated document.
pub(super) fn html(call: &AccountCall<'_>) -> HandlerResult {
    let (_, _, rendered) = render(call)?;
    let (html, colors) = (rendered.bodies.html().unwrap_or_default(), Colors::read(&call.parameters())?);
    sanitized::respond(&html, colors, InlineImages::new, &call.cancellation())
}

/// The values of a template's variables.
type Variables = BTreeMap<String, PropertyValue>;

fn render(call: &AccountCall<'_>) -> Result<(Arc<Version>, Variables, Rendered), Problem> {
    let (tenant, parameters) = (&call.tenant, call.parameters());
    let variables = parameters.text("variables").map(parse_variables).transpose()?.unwrap_or_default();
    let is_published = parameters.one_of("version", &VERSIONS)?.unwrap_or(false);
    let template = tenant.templates.find(&call.parameter(0)).ok_or_else(Template::not_found)?;
    let version = match (&template.published, is_published) {
        (Some(published), true) => published,
        (None, true) => return Err(Problem::not_found("The template was never published.")),
        (_, false) => &template.newest,
    };
    let to = parameters.text("to").filter(|to| !to.is_empty());
    let contact = to.and_then(|to| tenant.contacts.find_by_key(to));
    let fallback = |key: &str| audience::fallback(tenant, key);
    let recipient = to.map(|to| RecipientValues {
        address: Some(to),
        contact: contact.as_deref(),
        link: None,
        fallback: &fallback,
    });
    let rendered = version.render(&variables, recipient).ok_or_else(|| {
        Problem::validation("With these values, the template exceeds the maximum size of an email.")
    })?;
    Ok((Arc::clone(version), variables, rendered))
}

fn parse_variables(json: &str) -> Result<Variables, Problem> {
    let wrong = |what: String| {
        Problem::validation(format!("`variables` must be an object of strings and numbers; {what}."))
    };
    let value: Value =
        serde_json::from_str(json).map_err(|error| wrong(format!("it can't be read: {error}")))?;
    let Value::Object(fields) = value else { return Err(wrong("found something else".to_owned())) };
    fields
        .into_iter()
        .map(|(key, value)| match value {
            Value::String(text) => Ok((key, PropertyValue::Text(text))),
            Value::Number(number) => Ok((key, PropertyValue::Number(number))),
            _ => Err(wrong(format!("{} is neither", quote(&key)))),
        })
        .collect()
}

described! {
    /// A template with its placeholders filled.
    pub(super) struct TemplatePreview<'a>(version: &'a Version, rendered: Rendered, without_value: Vec<String>) {
        object: &'static str = "preview",
        from: Option<&'a str> = version.from.as_ref().map(|from| &*from.text),
        subject: Option<String> = rendered.subject,
        text: Option<Arc<str>> = rendered.bodies.text(),
        html_size: usize = rendered.bodies.html().map_or(0, |html| html.len()),
        /// The variables for which a send has to provide a value.
        missing: Vec<String> = without_value,
    }
}

view! {
    described pub(super) TemplateItem of template: Template {
        id: template.id.to_string(),
        name: template.name,
        alias: template.alias,
        /// Whether the template has a published version.
        published: template.published.is_some(),
        /// Whether the template has a newer version.
        edited: template.published.as_ref().is_some_and(|published| published.id != template.newest.id),
        variables: template.newest.variables.iter().map(VariableItem).collect::<Vec<_>>(),
    }
}

view! {
    described pub(super) VariableItem of variable: Variable {
        key: variable.key,
        type: variable.r#type,
        fallback_value: variable.fallback_value,
    }
}
