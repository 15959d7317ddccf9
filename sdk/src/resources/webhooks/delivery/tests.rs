use proptest::prelude::*;

use super::*;

const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const ID: &str = "msg_p5jXN8AQM9LWM0D4loKWxJek";
const TIME: u64 = 1_614_265_330;
const BODY: &[u8] = br#"{"test": 2432232314}"#;
const SIGNATURE: &str = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";

fn headers<const N: usize>(pairs: [(&'static str, &str); N]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in pairs {
        headers.append(name, value.parse().unwrap());
    }
    headers
}

fn svix(timestamp: &str, signature: &str) -> HeaderMap {
    headers([("svix-id", ID), ("svix-timestamp", timestamp), ("svix-signature", signature)])
}

fn at(seconds: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(seconds)
}

fn verifier() -> WebhookVerifier {
    WebhookVerifier::new(SECRET).unwrap()
}

fn verify(headers: &HeaderMap, body: &[u8]) -> Result<(), VerificationError> {
    verifier().verify_at(headers, body, at(TIME)).map(|delivery| {
        assert_eq!((delivery.id.as_str(), delivery.body), (ID, body));
        assert_eq!(delivery.signed_at, at(TIME));
    })
}

#[test]
fn the_public_vectors_pass_in_both_families() {
    // EVT-11
    assert_eq!(verify(&svix("1614265330", SIGNATURE), BODY), Ok(()));
    let webhook =
        headers([("webhook-id", ID), ("webhook-timestamp", "1614265330"), ("webhook-signature", SIGNATURE)]);
    assert_eq!(verify(&webhook, BODY), Ok(()));
    assert_eq!(verifier().sign(ID, TIME, BODY), SIGNATURE);
    let other = WebhookVerifier::new("whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD").unwrap();
    let body = br#"{"email":"test@example.com","username":"test_user"}"#;
    assert_eq!(
        other.sign("msg_27UH4WbU6Z5A5EzD8u03UvzRbpk", 1_649_367_553, body),
        "v1,tZ1I4/hDygAJgO5TYxiSd6Sd0kDW6hPenDe+bTa3Kkw="
    );
}

#[test]
fn each_header_is_required_once_with_a_value() {
    // EVT-11, H-01
    let parts = [("svix-id", ID), ("svix-timestamp", "1614265330"), ("svix-signature", SIGNATURE)];
    assert_eq!(verify(&HeaderMap::new(), BODY), Err(VerificationError::Missing { header: "svix-id" }));
    for (header, value) in parts {
        let mut without = headers(parts);
        without.remove(header);
        assert_eq!(verify(&without, BODY), Err(VerificationError::Missing { header }));
        for blank in ["", " "] {
            without.insert(header, blank.parse().unwrap());
            assert_eq!(verify(&without, BODY), Err(VerificationError::Empty { header }));
        }
        without.insert(header, http::HeaderValue::from_bytes(b"m\xff").unwrap());
        assert_eq!(verify(&without, BODY), Err(VerificationError::NotText { header }));
        let mut twice = headers(parts);
        twice.append(header, value.parse().unwrap());
        assert_eq!(
            verify(&twice, BODY),
            Err(VerificationError::Repeated { header, count: 2 }),
            "although both are equal"
        );
    }
}

#[test]
fn both_header_families_must_agree() {
    // EVT-11, H-01
    let mut both = svix("1614265330", SIGNATURE);
    both.insert("webhook-id", ID.parse().unwrap());
    let mixed = |svix, webhook| Err(VerificationError::Mixed { svix, webhook });
    assert_eq!(
        verify(&both, BODY),
        mixed("svix-timestamp", "webhook-timestamp"),
        "a part of the other family"
    );
    both.insert("webhook-timestamp", "1614265330".parse().unwrap());
    both.insert("webhook-signature", SIGNATURE.parse().unwrap());
    assert_eq!(verify(&both, BODY), Ok(()));
    both.insert("webhook-id", "msg_other".parse().unwrap());
    assert_eq!(verify(&both, BODY), mixed("svix-id", "webhook-id"));
    let split =
        headers([("svix-id", ID), ("webhook-timestamp", "1614265330"), ("webhook-signature", SIGNATURE)]);
    assert_eq!(verify(&split, BODY), mixed("svix-id", "webhook-id"));
}

#[test]
fn clock_skew_of_five_minutes_is_tolerated_in_both_directions() {
    // EVT-11, H-02
    let headers = svix("1614265330", SIGNATURE);
    let verify = |verifier: &WebhookVerifier, now| verifier.verify_at(&headers, BODY, now).map(drop);
    let (ours, header, tolerance) = (verifier(), "svix-timestamp", TOLERANCE);
    for near in [TIME - 300, TIME - 299, TIME, TIME + 299, TIME + 300] {
        assert_eq!(verify(&ours, at(near)), Ok(()), "{near}");
    }
    assert_eq!(
        verify(&ours, at(TIME + 300) + Duration::from_millis(999)),
        Ok(()),
        "whole seconds are compared"
    );
    let s = Duration::from_secs;
    let old = |age| Err(VerificationError::TooOld { header, age: s(age), tolerance });
    let new = |ahead| Err(VerificationError::TooNew { header, ahead: s(ahead), tolerance });
    assert_eq!(verify(&ours, at(TIME + 301)), old(301));
    assert_eq!(verify(&ours, at(TIME - 301)), new(301));
    assert_eq!(verify(&ours, UNIX_EPOCH - s(5)), new(TIME), "a clock before 1970");
    assert_eq!(verifier().verify(&headers, BODY).unwrap_err().to_string()[..16], *"`svix-timestamp`");

    let strict = verifier().tolerance(Duration::ZERO);
    assert_eq!(verify(&strict, at(TIME)), Ok(()));
    assert!(verify(&strict, at(TIME + 1)).is_err() && verify(&strict, at(TIME - 1)).is_err());
    let lenient = verifier().tolerance(Duration::MAX);
    assert_eq!(verify(&lenient, at(0)), Ok(()));
    assert_eq!(verify(&lenient, at(TIME * 2)), Ok(()));
}

#[test]
fn a_timestamp_has_whole_seconds() {
    // EVT-11, H-02
    let lenient = verifier().tolerance(Duration::MAX);
    for text in ["1e9", "-1", "+1614265330", "1614265330.0", "0x10", "soon", "9223372036854775808", "１"] {
        let mut headers = svix("1", SIGNATURE);
        headers.insert("svix-timestamp", http::HeaderValue::from_bytes(text.as_bytes()).unwrap());
        let refusal = lenient.verify_at(&headers, BODY, at(TIME)).unwrap_err();
        let typed = if text.is_ascii() {
            VerificationError::Timestamp { header: "svix-timestamp", found: text.to_owned() }
        } else {
            VerificationError::NotText { header: "svix-timestamp" }
        };
        assert_eq!(refusal, typed);
    }
    let long = "9".repeat(5_000);
    let Err(VerificationError::Timestamp { found, .. }) = verify(&svix(&long, SIGNATURE), BODY) else {
        panic!()
    };
    assert_eq!(found.chars().count(), 81, "the value is truncated");
}

#[test]
fn one_of_several_signatures_has_to_match() {
    // EVT-11, H-03
    let wrong = format!("v1,{}", STANDARD.encode([7; 32]));
    let fits = |signature: &str| verify(&svix("1614265330", signature), BODY);
    for list in [
        format!("{wrong} {SIGNATURE}"),
        format!("{SIGNATURE} {wrong}"),
        format!("v1a,x v0,{} , v1 {SIGNATURE}", &SIGNATURE[3..]),
    ] {
        assert_eq!(fits(&list), Ok(()), "{list}");
    }
    let (header, secrets) = ("svix-signature", 1);
    assert_eq!(fits(&wrong), Err(VerificationError::WrongSignature { header, found: 1, secrets }));
    let both = format!("{wrong} {wrong}");
    assert_eq!(fits(&both), Err(VerificationError::WrongSignature { header, found: 2, secrets }));

    let code = &SIGNATURE[3..];
    let short = STANDARD.encode([7; 31]);
    for none in [
        code.to_owned(),
        format!("v0,{code}"),
        format!("v1a,{code}"),
        format!("V1,{code}"),
        format!("v1, {code}"),
        format!("v1;{code}"),
        format!("v1,{}", &code[..code.len() - 1]),
        format!("v1,{}", &code[1..]),
        format!("v1,{short}"),
        format!("v1,{code}="),
        "v1,".to_owned(),
        "v1,*".to_owned(),
        ",".to_owned(),
    ] {
        assert_eq!(fits(&none), Err(VerificationError::NoSignature { header, found: none }));
    }
}

#[test]
fn the_number_of_signatures_is_bounded() {
    // EVT-11, H-03
    let list = |count: usize| vec![SIGNATURE; count].join(" ");
    assert_eq!(verify(&svix("1614265330", &list(MAX_SIGNATURES)), BODY), Ok(()));
    for count in [MAX_SIGNATURES + 1, 1_000] {
        let refusal = verify(&svix("1614265330", &list(count)), BODY);
        let (header, max) = ("svix-signature", MAX_SIGNATURES);
        assert_eq!(refusal, Err(VerificationError::TooManySignatures { header, count, max }));
    }
}

#[test]
fn the_signature_covers_the_bytes_of_the_body() {
    // EVT-11, H-04
    let wrong = Err(VerificationError::WrongSignature { header: "svix-signature", found: 1, secrets: 1 });
    for changed in
        [&b"{\"test\": 2432232315}"[..], b"{\"test\":2432232314}", b"", b"{\"test\": 2432232314}\n"]
    {
        assert_eq!(verify(&svix("1614265330", SIGNATURE), changed), wrong);
    }
    let large = vec![b'x'; 40_000_000];
    for body in [&b""[..], b"\xff\xfe\x00 not text", &large] {
        let signature = verifier().sign(ID, TIME, body);
        assert_eq!(verify(&svix("1614265330", &signature), body), Ok(()));
    }
    let moved = headers([
        ("svix-id", "msg_p5jXN8AQM9LWM0D4loKWxJeK"),
        ("svix-timestamp", "1614265330"),
        ("svix-signature", SIGNATURE),
    ]);
    assert!(verifier().verify_at(&moved, BODY, at(TIME)).is_err(), "the id is signed, too");
    assert_eq!(verify(&svix("1614265331", SIGNATURE), BODY), wrong, "and the time");
}

#[test]
fn a_secret_is_base64_with_or_without_its_prefix() {
    // EVT-11, H-05
    let bare = WebhookVerifier::new(&SECRET[6..]).unwrap();
    assert!(bare.verify_at(&svix("1614265330", SIGNATURE), BODY, at(TIME)).is_ok());
    for blank in ["", " ", "\n", "whsec_"] {
        assert_eq!(WebhookVerifier::new(blank).unwrap_err(), SecretError::Blank, "{blank:?}");
    }
    for (bad, what) in [
        ("whsec_MfKQ*r8G", "an invalid character at byte 10"),
        ("MfKQ*r8G", "an invalid character at byte 4"),
        ("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n", "whitespace at byte 38"),
        ("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaS", "invalid padding"),
        ("whsec_MfKQ9", "5 characters"),
        ("whsec_whsec_MfKQ", "an invalid character at byte 11"),
        ("MfKQ 9r8G", "whitespace at byte 4"),
        ("clé", "an invalid character at byte 2"),
    ] {
        let error = WebhookVerifier::new(bad).unwrap_err().to_string();
        assert!(error.contains(what) && !error.contains("MfKQ"), "{bad}: {error}");
    }
    let wrong = WebhookVerifier::new("whsec_AAAA").unwrap();
    let refusal = wrong.verify_at(&svix("1614265330", SIGNATURE), BODY, at(TIME)).unwrap_err();
    assert_eq!(
        refusal.to_string(),
        "no signature matches the body and the secret (signatures in `svix-signature`: 1, secrets tried: 1)"
    );
    let shown = format!("{:?}", verifier());
    assert!(shown.contains("Key([redacted])") && !shown.contains("MfKQ"), "{shown}");
}

#[test]
fn while_a_secret_is_rotated_both_are_valid() {
    // EVT-11
    let (old, new) = (verifier(), WebhookVerifier::new("whsec_AAAA").unwrap());
    let both = WebhookVerifier::new("whsec_AAAA").unwrap().add_secret(SECRET).unwrap();
    for signature in [old.sign(ID, TIME, BODY), new.sign(ID, TIME, BODY)] {
        assert!(both.verify_at(&svix("1614265330", &signature), BODY, at(TIME)).is_ok());
    }
    let twice = format!("{} {}", new.sign(ID, TIME, BODY), old.sign(ID, TIME, BODY));
    for one in [old, new] {
        assert!(one.verify_at(&svix("1614265330", &twice), BODY, at(TIME)).is_ok());
    }
    assert_eq!(verifier().add_secret("whsec_").unwrap_err(), SecretError::Blank);
}

#[test]
fn debug_omits_the_body() {
    let headers = svix("1614265330", SIGNATURE);
    let verifier = verifier();
    let delivery = verifier.verify_at(&headers, BODY, at(TIME)).unwrap();
    assert!(format!("{delivery:?}").contains("bytes: 20") && !format!("{delivery:?}").contains("test"));
}

proptest! {
    #[test]
    fn arbitrary_requests_neither_panic_nor_pass(
        values in prop::collection::vec((0..6usize, prop::collection::vec(any::<u8>(), 0..80)), 0..7),
        body in prop::collection::vec(any::<u8>(), 0..200),
    ) {
        // EVT-10
        const NAMES: [&str; 6] = ["svix-id", "svix-timestamp", "svix-signature", "webhook-id", "webhook-timestamp", "webhook-signature"];
        let mut headers = HeaderMap::new();
        for (name, value) in values {
            if let Ok(value) = http::HeaderValue::from_bytes(&value) {
                headers.append(NAMES[name], value);
            }
        }
        prop_assert!(verifier().tolerance(Duration::MAX).verify_at(&headers, &body, at(TIME)).is_err());
    }

    #[test]
    fn signed_requests_pass_and_every_flipped_bit_is_rejected(
        id in "[!-~]{1,40}", time in 0..4_000_000_000_u64, mut body in prop::collection::vec(any::<u8>(), 1..100), at_bit in any::<prop::sample::Index>(),
    ) {
        // H-04
        let verifier = verifier();
        let signature = verifier.sign(&id, time, &body);
        let headers = headers([("webhook-id", &id), ("webhook-timestamp", &time.to_string()), ("webhook-signature", &signature)]);
        prop_assert!(verifier.verify_at(&headers, &body, at(time)).is_ok());
        let bit = at_bit.index(body.len() * 8);
        body[bit / 8] ^= 1 << (bit % 8);
        prop_assert!(verifier.verify_at(&headers, &body, at(time)).is_err());
    }
}
