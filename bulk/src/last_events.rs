//! The delivery status of a job's sent emails, as far as the service's list of emails shows it.

use std::{
    collections::HashMap,
    sync::Arc,
    time::{Duration, UNIX_EPOCH},
};

use futures_util::TryStreamExt as _;
use idempost::{Client, emails::LastEvent};

use crate::{
    clock::TOLERANCE,
    error::Result,
    folder,
    journal::{Record, SentId},
    plan::Plan,
};

/// The latest event of each sent email of a job.
#[derive(Clone, Debug, Default)]
pub struct LastEvents(HashMap<SentId, Option<LastEvent>>);

impl LastEvents {
    /// Returns the latest event of an email; `None` if the email isn't in the service's list.
    pub fn get(&self, id: &str) -> Option<&LastEvent> {
        self.0.get(&SentId::from(id))?.as_ref()
    }
}

/// Reads the service's list of emails from the newest one back to the first attempt of the job and its earlier parts.
pub(crate) async fn read(plan: Arc<Plan>, client: &Client) -> Result<LastEvents> {
    let (mut events, oldest) = plan.blocking(sent_emails).await?;
    let (mut missing, oldest) = (events.len(), UNIX_EPOCH + oldest.saturating_sub(TOLERANCE));
    let mut emails = client.emails().list().page_size(100).stream();
    while missing > 0
        && let Some(email) = emails.try_next().await?
        && email.created_at.to_system_time().is_none_or(|created| created >= oldest)
    {
        if let Some(event) = events.get_mut(&SentId::from(email.id.as_str()))
            && event.is_none()
        {
            *event = email.last_event;
            missing -= 1;
        }
    }
    Ok(LastEvents(events))
}

/// Returns the sent emails, and the time of the first attempt since the Unix epoch.
fn sent_emails(plan: &Plan) -> Result<(HashMap<SentId, Option<LastEvent>>, Duration)> {
    let (mut sent, mut first) = (HashMap::new(), None);
    for dir in plan.part_dirs() {
        folder::read_journal(&dir, |record| {
            if let Record::Intent { at, .. } = record {
                // If this machine's clock was ahead, a later record has the service's time.
                let at = Duration::from_millis(at.0);
                first = Some(first.map_or(at, |first: Duration| first.min(at)));
            }
            sent.extend(record.accepted().map(|id| (id.clone(), None)));
            Ok(())
        })?;
    }
    Ok((sent, first.unwrap_or_default()))
}
