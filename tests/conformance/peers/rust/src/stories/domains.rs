use resend_rs::types::{CreateDomainOptions, DomainChanges, DomainStatus, Region, Tls};
use resend_rs::{Resend, Result, json};

use crate::call;
use crate::support::{eventually, everything, refused};

pub async fn story(client: &Resend) -> Result<()> {
    let options = CreateDomainOptions::new("rust.acme.test")
        .with_region(Region::EuWest1)
        .with_custom_return_path("outbound")
        .with_tracking_subdomain("links")
        .with_click_tracking(true)
        .with_tls(Tls::Enforced)
        .with_capabilities(json!({"sending": "enabled", "receiving": "enabled"}));
    let made = call!(client.domains.create(options))?;
    assert!(matches!(made.status, DomainStatus::NotStarted) && !made.records.expect("records").is_empty());
    call!(client.domains.verify(&made.id))?;
    eventually(
        async || call!(client.domains.get(&made.id)),
        |domain| matches!(domain.status, DomainStatus::Verified),
    )
    .await?;
    call!(
        client
            .domains
            .update(&made.id, DomainChanges::new().with_open_tracking(true).with_tls(Tls::Opportunistic))
    )?;
    assert_eq!(call!(client.domains.get(&made.id))?.open_tracking, Some(true));
    assert_eq!(call!(client.domains.list(everything()))?[0].id, made.id);
    assert!(call!(client.domains.delete(&made.id))?.deleted);
    refused(call!(client.domains.get(&made.id)), "not_found");
    Ok(())
}
