//! Secrets in responses that can't be read: stored where the user wanted them, and shown in no message.

use http::Method;
use idempost_reference_server::faults::{Action, Rule};
use serde_json::json;

use crate::mcp::Application;
use crate::service::Service;
use crate::support::Idempost;

const KEY: &str = "sb_the_key_of_this_account";
const SECRET: &str = "re_sentinel_of_a_new_secret";

fn stage() -> (Service, Idempost) {
    let service = Service::start();
    let idempost = Idempost::at(service.base_url(), KEY);
    (service, idempost)
}

fn answers(service: &Service, path: &str, status: u16, body: &str) {
    let action = Action::http_response(status, body.to_owned());
    service.faults().add(Rule::new(action).on_request(Method::POST, path.to_owned()));
}

#[test]
fn a_created_secret_is_saved_even_if_the_rest_can_t_be_read() {
    // G-08
    let (service, idempost) = stage();
    let id = idempost.run(&["webhooks", "create", "https://acme.test/h", "--event", "email.sent"]).ok();
    let rotate = format!("/webhooks/{}/signing-secret/rotate", id.trim());
    let rotated = format!("webhooks rotate-secret {}", id.trim());
    let create = "webhooks create https://acme.test/h --event email.sent";
    let rows = [
        ("/api-keys", "api-keys create CI", "--token-file", format!(r#"{{"token": "{SECRET}"}}"#)),
        (
            "/api-keys",
            "api-keys create CI",
            "--token-file",
            format!(r#"{{"id": {{}}, "token": "{SECRET}"}}"#),
        ),
        ("/api-keys", "api-keys create CI", "--token-file", format!(r#"{{"token": "{SECRET}", "id": "#)),
        ("/webhooks", create, "--secret-file", format!(r#"{{"signing_secret": "{SECRET}"}}"#)),
        (&rotate, &rotated, "--secret-file", format!(r#"{{"signing_secret": "{SECRET}", "id": {{}}}}"#)),
    ];
    for (at, (path, command, flag, body)) in rows.into_iter().enumerate() {
        let file = format!("secret-{at}");
        answers(&service, path, 201, &body);
        let ran = idempost.run(&(command, [flag, &file, "-vvv"])).hides(&[SECRET]);
        assert_ne!(ran.code, Some(0), "{body}: {ran:?}");
        assert_eq!(idempost.read(&file), format!("{SECRET}\n"), "{body}");
        // Without a file, it is on standard output alone.
        answers(&service, path, 201, &body);
        let ran = idempost.run(command);
        assert_ne!(ran.code, Some(0), "{body}: {ran:?}");
        assert_eq!(ran.stdout, format!("{SECRET}\n"), "{body}");
        assert!(!ran.stderr.contains(SECRET), "{body}: {ran:?}");
    }
}

#[test]
fn no_message_repeats_a_credential_that_a_service_echoes() {
    // G-08
    let (service, idempost) = stage();
    let email_send = "emails send --from hi@acme.test --to ada@acme.test --subject s --text t";
    let echo = format!(
        r#"{{"statusCode": 401, "name": "invalid_api_key", "message": "No account has the key {KEY}.", "token": "{SECRET}"}}"#
    );
    for flags in ["", "--json", "-vvv"] {
        for (status, body) in [(401, echo.as_str()), (200, &format!("<p>{KEY}</p> \"token\": \"{SECRET}\""))]
        {
            let echoes = Rule::new(Action::http_response(status, body.to_owned()));
            service.faults().add(echoes.on_request(Method::POST, "/emails").times(3));
            let ran = idempost.run(&(email_send, flags)).hides(&[KEY, SECRET]);
            service.faults().clear();
            assert_ne!(ran.code, Some(0), "{ran:?}");
        }
    }
    let mut application = Application::session(&idempost, "--allow send --confirm never", &json!({}));
    let email = json!({"from": "hi@acme.test", "to": ["ada@acme.test"], "subject": "s", "text": "t"});
    let echoes = Rule::new(Action::http_response(401, echo));
    service.faults().add(echoes.on_request(Method::POST, "/emails").times(3));
    let failed = application.call("emails_send", &email).to_string();
    let shown = [KEY, SECRET].iter().any(|secret| failed.contains(secret));
    assert!(failed.contains("invalid_api_key") && !shown, "{failed}");
    service.faults().clear();
    // A result that contains the key, such as an email that quotes it.
    let mut quoting = email.clone();
    quoting["subject"] = KEY.into();
    let sent = application.call("emails_send", &quoting);
    let shown = application.call("emails_get", &json!({"id": sent["structuredContent"]["id"]})).to_string();
    assert!(shown.contains("[redacted]") && !shown.contains(KEY), "{shown}");
}
