//! Client registration, revocation, server metadata and the list of grants, which the specification names without detail.

use serde_json::{Value, json};

use super::{api_status, code_for, error, exchanged, post_form, refreshed, register, sandbox, tokens};
use crate::support::expect_fields_of;

#[test]
fn a_registered_client_can_log_in() {
    // AUTHZ-33
    let sandbox = sandbox();
    let body = register(&sandbox, &json!({})).expect_status(201).json();
    assert_eq!(body["grant_types"], json!(["authorization_code", "refresh_token"]));
    assert_eq!(body["scope"], "full_access emails:send");
    assert_eq!(body["token_endpoint_auth_method"], "none");
    assert!(body["client_id_issued_at"].is_i64());
    let id = body["client_id"].as_str().unwrap();
    let code = code_for(&sandbox, id);
    assert_eq!(exchanged(&sandbox, id, &code).status, 200);
}

#[test]
fn invalid_client_metadata_is_rejected() {
    let sandbox = sandbox();
    let long = "x".repeat(201);
    let many: Vec<_> = (0..11).map(|n| format!("https://a.test/{n}")).collect();
    for (field, value, name) in [
        ("client_name", Value::Null, "invalid_request"),
        ("client_name", json!(""), "invalid_request"),
        ("client_name", json!(long), "invalid_request"),
        ("client_name", json!(1), "invalid_request"),
        ("redirect_uris", Value::Null, "invalid_request"),
        ("redirect_uris", json!([]), "invalid_request"),
        ("redirect_uris", json!(many), "invalid_request"),
        ("redirect_uris", json!(["http://example.com/cb"]), "invalid_request"),
        ("redirect_uris", json!(["https://a.test/#x"]), "invalid_request"),
        ("redirect_uris", json!(["javascript:alert(1)"]), "invalid_request"),
        ("redirect_uris", json!([format!("https://a.test/{}", "x".repeat(2048))]), "invalid_request"),
        ("grant_types", json!(["refresh_token"]), "invalid_request"),
        ("grant_types", json!(["authorization_code", "password"]), "invalid_request"),
        ("response_types", json!(["token"]), "invalid_request"),
        ("token_endpoint_auth_method", json!("private_key_jwt"), "invalid_request"),
        ("application_type", json!("desktop"), "invalid_request"),
        ("application_type", json!(1), "invalid_request"),
        ("client_name", json!("Mail\u{7}er\n"), "invalid_request"),
        ("client_uri", json!("javascript:alert(1)"), "invalid_request"),
        ("client_uri", json!("acme.test"), "invalid_request"),
        ("logo_uri", json!("data:image/png;base64,AAAA"), "invalid_request"),
        ("logo_uri", json!(format!("https://a.test/{}", "x".repeat(2048))), "invalid_request"),
        ("redirect_uris", json!(["https://a.test/c\nb"]), "invalid_request"),
        ("scope", json!("foo"), "invalid_scope"),
        ("scope", json!(""), "invalid_scope"),
    ] {
        let answer = register(&sandbox, &json!({field: value}));
        assert_eq!(error(&answer), (400, name.to_owned()), "{field}: {value}");
    }
    let most = json!({"client_name": "x".repeat(200), "redirect_uris": many[..10]});
    assert_eq!(register(&sandbox, &most).status, 201);
}

#[test]
fn revoking_a_refresh_token_revokes_its_grant() {
    let sandbox = sandbox();
    let tokens = tokens(&sandbox, "full");
    let refresh = &*tokens.refresh;
    let revoke = |parameters: &[(&str, &str)]| post_form(&sandbox, "/oauth/revoke", parameters);
    assert_eq!(error(&revoke(&[("client_id", "full")])), (400, "invalid_request".to_owned()));
    assert_eq!(error(&revoke(&[("token", refresh)])), (400, "invalid_request".to_owned()));
    let by_nobody = revoke(&[("token", refresh), ("client_id", "nobody")]);
    assert_eq!(error(&by_nobody), (401, "invalid_client".to_owned()));
    let hint = [("token", refresh), ("client_id", "full"), ("token_type_hint", "access_token")];
    assert_eq!(error(&revoke(&hint)), (400, "invalid_request".to_owned()));
    for (token, client) in [("unknown", "full"), (refresh, "sender")] {
        assert_eq!(revoke(&[("token", token), ("client_id", client)]).status, 200);
    }
    assert_eq!(api_status(&sandbox, &tokens.access), 200);
    let answer = revoke(&[("token", refresh), ("client_id", "full"), ("token_type_hint", "refresh_token")]);
    assert_eq!((answer.status.as_u16(), answer.body.len()), (200, 0));
    assert_eq!(api_status(&sandbox, &tokens.access), 401);
    assert_eq!(error(&refreshed(&sandbox, "full", refresh)), (400, "invalid_grant".to_owned()));
}

#[test]
fn grants_are_listed_and_revoked_per_tenant() {
    let sandbox = sandbox();
    let first = sandbox.service.grant("full", crate::support::KEY, "emails:send");
    let second = tokens(&sandbox, "full");
    let foreign = sandbox.service.grant("full", "sb_other", "full_access");
    let list = sandbox.items("/oauth/grants");
    assert_eq!(list.len(), 2);
    let expected = json!({
        "id": first.grant_id, "scopes": ["emails:send"], "client": {"name": "full", "logo_uri": null},
    });
    expect_fields_of(&expected, &list[1]);
    assert_eq!(sandbox.get("/oauth/grants?limit=1").json()["has_more"], true);
    let after = |cursor: &str| sandbox.get(format!("/oauth/grants?after={cursor}"));
    let newest = list[0]["id"].as_str().unwrap();
    assert_eq!(after(newest).items(), list[1..]);
    assert_eq!(after(&foreign.grant_id).status, 422, "another tenant's grant is no cursor");

    let path = format!("/oauth/grants/{newest}");
    let other = sandbox.account("sb_other").delete(&path);
    assert_eq!(other.status, 404, "another tenant's grant isn't found");
    let gone = sandbox.delete(&path).expect_status(200);
    assert_eq!(gone.json()["revoked_reason"], "revoked_from_api");
    assert_eq!(sandbox.delete(&path).status, 404);
    assert_eq!(api_status(&sandbox, &second.access), 401);
    assert_eq!(sandbox.get("/oauth/grants").json()["data"][0]["revoked_reason"], "revoked_from_api");
}
