//! OAuth 2.0: the authorization code flow with PKCE, rotating refresh tokens, and access tokens that are verified on every call
//! (`SPEC.md`, GET /oauth/authorize and POST /oauth/token; RFC 6749, 7636, 7009, 7591, 8414, 9728).
//!
//! A browser goes from `authorize` to the page of `consent`; what the person decides there becomes a code, the code becomes a grant, and the
//! grant hands out tokens until it is revoked. Everything that is remembered is in the `book`, under one lock: of two refreshes with the same token
//! exactly one comes first, and the other one is a reuse.
//!
//! | file | idea |
//! |---|---|
//! | `clients` | who may ask: redirect addresses, grant types, scopes |
//! | `authorize` | the authorization request, checked; errors as JSON before it is clear where to redirect, by redirect after |
//! | `consent` | the page on which a person decides |
//! | `token` | codes and refresh tokens against new tokens |
//! | `jwt` | access tokens: signed, and verified on each call |
//! | `book` | requests, codes and grants; generations of refresh tokens |
//! | `events` | the log of what the token endpoint did, for tests |
//! | `register`, `revoke`, `metadata`, `grants` | what the specification only names, as the public service has it |

pub(crate) mod authorize;
pub(crate) mod consent;
pub(crate) mod form;
pub(crate) mod grants;
pub(crate) mod metadata;
pub(crate) mod register;
pub(crate) mod revoke;
pub(crate) mod token;
