//! Many emails in one request.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    Accepted, Tag, VariableValue, from_json,
    message::{Message, message_setters},
};
use crate::{
    problem::{Problem, Problems, limits},
    types::{Recipients, TopicId},
};

/// One email of a batch: an [`Email`](super::Email) without attachments and without a time to be sent at, which batches don't support.
#[derive(Clone, Debug, Default)]
pub struct BatchEmail {
    pub(super) message: Message,
}

impl BatchEmail {
    /// An email with a body: add [`html`](Self::html) or [`text`](Self::text), or both.
    pub fn new(from: impl Into<String>, to: impl Into<Recipients>, subject: impl Into<String>) -> Self {
        Self::default().from(from).to(to).subject(subject)
    }

    /// An email from a published template, by its id or alias. Sender and subject come from the template unless they are given here.
    pub fn from_template(template: impl Into<String>, to: impl Into<Recipients>) -> Self {
        Self::default().template(template).to(to)
    }

    message_setters!();

    /// Reads as much of an email as makes sense from the JSON object that the service takes, with what is wrong about its shape.
    /// The rules that [`check_batch`] knows are not applied yet.
    pub fn read(json: &Value) -> (Self, Vec<Problem>) {
        from_json::batch_email(json)
    }
}

/// Whether a batch keeps all rules of the specification that can be checked here: 1 to 100 emails, each of them right.
///
/// # Errors
/// Everything that is wrong, at once; `/3/to/0` is the first recipient of the fourth email.
pub fn check_batch(emails: &[BatchEmail]) -> Result<(), Problems> {
    Problems::check(problems(emails))
}

pub(super) fn problems(emails: &[BatchEmail]) -> Vec<Problem> {
    let mut problems = Vec::new();
    if emails.is_empty() {
        problems.push(Problem::new("", "count", "a batch has at least 1 email").found("none"));
    } else if emails.len() > limits::EMAILS_PER_BATCH {
        let path = format!("/{}", limits::EMAILS_PER_BATCH);
        let rule = "a batch has at most 100 emails";
        problems.push(Problem::new(path, "count", rule).found(format!("{} emails", emails.len())));
    }
    for (i, email) in emails.iter().enumerate() {
        email.message.check(&format!("/{i}"), &mut problems);
    }
    problems
}

pub(super) fn wire(emails: &[BatchEmail]) -> Vec<u8> {
    let letters: Vec<_> = emails.iter().map(|email| email.message.wire()).collect();
    // Maps with text keys and numbers: there is nothing in it that JSON can't say.
    serde_json::to_vec(&letters).unwrap_or_default()
}

/// The answer to a batch.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct AcceptedBatch {
    /// The accepted emails in the order in which they were given. Unless the call was permissive, entry i belongs to email i.
    pub data: Vec<Accepted>,
    /// The emails that a permissive call left out, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "null_is_none")]
    pub errors: Vec<BatchError>,
}

/// One email that a permissive batch left out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct BatchError {
    /// Which email of the request, from 0.
    pub index: usize,
    /// What is wrong with it.
    pub message: String,
}

fn null_is_none<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Vec<BatchError>, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn emails(n: usize) -> Vec<BatchEmail> {
        (0..n).map(|i| BatchEmail::new("a@x.test", "b@x.test", i.to_string()).text("t")).collect()
    }

    #[test]
    fn a_batch_has_1_to_100_emails() {
        // BATCH-03
        assert_eq!(check_batch(&emails(0)).unwrap_err()[0].code, "count");
        assert!(check_batch(&emails(1)).is_ok());
        assert!(check_batch(&emails(100)).is_ok());
        assert_eq!(check_batch(&emails(101)).unwrap_err()[0].path, "/100");
    }

    #[test]
    fn a_batch_is_a_bare_array_in_order_without_what_it_cant_carry() {
        // BATCH-01, BATCH-07, BATCH-10
        let json: Value = serde_json::from_slice(&wire(&emails(3))).unwrap();
        let subjects: Vec<_> =
            json.as_array().unwrap().iter().map(|email| email["subject"].clone()).collect();
        assert_eq!(subjects, ["0", "1", "2"]);
        let (_, problems) =
            BatchEmail::read(&serde_json::json!({"attachments": [], "scheduled_at": "in 1 min"}));
        assert_eq!(problems.iter().map(|problem| problem.code).collect::<Vec<_>>(), ["unsupported"; 2]);
    }
}
