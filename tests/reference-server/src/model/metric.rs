//! The metrics of emails.

use serde_json::Value;

use crate::wire::words;

words! {
    /// A number of events, or the ratio of two.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum Metric {
        /// Accepted by the service.
        Received = "received",
        Sent = "sent",
        Delivered = "delivered",
        DeliveryDelayed = "delivery_delayed",
        Failed = "failed",
        Suppressed = "suppressed",
        Bounced = "bounced",
        BouncedTransient = "bounced_transient",
        BouncedPermanent = "bounced_permanent",
        BouncedUndetermined = "bounced_undetermined",
        Opened = "opened",
        UniqueOpened = "unique_opened",
        Clicked = "clicked",
        UniqueClicked = "unique_clicked",
        Complained = "complained",
        Unsubscribed = "unsubscribed",
        DeliveryRate = "delivery_rate",
        BounceRate = "bounce_rate",
        OpenRate = "open_rate",
        ClickRate = "click_rate",
        ComplaintRate = "complaint_rate",
        UnsubscribeRate = "unsubscribe_rate",
    }
}

/// The number of metrics that are counted; the others are rates.
const COUNTED: usize = Metric::DeliveryRate as usize;

impl Metric {
    /// Whether it counts every event of a type, not only first or selected ones.
    pub fn is_of_event(self) -> bool {
        !matches!(
            self,
            Self::UniqueOpened
                | Self::UniqueClicked
                | Self::BouncedTransient
                | Self::BouncedPermanent
                | Self::BouncedUndetermined
        )
    }

    /// The two counts whose ratio is this rate.
    fn ratio(self) -> Option<(Self, Self)> {
        Some(match self {
            Self::DeliveryRate => (Self::Delivered, Self::Sent),
            Self::BounceRate => (Self::Bounced, Self::Sent),
            Self::OpenRate => (Self::UniqueOpened, Self::Delivered),
            Self::ClickRate => (Self::UniqueClicked, Self::Delivered),
            Self::ComplaintRate => (Self::Complained, Self::Delivered),
            Self::UnsubscribeRate => (Self::Unsubscribed, Self::Delivered),
            _ => return None,
        })
    }
}

/// The counts of one row.
#[derive(Clone, Debug, Default)]
pub struct Counts([u64; COUNTED]);

impl Counts {
    pub fn add(&mut self, metric: Metric) {
        if let Some(count) = self.0.get_mut(metric as usize) {
            *count += 1;
        }
    }

    fn get(&self, metric: Metric) -> u64 {
        self.0.get(metric as usize).copied().unwrap_or_default()
    }

    /// A count, or a rate in percent with one decimal; 0 if the denominator is 0.
    pub fn value(&self, metric: Metric) -> Value {
        let Some((part, whole)) = metric.ratio() else { return self.get(metric).into() };
        let (part, whole) = (self.get(part), self.get(whole));
        if whole == 0 {
            return 0.0.into();
        }
        #[expect(clippy::cast_precision_loss, reason = "numbers of emails are small")]
        let percent = (1_000.0 * part as f64 / whole as f64).round() / 10.0;
        percent.into()
    }
}
