//! The input of an API key creation.

use crate::{
    problem::{Problem, Problems},
    types::DomainId,
};

input! {
    /// An API key to create with [`ApiKeys::create`](super::ApiKeys::create).
    pub struct NewApiKey {
        /// Creates a key with full access and a display name.
        new(name: String);
        other {
            #[serde(skip_serializing_if = "Option::is_none")]
            permission: Option<&'static str>,
            #[serde(skip_serializing_if = "Option::is_none")]
            domain_id: Option<DomainId>,
        }
    }
}

impl NewApiKey {
    /// Restricts the key to sending.
    #[must_use]
    pub fn sending_access(mut self) -> Self {
        self.permission = Some("sending_access");
        self
    }

    /// Restricts the key to sending from one domain.
    #[must_use]
    pub fn domain(mut self, id: impl Into<DomainId>) -> Self {
        // The service ignores the domain of a key with full access.
        self.permission = Some("sending_access");
        self.domain_id = Some(id.into());
        self
    }

    /// Validates the input.
    ///
    /// # Errors
    /// All problems at once.
    pub fn check(&self) -> Result<(), Problems> {
        Problems::check(self.problems())
    }

    pub(super) fn problems(&self) -> Vec<Problem> {
        let domain = self.domain_id.as_ref().filter(|id| id.as_str().is_empty());
        let domain = domain.map(|_| Problem::new("/domain_id", "empty", "`domain_id` must not be empty"));
        name_problem(&self.name).into_iter().chain(domain).collect()
    }
}

pub(super) fn name_problem(name: &str) -> Option<Problem> {
    name.is_empty().then(|| Problem::new("/name", "required", "`name` is required"))
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
