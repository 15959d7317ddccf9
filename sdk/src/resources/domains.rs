//! Domains: what one sends from and receives at, with the DNS records that prove it.

mod name;
mod new;
mod patch;
mod record;

pub use new::{NewDomain, Tls};
pub use patch::DomainPatch;
pub use record::{
    Capabilities, Capability, DnsRecord, Domain, DomainStatus, DomainSummary, RecordKind, RecordStatus,
    RecordType, Region,
};

use http::Method;

use super::{Deleted, Reference};
use crate::{
    call::{Call, Operation},
    client::{Client, List, State, Wait},
    types::DomainId,
};

/// The operations on domains: [`Client::domains`].
///
/// From zero to a domain that sends: [`create`](Self::create) it, publish its [records](Domain::records), [`verify`](Self::verify) it,
/// [`wait`](Self::wait).
///
/// ```
/// # async fn example(client: &posthaste::Client) -> posthaste::Result<()> {
/// use posthaste::{DomainStatus, NewDomain};
///
/// let domain = client.domains().create(&NewDomain::new("acme.test")).await?;
/// for record in &domain.records {
///     println!("{} {} {}", record.name, record.record_type, record.value);
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
#[derive(Clone, Copy, Debug)]
pub struct Domains<'a> {
    client: &'a Client,
}

impl Client {
    /// Domains to send from and to receive at.
    pub fn domains(&self) -> Domains<'_> {
        Domains { client: self }
    }
}

impl Domains<'_> {
    /// Registers a domain: `POST /domains`. The answer has the DNS records to publish.
    ///
    /// It is not tried again when its outcome is unknown: a domain that was registered the first time would be refused the second time.
    /// Look for it with [`list`](Self::list).
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) with all problems that [`NewDomain::check`] finds, before anything is sent.
    pub fn create(&self, domain: &NewDomain) -> Call<Domain> {
        let operation =
            Operation::new("domains.create", Method::POST, "/domains").validated(domain).with_json(domain);
        Call::new(&self.client.core, operation)
    }

    /// The domains, newest first and without their DNS records: `GET /domains`, all of them on one page unless a limit is given.
    pub fn list(&self) -> List<DomainSummary> {
        List::new(self.client, Operation::get("domains.list", "/domains"))
    }

    /// One domain with its DNS records: `GET /domains/{id}`.
    pub fn get(&self, id: impl Into<DomainId>) -> Call<Domain> {
        Call::new(&self.client.core, on("domains.get", Method::GET, &id.into(), ""))
    }

    /// Changes a domain: `PATCH /domains/{id}`. DNS records that come with the change are to be published and
    /// [verified](Self::verify) like the first ones.
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
    pub fn update(&self, id: impl Into<DomainId>, patch: &DomainPatch) -> Call<Reference<DomainId>> {
        let operation = on("domains.update", Method::PATCH, &id.into(), "").validated(patch).with_json(patch);
        Call::new(&self.client.core, operation)
    }

    /// Deletes a domain: `DELETE /domains/{id}`. (The specification is silent on emails that wait; they go their way.)
    ///
    /// ```
    /// # async fn example(client: &posthaste::Client, id: &posthaste::DomainId) -> posthaste::Result<()> {
    /// assert!(client.domains().delete(id).await?.deleted);
    /// # Ok(())
    /// # }
    /// ```
    pub fn delete(&self, id: impl Into<DomainId>) -> Call<Deleted<DomainId>> {
        Call::new(&self.client.core, on("domains.delete", Method::DELETE, &id.into(), ""))
    }

    /// Begins a check of the DNS records: `POST /domains/{id}/verify`. It answers before the check has ended; [`wait`](Self::wait) for
    /// that.
    ///
    /// It may be called in every status, and again after every change; repeating it does no harm. A domain that was verified may send
    /// while it is checked again (the specification is silent here).
    pub fn verify(&self, id: impl Into<DomainId>) -> Call<Reference<DomainId>> {
        Call::new(&self.client.core, on("domains.verify", Method::POST, &id.into(), "/verify").repeatable())
    }

    /// Waits until the check of a domain has ended, well or badly: [`DomainStatus::is_checked`].
    ///
    /// It begins no check: call [`verify`](Self::verify) first, or it waits in vain.
    pub fn wait(&self, id: impl Into<DomainId>) -> Wait<Domain> {
        let (client, id) = (self.client.clone(), id.into());
        Wait::new(
            move || client.domains().get(&id),
            |domain| match &domain.status {
                Some(status) if status.is_checked() => State::Settled,
                status => State::Open(status.as_ref().map(ToString::to_string)),
            },
        )
    }
}

fn on(name: &'static str, method: Method, id: &DomainId, after: &'static str) -> Operation {
    Operation::on(name, method, "/domains/", id.as_str(), after)
}
