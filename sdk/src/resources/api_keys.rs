//! API keys. (The specification doesn't define their fields.)

use std::borrow::Cow;

use serde::Serialize;
use serde_json::Value;

use crate::{
    call::Call,
    client::List,
    problem::Validator,
    resources::shared::{Deleted, Reference},
    types::{
        ApiKeyId, ApiKeyToken, DomainId, Timestamp,
        fields::{FieldValue, Kind},
    },
};

input! {
    /// An API key to create with [`ApiKeys::create`].
    pub struct NewApiKey {
        /// Creates a key with full access and a display name.
        new(name: String);
        other {
            #[serde(skip_serializing_if = "Option::is_none")]
            permission: Option<Permission>,
            #[serde(skip_serializing_if = "Option::is_none")]
            domain_id: Option<DomainId>,
        }
    }
}

/// The permission of a key; validation rejects unknown names.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(transparent)]
struct Permission(Cow<'static, str>);

const FULL_ACCESS: &str = "full_access";
const SENDING_ACCESS: &str = "sending_access";

impl FieldValue for Permission {
    const KIND: Kind = Kind::Choice(&[FULL_ACCESS, SENDING_ACCESS]);

    fn read(v: &mut Validator, value: &Value) -> Option<Self> {
        String::read(v, value).map(|name| Self(name.into()))
    }
}

impl NewApiKey {
    setters! {
        /// Restricts the key to sending.
        sending_access = Some(Permission(SENDING_ACCESS.into())) => permission;
    }

    /// Restricts the key to sending from one domain.
    pub fn domain(mut self, id: impl Into<DomainId>) -> Self {
        // The service ignores the domain of a key with full access, so restrict the key.
        self.permission = Some(Permission(SENDING_ACCESS.into()));
        self.domain_id = Some(id.into());
        self
    }

    fn validate(&self, v: &mut Validator) {
        check_name(v, &self.name);
        v.not_empty("domain_id", self.domain_id.as_ref().map(DomainId::as_str));
        match self.permission.as_ref().map_or(FULL_ACCESS, |permission| &permission.0) {
            SENDING_ACCESS => {}
            FULL_ACCESS if self.domain_id.is_none() => {}
            FULL_ACCESS => {
                let rule = "`domain_id` requires the permission `sending_access`";
                v.report_at("domain_id", "exclusive", rule);
            }
            other => v.field("permission", |v| {
                v.report_found("type", "the permission must be full_access or sending_access", other);
            }),
        }
    }
}

validate!(NewApiKey);

fn check_name(v: &mut Validator, name: &str) {
    if name.is_empty() {
        v.report_at("name", "required", "`name` is required");
    }
}

#[derive(Serialize)]
struct Named {
    name: String,
}

impl Named {
    fn validate(&self, v: &mut Validator) {
        check_name(v, &self.name);
    }
}

validate!(private Named);

record! {
    /// A newly created API key. The service returns its token only once; serializing the record omits it.
    pub struct CreatedApiKey {
        /// The key's ID.
        pub id: ApiKeyId,
        /// The token: the API key itself.
        pub token - secret: ApiKeyToken,
    }
}

record! {
    /// An API key in a list, without its token.
    pub struct ApiKeySummary {
        /// The key's ID.
        pub id: ApiKeyId,
        /// The key's name.
        pub name: String,
        /// When the key was created.
        pub created_at: Option<Timestamp>,
        /// When the key was last used; `None` if never.
        pub last_used_at: Option<Timestamp>,
    }
}

items!(ApiKeySummary);

operations! {
    /// The operations on API keys: [`Client::api_keys`](crate::Client::api_keys).
    ///
    /// ```
    /// # async fn example(client: &idempost::Client) -> idempost::Result<()> {
    /// use idempost::{Client, api_keys::NewApiKey};
    ///
    /// let key = client.api_keys().create(&NewApiKey::new("Shop").sending_access()).await?;
    /// let shop = Client::new("https://api.example.com", key.token.expose())?;
    /// client.api_keys().rename(&key.id, "Web shop").await?;
    /// client.api_keys().list().await?;
    /// client.api_keys().delete(&key.id).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub struct ApiKeys;

    /// Returns the operations on API keys.
    accessor api_keys;

    /// Creates an API key: `POST /api-keys`.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) with all problems that [`NewApiKey::check`] finds, before anything is sent.
    fn create() with (key: &NewApiKey) -> Call<CreatedApiKey> = POST["/api-keys"];

    /// Lists API keys, newest first: `GET /api-keys`. Awaited without a page size, it returns all of them.
    fn list() -> List<ApiKeySummary> = GET["/api-keys"];

    /// Deletes an API key, which the service then rejects: `DELETE /api-keys/{api_key_id}`.
    fn delete(id: ApiKeyId) -> Call<Deleted<ApiKeyId>> = DELETE["/api-keys/" id];

    /// Renames an API key: `PATCH /api-keys/{api_key_id}`.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) if the name is empty, before anything is sent.
    fn rename(id: ApiKeyId, name: String) with input (Named { name }) -> Call<Reference<ApiKeyId>>
        = PATCH["/api-keys/" id];
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_key_for_a_domain_is_restricted_to_sending() {
        let wire = |key: NewApiKey| serde_json::to_value(key).unwrap();
        assert_eq!(wire(NewApiKey::new("x")), json!({ "name": "x" }));
        let domain = json!({ "name": "x", "permission": "sending_access", "domain_id": "d" });
        assert_eq!(wire(NewApiKey::new("x").domain("d")), domain);
        let problems = NewApiKey::new("").domain("").check().unwrap_err();
        assert_eq!((problems[0].path.as_str(), problems[1].path.as_str()), ("/name", "/domain_id"));
    }
}
