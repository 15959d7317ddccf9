//! Details of an email's events for metrics.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::model::metric::Metric;
use crate::wire::words;

/// Details of an email's events.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub struct Engagement {
    /// The bounces that weren't permanent.
    soft_bounces: Vec<(Timestamp, BounceType)>,
    /// The clicked links, with the number of clicks. Only for emails of broadcasts.
    pub clicks: Vec<(String, u64)>,
    /// When the recipient used the unsubscribe link.
    pub unsubscribed_at: Option<Timestamp>,
}

/// The detail of one event.
#[derive(Debug)]
pub enum EventDetail {
    Bounce(BounceType),
    /// The clicked link.
    Click(String),
}

words! {
    /// How long a bounce lasts.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
    #[serde(rename_all = "snake_case")]
    pub enum BounceType {
        #[default]
        Permanent = "permanent",
        Transient = "transient",
        Undetermined = "undetermined",
    }
}

impl BounceType {
    pub fn metric(self) -> Metric {
        match self {
            Self::Permanent => Metric::BouncedPermanent,
            Self::Transient => Metric::BouncedTransient,
            Self::Undetermined => Metric::BouncedUndetermined,
        }
    }
}

impl EventDetail {
    /// The bytes that it takes.
    pub fn size(&self) -> usize {
        size_of::<Engagement>()
            + match self {
                Self::Bounce(_) => size_of::<(Timestamp, BounceType)>(),
                Self::Click(link) => size_of::<(String, u64)>() + link.len(),
            }
    }
}

impl Engagement {
    pub(super) fn add(&mut self, at: Timestamp, detail: EventDetail) {
        match detail {
            EventDetail::Bounce(BounceType::Permanent) => {}
            EventDetail::Bounce(bounce) => self.soft_bounces.push((at, bounce)),
            EventDetail::Click(link) => match self.clicks.iter_mut().find(|(known, _)| *known == link) {
                Some((_, clicks)) => *clicks += 1,
                None => self.clicks.push((link, 1)),
            },
        }
    }

    /// The type of the bounce at this time.
    pub(super) fn bounce(&self, at: Timestamp) -> BounceType {
        let found = self.soft_bounces.iter().rev().find(|(known, _)| *known == at);
        found.map_or_else(BounceType::default, |(_, bounce)| *bounce)
    }
}
