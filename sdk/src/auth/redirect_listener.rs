//! A loopback server for the browser's redirect (RFC 8252, 7.3 and 8.3).
//!
//! Every program on this machine, and every page in the browser, can send requests to the listener's port. Only a request with the `state` of this
//! authorization counts; any other request changes nothing, and the wait continues.
//!
//! | threat | measure |
//! |---|---|
//! | other machines | binds `127.0.0.1`, else `[::1]`, never a host name; the redirect URI contains the bound address |
//! | web pages, and host names that resolve to this machine (DNS rebinding) | `Host` must be the bound address; no `Origin`; only requests of a browser navigation |
//! | forged responses | `state` is compared first, in constant time; only then `code` or `error` |
//! | the code in the browser's history or in a `Referer` | an immediate redirect to a page that reveals no outcome and loads nothing |
//! | slow, numerous or large requests | 8 connections of 5 s each, of which the oldest is closed for a new one; a head of at most 16 KiB; no body |

mod listener;
mod page;
mod request;
#[cfg(test)]
mod tests;

pub use listener::RedirectListener;
