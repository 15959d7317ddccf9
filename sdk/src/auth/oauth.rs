//! The OAuth client: the authorization code flow with PKCE (RFC 6749, 7636, 8252; `docs/specification.md`, GET /oauth/authorize and POST
//! /oauth/token), metadata, registration and revocation, using the same [`Transport`](crate::transport::Transport) as every call.
//!
//! | module | contains |
//! |---|---|
//! | `http` | one request to the authorization server, sent once over a new connection |
//! | `server` | the authorization server's endpoints |
//! | `metadata` | discovery of the endpoints (RFC 8414, 9728) |
//! | `authorization` | the authorization request and its redirect |
//! | `device` | the device flow (RFC 8628) |
//! | `token_response` | the classification of token responses: was the refresh token or code used up? |
//! | `token_request` | the code exchange, the refresh and the revocation |
//! | `register` | client registration (RFC 7591) |

mod authorization;
mod device;
mod http;
mod metadata;
mod register;
mod server;
mod token_request;
mod token_response;

pub(crate) use self::http::HttpClient;
pub use self::{
    authorization::{AuthorizationCode, AuthorizationRequest, AuthorizationRequestBuilder},
    device::{DeviceAuthorization, DeviceAuthorizationBuilder},
    metadata::Discovery,
    register::{NewOAuthClient, OAuthClient},
    server::AuthorizationServer,
};
