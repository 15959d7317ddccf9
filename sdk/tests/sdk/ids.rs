//! Every ID parameter accepts the string types that applications use.

use idempost::{
    Client,
    broadcasts::BroadcastPatch,
    contact_properties::ContactPropertyPatch,
    contacts::ContactPatch,
    domains::DomainPatch,
    templates::TemplatePatch,
    topics::{Subscription, TopicPatch},
    webhooks::{EventType, WebhookPatch, WebhookStatus},
};

#[test]
fn every_id_parameter_takes_a_reference_to_a_string() {
    let client = Client::new("https://api.example.com", "re_test").unwrap();
    let id = &"479e3145-dd38-476b-932c-529ceb705947".to_owned();
    drop(client.emails().get(id));
    drop(client.received().get(id));
    drop(client.received().since(id));
    drop(client.received().attachments(id));
    drop(client.received().attachment(id, id));
    drop(client.domains().get(id));
    drop(client.domains().update(id, &DomainPatch::new()));
    drop(client.domains().delete(id));
    drop(client.domains().verify(id));
    drop(client.domains().wait(id));
    drop(client.contacts().get(id));
    drop(client.contacts().update(id, &ContactPatch::new()));
    drop(client.contacts().delete(id));
    drop(client.contacts().list().segment_id(id));
    drop(client.contacts().segments(id));
    drop(client.contacts().topics(id));
    drop(client.contacts().add_to_segment(id, id));
    drop(client.contacts().remove_from_segment(id, id));
    drop(client.contacts().update_topics(id, [(id, Subscription::OptIn)]));
    drop(client.contact_properties().get(id));
    drop(client.contact_properties().update(id, &ContactPropertyPatch::new()));
    drop(client.contact_properties().delete(id));
    drop(client.segments().get(id));
    drop(client.segments().rename(id, id));
    drop(client.segments().delete(id));
    drop(client.segments().contacts(id));
    drop(client.topics().get(id));
    drop(client.topics().update(id, &TopicPatch::new()));
    drop(client.topics().delete(id));
    drop(client.broadcasts().get(id));
    drop(client.broadcasts().update(id, &BroadcastPatch::new()));
    drop(client.broadcasts().send_at(id, id));
    drop(client.broadcasts().wait(id));
    drop(client.templates().get(id));
    drop(client.templates().update(id, &TemplatePatch::new()));
    drop(client.templates().publish(id));
    drop(client.webhooks().get(id));
    drop(client.webhooks().update(id, &WebhookPatch::new()));
    drop(client.webhooks().event(id, id));
    drop(client.webhooks().attempts(id, id));
    drop(client.webhooks().rotate_secret(id));
    drop(client.api_keys().rename(id, id));
    drop(client.api_keys().delete(id));
    drop(client.logs().get(id));
    drop(client.oauth_grants().revoke(id));
}

#[test]
fn open_enumerations_convert_from_text() {
    assert_eq!(EventType::from("email.sent"), EventType::EmailSent);
    assert_eq!("disabled".parse(), Ok(WebhookStatus::Disabled));
    assert_eq!(EventType::from("later.added".to_owned()).to_string(), "later.added");
}
