//! Entries of the suppression list as the service returns them.

use serde::{Deserialize, Serialize};

use crate::{
    resources::shared::{Deleted, Reference, SuppressionOrigin},
    types::{EmailId, SuppressionId, Timestamp},
};

record! {
    /// An entry of the suppression list.
    pub struct Suppression {
        /// The entry's ID.
        pub id: SuppressionId,
        /// The address.
        pub email: String,
        /// Why the address is on the list.
        pub origin: Option<SuppressionOrigin>,
        /// The email that bounced or was reported as spam.
        pub source_id: Option<EmailId>,
        /// When the address was added.
        pub created_at: Option<Timestamp>,
    }
}

items!(Suppression);

/// The response to [`Suppressions::add_batch`](super::Suppressions::add_batch).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct AddedSuppressions {
    /// The entries in the order of the request. An address that was on the list before keeps its entry.
    pub data: Vec<Reference<SuppressionId>>,
}

/// The response to [`Suppressions::remove_batch`](super::Suppressions::remove_batch).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RemovedSuppressions {
    /// The removed entries, without those that weren't on the list.
    pub data: Vec<Deleted<SuppressionId>>,
}
