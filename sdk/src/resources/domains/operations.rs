//! The operations on domains.

use super::{
    new::NewDomain,
    patch::DomainPatch,
    record::{Domain, DomainSummary},
};
use crate::{
    call::Call,
    client::{List, State, Wait},
    resources::shared::{Deleted, DomainStatus, Reference},
    types::DomainId,
};

operations! {
    /// The operations on domains: [`Client::domains`](crate::Client::domains).
    ///
    /// To send from a new domain: [`create`](Self::create) it, publish its [records](Domain::records), [`verify`](Self::verify) it,
    /// [`wait`](Self::wait).
    ///
    /// ```
    /// # async fn example(client: &posthaste::Client) -> posthaste::Result<()> {
    /// use posthaste::{DomainStatus, NewDomain};
    ///
    /// let domain = client.domains().create(&NewDomain::new("acme.test")).await?;
    /// for record in &domain.records {
    ///     println!("{} {} {}", record.name, record.kind, record.value);
    /// }
    /// // … once they are published:
    /// client.domains().verify(&domain.id).await?;
    /// let checked = client.domains().wait(&domain.id).await?;
    /// assert_eq!(checked.status, Some(DomainStatus::Verified));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// A domain that was claimed from another account has new DKIM records: read it again, publish them and verify it before it sends or
    /// receives (`SPEC.md`, POST /domains/{domain_id}/verify). Claiming itself is not described there and not offered here.
    pub struct Domains;

    /// Returns the operations on domains.
    accessor domains;

    /// Registers a domain: `POST /domains`. The answer has the DNS records to publish.
    ///
    /// The client doesn't retry it when its outcome is unknown: the service refuses a domain that is already registered. Find it with
    /// [`list`](Self::list).
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) with all problems that [`NewDomain::check`] finds, before anything is sent.
    fn create() with (domain: &NewDomain) -> Call<Domain> = POST["/domains"];

    /// Lists domains without their DNS records, newest first: `GET /domains`, all on one page unless a limit is given.
    fn list() -> List<DomainSummary> = GET["/domains"];

    /// Gets a domain with its DNS records: `GET /domains/{id}`.
    fn get(id: DomainId) -> Call<Domain> = GET["/domains/" id];

    /// Updates a domain: `PATCH /domains/{id}`. Publish and [verify](Self::verify) any DNS records that the change adds.
    ///
    /// ```
    /// # async fn example(client: &posthaste::Client, id: &posthaste::DomainId) -> posthaste::Result<()> {
    /// use posthaste::DomainPatch;
    ///
    /// let tracking = DomainPatch::new().tracking_subdomain("links").click_tracking(true);
    /// client.domains().update(id, &tracking).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) with all problems that [`DomainPatch::check`] finds, before anything is sent.
    fn update(id: DomainId) with (patch: &DomainPatch) -> Call<Reference<DomainId>> = PATCH["/domains/" id];

    /// Deletes a domain: `DELETE /domains/{id}`. (The specification is silent on scheduled emails; they are still sent.)
    ///
    /// ```
    /// # async fn example(client: &posthaste::Client, id: &posthaste::DomainId) -> posthaste::Result<()> {
    /// assert!(client.domains().delete(id).await?.deleted);
    /// # Ok(())
    /// # }
    /// ```
    fn delete(id: DomainId) -> Call<Deleted<DomainId>> = DELETE["/domains/" id];

    /// Starts a verification of the DNS records: `POST /domains/{id}/verify`. It returns before the verification ends; see
    /// [`wait`](Self::wait).
    ///
    /// It is allowed in every status and safe to repeat. A domain that was verified may send while it is verified again (the
    /// specification is silent here).
    fn verify(id: DomainId) -> Call<Reference<DomainId>> = POST["/domains/" id "/verify"].repeatable();
}

impl Domains<'_> {
    /// Waits until the verification of a domain ends, with success or not: [`DomainStatus::is_checked`](super::DomainStatus::is_checked).
    ///
    /// It doesn't start a verification: call [`verify`](Self::verify) first.
    pub fn wait(&self, id: impl Into<DomainId>) -> Wait<Domain> {
        let (client, id) = (self.client.clone(), id.into());
        Wait::new(
            move || client.domains().get(&id),
            |domain| State::of(domain.status.as_ref(), DomainStatus::is_checked),
        )
    }
}
