//! References to contacts in paths.

use crate::{
    resources::shared::{Contact, ContactSummary},
    types::ContactId,
};

/// A contact's ID or address: the service accepts either (`docs/specification.md`, GET /contacts/{id_or_email}/segments).
///
/// Strings and IDs convert into it. The client percent-encodes it as one path segment.
///
/// ```
/// use idempost::{ContactId, contacts::ContactRef};
///
/// let by_address = ContactRef::from("ada+news@example.com");
/// let by_id = ContactRef::from(ContactId::from("479e3145-dd38-476b-932c-529ceb705947"));
/// assert_ne!(by_address, by_id);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ContactRef(String);

impl ContactRef {
    /// Returns the ID or the address.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

from_text!(ContactRef);

conversions! {
    ContactRef {
        ContactId: id => Self(id.into()),
        &ContactId: id => Self(id.as_str().to_owned()),
        &Self: contact => contact.clone(),
        /// Refers to the contact by its ID.
        &Contact: contact => Self::from(&contact.id),
        /// Refers to the contact by its ID.
        &ContactSummary: contact => Self::from(&contact.id),
    }
}
