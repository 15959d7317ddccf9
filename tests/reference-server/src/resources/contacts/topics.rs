//! The topic subscriptions of a contact: `/contacts/{id_or_email}/topics`.

use std::collections::BTreeMap;

use bytes::Bytes;
use http::Response;
use serde::Serialize;
use uuid::Uuid;

use crate::context::Context;
use crate::model::contact::Subscription;
use crate::resources::contacts::{named, take_ids};
use crate::state::tenant::Tenant;
use crate::wire::answers;
use crate::wire::paging::{Mode, Window, list};
use crate::wire::problem::Problem;
use crate::wire::timestamp::database;
use crate::wire::validation::{Fields, Ignored, Problems, well_formed};

/// Reads `[{id, subscription}]`.
pub(super) fn take(
    fields: &mut Fields<'_>,
    field: &str,
    tenant: &Tenant,
    problems: &mut Problems,
    ignored: &mut Ignored,
) -> BTreeMap<Uuid, Subscription> {
    let taken = take_ids(fields, field, problems, ignored, |item, id, problems| {
        if tenant.topics.get(id).is_none() {
            let name = item.name("id");
            problems.wrong(|| format!("`{name}` must be the id of a topic; there is no topic {id}."));
        }
        if !item.has("subscription") {
            problems.missing(item.name("subscription"));
        }
        Some((id, item.take_word("subscription", Subscription::WORDS, problems)?))
    });
    taken.into_iter().collect()
}

/// `GET /contacts/{id_or_email}/topics`, mode B: every topic, with the contact's choice, or else the topic's default.
pub(crate) fn index(context: &Context<'_>) -> Result<Response<Bytes>, Problem> {
    let contact = named(context, 0)?;
    let window = Window::read(context.request.uri().query(), Mode::B)?;
    let page = context.tenant.topics.page(&window)?;
    Ok(list(&page.map(|topic| Item {
        id: topic.id.to_string(),
        name: topic.name.clone(),
        description: topic.description.clone(),
        subscription: contact.topics.get(&topic.id).copied().unwrap_or(topic.default_subscription),
        created_at: database(topic.created_at),
    })))
}

/// `PATCH /contacts/{id_or_email}/topics`. Clients send `{topics: […]}` or the bare array; both are accepted.
pub(crate) fn update(context: &Context<'_>) -> Result<Response<Bytes>, Problem> {
    let contact = named(context, 0)?;
    let body = well_formed(context.request.body())?;
    let wrapped = format!(r#"{{"topics":{}}}"#, body.get());
    let text = if body.get().trim_start().starts_with('[') { &wrapped } else { body.get() };
    let (mut problems, mut ignored) = (Problems::default(), context.ignored());
    let mut topics = BTreeMap::new();
    if let Some(mut fields) = Fields::read(text, String::new(), String::new(), &mut problems) {
        if !fields.has("topics") {
            problems.missing(fields.name("topics"));
        }
        topics = take(&mut fields, "topics", &context.tenant, &mut problems, &mut ignored);
        fields.leave(&mut ignored);
    }
    if let Some(problem) = problems.into_problem() {
        return Err(problem);
    }
    let changed = context.contacts().change(contact.id, |contact| contact.topics.extend(topics));
    changed.unwrap_or_else(|| Err(Problem::not_found("Contact not found.")))?;
    Ok(answers::reference("contact_topics", contact.id))
}

/// `SPEC.md`, Contact topic subscription (list item), with the topic's creation time, which a public client reads.
#[derive(Serialize)]
struct Item {
    id: String,
    name: String,
    description: Option<String>,
    subscription: Subscription,
    created_at: String,
}
