//! The input of a contact property creation.

use serde_json::Value;

use crate::{
    problem::{Problems, Validator},
    resources::shared::PropertyType,
    types::fields::{Field, Input, Reader},
};

keyed_input! {
    /// A contact property to create with [`ContactProperties::create`](super::ContactProperties::create). Its key and type can't be changed
    /// later.
    ///
    /// ```
    /// use idempost::contact_properties::NewContactProperty;
    ///
    /// let city = NewContactProperty::string("city").fallback("your town");
    /// let orders = NewContactProperty::number("orders").fallback(0);
    /// # let _ = (city, orders);
    /// ```
    pub struct NewContactProperty(PropertyType);
    /// Creates a string property. The key has ASCII letters, digits and `_`, at most 50 characters.
    string StringProperty;
    /// Creates a number property. The key has ASCII letters, digits and `_`, at most 50 characters.
    number NumberProperty;
}

impl NewContactProperty {
    fn validate(&self, v: &mut Validator) {
        if self.key.is_empty() {
            v.report_at("key", "required", "`key` is required");
        } else {
            v.field("key", |v| v.key("property", &self.key));
        }
    }
}

validate!(NewContactProperty);

impl Input for NewContactProperty {
    const FIELDS: &'static [Field] = &[
        Field::required::<String>("key"),
        Field::required::<PropertyType>("type"),
        Field::optional::<Value>("fallback_value"),
    ];

    fn read(json: &Value) -> (Self, Result<(), Problems>) {
        Reader::input(json, Self::read_fields)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_fallback_has_the_type_of_the_property() {
        let wire = |property: NewContactProperty| serde_json::to_value(property).unwrap();
        let city = wire(NewContactProperty::string("city").fallback("x").into());
        assert_eq!(city, json!({ "key": "city", "type": "string", "fallback_value": "x" }));
        let orders = wire(NewContactProperty::number("orders").fallback(0).into());
        assert_eq!(orders, json!({ "key": "orders", "type": "number", "fallback_value": 0 }));
        assert_eq!(wire(NewContactProperty::string("a").into()), json!({ "key": "a", "type": "string" }));
    }

    #[test]
    fn a_key_has_at_most_fifty_allowed_characters_and_is_not_reserved() {
        let code = |key: &str| {
            let property: NewContactProperty = NewContactProperty::string(key).into();
            property.check().err().map(|problems| problems[0].code)
        };
        assert_eq!(code(&"x".repeat(50)), None);
        assert_eq!(code(&"x".repeat(51)), Some("length"));
        assert_eq!(code(""), Some("required"));
        assert_eq!(code("a-b"), Some("charset"));
        assert_eq!(code("EMAIL"), Some("reserved"));
    }
}
