//! The crate `oauth2`, as its documentation uses it: the code flow with PKCE, and a refresh; it revokes over https only. `browser.mjs`, whose path is
//! the argument, acts as the user.

use std::{
    env, io,
    io::{Read as _, Write as _},
    net::TcpStream,
    process::Command,
};

use oauth2::{
    AuthUrl, AuthorizationCode, ClientId, CsrfToken, HttpRequest, HttpResponse, PkceCodeChallenge,
    RedirectUrl, Scope, TokenResponse as _, TokenUrl, basic::BasicClient, http, url::Url,
};

const REDIRECT: &str = "http://127.0.0.1:4711/callback";

/// Sends one request over plain HTTP, which is all that loopback needs.
fn send(request: HttpRequest) -> io::Result<HttpResponse> {
    let host = request.uri().authority().expect("a host").as_str();
    let mut head = format!(
        "{} {} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n",
        request.method(),
        request.uri().path()
    );
    for (name, value) in request.headers() {
        head += &format!("{name}: {}\r\n", value.to_str().expect("text"));
    }
    head += &format!("content-length: {}\r\n\r\n", request.body().len());
    let mut stream = TcpStream::connect(host)?;
    stream.write_all(head.as_bytes())?;
    stream.write_all(request.body())?;
    let mut text = String::new();
    stream.read_to_string(&mut text)?;
    let (head, body) = text.split_once("\r\n\r\n").expect("a response");
    let status: u16 = head[9..12].parse().expect("a status");
    let mut response = http::Response::builder().status(status);
    for line in head.lines().skip(1) {
        let (name, value) = line.split_once(": ").expect("a header");
        response = response.header(name, value);
    }
    Ok(response.body(body.as_bytes().to_vec()).expect("a response"))
}

fn status(base: &str, token: &str) -> u16 {
    let request =
        http::Request::get(format!("{base}/emails")).header("authorization", format!("Bearer {token}"));
    send(request.body(Vec::new()).expect("a request")).expect("a response").status().as_u16()
}

fn main() {
    let base = env::var("PEER_BASE_URL").expect("PEER_BASE_URL");
    let browser = env::args().nth(1).expect("the path of browser.mjs");
    let metadata = http::Request::get(format!("{base}/.well-known/oauth-authorization-server"));
    let metadata = send(metadata.body(Vec::new()).expect("a request")).expect("the metadata");
    let metadata: serde_json::Value = serde_json::from_slice(metadata.body()).expect("JSON");
    let endpoint = |name: &str| metadata[name].as_str().expect("an endpoint").to_owned();
    let client = BasicClient::new(ClientId::new("idempost-cli".to_owned()))
        .set_auth_uri(AuthUrl::new(endpoint("authorization_endpoint")).expect("a URL"))
        .set_token_uri(TokenUrl::new(endpoint("token_endpoint")).expect("a URL"))
        .set_redirect_uri(RedirectUrl::new(REDIRECT.to_owned()).expect("a URL"));
    let (challenge, verifier) = PkceCodeChallenge::new_random_sha256();
    let (address, state) = client
        .authorize_url(CsrfToken::new_random)
        .add_scope(Scope::new("full_access".to_owned()))
        .set_pkce_challenge(challenge)
        .url();
    let visited =
        Command::new("node").args([&browser, address.as_str(), REDIRECT]).output().expect("a browser");
    let back = Url::parse(String::from_utf8(visited.stdout).expect("text").trim()).expect("a redirect");
    let parameter =
        |name: &str| back.query_pairs().find(|(known, _)| known == name).expect("a parameter").1.into_owned();
    assert_eq!(&parameter("state"), state.secret());

    let tokens = client
        .exchange_code(AuthorizationCode::new(parameter("code")))
        .set_pkce_verifier(verifier)
        .request(&send)
        .expect("tokens");
    assert_eq!(status(&base, tokens.access_token().secret()), 200);
    let before = tokens.refresh_token().expect("a refresh token");
    let tokens = client.exchange_refresh_token(before).request(&send).expect("tokens");
    assert_ne!(tokens.refresh_token().expect("a refresh token").secret(), before.secret());
    assert_eq!(status(&base, tokens.access_token().secret()), 200);
    println!("crate oauth2: code with PKCE, refresh");
}
