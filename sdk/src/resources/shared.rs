//! Types used by several resources.

mod attachment;
mod contact;
mod domain;
mod outgoing;
mod property;
mod query;
mod response;
mod schedule;
mod segment;
mod subscription;
mod suppression;

pub use attachment::{ContentDisposition, EmailAttachment, EmailAttachmentSummary};
pub use contact::{Contact, ContactSummary};
pub use domain::{
    Capabilities, Capability, DnsRecord, DomainStatus, ProxyStatus, RecordPurpose, RecordStatus, RecordType,
    Region,
};
pub use outgoing::Attachment;
pub(crate) use outgoing::write_object;
pub use property::{ContactPropertyValue, PropertyType};
pub(crate) use query::join_values;
pub use response::{Deleted, Reference};
pub(crate) use schedule::Schedule;
pub(crate) use segment::Memberships;
pub use segment::Segment;
pub use subscription::Subscription;
pub(crate) use subscription::{Choice, check_id};
pub use suppression::SuppressionOrigin;
