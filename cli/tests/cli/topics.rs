//! `topics`, `properties`, and topic subscriptions of contacts.

use serde_json::json;

use crate::service::Service;
use crate::support::has;

const UNKNOWN: &str = "00000000-0000-4000-8000-000000000000";

fn topic(service: &Service, name: &str, default: &str) -> String {
    service.done(&["topics", "create", "--name", name, "--default-subscription", default])
}

#[test]
fn a_topic_is_created_shown_changed_and_deleted() {
    let service = Service::start();
    let id = service.done(
        "topics create --name Digest --default-subscription opt_out --description Weekly --visibility \
             public",
    );
    service.run(&["topics", "get", &id]).ok_with(&["name                  Digest", "opt_out"]);
    let update = ["topics", "update", &id, "--name", "Monthly", "--clear", "description"];
    assert_eq!(service.done(&update), id);
    assert_eq!(service.done(&["topics", "update", &id, "--description", "x", "--visibility", "private"]), id);
    let row = service.done("topics ls --columns name,default_subscription,visibility,description");
    assert_eq!(row, "Monthly\topt_out\tprivate\tx");
    assert_eq!(service.done(&["topics", "delete", &id]), id);
    service.run(&["topics", "get", &id]).fails(5);
    assert_eq!(
        service.bodies(),
        [
            json!({"name": "Digest", "default_subscription": "opt_out", "description": "Weekly", "visibility": "public"}),
            json!({"name": "Monthly", "description": null}),
            json!({"description": "x", "visibility": "private"}),
        ]
    );
}

#[test]
fn a_property_is_created_shown_changed_and_deleted() {
    // PROP-01
    let service = Service::start();
    let text = ["properties", "create", "--key", "city", "--type", "string", "--fallback", "your town"];
    let city = service.done(&text);
    let number = ["contact-properties", "create", "--key", "orders", "--fallback-number", "-2.5"];
    let orders = service.done(&number);
    service.done(&["properties", "create", "--key", "age", "--type", "number"]);
    let rows = service.done(&["properties", "list", "--columns", "key,type,fallback_value"]);
    assert_eq!(rows, "age\tnumber\t\norders\tnumber\t-2.5\ncity\tstring\tyour town");
    assert_eq!(service.done(&["properties", "update", &city, "--clear", "fallback"]), city);
    assert_eq!(service.done(&["properties", "update", &orders, "--fallback-number", "17"]), orders);
    service.run(&["properties", "update", &orders, "--fallback", "none"]).fails_with(3, &["fallback_value"]);
    let property = service.run(&["properties", "get", &orders, "--json"]).json();
    has(&property, &json!({"key": "orders", "fallback_value": 17}));
    assert_eq!(service.done(&["properties", "delete", &city]), city);
    service.run(&["properties", "get", &city]).fails(5);
    assert_eq!(
        service.bodies(),
        [
            json!({"key": "city", "type": "string", "fallback_value": "your town"}),
            json!({"key": "orders", "type": "number", "fallback_value": -2.5}),
            json!({"key": "age", "type": "number"}),
            json!({"fallback_value": null}),
            json!({"fallback_value": 17}),
            json!({"fallback_value": "none"}),
        ]
    );
}

#[test]
fn a_contact_subscribes_and_unsubscribes() {
    // TOPIC-01, TOPIC-03
    let service = Service::start();
    let (news, offers) = (topic(&service, "News", "opt_in"), topic(&service, "Offers", "opt_out"));
    let contact = service.done(&["contacts", "create", "ada@example.com"]);
    let subscriptions =
        |service: &Service| service.done("contacts topics ada@example.com --columns name,subscription");
    assert_eq!(subscriptions(&service), "Offers\topt_out\nNews\topt_in");
    let update = ["contacts", "update-topics", "ada@example.com", "--opt-in", &offers, "--opt-out", &news];
    assert_eq!(service.done(&update), contact);
    assert_eq!(subscriptions(&service), "Offers\topt_in\nNews\topt_out");
    let expected = json!([{"id": offers, "subscription": "opt_in"}, {"id": news, "subscription": "opt_out"}]);
    assert_eq!(service.bodies().pop().unwrap(), expected);
    service.run(&["contacts", "topics", "bob@example.com"]).fails(5);
    service.run(&["contacts", "update-topics", "ada@example.com", "--opt-in", UNKNOWN]).fails(3);
    // A contact who opted out is skipped.
    let send = "emails send --from hi@acme.test --to ada@example.com --subject Hi --text x";
    let id = service.done(&(&send, &["--topic-id", &news]));
    assert!(service.mails().is_empty());
    assert_eq!(service.done(&["emails", "get", &id, "--jq", ".last_event"]), "failed");
    service.done(&(&send, &["--topic-id", &offers]));
    assert_eq!(service.mails().len(), 1);
}
