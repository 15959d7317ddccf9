//! Secrets in responses that can't be read: stored where the user wanted them, and shown in no message.

use http::Method;
use idempost_reference_server::faults::{Action, Rule};
use idempost_reference_server::{ReferenceServer, Settings};
use serde_json::json;

use crate::mcp::Application;
use crate::support::Idempost;

const KEY: &str = "sb_the_key_of_this_account";
const SECRET: &str = "re_sentinel_of_a_new_secret";

async fn stage() -> (ReferenceServer, Idempost) {
    let server = idempost_sandbox::start(Settings::default()).await;
    let idempost = Idempost::new().env("IDEMPOST_BASE_URL", server.base_url()).env("IDEMPOST_API_KEY", KEY);
    (server, idempost)
}

fn answers(server: &ReferenceServer, path: &str, status: u16, body: &str) {
    server.service().faults().add(
        Rule::new(Action::http_response(status, body.to_owned())).on_request(Method::POST, path.to_owned()),
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_created_secret_is_saved_even_if_the_rest_can_t_be_read() {
    // G-08
    let (server, idempost) = stage().await;
    let id = idempost.run(&["webhooks", "create", "https://acme.test/h", "--event", "email.sent"]).ok();
    let rotate = format!("/webhooks/{}/signing-secret/rotate", id.trim());
    for (at, (path, arguments, flag, body)) in [
        (
            "/api-keys",
            &["api-keys", "create", "CI"][..],
            "--token-file",
            format!(r#"{{"token": "{SECRET}"}}"#),
        ),
        (
            "/api-keys",
            &["api-keys", "create", "CI"],
            "--token-file",
            format!(r#"{{"id": {{}}, "token": "{SECRET}"}}"#),
        ),
        (
            "/api-keys",
            &["api-keys", "create", "CI"],
            "--token-file",
            format!(r#"{{"token": "{SECRET}", "id": "#),
        ),
        (
            "/webhooks",
            &["webhooks", "create", "https://acme.test/h", "--event", "email.sent"],
            "--secret-file",
            format!(r#"{{"signing_secret": "{SECRET}"}}"#),
        ),
        (
            &rotate,
            &["webhooks", "rotate-secret", id.trim()],
            "--secret-file",
            format!(r#"{{"signing_secret": "{SECRET}", "id": {{}}}}"#),
        ),
    ]
    .into_iter()
    .enumerate()
    {
        let file = idempost.home().join(format!("secret-{at}"));
        let name = file.to_str().unwrap();
        answers(&server, path, 201, &body);
        let ran = idempost.run(&(arguments, &[flag, name, "-vvv"]));
        assert_ne!(ran.code, Some(0), "{body}: {ran:?}");
        assert!(!ran.stdout.contains(SECRET) && !ran.stderr.contains(SECRET), "{body}: {ran:?}");
        assert_eq!(std::fs::read_to_string(&file).unwrap(), format!("{SECRET}\n"), "{body}");
        // Without a file, it is on standard output alone.
        answers(&server, path, 201, &body);
        let ran = idempost.run(arguments);
        assert_ne!(ran.code, Some(0), "{body}: {ran:?}");
        assert_eq!(ran.stdout, format!("{SECRET}\n"), "{body}");
        assert!(!ran.stderr.contains(SECRET), "{body}: {ran:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_message_repeats_a_credential_that_a_service_echoes() {
    // G-08
    let (server, idempost) = stage().await;
    let email_send = "emails send --from hi@acme.test --to ada@acme.test --subject s --text t";
    let echo = format!(
        r#"{{"statusCode": 401, "name": "invalid_api_key", "message": "No account has the key {KEY}.", "token": "{SECRET}"}}"#
    );
    for flags in [&[][..], &["--json"], &["-vvv"]] {
        for (status, body) in [(401, echo.as_str()), (200, &format!("<p>{KEY}</p> \"token\": \"{SECRET}\""))]
        {
            server.service().faults().add(
                Rule::new(Action::http_response(status, body.to_owned()))
                    .on_request(Method::POST, "/emails")
                    .times(3),
            );
            let ran = idempost.run(&(&email_send, flags));
            server.service().faults().clear();
            assert_ne!(ran.code, Some(0), "{ran:?}");
            for secret in [KEY, SECRET] {
                assert!(!ran.stderr.contains(secret) && !ran.stdout.contains(secret), "{flags:?} {ran:?}");
            }
        }
    }
    let mut application =
        Application::session(&idempost, &["--allow", "send", "--confirm", "never"], &json!({}));
    let email = json!({"from": "hi@acme.test", "to": ["ada@acme.test"], "subject": "s", "text": "t"});
    server
        .service()
        .faults()
        .add(Rule::new(Action::http_response(401, echo)).on_request(Method::POST, "/emails").times(3));
    let failed = application.call("emails_send", &email).to_string();
    assert!(
        failed.contains("invalid_api_key") && !failed.contains(KEY) && !failed.contains(SECRET),
        "{failed}"
    );
    server.service().faults().clear();
    // A result that contains the key, such as an email that quotes it.
    let mut quoting = email.clone();
    quoting["subject"] = KEY.into();
    let sent = application.call("emails_send", &quoting);
    let shown = application.call("emails_get", &json!({"id": sent["structuredContent"]["id"]})).to_string();
    assert!(shown.contains("[redacted]") && !shown.contains(KEY), "{shown}");
    application.finish();
}
