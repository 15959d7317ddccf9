//! Whatever the contract lets the service answer, the client understands; and it writes what it knows of it as it was.

mod schema;

use http::{HeaderMap, HeaderValue};
use posthaste_conformance::contract::{Answer, Contract};
use proptest::{
    prelude::*,
    test_runner::{Config, TestRunner},
};
use serde_json::Value;

use self::schema::{ADDED, Manners, Schemas};
use crate::operations::{Document, Operation};

/// What no record writes: the service's own kind of the record, what it may add later, and secrets, which only `expose()` gives.
const UNWRITTEN: [&str; 4] = ["object", ADDED, "token", "signing_secret"];

/// The first thing that the value written again lacks or says in another way.
fn lost(answered: &Value, written: &Value, place: &str) -> Option<String> {
    match (answered, written) {
        (Value::Object(answered), Value::Object(written)) => answered
            .iter()
            .filter(|(key, value)| !(UNWRITTEN.contains(&key.as_str()) || value.is_null()))
            .find_map(|(key, value)| {
                lost(value, written.get(key).unwrap_or(&Value::Null), &format!("{place}/{key}"))
            }),
        (Value::Array(answered), Value::Array(written)) if answered.len() == written.len() => {
            let pairs = answered.iter().zip(written).enumerate();
            pairs
                .into_iter()
                .find_map(|(n, (answered, written))| lost(answered, written, &format!("{place}/{n}")))
        }
        // 12 and 12.0 are one number.
        (Value::Number(answered), Value::Number(written)) if answered.as_f64() == written.as_f64() => None,
        // A list that may be absent is written when it says something.
        (Value::Array(answered), Value::Null) if answered.is_empty() => None,
        _ if answered == written => None,
        _ => Some(format!("{place}: {answered} became {written}")),
    }
}

/// Tries answers to every operation; all operations that fail are told, each with its smallest answer.
fn try_answers(manners: Manners) {
    let document = Document::read();
    let mut failures = Vec::new();
    for described in document.operations() {
        let Some(operation) = Operation::named(&described.id) else { continue };
        let (status, schema) = &described.success;
        let config =
            Config { cases: 24, failure_persistence: None, max_global_rejects: 100_000, ..Config::default() };
        let mut runner = TestRunner::new(config);
        let outcome = runner.run(&Schemas::new(&document, manners).values(schema), |answer| {
            if manners == Manners::Contract {
                let breaches =
                    breaches(&described.method, &described.path_with(&["x", "y"]), *status, &answer);
                prop_assert!(breaches.is_empty(), "the generator breaks the contract: {breaches:?}");
            }
            match operation.run(["x", "y"], *status, &answer).0 {
                Ok(written) => prop_assert_eq!(lost(&answer, &written, ""), None),
                Err(error) => prop_assert!(
                    false,
                    "not understood: {error}: {}",
                    std::error::Error::source(&error).map(ToString::to_string).unwrap_or_default()
                ),
            }
            Ok(())
        });
        if let Err(failure) = outcome {
            failures.push(format!("{}: {failure}", described.id));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}

fn breaches(method: &http::Method, path: &str, status: u16, body: &Value) -> Vec<String> {
    let headers = [
        ("content-type", "application/json"),
        ("ratelimit-limit", "10"),
        ("ratelimit-remaining", "9"),
        ("ratelimit-reset", "1"),
        ("ratelimit-policy", "10;w=1"),
        ("x-request-id", "0bf6a8c6-29c2-4a6a-a9b9-3a1d6b8d7f0e"),
    ];
    let headers: HeaderMap = headers
        .into_iter()
        .map(|(name, value)| (name.parse().unwrap(), HeaderValue::from_static(value)))
        .collect();
    let answer = Answer { status: status.try_into().unwrap(), headers, body: body.to_string().into() };
    Contract::get().breaches_of_answer(method, path, &answer)
}

#[test]
fn every_answer_that_keeps_the_contract_is_understood_and_kept() {
    // GEN-32, GEN-33
    try_answers(Manners::Contract);
}

#[test]
fn an_optional_value_may_be_null_or_missing_whatever_the_contract_says_of_it() {
    // GEN-26
    try_answers(Manners::Careless);
}

#[test]
fn scalars_of_other_types_never_fail_a_record_and_are_written_as_sent() {
    try_answers(Manners::Confused);
}
