//! The input of an API key creation.

use crate::{problem::Validator, types::DomainId};

input! {
    /// An API key to create with [`ApiKeys::create`](super::ApiKeys::create).
    pub struct NewApiKey {
        /// Creates a key with full access and a display name.
        new(name: String);
        apart {
            #[serde(skip_serializing_if = "Option::is_none")]
            permission: Option<&'static str>,
            #[serde(skip_serializing_if = "Option::is_none")]
            domain_id: Option<DomainId>,
        }
    }
}

impl NewApiKey {
    setters! {
        /// Restricts the key to sending.
        sending_access = Some("sending_access") => permission;
    }

    /// Restricts the key to sending from one domain.
    #[must_use]
    pub fn domain(mut self, id: impl Into<DomainId>) -> Self {
        // The service ignores the domain of a key with full access.
        self.permission = Some("sending_access");
        self.domain_id = Some(id.into());
        self
    }

    fn validate(&self, v: &mut Validator) {
        check_name(v, &self.name);
        v.not_empty("domain_id", self.domain_id.as_ref().map(DomainId::as_str));
    }
}

validate!(NewApiKey);

pub(super) fn check_name(v: &mut Validator, name: &str) {
    if name.is_empty() {
        v.report_at("name", "required", "`name` is required");
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_key_for_a_domain_is_restricted_to_sending() {
        let wire = |key: NewApiKey| serde_json::to_value(key).unwrap();
        assert_eq!(wire(NewApiKey::new("x")), json!({ "name": "x" }));
        let domain = json!({ "name": "x", "permission": "sending_access", "domain_id": "d" });
        assert_eq!(wire(NewApiKey::new("x").domain("d")), domain);
        let problems = NewApiKey::new("").domain("").check().unwrap_err();
        assert_eq!((problems[0].path.as_str(), problems[1].path.as_str()), ("/name", "/domain_id"));
    }
}
