//! Contacts in responses.

use std::sync::Arc;

use bytes::Bytes;
use http::Response;
use uuid::Uuid;

use crate::context::Context;
use crate::model::contact::{self, Contact, Group};
use crate::wire::{Page, Problem, Window, list};

/// A page of the members of a segment. The cursor can be a former member, so that paging continues from there.
pub fn members(context: &Context<'_>, window: &Window, segment: Uuid) -> Result<Page<Arc<Contact>>, Problem> {
    let knows = |contact: &Contact| contact.has_joined(segment);
    context.tenant.contacts.page_of(window, [Group::Member(segment)], knows)
}

/// The response to a request for a list of contacts.
pub fn items(page: &Page<Arc<Contact>>) -> Response<Bytes> {
    list(&page.show(contact::Item))
}
