//! The server's monitoring endpoint.

use std::time::Duration;

use super::connect::install_crypto;
use crate::queue::{Durability, QueueOptions};

const TIMEOUT: Duration = Duration::from_secs(5);

/// Reads from `/varz` whether the server syncs each record to disk; no other interface reports it.
pub(super) async fn durability(options: &QueueOptions) -> Durability {
    let unverified = |reason: String| Durability::Unverified { reason };
    let Some(monitoring) = &options.monitoring else {
        return unverified("no monitoring address is set".to_owned());
    };
    let Ok(url) = monitoring.join("/varz") else {
        return unverified("the monitoring address is invalid".to_owned());
    };
    install_crypto();
    let client = match reqwest::Client::builder()
        .timeout(TIMEOUT)
        .redirect(reqwest::redirect::Policy::none())
        .no_proxy()
        .build()
    {
        Ok(client) => client,
        Err(error) => return unverified(error.to_string()),
    };
    let document = async { client.get(url).send().await?.error_for_status()?.bytes().await };
    match document.await {
        Ok(document) => Durability::from_varz(&document),
        Err(error) => unverified(format!("the monitoring address doesn't respond: {error}")),
    }
}
