//! `webhooks verify`: the public test vectors, and everything that is rejected, offline.

use idempost::webhooks::WebhookVerifier;
use serde_json::json;

use crate::support::{Idempost, Ran, has};

const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const HEADERS: &str = "POST /hooks HTTP/1.1\r\nhost: acme.test\r\nsvix-id: msg_p5jXN8AQM9LWM0D4loKWxJek\r\n\
     svix-timestamp: 1614265330\r\nsvix-signature: v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=\r\n\r\n";
const BODY: &str = r#"{"test": 2432232314}"#;
/// The program in a folder with the secret, the headers and the body.
fn idempost() -> Idempost {
    let idempost = Idempost::new();
    for (name, content) in [("secret", SECRET), ("headers", HEADERS), ("body", BODY)] {
        idempost.write(name, content);
    }
    idempost
}

const FILES: &str = "webhooks verify --secret-file secret --headers headers --payload body";

/// Verifies it as of its arrival.
fn verify(idempost: &Idempost, flags: &str) -> Ran {
    idempost.run(&((FILES, "--at 2021-02-25T15:02:10Z"), flags))
}

/// The program in a folder with another body, and its signature.
fn with_body(body: &[u8]) -> Idempost {
    let idempost = idempost();
    let verifier = WebhookVerifier::new(SECRET).unwrap();
    let signature = verifier.sign("msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, body);
    let headers = HEADERS.replace("v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=", &signature);
    idempost.write("headers", headers);
    idempost.write("body", body);
    idempost
}

#[test]
fn the_public_vector_is_accepted_offline_and_without_a_credential() {
    // EVT-11
    let idempost = idempost();
    let verified = verify(&idempost, "--json").says(&["isn't an event"]).json();
    let expected = json!({
        "id": "msg_p5jXN8AQM9LWM0D4loKWxJek", "signed_at": "2021-02-25T15:02:10Z",
        "payload": {"test": 2_432_232_314_u32},
    });
    has(&verified, &expected);

    let webhook = HEADERS.replace("svix-", "webhook-");
    let typed: Vec<_> = webhook.lines().filter(|line| line.starts_with("webhook-")).collect();
    let flags = "webhooks verify --secret-file - --payload body --at 2021-02-25T15:02:10Z";
    let headers = ["--header", typed[0], "--header", typed[1], "--header", typed[2]];
    let shown = idempost.run_with(&(flags, headers), &format!("\u{feff}{SECRET}\r\n")).ok();
    assert!(shown.starts_with("id         msg_p5jXN8AQM9LWM0D4loKWxJek\n"), "{shown}");

    idempost.run(&(FILES, "--tolerance any")).ok();
    idempost.write("wrong", "whsec_AAAA\n");
    let rotating = FILES.replace("verify", "verify --secret-file wrong");
    idempost.run(&(rotating, "--at 2021-02-25T15:02:10Z")).ok();
}

#[test]
fn the_event_type_is_shown() {
    // EVT-11
    let body = br#"{"type":"email.bounced","created_at":"2021-02-25T15:02:10.000Z","data":{}}"#;
    let idempost = with_body(body);
    verify(&idempost, "").ok_with(&["type        email.bounced\n"]);
    assert_eq!(verify(&idempost, "--jq .type").ok(), "email.bounced\n");
}

#[test]
fn an_invalid_delivery_is_rejected_with_its_own_exit_code_and_a_reason() {
    // EVT-11, H-05
    let idempost = idempost();
    let refused = |ran: Ran, why| drop(ran.hides(&["MfKQ"]).fails_with(3, &[why]));
    for (flags, why) in [
        ("--at 2021-02-25T14:57:09Z", "in the future (found 301 s)"),
        ("--at 2021-02-25T15:02:12Z --tolerance 1s", "in the past (found 2 s)"),
    ] {
        refused(idempost.run(&(FILES, flags)), why);
    }
    idempost.write("secret", "whsec_AAAA");
    refused(verify(&idempost, ""), "no signature matches");
    idempost.write("headers", "svix-id: x\n");
    refused(verify(&idempost, ""), "`svix-timestamp` is missing");
    assert_eq!(verify(&idempost, "--json").error(3)["kind"], "rejected");
}

#[test]
fn a_binary_body_is_verified_unchanged() {
    // EVT-11, H-04
    let idempost = with_body(b"\x00\xff\xfe\x80");
    assert!(verify(&idempost, "--json").json()["payload"].is_null());
}

#[test]
fn all_problems_with_the_command_line_are_reported_at_once_and_never_the_secret() {
    let idempost = idempost();
    idempost.run("webhooks verify").fails_with(2, &["--secret-file", "--headers or --header", "--payload"]);
    for (secret, why) in [
        ("", "must not be empty"),
        ("whsec_MfKQ*", "invalid character at byte 10"),
        ("whsec_MfKQ9", "5 characters"),
    ] {
        idempost.write("secret", secret);
        verify(&idempost, "").hides(&["MfKQ"]).fails_with(2, &[why]);
    }
    let ran = idempost.run("webhooks verify --payload nowhere --header x --at noon --tolerance 0");
    ran.fails_with(2, &["couldn't read", "NAME: VALUE", "ISO 8601", "duration"]);
}
