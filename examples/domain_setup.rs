//! Setting up a domain: register it, publish its DNS records, verify it, send the first email.
//!
//! It can be run again at any time: a registered domain is verified again.

use std::{future::ready, pin::pin, time::Duration};

use futures_util::TryStreamExt as _;
use idempost::{
    Accepted, Client, Email,
    domains::{DnsRecord, Domain, DomainStatus, NewDomain},
};

/// Returns the domain after its verification: verified, or with the status of each record.
async fn set_up(
    client: &Client,
    name: &str,
    publish: impl Fn(&DnsRecord),
    max_interval: Duration,
) -> idempost::Result<Domain> {
    let mut known = pin!(client.domains().list().stream().try_filter(|domain| ready(domain.name == name)));
    let domain = match known.try_next().await? {
        Some(known) => client.domains().get(known.id).await?,
        None => client.domains().create(&NewDomain::new(name)).await?,
    };
    domain.records.iter().for_each(publish);
    client.domains().verify(&domain.id).await?;
    client.domains().wait(&domain.id).max_wait(Duration::from_mins(30)).max_interval(max_interval).await
}

async fn first_email(client: &Client, domain: &Domain) -> idempost::Result<Accepted> {
    let email = Email::new(format!("Acme <hi@{}>", domain.name), "ada@example.com", "Hello").text("It works");
    client.emails().send(&email).await
}

#[tokio::main]
#[expect(clippy::print_stdout, reason = "the records and what became of them are the program's result")]
async fn main() -> idempost::Result<()> {
    let client = Client::from_env()?;
    let name = std::env::args().nth(1).unwrap_or_else(|| "acme.test".to_owned());
    let show = |record: &DnsRecord| println!("{record:?}");
    let domain = set_up(&client, &name, show, Duration::from_secs(10)).await?;
    if domain.status == Some(DomainStatus::Verified) {
        println!("sent {}", first_email(&client, &domain).await?.id);
    }
    domain.records.iter().for_each(show);
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::{cell::RefCell, sync::Arc};

    use idempost::{Error, domains::RecordStatus};
    use idempost_reference_server::{ReferenceServer, Service, Settings};

    use super::*;

    /// The clock of the service advances with every request, so the test doesn't wait.
    fn hurry(service: &Arc<Service>) {
        let weak = Arc::downgrade(service);
        service.on_request(move |_| {
            if let Some(service) = weak.upgrade() {
                service.clock().advance(Duration::from_secs(2));
            }
        });
    }

    #[tokio::test]
    async fn a_new_domain_sends_its_first_email() {
        // GEN-05
        let server =
            ReferenceServer::start_with(Settings { strict_domains: true, ..Settings::default() }).await;
        let client = Client::new(&server.base_url(), &server.api_key()).unwrap();
        hurry(server.service());
        let published = RefCell::new(Vec::new());
        let publish = |record: &DnsRecord| published.borrow_mut().push(record.name.clone());

        let domain = client.domains().create(&NewDomain::new("acme.test")).await.unwrap();
        let refused = first_email(&client, &domain).await.unwrap_err();
        assert!(matches!(refused, Error::Api(error) if error.status == 403), "it is not verified yet");

        let domain = set_up(&client, "acme.test", publish, Duration::from_millis(1)).await.unwrap();
        assert_eq!(domain.status, Some(DomainStatus::Verified));
        assert!(published.borrow().contains(&"send.acme.test".to_owned()));
        first_email(&client, &domain).await.unwrap();
        assert_eq!(server.service().mails(&server.api_key())[0].from, "Acme <hi@acme.test>");
    }

    #[tokio::test]
    async fn a_failed_verification_names_the_missing_records() {
        let server = ReferenceServer::start().await;
        let client = Client::new(&server.base_url(), &server.api_key()).unwrap();
        hurry(server.service());
        let domain = set_up(&client, "fail.acme.test", |_| {}, Duration::from_millis(1)).await.unwrap();
        assert_eq!(domain.status, Some(DomainStatus::Failed));
        assert!(!domain.records.is_empty());
        assert!(domain.records.iter().all(|record| record.status == Some(RecordStatus::Failed)));
    }
}
