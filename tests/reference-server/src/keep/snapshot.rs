//! Records as they are at a moment.

use std::sync::Arc;

use serde::Serialize;

use crate::delivery::captured::Mail;
use crate::delivery::webhooks::book::Told;
use crate::resources::api_keys::ApiKey;
use crate::resources::automations::Automation;
use crate::resources::automations::run::Run;
use crate::resources::broadcasts::record::Broadcast;
use crate::resources::contact_properties::ContactProperty;
use crate::resources::contacts::book::Contact;
use crate::resources::domains::record::Domain;
use crate::resources::emails::record::Email;
use crate::resources::events::Event;
use crate::resources::received::record::Received;
use crate::resources::segments::Segment;
use crate::resources::templates::Template;
use crate::resources::topics::Topic;
use crate::resources::webhooks::Webhook;

/// A record that can be written later as it is now.
pub(super) trait Snapshot: Serialize + Send + Sync + Sized + 'static {
    /// The record as it is now. Most never change: a changed one takes the place of the one before.
    fn snapshot(record: &Arc<Self>) -> Arc<Self> {
        Arc::clone(record)
    }
}

/// Its events come to the record itself.
impl Snapshot for Email {
    fn snapshot(record: &Arc<Self>) -> Arc<Self> {
        Arc::new(Self::clone(record))
    }
}

/// Its attempts come to the record itself.
impl Snapshot for Told {
    fn snapshot(record: &Arc<Self>) -> Arc<Self> {
        Arc::new(Self::clone(record))
    }
}

impl Snapshot for ApiKey {}
impl Snapshot for Automation {}
impl Snapshot for Broadcast {}
impl Snapshot for Contact {}
impl Snapshot for ContactProperty {}
impl Snapshot for Domain {}
impl Snapshot for Event {}
impl Snapshot for Mail {}
impl Snapshot for Received {}
impl Snapshot for Run {}
impl Snapshot for Segment {}
impl Snapshot for Template {}
impl Snapshot for Topic {}
impl Snapshot for Webhook {}
