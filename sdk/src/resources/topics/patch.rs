//! The input of a topic update.

use super::{new::check_visibility, record::Visibility};
use crate::problem::{Validator, limits};

patch! {
    /// Changes to a topic: [`Topics::update`](super::Topics::update). Fields that aren't set keep their value.
    pub struct TopicPatch {
        /// Sets the name, at most 50 characters.
        name: String,
        /// Sets the description, at most 200 characters.
        description: String |
        /// Removes the description.
        clear_description,
        /// Sets which contacts see the topic on the preference page.
        visibility: Visibility,
    }
}

impl TopicPatch {
    fn validate(&self, v: &mut Validator) {
        v.not_blank("name", self.name.text());
        v.max_length("name", self.name.text(), limits::TOPIC_NAME_CHARS);
        v.max_length("description", self.description.text(), limits::TOPIC_DESCRIPTION_CHARS);
        check_visibility(v, self.visibility.value());
    }
}

validate!(TopicPatch);

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_fields_that_were_set_or_cleared_are_sent() {
        assert_eq!(
            serde_json::to_value(TopicPatch::new().clear_description()).unwrap(),
            json!({ "description": null })
        );
    }

    #[test]
    fn names_and_descriptions_have_a_maximum_length() {
        let codes = |patch: TopicPatch| -> Vec<_> {
            patch
                .check()
                .err()
                .map(crate::problem::Problems::into_vec)
                .unwrap_or_default()
                .into_iter()
                .map(|problem| (problem.path, problem.code))
                .collect()
        };
        let patch = |name: usize, description: usize| {
            TopicPatch::new().name("x".repeat(name)).description("x".repeat(description))
        };
        assert!(patch(50, 200).check().is_ok());
        let both = [("/name".to_owned(), "length"), ("/description".to_owned(), "length")];
        assert_eq!(codes(patch(51, 201)), both);
        assert_eq!(codes(patch(0, 0)), [("/name".to_owned(), "empty")]);
        assert_eq!(codes(TopicPatch::new().visibility("all")), [("/visibility".to_owned(), "type")]);
    }
}
