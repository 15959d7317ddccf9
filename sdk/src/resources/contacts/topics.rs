//! What a contact says to each topic.

use http::Method;
use serde::{Deserialize, Serialize};

use super::{ContactRef, Contacts, new::Choice, on};
use crate::{
    call::Call,
    client::{Item, List},
    problem::{Problems, Validate, Validator},
    resources::topics::Subscription,
    types::{ContactId, TopicId},
};

/// What a contact says to one topic (`SPEC.md`, Contact topic subscription).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TopicSubscription {
    /// The topic's id.
    pub id: TopicId,
    /// The topic's name.
    pub name: String,
    /// What the topic is about.
    #[serde(default)]
    pub description: Option<String>,
    /// The contact's own choice, or the topic's default where the contact has made none.
    #[serde(default)]
    pub subscription: Option<Subscription>,
}

impl Item for TopicSubscription {
    fn cursor(&self) -> Option<&str> {
        Some(self.id.as_str())
    }
}

/// The answer to [`Contacts::update_topics`]: whose choices were written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Written")]
#[non_exhaustive]
pub struct TopicsUpdated {
    /// The contact's id, also where it was named by its address. (The specification is silent on this answer. Two forms are known, one
    /// calls it `id`, the other `contact_id`; either is read.)
    pub id: ContactId,
}

#[derive(Deserialize)]
struct Written {
    #[serde(default)]
    id: Option<ContactId>,
    #[serde(default)]
    contact_id: Option<ContactId>,
}

impl TryFrom<Written> for TopicsUpdated {
    type Error = &'static str;

    fn try_from(written: Written) -> Result<Self, Self::Error> {
        let id =
            written.contact_id.or(written.id).ok_or("neither `id` nor `contact_id` names the contact")?;
        Ok(Self { id })
    }
}

/// What contacts say to topics.
impl Contacts<'_> {
    /// What a contact says to each topic: `GET /contacts/{id_or_email}/topics`, all of them on one page unless a limit is given.
    ///
    /// Topics that the contact has made no choice about are shown with their default. (The specification is silent on them.)
    ///
    /// ```
    /// # async fn example(client: &posthaste::Client) -> posthaste::Result<()> {
    /// for topic in client.contacts().topics("ada@example.com").await?.data {
    ///     println!("{}: {:?}", topic.name, topic.subscription);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn topics(&self, contact: impl Into<ContactRef>) -> List<TopicSubscription> {
        List::new(self.client, on("contacts.topics", Method::GET, &contact.into(), "/topics"))
    }

    /// Writes what a contact wants: `PATCH /contacts/{id_or_email}/topics`. Topics that are not named keep their choice; of a topic that is
    /// named twice, the last one counts.
    ///
    /// ```
    /// # async fn example(client: &posthaste::Client) -> posthaste::Result<()> {
    /// use posthaste::Subscription;
    ///
    /// let choices = [("b6d24b8e-af0b-4c3c-be0c-359bbd97381e", Subscription::OptOut)];
    /// client.contacts().update_topics("ada@example.com", choices).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// The choices go out as a bare array, the form that other clients of this format send.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) if an id is empty or a subscription is neither of the two, before anything is sent.
    pub fn update_topics<T: Into<TopicId>>(
        &self,
        contact: impl Into<ContactRef>,
        choices: impl IntoIterator<Item = (T, Subscription)>,
    ) -> Call<TopicsUpdated> {
        let choices: Vec<_> =
            choices.into_iter().map(|(id, subscription)| Choice { id: id.into(), subscription }).collect();
        let operation = on("contacts.update_topics", Method::PATCH, &contact.into(), "/topics");
        Call::new(&self.client.core, operation.validated(choices.as_slice()).with_json(&choices))
    }
}

impl Validate for [Choice] {
    fn check(&self) -> Result<(), Problems> {
        Validator::run(|v| {
            for (i, choice) in self.iter().enumerate() {
                v.item(i, |v| choice.validate(v));
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{from_value, json};

    use super::*;

    #[test]
    fn both_known_answers_name_the_contact() {
        for answer in [
            json!({ "object": "contact_topics", "id": "c1" }),
            json!({ "object": "contact", "contact_id": "c1", "topics": [] }),
            json!({ "id": "another thing", "contact_id": "c1" }),
        ] {
            assert_eq!(from_value::<TopicsUpdated>(answer).unwrap().id.as_str(), "c1");
        }
        assert!(from_value::<TopicsUpdated>(json!({ "object": "contact_topics" })).is_err());
    }

    #[test]
    fn everything_wrong_with_the_choices_is_found() {
        let choice = |id: &str, subscription: &str| Choice {
            id: id.into(),
            subscription: Subscription::from(subscription.to_owned()),
        };
        let choices = [choice("t1", "opt_in"), choice("", "opt_out"), choice("t3", "maybe")];
        let found = choices.as_slice().check().unwrap_err();
        let found: Vec<_> = found.iter().map(|problem| (problem.path.as_str(), problem.code)).collect();
        assert_eq!(found, [("/1/id", "empty"), ("/2/subscription", "type")]);
    }
}
