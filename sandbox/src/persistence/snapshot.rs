//! Snapshots of records.

use std::sync::Arc;

use serde::Serialize;

use idempost_reference_server::model::api_key::ApiKey;
use idempost_reference_server::model::automation::Automation;
use idempost_reference_server::model::automation::run::Run;
use idempost_reference_server::model::broadcast::Broadcast;
use idempost_reference_server::model::contact::Contact;
use idempost_reference_server::model::contact_import::ContactImport;
use idempost_reference_server::model::contact_property::ContactProperty;
use idempost_reference_server::model::domain::Domain;
use idempost_reference_server::model::domain_claim::DomainClaim;
use idempost_reference_server::model::email::Email;
use idempost_reference_server::model::event::Event;
use idempost_reference_server::model::inboxes::Inbox;
use idempost_reference_server::model::inboxes::draft::InboxDraft;
use idempost_reference_server::model::inboxes::email::InboxEmail;
use idempost_reference_server::model::inboxes::label::Label;
use idempost_reference_server::model::inboxes::thread::Thread;
use idempost_reference_server::model::mail::Mail;
use idempost_reference_server::model::received::Received;
use idempost_reference_server::model::segment::Segment;
use idempost_reference_server::model::suppression::Suppression;
use idempost_reference_server::model::template::Template;
use idempost_reference_server::model::topic::Topic;
use idempost_reference_server::model::usage::Usage;
use idempost_reference_server::model::webhook::Webhook;
use idempost_reference_server::model::webhook_delivery::WebhookDelivery;

/// A record whose snapshot can be written later.
pub(super) trait Snapshot: Serialize + Send + Sync + Sized + 'static {
    /// Returns a snapshot of the record. Most records never change, since updates replace them.
    fn snapshot(record: &Arc<Self>) -> Arc<Self> {
        Arc::clone(record)
    }
}

/// An email's events are added in place, so it has to be copied.
impl Snapshot for Email {
    fn snapshot(record: &Arc<Self>) -> Arc<Self> {
        Arc::new(Self::clone(record))
    }
}

/// A delivery's attempts are added in place, so it has to be copied.
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
