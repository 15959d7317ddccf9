//! The client decodes every response that the contract allows, and encodes what it knows without loss.

mod schema;

use idempost_conformance::contract::{Answer, Contract};
use proptest::{
    prelude::*,
    test_runner::{Config, TestRunner},
};
use serde_json::Value;

use self::schema::{ADDED, Fidelity, Schemas};
use crate::operations::{Document, Operation};

/// Fields that no record encodes: the record type, later additions, and secrets, which only `expose()` returns.
const UNWRITTEN: [&str; 4] = ["object", ADDED, "token", "signing_secret"];

/// Returns the first value that is missing or different after encoding.
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
        // An absent list is encoded only if it isn't empty.
        (Value::Array(answered), Value::Null) if answered.is_empty() => None,
        _ if answered == written => None,
        _ => Some(format!("{place}: {answered} became {written}")),
    }
}

/// Makes a response to a batch describe the one email of the request. Returns false if it describes none.
fn describe_one_email(answer: &mut Value) -> bool {
    let mut described = 0;
    for list in ["data", "errors"] {
        let Some(Value::Array(emails)) = answer.get_mut(list) else { continue };
        emails.truncate(1 - described);
        described += emails.len();
    }
    if let Some(index) = answer.pointer_mut("/errors/0/index") {
        *index = 0.into();
    }
    described == 1
}

/// Tries 10 responses to every operation, or 24 with `IDEMPOST_EXHAUSTIVE`; reports all operations that fail, each with its smallest response.
fn try_answers(fidelity: Fidelity) {
    let document = Document::read();
    let cases = if std::env::var_os("IDEMPOST_EXHAUSTIVE").is_some() { 24 } else { 10 };
    let mut failures = Vec::new();
    for described in document.operations() {
        let Some(operation) = Operation::named(&described.id) else { continue };
        let (status, schema) = &described.success;
        let config =
            Config { cases, failure_persistence: None, max_global_rejects: 100_000, ..Config::default() };
        let mut runner = TestRunner::new(config);
        let outcome = runner.run(&Schemas::new(&document, fidelity).values(schema), |mut answer| {
            prop_assume!(described.id != "send_batch" || describe_one_email(&mut answer));
            if fidelity == Fidelity::Exact {
                let path = described.path_with(&["x", "y", "z"]);
                let generated = Answer::json(*status, &answer.to_string());
                let breaches = Contract::get().breaches_of_answer(&described.method, &path, &generated);
                prop_assert!(breaches.is_empty(), "the generator violates the contract: {breaches:?}");
            }
            match operation.run(["x", "y", "z"], *status, &answer).0 {
                Ok(written) => prop_assert_eq!(lost(&answer, &written, ""), None),
                Err(error) => prop_assert!(
                    false,
                    "not decoded: {error}: {}",
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

#[test]
fn every_response_that_keeps_the_contract_is_decoded_without_loss() {
    // GEN-32, GEN-33, B-20
    try_answers(Fidelity::Exact);
}

#[test]
fn an_optional_value_may_be_null_or_missing() {
    // GEN-26, B-20
    try_answers(Fidelity::NullOrMissing);
}

#[test]
fn scalars_of_other_types_never_fail_a_record_and_are_preserved() {
    // B-20
    try_answers(Fidelity::WrongTypes);
}
