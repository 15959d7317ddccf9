//! API keys. (The specification is silent on their shape.)

use http::Method;
use serde::{Deserialize, Serialize};

use super::{Deleted, Reference};
use crate::{
    call::{Call, Operation},
    client::{Client, Item, List},
    problem::Validator,
    types::{ApiKeyId, ApiKeyToken, DomainId, Timestamp},
};

/// An API key to be made with [`ApiKeys::create`].
#[derive(Clone, Debug, Serialize)]
pub struct NewApiKey {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    permission: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    domain_id: Option<DomainId>,
}

impl NewApiKey {
    /// A key with full access, and a name by which people know it.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), permission: None, domain_id: None }
    }

    /// A key that may only send.
    #[must_use]
    pub fn sending_access(mut self) -> Self {
        self.permission = Some("sending_access");
        self
    }

    /// A key that may only send, and only from this domain.
    #[must_use]
    pub fn domain(mut self, id: impl Into<DomainId>) -> Self {
        // The service ignores the domain of a key that may do more.
        self.permission = Some("sending_access");
        self.domain_id = Some(id.into());
        self
    }

    fn validate(&self, v: &mut Validator) {
        check_name(v, &self.name);
        v.not_empty("domain_id", self.domain_id.as_ref().map(DomainId::as_str));
    }
}

validate!(NewApiKey);

/// A key that was made. Its token is told this once and never again.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CreatedApiKey {
    /// The key's id.
    pub id: ApiKeyId,
    /// The key itself. Serializing the record leaves it out.
    #[serde(skip_serializing)]
    pub token: ApiKeyToken,
}

/// A key in a list, which doesn't tell its token.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ApiKeySummary {
    /// The key's id.
    pub id: ApiKeyId,
    /// Its name.
    pub name: String,
    /// When it was made.
    #[serde(default)]
    pub created_at: Option<Timestamp>,
    /// When it was last used; none before that.
    #[serde(default)]
    pub last_used_at: Option<Timestamp>,
}

impl Item for ApiKeySummary {
    fn cursor(&self) -> Option<&str> {
        Some(self.id.as_str())
    }
}

/// The operations on API keys: [`Client::api_keys`].
///
/// ```
/// # async fn example(client: &posthaste::Client) -> posthaste::Result<()> {
/// use posthaste::{Client, NewApiKey};
///
/// let made = client.api_keys().create(&NewApiKey::new("Shop").sending_access()).await?;
/// let shop = Client::new("https://api.example.com", made.token.expose())?;
/// client.api_keys().rename(&made.id, "Web shop").await?;
/// client.api_keys().list().await?;
/// client.api_keys().delete(&made.id).await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct ApiKeys<'a> {
    client: &'a Client,
}

impl Client {
    /// API keys.
    pub fn api_keys(&self) -> ApiKeys<'_> {
        ApiKeys { client: self }
    }
}

impl ApiKeys<'_> {
    /// Makes a key: `POST /api-keys`.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) with all problems that [`NewApiKey::check`] finds, before anything is sent.
    pub fn create(&self, key: &NewApiKey) -> Call<CreatedApiKey> {
        let operation = Operation::new("api_keys.create", Method::POST, "/api-keys");
        Call::new(&self.client.core, operation.validated(key).with_json(key))
    }

    /// The keys, newest first: `GET /api-keys`, all of them unless a limit is given.
    pub fn list(&self) -> List<ApiKeySummary> {
        List::new(self.client, Operation::get("api_keys.list", "/api-keys"))
    }

    /// Gives a key another name: `PATCH /api-keys/{api_key_id}`.
    pub fn rename(&self, id: impl Into<ApiKeyId>, name: impl Into<String>) -> Call<Reference<ApiKeyId>> {
        let name = NewName { name: name.into() };
        let operation = on("api_keys.rename", Method::PATCH, &id.into()).validated(&name).with_json(&name);
        Call::new(&self.client.core, operation)
    }

    /// Deletes a key, which is refused from then on: `DELETE /api-keys/{api_key_id}`.
    pub fn delete(&self, id: impl Into<ApiKeyId>) -> Call<Deleted<ApiKeyId>> {
        Call::new(&self.client.core, on("api_keys.delete", Method::DELETE, &id.into()))
    }
}

fn check_name(v: &mut Validator, name: &str) {
    if name.is_empty() {
        v.report_at("name", "required", "`name` is required");
    }
}

#[derive(Serialize)]
struct NewName {
    name: String,
}

impl NewName {
    fn validate(&self, v: &mut Validator) {
        check_name(v, &self.name);
    }
}

validate!(private NewName);

fn on(name: &'static str, method: Method, id: &ApiKeyId) -> Operation {
    Operation::on(name, method, "/api-keys/", id.as_str(), "")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_key_for_a_domain_may_only_send() {
        let wire = |key: NewApiKey| serde_json::to_value(key).unwrap();
        assert_eq!(wire(NewApiKey::new("x")), json!({ "name": "x" }));
        let domain = json!({ "name": "x", "permission": "sending_access", "domain_id": "d" });
        assert_eq!(wire(NewApiKey::new("x").domain("d")), domain);
        let problems = NewApiKey::new("").domain("").check().unwrap_err();
        assert_eq!((problems[0].path.as_str(), problems[1].path.as_str()), ("/name", "/domain_id"));
    }

    #[test]
    fn the_token_never_shows_in_debug() {
        let made: CreatedApiKey =
            serde_json::from_value(json!({ "id": "k", "token": "re_sentinel" })).unwrap();
        assert!(!format!("{made:?}").contains("sentinel"));
        assert_eq!(made.token.expose(), "re_sentinel");
    }
}
