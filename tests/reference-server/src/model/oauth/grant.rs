//! Authorization requests, the resulting codes, and grants.

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::clock::saturating_add;
use crate::model::oauth::CODE;
use crate::model::oauth::clients::OAuthClient;
use crate::store::expiring::Expires;
use crate::store::interned::{Interned, deserialize_dated};
use crate::store::table;
use crate::wire::{to_database_format, view};

/// A validated authorization request that waits for consent.
#[derive(Clone, Debug, Serialize)]
pub struct Request {
    pub client_id: String,
    pub redirect_uri: String,
    pub scopes: Vec<String>,
    pub state: Option<String>,
    pub challenge: String,
    /// The anti-forgery token of the consent form.
    pub token: String,
    pub until: Timestamp,
}

#[derive(Clone, Debug, Serialize)]
pub struct Code {
    pub request: Request,
    pub tenant: String,
    pub until: Timestamp,
    /// The grant that the code was redeemed for.
    pub redeemed: Option<Uuid>,
}

/// A user's consent to one client.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Grant {
    pub id: Uuid,
    pub tenant: String,
    pub client_id: String,
    pub client_name: String,
    pub logo_uri: Option<String>,
    pub scopes: Vec<String>,
    pub created_at: Timestamp,
    #[serde(deserialize_with = "deserialize_dated")]
    pub revoked: Option<(Timestamp, Interned)>,
    /// The current generation of refresh tokens, from 1.
    pub generation: u64,
    pub issued_at: Timestamp,
}

impl Grant {
    pub fn new(id: Uuid, tenant: String, client: &OAuthClient, scopes: Vec<String>, now: Timestamp) -> Self {
        Self {
            id,
            tenant,
            client_id: client.client_id.clone(),
            client_name: client.name.clone(),
            logo_uri: client.logo_uri.clone(),
            scopes,
            created_at: now,
            revoked: None,
            generation: 1,
            issued_at: now,
        }
    }
}

impl Expires for Request {
    fn expires_at(&self) -> Timestamp {
        self.until
    }
}

impl Expires for Code {
    /// A redeemed code is stored for the same duration again, so that a second redemption is detected.
    fn expires_at(&self) -> Timestamp {
        add_duration(self.until, CODE)
    }
}

impl table::Record for Grant {
    const NOUN: &'static str = "an OAuth grant";
    const PLURAL: &'static str = "OAuth grants";

    /// The tenant.
    type Group = String;

    fn groups(&self) -> Vec<String> {
        vec![self.tenant.clone()]
    }
}

view! {
    pub Item of grant: Grant {
        id: grant.id,
        client_id: grant.client_id,
        scopes: grant.scopes,
        resource: None::<&str>,
        created_at: to_database_format(grant.created_at),
        revoked_at: grant.revoked.map(|(at, _)| to_database_format(at)),
        revoked_reason: grant.revoked.map(|(_, reason)| reason),
        client: ClientItem(grant),
    }
}

view! {
    ClientItem of grant: Grant {
        name: grant.client_name,
        logo_uri: grant.logo_uri,
    }
}

pub fn add_duration(instant: Timestamp, by: std::time::Duration) -> Timestamp {
    saturating_add(instant, SignedDuration::try_from(by).unwrap_or(SignedDuration::MAX))
}
