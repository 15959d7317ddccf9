//! Client, server and contract have the same operations.
//!
//! The command line's part is in `cli/tests/cli/completeness.rs`.

mod examples;

use std::collections::BTreeSet;

use http::Method;
use idempost_conformance::contract::Contract;
use idempost_reference_server::Service;
use serde_json::json;

use self::examples::Examples;
use crate::assert_none;
use crate::operations::{Document, OPERATIONS, Operation, nameless};

const TABLE: &str = "tests/conformance/tests/conformance/operations/table.rs";

/// Operations that the client doesn't offer, with the reasons.
const NOT_IN_THE_CLIENT: &[(&str, &str)] = &[
    (
        "send_email_by_short_path send_email_by_sending_path send_email_by_short_sending_path",
        "aliases of POST /emails",
    ),
    ("authorize", "requested by a browser; the client builds the URL: idempost::auth"),
    ("exchange_token", "part of a login and of every token refresh: idempost::auth"),
    ("register_client get_authorization_server", "part of a login: idempost::auth"),
    ("revoke_token", "part of a logout: idempost::auth"),
    ("get_protected_resource get_keys", "for resource servers that verify tokens"),
    (
        "create_audience get_audience delete_audience list_audience_contacts create_audience_contact get_audience_contact \
         update_audience_contact delete_audience_contact",
        "deprecated: the client only lists audiences; use segments",
    ),
];

fn left_out() -> impl Iterator<Item = &'static str> {
    NOT_IN_THE_CLIENT.iter().flat_map(|(ids, _)| ids.split(' '))
}

#[test]
fn the_reference_server_serves_the_contract_and_nothing_else() {
    let described: BTreeSet<_> = Document::read()
        .operations()
        .iter()
        .map(|operation| (operation.method.to_string(), operation.pattern()))
        .collect();
    let served: BTreeSet<_> =
        Service::routes().map(|(method, path)| (method.to_string(), nameless(path))).collect();
    let mut wrong = Vec::new();
    for (method, path) in described.difference(&served) {
        wrong.push(format!("{method} {path} is in openapi.yaml but has no route"));
    }
    for (method, path) in served.difference(&described) {
        wrong.push(format!("{method} {path} is served but is not in openapi.yaml"));
    }
    assert_none(&wrong, "A route is one line in tests/reference-server/src/routes.rs.");
}

#[test]
fn the_client_has_a_method_for_every_operation() {
    let missing: Vec<_> = Document::read()
        .operations()
        .into_iter()
        .filter(|operation| !left_out().any(|id| id == operation.id))
        .filter(|operation| Operation::named(&operation.id).is_none())
        .map(|operation| format!("{}: {} {}", operation.id, operation.method, operation.path))
        .collect();
    let advice = format!(
        "Add a line to {TABLE}: `operation_id: |client, id| client.noun().verb(id, …);`, \
         or the operation with a reason to NOT_IN_THE_CLIENT."
    );
    assert_none(&missing, &advice);
}

#[test]
fn every_client_method_sends_only_the_request_of_its_operation() {
    let mut wrong = Vec::new();
    for operation in OPERATIONS {
        // The response doesn't matter here.
        let (came, sent) = operation.run(["x", "y", "z"], 404, &json!({}));
        let asked =
            |method: &Method, path: &str| Contract::get().operation_id(method, path) == Some(operation.id);
        match sent.as_slice() {
            [sent] if asked(&sent.method, sent.path()) => {}
            sent => wrong.push(format!("{}: {} sends {sent:?}, {came:?}", operation.id, operation.call)),
        }
    }
    assert_none(
        &wrong,
        &format!("Each line of {TABLE} has to be one request for the operation that it is named for."),
    );
}

#[test]
fn every_client_method_has_an_example() {
    let examples = Examples::read();
    let missing: Vec<_> = OPERATIONS
        .iter()
        .filter(|operation| !examples.show(operation.call))
        .map(|operation| format!("{}: {}", operation.id, operation.call))
        .collect();
    let advice = "Call it in a file of /examples, in README.md, or in an example of the documentation under sdk/src: \
                  the chain of methods from `client`, with any arguments.";
    assert_none(&missing, advice);
}

#[test]
fn every_exemption_refers_to_an_existing_operation() {
    let document = Document::read().operations();
    for id in left_out() {
        assert!(document.iter().any(|operation| operation.id == id), "{id} is not an operation");
        assert!(Operation::named(id).is_none(), "{id} is offered");
    }
    assert!(NOT_IN_THE_CLIENT.iter().all(|(_, reason)| !reason.is_empty()), "an exemption has no reason");
}
