//! A loopback server for the browser's redirect (RFC 8252, 7.3 and 8.3).
//!
//! Every program on this machine, and every page in the browser, can send requests to its port. Only a request with the `state` of this login
//! counts: any other changes nothing, and the wait goes on.
//!
//! | against | measure |
//! |---|---|
//! | other machines | `127.0.0.1`, else `[::1]`, never a name that another host resolves; the redirect URI names the bound address |
//! | pages in the browser, and names that resolve to this machine | `Host` has to be the address that was bound; no `Origin`; only what a browser fetches to show it |
//! | a forged answer | `state` first, in constant time; only then `code` or `error` |
//! | a code in the history or in a `Referer` | the browser is sent on at once, to a page that says nothing of the outcome and loads nothing |
//! | clients that are slow, many or talkative | 8 connections of 5 s each, and the oldest gives way; a head of 16 KiB; no body |

mod listener;
mod page;
mod request;
#[cfg(test)]
mod tests;

pub use listener::RedirectListener;
