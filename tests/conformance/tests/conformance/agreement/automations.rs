//! Automations.

use idempost::{
    Error,
    automations::{Connection, ContactUpdate, NewAutomation, Rule, Step},
    error::ApiErrorKind,
};
use idempost_conformance::bench::Bench;

fn failure<T: std::fmt::Debug>(refused: idempost::Result<T>) -> String {
    match refused.unwrap_err() {
        Error::Invalid(problems) => problems.to_string(),
        other => panic!("{other:?}"),
    }
}

fn refusal(error: Error) -> (u16, ApiErrorKind) {
    match error {
        Error::Api(error) => (error.status.as_u16(), error.kind()),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn client_and_service_refuse_an_invalid_definition() {
    let bench = Bench::start().await;
    let client = bench.client();
    let trigger = || Step::trigger("start", "user.created");
    let delay = |key: &str| Step::delay(key, "1 day");
    let with = |step: Step| NewAutomation::new("x").steps([trigger(), step]);
    let many = |count: usize| {
        NewAutomation::new("x").step(trigger()).steps((1..count).map(|n| delay(&n.to_string())))
    };
    for (automation, place, in_the_contract) in [
        (NewAutomation::new("").step(trigger()), "/name", false),
        (NewAutomation::new("x"), "/steps", false),
        (many(151), "/steps", false),
        (NewAutomation::new("x").step(delay("a")), "/steps", true),
        (with(trigger()), "/steps/1/key", true),
        (with(delay("")), "/steps/1/key", false),
        (with(Step::delay("a", "")), "/steps/1/config/duration", false),
        (with(Step::trigger("a", "")), "/steps/1/config/event_name", false),
        (with(Step::send_email("a", "")), "/steps/1/config/template/id", false),
        (with(Step::condition("a", Rule::exists("plan"))), "/steps/1/config/field", false),
        (with(Step::condition("a", Rule::greater_than("event.n", "5"))), "/steps/1/config/value", false),
        (with(Step::condition("a", Rule::any([]))), "/steps/1/config/rules", false),
        (
            with(Step::contact_update("a", ContactUpdate::new().unsubscribed("yes"))),
            "/steps/1/config/unsubscribed",
            false,
        ),
        (with(delay("a")).connection(Connection::new("start", "b")), "/connections/0/to", true),
        (with(delay("a")).connection(Connection::new("a", "start")), "/connections/0/to", true),
        (with(delay("a")).connection(Connection::on_timeout("start", "a")), "/connections/0/type", true),
        (with(delay("a")).connection(Connection::if_met("a", "a")), "/connections/0/type", true),
        (with(delay("a")).connection(Connection::new("a", "a")), "/connections/0: ", true),
        (
            with(delay("a")).connections([Connection::new("start", "a"), Connection::new("start", "a")]),
            "/connections/1",
            true,
        ),
    ] {
        let message = failure(client.automations().create(&automation).await);
        assert!(message.contains(place), "{place}: {message}");
        let body = serde_json::to_value(&automation).unwrap();
        let refused = if in_the_contract {
            bench.post("/automations", &body)
        } else {
            bench.post_wrong("/automations", &body)
        };
        assert_eq!(refused.status, 422, "{body}: {}", refused.message());
        assert!(
            ["validation_error", "missing_required_field"].contains(&refused.name()),
            "{}",
            refused.message()
        );
    }
    assert_eq!(client.automations().list().await.unwrap().data.len(), 0);
    client.automations().create(&many(150)).await.unwrap();
    // Only the service interprets durations in natural language.
    for duration in ["soon", "31 days", "-1 day", "0 seconds"] {
        let refused = client.automations().create(&with(Step::delay("a", duration))).await.unwrap_err();
        assert_eq!(refusal(refused), (422, ApiErrorKind::Validation), "{duration}");
    }
}
