//! Opens pages in a browser, if there is one and the session is interactive.

use webbrowser::{Browser, BrowserOptions};

use crate::context::Context;

/// Why no browser is opened; `None` if one is.
pub(crate) fn reason_not_to_open(no_browser: bool, context: &Context) -> Option<&'static str> {
    let set = |name| context.env.raw(name).is_some();
    if no_browser {
        return Some("--no-browser");
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
    let (url, say) = (url.to_owned(), context.out.noter());
    std::thread::spawn(move || {
        let mut options = BrowserOptions::new();
        options.with_suppress_output(true);
        if webbrowser::open_browser_with_options(Browser::Default, &url, &options).is_err() {
            say("couldn't open a browser; open the page yourself");
        }
    });
}
