//! The operations on the suppression list.

use http::Method;

use super::{
    batch::{Address, Batch},
    record::{AddedSuppressions, RemovedSuppressions, Suppression},
};
use crate::{
    call::{Call, Operation},
    client::List,
    resources::shared::{Deleted, Reference, SuppressionOrigin},
    types::SuppressionId,
};

operations! {
    /// The operations on the suppression list: [`Client::suppressions`](crate::Client::suppressions).
    ///
    /// The list fills itself: a permanent bounce and a spam complaint add the address. The service drops recipients on the list from every
    /// email, single, batch or broadcast, whichever domain sends it.
    ///
    /// ```
    /// # async fn example(client: &idempost::Client) -> idempost::Result<()> {
    /// use idempost::suppressions::SuppressionOrigin;
    ///
    /// client.suppressions().add("ada@example.com").await?;
    /// for entry in client.suppressions().list().origin(SuppressionOrigin::Bounce).await?.data {
    ///     println!("{} since {:?}", entry.email, entry.created_at);
    /// }
    /// client.suppressions().remove("ada@example.com").await?;
    /// # Ok(())
    /// # }
    /// ```
    pub struct Suppressions;

    /// Returns the operations on the suppression list.
    accessor suppressions;

    /// Lists the suppression list, newest first: `GET /suppressions`, 20 per page by default. [`List::origin`] filters it.
    fn list() -> List<Suppression> = GET["/suppressions"];

    /// Gets an entry by its ID or its address: `GET /suppressions/{id_or_email}`. An address that isn't on the list is not found.
    fn get(entry: SuppressionId) -> Call<Suppression> = GET["/suppressions/" entry];

    /// Removes an entry by its ID or its address: `DELETE /suppressions/{id_or_email}`. Another bounce or complaint adds the address again.
    fn remove(entry: SuppressionId) -> Call<Deleted<SuppressionId>> = DELETE["/suppressions/" entry];
}

impl Suppressions<'_> {
    /// Adds an address: `POST /suppressions`. An address on the list keeps its entry, so the client retries when the outcome is unknown.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) if it isn't an address, before anything is sent.
    pub fn add(&self, email: impl Into<String>) -> Call<Reference<SuppressionId>> {
        let address = Address { email: email.into() };
        let operation = Operation::new("suppressions.add", Method::POST, "/suppressions").idempotent();
        Call::new(&self.client.core, operation.validated(&address).with_json(&address))
    }

    /// Adds 1 to 100 addresses, all of them or none: `POST /suppressions/batch/add`. It can be repeated, like [`add`](Self::add).
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) if there are none or too many, or if one isn't an address, before anything is sent.
    pub fn add_batch<T: Into<String>>(&self, emails: impl IntoIterator<Item = T>) -> Call<AddedSuppressions> {
        let batch = Batch::Emails(emails.into_iter().map(Into::into).collect());
        let operation = Operation::new("suppressions.add_batch", Method::POST, "/suppressions/batch/add");
        Call::new(&self.client.core, operation.idempotent().validated(&batch).with_json(&batch))
    }

    /// Removes 1 to 100 addresses: `POST /suppressions/batch/remove`. Addresses that aren't on the list are ignored.
    ///
    /// The client retries it when its outcome is unknown; the response then lacks what an earlier attempt has removed.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) if there are none or too many, or if one isn't an address, before anything is sent.
    pub fn remove_batch<T: Into<String>>(
        &self,
        emails: impl IntoIterator<Item = T>,
    ) -> Call<RemovedSuppressions> {
        self.remove_all(&Batch::Emails(emails.into_iter().map(Into::into).collect()))
    }

    /// Removes 1 to 100 entries by their IDs: [`remove_batch`](Self::remove_batch), with `ids` in the body.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) if there are none or too many, or if one is empty, before anything is sent.
    pub fn remove_batch_by_id<T: Into<SuppressionId>>(
        &self,
        ids: impl IntoIterator<Item = T>,
    ) -> Call<RemovedSuppressions> {
        self.remove_all(&Batch::Ids(ids.into_iter().map(Into::into).collect()))
    }

    fn remove_all(self, batch: &Batch) -> Call<RemovedSuppressions> {
        let operation =
            Operation::new("suppressions.remove_batch", Method::POST, "/suppressions/batch/remove");
        Call::new(&self.client.core, operation.idempotent().validated(batch).with_json(batch))
    }
}

/// Filters of [`Suppressions::list`].
impl List<Suppression> {
    /// Lists only entries with this origin.
    #[expect(clippy::needless_pass_by_value, reason = "an origin is named where it is given")]
    pub fn origin(self, origin: SuppressionOrigin) -> Self {
        self.with_query("origin", origin.as_str())
    }
}
