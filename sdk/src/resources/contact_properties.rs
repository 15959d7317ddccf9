//! Contact properties: what else can be known of a contact, and put into a broadcast.

use http::Method;
use serde::{Deserialize, Serialize};

use super::{Deleted, Reference};
use crate::{
    call::{Call, Operation},
    client::{Client, Item, List},
    problem::Validator,
    types::{ContactPropertyId, Patch, Timestamp},
};

/// A property to be made with [`ContactProperties::create`]. Its key and its type can't be changed later.
///
/// A text and a number are made differently, so that a fallback always is of the property's type.
///
/// ```
/// use posthaste::NewContactProperty;
///
/// let city = NewContactProperty::string("city").fallback("your town");
/// let orders = NewContactProperty::number("orders").fallback(0);
/// # let _ = (city, orders);
/// ```
#[derive(Clone, Debug, Serialize)]
pub struct NewContactProperty {
    key: String,
    r#type: PropertyType,
    #[serde(skip_serializing_if = "Option::is_none")]
    fallback_value: Option<serde_json::Value>,
}

/// A property that holds a text: [`NewContactProperty::string`].
#[derive(Clone, Debug)]
pub struct StringProperty(NewContactProperty);

/// A property that holds a number: [`NewContactProperty::number`].
#[derive(Clone, Debug)]
pub struct NumberProperty(NewContactProperty);

impl NewContactProperty {
    /// A property that holds a text. The key is made of ASCII letters, digits and `_`, at most 50.
    pub fn string(key: impl Into<String>) -> StringProperty {
        StringProperty(Self { key: key.into(), r#type: PropertyType::String, fallback_value: None })
    }

    /// A property that holds a number. The key is made of ASCII letters, digits and `_`, at most 50.
    pub fn number(key: impl Into<String>) -> NumberProperty {
        NumberProperty(Self { key: key.into(), r#type: PropertyType::Number, fallback_value: None })
    }

    fn validate(&self, v: &mut Validator) {
        if self.key.is_empty() {
            v.report_at("key", "required", "`key` is required");
        } else {
            v.field("key", |v| v.key("property", &self.key));
        }
    }
}

validate!(NewContactProperty);

impl StringProperty {
    /// What stands for contacts that have none.
    #[must_use]
    pub fn fallback(mut self, text: impl Into<String>) -> Self {
        self.0.fallback_value = Some(text.into().into());
        self
    }
}

impl NumberProperty {
    /// What stands for contacts that have none: a whole number, or a `serde_json::Number` of another kind.
    #[must_use]
    pub fn fallback(mut self, number: impl Into<serde_json::Number>) -> Self {
        self.0.fallback_value = Some(serde_json::Value::Number(number.into()));
        self
    }
}

impl From<StringProperty> for NewContactProperty {
    fn from(property: StringProperty) -> Self {
        property.0
    }
}

impl From<NumberProperty> for NewContactProperty {
    fn from(property: NumberProperty) -> Self {
        property.0
    }
}

/// What to change of a property, its fallback: [`ContactProperties::update`].
#[derive(Clone, Debug, Default, Serialize)]
pub struct ContactPropertyPatch {
    #[serde(skip_serializing_if = "Patch::is_keep")]
    fallback_value: Patch<serde_json::Value>,
}

impl ContactPropertyPatch {
    /// Changes nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Another fallback: a text, or a number, as the property's type is. The service refuses one of the other type.
    #[must_use]
    pub fn fallback_value(mut self, value: impl Into<serde_json::Value>) -> Self {
        self.fallback_value = Patch::Set(value.into());
        self
    }

    /// Takes the fallback away.
    #[must_use]
    pub fn clear_fallback_value(mut self) -> Self {
        self.fallback_value = Patch::Clear;
        self
    }

    fn validate(&self, v: &mut Validator) {
        if self.fallback_value.value().is_some_and(|value| !value.is_string() && !value.is_number()) {
            v.report_at("fallback_value", "type", "a fallback is a text or a number");
        }
    }
}

validate!(ContactPropertyPatch);

/// One property that contacts can have (`SPEC.md`, Contact property).
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ContactProperty {
    /// The property's id.
    pub id: ContactPropertyId,
    /// Its key.
    pub key: String,
    /// What it holds.
    #[serde(default)]
    pub r#type: Option<PropertyType>,
    /// What stands for contacts that have none: a text or a number.
    #[serde(default)]
    pub fallback_value: Option<serde_json::Value>,
    /// When it was made.
    #[serde(default)]
    pub created_at: Option<Timestamp>,
}

impl Item for ContactProperty {
    fn cursor(&self) -> Option<&str> {
        Some(self.id.as_str())
    }
}

open_enum! {
    /// What a property holds. (The specification has seen `string`.)
    PropertyType {
        /// A text.
        String = "string",
        /// A number.
        Number = "number",
    }
}

/// The operations on contact properties: [`Client::contact_properties`].
///
/// ```
/// # async fn example(client: &posthaste::Client) -> posthaste::Result<()> {
/// use posthaste::NewContactProperty;
///
/// let orders = NewContactProperty::number("orders").fallback(0);
/// let id = client.contact_properties().create(orders).await?.id;
/// println!("{}", client.contact_properties().get(id).await?.key);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct ContactProperties<'a> {
    client: &'a Client,
}

impl Client {
    /// Contact properties: what else can be known of a contact.
    pub fn contact_properties(&self) -> ContactProperties<'_> {
        ContactProperties { client: self }
    }
}

impl ContactProperties<'_> {
    /// Makes a property: `POST /contact-properties`.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) with all problems that [`NewContactProperty::check`] finds, before anything is sent.
    pub fn create(&self, property: impl Into<NewContactProperty>) -> Call<Reference<ContactPropertyId>> {
        let property = property.into();
        let operation = Operation::new("contact_properties.create", Method::POST, "/contact-properties");
        Call::new(&self.client.core, operation.validated(&property).with_json(&property))
    }

    /// The properties, newest first: `GET /contact-properties`, 20 a page unless a limit is given.
    pub fn list(&self) -> List<ContactProperty> {
        List::new(self.client, Operation::get("contact_properties.list", "/contact-properties"))
    }

    /// One property: `GET /contact-properties/{id}`.
    pub fn get(&self, id: impl Into<ContactPropertyId>) -> Call<ContactProperty> {
        Call::new(&self.client.core, on("contact_properties.get", Method::GET, &id.into()))
    }

    /// Changes a property's fallback: `PATCH /contact-properties/{id}`.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) if the fallback is neither a text nor a number, before anything is sent.
    pub fn update(
        &self,
        id: impl Into<ContactPropertyId>,
        patch: &ContactPropertyPatch,
    ) -> Call<Reference<ContactPropertyId>> {
        let operation = on("contact_properties.update", Method::PATCH, &id.into());
        Call::new(&self.client.core, operation.validated(patch).with_json(patch))
    }

    /// Deletes a property, and with it what contacts have under its key: `DELETE /contact-properties/{id}`.
    pub fn delete(&self, id: impl Into<ContactPropertyId>) -> Call<Deleted<ContactPropertyId>> {
        Call::new(&self.client.core, on("contact_properties.delete", Method::DELETE, &id.into()))
    }
}

fn on(name: &'static str, method: Method, id: &ContactPropertyId) -> Operation {
    Operation::on(name, method, "/contact-properties/", id.as_str(), "")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_fallback_is_of_the_propertys_type() {
        let wire = |property: NewContactProperty| serde_json::to_value(property).unwrap();
        let city = wire(NewContactProperty::string("city").fallback("x").into());
        assert_eq!(city, json!({ "key": "city", "type": "string", "fallback_value": "x" }));
        let orders = wire(NewContactProperty::number("orders").fallback(0).into());
        assert_eq!(orders, json!({ "key": "orders", "type": "number", "fallback_value": 0 }));
        assert_eq!(wire(NewContactProperty::string("a").into()), json!({ "key": "a", "type": "string" }));
        let patch = serde_json::to_value(ContactPropertyPatch::new().clear_fallback_value()).unwrap();
        assert_eq!(patch, json!({ "fallback_value": null }));
        assert!(ContactPropertyPatch::new().fallback_value(true).check().is_err());
        assert!(ContactPropertyPatch::new().fallback_value("x").check().is_ok());
    }

    #[test]
    fn a_key_has_at_most_fifty_of_the_allowed_characters_and_means_nothing_else() {
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
