//! The input for updating a domain.

use super::{
    name::check_label,
    new::{Switches, Tls, capability},
};
use crate::problem::Validator;

patch! {
    /// Changes to a domain: [`Domains::update`](super::Domains::update). Fields that aren't set are left unchanged.
    ///
    /// ```
    /// use idempost::domains::DomainPatch;
    ///
    /// let patch = DomainPatch::new().tracking_subdomain("links").open_tracking(true);
    /// assert!(patch.check().is_ok());
    /// assert!(DomainPatch::new().check().is_err(), "it changes nothing");
    /// ```
    pub struct DomainPatch {
        /// Sets whether opens are tracked.
        open_tracking: bool,
        /// Sets whether clicks are tracked.
        click_tracking: bool,
        /// Sets the label of the tracking subdomain. It needs a separate DNS record, which must be published and verified.
        tracking_subdomain: String |
        /// Removes the tracking subdomain (`null` on the wire), which disables tracking. (The specification doesn't define this.)
        clear_tracking_subdomain,
        /// Sets the policy for recipient servers without TLS support.
        tls: Tls,
    } other {
        #[serde(skip_serializing_if = "Switches::is_untouched")]
        capabilities: Switches,
    }
}

impl DomainPatch {
    /// Sets whether the domain can send. At least one of sending and receiving must stay enabled.
    pub fn sending(mut self, on: bool) -> Self {
        self.capabilities.sending = Some(capability(on));
        self
    }

    /// Sets whether the domain can receive, which requires an MX record. At least one of sending and receiving must stay enabled.
    pub fn receiving(mut self, on: bool) -> Self {
        self.capabilities.receiving = Some(capability(on));
        self
    }

    fn validate(&self, v: &mut Validator) {
        if self.is_untouched() && self.capabilities.is_untouched() {
            return v.report("required", "an update must set at least one field");
        }
        if let Some(label) = self.tracking_subdomain.value() {
            v.field("tracking_subdomain", |v| check_label(v, label));
        }
        v.check_known("tls", Tls::KNOWN, self.tls.value().map(Tls::as_str));
        // Capabilities that aren't set may already be enabled.
        self.capabilities.validate(v, true);
    }
}

validate!(DomainPatch);

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::problem::codes;

    #[test]
    fn keeping_clearing_and_setting_a_field_differ_on_the_wire() {
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
    fn invalid_changes_are_rejected() {
        assert_eq!(codes(DomainPatch::new().check()), "required");
        let wrong = DomainPatch::new().tracking_subdomain("a b").tls("x").sending(false).receiving(false);
        let expected = ["charset /tracking_subdomain", "type /tls", "required /capabilities"];
        assert_eq!(codes(wrong.check()), expected.join(", "));
        assert_eq!(codes(DomainPatch::new().sending(false).check()), "", "receiving may be on");
    }
}
