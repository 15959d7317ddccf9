//! API keys created through the API.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::model::credential::{CreatedKey, Credential, Permission};
use crate::store::table::{self, NoGroup};
use crate::wire::{to_database_format, view};

/// A created API key.
#[derive(Clone, Deserialize, Serialize)]
pub struct ApiKey {
    pub id: Uuid,
    pub name: String,
    pub token: String,
    pub created_at: Timestamp,
    pub last_used_at: Option<Timestamp>,
    pub permission: Permission,
    /// The only domain it may send from.
    pub domain: Option<Uuid>,
}

impl ApiKey {
    /// The key itself, with its permissions.
    pub fn credential(&self, tenant: &str) -> (&str, Credential<'static>) {
        let credential = Credential {
            tenant: tenant.to_owned().into(),
            permission: self.permission,
            created_key: Some(CreatedKey { id: self.id, domain: self.domain }),
            token: false,
        };
        (&self.token, credential)
    }
}

impl table::Record for ApiKey {
    const NOUN: &'static str = "an API key";
    const PLURAL: &'static str = "API keys";

    type Group = NoGroup;
}

impl std::fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ApiKey").field("id", &self.id).field("name", &self.name).finish_non_exhaustive()
    }
}

view! {
    pub Item of key: ApiKey {
        id: key.id,
        name: key.name,
        created_at: to_database_format(key.created_at),
        last_used_at: key.last_used_at.map(to_database_format),
    }
}
