//! The operations on contact properties.

use http::Method;

use super::{new::NewContactProperty, patch::ContactPropertyPatch, record::ContactProperty};
use crate::{
    call::{Call, Operation},
    client::List,
    resources::shared::{Deleted, Reference},
    types::ContactPropertyId,
};

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

    /// Deletes a contact property and its value in all contacts: `DELETE /contact-properties/{id}`.
    fn delete(id: ContactPropertyId) -> Call<Deleted<ContactPropertyId>> = DELETE["/contact-properties/" id];
}

impl ContactProperties<'_> {
    /// Creates a contact property: `POST /contact-properties`.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) with all problems that [`NewContactProperty::check`] finds, before anything is sent.
    pub fn create(&self, property: impl Into<NewContactProperty>) -> Call<Reference<ContactPropertyId>> {
        let property = property.into();
        let operation = Operation::new("contact_properties.create", Method::POST, "/contact-properties");
        Call::new(&self.client.core, operation.validated(&property).with_json(&property))
    }
}
