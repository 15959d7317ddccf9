//! `POST /oauth/token`.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use idempost_reference_server::TokenEventKind;
use ring::signature::{ECDSA_P256_SHA256_FIXED, UnparsedPublicKey};
use serde_json::{Value, json};

use super::{
    Tokens, VERIFIER, api_status, authorization_request, code, code_exchange, code_for, error, exchanged,
    post_form, refresh_request, refreshed, sandbox, token, tokens, with,
};
use crate::support::{Answer, Sandbox, expect_fields_of};

fn refused(answer: &Answer) -> String {
    let (status, name) = error(answer);
    assert_eq!(status, if name == "invalid_client" { 401 } else { 400 });
    assert_eq!(answer.headers["cache-control"], "no-store");
    name
}

fn token_by_json(sandbox: &Sandbox, parameters: Vec<(&str, &str)>) -> Answer {
    let body: Value = parameters.into_iter().map(|(name, value)| (name.to_owned(), json!(value))).collect();
    let ask = sandbox.ask(http::Method::POST, "/oauth/token").no_key();
    ask.header("content-type", "application/json").json(&body)
}

#[test]
fn a_code_is_exchanged_by_form_and_by_json() {
    // TOK-01, TOK-02, TOK-17, TOK-18, TOK-19, TOK-22, TOK-27
    let sandbox = sandbox();
    let first = code_for(&sandbox, "full");
    let by_form = exchanged(&sandbox, "full", &first);
    let second = code_for(&sandbox, "full");
    let by_json = token_by_json(&sandbox, code_exchange("full", &second));
    for answer in [by_form, by_json] {
        assert_eq!(answer.status, 200, "{}", answer.text());
        assert_eq!(answer.headers["cache-control"], "no-store");
        let body = answer.json();
        let mut keys: Vec<_> = body.as_object().unwrap().keys().map(String::as_str).collect();
        keys.sort_unstable();
        assert_eq!(keys, ["access_token", "expires_in", "refresh_token", "scope", "token_type"]);
        expect_fields_of(&json!({ "token_type": "Bearer", "expires_in": 900 }), &body);
        let tokens = answer.tokens();
        assert!(!tokens.refresh.contains('.'), "a refresh token is opaque");
        assert_eq!(api_status(&sandbox, &tokens.access), 200);
    }
}

#[test]
fn a_refresh_token_is_exchanged_by_form_and_by_json() {
    // TOK-01, TOK-02, TOK-17, TOK-24
    let sandbox = sandbox();
    let first = tokens(&sandbox, "full");
    let second = refreshed(&sandbox, "full", &first.refresh).tokens();
    let third = token_by_json(&sandbox, refresh_request("full", &second.refresh)).tokens();
    for (last, next) in [(&first, &second), (&second, &third)] {
        assert_ne!(next.refresh, last.refresh);
        assert_eq!(api_status(&sandbox, &next.access), 200);
    }
}

#[test]
fn a_refresh_ignores_other_parameters_even_if_repeated_or_no_strings() {
    // TOK-01, TOK-02; RFC 6749, 3.2; RFC 8707, 2
    let sandbox = sandbox();
    let first = tokens(&sandbox, "full").refresh;
    let mut form = refresh_request("full", &first);
    form.extend([("resource", "https://api.test"), ("resource", "https://files.test")]);
    let second = post_form(&sandbox, "/oauth/token", &form).tokens().refresh;
    let mut body = json!({ "resource": ["https://api.test"], "x": 1, "scope": null });
    for (name, value) in refresh_request("full", &second) {
        body[name] = value.into();
    }
    let ask = || sandbox.ask(http::Method::POST, "/oauth/token").no_key();
    ask().header("content-type", "application/json").json(&body).tokens();
    body["scope"] = json!(["emails:send"]);
    assert_eq!(refused(&ask().header("content-type", "application/json").json(&body)), "invalid_request");
}

#[test]
fn an_access_token_is_a_jwt_signed_with_es256_that_the_key_set_verifies() {
    // TOK-20
    let sandbox = sandbox();
    let access = &tokens(&sandbox, "full").access;
    let header: Value =
        serde_json::from_slice(&URL_SAFE_NO_PAD.decode(access.split('.').next().unwrap()).unwrap()).unwrap();
    expect_fields_of(&json!({ "alg": "ES256", "typ": "at+jwt" }), &header);

    let keys = sandbox.visit("/.well-known/jwks.json");
    assert_eq!(keys.headers["cache-control"], "public, max-age=300");
    let keys: Value = serde_json::from_slice(&keys.body).unwrap();
    let key = keys["keys"].as_array().unwrap().iter().find(|key| key["kid"] == header["kid"]).unwrap();
    assert_eq!([&key["kty"], &key["crv"], &key["alg"], &key["use"]], ["EC", "P-256", "ES256", "sig"]);
    let decoded = |text: &str| URL_SAFE_NO_PAD.decode(text).unwrap();
    let point = [vec![4], decoded(key["x"].as_str().unwrap()), decoded(key["y"].as_str().unwrap())].concat();
    let (signed, signature) = access.rsplit_once('.').unwrap();
    UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point)
        .verify(signed.as_bytes(), &decoded(signature))
        .unwrap();
    let claims: Value = serde_json::from_slice(&decoded(signed.split_once('.').unwrap().1)).unwrap();
    assert_eq!(claims["exp"].as_i64().unwrap() - claims["iat"].as_i64().unwrap(), 900);
    assert_eq!(claims["client_id"], "full");

    for at in 0..access.len() {
        let mut forged = access.as_bytes().to_vec();
        forged[at] = if forged[at] == b'A' { b'B' } else { b'A' };
        let forged = String::from_utf8(forged).unwrap();
        // The last Base64 character of a part has unused bits.
        if !access[at + 1..].starts_with('.') && at + 1 != access.len() {
            assert_ne!(api_status(&sandbox, &forged), 200, "{at}");
        }
    }
}

#[test]
fn an_unsigned_token_is_rejected() {
    // AUTH-07
    let sandbox = sandbox();
    let access = &tokens(&sandbox, "full").access;
    let claims = access.split('.').nth(1).unwrap();
    for header in [r#"{"alg":"none"}"#, r#"{"alg":"HS256"}"#] {
        let forged = format!("{}.{claims}.AAAA", URL_SAFE_NO_PAD.encode(header));
        assert_eq!(api_status(&sandbox, &forged), 401, "{header}");
    }
}

#[test]
fn an_access_token_expires_after_900_seconds() {
    // GEN-11, TOK-21, AUTH-04, AUTH-07, LIM-14
    let sandbox = sandbox();
    let access = &tokens(&sandbox, "full").access;
    sandbox.advance(899);
    assert_eq!(api_status(&sandbox, access), 200);
    sandbox.advance(1);
    let answer = sandbox.ask(http::Method::GET, "/emails").key(access).send("");
    answer.rejected(401, "invalid_access_token", "The access token is invalid, expired or revoked");
    let challenge = answer.headers["www-authenticate"].to_str().unwrap();
    assert!(challenge.starts_with("Bearer error=\"invalid_token\", "), "{challenge}");
    assert!(!answer.text().contains(access));
}

#[test]
fn every_field_is_required() {
    // TOK-05, TOK-14
    let sandbox = sandbox();
    let code = code_for(&sandbox, "full");
    for field in ["grant_type", "client_id", "code", "redirect_uri", "code_verifier"] {
        for value in [None, Some("")] {
            let answer = token(&sandbox, &with(code_exchange("full", &code), field, value));
            assert_eq!(refused(&answer), "invalid_request", "{field}");
        }
    }
    // None of these attempts consumed the code.
    let refresh = exchanged(&sandbox, "full", &code).tokens().refresh;
    for field in ["grant_type", "client_id", "refresh_token"] {
        let answer = token(&sandbox, &with(refresh_request("full", &refresh), field, None));
        assert_eq!(refused(&answer), "invalid_request", "{field}");
    }
    assert_eq!(refreshed(&sandbox, "full", &refresh).status, 200);
}

#[test]
fn the_grant_type_selects_the_grant() {
    // TOK-04
    let sandbox = sandbox();
    for other in [
        "password",
        "client_credentials",
        "AUTHORIZATION_CODE",
        "urn:ietf:params:oauth:grant-type:device_code",
    ] {
        let answer = token(&sandbox, &with(code_exchange("full", "x"), "grant_type", Some(other)));
        assert_eq!(refused(&answer), "unsupported_grant_type", "{other}");
    }
}

#[test]
fn a_reset_of_the_service_ends_every_login() {
    let sandbox = sandbox();
    let access = &tokens(&sandbox, "full").access;
    assert_eq!(api_status(&sandbox, access), 200);
    sandbox.service.reset();
    assert_eq!(api_status(&sandbox, access), 401);
    assert!(sandbox.service.token_events().is_empty());
}

#[test]
fn a_code_expires_after_10_minutes() {
    // TOK-07, LIM-13
    let sandbox = sandbox();
    let (young, old) = (code_for(&sandbox, "full"), code_for(&sandbox, "full"));
    sandbox.advance(599);
    assert_eq!(exchanged(&sandbox, "full", &young).status, 200);
    sandbox.advance(1);
    assert_eq!(refused(&exchanged(&sandbox, "full", &old)), "invalid_grant");
}

#[test]
fn a_code_is_bound_to_its_client_redirect_uri_and_verifier() {
    // TOK-08, TOK-09, TOK-35
    let sandbox = sandbox();
    let code = code_for(&sandbox, "full");
    let other = VERIFIER.replace('d', "e");
    for (name, value) in [
        ("client_id", "sender"),
        ("redirect_uri", "http://127.0.0.1:4712/callback"),
        ("code_verifier", other.as_str()),
        ("code", "sb_code_unknown"),
    ] {
        let answer = token(&sandbox, &with(code_exchange("full", &code), name, Some(value)));
        assert_eq!(refused(&answer), "invalid_grant", "{name}");
    }
    assert_eq!(exchanged(&sandbox, "full", &code).status, 200);
}

#[test]
fn a_verifier_has_43_to_128_unreserved_characters() {
    // TOK-11, TOK-13, LIM-12, A-45
    let sandbox = sandbox();
    for verifier in
        ["x".repeat(42), "x".repeat(129), format!("{}+", &VERIFIER[1..]), format!("{} ", &VERIFIER[1..])]
    {
        let code = code_for(&sandbox, "full");
        let answer = token(&sandbox, &with(code_exchange("full", &code), "code_verifier", Some(&verifier)));
        assert_eq!(refused(&answer), "invalid_request", "{verifier}");
    }
    for length in [43, 128] {
        let verifier: String = "aZ0-._~".chars().cycle().take(length).collect();
        let challenge = URL_SAFE_NO_PAD.encode(<sha2::Sha256 as sha2::Digest>::digest(&verifier));
        let code = code(&sandbox, &with(authorization_request("full"), "code_challenge", Some(&challenge)));
        let answer = token(&sandbox, &with(code_exchange("full", &code), "code_verifier", Some(&verifier)));
        assert_eq!(answer.status, 200, "{length}");
    }
}

#[test]
fn an_unknown_or_disabled_client_is_rejected() {
    // TOK-30, TOK-31
    let sandbox = sandbox();
    for client in ["nobody", "disabled"] {
        assert_eq!(refused(&exchanged(&sandbox, client, "x")), "invalid_client");
        assert_eq!(refused(&refreshed(&sandbox, client, "x")), "invalid_client");
    }
}

#[test]
fn a_client_is_limited_to_its_registered_grant_types() {
    // TOK-32, AUTHZ-33
    let sandbox = sandbox();
    assert_eq!(refused(&refreshed(&sandbox, "code-only", "x")), "unauthorized_client");
    assert_eq!(refused(&exchanged(&sandbox, "refresh-only", "x")), "unauthorized_client");
}

#[test]
fn a_refresh_can_narrow_the_scope_of_one_access_token_but_not_widen_it() {
    // TOK-15, TOK-16
    let sandbox = sandbox();
    let refresh = &tokens(&sandbox, "full").refresh;
    let narrow = token(&sandbox, &with(refresh_request("full", refresh), "scope", Some("emails:send")));
    assert_eq!(narrow.json()["scope"], "emails:send");
    let narrow = narrow.tokens();
    assert_eq!(api_status(&sandbox, &narrow.access), 403);
    let wide = refreshed(&sandbox, "full", &narrow.refresh);
    assert_eq!(wide.json()["scope"], "full_access emails:send");
    assert_eq!(api_status(&sandbox, &wide.tokens().access), 200);

    let refresh = &tokens(&sandbox, "sender").refresh;
    for wide in ["full_access", "emails:send full_access", "foo"] {
        let answer = token(&sandbox, &with(refresh_request("sender", refresh), "scope", Some(wide)));
        assert_eq!(refused(&answer), "invalid_scope", "{wide}");
    }
    let answer = refreshed(&sandbox, "sender", refresh);
    assert_eq!(answer.status, 200, "a rejected refresh doesn't consume the token");
}

#[test]
fn refresh_token_reuse_revokes_the_grant_and_all_its_tokens() {
    // TOK-25, TOK-26
    let sandbox = sandbox();
    let first = tokens(&sandbox, "full");
    let second = refreshed(&sandbox, "full", &first.refresh).tokens();
    assert_eq!(api_status(&sandbox, &second.access), 200);
    assert_eq!(refused(&refreshed(&sandbox, "full", &first.refresh)), "invalid_grant");
    for tokens in [&first, &second] {
        assert_eq!(api_status(&sandbox, &tokens.access), 401);
    }
    assert_eq!(refused(&refreshed(&sandbox, "full", &second.refresh)), "invalid_grant");
    let kinds: Vec<_> = sandbox.service.token_events().into_iter().map(|event| event.kind).collect();
    assert_eq!(
        kinds,
        [
            TokenEventKind::Issued,
            TokenEventKind::Rotated { generation: 2 },
            TokenEventKind::Reused { shown: 1, current: 2 },
            TokenEventKind::Late,
        ]
    );
}

#[test]
fn a_refresh_token_expires_60_days_after_issue() {
    // TOK-23, LIM-15
    const DAY: u64 = 86_400;
    let sandbox = sandbox();
    let mut refresh = tokens(&sandbox, "full").refresh;
    for _ in 0..3 {
        // Each new token lasts 60 days.
        sandbox.advance(59 * DAY);
        refresh = refreshed(&sandbox, "full", &refresh).tokens().refresh;
    }
    sandbox.advance(60 * DAY);
    assert_eq!(refused(&refreshed(&sandbox, "full", &refresh)), "invalid_grant");
}

#[test]
fn an_unknown_or_foreign_refresh_token_is_rejected_without_revoking_anything() {
    // TOK-29
    let sandbox = sandbox();
    let refresh = &tokens(&sandbox, "full").refresh;
    assert_eq!(refused(&refreshed(&sandbox, "full", "sb_rt_unknown")), "invalid_grant");
    assert_eq!(refused(&refreshed(&sandbox, "sender", refresh)), "invalid_grant");
    assert_eq!(refreshed(&sandbox, "full", refresh).status, 200);
}

#[test]
fn of_two_concurrent_refreshes_one_succeeds_and_the_other_counts_as_reuse() {
    // TOK-24, TOK-26
    let sandbox = sandbox();
    let first = tokens(&sandbox, "full");
    let statuses: Vec<u16> = std::thread::scope(|scope| {
        let asks: Vec<_> = (0..8)
            .map(|_| scope.spawn(|| refreshed(&sandbox, "full", &first.refresh).status.as_u16()))
            .collect();
        asks.into_iter().map(|ask| ask.join().unwrap()).collect()
    });
    assert_eq!(statuses.iter().filter(|status| **status == 200).count(), 1, "{statuses:?}");
    assert_eq!(api_status(&sandbox, &first.access), 401);
}

#[test]
fn a_malformed_body_is_an_invalid_request() {
    let sandbox = sandbox();
    for body in ["{", "[]", "\"x\"", r#"{"grant_type":1}"#] {
        let ask = sandbox.ask(http::Method::POST, "/oauth/token").no_key();
        let answer = ask.header("content-type", "application/json; charset=utf-8").send(body);
        assert_eq!(refused(&answer), "invalid_request", "{body}");
    }
    let twice = [("grant_type", "refresh_token"), ("grant_type", "refresh_token")];
    assert_eq!(refused(&post_form(&sandbox, "/oauth/token", &twice)), "invalid_request");
}

#[test]
fn an_access_token_has_a_stable_subject_and_never_contains_the_api_key() {
    let sandbox = sandbox();
    let claims = |tenant: &str| {
        let token = sandbox.service.grant("full", tenant, "emails:send").access_token;
        String::from_utf8(URL_SAFE_NO_PAD.decode(token.split('.').nth(1).unwrap()).unwrap()).unwrap()
    };
    let subject = |claims: &str| serde_json::from_str::<Value>(claims).unwrap()["sub"].clone();
    let (one, again, other) = (claims("re_real_key"), claims("re_real_key"), claims("re_other_key"));
    assert!(!one.contains("re_real_key"), "a send-only client could read a full-access key: {one}");
    assert_eq!(subject(&one), subject(&again));
    assert_ne!(subject(&one), subject(&other));
}

#[test]
fn code_reuse_revokes_the_issued_tokens() {
    // TOK-06, TOK-27; RFC 6749, 4.1.2
    let sandbox = sandbox();
    let code = code_for(&sandbox, "full");
    let Tokens { access, refresh } = exchanged(&sandbox, "full", &code).tokens();
    // A code presented by another client doesn't affect the grant it was issued for.
    assert_eq!(refused(&exchanged(&sandbox, "sender", &code)), "invalid_grant");
    assert_eq!(api_status(&sandbox, &access), 200);
    assert_eq!(refused(&exchanged(&sandbox, "full", &code)), "invalid_grant");
    assert_eq!(api_status(&sandbox, &access), 401);
    assert_eq!(refused(&refreshed(&sandbox, "full", &refresh)), "invalid_grant");
    let kinds: Vec<_> = sandbox.service.token_events().into_iter().map(|event| event.kind).collect();
    assert_eq!(kinds, [TokenEventKind::Issued, TokenEventKind::CodeReused, TokenEventKind::Late]);
    assert_eq!(sandbox.get("/oauth/grants").json()["data"][0]["revoked_reason"], "code_reused");
}

#[test]
fn scope_is_a_nonempty_list_without_duplicates() {
    // TOK-15, TOK-16
    let sandbox = sandbox();
    let refresh = tokens(&sandbox, "full").refresh;
    for nothing in [" ", "   "] {
        let answer = token(&sandbox, &with(refresh_request("full", &refresh), "scope", Some(nothing)));
        assert_eq!(refused(&answer), "invalid_scope", "{nothing:?}");
    }
    let scopes = |count: usize| vec!["emails:send"; count].join(" ");
    let many = scopes(17);
    let answer = token(&sandbox, &with(refresh_request("full", &refresh), "scope", Some(&many)));
    assert_eq!(refused(&answer), "invalid_scope");
    let most = scopes(16);
    let most = with(refresh_request("full", &refresh), "scope", Some(&most));
    assert_eq!(token(&sandbox, &most).json()["scope"], "emails:send");
}

#[test]
fn only_a_credential_of_three_parts_that_starts_like_json_is_an_access_token() {
    let sandbox = sandbox();
    assert_eq!(api_status(&sandbox, "sb_version.1.2"), 200, "an API key");
    for (credential, refused) in
        [("eyJhbGciOiJFUzI1NiJ9", (403, "invalid_api_key")), ("eyJ.x.y", (401, "invalid_access_token"))]
    {
        let answer = sandbox.ask(http::Method::GET, "/emails").key(credential).send("");
        assert_eq!((answer.status.as_u16(), &*answer.name()), refused, "{credential}");
    }
}

#[test]
fn each_grant_remembers_its_last_6000_refresh_tokens() {
    // TOK-24, TOK-26
    let sandbox = sandbox();
    let rotate = |shown: &str| refreshed(&sandbox, "full", shown);
    let mut last = vec![tokens(&sandbox, "full").refresh];
    for _ in 0..6_100 {
        last.push(rotate(&last[last.len() - 1]).tokens().refresh);
    }
    assert_eq!(refused(&rotate(&last[0])), "invalid_grant");
    // A token too old to be remembered revokes nothing.
    let newest = rotate(&last[6_100]).tokens().refresh;
    assert_eq!(refused(&rotate(&last[200])), "invalid_grant");
    assert_eq!(refused(&rotate(&newest)), "invalid_grant", "the reuse revoked the grant");
}
