//! Contacts, their segments and their topic subscriptions.
//!
//! Operations refer to a contact by its ID or its address ([`ContactRef`]).

mod new;
mod operations;
mod patch;
mod property;
mod record;
mod reference;

pub use new::NewContact;
pub use operations::Contacts;
pub use patch::ContactPatch;
pub use record::{DeletedContact, Membership, TopicSubscription, UpdatedTopics};
pub use reference::ContactRef;

pub use super::shared::{Contact, ContactPropertyValue, ContactSummary};
