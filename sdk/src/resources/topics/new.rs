//! The input of a topic creation.

use super::record::Visibility;
use crate::{
    problem::{Problem, Problems, limits, rules::check_length},
    resources::shared::{Subscription, subscription_problem},
};

input! {
    /// A topic to create with [`Topics::create`](super::Topics::create).
    pub struct NewTopic {
        /// Creates a topic with a name of at most 50 characters and the subscription of contacts that make no choice, which can't be changed
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
    /// Validates the input.
    ///
    /// # Errors
    /// All problems at once.
    pub fn check(&self) -> Result<(), Problems> {
        Problems::check(self.problems())
    }

    pub(super) fn problems(&self) -> Vec<Problem> {
        let mut problems = Vec::new();
        if self.name.trim().is_empty() {
            problems.push(Problem::new("/name", "required", "`name` is required"));
        }
        check_length("name", &self.name, limits::TOPIC_NAME_CHARS, &mut problems);
        problems.extend(subscription_problem("/default_subscription", &self.default_subscription));
        if let Some(description) = &self.description {
            check_length("description", description, limits::TOPIC_DESCRIPTION_CHARS, &mut problems);
        }
        problems.extend(visibility_problem(self.visibility.as_ref()));
        problems
    }
}

pub(super) fn visibility_problem(visibility: Option<&Visibility>) -> Option<Problem> {
    let Some(Visibility::Unknown(value)) = visibility else { return None };
    Some(Problem::new("/visibility", "type", "`visibility` is public or private").found(value.as_str()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

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
