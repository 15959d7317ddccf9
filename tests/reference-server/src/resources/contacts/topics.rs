//! The topic subscriptions of a contact: `/contacts/{id_or_email}/topics`.

use std::collections::BTreeMap;

use serde_json::json;
use uuid::Uuid;

use crate::context::Context;
use crate::model::contact::Subscription;
use crate::resources::contacts::find;
use crate::state::tenant::Tenant;
use crate::wire::{
    Body, Checked, Field, HandlerResult, Mode, answers, fields, list, to_database_format, well_formed,
};

/// Reads `[{id, subscription}]`.
pub fn read(field: &Field<'_>, tenant: &Tenant) -> Checked<BTreeMap<Uuid, Subscription>> {
    let topics = field.objects(|item| {
        let id = item.required("id", |field| tenant.topics.read_uuid(field));
        let subscription = item.required("subscription", |field| field.one_of(Subscription::WORDS));
        Ok((id?, subscription?))
    });
    Ok(topics?.into_iter().collect())
}

/// `GET /contacts/{id_or_email}/topics`, mode B: every topic, with the contact's choice, or else the topic's default.
pub fn index(context: &Context<'_>) -> HandlerResult {
    let contact = find(context, 0)?;
    let window = context.window(Mode::B)?;
    let page = context.tenant.topics.page(&window)?;
    // `docs/specification.md`, Contact topic subscription (list item), with the topic's creation time, which a public client reads.
    Ok(list(&page.map(|topic| {
        json!({
            "id": topic.id,
            "name": topic.name,
            "description": topic.description,
            "subscription": contact.topics.get(&topic.id).unwrap_or(&topic.default_subscription),
            "created_at": to_database_format(topic.created_at),
        })
    })))
}

/// `PATCH /contacts/{id_or_email}/topics`. Clients send `{topics: […]}` or the bare array; both are accepted.
pub fn update(context: &Context<'_>) -> HandlerResult {
    let contact = find(context, 0)?;
    let body = well_formed(context.request.body())?;
    let wrapped = format!(r#"{{"topics":{}}}"#, body.get());
    let text = if body.get().trim_start().starts_with('[') { &wrapped } else { body.get() };
    let topics = fields::read(Body::parse(text.as_bytes())?, context.ignored, |fields| {
        fields.required("topics", |field| read(field, &context.tenant))
    })?;
    context.moment().change_contact(contact.id, |contact| contact.topics.extend(topics))?;
    Ok(answers::reference("contact_topics", contact.id))
}
