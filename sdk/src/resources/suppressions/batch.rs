//! The inputs that add and remove addresses.

use serde::Serialize;

use crate::{
    problem::{Validator, address_fault, limits},
    types::SuppressionId,
};

#[derive(Serialize)]
pub(super) struct Address {
    pub(super) email: String,
}

impl Address {
    fn validate(&self, v: &mut Validator) {
        v.required("email", &self.email);
        if !self.email.trim().is_empty() {
            v.field("email", |v| check_address(v, &self.email));
        }
    }
}

validate!(private Address);

fn check_address(v: &mut Validator, text: &str) {
    let bare = !text.trim_end().ends_with('>') && text.trim() == text;
    let fault = address_fault(text).or_else(|| {
        (!bare).then_some(("address", "a suppressed address has neither a name nor white space around it"))
    });
    if let Some((code, rule)) = fault {
        v.report_found(code, rule, text.escape_debug());
    }
}

/// The addresses or the IDs of a batch.
#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Batch {
    Emails(Vec<String>),
    Ids(Vec<SuppressionId>),
}

impl Batch {
    fn validate(&self, v: &mut Validator) {
        let (name, count) = match self {
            Self::Emails(emails) => {
                v.each("emails", emails, |v, email| check_address(v, email));
                ("emails", emails.len())
            }
            Self::Ids(ids) => {
                v.each("ids", ids, |v, id| {
                    if id.as_str().is_empty() {
                        v.report("empty", "an id must not be empty");
                    }
                });
                ("ids", ids.len())
            }
        };
        let max = limits::SUPPRESSIONS_PER_BATCH;
        if count == 0 || count > max {
            v.field(name, |v| {
                v.report_found("count", format!("a batch must have 1 to {max} entries"), count);
            });
        }
    }
}

validate!(private Batch);

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::problem::Validate as _;

    fn codes(batch: &Batch) -> Vec<(String, &'static str)> {
        let found = batch.check().err().map(crate::problem::Problems::into_vec).unwrap_or_default();
        found.into_iter().map(|problem| (problem.path, problem.code)).collect()
    }

    #[test]
    fn a_batch_has_one_to_a_hundred_entries() {
        let emails = |count: usize| Batch::Emails(vec!["ada@example.com".to_owned(); count]);
        assert_eq!(codes(&emails(1)), []);
        assert_eq!(codes(&emails(100)), []);
        for count in [0, 101] {
            assert_eq!(codes(&emails(count)), [("/emails".to_owned(), "count")]);
        }
        assert_eq!(codes(&Batch::Ids(Vec::new())), [("/ids".to_owned(), "count")]);
    }

    #[test]
    fn every_invalid_entry_is_reported() {
        let emails = ["ada@example.com", "nobody", ""].map(str::to_owned).to_vec();
        let places: Vec<_> = codes(&Batch::Emails(emails)).into_iter().map(|(path, _)| path).collect();
        assert_eq!(places, ["/emails/1", "/emails/2"]);
        assert_eq!(codes(&Batch::Ids(vec!["".into()])), [("/ids/0".to_owned(), "empty")]);
        assert!(Address { email: "nobody".to_owned() }.check().is_err());
    }

    #[test]
    fn the_body_has_either_addresses_or_ids() {
        let body = |batch: &Batch| serde_json::to_value(batch).unwrap();
        assert_eq!(body(&Batch::Ids(vec!["s1".into()])), json!({ "ids": ["s1"] }));
        assert_eq!(body(&Batch::Emails(vec!["a@b.c".to_owned()])), json!({ "emails": ["a@b.c"] }));
    }
}
