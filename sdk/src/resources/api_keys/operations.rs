//! The operations on API keys.

use http::Method;

use super::{
    new::NewApiKey,
    patch::Named,
    record::{ApiKeySummary, CreatedApiKey},
};
use crate::{
    call::{Call, Operation},
    client::List,
    resources::shared::{Deleted, Reference},
    types::ApiKeyId,
};

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

    /// Deletes an API key, which the service rejects from then on: `DELETE /api-keys/{api_key_id}`.
    fn delete(id: ApiKeyId) -> Call<Deleted<ApiKeyId>> = DELETE["/api-keys/" id];
}

impl ApiKeys<'_> {
    /// Renames an API key: `PATCH /api-keys/{api_key_id}`.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) if the name is empty, before anything is sent.
    pub fn rename(&self, id: impl Into<ApiKeyId>, name: impl Into<String>) -> Call<Reference<ApiKeyId>> {
        let (id, named) = (id.into(), Named { name: name.into() });
        let operation = Operation::on("api_keys.rename", Method::PATCH, "/api-keys/", id.as_str(), "");
        Call::new(&self.client.core, operation.validated(&named).with_json(&named))
    }
}
