//! Contacts, segments, topics and properties.

use resend_rs::types::{
    ContactChanges, ContactPropertyChanges, CreateContactOptions, CreateContactPropertyOptions,
    CreateTopicOptions, PropertyType, SubscriptionType, TopicVisibility, UpdateContactTopicOptions,
    UpdateTopicOptions,
};
use resend_rs::{Resend, Result};

use crate::call;
use crate::support::{everything, page, refused};

pub async fn story(client: &Resend) -> Result<()> {
    let segment = call!(client.segments.create("Readers"))?.id;
    call!(client.segments.update(&segment, "Weekly readers"))?;
    assert_eq!(call!(client.segments.get(&segment))?.name, "Weekly readers");
    assert_eq!(call!(client.segments.list(everything()))?[0].id, segment);

    let topic =
        CreateTopicOptions::new("News", SubscriptionType::OptOut).with_visibility(TopicVisibility::Public);
    let topic = call!(client.topics.create(topic))?.id;
    call!(
        client
            .topics
            .update(&topic, UpdateTopicOptions::new().with_name("Offers").with_description("Weekly"))
    )?;
    assert_eq!(call!(client.topics.get(&topic))?.description.as_deref(), Some("Weekly"));
    assert_eq!(call!(client.topics.list(everything()))?[0].name, "Offers");

    let city = CreateContactPropertyOptions::new("city", PropertyType::String).with_fallback("nowhere");
    let city = call!(client.contacts.create_property(city))?.id;
    call!(
        client.contacts.update_property(&city, ContactPropertyChanges::default().with_fallback("somewhere"))
    )?;
    let fallback = call!(client.contacts.get_property(&city))?.fallback_value.expect("a fallback value");
    assert_eq!(fallback.as_str(), Some("somewhere"));
    assert_eq!(call!(client.contacts.list_properties(everything()))?[0].id, city);

    let ada = CreateContactOptions::new("ada@example.com")
        .with_first_name("Ada")
        .with_property("city", "London")
        .with_segment(&segment)
        .with_topic(UpdateContactTopicOptions::new(topic.to_string(), SubscriptionType::OptIn));
    let ada = call!(client.contacts.create(ada))?;
    let bob = call!(client.contacts.create(CreateContactOptions::new("bob@example.com")))?;
    let record = call!(client.contacts.get("ada@example.com"))?;
    assert_eq!((&record.id, record.first_name.as_deref()), (&ada, Some("Ada")));
    assert_eq!(record.properties.expect("properties")["city"].value, "London");
    call!(client.contacts.update(&bob, ContactChanges::new().with_unsubscribed(true).with_last_name("B")))?;
    assert!(call!(client.contacts.get(&bob))?.unsubscribed);
    assert_eq!(call!(client.contacts.list(page(1)))?[0].id, bob);

    call!(client.contacts.add_contact_segment("bob@example.com", &segment))?;
    assert_eq!(call!(client.contacts.list_contact_segment(&bob, everything()))?[0].id, segment);
    assert_eq!(call!(client.segments.list_contacts(&segment, everything()))?.data.len(), 2);
    call!(client.contacts.delete_contact_segment(&bob, &segment))?;
    let opt_out = UpdateContactTopicOptions::new(topic.to_string(), SubscriptionType::OptOut);
    call!(client.contacts.update_contact_topics(&ada, [opt_out]))?;
    let topics = call!(client.contacts.get_contact_topics(&ada, everything()))?;
    assert!(matches!(topics[0].subscription, SubscriptionType::OptOut));

    for contact in [&ada, &bob] {
        assert!(call!(client.contacts.delete(contact))?);
    }
    refused(call!(client.contacts.get(&ada)), "not_found");
    assert!(call!(client.contacts.delete_property(&city))?.deleted);
    assert!(call!(client.topics.delete(&topic))?.deleted);
    assert!(call!(client.segments.delete(&segment))?);
    Ok(())
}
