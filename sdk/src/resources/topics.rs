//! Topics, which contacts opt in to and out of. (The specification names them but doesn't define their fields.)

use crate::{
    call::Call,
    client::List,
    problem::{Validator, limits},
    resources::shared::{Deleted, Reference},
    types::{Timestamp, TopicId},
};

pub use super::shared::Subscription;

input! {
    /// A topic to create with [`Topics::create`].
    pub struct NewTopic {
        /// Creates a topic with a name of at most 50 characters and a default subscription for contacts, which can't be changed later.
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
        v.check_required("name", &self.name);
        v.max_length("name", Some(&self.name), limits::TOPIC_NAME_CHARS);
        v.check_known("default_subscription", Subscription::KNOWN, Some(self.default_subscription.as_str()));
        v.max_length("description", self.description.as_deref(), limits::TOPIC_DESCRIPTION_CHARS);
        v.check_known("visibility", Visibility::KNOWN, self.visibility.as_ref().map(Visibility::as_str));
    }
}

validate!(NewTopic);

patch! {
    /// Changes to a topic: [`Topics::update`]. Fields that aren't set are left unchanged.
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
        v.check_not_blank("name", self.name.text());
        v.max_length("name", self.name.text(), limits::TOPIC_NAME_CHARS);
        v.max_length("description", self.description.text(), limits::TOPIC_DESCRIPTION_CHARS);
        v.check_known("visibility", Visibility::KNOWN, self.visibility.value().map(Visibility::as_str));
    }
}

validate!(TopicPatch);

record! {
    /// A topic.
    pub struct Topic {
        /// The topic's ID.
        pub id: TopicId,
        /// The topic's name.
        pub name: String,
        /// The topic's description.
        pub description: Option<String>,
        /// The subscription of contacts that have no explicit one.
        pub default_subscription: Option<Subscription>,
        /// Which contacts see the topic on the preference page.
        pub visibility: Option<Visibility>,
        /// When the topic was created.
        pub created_at: Option<Timestamp>,
    }
}

items!(Topic);

open_enum! {
    /// Which contacts see a topic on the preference page.
    Visibility {
        /// All contacts.
        Public = "public",
        /// Only contacts that already have an explicit subscription.
        Private = "private",
    }
}

operations! {
    /// The operations on topics: [`Client::topics`](crate::Client::topics).
    pub struct Topics;

    /// Returns the operations on topics.
    accessor topics;

    /// Creates a topic: `POST /topics`.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) with all problems that [`NewTopic::check`] finds, before anything is sent.
    fn create() with (topic: &NewTopic) -> Call<Reference<TopicId>> = POST["/topics"];

    /// Lists topics, newest first: `GET /topics`, 20 per page by default.
    fn list() -> List<Topic> = GET["/topics"];

    /// Gets a topic: `GET /topics/{id}`.
    fn get(id: TopicId) -> Call<Topic> = GET["/topics/" id];

    /// Updates a topic: `PATCH /topics/{id}`.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) with all problems that [`TopicPatch::check`] finds, before anything is sent.
    fn update(id: TopicId) with (patch: &TopicPatch) -> Call<Reference<TopicId>> = PATCH["/topics/" id];

    /// Deletes a topic and all its subscriptions: `DELETE /topics/{id}`.
    fn delete(id: TopicId) -> Call<Deleted<TopicId>> = DELETE["/topics/" id];
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::problem::codes;

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
        assert!(new(50, 200).is_ok());
        assert_eq!(codes(new(51, 201)), "length /name, length /description");
        assert_eq!(codes(new(0, 0)), "required /name");
        let unknown = NewTopic::new("x", "no").visibility("all");
        let expected = "type /default_subscription, type /visibility";
        assert_eq!(codes(unknown.check()), expected);
    }

    #[test]
    fn only_fields_that_were_set_or_cleared_are_sent() {
        assert_eq!(
            serde_json::to_value(TopicPatch::new().clear_description()).unwrap(),
            json!({ "description": null })
        );
    }

    #[test]
    fn changed_names_and_descriptions_have_a_maximum_length() {
        let patch = |name: usize, description: usize| {
            TopicPatch::new().name("x".repeat(name)).description("x".repeat(description))
        };
        assert!(patch(50, 200).check().is_ok());
        let both = "length /name, length /description";
        assert_eq!(codes(patch(51, 201).check()), both);
        assert_eq!(codes(patch(0, 0).check()), "empty /name");
        assert_eq!(codes(TopicPatch::new().visibility("all").check()), "type /visibility");
    }
}
