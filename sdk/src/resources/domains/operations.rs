//! The operations on domains.

use super::{
    claim::{DomainClaim, DomainClaimStatus, NewDomainClaim},
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
    /// To send from a new domain, [`create`](Self::create) it, publish its [DNS records](Domain::records), [`verify`](Self::verify) it, and
    /// [`wait`](Self::wait).
    ///
    /// ```
    /// # async fn example(client: &idempost::Client) -> idempost::Result<()> {
    /// use idempost::domains::{DomainStatus, NewDomain};
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
    /// A domain that another account has verified must be [claimed](Self::claim) instead. After the claim, it has new DKIM records: get the domain
    /// again, publish the records and verify the domain before it can send or receive (`docs/specification.md`, POST /domains/{domain_id}/verify).
    pub struct Domains;

    /// Returns the operations on domains.
    accessor domains;

    /// Registers a domain: `POST /domains`. The response contains the DNS records to publish.
    ///
    /// The client doesn't retry it if its outcome is unknown, since the service rejects a domain that is already registered. Check with
    /// [`list`](Self::list) whether the domain exists.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) with all problems that [`NewDomain::check`] finds, before anything is sent.
    fn create() with (domain: &NewDomain) -> Call<Domain> = POST["/domains"];

    /// Lists domains without their DNS records, newest first: `GET /domains`. Awaited without a page size, it returns all of them.
    fn list() -> List<DomainSummary> = GET["/domains"];

    /// Gets a domain with its DNS records: `GET /domains/{id}`.
    fn get(id: DomainId) -> Call<Domain> = GET["/domains/" id];

    /// Updates a domain: `PATCH /domains/{id}`. Publish and [verify](Self::verify) any DNS records that the update adds.
    ///
    /// ```
    /// # async fn example(client: &idempost::Client, id: &idempost::DomainId) -> idempost::Result<()> {
    /// use idempost::domains::DomainPatch;
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

    /// Deletes a domain: `DELETE /domains/{id}`. (The specification doesn't mention scheduled emails; they are still sent.)
    ///
    /// ```
    /// # async fn example(client: &idempost::Client, id: &idempost::DomainId) -> idempost::Result<()> {
    /// assert!(client.domains().delete(id).await?.deleted);
    /// # Ok(())
    /// # }
    /// ```
    fn delete(id: DomainId) -> Call<Deleted<DomainId>> = DELETE["/domains/" id];

    /// Starts a verification of the DNS records: `POST /domains/{id}/verify`. It returns before the verification ends; see
    /// [`wait`](Self::wait).
    ///
    /// It is idempotent and allowed in every status. A verified domain can still send while it is being verified again (the specification doesn't
    /// define this).
    fn verify(id: DomainId) -> Call<Reference<DomainId>> = POST["/domains/" id "/verify"].idempotent();

    /// Claims a domain that another account has verified: `POST /domains/claim`. The response contains a TXT record to publish as proof, and a domain
    /// ID that identifies the claim in other operations; [deleting](Self::delete) the domain cancels the claim. (The specification mentions claims
    /// without defining them; these are Resend's operations.)
    ///
    /// If a claim is already pending, the service returns that claim, so the client retries if the outcome is unknown.
    ///
    /// ```
    /// # async fn example(client: &idempost::Client) -> idempost::Result<()> {
    /// use idempost::domains::{DomainClaimStatus, NewDomainClaim};
    ///
    /// let claim = client.domains().claim(&NewDomainClaim::new("acme.test")).await?;
    /// let (Some(id), Some(record)) = (&claim.domain_id, &claim.record) else { return Ok(()) };
    /// println!("{} {} {}", record.name, record.kind, record.value);
    /// // … once it is published:
    /// client.domains().verify_claim(id).await?;
    /// if client.domains().wait_for_claim(id).await?.status == Some(DomainClaimStatus::Completed) {
    ///     println!("{:?}", client.domains().get(id).await?.records);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) with all problems that [`NewDomainClaim::check`] finds, before anything is sent.
    fn claim() with (claim: &NewDomainClaim) -> Call<DomainClaim> = POST["/domains/claim"].idempotent();

    /// Gets the latest claim of a domain: `GET /domains/{id}/claim`.
    fn get_claim(id: DomainId) -> Call<DomainClaim> = GET["/domains/" id "/claim"];

    /// Starts checking a claim's TXT record: `POST /domains/{id}/claim/verify`. It returns before the check ends; see
    /// [`wait_for_claim`](Self::wait_for_claim). Repeating it is harmless.
    fn verify_claim(id: DomainId) -> Call<DomainClaim> = POST["/domains/" id "/claim/verify"].idempotent();
}

impl Domains<'_> {
    /// Waits until a domain's verification has an outcome, successful or not: [`DomainStatus::is_checked`](super::DomainStatus::is_checked).
    ///
    /// It doesn't start a verification: call [`verify`](Self::verify) first.
    pub fn wait(&self, id: impl Into<DomainId>) -> Wait<Domain> {
        Wait::new(self.get(id), |domain| State::from_status(domain.status.as_ref(), DomainStatus::is_checked))
    }

    /// Waits until a claim has an outcome, successful or not: [`DomainClaimStatus::is_settled`](super::DomainClaimStatus::is_settled).
    ///
    /// It doesn't start the check: call [`verify_claim`](Self::verify_claim) first.
    pub fn wait_for_claim(&self, id: impl Into<DomainId>) -> Wait<DomainClaim> {
        Wait::new(self.get_claim(id), |claim| {
            State::from_status(claim.status.as_ref(), DomainClaimStatus::is_settled)
        })
    }
}
