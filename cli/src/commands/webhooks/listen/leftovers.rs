//! Webhooks of killed listeners, deleted by the account's next listener.
//!
//! Each listener writes its webhook's endpoint to a file before it creates the webhook, and locks the file while it runs. So an unlocked file
//! belongs to a dead listener, and the endpoint's random path identifies the webhook.

use std::fs::File;
use std::io::Write as _;
use std::path::PathBuf;

use futures_util::TryStreamExt as _;
use idempost::Client;
use serde::{Deserialize, Serialize};

use crate::context::{self, Context};
use crate::files;
use crate::settings::paths;

/// The file of this listener. Dropping it leaves the file for the next listener.
#[derive(Debug)]
pub(super) struct Mark {
    path: PathBuf,
    _lock: File,
}

/// Its content.
#[derive(Debug, Serialize, Deserialize)]
struct Leftover {
    /// A hash of the service and the credential.
    account: String,
    endpoint: String,
}

impl Mark {
    /// Writes the file. Without a folder, a killed listener leaves its webhook behind.
    pub(super) fn write(endpoint: &str, context: &Context) -> Option<Self> {
        let (folder, account) = locate(context)?;
        files::create_dir(&folder).ok()?;
        // Locked before other listeners see it.
        let mut file = tempfile::NamedTempFile::new_in(&folder).ok()?;
        file.as_file().try_lock().ok()?;
        let text = serde_json::to_vec(&Leftover { account, endpoint: endpoint.to_owned() }).ok()?;
        file.write_all(&text).ok()?;
        let path = folder.join(format!("{}.json", uuid::Uuid::new_v4().simple()));
        let lock = file.persist(&path).ok()?;
        Some(Self { path, _lock: lock })
    }

    /// Removes the file once the webhook is deleted.
    pub(super) fn remove(self) {
        // If it stays, the next listener finds no webhook with its endpoint.
        let _ = std::fs::remove_file(self.path);
    }
}

/// Deletes the webhooks that dead listeners of this account left behind. A failure is reported when the new webhook is created.
pub(super) async fn delete(client: &Client, context: &Context) -> idempost::Result<()> {
    let Some((folder, account)) = locate(context) else { return Ok(()) };
    let paths = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let dead: Vec<_> = paths
        .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
        .filter_map(|path| {
            let file = File::open(&path).ok()?;
            file.try_lock().ok()?;
            let leftover: Leftover = serde_json::from_reader(&file).ok()?;
            (leftover.account == account).then_some((path, file, leftover.endpoint))
        })
        .collect();
    for (path, _lock, endpoint) in dead {
        if delete_by_endpoint(client, &endpoint).await? {
            context.out.note(&format!("deleted the webhook of a listener that was killed: {endpoint}"));
        }
        let _ = std::fs::remove_file(path);
    }
    Ok(())
}

/// Deletes the webhook with this endpoint, whose random path makes it unique; returns whether it existed.
pub(super) async fn delete_by_endpoint(client: &Client, endpoint: &str) -> idempost::Result<bool> {
    let mut webhooks = client.webhooks().list().stream();
    while let Some(webhook) = webhooks.try_next().await? {
        if webhook.endpoint == endpoint {
            return client.webhooks().delete(&webhook.id).await.map(|_| true);
        }
    }
    Ok(false)
}

/// The folder of these files, and the account; `None` if the service ends with the command.
fn locate(context: &Context) -> Option<(PathBuf, String)> {
    if context.global.sandbox {
        return None;
    }
    let folder = paths::state_dir(&context.env).ok().flatten()?.join("listeners");
    Some((folder, context::account_key(context.settings().ok()?, &context.env)?))
}
