use resend_rs::types::{
    AddSuppressionOptions, BatchAddSuppressionOptions, BatchRemoveSuppressionOptions, SuppressionOrigin,
};
use resend_rs::{Resend, Result, json};

use crate::call;
use crate::support::{NOTHING, email, eventually, everything, page, refused};

pub async fn story(client: &Resend) -> Result<()> {
    let made =
        call!(client.suppressions.add(AddSuppressionOptions::new().with_email("ada+news@example.com")))?.id;
    let record = call!(client.suppressions.get("ada+news@example.com"))?;
    assert!(
        record.id == made && matches!(record.origin, SuppressionOrigin::Manual) && record.source_id.is_none()
    );
    let bounced = call!(client.emails.send(email("bounced@example.com", "Bounces")))?.id;
    let bounces = || everything().with_other("origin", json!("bounce"));
    let bounces =
        eventually(async || call!(client.suppressions.list(bounces())), |page| !page.is_empty()).await?;
    assert_eq!(bounces[0].source_id.as_ref(), Some(&bounced));

    let both = BatchAddSuppressionOptions::from(vec!["bob@example.com", "eve@example.com"]);
    let added = call!(client.suppressions.batch_add(both))?.data;
    assert!(call!(client.suppressions.list(page(2)))?.has_more);
    let bob = BatchRemoveSuppressionOptions::new().add_emails(["bob@example.com", "unknown@example.com"]);
    let removed = call!(client.suppressions.batch_remove(bob))?.data;
    assert!(removed.len() == 1 && removed[0].id == added[0].id);
    let eve = BatchRemoveSuppressionOptions::new().add_ids([added[1].id.to_string()]);
    assert!(call!(client.suppressions.batch_remove(eve))?.data[0].deleted);
    assert!(call!(client.suppressions.remove("bounced@example.com"))?.deleted);
    assert!(call!(client.suppressions.remove(&made))?.deleted);
    refused(call!(client.suppressions.get(NOTHING)), "not_found");
    Ok(())
}
