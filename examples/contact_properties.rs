//! Contact properties: a string and a number, with fallbacks for contacts that have no value.

use idempost::{
    Client,
    contact_properties::{ContactProperty, ContactPropertyPatch, NewContactProperty},
    contacts::NewContact,
};

/// Creates the properties. A fallback always has the property's type: `.fallback("none")` on a number doesn't compile.
async fn define(client: &Client) -> idempost::Result<()> {
    let properties = client.contact_properties();
    properties.create(NewContactProperty::string("city").fallback("your town")).await?;
    properties.create(NewContactProperty::number("orders").fallback(0)).await?;
    Ok(())
}

async fn find(client: &Client, key: &str) -> idempost::Result<Option<ContactProperty>> {
    let list = client.contact_properties().list().page_size(100).await?;
    Ok(list.data.into_iter().find(|property| property.key == key))
}

#[tokio::main]
async fn main() -> idempost::Result<()> {
    let client = Client::from_env()?;
    define(&client).await?;
    let ada = NewContact::new("ada@example.com").property("city", "London").property("orders", 3);
    client.contacts().create(&ada).await?;
    if let Some(city) = find(&client, "city").await? {
        let patch = ContactPropertyPatch::new().fallback_value("the place where you live");
        client.contact_properties().update(&city.id, &patch).await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use idempost_reference_server::ReferenceServer;
    use serde_json::json;

    use super::*;

    #[tokio::test]
    async fn a_property_is_created_set_changed_and_removed() {
        // PROP-01, PROP-02
        let server = ReferenceServer::start().await;
        let client = Client::new(&server.base_url(), &server.api_key()).unwrap();
        define(&client).await.unwrap();
        let ada = NewContact::new("ada@example.com").property("city", "London").property("orders", 3);
        client.contacts().create(&ada).await.unwrap();
        let city = find(&client, "city").await.unwrap().unwrap();
        assert_eq!(city.fallback_value, Some(json!("your town")));
        let patch = ContactPropertyPatch::new().clear_fallback_value();
        client.contact_properties().update(&city.id, &patch).await.unwrap();
        assert_eq!(client.contact_properties().get(&city.id).await.unwrap().fallback_value, None);
        client.contact_properties().delete(&city.id).await.unwrap();
        let left = client.contacts().get("ada@example.com").await.unwrap().properties;
        assert_eq!(left.into_keys().collect::<Vec<_>>(), ["orders"]);
    }
}
