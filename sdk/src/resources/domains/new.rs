//! A domain to be registered.

use serde::Serialize;

use super::{
    Region,
    name::{check_domain, check_label},
};
use crate::problem::Validator;

/// The label of the return path when none is given.
const RETURN_PATH: &str = "send";

open_enum! {
    /// What happens where a recipient's server offers no TLS.
    Tls {
        /// The mail goes unencrypted.
        Opportunistic = "opportunistic",
        /// The mail is not sent.
        Enforced = "enforced",
    }
}

/// A domain to be registered: [`Domains::create`](super::Domains::create).
///
/// ```
/// use posthaste::{NewDomain, Region};
///
/// let domain = NewDomain::new("acme.test").region(Region::EuWest1).tracking_subdomain("links").click_tracking(true);
/// assert!(domain.check().is_ok());
/// assert!(NewDomain::new("https://acme.test/").check().is_err());
/// ```
#[derive(Clone, Debug, Serialize)]
pub struct NewDomain {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    region: Option<Region>,
    #[serde(skip_serializing_if = "Option::is_none")]
    custom_return_path: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    open_tracking: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    click_tracking: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tracking_subdomain: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tls: Option<Tls>,
    #[serde(skip_serializing_if = "Switches::is_untouched")]
    capabilities: Switches,
}

impl NewDomain {
    /// A domain for sending in the region `us-east-1`.
    ///
    /// The name has two labels or more, each of 1 to 63 letters, digits and hyphens, together at most 253 characters. One in another
    /// script is written in its ASCII form (`xn--…`); the specification is silent here.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            region: None,
            custom_return_path: None,
            open_tracking: None,
            click_tracking: None,
            tracking_subdomain: None,
            tls: None,
            capabilities: Switches::default(),
        }
    }

    /// Where the service handles the domain's mail; [`Region::UsEast1`] without it.
    #[must_use]
    pub fn region(mut self, region: Region) -> Self {
        self.region = Some(region);
        self
    }

    /// The label of the subdomain that bounces come back to, `<label>.<domain>`; `send` without it.
    #[must_use]
    pub fn custom_return_path(mut self, label: impl Into<String>) -> Self {
        self.custom_return_path = Some(label.into());
        self
    }

    /// Whether opens are tracked. It takes effect with a verified [`tracking_subdomain`](Self::tracking_subdomain) only.
    #[must_use]
    pub fn open_tracking(mut self, on: bool) -> Self {
        self.open_tracking = Some(on);
        self
    }

    /// Whether clicks are tracked. It takes effect with a verified [`tracking_subdomain`](Self::tracking_subdomain) only.
    #[must_use]
    pub fn click_tracking(mut self, on: bool) -> Self {
        self.click_tracking = Some(on);
        self
    }

    /// The label of the subdomain that tracked links lead through: it gets a CNAME record, `<label>.<domain>`.
    #[must_use]
    pub fn tracking_subdomain(mut self, label: impl Into<String>) -> Self {
        self.tracking_subdomain = Some(label.into());
        self
    }

    /// What happens where a recipient's server offers no TLS; [`Tls::Opportunistic`] without it.
    #[must_use]
    pub fn tls(mut self, tls: Tls) -> Self {
        self.tls = Some(tls);
        self
    }

    /// Whether the domain is there for sending, as it is without this. At least one of sending and receiving is on.
    #[must_use]
    pub fn sending(mut self, on: bool) -> Self {
        self.capabilities.sending = Some(Switch(on));
        self
    }

    /// Whether the domain is there for receiving; without this it is not. At least one of sending and receiving is on.
    #[must_use]
    pub fn receiving(mut self, on: bool) -> Self {
        self.capabilities.receiving = Some(Switch(on));
        self
    }

    fn validate(&self, v: &mut Validator) {
        v.field("name", |v| check_domain(v, &self.name));
        if let Some(Region::Unknown(region)) = &self.region {
            let rule = "a region is us-east-1, eu-west-1, sa-east-1 or ap-northeast-1";
            v.field("region", |v| v.report_found("type", rule, region.as_str()));
        }
        if let Some(label) = &self.custom_return_path {
            v.field("custom_return_path", |v| check_label(v, label));
        }
        if let Some(label) = &self.tracking_subdomain {
            v.field("tracking_subdomain", |v| {
                check_label(v, label);
                let return_path = self.custom_return_path.as_deref().unwrap_or(RETURN_PATH);
                if label.eq_ignore_ascii_case(return_path) {
                    // A name with a CNAME record can have no other records (RFC 1034, 3.6.2).
                    let rule = "`tracking_subdomain` and the return path need different labels";
                    v.report_found("exclusive", rule, label);
                }
            });
        }
        check_tls(v, self.tls.as_ref());
        let sending = self.capabilities.sending.is_none_or(|switch| switch.0);
        let receiving = self.capabilities.receiving.is_some_and(|switch| switch.0);
        check_capabilities(v, sending, receiving);
    }
}

validate!(NewDomain);

pub(super) fn check_tls(v: &mut Validator, tls: Option<&Tls>) {
    if let Some(Tls::Unknown(value)) = tls {
        v.field("tls", |v| {
            v.report_found("type", "`tls` is opportunistic or enforced", value.as_str());
        });
    }
}

pub(super) fn check_capabilities(v: &mut Validator, sending: bool, receiving: bool) {
    if !sending && !receiving {
        v.report_at("capabilities", "required", "at least one of sending and receiving is enabled");
    }
}

/// The capabilities that were spoken of.
#[derive(Clone, Copy, Debug, Default, Serialize)]
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

/// `enabled` or `disabled`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Switch(pub(super) bool);

impl Serialize for Switch {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(if self.0 { "enabled" } else { "disabled" })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_what_was_given_goes_out_and_under_its_name() {
        // DOM-24, DOM-25
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
    fn everything_wrong_is_found_at_once() {
        // DOM-22, DOM-26, DOM-31
        let wrong = NewDomain::new("acme")
            .region(Region::from("mars-1".to_owned()))
            .custom_return_path("a.b")
            .tracking_subdomain("A.b")
            .tls(Tls::from("maybe".to_owned()))
            .sending(false);
        let found: Vec<_> = wrong
            .check()
            .unwrap_err()
            .into_vec()
            .into_iter()
            .map(|problem| (problem.path, problem.code))
            .collect();
        let expected = [
            ("/name", "type"),
            ("/region", "type"),
            ("/custom_return_path", "charset"),
            ("/tracking_subdomain", "charset"),
            ("/tracking_subdomain", "exclusive"),
            ("/tls", "type"),
            ("/capabilities", "required"),
        ];
        assert_eq!(found, expected.map(|(path, code)| (path.to_owned(), code)));
        let clash = NewDomain::new("acme.test").tracking_subdomain("SEND").check().unwrap_err();
        assert_eq!(clash[0].code, "exclusive");
    }
}
