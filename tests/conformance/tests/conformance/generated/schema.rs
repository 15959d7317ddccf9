//! JSON values generated from a schema of the contract.

use proptest::{
    collection::{btree_map, vec},
    prelude::*,
    sample::select,
    strategy::Union,
    string::string_regex,
};
use serde_json::{Map, Value, json};

use crate::operations::Document;

/// A field that no schema defines: responses are open.
pub(super) const ADDED: &str = "x_added_later";

// Recursive schemas end at this depth.
const DEEPEST: usize = 8;

/// How strictly a generated response follows the contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fidelity {
    /// It follows the contract.
    Exact,
    /// Values that may be null may be missing, and values that may be missing may be null.
    NullOrMissing,
    /// Fields have scalars of other types than the contract states.
    WrongTypes,
}

/// Fields that keep their type: identifiers, secrets, and the fields of the envelope.
const KEPT: [&str; 10] = [
    "id",
    "contact",
    "contact_id",
    "token",
    "signing_secret",
    "data",
    "errors",
    "index",
    "has_more",
    "deleted",
];

/// Generates values from schemas.
#[derive(Clone, Copy)]
pub(super) struct Schemas<'a> {
    document: &'a Document,
    fidelity: Fidelity,
    depth: usize,
}

impl<'a> Schemas<'a> {
    pub(super) fn new(document: &'a Document, fidelity: Fidelity) -> Self {
        Self { document, fidelity, depth: 0 }
    }

    /// Generates values that the schema allows.
    pub(super) fn values(self, schema: &Value) -> BoxedStrategy<Value> {
        let schema = self.flat(schema);
        if let Some(value) = schema.get("const") {
            return Just(value.clone()).boxed();
        }
        if let Some(values) = schema.get("enum").and_then(Value::as_array) {
            return select(values.clone()).boxed();
        }
        for key in ["oneOf", "anyOf"] {
            if let Some(choices) = schema.get(key).and_then(Value::as_array) {
                return Union::new(choices.iter().map(|choice| self.values(&with(&schema, key, choice))))
                    .boxed();
            }
        }
        if let Some(condition) = schema.get("if") {
            return self.conditional(&schema, condition);
        }
        match schema.get("type") {
            Some(Value::Array(types)) => {
                let alternatives = types.iter().map(|kind| {
                    let mut one = schema.clone();
                    one.insert("type".to_owned(), kind.clone());
                    self.values(&Value::Object(one))
                });
                Union::new(alternatives).boxed()
            }
            Some(Value::String(kind)) => self.of_type(kind, &schema),
            _ if schema.contains_key("properties") => self.object(&schema),
            _ => anything(),
        }
    }

    /// Either the condition and its consequence, or the alternative, as far as it can be generated without the condition.
    fn conditional(self, schema: &Map<String, Value>, condition: &Value) -> BoxedStrategy<Value> {
        let mut rest = schema.clone();
        let (then, otherwise) = (rest.remove("then"), rest.remove("else"));
        rest.remove("if");
        let branch = |parts: &[Option<&Value>]| {
            let parts: Vec<_> =
                parts.iter().flatten().copied().cloned().chain([Value::Object(rest.clone())]).collect();
            self.values(&json!({ "allOf": parts }))
        };
        let validator = jsonschema_of(condition);
        let fits = branch(&[Some(condition), then.as_ref()]);
        let fits_not = branch(&[otherwise.as_ref()]);
        let fits_not = fits_not.prop_filter("the condition holds", move |value| !validator(value));
        prop_oneof![fits, fits_not].boxed()
    }

    fn of_type(self, kind: &str, schema: &Map<String, Value>) -> BoxedStrategy<Value> {
        let number = |key: &str, default: i64| schema.get(key).and_then(Value::as_i64).unwrap_or(default);
        match kind {
            "null" => Just(Value::Null).boxed(),
            "boolean" => any::<bool>().prop_map(Value::from).boxed(),
            "integer" => {
                (number("minimum", -9_000)..=number("maximum", 9_000_000_000)).prop_map(Value::from).boxed()
            }
            "number" => prop_oneof![
                (number("minimum", -9_000)..=number("maximum", 9_000_000_000)).prop_map(Value::from),
                (0.0..0.5_f64).prop_map(Value::from),
            ]
            .boxed(),
            "string" => text(schema).prop_map(Value::from).boxed(),
            "array" => {
                let most = usize::try_from(number("maxItems", 3)).unwrap().min(3);
                let least = usize::try_from(number("minItems", 0)).unwrap();
                let items = schema.get("items").map_or_else(anything, |items| self.deeper().values(items));
                vec(items, least..=most.max(least)).prop_map(Value::from).boxed()
            }
            "object" => self.object(schema),
            other => panic!("openapi.yaml: a schema has the type {other}"),
        }
    }

    fn object(self, schema: &Map<String, Value>) -> BoxedStrategy<Value> {
        let required = |name: &str| {
            let names = schema.get("required").and_then(Value::as_array);
            names.is_some_and(|names| names.iter().any(|required| required == name))
        };
        let mut fields: Vec<BoxedStrategy<Option<(String, Value)>>> = Vec::new();
        for (name, field) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
            // A key that must be absent has the schema `false`.
            if *field == json!(false) || self.depth > DEEPEST && !required(name) {
                continue;
            }
            let named = name.clone();
            let wrong = self.fidelity == Fidelity::WrongTypes && !KEPT.contains(&name.as_str());
            let values = self.deeper().values(field);
            let values = if wrong { prop_oneof![2 => values, 1 => scalar()].boxed() } else { values };
            let present = values.prop_map(move |value| Some((named.clone(), value)));
            let named = name.clone();
            fields.push(match (required(name), self.fidelity) {
                (true, Fidelity::Exact | Fidelity::WrongTypes) => present.boxed(),
                (false, Fidelity::Exact | Fidelity::WrongTypes) => {
                    prop_oneof![2 => present, 1 => Just(None)].boxed()
                }
                (true, Fidelity::NullOrMissing) => present
                    .prop_flat_map(|field| {
                        let nullable = field.as_ref().is_some_and(|(_, value)| value.is_null());
                        if nullable { select(vec![field, None]).boxed() } else { Just(field).boxed() }
                    })
                    .boxed(),
                (false, Fidelity::NullOrMissing) => {
                    prop_oneof![2 => present, 1 => Just(None), 1 => Just(Some((named, Value::Null)))].boxed()
                }
            });
        }
        let closed = schema.get("additionalProperties") == Some(&json!(false));
        match schema.get("additionalProperties").filter(|further| further.is_object()) {
            Some(further) => {
                let values = btree_map("[a-z_]{1,8}", self.deeper().values(further), 0..3);
                fields.push(Just(None).boxed());
                (fields, values)
                    .prop_map(|(fields, further)| {
                        Value::Object(further.into_iter().chain(fields.into_iter().flatten()).collect())
                    })
                    .boxed()
            }
            None => (fields, prop::bool::weighted(0.3))
                .prop_map(move |(fields, adds)| {
                    let mut object: Map<_, _> = fields.into_iter().flatten().collect();
                    if adds && !closed {
                        object.insert(ADDED.to_owned(), json!({ "a": [1, null] }));
                    }
                    Value::Object(object)
                })
                .boxed(),
        }
    }

    /// Returns the schema with references resolved and `allOf` merged.
    fn flat(self, schema: &Value) -> Map<String, Value> {
        let Some(written) = schema.as_object() else { return Map::new() };
        let mut flat = written.clone();
        let parts = match flat.remove("allOf") {
            Some(Value::Array(parts)) => parts,
            _ => Vec::new(),
        };
        let reference = flat.remove("$ref").map(|reference| json!({ "$ref": reference }));
        if let Some(reference) = &reference {
            lay_under(&mut flat, &self.flat(self.document.follow(reference)));
        }
        for part in parts {
            lay_under(&mut flat, &self.flat(&part));
        }
        flat
    }

    fn deeper(self) -> Self {
        Self { depth: self.depth + 1, ..self }
    }
}

/// Merges two schemas that both apply: common fields are merged, and of other keywords the first one is kept.
fn lay_under(first: &mut Map<String, Value>, second: &Map<String, Value>) {
    for (key, value) in second {
        match (first.get_mut(key), value) {
            (None, _) => {
                first.insert(key.clone(), value.clone());
            }
            (Some(Value::Object(fields)), Value::Object(more)) if key == "properties" => {
                for (name, field) in more {
                    let both = fields
                        .get(name)
                        .map_or_else(|| field.clone(), |own| json!({ "allOf": [own, field] }));
                    fields.insert(name.clone(), both);
                }
            }
            (Some(Value::Array(names)), Value::Array(more)) if key == "required" => {
                names.extend(more.iter().cloned());
            }
            _ => {}
        }
    }
}

/// Merges one alternative into the schema.
fn with(schema: &Map<String, Value>, key: &str, choice: &Value) -> Value {
    let mut rest = schema.clone();
    rest.remove(key);
    json!({ "allOf": [choice, rest] })
}

/// Whether a value matches a schema without references.
fn jsonschema_of(schema: &Value) -> impl Fn(&Value) -> bool + use<> {
    let validator = jsonschema::validator_for(schema).unwrap();
    move |value| validator.is_valid(value)
}

fn text(schema: &Map<String, Value>) -> BoxedStrategy<String> {
    let length =
        |key: &str| schema.get(key).and_then(Value::as_u64).and_then(|length| usize::try_from(length).ok());
    let (least, most) = (length("minLength").unwrap_or(0), length("maxLength").unwrap_or(40));
    match (schema.get("format").and_then(Value::as_str), schema.get("pattern").and_then(Value::as_str)) {
        (Some("uuid"), _) => regex("[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"),
        (Some("date-time"), _) => regex(
            r"20[0-9]{2}-(0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]{1,6})?Z",
        ),
        (Some("uri"), _) => regex("https?://[a-z]{1,9}\\.test(/[a-z0-9]{0,9}){0,3}(\\?[a-z]=[a-z0-9]{1,5})?"),
        (Some("email"), _) => regex("[a-z]{1,9}@[a-z]{1,9}\\.test"),
        (None, Some(pattern)) => regex(&unanchored(pattern)),
        (None, None) => {
            let characters = prop_oneof![4 => prop::char::range('a', 'z'), 1 => any::<char>()];
            vec(characters, least..=most.min(40).max(least))
                .prop_map(|text| text.into_iter().collect())
                .boxed()
        }
        (Some(other), _) => panic!("openapi.yaml: responses have the format {other}"),
    }
}

/// The generator creates whole strings, so anchors have no meaning. Digits and whitespace are as in ECMA 262.
fn unanchored(pattern: &str) -> String {
    let pattern = pattern.strip_prefix('^').unwrap_or(pattern);
    pattern.strip_suffix('$').unwrap_or(pattern).replace(r"\d", "[0-9]").replace(r"\s", r"\s\x{feff}")
}

fn regex(pattern: &str) -> BoxedStrategy<String> {
    string_regex(pattern).unwrap_or_else(|error| panic!("openapi.yaml: {pattern}: {error}")).boxed()
}

/// A scalar that matches few fields.
fn scalar() -> BoxedStrategy<Value> {
    select(vec![
        json!(true),
        json!(-1),
        json!(1e30),
        json!(70_000),
        json!(0.5),
        json!("12"),
        json!("true"),
        json!(""),
    ])
    .boxed()
}

fn anything() -> BoxedStrategy<Value> {
    select(vec![
        json!(null),
        json!(true),
        json!(7),
        json!(0.5),
        json!("text"),
        json!([1, "a"]),
        json!({ "a": { "b": [] } }),
    ])
    .boxed()
}
