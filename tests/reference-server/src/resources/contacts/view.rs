//! Contacts as answers show them.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use http::{Response, StatusCode};
use serde::Serialize;
use uuid::Uuid;

use crate::context::Context;
use crate::model::contact::{Contact, Group, PropertyValue};
use crate::wire::paging::{Page, Window, list};
use crate::wire::problem::{Problem, json};
use crate::wire::timestamp::database;

/// A page of the members of a segment. The cursor can be a contact that has left it: a walk goes on from there.
pub(crate) fn members(
    context: &Context<'_>,
    window: &Window,
    segment: Uuid,
) -> Result<Page<Arc<Contact>>, Problem> {
    let knows = |contact: &Contact| contact.has_joined(segment);
    context.tenant.contacts.page_of(window, [Group::Member(segment)], knows)
}

/// The answer of a list of contacts.
pub(crate) fn items(page: Page<Arc<Contact>>) -> Response<Bytes> {
    list(&page.map(|contact| Item::of(&contact)))
}

pub(crate) fn record(contact: &Contact) -> Response<Bytes> {
    let properties = contact.properties.iter();
    let properties =
        properties.map(|(key, value)| (key.as_str(), Property { r#type: value.kind(), value })).collect();
    json(StatusCode::OK, &Record { object: "contact", item: Item::of(contact), properties })
}

#[derive(Serialize)]
struct Item {
    id: String,
    email: String,
    first_name: Option<String>,
    last_name: Option<String>,
    created_at: String,
    unsubscribed: bool,
}

impl Item {
    fn of(contact: &Contact) -> Self {
        Self {
            id: contact.id.to_string(),
            email: contact.email.clone(),
            first_name: contact.first_name.clone(),
            last_name: contact.last_name.clone(),
            created_at: database(contact.created_at),
            unsubscribed: contact.unsubscribed,
        }
    }
}

#[derive(Serialize)]
struct Record<'a> {
    object: &'static str,
    #[serde(flatten)]
    item: Item,
    properties: BTreeMap<&'a str, Property<'a>>,
}

#[derive(Serialize)]
struct Property<'a> {
    r#type: &'static str,
    value: &'a PropertyValue,
}
