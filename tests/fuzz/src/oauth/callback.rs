//! Redirects of the authorization server, in which `STATE` stands for the state of the request and `HERE` for the redirect URI.

use idempost::auth::AuthorizationServer;
use url::Url;

const REDIRECT: &str = "http://127.0.0.1:8123/callback";

pub(crate) fn run(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let server = AuthorizationServer::new("http://127.0.0.1:9").expect("the URL is valid");
    let request = server.authorize("client", REDIRECT).build().expect("the request is valid");
    let state =
        request.url().query_pairs().find(|(name, _)| name == "state").expect("it has a state").1.into_owned();
    let redirected = text.replace("STATE", &state).replace("HERE", REDIRECT);
    match request.code_from_url(&redirected) {
        Ok(code) => {
            // Read independently, there is exactly one state, which is right, and one code.
            let url = Url::parse(redirected.trim()).expect("a URL with a code is valid");
            let values = |wanted: &str| {
                let pairs = url.query_pairs().filter(|(name, _)| name == wanted);
                pairs.map(|(_, value)| value.into_owned()).collect::<Vec<_>>()
            };
            assert_eq!(url.as_str().split('?').next(), Some(REDIRECT));
            assert_eq!(values("state"), [state]);
            assert_eq!(values("code").len(), 1);
            assert!(values("error").is_empty());
            assert!(
                !format!("{code:?}").contains(&values("code")[0]) || values("code")[0].len() < 12,
                "the code is shown"
            );
        }
        Err(error) => {
            let shown = error.to_string();
            assert!(!shown.chars().any(char::is_control), "{shown:?}");
            // An error quotes other parameters, which the server may fill with the state.
            let is_quoted = Url::parse(redirected.trim()).is_ok_and(|url| {
                url.query_pairs().any(|(name, value)| name != "state" && value.contains(&state))
            });
            assert!(is_quoted || !shown.contains(&state), "the state is shown");
            assert!(shown.chars().count() < 1_000);
        }
    }
}
