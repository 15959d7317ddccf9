//! Opening the page in a browser, where there is one and somebody who looks at it.

use webbrowser::{Browser, BrowserOptions};

use crate::context::Context;

/// Why no browser is opened; none where one is.
pub(crate) fn why_not(no_browser: bool, context: &Context) -> Option<&'static str> {
    let set = |name| context.env.raw(name).is_some();
    if no_browser {
        return Some("--no-browser");
    }
    // Whoever names a browser has one, wherever this runs.
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
    (!context.out.terminal.stderr).then_some("nobody is there to see it")
}

/// Opens the page, on a thread of its own: some openers wait until the browser is closed. What fails is said; the address was printed anyway.
pub(crate) fn open(url: &str, context: &Context) {
    let (url, say) = (url.to_owned(), context.out.noter());
    std::thread::spawn(move || {
        let mut options = BrowserOptions::new();
        options.with_suppress_output(true);
        if webbrowser::open_browser_with_options(Browser::Default, &url, &options).is_err() {
            say("no browser could be opened; open the page yourself");
        }
    });
}
