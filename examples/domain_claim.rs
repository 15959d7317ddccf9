//! Claiming a domain that another account has verified, such as an agency's or a former project's.

use std::time::Duration;

use idempost::{
    Client, DomainId,
    domains::{DomainClaim, DomainClaimStatus, NewDomainClaim},
};

/// Claims the domain, or returns the pending claim of an earlier run. Its TXT record must be published with the DNS provider.
async fn claim(client: &Client, name: &str) -> idempost::Result<DomainClaim> {
    client.domains().claim(&NewDomainClaim::new(name)).await
}

/// Called once the record is published. A blocked claim can be verified again later.
async fn take_over(client: &Client, id: &DomainId, max_interval: Duration) -> idempost::Result<DomainClaim> {
    if client.domains().get_claim(id).await?.status != Some(DomainClaimStatus::Completed) {
        client.domains().verify_claim(id).await?;
    }
    client.domains().wait_for_claim(id).max_wait(Duration::from_mins(30)).max_interval(max_interval).await
}

#[tokio::main]
#[expect(clippy::print_stdout, reason = "the records to publish are the program's result")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let client = Client::from_env()?;
    let name = std::env::args().nth(1).unwrap_or_else(|| "acme.test".to_owned());
    let claim = claim(&client, &name).await?;
    let id = claim.domain_id.ok_or("the claim has no domain")?;
    if let Some(record) = claim.record {
        println!("{} {} {}", record.name, record.kind, record.value);
    }
    println!("press Enter once it is published");
    std::io::stdin().read_line(&mut String::new())?;
    let claim = take_over(&client, &id, Duration::from_secs(10)).await?;
    match (&claim.status, &claim.blocked_reason, &claim.failure_reason) {
        (Some(DomainClaimStatus::Completed), ..) => {
            // The DKIM records are new; `domain_setup` publishes and verifies them.
            println!("{:?}", client.domains().get(&id).await?.records);
        }
        (status, blocked, failed) => println!("{status:?} {blocked:?} {failed:?}"),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use idempost::{
        Error,
        domains::{ClaimBlockedReason, NewDomain},
    };
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
    async fn a_domain_of_another_account_is_claimed_and_one_in_use_is_blocked() {
        let server =
            ReferenceServer::start_with(Settings { strict_domains: true, ..Settings::default() }).await;
        hurry(server.service());
        let client = Client::new(&server.base_url(), &server.api_key()).unwrap();
        let owner = Client::new(&server.base_url(), "sb_owner").unwrap();
        for name in ["acme.test", "blocked.acme.test"] {
            let taken = owner.domains().create(&NewDomain::new(name)).await.unwrap().id;
            owner.domains().verify(&taken).await.unwrap();
            owner.domains().wait(&taken).max_interval(Duration::from_millis(1)).await.unwrap();
            let refused = client.domains().create(&NewDomain::new(name)).await.unwrap_err();
            assert!(matches!(refused, Error::Api(error) if error.status == 403));

            let pending = claim(&client, name).await.unwrap();
            assert_eq!(claim(&client, name).await.unwrap().id, pending.id, "it can be repeated");
            let id = pending.domain_id.unwrap();
            let settled = take_over(&client, &id, Duration::from_millis(1)).await.unwrap();
            if name == "acme.test" {
                assert_eq!(settled.status, Some(DomainClaimStatus::Completed));
                assert!(owner.domains().get(&taken).await.is_err());
            } else {
                assert_eq!(settled.blocked_reason, Some(ClaimBlockedReason::RecentOwnerActivity));
                assert!(owner.domains().get(&taken).await.is_ok());
            }
        }
    }
}
