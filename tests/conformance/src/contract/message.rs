//! Rules for the parts of a message: named strings (parameters and headers) and bodies.

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, header::CONTENT_TYPE};
use jsonschema::Validator;
use mail_parser::{MessageParser, MessagePart, MimeHeaders as _, PartType};
use serde_json::Value;

use super::document::Node;

const SHOWN: usize = 300;

/// The rule for one header, query parameter or path parameter.
pub(super) struct Text {
    pub(super) name: String,
    pub(super) required: bool,
    integer: bool,
    boolean: bool,
    schema: Arc<Validator>,
}

impl Text {
    pub(super) fn read(name: &str, node: &Node<'_>) -> Self {
        let schema = node.get("schema").unwrap_or_else(|| panic!("openapi.yaml: {name} has no schema"));
        Self {
            name: name.to_owned(),
            required: node.flag("required"),
            integer: schema.is_type("integer"),
            boolean: schema.is_type("boolean"),
            schema: schema.validator(),
        }
    }

    pub(super) fn breaches(&self, kind: &str, text: &str) -> Vec<String> {
        // A value of another type stays a string, and fails as one.
        let value = match (text.parse::<i64>(), text.parse::<bool>()) {
            (Ok(number), _) if self.integer => Value::from(number),
            (_, Ok(flag)) if self.boolean => Value::from(flag),
            _ => Value::from(text),
        };
        failures(&self.schema, &value).map(|failure| format!("{kind} {}: {failure}", self.name)).collect()
    }

    pub(super) fn breaches_among(&self, headers: &HeaderMap) -> Vec<String> {
        let mut found = headers.get_all(&self.name).iter();
        match (found.next(), found.next()) {
            (None, _) if self.required => vec![format!("header {}: is missing", self.name)],
            (None, _) => Vec::new(),
            (Some(_), Some(_)) => vec![format!("header {}: comes more than once", self.name)],
            (Some(value), None) => match value.to_str() {
                Ok(text) => self.breaches("header", text),
                Err(_) => vec![format!("header {}: is not ASCII: {value:?}", self.name)],
            },
        }
    }
}

/// The rule for a body: JSON, a form if the contract has one, or a form with files instead.
pub(super) struct Body {
    schema: Arc<Validator>,
    form: Option<Arc<Validator>>,
    multipart: bool,
}

impl Body {
    pub(super) fn read(node: &Node<'_>) -> Option<Self> {
        let content = node.get("content")?;
        let schema = |kind: &str| {
            Some(content.get(kind)?.get("schema").expect("a media type has a schema").validator())
        };
        let form = schema("application/x-www-form-urlencoded");
        if let Some(schema) = schema("multipart/form-data") {
            return Some(Self { schema, form, multipart: true });
        }
        // An operation that accepts a form accepts the same fields as JSON.
        let json = schema("application/json").or_else(|| schema("application/x-www-form-urlencoded"));
        Some(Self { schema: json?, form, multipart: false })
    }

    pub(super) fn breaches(&self, headers: &HeaderMap, body: &Bytes) -> Vec<String> {
        let mut breaches = Vec::new();
        let kind = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
        if let (Some(form), "application/x-www-form-urlencoded") = (&self.form, kind) {
            let pairs = url::form_urlencoded::parse(body).into_owned();
            let value = pairs.map(|(name, value)| (name, Value::from(value))).collect();
            return failures(form, &value).map(|failure| format!("form {failure}")).collect();
        }
        if self.multipart {
            let Some(value) = multipart(kind, body) else {
                return vec![format!("body is not a form of the type {kind:?}: {}", sample(body))];
            };
            return failures(&self.schema, &value).map(|failure| format!("part {failure}")).collect();
        }
        if kind.split(';').next().map(str::trim) != Some("application/json") {
            breaches.push(format!("header content-type: {kind:?} is not application/json"));
        }
        match serde_json::from_slice(body) {
            Ok(value) => {
                breaches.extend(failures(&self.schema, &value).map(|failure| format!("body {failure}")));
            }
            Err(error) => breaches.push(format!("body is not JSON: {error}: {}", sample(body))),
        }
        breaches
    }
}

/// The parts of a form with files: JSON if they are an object or an array, otherwise text.
fn multipart(kind: &str, body: &[u8]) -> Option<Value> {
    if !kind.starts_with("multipart/form-data;") {
        return None;
    }
    let message = [b"content-type: ", kind.as_bytes(), b"\r\n\r\n", body].concat();
    let message = MessageParser::default().parse(&message)?;
    let PartType::Multipart(parts) = &message.part(0)?.body else { return None };
    let value = |part: &MessagePart<'_>| {
        let name = part.content_disposition()?.attribute("name")?.to_owned();
        let text = String::from_utf8_lossy(part.contents());
        let json =
            serde_json::from_str(&text).ok().filter(|json: &Value| json.is_object() || json.is_array());
        Some((name, json.unwrap_or_else(|| text.into())))
    };
    parts
        .iter()
        .map(|part| value(message.part(*part)?))
        .collect::<Option<serde_json::Map<_, _>>>()
        .map(Value::Object)
}

/// The beginning of a body, for an error message.
pub(super) fn sample(body: &[u8]) -> String {
    shortened(&String::from_utf8_lossy(&body[..body.len().min(SHOWN)]))
}

fn failures<'a>(schema: &'a Validator, value: &'a Value) -> impl Iterator<Item = String> + 'a {
    schema.iter_errors(value).map(|error| {
        let path = error.instance_path().as_str();
        let place = if path.is_empty() { String::new() } else { format!("{path}: ") };
        format!("{place}{}", shortened(&error.to_string()))
    })
}

fn shortened(text: &str) -> String {
    let mut shown: String = text.chars().take(SHOWN).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    shown
}
