//! What stands for a contact in a path.

use std::fmt;

use super::{Contact, ContactSummary};
use crate::types::ContactId;

/// A contact's id or its address: the service takes either (`SPEC.md`, GET /contacts/{id_or_email}/segments).
///
/// Texts and ids become one by themselves. An address goes out percent-encoded as one segment of the path, whatever it holds.
///
/// ```
/// use posthaste::{ContactId, ContactRef};
///
/// let by_address = ContactRef::from("ada+news@example.com");
/// let by_id = ContactRef::from(ContactId::from("479e3145-dd38-476b-932c-529ceb705947"));
/// assert_ne!(by_address, by_id);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ContactRef(String);

impl ContactRef {
    /// The id or the address.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ContactRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<&str> for ContactRef {
    fn from(id_or_address: &str) -> Self {
        Self(id_or_address.to_owned())
    }
}

impl From<String> for ContactRef {
    fn from(id_or_address: String) -> Self {
        Self(id_or_address)
    }
}

impl From<&String> for ContactRef {
    fn from(id_or_address: &String) -> Self {
        Self(id_or_address.clone())
    }
}

impl From<ContactId> for ContactRef {
    fn from(id: ContactId) -> Self {
        Self(id.into())
    }
}

impl From<&ContactId> for ContactRef {
    fn from(id: &ContactId) -> Self {
        Self(id.as_str().to_owned())
    }
}

impl From<&ContactRef> for ContactRef {
    fn from(contact: &ContactRef) -> Self {
        contact.clone()
    }
}

/// By its id.
impl From<&Contact> for ContactRef {
    fn from(contact: &Contact) -> Self {
        Self::from(&contact.id)
    }
}

/// By its id.
impl From<&ContactSummary> for ContactRef {
    fn from(contact: &ContactSummary) -> Self {
        Self::from(&contact.id)
    }
}
