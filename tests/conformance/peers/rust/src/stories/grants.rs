//! OAuth grants: a user allows a program access to the account, and the account revokes it.

use resend_rs::{Resend, Result, Value, json};

use crate::call;
use crate::support::{NOTHING, everything, refused, text};

// The example of RFC 7636, appendix B.
const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";

/// Posts a form and follows a redirect.
async fn post(client: &Resend, url: &str, cookie: &str, form: &[(&str, &str)]) -> Result<(String, String)> {
    let form = client.client().get(url).query(form).build()?.url().query().expect("a form").to_owned();
    let request = client
        .client()
        .post(url)
        .header("content-type", "application/x-www-form-urlencoded")
        .header("cookie", cookie);
    let answer = request.body(form).send().await?;
    Ok((answer.url().to_string(), answer.text().await?))
}

fn between<'a>(text: &'a str, before: &str, after: char) -> &'a str {
    let (_, rest) = text.split_once(before).unwrap_or_else(|| panic!("{before} isn't in {text}"));
    rest.split(after).next().expect("split gives at least one part")
}

/// The login itself isn't part of the client. The redirect returns to the sandbox, which doesn't serve that path: only the URL matters.
async fn login(client: &Resend) -> Result<String> {
    let base = client.base_url().trim_end_matches('/');
    let redirect = format!("{base}/callback");
    let program = [("client_id", "idempost-cli"), ("redirect_uri", redirect.as_str())];
    let challenge = [("code_challenge", CHALLENGE), ("code_challenge_method", "S256")];
    let query = [("response_type", "code"), ("scope", "emails:send"), ("state", "rust")];
    let ask = client
        .client()
        .get(format!("{base}/oauth/authorize"))
        .query(&program)
        .query(&challenge)
        .query(&query);
    let page = ask.send().await?;
    let (url, cookie) =
        (page.url().to_string(), page.headers()["set-cookie"].to_str().expect("a cookie").to_owned());
    let page = page.text().await?;
    let form = [
        ("token", between(&page, "name=token value=\"", '"')),
        ("account", client.api_key()),
        ("decision", "allow"),
    ];
    let (back, _) = post(client, &url, cookie.split(';').next().expect("a cookie"), &form).await?;
    let code = between(&back, "code=", '&');
    let exchange = [
        ("grant_type", "authorization_code"),
        ("code", code),
        ("code_verifier", VERIFIER),
        program[0],
        program[1],
    ];
    let (_, tokens) = post(client, &format!("{base}/oauth/token"), "", &exchange).await?;
    Ok(between(&tokens, "\"access_token\":\"", '"').to_owned())
}

pub async fn story(client: &Resend) -> Result<()> {
    let token = login(client).await?;
    let email =
        json!({"from": "hi@acme.test", "to": "ada@example.com", "subject": "Granted", "text": "It works"});
    let send = async || -> Result<u16> {
        let request = client
            .client()
            .post(format!("{}/emails", client.base_url().trim_end_matches('/')))
            .bearer_auth(&token);
        Ok(request.json::<Value>(&email).send().await?.status().as_u16())
    };
    assert_eq!(send().await?, 200);
    let grants = call!(client.oauth.list(everything()))?;
    assert_eq!(
        (grants[0].scopes.as_slice(), &grants[0].revoked_at),
        (["emails:send".to_owned()].as_slice(), &None)
    );
    let revoked = json!(call!(client.oauth.revoke(&grants[0].id))?);
    assert_eq!(text(&revoked["id"]), grants[0].id.to_string());
    assert_eq!(send().await?, 401);
    refused(call!(client.oauth.revoke(NOTHING)), "not_found");
    Ok(())
}
