//! Topics, which contacts can subscribe to.
//!
//! The specification names them without a shape; these are Resend's.

use std::sync::Arc;

use crate::context::Context;
use crate::delivery::webhooks::{notify, payload};
use crate::model::contact::{Group, Subscription};
use crate::model::topic::{Topic, Visibility};
use crate::wire::{Change, Checked, Field, HandlerResult, answers, at_most, input, replace};

/// The maximum length of a name, in characters.
const MAX_NAME: usize = 50;
/// The maximum length of a description, in characters.
const MAX_DESCRIPTION: usize = 200;

input! {
    struct NewTopic(fields; requires "name", "default_subscription") {
        name: String = fields.required("name", name),
        description: Option<String> = fields.optional("description", at_most(MAX_DESCRIPTION)),
        default_subscription: Subscription =
            fields.required("default_subscription", |field| field.one_of(Subscription::WORDS)),
        visibility: Option<Visibility> = fields.optional("visibility", |field| field.one_of(Visibility::WORDS)),
    }
}

input! {
    struct TopicPatch(fields) {
        name: Option<String> = fields.optional("name", name),
        description: Change<String> = fields.patch("description", at_most(MAX_DESCRIPTION)),
        visibility: Option<Visibility> = {
            fields.forbid("default_subscription", "can't be changed");
            fields.optional("visibility", |field| field.one_of(Visibility::WORDS))
        },
    }
}

fn name(field: &Field<'_>) -> Checked<String> {
    let name = field.text()?;
    let length = name.chars().count();
    if name.trim().is_empty() || length > MAX_NAME {
        return Err(field.reject(format_args!("must have 1 to {MAX_NAME} characters; found {length}")));
    }
    Ok(name.into_owned())
}

/// `POST /topics`.
pub fn create(context: &Context<'_>) -> HandlerResult {
    let (id, now) = (context.state.next_id(), context.now());
    let input = context.body(NewTopic::read)?;
    let topic = Topic {
        id,
        name: input.name,
        description: input.description,
        default_subscription: input.default_subscription,
        visibility: input.visibility.unwrap_or(Visibility::Private),
        created_at: now,
        updated_at: now,
    };
    context.tenant.topics.add(id, topic)?;
    notify_webhooks(context, "topic.created", context.tenant.topics.get(id));
    Ok(answers::created_response("topic", id))
}

/// `PATCH /topics/{topic_id}`: name, description, visibility. The default subscription can't be changed.
pub fn update(context: &Context<'_>) -> HandlerResult {
    let id = context.find(&context.tenant.topics)?.id;
    let patch = context.body(TopicPatch::read)?;
    context.tenant.topics.update(id, |topic| {
        replace(&mut topic.name, patch.name);
        patch.description.apply(&mut topic.description);
        replace(&mut topic.visibility, patch.visibility);
        topic.updated_at = context.now();
    })?;
    notify_webhooks(context, "topic.updated", context.tenant.topics.get(id));
    Ok(answers::reference("topic", id))
}

/// `DELETE /topics/{topic_id}`: also deletes the contacts' choices.
pub fn delete(context: &Context<'_>) -> HandlerResult {
    let id = context.find(&context.tenant.topics)?.id;
    notify_webhooks(context, "topic.deleted", context.tenant.topics.remove(id));
    context.tenant.contacts.change_all(&Group::Topic(id), |contact| {
        contact.topics.remove(&id);
    });
    Ok(answers::deleted_response("topic", id))
}

/// Notifies webhooks of an event of a topic.
fn notify_webhooks(context: &Context<'_>, kind: &'static str, topic: Option<Arc<Topic>>) {
    if let Some(topic) = topic {
        let data = || payload::topic(&topic, kind == "topic.deleted");
        notify(context.moment(), kind, None, data);
    }
}
