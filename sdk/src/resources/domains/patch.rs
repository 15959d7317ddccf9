//! A change of a domain.

use serde::Serialize;

use super::{
    Tls,
    name::check_label,
    new::{Switch, Switches, check_capabilities, check_tls},
};
use crate::{problem::Validator, types::Patch};

/// What to change of a domain: [`Domains::update`](super::Domains::update). What is not named stays.
///
/// ```
/// use posthaste::DomainPatch;
///
/// let patch = DomainPatch::new().tracking_subdomain("links").open_tracking(true);
/// assert!(patch.check().is_ok());
/// assert!(DomainPatch::new().check().is_err(), "it changes nothing");
/// ```
#[derive(Clone, Debug, Default, Serialize)]
pub struct DomainPatch {
    #[serde(skip_serializing_if = "Option::is_none")]
    open_tracking: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    click_tracking: Option<bool>,
    #[serde(skip_serializing_if = "Patch::is_keep")]
    tracking_subdomain: Patch<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tls: Option<Tls>,
    #[serde(skip_serializing_if = "Switches::is_untouched")]
    capabilities: Switches,
}

impl DomainPatch {
    /// Changes nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether opens are tracked.
    #[must_use]
    pub fn open_tracking(mut self, on: bool) -> Self {
        self.open_tracking = Some(on);
        self
    }

    /// Whether clicks are tracked.
    #[must_use]
    pub fn click_tracking(mut self, on: bool) -> Self {
        self.click_tracking = Some(on);
        self
    }

    /// Another label of the subdomain for tracking. It has a DNS record of its own, which is to be published and verified.
    #[must_use]
    pub fn tracking_subdomain(mut self, label: impl Into<String>) -> Self {
        self.tracking_subdomain = Patch::Set(label.into());
        self
    }

    /// No subdomain for tracking any more, so nothing is tracked: `null` on the wire. (The specification is silent here.)
    #[must_use]
    pub fn clear_tracking_subdomain(mut self) -> Self {
        self.tracking_subdomain = Patch::Clear;
        self
    }

    /// What happens where a recipient's server offers no TLS.
    #[must_use]
    pub fn tls(mut self, tls: Tls) -> Self {
        self.tls = Some(tls);
        self
    }

    /// Whether the domain is there for sending. At least one of sending and receiving stays on.
    #[must_use]
    pub fn sending(mut self, on: bool) -> Self {
        self.capabilities.sending = Some(Switch(on));
        self
    }

    /// Whether the domain is there for receiving, which needs an MX record. At least one of sending and receiving stays on.
    #[must_use]
    pub fn receiving(mut self, on: bool) -> Self {
        self.capabilities.receiving = Some(Switch(on));
        self
    }

    fn validate(&self, v: &mut Validator) {
        let nothing = self.open_tracking.is_none()
            && self.click_tracking.is_none()
            && self.tracking_subdomain.is_keep()
            && self.tls.is_none()
            && self.capabilities.is_untouched();
        if nothing {
            return v.report("required", "an update changes at least one field");
        }
        if let Some(label) = self.tracking_subdomain.value() {
            v.field("tracking_subdomain", |v| check_label(v, label));
        }
        check_tls(v, self.tls.as_ref());
        // What is not named may be on.
        let on = |switch: Option<Switch>| switch.is_none_or(|switch| switch.0);
        check_capabilities(v, on(self.capabilities.sending), on(self.capabilities.receiving));
    }
}

validate!(DomainPatch);

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn leaving_clearing_and_setting_are_three_things() {
        let wire = |patch: DomainPatch| serde_json::to_value(patch).unwrap();
        assert_eq!(wire(DomainPatch::new()), json!({}));
        assert_eq!(
            wire(DomainPatch::new().clear_tracking_subdomain()),
            json!({ "tracking_subdomain": null })
        );
        let all = DomainPatch::new()
            .open_tracking(false)
            .click_tracking(true)
            .tracking_subdomain("t")
            .tls(Tls::Opportunistic)
            .sending(true)
            .receiving(false);
        assert!(all.check().is_ok());
        assert_eq!(
            wire(all),
            json!({"open_tracking": false, "click_tracking": true, "tracking_subdomain": "t", "tls": "opportunistic",
                "capabilities": {"sending": "enabled", "receiving": "disabled"}})
        );
    }

    #[test]
    fn what_can_never_be_right_is_found() {
        let codes = |patch: DomainPatch| -> Vec<_> {
            patch
                .check()
                .err()
                .map(crate::Problems::into_vec)
                .into_iter()
                .flatten()
                .map(|problem| (problem.path, problem.code))
                .collect()
        };
        assert_eq!(codes(DomainPatch::new()), [(String::new(), "required")]);
        let wrong = DomainPatch::new()
            .tracking_subdomain("a b")
            .tls(Tls::from("x".to_owned()))
            .sending(false)
            .receiving(false);
        let expected = [("/tracking_subdomain", "charset"), ("/tls", "type"), ("/capabilities", "required")];
        assert_eq!(codes(wrong), expected.map(|(path, code)| (path.to_owned(), code)));
        assert_eq!(codes(DomainPatch::new().sending(false)), [], "receiving may be on");
    }
}
