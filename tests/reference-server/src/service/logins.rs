//! OAuth for tests: grants without a browser, and the events of the token endpoint.

use crate::model::oauth::events::{IssuedTokens, TokenEvent};
use crate::oauth::token;
use crate::service::Service;
use crate::state::keys;

impl Service {
    /// Creates a grant without a browser and returns its tokens. An API key names the tenant.
    ///
    /// # Panics
    /// If no client has this ID.
    pub fn grant(&self, client_id: &str, tenant: &str, scope: &str) -> IssuedTokens {
        let _guard = self.state.snapshot_lock.enter();
        let client = self.state.oauth.client(client_id).expect("a registered client");
        let tenant = keys::find_credential(tenant, &self.state.tenants.api_key_index)
            .map_or_else(|| tenant.to_owned(), |credential| credential.tenant.into_owned());
        let scopes = scope.split(' ').map(str::to_owned).collect();
        let refresh_token = token::refresh_token(&self.state);
        let now = self.state.clock.for_account(&tenant).now();
        let issued = self.state.oauth.grant(
            &client,
            &tenant,
            scopes,
            self.state.next_id(),
            refresh_token.clone(),
            now,
        );
        IssuedTokens {
            grant_id: issued.grant.id.to_string(),
            access_token: token::access_token(&self.state, &issued, &self.state.links.address()),
            refresh_token,
            scope: issued.scope,
        }
    }

    /// Returns the events of the token endpoint, oldest first.
    pub fn token_events(&self) -> Vec<TokenEvent> {
        self.state.oauth.events()
    }
}
