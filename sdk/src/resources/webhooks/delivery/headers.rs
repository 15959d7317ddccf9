//! The three headers of a delivery, under the names of both families.
//!
//! Both families are accepted, so that receivers don't break if the service starts to send both. If both are present, they must agree, since nothing
//! shows which one was signed.

use http::{HeaderMap, HeaderValue};

use super::verification_error::VerificationError;

/// The header names of one family.
#[derive(Clone, Copy, Debug)]
pub(super) struct Family {
    pub(super) id: &'static str,
    pub(super) timestamp: &'static str,
    pub(super) signature: &'static str,
}

/// The header names used by the service.
const SVIX: Family = Family { id: "svix-id", timestamp: "svix-timestamp", signature: "svix-signature" };
/// The header names defined by Standard Webhooks.
const WEBHOOK: Family =
    Family { id: "webhook-id", timestamp: "webhook-timestamp", signature: "webhook-signature" };

impl Family {
    fn names(self) -> [&'static str; 3] {
        [self.id, self.timestamp, self.signature]
    }

    fn is_in(self, headers: &HeaderMap) -> bool {
        self.names().iter().any(|name| headers.contains_key(*name))
    }
}

/// The values of the three headers.
#[derive(Debug)]
pub(super) struct Signed<'a> {
    pub(super) names: Family,
    pub(super) id: &'a str,
    pub(super) timestamp: &'a str,
    pub(super) signature: &'a str,
}

impl<'a> Signed<'a> {
    /// Reads the headers. Each must occur once; if both families are present, they must agree.
    pub(super) fn read(headers: &'a HeaderMap) -> Result<Self, VerificationError> {
        let (svix, webhook) = (SVIX.is_in(headers), WEBHOOK.is_in(headers));
        if svix && webhook {
            let values = |name| headers.get_all(name).iter().collect::<Vec<&HeaderValue>>();
            for (svix, webhook) in SVIX.names().into_iter().zip(WEBHOOK.names()) {
                if values(svix) != values(webhook) {
                    return Err(VerificationError::Mixed { svix, webhook });
                }
            }
        }
        let names = if webhook && !svix { WEBHOOK } else { SVIX };
        Ok(Self {
            names,
            id: single_value(headers, names.id)?,
            timestamp: single_value(headers, names.timestamp)?,
            signature: single_value(headers, names.signature)?,
        })
    }
}

fn single_value<'a>(headers: &'a HeaderMap, header: &'static str) -> Result<&'a str, VerificationError> {
    let mut values = headers.get_all(header).iter();
    let value = values.next().ok_or(VerificationError::Missing { header })?;
    match values.count() {
        0 => {}
        more => return Err(VerificationError::Repeated { header, count: more + 1 }),
    }
    let text = value.to_str().map_err(|_| VerificationError::NotText { header })?.trim();
    if text.is_empty() { Err(VerificationError::Empty { header }) } else { Ok(text) }
}
