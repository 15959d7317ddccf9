use idempost::{Email, call::RateLimit, problem::limits};
use idempost_conformance::bench::Bench;
use idempost_reference_server::Settings;

#[test]
fn the_clients_limits_are_those_of_the_table() {
    // LIM-17
    assert_eq!(limits::EMAILS_PER_BATCH, 100);
    assert_eq!(limits::RECIPIENTS_IN_TO, 50);
    assert_eq!(limits::ATTACHMENTS_ENCODED_BYTES, 40 * 1024 * 1024);
    assert_eq!(limits::ATTACHMENTS_ENCODED_BYTES_ADVISED, 40_000_000);
    assert_eq!(limits::IDEMPOTENCY_KEY_CHARS, 256);
    assert_eq!(limits::IDEMPOTENCY_KEY_SECONDS, 24 * 60 * 60);
    assert_eq!(limits::TAG_CHARS, 256);
    assert_eq!(limits::VARIABLE_KEY_CHARS, 50);
    assert_eq!(limits::VARIABLE_VALUE_CHARS, 2_000);
    assert_eq!(limits::VARIABLES_PER_TEMPLATE, 50);
    assert_eq!(limits::VARIABLE_VALUE_MAX, 9_007_199_254_740_991);
    assert_eq!((limits::PAGE_SIZE_MAX, limits::PAGE_SIZE_DEFAULT), (100, 20));
    let mut reserved = limits::RESERVED_VARIABLE_KEYS;
    reserved.sort_unstable();
    assert_eq!(
        reserved,
        [
            "EMAIL",
            "FIRST_NAME",
            "LAST_NAME",
            "RESEND_UNSUBSCRIBE_URL",
            "SERVICE_UNSUBSCRIBE_URL",
            "UNSUBSCRIBE_URL",
            "contact",
            "this"
        ]
    );
}

#[test]
fn the_contract_states_the_same_limits() {
    let components = &idempost_conformance::contract::openapi()["components"];
    let (schemas, parameters) = (&components["schemas"], &components["parameters"]);
    let variables = &schemas["TemplateUse"]["properties"]["variables"];
    for (written, limit) in [
        (&schemas["EmailBatch"]["maxItems"], limits::EMAILS_PER_BATCH as u64),
        (&schemas["Recipients"]["anyOf"][1]["maxItems"], limits::RECIPIENTS_IN_TO as u64),
        (&schemas["AttachmentContent"]["anyOf"][0]["maxLength"], limits::ATTACHMENTS_ENCODED_BYTES),
        (&schemas["Tag"]["properties"]["name"]["maxLength"], limits::TAG_CHARS as u64),
        (&schemas["Tag"]["properties"]["value"]["maxLength"], limits::TAG_CHARS as u64),
        (&schemas["TemplateVariables"]["maxItems"], limits::VARIABLES_PER_TEMPLATE as u64),
        (&schemas["VariableKey"]["maxLength"], limits::VARIABLE_KEY_CHARS as u64),
        (&variables["propertyNames"]["maxLength"], limits::VARIABLE_KEY_CHARS as u64),
        (&variables["additionalProperties"]["anyOf"][0]["maxLength"], limits::VARIABLE_VALUE_CHARS as u64),
        (&variables["additionalProperties"]["anyOf"][1]["maximum"], limits::VARIABLE_VALUE_MAX),
        (&parameters["Limit"]["schema"]["maximum"], u64::from(limits::PAGE_SIZE_MAX)),
        (&parameters["Limit"]["schema"]["default"], u64::from(limits::PAGE_SIZE_DEFAULT)),
        (&parameters["IdempotencyKey"]["schema"]["maxLength"], limits::IDEMPOTENCY_KEY_CHARS as u64),
    ] {
        assert_eq!(written.as_u64(), Some(limit), "{written}");
    }
}

#[tokio::test]
async fn an_adaptive_client_rarely_exceeds_the_limit() {
    // B-29
    let bench = Bench::with(Settings { rate_limit: Some(20), ..Settings::default() }).await;
    let client = bench.builder().rate_limit(RateLimit::Adaptive).build().unwrap();
    let email = Email::new("hi@acme.test", "ada@example.com", "Hello").text("It works");
    for _ in 0..30 {
        client.emails().send(&email).await.unwrap();
    }
    let refused = bench.requests().iter().filter(|request| request.status == 429).count();
    assert!(refused <= 1, "{refused} of {}", bench.requests().len());
}
