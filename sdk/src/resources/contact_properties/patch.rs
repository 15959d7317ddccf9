//! The input of a contact property update.

use serde_json::Value;

use crate::problem::Validator;

patch! {
    /// Changes to a contact property: [`ContactProperties::update`](super::ContactProperties::update). Only its fallback can change.
    pub struct ContactPropertyPatch {
        /// Sets the fallback, a string or a number. The service rejects a type other than the property's.
        fallback_value: Value |
        /// Removes the fallback.
        clear_fallback_value,
    }
}

impl ContactPropertyPatch {
    fn validate(&self, v: &mut Validator) {
        if self.fallback_value.value().is_some_and(|value| !value.is_string() && !value.is_number()) {
            v.report_at("fallback_value", "type", "`fallback_value` must be a string or a number");
        }
    }
}

validate!(ContactPropertyPatch);

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_fallback_is_a_string_or_a_number_or_cleared() {
        let patch = serde_json::to_value(ContactPropertyPatch::new().clear_fallback_value()).unwrap();
        assert_eq!(patch, json!({ "fallback_value": null }));
        assert!(ContactPropertyPatch::new().fallback_value(true).check().is_err());
        assert!(ContactPropertyPatch::new().fallback_value("x").check().is_ok());
    }
}
