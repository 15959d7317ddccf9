//! A change of an event's schema.

use std::collections::BTreeMap;

use serde::Serialize;

use super::record::{PayloadType, validate_schema};
use crate::problem::Validator;

/// A change of an event's schema: [`Events::update`](super::Events::update).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct EventPatch {
    schema: Option<BTreeMap<String, PayloadType>>,
}

impl EventPatch {
    /// Removes the schema: the payload may be anything from then on.
    pub fn clear_schema() -> Self {
        Self::default()
    }

    /// Replaces the fields of the schema.
    pub fn schema<K: Into<String>>(fields: impl IntoIterator<Item = (K, PayloadType)>) -> Self {
        Self { schema: Some(fields.into_iter().map(|(key, holds)| (key.into(), holds)).collect()) }
    }

    fn validate(&self, v: &mut Validator) {
        validate_schema(v, self.schema.as_ref());
    }
}

validate!(EventPatch);
