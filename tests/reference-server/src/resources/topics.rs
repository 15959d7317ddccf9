//! Topics, which contacts can subscribe to.
//!
//! The specification names them without a shape; these are those of the public service.

use std::sync::Arc;

use bytes::Bytes;
use http::{Response, StatusCode};

use crate::context::Context;
use crate::delivery::webhooks::{notify, payload};
use crate::model::contact::{Group, Subscription};
use crate::model::topic::{self, Topic, Visibility};
use crate::wire::answers;
use crate::wire::paging::{Mode, Window, list};
use crate::wire::problem::{Problem, json};
use crate::wire::validation::{Change, Fields, Problems};

/// The maximum length of a name, in characters.
const LONGEST_NAME: usize = 50;
/// The maximum length of a description, in characters.
const LONGEST_DESCRIPTION: usize = 200;
const VISIBILITIES: &[(&str, Visibility)] =
    &[("public", Visibility::Public), ("private", Visibility::Private)];

/// `POST /topics`.
pub(crate) fn create(context: &Context<'_>) -> Result<Response<Bytes>, Problem> {
    let id = context.state.next_id();
    let topic = context.body(|fields, problems, _| {
        for field in ["name", "default_subscription"] {
            if !fields.has(field) {
                problems.missing(fields.name(field));
            }
        }
        let name = take_name(fields, problems);
        let description = take_description(fields, problems);
        let subscription = fields.take_word("default_subscription", Subscription::WORDS, problems);
        let visibility = fields.take_word("visibility", VISIBILITIES, problems);
        Some(Topic {
            id,
            name: name?,
            description,
            default_subscription: subscription?,
            visibility: visibility.unwrap_or(Visibility::Private),
            created_at: context.now(),
            updated_at: context.now(),
        })
    })?;
    context.tenant.topics.add(id, topic)?;
    notify_webhooks(context, "topic.created", context.tenant.topics.get(id));
    Ok(answers::made("topic", id))
}

fn take_name(fields: &mut Fields<'_>, problems: &mut Problems) -> Option<String> {
    let name = fields.take_text("name", problems)?;
    let length = name.chars().count();
    if name.trim().is_empty() || length > LONGEST_NAME {
        problems.wrong(|| {
            format!("`{}` must have 1 to {LONGEST_NAME} characters; found {length}.", fields.name("name"))
        });
        return None;
    }
    Some(name.into_owned())
}

fn take_description(fields: &mut Fields<'_>, problems: &mut Problems) -> Option<String> {
    let description = fields.take_text("description", problems)?;
    let length = description.chars().count();
    if length > LONGEST_DESCRIPTION {
        problems.wrong(|| {
            format!(
                "`{}` must have at most {LONGEST_DESCRIPTION} characters; found {length}.",
                fields.name("description")
            )
        });
        return None;
    }
    Some(description.into_owned())
}

/// `GET /topics`: 20 by default, as in mode A.
pub(crate) fn index(context: &Context<'_>) -> Result<Response<Bytes>, Problem> {
    let window = Window::read(context.request.uri().query(), Mode::A)?;
    Ok(list(&context.tenant.topics.page(&window)?.show(topic::Item)))
}

/// `GET /topics/{topic_id}`.
pub(crate) fn show(context: &Context<'_>) -> Result<Response<Bytes>, Problem> {
    Ok(json(StatusCode::OK, &topic::Whole(&*named(context)?)))
}

/// `PATCH /topics/{topic_id}`: name, description, visibility. The default subscription can't be changed.
pub(crate) fn update(context: &Context<'_>) -> Result<Response<Bytes>, Problem> {
    let id = named(context)?.id;
    let (name, description, visibility) = context.body(|fields, problems, _| {
        let name = take_name(fields, problems);
        let description = fields.take_change("description", |fields| take_description(fields, problems));
        if fields.has("default_subscription") {
            problems.wrong(|| format!("`{}` can't be changed.", fields.name("default_subscription")));
        }
        Some((name, description, fields.take_word("visibility", VISIBILITIES, problems)))
    })?;
    let changed = context.tenant.topics.try_change(id, |topic| {
        topic.name = name.unwrap_or_else(|| std::mem::take(&mut topic.name));
        match description {
            Change::Keep => {}
            Change::Clear => topic.description = None,
            Change::Set(text) => topic.description = Some(text),
        }
        topic.visibility = visibility.unwrap_or(topic.visibility);
        topic.updated_at = context.now();
        Ok(())
    });
    changed.transpose()?;
    notify_webhooks(context, "topic.updated", context.tenant.topics.get(id));
    Ok(answers::reference("topic", id))
}

/// `DELETE /topics/{topic_id}`: also deletes the contacts' choices.
pub(crate) fn delete(context: &Context<'_>) -> Result<Response<Bytes>, Problem> {
    let id = named(context)?.id;
    notify_webhooks(context, "topic.deleted", context.tenant.topics.remove(id));
    context.tenant.contacts.change_all(
        &Group::Topic(id),
        |contact| contact.id,
        |contact| {
            contact.topics.remove(&id);
        },
    );
    Ok(answers::deleted("topic", id))
}

/// Notifies webhooks of an event of a topic.
fn notify_webhooks(context: &Context<'_>, kind: &'static str, topic: Option<Arc<Topic>>) {
    if let Some(topic) = topic {
        let data = || payload::topic(&topic, kind == "topic.deleted");
        notify(context.state, &context.tenant, context.now(), kind, None, data);
    }
}

fn named(context: &Context<'_>) -> Result<Arc<Topic>, Problem> {
    let id = context.id("a topic")?;
    context.tenant.topics.get(id).ok_or_else(|| Problem::not_found("Topic not found."))
}
