//! OAuth grants: applications authorized for this account.
//!
//! The specification is silent on these operations; they follow Resend.

mod operations;
mod record;

pub use operations::OAuthGrants;
pub use record::{GrantedClient, OAuthGrant, RevokedOAuthGrant};
