//! Who asks, and the doors through which a test sees to logins.

use crate::model::oauth::events::{IssuedTokens, TokenEvent};
use crate::oauth::token;
use crate::service::Service;
use crate::state::keys;

impl Service {
    /// Lets a client in without a browser: the tokens of a new grant, for a tenant that is named by its API key.
    ///
    /// # Panics
    /// If the service knows no such client.
    pub fn grant(&self, client_id: &str, tenant: &str, scope: &str) -> IssuedTokens {
        let client = self.state.oauth.client(client_id).expect("a client that the service knows");
        let tenant = keys::credential(tenant, &self.state.tenants.api_key_index)
            .map_or_else(|| tenant.to_owned(), |credential| credential.tenant.into_owned());
        let scopes = scope.split(' ').map(str::to_owned).collect();
        let refresh_token = token::refresh_token(&self.state);
        let now = self.state.clock.now();
        let made = self.state.oauth.grant(&client, &tenant, scopes, self.state.next_id(), refresh_token, now);
        IssuedTokens {
            grant_id: made.grant.id.to_string(),
            access_token: token::access_token(&self.state, &made),
            refresh_token: made.refresh_token,
            scope: made.scope,
        }
    }

    /// What the token endpoint did, oldest first.
    pub fn token_events(&self) -> Vec<TokenEvent> {
        self.state.oauth.events()
    }
}
