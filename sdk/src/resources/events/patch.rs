//! The input for updating a custom event.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use super::record::{PayloadType, validate_schema};
use crate::{
    problem::{Problems, Validator},
    types::fields::{Field, Input, Reader},
};

/// Changes to the schema of a custom event: [`Events::update`](super::Events::update).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct EventPatch {
    schema: Option<BTreeMap<String, PayloadType>>,
}

impl EventPatch {
    /// Removes the schema, so that payloads are unrestricted.
    pub fn clear_schema() -> Self {
        Self::default()
    }

    /// Replaces the schema.
    pub fn schema<K: Into<String>>(fields: impl IntoIterator<Item = (K, PayloadType)>) -> Self {
        Self { schema: Some(fields.into_iter().map(|(key, holds)| (key.into(), holds)).collect()) }
    }

    fn validate(&self, v: &mut Validator) {
        validate_schema(v, self.schema.as_ref());
    }
}

validate!(EventPatch);

impl Input for EventPatch {
    const FIELDS: &'static [Field] =
        &[Field::patch::<BTreeMap<String, PayloadType>>("schema", &["clear_schema"])];

    fn read(json: &Value) -> (Self, Result<(), Problems>) {
        Reader::input(json, |fields| Self { schema: fields.optional("schema") })
    }
}
