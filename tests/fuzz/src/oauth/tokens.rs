//! Responses of the authorization server: to refreshes, to exchanges of codes, its metadata and that of its API, registrations, and device
//! authorizations. And stored records.
//!
//! ```text
//! STATUS ["broken"]
//! NAME: VALUE
//!
//! BODY
//! ```

use std::time::Duration;

use idempost::auth::{
    AuthorizationServer, MemoryStore, NewOAuthClient, Session, TokenRecord, TokenStore as _,
};
use idempost::types::RefreshToken;
use serde_json::Value;

use crate::sdk::transport::{Answer, block_on};
use crate::text;

const ORIGIN: &str = "http://127.0.0.1:9";
const OLD: &str = "the-old-refresh-token";

pub(crate) fn run(data: &[u8]) {
    let (line, rest) = text::first_line(data);
    let answer = Answer::read(line, rest);
    block_on(async {
        refresh(&answer).await;
        others(&answer).await;
    });
    record(&answer.body);
}

/// A refresh: a complete new refresh token is never lost, and the old one is never sent again unless the server rejected the request.
async fn refresh(answer: &Answer) {
    let store = MemoryStore::new();
    let record = TokenRecord::new(
        ORIGIN,
        format!("{ORIGIN}/oauth/token"),
        "client",
        RefreshToken::from(OLD.to_owned()),
    );
    let builder = Session::builder().transport(answer.clone()).max_wait(Duration::from_secs(1));
    let session = builder.start(store.clone(), &record).await.expect("the store is in memory");
    let result = tokio::time::timeout(Duration::from_secs(5), session.access_token()).await;
    if let Ok(Err(error)) = &result {
        let shown = format!("{error} {error:?}");
        // A server may name the token itself.
        let is_named = String::from_utf8_lossy(&answer.body).contains(OLD);
        assert!(is_named || !shown.contains(OLD), "a token is shown: {shown}");
    }
    let stored = store.read().await.expect("the store is in memory").expect("the login is kept");
    let kept = stored.refresh_token.as_ref().map(RefreshToken::expose);
    let new = serde_json::from_slice::<Value>(&answer.body).ok();
    let new = new.as_ref().and_then(|json| json.as_object()?.get("refresh_token")?.as_str());
    if let Some(new) = new.filter(|new| !new.is_empty() && *new != OLD && answer.status.is_success()) {
        assert_eq!(kept, Some(new), "a refresh token was lost");
    }
    if !answer.status.is_success() {
        assert_eq!(kept, Some(OLD));
    }
    let expiry = stored.expires_at().duration_since(stored.obtained_at);
    assert!(expiry.is_ok_and(|lifetime| lifetime <= Duration::from_hours(366 * 24)));
}

async fn others(answer: &Answer) {
    let server = AuthorizationServer::new(ORIGIN).expect("the URL is valid").transport(answer.clone());
    let shown = |error: idempost::Error| {
        let text = error.to_string();
        assert!(!text.chars().any(char::is_control), "{text:?}");
    };
    if let Err(error) = server.register(&NewOAuthClient::new("Fuzz", "http://127.0.0.1:8123/callback")).await
    {
        shown(error);
    }
    match AuthorizationServer::discovery().transport(answer.clone()).issuer(ORIGIN).await {
        // The metadata names this issuer, and only endpoints that may receive secrets.
        Ok(server) => {
            assert_eq!(server.issuer().map(|issuer| issuer.trim_end_matches('/')), Some(ORIGIN));
            assert_eq!(server.origin(), ORIGIN);
            match server.authorize_device("client").send().await {
                // A person types the code, and opens the page.
                Ok(device) => {
                    assert!(
                        !device.user_code().chars().any(char::is_control) && !device.user_code().is_empty()
                    );
                    assert!(matches!(device.verification_uri().scheme(), "http" | "https"));
                }
                Err(error) => shown(error),
            }
        }
        Err(error) => shown(error),
    }
    // The metadata of the API, at its well-known URL or where a challenge says.
    match AuthorizationServer::discovery().transport(answer.clone()).api(ORIGIN).await {
        Ok(server) => assert_eq!(server.origin(), ORIGIN),
        Err(error) => shown(error),
    }
    let request =
        server.authorize("client", "http://127.0.0.1:8123/callback").build().expect("the request is valid");
    let state =
        request.url().query_pairs().find(|(name, _)| name == "state").expect("it has a state").1.into_owned();
    let code = request.code_from_url(&format!("http://127.0.0.1:8123/callback?state={state}&code=the-code"));
    match server.exchange(&request, &code.expect("the redirect is valid")).await {
        Ok(record) => {
            assert!(answer.status.is_success() && record.access_token.is_some());
        }
        Err(error) => shown(error),
    }
}

/// A record that can be read is the same after it has been written and read again.
fn record(bytes: &[u8]) {
    match TokenRecord::from_json(bytes) {
        Ok(record) => {
            let written = record.to_json();
            let again = TokenRecord::from_json(&written).expect("a written record can be read");
            assert_eq!(String::from_utf8_lossy(&again.to_json()), String::from_utf8_lossy(&written));
            let _ = record.expires_at();
        }
        Err(error) => {
            let shown = format!("{error} {error:?}");
            assert!(!shown.contains("SECRET"), "a value is shown: {shown}");
        }
    }
}
