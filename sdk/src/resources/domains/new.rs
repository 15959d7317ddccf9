//! The input for registering a domain.

use serde::Serialize;
use serde_json::Value;

use super::name::{check_domain, check_label};
use crate::{
    problem::Validator,
    resources::shared::{Capability, Region},
    types::fields::{FieldValue, Kind, Reader},
};

/// The default label of the return path.
const RETURN_PATH: &str = "send";

open_enum! {
    /// The policy for recipient servers without TLS support.
    Tls {
        /// Send unencrypted.
        Opportunistic = "opportunistic",
        /// Don't send.
        Enforced = "enforced",
    }
}

input! {
    /// A domain to register with [`Domains::create`](super::Domains::create).
    ///
    /// ```
    /// use idempost::domains::{NewDomain, Region};
    ///
    /// let domain = NewDomain::new("acme.test").region(Region::EuWest1).tracking_subdomain("links").click_tracking(true);
    /// assert!(domain.check().is_ok());
    /// assert!(NewDomain::new("https://acme.test/").check().is_err());
    /// ```
    pub struct NewDomain {
        /// Creates a domain for sending in the region `us-east-1`.
        ///
        /// The name consists of at least two labels, each of 1 to 63 letters, digits and hyphens, with at most 253 characters in total. An
        /// internationalized name must be in its ASCII form (`xn--…`); the specification doesn't mention such names.
        new(name: String);
        optional {
            /// Sets the region in which the service handles the domain's mail; [`Region::UsEast1`] by default.
            region: Region,
            /// Sets the label of the return path, the subdomain that receives bounces (`<label>.<domain>`); `send` by default.
            custom_return_path: String,
            /// Sets whether opens are tracked. This requires a verified [`tracking_subdomain`](Self::tracking_subdomain).
            open_tracking: bool,
            /// Sets whether clicks are tracked. This requires a verified [`tracking_subdomain`](Self::tracking_subdomain).
            click_tracking: bool,
            /// Sets the label of the subdomain for tracked links, which gets a CNAME record at `<label>.<domain>`.
            tracking_subdomain: String,
            /// Sets the policy for recipient servers without TLS support; [`Tls::Opportunistic`] by default.
            tls: Tls,
        }
        other {
            #[serde(skip_serializing_if = "Switches::is_untouched")]
            capabilities: Switches,
        }
    }
}

impl NewDomain {
    /// Sets whether the domain can send; `true` by default. At least one of sending and receiving must be enabled.
    pub fn sending(mut self, on: bool) -> Self {
        self.capabilities.sending = Some(capability(on));
        self
    }

    /// Sets whether the domain can receive; `false` by default. At least one of sending and receiving must be enabled.
    pub fn receiving(mut self, on: bool) -> Self {
        self.capabilities.receiving = Some(capability(on));
        self
    }

    fn validate(&self, v: &mut Validator) {
        let (return_path, tracking) =
            (self.custom_return_path.as_deref(), self.tracking_subdomain.as_deref());
        check_setup(v, &self.name, self.region.as_ref(), return_path, tracking);
        v.check_known("tls", Tls::KNOWN, self.tls.as_ref().map(Tls::as_str));
        self.capabilities.validate(v, false);
    }
}

validate!(NewDomain);

/// Validates the fields that new domains and claims have in common.
pub(super) fn check_setup(
    v: &mut Validator,
    name: &str,
    region: Option<&Region>,
    return_path: Option<&str>,
    tracking: Option<&str>,
) {
    v.field("name", |v| check_domain(v, name));
    v.check_known("region", Region::KNOWN, region.map(Region::as_str));
    if let Some(label) = return_path {
        v.field("custom_return_path", |v| check_label(v, label));
    }
    if let Some(label) = tracking {
        v.field("tracking_subdomain", |v| {
            check_label(v, label);
            if label.eq_ignore_ascii_case(return_path.unwrap_or(RETURN_PATH)) {
                // A name with a CNAME record can't have other records (RFC 1034, 3.6.2).
                let rule = "`tracking_subdomain` must differ from the label of the return path";
                v.report_found("exclusive", rule, label);
            }
        });
    }
}

/// The capabilities that have been set.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(super) struct Switches {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) sending: Option<Capability>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) receiving: Option<Capability>,
}

pub(super) fn capability(on: bool) -> Capability {
    if on { Capability::Enabled } else { Capability::Disabled }
}

impl Switches {
    pub(super) fn is_untouched(&self) -> bool {
        self.sending.is_none() && self.receiving.is_none()
    }

    /// Validates the capabilities of a domain that can send by default, and receive as `receives` says.
    pub(super) fn validate(&self, v: &mut Validator, receives: bool) {
        let is_off = |switch: &Option<Capability>| *switch == Some(Capability::Disabled);
        let receives = receives && !is_off(&self.receiving) || self.receiving == Some(Capability::Enabled);
        v.field("capabilities", |v| {
            for (name, switch) in [("sending", &self.sending), ("receiving", &self.receiving)] {
                v.check_known(name, Capability::KNOWN, switch.as_ref().map(Capability::as_str));
            }
            if is_off(&self.sending) && !receives {
                v.report("required", "at least one of sending and receiving must be enabled");
            }
        });
    }
}

impl FieldValue for Switches {
    const KIND: Kind = Kind::Json;

    fn read(v: &mut Validator, value: &Value) -> Option<Self> {
        Reader::object(v, value, &["sending", "receiving"], |fields| Self {
            sending: fields.optional("sending"),
            receiving: fields.optional("receiving"),
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::problem::codes;

    #[test]
    fn only_fields_that_were_set_are_sent() {
        // DOM-24, DOM-25, A-37
        assert_eq!(
            serde_json::to_value(NewDomain::new("acme.test")).unwrap(),
            json!({ "name": "acme.test" })
        );
        let all = NewDomain::new("acme.test")
            .region(Region::SaEast1)
            .custom_return_path("bounce")
            .open_tracking(true)
            .click_tracking(false)
            .tracking_subdomain("links")
            .tls(Tls::Enforced)
            .sending(false)
            .receiving(true);
        assert!(all.check().is_ok());
        assert_eq!(
            serde_json::to_value(all).unwrap(),
            json!({"name": "acme.test", "region": "sa-east-1", "custom_return_path": "bounce", "open_tracking": true,
                "click_tracking": false, "tracking_subdomain": "links", "tls": "enforced",
                "capabilities": {"sending": "disabled", "receiving": "enabled"}})
        );
    }

    #[test]
    fn all_problems_are_reported_at_once() {
        // DOM-22, DOM-26, DOM-31, A-36, A-37
        let wrong = NewDomain::new("acme")
            .region("mars-1")
            .custom_return_path("a.b")
            .tracking_subdomain("A.b")
            .tls("maybe")
            .sending(false);
        let expected = [
            "type /name",
            "type /region",
            "charset /custom_return_path",
            "charset /tracking_subdomain",
            "exclusive /tracking_subdomain",
            "type /tls",
            "required /capabilities",
        ];
        assert_eq!(codes(wrong.check()), expected.join(", "));
        let clash = NewDomain::new("acme.test").tracking_subdomain("SEND").check().unwrap_err();
        assert_eq!(clash[0].code, "exclusive");
    }
}
