//! The input for updating a contact.

use std::collections::BTreeMap;

use super::property;
use crate::{
    problem::Validator,
    types::{Patch, Scalar},
};

patch! {
    /// Changes to a contact: [`Contacts::update`](super::Contacts::update). Fields that aren't set are left unchanged.
    ///
    /// ```
    /// use idempost::contacts::ContactPatch;
    ///
    /// let patch = ContactPatch::new().clear_last_name().property("city", "Paris").clear_property("plan");
    /// assert!(patch.check().is_ok());
    /// ```
    pub struct ContactPatch {
        /// Sets the address. If it belongs to another contact, the sandbox responds with 409; the specification doesn't define this.
        email: String,
        /// Sets the first name.
        first_name: String |
        /// Removes the first name.
        clear_first_name,
        /// Sets the last name.
        last_name: String |
        /// Removes the last name.
        clear_last_name,
        /// Sets whether the contact has unsubscribed from all broadcasts.
        unsubscribed: bool,
    } other {
        #[serde(skip_serializing_if = "BTreeMap::is_empty")]
        properties: BTreeMap<String, Patch<Scalar>>,
    }
}

impl ContactPatch {
    /// Sets a property; see [`NewContact::property`](super::NewContact::property).
    pub fn property(mut self, key: impl Into<String>, value: impl Into<Scalar>) -> Self {
        self.properties.insert(key.into(), Patch::Set(value.into()));
        self
    }

    /// Removes a property.
    pub fn clear_property(mut self, key: impl Into<String>) -> Self {
        self.properties.insert(key.into(), Patch::Clear);
        self
    }

    fn validate(&self, v: &mut Validator) {
        if let Some(email) = self.email.value() {
            v.field("email", |v| v.bare_address(email));
        }
        v.check_one_line("first_name", self.first_name.text());
        v.check_one_line("last_name", self.last_name.text());
        v.field("properties", |v| {
            for (key, value) in &self.properties {
                v.field(key, |v| property::check(v, key, value.value()));
            }
        });
        if self.is_untouched() && self.properties.is_empty() {
            v.report("required", "an update must set at least one field");
        }
    }
}

validate!(ContactPatch);

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_fields_that_were_set_or_cleared_are_sent() {
        let patch = ContactPatch::new()
            .email("b@x.test")
            .first_name("Ada")
            .clear_last_name()
            .unsubscribed(true)
            .property("age", 36.5)
            .clear_property("city");
        let expected = json!({
            "email": "b@x.test", "first_name": "Ada", "last_name": null, "unsubscribed": true,
            "properties": {"age": 36.5, "city": null},
        });
        assert_eq!(serde_json::to_value(&patch).unwrap(), expected);
        let cleared = serde_json::to_value(ContactPatch::new().clear_first_name()).unwrap();
        assert_eq!(cleared, json!({"first_name": null}));
        let nothing = ContactPatch::new().check().unwrap_err();
        assert_eq!((nothing[0].path.as_str(), nothing[0].code), ("", "required"));
        let wrong = ContactPatch::new().email("x").last_name("\0").clear_property("a b");
        assert_eq!(wrong.check().unwrap_err().len(), 3);
    }
}
