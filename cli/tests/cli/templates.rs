//! `templates`: command lines, requests and messages.

use http::Method;
use idempost_reference_server::faults::{Action, Rule};
use serde_json::json;

use crate::service::Service;

const WELCOME: &str =
    "templates create --name Welcome --alias welcome --subject 'Welcome, {{{NAME}}}' --from hi@acme.test";

#[test]
fn a_template_is_created_published_and_sent() {
    let (service, idempost) = Service::with_program();
    idempost.write("welcome.html", "<p>Hello {{{NAME}}}, {{{N}}}</p>");
    let more = "--html-file welcome.html --variable NAME=friend --variable N:number --publish";
    let id = idempost.run(&(WELCOME, more)).ok();
    let body = &service.bodies()[0];
    assert_eq!(body["html"], "<p>Hello {{{NAME}}}, {{{N}}}</p>");
    let variables = json!([{"key": "NAME", "type": "string", "fallback_value": "friend"}, {"key": "N", "type": "number"}]);
    assert_eq!(body["variables"], variables);
    let shown = idempost.run(&["templates", "get", "welcome", "--json=id,status"]).json();
    assert_eq!(shown, json!({"id": id.trim(), "status": "published"}));
    idempost.run("emails send --template welcome --to ada@example.com --var-json N=7").ok();
    assert_eq!(service.mails()[0].subject, "Welcome, friend");
    let listed = idempost.run(&["templates", "list", "--columns", "alias,status"]).ok();
    assert_eq!(listed, "welcome\tpublished\n");
    let copy = idempost.run(&["templates", "duplicate", "welcome"]).ok();
    assert_eq!(idempost.run(&["templates", "delete", copy.trim()]).ok(), copy);
    idempost.run(&["templates", "get", copy.trim()]).fails(5);
}

#[test]
fn an_update_sends_only_the_given_fields_and_clears_others() {
    //
    let service = Service::start();
    service.run(&(WELCOME, "--html x")).ok();
    let update = "templates update welcome --subject '' --clear from --clear variable --publish";
    service.run(&update).ok();
    assert_eq!(service.bodies()[1], json!({"subject": "", "from": null, "variables": []}));
    let shown = service.run("templates get welcome --json=status,has_unpublished_versions").json();
    assert_eq!(shown, json!({"status": "published", "has_unpublished_versions": false}));
}

#[test]
fn a_template_is_published_under_the_alias_set_by_the_same_update() {
    let service = Service::start();
    let id = service.run(&(WELCOME, "--html x")).ok();
    let renamed = ["templates", "update", "welcome", "--alias", "hello", "--html", "y", "--publish"];
    assert_eq!(service.run(&renamed).ok(), id);
    let shown = service.run(&["templates", "get", "hello", "--json=status,has_unpublished_versions"]).json();
    assert_eq!(shown, json!({"status": "published", "has_unpublished_versions": false}));
    assert_eq!(service.run(&["templates", "update", "hello", "--clear", "alias", "--publish"]).ok(), id);
}

#[test]
fn a_template_that_could_not_be_published_is_still_stored() {
    let service = Service::start();
    let rule = Rule::new(Action::http_response(503, "{}"))
        .on_request(Method::POST, "/templates/{id}/publish")
        .always();
    service.faults().add(rule);
    let ran = service.run(&(WELCOME, "--html x --publish --retries 0")).exits(7);
    assert!(!ran.stdout.is_empty() && ran.stderr.contains("retry: idempost templates publish"), "{ran:?}");
}
