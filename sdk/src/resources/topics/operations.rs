//! The operations on topics.

use super::{new::NewTopic, patch::TopicPatch, record::Topic};
use crate::{
    call::Call,
    client::List,
    resources::shared::{Deleted, Reference},
    types::TopicId,
};

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

    /// Deletes a topic with all its subscriptions: `DELETE /topics/{id}`.
    fn delete(id: TopicId) -> Call<Deleted<TopicId>> = DELETE["/topics/" id];
}
