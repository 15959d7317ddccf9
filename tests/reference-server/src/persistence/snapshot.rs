//! Snapshots of records.

use std::sync::Arc;

use serde::Serialize;

use crate::model::api_key::ApiKey;
use crate::model::automation::Automation;
use crate::model::automation::run::Run;
use crate::model::broadcast::Broadcast;
use crate::model::contact::Contact;
use crate::model::contact_import::ContactImport;
use crate::model::contact_property::ContactProperty;
use crate::model::domain::Domain;
use crate::model::domain_claim::DomainClaim;
use crate::model::email::Email;
use crate::model::event::Event;
use crate::model::inboxes::Inbox;
use crate::model::inboxes::draft::InboxDraft;
use crate::model::inboxes::email::InboxEmail;
use crate::model::inboxes::label::Label;
use crate::model::inboxes::thread::Thread;
use crate::model::mail::Mail;
use crate::model::received::Received;
use crate::model::segment::Segment;
use crate::model::suppression::Suppression;
use crate::model::template::Template;
use crate::model::topic::Topic;
use crate::model::usage::Usage;
use crate::model::webhook::Webhook;
use crate::model::webhook_delivery::WebhookDelivery;

/// A record of which a snapshot can be written later.
pub(super) trait Snapshot: Serialize + Send + Sync + Sized + 'static {
    /// A snapshot of the record. Most records never change: an update replaces them.
    fn snapshot(record: &Arc<Self>) -> Arc<Self> {
        Arc::clone(record)
    }
}

/// Its events are added in place.
impl Snapshot for Email {
    fn snapshot(record: &Arc<Self>) -> Arc<Self> {
        Arc::new(Self::clone(record))
    }
}

/// Its attempts are added in place.
impl Snapshot for WebhookDelivery {
    fn snapshot(record: &Arc<Self>) -> Arc<Self> {
        Arc::new(Self::clone(record))
    }
}

impl Snapshot for ApiKey {}
impl Snapshot for Automation {}
impl Snapshot for Broadcast {}
impl Snapshot for Contact {}
impl Snapshot for ContactImport {}
impl Snapshot for ContactProperty {}
impl Snapshot for Domain {}
impl Snapshot for DomainClaim {}
impl Snapshot for Event {}
impl Snapshot for Inbox {}
impl Snapshot for InboxDraft {}
impl Snapshot for InboxEmail {}
impl Snapshot for Label {}
impl Snapshot for Mail {}
impl Snapshot for Received {}
impl Snapshot for Run {}
impl Snapshot for Segment {}
impl Snapshot for Suppression {}
impl Snapshot for Template {}
impl Snapshot for Thread {}
impl Snapshot for Topic {}
impl Snapshot for Usage {}
impl Snapshot for Webhook {}
