//! Declared inputs of the sandbox's own routes: the parameters of their queries, and the fields of their JSON bodies.
//!
//! A route lists its inputs, and its handler reads them by these declarations. Reading an input that the route doesn't list panics in debug builds,
//! and a test of the sandbox sends each route values that its inputs don't allow. So the contract of these routes, which is generated from the
//! declarations, states what they read.

use serde_json::{Map, Value, json};

/// A parameter of a query, or a field of a body.
#[derive(Clone, Copy, Debug)]
pub struct Input {
    pub name: &'static str,
    pub kind: Kind,
    /// The description, without a period at the end.
    pub about: &'static str,
    pub is_required: bool,
}

/// The type of an input.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    Boolean,
    /// A whole number from the first to the second.
    Integer(u64, u64),
    /// A number from the first to the second.
    Number(f64, f64),
    /// One of these words.
    Words(fn() -> Vec<&'static str>),
    /// Any string, or one whose format only its reader knows.
    Text,
    /// A string of at most this many characters.
    Short(usize),
    /// A UUID.
    Id,
    Object,
    Any,
    /// An array of at most this many values; in a query, a repeated parameter.
    List(&'static Kind, usize),
    /// One of these types.
    Either(&'static [Kind]),
}

impl Input {
    pub const fn new(name: &'static str, kind: Kind, about: &'static str) -> Self {
        Self { name, kind, about, is_required: false }
    }

    #[must_use]
    pub const fn required(self) -> Self {
        Self { is_required: true, ..self }
    }

    /// The JSON schema of a body with these fields and no others.
    pub fn object_schema(fields: &[Self]) -> Value {
        let described = fields.iter().map(|field| {
            let mut schema = field.kind.schema();
            schema["description"] = format!("{}.", field.about).into();
            (field.name.to_owned(), schema)
        });
        let required = fields.iter().filter(|field| field.is_required).map(|field| field.name);
        json!({
            "type": "object",
            "required": required.collect::<Vec<_>>(),
            "properties": described.collect::<Map<_, _>>(),
            "additionalProperties": false,
        })
    }
}

impl Kind {
    /// The JSON schema of a value.
    pub fn schema(&self) -> Value {
        match self {
            Self::Boolean => json!({"type": "boolean"}),
            Self::Integer(min, u64::MAX) => json!({"type": "integer", "minimum": min}),
            Self::Integer(min, max) => json!({"type": "integer", "minimum": min, "maximum": max}),
            Self::Number(min, max) => json!({"type": "number", "minimum": min, "maximum": max}),
            Self::Words(words) => json!({"type": "string", "enum": words()}),
            Self::Text => json!({"type": "string"}),
            Self::Short(max) => json!({"type": "string", "maxLength": max}),
            Self::Id => json!({"type": "string", "format": "uuid"}),
            Self::Object => json!({"type": "object"}),
            Self::Any => json!({}),
            Self::List(item, usize::MAX) => json!({"type": "array", "items": item.schema()}),
            Self::List(item, max) => json!({"type": "array", "items": item.schema(), "maxItems": max}),
            Self::Either(kinds) => json!({"oneOf": kinds.iter().map(Self::schema).collect::<Vec<_>>()}),
        }
    }
}

/// The words of a table of words and their meanings.
pub fn words_of<T>(table: &[(&'static str, T)]) -> Vec<&'static str> {
    table.iter().map(|(word, _)| *word).collect()
}
