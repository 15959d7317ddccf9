//! The login through the client, with a user at the consent page.

use std::time::Duration;

use idempost::{
    Client, Email, Error,
    auth::{AuthError, AuthorizationRequest, AuthorizationServer, NewOAuthClient, Scope, TokenRecord},
};
use idempost_conformance::bench::Bench;
use idempost_conformance::person::Person;

fn email() -> Email {
    Email::new("hi@acme.test", "ada@example.com", "Hello").text("It works")
}

const REDIRECT: &str = "http://127.0.0.1:4711/callback";

async fn asked(bench: &Bench, client_id: &str, scope: Scope) -> (AuthorizationServer, AuthorizationRequest) {
    let server = AuthorizationServer::discover(&bench.base_url()).await.unwrap();
    let authorization = server.authorize(client_id, REDIRECT).scope(scope).build().unwrap();
    (server, authorization)
}

async fn logged_in(bench: &Bench, scope: Scope) -> (AuthorizationServer, TokenRecord) {
    let (server, authorization) = asked(bench, "idempost-cli", scope).await;
    let back = Person::of("sb_test").allows(authorization.url().as_str()).await;
    let code = authorization.code_from_url(&back).unwrap();
    let record = server.exchange(&authorization, &code).await.unwrap();
    (server, record)
}

fn client(bench: &Bench, record: &TokenRecord) -> Client {
    let token = record.access_token.as_ref().unwrap().expose();
    Client::builder().base_url(bench.base_url()).access_token(token).build().unwrap()
}

#[tokio::test]
async fn a_user_authorizes_a_program_for_a_limited_time_and_scope() {
    // GEN-11, AUTH-04, AUTHZ-20, SCOPE-10
    let bench = Bench::start().await;
    let (_, record) = logged_in(&bench, Scope::EmailsSend).await;
    assert_eq!((record.scope.as_str(), record.origin.as_str()), ("emails:send", bench.base_url().as_str()));
    let client = client(&bench, &record);
    client.emails().send(&email()).await.unwrap();
    match client.emails().list().await.unwrap_err() {
        Error::Api(error) => {
            assert_eq!((error.status.as_u16(), error.name.as_str()), (403, "invalid_permission"));
        }
        other => panic!("{other:?}"),
    }
    bench.service().clock().advance(Duration::from_secs(901));
    match client.emails().send(&email()).await.unwrap_err() {
        Error::Api(error) => assert_eq!(error.status, 401),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_person_says_no() {
    // AUTHZ-21, AUTHZ-32
    let bench = Bench::start().await;
    let (_, authorization) = asked(&bench, "idempost-cli", Scope::FullAccess).await;
    let back = Person::of("sb_test").denies(authorization.url().as_str()).await;
    match authorization.code_from_url(&back).unwrap_err() {
        AuthError::Rejected(error) => assert_eq!(error.code.as_str(), "access_denied"),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_revoked_login_ends_immediately() {
    let bench = Bench::start().await;
    let (server, record) = logged_in(&bench, Scope::FullAccess).await;
    let client = client(&bench, &record);
    assert_eq!(
        client.oauth_grants().list().await.unwrap().data[0].client_id.as_deref(),
        Some("idempost-cli")
    );
    server.revoke(&record).await.unwrap();
    assert!(matches!(client.emails().list().await, Err(Error::Api(error)) if error.status == 401));
}

#[tokio::test]
async fn a_program_that_registers_itself_can_log_in() {
    let bench = Bench::start().await;
    let server = AuthorizationServer::new(&bench.base_url()).unwrap();
    let registered =
        server.register(&NewOAuthClient::new("Mailer", "http://127.0.0.1/callback")).await.unwrap();
    let authorization = server.authorize(&registered.client_id, REDIRECT).build().unwrap();
    let back = Person::of("sb_test").allows(authorization.url().as_str()).await;
    let code = authorization.code_from_url(&back).unwrap();
    let record = server.exchange(&authorization, &code).await.unwrap();
    assert_eq!(record.scope, "full_access emails:send");
}
