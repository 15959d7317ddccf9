//! A user with just enough of a browser for consent pages: follows redirects, submits the form, and stops at the redirect to the program.

use std::collections::BTreeMap;

use http::{HeaderMap, header};
use idempost::transport::install_crypto_provider;
use reqwest::{Client, Response, redirect::Policy};
use url::Url;

/// A user who decides for one account of a sandbox.
#[derive(Clone, Debug)]
pub struct Person {
    account: String,
    browser: Client,
}

impl Person {
    /// A user of the account with this API key.
    ///
    /// # Panics
    /// If the HTTP client can't be built.
    pub fn of(account: &str) -> Self {
        install_crypto_provider();
        let browser = Client::builder().no_proxy().redirect(Policy::none()).build().expect("an HTTP client");
        Self { account: account.to_owned(), browser }
    }

    /// Allows the request at this URL, and returns the URL that the browser is redirected to, without loading it.
    pub async fn allows(&self, address: &str) -> String {
        self.decides(address, "allow").await
    }

    /// Denies the request.
    pub async fn denies(&self, address: &str) -> String {
        self.decides(address, "deny").await
    }

    /// Loads the redirect URL, and follows further redirects to the end.
    pub async fn goes_back(&self, address: &str) -> u16 {
        let mut address = address.to_owned();
        loop {
            let answer = self.get(&address).await;
            if !answer.status().is_redirection() {
                return answer.status().as_u16();
            }
            address = location(&answer, &address);
        }
    }

    async fn decides(&self, address: &str, decision: &str) -> String {
        let page = self.get(address).await;
        let page = location(&page, address);
        let answer = self.get(&page).await;
        let cookie = cookie(answer.headers());
        let text = answer.text().await.expect("a page");
        let mut form: BTreeMap<&str, &str> = BTreeMap::new();
        let token = text.split("name=token value=\"").nth(1).and_then(|rest| rest.split('"').next());
        form.insert("token", token.unwrap_or_else(|| panic!("no form on the page: {text}")));
        form.insert("account", &self.account);
        form.insert("decision", decision);
        let body = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(form).finish();
        let answer = self
            .browser
            .post(&page)
            .header(header::COOKIE, cookie)
            .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
            .body(body)
            .send()
            .await
            .expect("a response to the form");
        location(&answer, &page)
    }

    async fn get(&self, address: &str) -> Response {
        self.browser.get(address).send().await.expect("a response")
    }
}

fn location(answer: &Response, base: &str) -> String {
    let to = answer
        .headers()
        .get(header::LOCATION)
        .unwrap_or_else(|| panic!("{} has no Location", answer.status()));
    let base = Url::parse(base).expect("a URL");
    base.join(to.to_str().expect("text")).expect("a URL").into()
}

fn cookie(headers: &HeaderMap) -> String {
    let cookies = headers.get_all(header::SET_COOKIE).iter().filter_map(|cookie| cookie.to_str().ok());
    cookies.filter_map(|cookie| cookie.split(';').next()).collect::<Vec<_>>().join("; ")
}
