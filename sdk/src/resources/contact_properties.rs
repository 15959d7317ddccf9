//! Contact properties: additional data about contacts, for use in broadcasts.

use serde_json::Value;

use crate::{
    call::Call,
    client::List,
    problem::{Problems, Validator},
    resources::shared::{Deleted, Reference},
    types::{
        ContactPropertyId, Timestamp,
        fields::{Field, Input, Reader},
    },
};

pub use super::shared::PropertyType;

keyed_input! {
    /// A contact property to create with [`ContactProperties::create`]. Its key and type can't be changed later.
    ///
    /// ```
    /// use idempost::contact_properties::NewContactProperty;
    ///
    /// let city = NewContactProperty::string("city").fallback("your town");
    /// let orders = NewContactProperty::number("orders").fallback(0);
    /// # let _ = (city, orders);
    /// ```
    pub struct NewContactProperty(PropertyType);
    /// Creates a string property. The key consists of ASCII letters, digits and `_`, at most 50 characters.
    string StringProperty;
    /// Creates a number property. The key consists of ASCII letters, digits and `_`, at most 50 characters.
    number NumberProperty;
}

impl NewContactProperty {
    fn validate(&self, v: &mut Validator) {
        if self.key.is_empty() {
            v.report_at("key", "required", "`key` is required");
        } else {
            v.field("key", |v| v.check_key("property", &self.key));
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

patch! {
    /// Changes to a contact property: [`ContactProperties::update`]. Only the fallback can change.
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

record! {
    /// A contact property (`docs/specification.md`, Contact property).
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

operations! {
    /// The operations on contact properties: [`Client::contact_properties`](crate::Client::contact_properties).
    ///
    /// ```
    /// # async fn example(client: &idempost::Client) -> idempost::Result<()> {
    /// use idempost::contact_properties::NewContactProperty;
    ///
    /// let orders = NewContactProperty::number("orders").fallback(0);
    /// let id = client.contact_properties().create(orders).await?.id;
    /// println!("{}", client.contact_properties().get(id).await?.key);
    /// # Ok(())
    /// # }
    /// ```
    pub struct ContactProperties;

    /// Returns the operations on contact properties.
    accessor contact_properties;

    /// Lists contact properties, newest first: `GET /contact-properties`, 20 per page by default.
    fn list() -> List<ContactProperty> = GET["/contact-properties"];

    /// Gets a contact property: `GET /contact-properties/{id}`.
    fn get(id: ContactPropertyId) -> Call<ContactProperty> = GET["/contact-properties/" id];

    /// Updates the fallback of a contact property: `PATCH /contact-properties/{id}`.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) if the fallback is neither a string nor a number, before anything is sent.
    fn update(id: ContactPropertyId) with (patch: &ContactPropertyPatch) -> Call<Reference<ContactPropertyId>>
        = PATCH["/contact-properties/" id];

    /// Deletes a contact property and its values in all contacts: `DELETE /contact-properties/{id}`.
    fn delete(id: ContactPropertyId) -> Call<Deleted<ContactPropertyId>> = DELETE["/contact-properties/" id];

    /// Creates a contact property: `POST /contact-properties`.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) with all problems that [`NewContactProperty::check`] finds, before anything is sent.
    fn create(property: NewContactProperty) with input (property) -> Call<Reference<ContactPropertyId>>
        = POST["/contact-properties"];
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

    #[test]
    fn a_fallback_is_a_string_or_a_number_or_cleared() {
        let patch = serde_json::to_value(ContactPropertyPatch::new().clear_fallback_value()).unwrap();
        assert_eq!(patch, json!({ "fallback_value": null }));
        assert!(ContactPropertyPatch::new().fallback_value(true).check().is_err());
        assert!(ContactPropertyPatch::new().fallback_value("x").check().is_ok());
    }
}
