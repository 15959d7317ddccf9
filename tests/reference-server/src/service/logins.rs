//! Who asks, and the doors through which a test sees to logins.

use http::HeaderMap;

use super::Service;
use crate::keys::{self, Credential};
use crate::oauth::book::Book;
use crate::oauth::{IssuedTokens, TokenEvent, token};
use crate::problem::Problem;

impl Service {
    /// Lets a client in without a browser: the tokens of a new grant, for a tenant that is named by its API key.
    ///
    /// # Panics
    /// If the service knows no such client.
    pub fn grant(&self, client_id: &str, tenant: &str, scope: &str) -> IssuedTokens {
        let client = self.oauth.client(client_id).expect("a client that the service knows");
        let tenant = keys::credential(tenant, &self.state.key_book)
            .map_or_else(|| tenant.to_owned(), |credential| credential.tenant.into_owned());
        let scopes = scope.split(' ').map(str::to_owned).collect();
        let refresh_token = token::refresh_token(self);
        let now = self.clock.now();
        let made = self.oauth.grant(&client, &tenant, scopes, self.next_id(), refresh_token, now);
        IssuedTokens {
            grant_id: made.grant.id.to_string(),
            access_token: token::access_token(self, &made),
            refresh_token: made.refresh_token,
            scope: made.scope,
        }
    }

    /// What the token endpoint did, oldest first.
    pub fn token_events(&self) -> Vec<TokenEvent> {
        self.oauth.events()
    }

    /// Who asks.
    pub(crate) fn credential<'a>(&self, headers: &'a HeaderMap) -> Result<Credential<'a>, Problem> {
        keys::read(headers, &self.state.key_book, &self.oauth, self.clock.now())
    }

    pub(crate) fn oauth(&self) -> &Book {
        &self.oauth
    }
}
