//! The service, one file a resource. Each describes its operations and types; how they are sent is above.

pub mod api_keys;
pub mod audiences;
pub mod automations;
pub mod broadcasts;
pub mod contact_properties;
pub mod contacts;
pub mod domains;
pub mod emails;
pub mod events;
pub mod logs;
pub mod oauth_grants;
pub mod received;
pub mod segments;
pub mod templates;
pub mod topics;
pub mod webhooks;

use serde::{Deserialize, Serialize};

/// An answer that only names the thing that was made or changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Reference<Id> {
    /// The thing's id.
    pub id: Id,
}

/// The answer to a deletion.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Deleted<Id> {
    /// The id of what was deleted. (Of a contact, the service writes it as `contact`.)
    #[serde(alias = "contact")]
    pub id: Id,
    /// Whether it is gone.
    #[serde(default)]
    pub deleted: bool,
}
