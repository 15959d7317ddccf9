//! `webhooks verify`: the public test vectors, and everything that is rejected, offline.

use crate::support::Idempost;

const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const HEADERS: &str = "POST /hooks HTTP/1.1\r\nhost: acme.test\r\nsvix-id: msg_p5jXN8AQM9LWM0D4loKWxJek\r\n\
     svix-timestamp: 1614265330\r\nsvix-signature: v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=\r\n\r\n";
const BODY: &str = r#"{"test": 2432232314}"#;
/// When it arrived.
const AT: [&str; 2] = ["--at", "2021-02-25T15:02:10Z"];

/// The program in a folder with the secret, the headers and the body.
fn idempost() -> Idempost {
    let idempost = Idempost::new();
    for (name, content) in [("secret", SECRET), ("headers", HEADERS), ("body", BODY)] {
        std::fs::write(idempost.home().join(name), content).unwrap();
    }
    idempost
}

const FILES: [&str; 8] =
    ["webhooks", "verify", "--secret-file", "secret", "--headers", "headers", "--payload", "body"];

fn verify<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&FILES[..], &AT, more].concat()
}

#[test]
fn the_public_vector_is_accepted_offline_and_without_a_credential() {
    // EVT-11
    let idempost = idempost();
    let ran = idempost.run(&verify(&["--json"])).says(&["isn't an event"]);
    let json = ran.json();
    assert_eq!(json["id"], "msg_p5jXN8AQM9LWM0D4loKWxJek");
    assert_eq!((&json["signed_at"], &json["payload"]["test"]), (&AT[1].into(), &2_432_232_314_u32.into()));

    let webhook = HEADERS.replace("svix-", "webhook-");
    let typed: Vec<_> = webhook.lines().filter(|line| line.starts_with("webhook-")).collect();
    let flags = ["webhooks", "verify", "--secret-file", "-", "--payload", "body", "--header"];
    let flags = [&flags[..], &[typed[0], "--header", typed[1], "--header", typed[2]], &AT].concat();
    let shown = idempost.run_with(&flags, &format!("{SECRET}\n")).ok();
    assert!(shown.starts_with("id         msg_p5jXN8AQM9LWM0D4loKWxJek\n"), "{shown}");

    idempost.run(&(FILES, "--tolerance any")).ok();
    std::fs::write(idempost.home().join("wrong"), "whsec_AAAA\n").unwrap();
    idempost.run(&[&["webhooks", "verify", "--secret-file", "wrong"], &verify(&[])[2..]].concat()).ok();
}

#[test]
fn the_event_type_is_shown() {
    // EVT-11
    let idempost = idempost();
    let body = br#"{"type":"email.bounced","created_at":"2021-02-25T15:02:10.000Z","data":{}}"#;
    let signature = idempost::webhooks::WebhookVerifier::new(SECRET).unwrap().sign(
        "msg_p5jXN8AQM9LWM0D4loKWxJek",
        1_614_265_330,
        body,
    );
    let headers = HEADERS.replace("v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=", &signature);
    std::fs::write(idempost.home().join("headers"), headers).unwrap();
    std::fs::write(idempost.home().join("body"), body).unwrap();
    idempost.run(&verify(&[])).ok_with(&["type        email.bounced\n"]);
    assert_eq!(idempost.run(&verify(&["--jq", ".type"])).ok(), "email.bounced\n");
}

#[test]
fn an_invalid_delivery_is_rejected_with_its_own_exit_code_and_a_reason() {
    // EVT-11, H-05
    let idempost = idempost();
    let put = |name: &str, content: &[u8]| std::fs::write(idempost.home().join(name), content).unwrap();
    let refused = |flags: &[&str], why: &str| {
        let stderr = idempost.run(flags).fails(3);
        assert!(stderr.contains(why) && !stderr.contains("MfKQ"), "{stderr}");
    };
    refused(&FILES, "`svix-timestamp` must be at most 300 s in the past");
    refused(&[&FILES[..], &["--at", "2021-02-25T14:57:09Z"]].concat(), "in the future (found 301 s)");
    refused(
        &[&FILES[..], &["--at", "2021-02-25T15:02:12Z", "--tolerance", "1s"]].concat(),
        "in the past (found 2 s)",
    );
    for body in [&b"{\"test\": 2432232314}\n"[..], b"", b"\xff\xfe"] {
        put("body", body);
        refused(&verify(&[]), "no signature matches");
    }
    put("body", BODY.as_bytes());
    put("secret", b"whsec_AAAA");
    refused(&verify(&[]), "no signature matches");
    put("headers", b"svix-id: x\n");
    refused(&verify(&[]), "`svix-timestamp` is missing");
    let error = idempost.run(&verify(&["--json"])).error(3);
    assert_eq!(error["kind"], "rejected");
}

#[test]
fn a_binary_body_is_verified_unchanged() {
    // EVT-11, H-04
    let idempost = idempost();
    let body = b"\x00\xff\xfe\x80";
    let signature = idempost::webhooks::WebhookVerifier::new(SECRET).unwrap().sign(
        "msg_p5jXN8AQM9LWM0D4loKWxJek",
        1_614_265_330,
        body,
    );
    let headers = HEADERS.replace("v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=", &signature);
    std::fs::write(idempost.home().join("headers"), headers).unwrap();
    std::fs::write(idempost.home().join("body"), body).unwrap();
    assert!(idempost.run(&verify(&["--json"])).json()["payload"].is_null());
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
        std::fs::write(idempost.home().join("secret"), secret).unwrap();
        let stderr = idempost.run(&verify(&[])).fails(2);
        assert!(stderr.contains(why) && !stderr.contains("MfKQ"), "{stderr}");
    }
    let wrong = ["--payload", "nowhere", "--header", "x", "--at", "noon", "--tolerance", "0"];
    let ran = idempost.run(&("webhooks verify", &wrong));
    ran.fails_with(2, &["couldn't read", "NAME: VALUE", "ISO 8601", "duration"]);
    let stderr = idempost.run("webhooks verify --secret-file - --payload - --headers headers");
    assert!(stderr.fails(2).contains("standard input can be read only once"));
}
