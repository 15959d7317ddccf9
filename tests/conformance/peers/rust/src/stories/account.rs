//! API keys and the log.

use resend_rs::types::{CreateApiKeyOptions, UpdateApiKeyOptions};
use resend_rs::{Resend, Result};

use crate::call;
use crate::support::{NOTHING, everything, page, refused};

pub async fn story(client: &Resend) -> Result<()> {
    let key = call!(client.api_keys.create(CreateApiKeyOptions::new("Rust").with_sending_access()))?;
    assert!(!key.token.is_empty());
    call!(client.api_keys.update(&key.id, UpdateApiKeyOptions::new("Build")))?;
    assert!(call!(client.api_keys.list(everything()))?.data.iter().any(|one| one.name == "Build"));
    call!(client.api_keys.delete(&key.id))?;

    let log = call!(client.logs.list(page(4)))?;
    let entry = call!(client.logs.get(&log[0].id))?;
    assert_eq!((log.data.len(), entry.method.as_str()), (4, "DELETE"));
    refused(call!(client.logs.get(NOTHING)), "not_found");
    Ok(())
}
