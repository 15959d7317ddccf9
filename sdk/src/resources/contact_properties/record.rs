//! Contact properties as the service returns them.

use serde_json::Value;

use crate::{
    resources::shared::PropertyType,
    types::{ContactPropertyId, Timestamp},
};

record! {
    /// A contact property (`SPEC.md`, Contact property).
    pub struct ContactProperty {
        /// The property's ID.
        pub id: ContactPropertyId,
        /// The property's key.
        pub key: String,
        /// The type of its values.
        pub kind as "type": Option<PropertyType>,
        /// The value for contacts without one: a string or a number.
        pub fallback_value: Option<Value>,
        /// When the property was created.
        pub created_at: Option<Timestamp>,
    }
}

items!(ContactProperty);
