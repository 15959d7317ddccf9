//! Types that several resources use.

mod answer;
mod attachment;
mod contact;
mod domain;
mod property;
mod schedule;
mod segment;
mod subscription;

pub use answer::{Deleted, Reference};
pub use attachment::{ContentDisposition, ReceivedAttachment, ReceivedFile};
pub use contact::{Contact, ContactSummary};
pub use domain::{
    Capabilities, Capability, DnsRecord, DomainStatus, RecordPurpose, RecordStatus, RecordType, Region,
};
pub use property::{HeldProperty, PropertyType, PropertyValue};
pub(crate) use schedule::Schedule;
pub use segment::Segment;
pub use subscription::Subscription;
pub(crate) use subscription::check_subscription;
