//! The input for registering a domain.

use serde::Serialize;
use serde_json::Value;

use super::name::{check_domain, check_label};
use crate::{
    problem::Validator,
    resources::shared::Region,
    types::fields::{FieldValue, Kind},
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
    #[must_use]
    pub fn sending(mut self, on: bool) -> Self {
        self.capabilities.sending = Some(Switch(on));
        self
    }

    /// Sets whether the domain can receive; `false` by default. At least one of sending and receiving must be enabled.
    #[must_use]
    pub fn receiving(mut self, on: bool) -> Self {
        self.capabilities.receiving = Some(Switch(on));
        self
    }

    fn validate(&self, v: &mut Validator) {
        let (return_path, tracking) =
            (self.custom_return_path.as_deref(), self.tracking_subdomain.as_deref());
        check_setup(v, &self.name, self.region.as_ref(), return_path, tracking);
        check_tls(v, self.tls.as_ref());
        let sending = self.capabilities.sending.is_none_or(|switch| switch.0);
        let receiving = self.capabilities.receiving.is_some_and(|switch| switch.0);
        check_capabilities(v, sending, receiving);
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
    if let Some(Region::Unknown(region)) = region {
        let rule = "`region` must be us-east-1, eu-west-1, sa-east-1 or ap-northeast-1";
        v.field("region", |v| v.report_found("type", rule, region.as_str()));
    }
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub(super) struct Switches {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) sending: Option<Switch>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) receiving: Option<Switch>,
}

impl Switches {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
    pub(super) fn is_untouched(&self) -> bool {
        self.sending.is_none() && self.receiving.is_none()
    }
}

/// Serialized as `enabled` or `disabled`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Switch(pub(super) bool);

impl FieldValue for Switches {
    const KIND: Kind = Kind::Json;

    fn read(v: &mut Validator, value: &Value) -> Option<Self> {
        let fields = v.object(value, "`capabilities`")?;
        v.check_known_fields(fields, "`capabilities`", &["sending", "receiving"]);
        let mut switch = |name| match v.text(fields, name)? {
            "enabled" => Some(Switch(true)),
            "disabled" => Some(Switch(false)),
            _ => {
                v.report_at(name, "type", format!("`{name}` must be enabled or disabled"));
                None
            }
        };
        Some(Self { sending: switch("sending"), receiving: switch("receiving") })
    }
}

impl Serialize for Switch {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(if self.0 { "enabled" } else { "disabled" })
    }
}

pub(super) fn check_tls(v: &mut Validator, tls: Option<&Tls>) {
    if let Some(Tls::Unknown(value)) = tls {
        v.field("tls", |v| {
            v.report_found("type", "`tls` must be opportunistic or enforced", value.as_str());
        });
    }
}

pub(super) fn check_capabilities(v: &mut Validator, sending: bool, receiving: bool) {
    if !sending && !receiving {
        v.report_at("capabilities", "required", "at least one of sending and receiving must be enabled");
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
