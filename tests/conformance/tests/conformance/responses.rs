//! The contract's responses are complete in both directions: every response of the service is declared, and every declared response occurs.
//!
//! Each operation is called with the examples of its request, and with variations that provoke its errors. A separate test is needed only
//! for responses that depend on the state of a record.

mod probes;
mod wire;
mod world;

use std::collections::{BTreeMap, BTreeSet};

use idempost_conformance::contract::{Answer, Contract, Declared};
use idempost_reference_server::Settings;

use self::{
    probes::Probes,
    world::{KEY, Probe, World, succeeds},
};
use crate::assert_none;
use crate::operations::{Described, Document};

/// The responses so far.
#[derive(Default)]
struct Reached {
    statuses: BTreeSet<(String, u16)>,
    /// By the location of the schema that lists the name.
    names: BTreeSet<(String, String)>,
    /// By the definition of the response, which operations may share.
    headers: BTreeSet<(String, String)>,
    breaches: BTreeSet<String>,
    declared: BTreeMap<(String, u16), Declared<'static>>,
}

impl Reached {
    fn new() -> Self {
        let declared = Contract::get().responses();
        let declared = declared.map(|one| ((one.operation.to_owned(), one.status), one)).collect();
        Self { declared, ..Self::default() }
    }

    fn add(&mut self, operation: &Described, probe: &Probe, answer: &Answer) {
        for breach in Contract::get().breaches_of_answer(&operation.method, probe.bare_path(), answer) {
            self.breaches.insert(format!("{}: {breach}", operation.id));
        }
        let status = (operation.id.clone(), answer.status.as_u16());
        if let Some(declared) = self.declared.get(&status) {
            let headers = answer.headers.keys().map(|header| header.as_str().to_owned());
            self.headers.extend(headers.map(|header| (declared.definition.to_owned(), header)));
            let name = answer.error_name().and_then(|name| Some((declared.names.get(&name)?.clone(), name)));
            self.names.extend(name);
        }
        self.statuses.insert(status);
    }

    /// Responses that the contract declares but that never occurred.
    fn missing(&self) -> Vec<String> {
        let mut missing = BTreeSet::new();
        for declared in self.declared.values() {
            if !self.statuses.contains(&(declared.operation.to_owned(), declared.status)) {
                missing
                    .insert(format!("{}: status {} is never reached", declared.operation, declared.status));
            }
            for (name, list) in declared.names {
                if !self.names.contains(&(list.clone(), name.clone())) {
                    missing.insert(format!("{list}: the error {name} is never reached"));
                }
            }
            for header in &declared.headers {
                if !self.headers.contains(&(declared.definition.to_owned(), header.to_lowercase())) {
                    missing.insert(format!("{}: the header {header} is never sent", declared.definition));
                }
            }
        }
        missing.into_iter().collect()
    }
}

/// The contract's name of a credential, with such a credential, its scopes, and how an operation that doesn't accept it rejects it.
type Credential<'a> = (&'a str, Option<&'a str>, &'a [&'a str], (u16, &'a str));

#[test]
fn every_operation_accepts_the_credentials_of_its_security_and_no_others() {
    let document = Document::read();
    let unchanged = World::new(Settings::default());
    let mut wrong = Vec::new();
    for operation in document.operations() {
        let probes = Probes { document: &document, operation: &operation };
        let security = document.security(&operation);
        let full = ["full_access", "emails:send"];
        let credentials: [Credential<'_>; 5] = [
            ("nothing", None, &[], (401, "missing_api_key")),
            ("sending_key", Some("sb_test_sending"), &[], (401, "restricted_api_key")),
            ("api_key", Some(KEY), &[], (401, "")),
            ("access_token", Some("emails:send"), &full[1..], (403, "invalid_permission")),
            ("access_token", Some("full_access"), &full, (403, "invalid_permission")),
        ];
        for (scheme, credential, scopes, rejection) in credentials {
            let suffices = |(name, required): &(String, Vec<String>)| {
                name == scheme && required.iter().all(|scope| scopes.contains(&scope.as_str()))
            };
            let accepted = security.is_empty() || security.iter().any(suffices);
            let mut check = |world: &World, probe: &Probe| {
                let is_token = scheme == "access_token";
                let token = || world.service.grant("idempost-cli", KEY, credential.unwrap()).access_token;
                let token = is_token.then(token);
                let answer = world.send(&probe.clone().credential(token.as_deref().or(credential)));
                let name = answer.error_name().unwrap_or_default();
                let as_declared = if accepted {
                    succeeds(answer.status)
                } else {
                    (answer.status.as_u16(), &*name) == rejection
                };
                if !as_declared {
                    let declared = if accepted { "accepts" } else { "rejects" };
                    wrong.push(format!(
                        "{} {declared} {scheme} {scopes:?}, and the response is {} {name}",
                        operation.id, answer.status
                    ));
                }
            };
            if accepted {
                probes.first_valid(&unchanged, check);
            } else {
                // Nothing changes.
                check(&unchanged, &probes.valid(&unchanged)[0]);
            }
        }
    }
    assert_none(&wrong, "the service and the contract disagree about credentials");
}

#[tokio::test]
async fn every_response_is_declared_and_every_declared_response_is_reached() {
    let document = Document::read();
    let mut reached = Reached::new();
    let world = World::new(Settings::default());
    let mut problems = Vec::new();
    for operation in document.operations() {
        let probes = Probes { document: &document, operation: &operation };
        problems.extend(probes.run(&world, &mut |probe, answer| reached.add(&operation, probe, answer)));
    }
    wire::run(&document, &mut |operation, probe, answer| reached.add(operation, probe, answer)).await;
    problems.extend(reached.breaches.iter().cloned().chain(reached.missing()));
    assert_none(&problems, "the service and the contract disagree about responses");
}
