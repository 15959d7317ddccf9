//! Webhooks: endpoints to which the service delivers events (`docs/specification.md`, Webhook and Events).

pub mod delivery;
pub mod event;
mod new;
mod operations;
mod patch;
mod record;

pub use delivery::{Delivery, SecretError, VerificationError, WebhookVerifier};
pub use event::{EventData, EventType, NotAnEvent, OtherData, WebhookPayload};
pub use new::NewWebhook;
pub use operations::Webhooks;
pub use patch::WebhookPatch;
pub use record::{
    CreatedWebhook, Webhook, WebhookAttempt, WebhookEvent, WebhookEventStatus, WebhookEventSummary,
    WebhookStatus, WebhookSummary,
};
