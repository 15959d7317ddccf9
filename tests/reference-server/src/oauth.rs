//! OAuth 2.0: the authorization code flow with PKCE, rotating refresh tokens, and access tokens that are verified on every call
//! (`docs/specification.md`, GET /oauth/authorize and POST /oauth/token; RFC 6749, 7636, 7009, 7591, 8414, 9207, 9728).
//!
//! `authorize` redirects a browser to the page of `consent`; the decision there becomes a code, the code becomes a grant, and the grant
//! issues tokens until it is revoked. All state is in the `OAuthStore`, under one lock: of two refreshes with the same token exactly one
//! comes first, and the other counts as reuse.
//!
//! | file | contents |
//! |---|---|
//! | `clients` | clients: redirect URIs, grant types, scopes |
//! | `authorize` | validates the authorization request; errors are JSON until the redirect URI is known to be valid, redirects afterwards |
//! | `client` | the client of a request, and its secret |
//! | `consent` | the consent page |
//! | `token` | exchanges codes and refresh tokens for new tokens |
//! | `jwt` | access tokens: signing and verification |
//! | `OAuthStore` | pending requests, codes and grants; generations of refresh tokens |
//! | `events` | the events of the token endpoint, for tests |
//! | `register`, `revoke`, `metadata`, `grants` | endpoints that the specification only names, like Resend's |

pub mod authorize;
pub mod client;
pub mod consent;
pub mod form;
pub mod grants;
pub mod metadata;
pub mod register;
pub mod revoke;
pub mod token;
