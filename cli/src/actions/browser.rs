//! Opens pages in a browser, if there is one and the session is interactive.

use http::Method;
use idempost::{Client, problem::path_segment};
use serde_json::{Value, json};
use webbrowser::{Browser, BrowserOptions};

use crate::context::Context;
use crate::diagnostics::Fail;
use crate::input::flags::Flags;
use crate::literal;

/// The service's dashboard. The URLs aren't documented; the service's own program and MCP server use them.
const DASHBOARD: &str = "https://resend.com";
/// The account that the sandbox's inbox shows by default.
const DEFAULT_ACCOUNT: &str = "sb_local";

/// The page of a record.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Page {
    /// The path in the dashboard; `{}` is the ID.
    pub(crate) dashboard: &'static str,
    /// The list in the sandbox's inbox page, if it has one.
    pub(crate) inbox: Option<&'static str>,
}

impl Page {
    /// Opens it. For programs, or without a browser, prints its URL.
    pub(crate) async fn open(self, record: &Value, client: &Client, context: &Context) -> Result<(), Fail> {
        let url = self.url(record, client).await?;
        if !context.out.is_json() && skip_reason(false, context).is_none() && open_page(&url) {
            context.out.note(&format!("opened {url}"));
            return Ok(());
        }
        context.out.result(std::slice::from_ref(&url), &json!({ "url": url }))
    }

    async fn url(self, record: &Value, client: &Client) -> Result<String, Fail> {
        let id = path_segment(record["id"].as_str().unwrap_or_default()).unwrap_or_default();
        let service = client.base_url().origin().ascii_serialization();
        if service == Client::RESEND_BASE_URL {
            return Ok(format!("{DASHBOARD}/{}", self.dashboard.replace("{}", &id)));
        }
        let Some(list) = self.inbox else {
            let mut flags = Flags::default();
            let rule = format!(
                "{service} has no page for this record: a sandbox only has pages for emails and templates"
            );
            flags.reject("unsupported", rule, "--web", "");
            return flags.finish().map(|()| String::new());
        };
        // The URL contains the account's ID, never its API key.
        let accounts = client.request(Method::GET, "/_/tenants").await?;
        let accounts = accounts["data"].as_array().map(Vec::as_slice).unwrap_or_default();
        let account = accounts.iter().find(|account| account["current"] == true);
        let other = account.filter(|account| account["label"] != DEFAULT_ACCOUNT);
        let key = other.and_then(|account| account["id"].as_str()).map(|id| format!("?key={id}"));
        Ok(format!("{service}/_/{}#/{list}/{id}", key.unwrap_or_default()))
    }
}

/// The reason not to open a browser, if any.
pub(crate) fn skip_reason(no_browser: bool, context: &Context) -> Option<&'static str> {
    let set = |name| context.env.raw(name).is_some();
    if no_browser {
        return Some("--no-browser");
    }
    if literal::is_enabled() {
        return Some("a tool can't open a browser");
    }
    // An explicitly configured browser is used anywhere.
    if set("BROWSER") {
        return None;
    }
    if set("SSH_CONNECTION") || set("SSH_TTY") {
        return Some("this is a remote session");
    }
    let has_display = cfg!(any(windows, target_os = "macos"))
        || ["DISPLAY", "WAYLAND_DISPLAY", "WSL_DISTRO_NAME"].into_iter().any(set);
    if !has_display {
        return Some("there is no display");
    }
    (!context.out.terminal.stderr).then_some("the session isn't interactive")
}

/// Opens the page on its own thread: some openers block until the browser is closed. Failures are only reported as a note, since the URL was printed.
pub(crate) fn open(url: &str, context: &Context) {
    let (url, say) = (url.to_owned(), context.out.note_printer());
    std::thread::spawn(move || {
        if !open_page(&url) {
            say("couldn't open a browser; open the page yourself");
        }
    });
}

/// Opens the page, and returns whether a browser was found. A text browser runs until it is closed.
fn open_page(url: &str) -> bool {
    let mut options = BrowserOptions::new();
    options.with_suppress_output(true);
    webbrowser::open_browser_with_options(Browser::Default, url, &options).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_record_of_the_service_is_in_its_dashboard() {
        let url = async |base_url: &str, dashboard| {
            let client = Client::builder().base_url(base_url).api_key("re_test").build().unwrap();
            let page = Page { dashboard, inbox: None };
            page.url(&json!({ "id": "49a3/../999c" }), &client).await.ok()
        };
        let expected = "https://resend.com/automations/49a3%2F..%2F999c/editor";
        assert_eq!(url("https://api.resend.com/", "automations/{}/editor").await.unwrap(), expected);
        assert_eq!(url("https://api.resend.com.test", "logs/{}").await, None);
    }
}
