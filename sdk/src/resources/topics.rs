//! Topics: what contacts can say yes or no to. (The specification names them and is silent on their shape.)

use http::Method;
use serde::{Deserialize, Serialize};

use super::{Deleted, Reference};
use crate::{
    call::{Call, Operation},
    client::{Client, Item, List},
    problem::{Validator, limits},
    types::{Patch, Timestamp, TopicId},
};

/// A topic to be made with [`Topics::create`].
#[derive(Clone, Debug, Serialize)]
pub struct NewTopic {
    name: String,
    default_subscription: Subscription,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    visibility: Option<Visibility>,
}

impl NewTopic {
    /// A topic with a name of at most 50 characters, and what holds for who has made no choice; that can't be changed later.
    pub fn new(name: impl Into<String>, default_subscription: Subscription) -> Self {
        Self { name: name.into(), default_subscription, description: None, visibility: None }
    }

    /// What it is about, at most 200 characters.
    #[must_use]
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.description = Some(description.into());
        self
    }

    /// Who sees it where contacts choose; without it, [`Visibility::Private`].
    #[must_use]
    pub fn visibility(mut self, visibility: Visibility) -> Self {
        self.visibility = Some(visibility);
        self
    }

    fn validate(&self, v: &mut Validator) {
        v.required("name", &self.name);
        v.max_length("name", Some(&self.name), limits::TOPIC_NAME_CHARS);
        v.field("default_subscription", |v| check_subscription(v, &self.default_subscription));
        v.max_length("description", self.description.as_deref(), limits::TOPIC_DESCRIPTION_CHARS);
        check_visibility(v, self.visibility.as_ref());
    }
}

validate!(NewTopic);

/// What to change of a topic: [`Topics::update`]. What is not named stays as it is.
#[derive(Clone, Debug, Default, Serialize)]
pub struct TopicPatch {
    #[serde(skip_serializing_if = "Patch::is_keep")]
    name: Patch<String>,
    #[serde(skip_serializing_if = "Patch::is_keep")]
    description: Patch<String>,
    #[serde(skip_serializing_if = "Patch::is_keep")]
    visibility: Patch<Visibility>,
}

impl TopicPatch {
    /// Changes nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Another name, at most 50 characters.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Patch::Set(name.into());
        self
    }

    /// Another description, at most 200 characters.
    #[must_use]
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.description = Patch::Set(description.into());
        self
    }

    /// Takes the description away.
    #[must_use]
    pub fn clear_description(mut self) -> Self {
        self.description = Patch::Clear;
        self
    }

    /// Shows it to others, or not.
    #[must_use]
    pub fn visibility(mut self, visibility: Visibility) -> Self {
        self.visibility = Patch::Set(visibility);
        self
    }

    fn validate(&self, v: &mut Validator) {
        v.not_blank("name", self.name.text());
        v.max_length("name", self.name.text(), limits::TOPIC_NAME_CHARS);
        v.max_length("description", self.description.text(), limits::TOPIC_DESCRIPTION_CHARS);
        check_visibility(v, self.visibility.value());
    }
}

validate!(TopicPatch);

/// One topic.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Topic {
    /// The topic's id.
    pub id: TopicId,
    /// Its name.
    pub name: String,
    /// What it is about.
    #[serde(default)]
    pub description: Option<String>,
    /// What holds for who has made no choice.
    #[serde(default)]
    pub default_subscription: Option<Subscription>,
    /// Who sees it where contacts choose.
    #[serde(default)]
    pub visibility: Option<Visibility>,
    /// When it was made.
    #[serde(default)]
    pub created_at: Option<Timestamp>,
}

impl Item for Topic {
    fn cursor(&self) -> Option<&str> {
        Some(self.id.as_str())
    }
}

open_enum! {
    /// Whether somebody wants the emails of a topic. (The specification has seen `opt_in`.)
    Subscription {
        /// Yes.
        OptIn = "opt_in",
        /// No.
        OptOut = "opt_out",
    }
}

open_enum! {
    /// Who sees a topic where contacts choose.
    Visibility {
        /// Every contact.
        Public = "public",
        /// Who has chosen it already.
        Private = "private",
    }
}

/// The operations on topics: [`Client::topics`].
#[derive(Clone, Copy, Debug)]
pub struct Topics<'a> {
    client: &'a Client,
}

impl Client {
    /// Topics: what contacts can say yes or no to.
    pub fn topics(&self) -> Topics<'_> {
        Topics { client: self }
    }
}

impl Topics<'_> {
    /// Makes a topic: `POST /topics`.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) with all problems that [`NewTopic::check`] finds, before anything is sent.
    pub fn create(&self, topic: &NewTopic) -> Call<Reference<TopicId>> {
        let operation = Operation::new("topics.create", Method::POST, "/topics");
        Call::new(&self.client.core, operation.validated(topic).with_json(topic))
    }

    /// The topics, newest first: `GET /topics`, 20 a page unless a limit is given.
    pub fn list(&self) -> List<Topic> {
        List::new(self.client, Operation::get("topics.list", "/topics"))
    }

    /// One topic: `GET /topics/{id}`.
    pub fn get(&self, id: impl Into<TopicId>) -> Call<Topic> {
        Call::new(&self.client.core, on("topics.get", Method::GET, &id.into()))
    }

    /// Changes a topic: `PATCH /topics/{id}`.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) with all problems that [`TopicPatch::check`] finds, before anything is sent.
    pub fn update(&self, id: impl Into<TopicId>, patch: &TopicPatch) -> Call<Reference<TopicId>> {
        let operation = on("topics.update", Method::PATCH, &id.into());
        Call::new(&self.client.core, operation.validated(patch).with_json(patch))
    }

    /// Deletes a topic, and with it what contacts have said to it: `DELETE /topics/{id}`.
    pub fn delete(&self, id: impl Into<TopicId>) -> Call<Deleted<TopicId>> {
        Call::new(&self.client.core, on("topics.delete", Method::DELETE, &id.into()))
    }
}

pub(super) fn check_subscription(v: &mut Validator, subscription: &Subscription) {
    if let Subscription::Unknown(value) = subscription {
        v.report_found("type", "a subscription is opt_in or opt_out", value.as_str());
    }
}

fn check_visibility(v: &mut Validator, visibility: Option<&Visibility>) {
    if let Some(Visibility::Unknown(value)) = visibility {
        v.field("visibility", |v| {
            v.report_found("type", "`visibility` is public or private", value.as_str());
        });
    }
}

fn on(name: &'static str, method: Method, id: &TopicId) -> Operation {
    Operation::on(name, method, "/topics/", id.as_str(), "")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_what_was_named_goes_out() {
        let topic = NewTopic::new("News", Subscription::OptIn);
        let expected = json!({ "name": "News", "default_subscription": "opt_in" });
        assert_eq!(serde_json::to_value(&topic).unwrap(), expected);
        let topic = serde_json::to_value(topic.description("x").visibility(Visibility::Public)).unwrap();
        assert_eq!((&topic["description"], &topic["visibility"]), (&json!("x"), &json!("public")));
        assert_eq!(
            serde_json::to_value(TopicPatch::new().clear_description()).unwrap(),
            json!({ "description": null })
        );
    }

    #[test]
    fn the_limits_hold_on_both_sides() {
        let new = |name: usize, description: usize| {
            NewTopic::new("é".repeat(name), Subscription::OptOut).description("é".repeat(description)).check()
        };
        assert!(new(50, 200).is_ok());
        let codes = |checked: Result<(), crate::Problems>| -> Vec<_> {
            checked.unwrap_err().iter().map(|problem| (problem.path.clone(), problem.code)).collect()
        };
        let both = [("/name".to_owned(), "length"), ("/description".to_owned(), "length")];
        assert_eq!(codes(new(51, 201)), both);
        assert_eq!(codes(new(0, 0)), [("/name".to_owned(), "required")]);
        let unknown = NewTopic::new("x", Subscription::from("no".to_owned()))
            .visibility(Visibility::from("all".to_owned()));
        let expected = [("/default_subscription".to_owned(), "type"), ("/visibility".to_owned(), "type")];
        assert_eq!(codes(unknown.check()), expected);
        let unknown = TopicPatch::new().visibility(Visibility::from("all".to_owned()));
        assert_eq!(codes(unknown.check()), [("/visibility".to_owned(), "type")]);
        let patch = |name: usize, description: usize| {
            TopicPatch::new().name("x".repeat(name)).description("x".repeat(description)).check()
        };
        assert!(patch(50, 200).is_ok());
        assert_eq!(codes(patch(51, 201)), both);
        assert_eq!(codes(patch(0, 0)), [("/name".to_owned(), "empty")]);
    }
}
