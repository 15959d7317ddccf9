//! The input of a topic creation.

use super::record::Visibility;
use crate::{
    problem::{Validator, limits},
    resources::shared::{Subscription, check_subscription},
};

input! {
    /// A topic to create with [`Topics::create`](super::Topics::create).
    pub struct NewTopic {
        /// Creates a topic with a name of at most 50 characters and the default subscription of contacts, which can't be changed
        /// later.
        new(name: String, default_subscription: Subscription);
        optional {
            /// Sets the description, at most 200 characters.
            description: String,
            /// Sets which contacts see the topic on the preference page; [`Visibility::Private`] by default.
            visibility: Visibility,
        }
    }
}

impl NewTopic {
    fn validate(&self, v: &mut Validator) {
        v.required("name", &self.name);
        v.max_length("name", Some(&self.name), limits::TOPIC_NAME_CHARS);
        v.field("default_subscription", |v| check_subscription(v, &self.default_subscription));
        v.max_length("description", self.description.as_deref(), limits::TOPIC_DESCRIPTION_CHARS);
        check_visibility(v, self.visibility.as_ref());
    }
}

validate!(NewTopic);

pub(super) fn check_visibility(v: &mut Validator, visibility: Option<&Visibility>) {
    if let Some(Visibility::Unknown(value)) = visibility {
        v.field("visibility", |v| {
            v.report_found("type", "`visibility` must be public or private", value.as_str());
        });
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::problem::Problems;

    #[test]
    fn only_fields_that_were_set_are_sent() {
        let topic = NewTopic::new("News", Subscription::OptIn);
        let expected = json!({ "name": "News", "default_subscription": "opt_in" });
        assert_eq!(serde_json::to_value(&topic).unwrap(), expected);
        let topic = serde_json::to_value(topic.description("x").visibility(Visibility::Public)).unwrap();
        assert_eq!((&topic["description"], &topic["visibility"]), (&json!("x"), &json!("public")));
    }

    #[test]
    fn names_and_descriptions_have_a_maximum_length() {
        let new = |name: usize, description: usize| {
            NewTopic::new("é".repeat(name), Subscription::OptOut).description("é".repeat(description)).check()
        };
        let codes = |checked: Result<(), Problems>| -> Vec<_> {
            checked.unwrap_err().iter().map(|problem| (problem.path.clone(), problem.code)).collect()
        };
        assert!(new(50, 200).is_ok());
        assert_eq!(
            codes(new(51, 201)),
            [("/name".to_owned(), "length"), ("/description".to_owned(), "length")]
        );
        assert_eq!(codes(new(0, 0)), [("/name".to_owned(), "required")]);
        let unknown = NewTopic::new("x", "no").visibility("all");
        let expected = [("/default_subscription".to_owned(), "type"), ("/visibility".to_owned(), "type")];
        assert_eq!(codes(unknown.check()), expected);
    }
}
