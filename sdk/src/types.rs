//! Value types shared by all resources: identifiers, open enumerations, timestamps, secrets, addresses.

#[macro_use]
pub(crate) mod lenient;
#[macro_use]
#[doc(hidden)]
pub mod fields;
#[macro_use]
mod input;
mod address;
#[macro_use]
mod id;
mod idempotency_key;
#[macro_use]
mod open_enum;
mod patch;
mod recipient_guard;
mod scalar;
mod schedule;
mod secret;
#[cfg(any(test, feature = "testing"))]
pub(crate) mod strict;
mod timestamp;
pub(crate) mod wall_clock;

pub use address::Recipients;
pub(crate) use address::{serialize_list, serialize_sender};
pub(crate) use id::accepted_id;
pub use id::{
    ApiKeyId, AttachmentId, AutomationId, AutomationRunId, BroadcastId, ContactId, ContactImportId,
    ContactPropertyId, DomainClaimId, DomainId, EmailId, EventId, LogId, OAuthGrantId, ReceivedEmailId,
    SegmentId, SuppressionId, TemplateId, TopicId, WebhookAttemptId, WebhookEventId, WebhookId,
};
#[cfg(feature = "beta")]
pub use id::{InboxDraftId, InboxEmailId, InboxId, InboxLabelId, InboxThreadId};
pub use idempotency_key::IdempotencyKey;
pub use open_enum::UnknownValue;
pub(crate) use patch::Patch;
pub use recipient_guard::RecipientGuard;
pub(crate) use recipient_guard::{RecipientFields, unreadable_recipients};
pub use scalar::Scalar;
pub use schedule::ScheduledAt;
pub use secret::{AccessToken, ApiKey, ApiKeyToken, RefreshToken, SigningSecret, TokenClaims};
pub use timestamp::Timestamp;
