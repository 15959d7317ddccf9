//! OAuth state: pending authorization requests, codes, grants and refresh tokens.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, OnceLock};

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::clock::Clock;
use crate::lock::lock;
use crate::model::oauth::clients::OAuthClient;
use crate::model::oauth::events::{TokenEvent, TokenEventKind};
use crate::model::oauth::grant::{Code, Grant, Request, add_duration};
use crate::model::oauth::jwt::{Claims, SigningKey};
use crate::model::oauth::{CODE, REFRESH_TOKEN};
use crate::store::budget::Budget;
use crate::store::counted::Counted;
use crate::store::dirty::Dirty;
use crate::store::expiring::{Expires as _, Expiring};
use crate::store::ledger::Persist as _;
use crate::store::table::Rows;
use crate::wire::{OAuthRejection, Page, Problem, Window};

/// The maximum number of token endpoint events.
const MAX_EVENTS: usize = 100_000;
/// The size of an event, in bytes.
const EVENT_BYTES: usize = size_of::<TokenEvent>() + 36;
/// The maximum number of registrations per hour. Resend counts by IP address, which this service doesn't see.
const MAX_REGISTRATIONS: usize = 20;
/// The maximum number of refresh tokens per grant, whose reuse revokes the grant (`TOK-26`). A client that refreshes whenever its access token
/// expires uses 5,760 within the lifetime of a refresh token; older ones are rejected as unknown.
const MAX_TOKENS: u64 = 6_000;

/// The key and the clients as persisted. Registrations are limited per hour, so they are written together.
#[derive(Deserialize, Serialize)]
pub struct StoredOAuth {
    pkcs8: Vec<u8>,
    key_id: String,
    clients: Vec<OAuthClient>,
}

/// A grant as persisted, with its refresh tokens and their generations.
#[derive(Debug, Deserialize, Serialize)]
pub struct StoredGrant {
    grant: Grant,
    tokens: Vec<(String, u64)>,
}

/// All OAuth state under one lock, so that concurrent requests with the same code or token are ordered.
#[derive(Debug)]
pub struct OAuthStore {
    key: OnceLock<SigningKey>,
    seeds: Vec<OAuthClient>,
    max_records: usize,
    max_bytes: usize,
    inner: Mutex<Inner>,
}

#[derive(Debug)]
struct Inner {
    clients: Dirty<Counted<OAuthClient>>,
    registered: VecDeque<Timestamp>,
    requests: Expiring<Request>,
    codes: Expiring<Code>,
    /// Every change of a grant's tokens also changes the grant, which persistence relies on.
    grants: Rows<Grant>,
    /// Current and used refresh tokens, with their grant and generation.
    tokens: Counted<(Uuid, u64)>,
    /// The same tokens by grant and generation.
    generations: BTreeMap<(Uuid, u64), String>,
    events: VecDeque<TokenEvent>,
}

impl Inner {
    fn new(seeds: &[OAuthClient]) -> Self {
        let mut clients = Counted::new();
        for client in seeds {
            clients.insert(client.client_id.clone(), client.clone());
        }
        Self {
            clients: Dirty::new(clients),
            registered: VecDeque::new(),
            requests: Expiring::new(),
            codes: Expiring::new(),
            // `Inner::fit` bounds their bytes.
            grants: Rows::new(Arc::new(Budget::new(usize::MAX))),
            tokens: Counted::new(),
            generations: BTreeMap::new(),
            events: VecDeque::new(),
        }
    }

    /// The total size in bytes.
    fn bytes(&self) -> usize {
        // Each token is also indexed by its grant.
        let tokens = 2 * self.tokens.bytes();
        let logins = self.clients.bytes() + self.requests.bytes() + self.codes.bytes() + self.grants.bytes();
        logins + tokens + self.events.len() * EVENT_BYTES
    }

    /// Evicts events, then the oldest other grants, then the oldest tokens of this grant, until everything fits into `max_bytes`.
    fn fit(&mut self, max_bytes: usize, grant: Uuid) {
        while self.bytes() > max_bytes {
            if self.events.pop_front().is_some() {
                continue;
            }
            let oldest = self.grants.oldest_first().map(|grant| grant.id).find(|id| *id != grant);
            if let Some(id) = oldest {
                self.remove_grant(id);
                continue;
            }
            let mut known = self.generations.range((grant, 0)..=(grant, u64::MAX)).map(|(at, _)| *at);
            let (oldest, newer) = (known.next(), known.next());
            let (Some(oldest), Some(_)) = (oldest, newer) else { return };
            self.forget_token(oldest);
        }
    }

    fn add_grant(&mut self, grant: Grant) {
        self.grants.insert(grant.id, Arc::new(grant));
    }

    fn forget_token(&mut self, at: (Uuid, u64)) {
        if let Some(token) = self.generations.remove(&at) {
            self.tokens.remove(&token);
        }
    }

    fn record_event(&mut self, at: Timestamp, grant: Uuid, kind: TokenEventKind) {
        if self.events.len() == MAX_EVENTS {
            self.events.pop_front();
        }
        self.events.push_back(TokenEvent { at, grant_id: grant.to_string(), kind });
    }

    /// Adds a refresh token of a grant and evicts the oldest beyond the limit.
    fn add_token(&mut self, token: String, grant: Uuid, generation: u64) {
        if let Some(old) = generation.checked_sub(MAX_TOKENS) {
            self.forget_token((grant, old));
        }
        self.generations.insert((grant, generation), token.clone());
        self.tokens.insert(token, (grant, generation));
    }

    /// Removes a grant and its refresh tokens.
    fn remove_grant(&mut self, id: Uuid) {
        self.grants.remove(id);
        let known = self.generations.range((id, 0)..=(id, u64::MAX)).map(|(at, _)| *at).collect::<Vec<_>>();
        for at in known {
            self.forget_token(at);
        }
    }

    /// Revokes a grant, unless it is revoked already, and returns when and why it was.
    fn revoke(
        &mut self,
        id: Uuid,
        now: Timestamp,
        reason: &'static str,
    ) -> Option<(Timestamp, &'static str)> {
        self.grants.change(id, |grant| *grant.revoked.get_or_insert((now, reason)))
    }

    /// A grant with its tokens, oldest first.
    fn to_stored(&self, grant: Grant) -> StoredGrant {
        let known = self.generations.range((grant.id, 0)..=(grant.id, u64::MAX));
        let tokens = known.map(|((_, generation), token)| (token.clone(), *generation)).collect();
        StoredGrant { grant, tokens }
    }

    /// Finds an enabled client.
    fn client(&self, id: &str) -> Option<&OAuthClient> {
        self.clients.get(id).filter(|client| !client.disabled)
    }
}

/// The result of a refresh: the grant, its tenant, the scopes and the new refresh token.
pub struct Refreshed {
    pub grant: Grant,
    pub scope: String,
    /// `None` for a client that may not refresh.
    pub refresh_token: Option<String>,
}

impl OAuthStore {
    pub fn new(seeds: Vec<OAuthClient>, max_records: usize, max_bytes: usize) -> Self {
        let inner = Mutex::new(Inner::new(&seeds));
        Self { key: OnceLock::new(), seeds, max_records, max_bytes, inner }
    }

    /// The key that signs tokens, generated on first use: most runs of the sandbox issue none.
    pub fn key(&self) -> &SigningKey {
        self.key.get_or_init(SigningKey::generate)
    }

    /// The key and the clients, if they changed since the last call.
    pub fn changed_clients(&self) -> Option<StoredOAuth> {
        let mut inner = lock(&self.inner);
        if !inner.clients.take() {
            return None;
        }
        let (pkcs8, key_id) = self.key().parts();
        Some(StoredOAuth {
            pkcs8: pkcs8.to_vec(),
            key_id: key_id.to_owned(),
            clients: inner.clients.values().cloned().collect(),
        })
    }

    /// Reports the grants that changed since the last call: a position, and the grant if it still exists. Returns whether these are all
    /// grants, as on the first call.
    pub fn changed_grants(&self, mut show: impl FnMut(u64, Option<StoredGrant>)) -> bool {
        let mut inner = lock(&self.inner);
        let grants = inner.grants.ledger();
        let changed = grants.take_changed();
        let is_first = changed.is_none();
        let mut changed = changed.unwrap_or_else(|| grants.positions());
        changed.sort_unstable();
        changed.dedup();
        for position in changed {
            let grant = inner.grants.ledger().get_at(position).map(|(_, grant)| Grant::clone(grant));
            show(position, grant.map(|grant| inner.to_stored(grant)));
        }
        is_first
    }

    /// Restores the state of an earlier run. Codes and pending requests aren't persisted: they live for minutes. Returns `None` if the key
    /// is invalid.
    pub fn restore(self, stored: StoredOAuth) -> Option<Self> {
        let key = SigningKey::from_pkcs8(stored.pkcs8, stored.key_id)?;
        {
            let mut inner = lock(&self.inner);
            for client in stored.clients {
                inner.clients.insert(client.client_id.clone(), client);
            }
        }
        Some(Self { key: key.into(), ..self })
    }

    /// Restores a grant of an earlier run at its position.
    pub fn restore_grant(&self, position: u64, stored: StoredGrant) {
        let mut inner = lock(&self.inner);
        let StoredGrant { grant, tokens } = stored;
        let id = grant.id;
        inner.grants.restore(position, id, Arc::new(grant));
        for (token, generation) in tokens {
            inner.add_token(token, id, generation);
        }
    }

    pub fn reset(&self) {
        *lock(&self.inner) = Inner::new(&self.seeds);
    }

    /// Removes the codes and grants of a tenant.
    pub fn remove_tenant(&self, tenant: &str) {
        let mut inner = lock(&self.inner);
        let gone: Vec<Uuid> = inner.grants.members(&tenant.to_owned()).map(|grant| grant.id).collect();
        for id in gone {
            inner.remove_grant(id);
        }
        inner.codes.retain(|code| code.tenant != tenant);
    }

    pub fn client(&self, id: &str) -> Option<OAuthClient> {
        lock(&self.inner).client(id).cloned()
    }

    /// Registers a client, unless too many were registered within an hour.
    pub fn register(&self, client: OAuthClient, now: Timestamp) -> Result<(), OAuthRejection> {
        let mut inner = lock(&self.inner);
        while inner
            .registered
            .front()
            .is_some_and(|at| now.duration_since(*at) >= SignedDuration::from_hours(1))
        {
            inner.registered.pop_front();
        }
        if inner.registered.len() >= MAX_REGISTRATIONS || inner.clients.len() >= self.max_records {
            let oldest = inner.registered.front().map(|at| now.duration_since(*at));
            let seconds = oldest.and_then(|age| u64::try_from(3600 - age.as_secs()).ok());
            return Err(OAuthRejection {
                retry_after: seconds,
                ..OAuthRejection::too_many(format!(
                    "At most {MAX_REGISTRATIONS} clients can be registered within an hour."
                ))
            });
        }
        if inner.bytes() + Counted::size(&client.client_id, &client) > self.max_bytes {
            return Err(OAuthRejection::too_many(format!(
                "OAuth state is limited to {} bytes of this sandbox's memory; restart it with a larger --max-memory, or reset it.",
                self.max_bytes
            )));
        }
        inner.registered.push_back(now);
        inner.clients.insert(client.client_id.clone(), client);
        Ok(())
    }

    /// Stores a pending request under a name. Returns false if there isn't enough memory.
    pub fn insert_request(&self, name: &str, request: Request, now: Timestamp) -> bool {
        let mut inner = lock(&self.inner);
        inner.requests.evict_expired(now);
        let bytes = inner.bytes() + Expiring::size(name, &request);
        if inner.requests.len() >= self.max_records || bytes > self.max_bytes {
            return false;
        }
        inner.requests.insert(name.to_owned(), request);
        true
    }

    /// The pending request of this name.
    pub fn request(&self, name: &str, now: Timestamp) -> Option<Request> {
        lock(&self.inner).requests.get(name).filter(|request| now < request.until).cloned()
    }

    /// Takes a decided request.
    pub fn take_request(&self, name: &str) -> Option<Request> {
        lock(&self.inner).requests.remove(name)
    }

    /// Stores the code of an approved request. Returns false if there is no memory for it.
    pub fn insert_code(&self, code: &str, request: Request, tenant: String, clock: &Clock) -> bool {
        let mut inner = lock(&self.inner);
        let is_expired = |code: &Code| clock.for_account(&code.tenant).now() >= code.expires_at();
        inner.codes.evict_first_while(is_expired);
        let until = add_duration(clock.for_account(&tenant).now(), CODE);
        let stored = Code { request, tenant, until, redeemed: None };
        let size = Expiring::size(code, &stored);
        if inner.bytes() + size > self.max_bytes {
            // Codes of an account whose clock was set back can precede expired codes of other accounts.
            inner.codes.retain(|code| !is_expired(code));
        }
        if inner.bytes() + size > self.max_bytes {
            return false;
        }
        inner.codes.insert(code.to_owned(), stored);
        true
    }

    /// Redeems a code: creates a grant with its first refresh token (`docs/specification.md`, States and transitions).
    ///
    /// A reused code may have been stolen. The specification doesn't define the effect on the grant; it is revoked, as RFC 6749, 4.1.2
    /// recommends.
    pub fn redeem(
        &self,
        code: &str,
        client: &OAuthClient,
        matches: impl FnOnce(&Request) -> Result<(), OAuthRejection>,
        id: Uuid,
        refresh_token: Option<String>,
        clock: &Clock,
    ) -> Result<Refreshed, OAuthRejection> {
        let mut inner = lock(&self.inner);
        let unknown = || OAuthRejection::invalid_grant("The code is invalid, expired or already used.");
        let found = inner.codes.get(code).cloned().ok_or_else(unknown)?;
        let now = clock.for_account(&found.tenant).now();
        if found.request.client_id != client.client_id {
            return Err(unknown());
        }
        if let Some(grant) = found.redeemed {
            inner.record_event(now, grant, TokenEventKind::CodeReused);
            inner.revoke(grant, now, "code_reused");
            return Err(unknown());
        }
        if now >= found.until {
            return Err(unknown());
        }
        matches(&found.request)?;
        inner.codes.insert(code.to_owned(), Code { redeemed: Some(id), ..found.clone() });
        let grant = Grant::new(id, found.tenant, client, found.request.scopes, now);
        Ok(open(&mut inner, self, grant, refresh_token, now))
    }

    /// Creates a grant without a browser.
    pub fn grant(
        &self,
        client: &OAuthClient,
        tenant: &str,
        scopes: Vec<String>,
        id: Uuid,
        refresh_token: String,
        now: Timestamp,
    ) -> Refreshed {
        let grant = Grant::new(id, tenant.to_owned(), client, scopes, now);
        open(&mut lock(&self.inner), self, grant, Some(refresh_token), now)
    }

    /// Rotates a refresh token; reuse of an old one revokes the grant (`docs/specification.md`, Authentication 4).
    pub fn rotate(
        &self,
        shown: &str,
        client_id: &str,
        scopes: Option<Vec<String>>,
        next: String,
        clock: &Clock,
    ) -> Result<Refreshed, OAuthRejection> {
        let mut inner = lock(&self.inner);
        let unknown = || OAuthRejection::invalid_grant("The refresh token is invalid, expired or revoked.");
        let (id, generation) = *inner.tokens.get(shown).ok_or_else(unknown)?;
        let grant =
            inner.grants.get(id).filter(|grant| grant.client_id == client_id).cloned().ok_or_else(unknown)?;
        let now = clock.for_account(&grant.tenant).now();
        if generation != grant.generation {
            inner.record_event(
                now,
                id,
                TokenEventKind::Reused { shown: generation, current: grant.generation },
            );
            inner.revoke(id, now, "refresh_token_reused");
            return Err(OAuthRejection::invalid_grant(
                "The refresh token was used before; the grant is revoked.",
            ));
        }
        if grant.revoked.is_some() || now >= add_duration(grant.issued_at, REFRESH_TOKEN) {
            inner.record_event(now, id, TokenEventKind::Late);
            return Err(unknown());
        }
        let scopes = scopes.unwrap_or_else(|| grant.scopes.clone());
        if scopes.is_empty() {
            return Err(OAuthRejection::invalid_scope("No scope was requested."));
        }
        if let Some(wide) = scopes.iter().find(|scope| !grant.scopes.contains(scope)) {
            return Err(OAuthRejection::invalid_scope(format!(
                "The grant does not have the scope `{wide}`."
            )));
        }
        let generation = generation + 1;
        inner.grants.change(id, |grant| (grant.generation, grant.issued_at) = (generation, now));
        inner.add_token(next.clone(), id, generation);
        inner.record_event(now, id, TokenEventKind::Rotated { generation });
        inner.fit(self.max_bytes, id);
        Ok(Refreshed {
            grant: Arc::unwrap_or_clone(grant),
            scope: scopes.join(" "),
            refresh_token: Some(next),
        })
    }

    /// Revokes the grant of a client's refresh token; an unknown token isn't an error.
    pub fn revoke_token(&self, token: &str, client_id: &str, clock: &Clock) {
        let mut inner = lock(&self.inner);
        let Some(&(id, _)) = inner.tokens.get(token) else { return };
        if let Some(grant) = inner.grants.get(id).filter(|grant| grant.client_id == client_id) {
            let now = clock.for_account(&grant.tenant).now();
            inner.revoke(id, now, "revoked_by_client");
        }
    }

    /// Revokes a grant of a tenant. Returns `None` if it is unknown or already revoked.
    pub fn revoke(&self, id: Uuid, tenant: &str, now: Timestamp) -> Option<(Timestamp, &'static str)> {
        let mut inner = lock(&self.inner);
        inner.grants.get(id).filter(|grant| grant.tenant == tenant && grant.revoked.is_none())?;
        inner.revoke(id, now, "revoked_from_api")
    }

    /// Lists one page of a tenant's grants.
    pub fn page(&self, window: &Window, tenant: &str) -> Result<Page<Arc<Grant>>, Problem> {
        lock(&self.inner).grants.page_of(window, [tenant.to_owned()], |grant| grant.tenant == tenant)
    }

    /// Verifies an access token and returns its claims and tenant: signed by this service, not expired by the clock of its
    /// account, and its grant not revoked.
    pub fn verify(&self, token: &str, clock: &Clock) -> Option<(Claims, String)> {
        let claims = self.key().verify(token)?;
        let inner = lock(&self.inner);
        let grant = inner.grants.get(claims.grant).filter(|grant| grant.revoked.is_none())?;
        let now = clock.for_account(&grant.tenant).now();
        (now.as_second() < claims.exp).then(|| (claims, grant.tenant.clone()))
    }

    pub fn events(&self) -> Vec<TokenEvent> {
        lock(&self.inner).events.iter().cloned().collect()
    }

    /// Signs an access token of a grant.
    pub fn sign(
        &self,
        refreshed: &Refreshed,
        issuer: &str,
        subject: String,
        id: Uuid,
        now: Timestamp,
    ) -> String {
        let claims = Claims {
            iss: issuer.to_owned(),
            sub: subject,
            aud: issuer.to_owned(),
            client_id: refreshed.grant.client_id.clone(),
            scope: refreshed.scope.clone(),
            iat: 0,
            exp: 0,
            jti: id,
            grant: refreshed.grant.id,
        };
        self.key().sign(claims, now)
    }
}

fn open(
    inner: &mut Inner,
    store: &OAuthStore,
    grant: Grant,
    refresh_token: Option<String>,
    now: Timestamp,
) -> Refreshed {
    while inner.grants.len() >= store.max_records.max(1) {
        let Some(oldest) = inner.grants.oldest_first().next().map(|grant| grant.id) else { break };
        inner.remove_grant(oldest);
    }
    inner.add_grant(grant.clone());
    if let Some(token) = &refresh_token {
        inner.add_token(token.clone(), grant.id, 1);
    }
    inner.record_event(now, grant.id, TokenEventKind::Issued);
    inner.fit(store.max_bytes, grant.id);
    Refreshed { scope: grant.scopes.join(" "), grant, refresh_token }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::ClockStart;

    const NOW: Timestamp = Timestamp::UNIX_EPOCH;

    fn clock() -> Clock {
        Clock::new(ClockStart::Frozen(NOW))
    }

    fn client() -> OAuthClient {
        OAuthClient::new("app", "An app", "http://localhost/callback")
    }

    /// A store of at most this many bytes, which has the client.
    fn store(max_bytes: usize) -> OAuthStore {
        OAuthStore::new(vec![client()], 1_000, max_bytes)
    }

    /// Logs in to the client. The first refresh token is `{id}-1`.
    fn log_in(store: &OAuthStore, id: Uuid) {
        store.grant(&client(), "tenant", vec!["full_access".to_owned()], id, format!("{id}-1"), NOW);
    }

    fn changed(store: &OAuthStore) -> Vec<(u64, Option<usize>)> {
        let mut changed = Vec::new();
        store.changed_grants(|position, stored| {
            changed.push((position, stored.map(|stored| stored.tokens.len())));
        });
        changed
    }

    #[test]
    fn only_changed_grants_are_written() {
        let store = store(1 << 20);
        let ids: Vec<_> = (0..100).map(Uuid::from_u128).collect();
        for id in &ids {
            log_in(&store, *id);
        }
        assert!(store.changed_clients().is_some());
        assert_eq!(changed(&store).len(), 100);

        assert!(store.rotate(&format!("{}-1", ids[7]), "app", None, "next".to_owned(), &clock()).is_ok());
        store.revoke(ids[9], "tenant", NOW).unwrap();
        lock(&store.inner).remove_grant(ids[11]);
        assert!(store.changed_clients().is_none());
        assert_eq!(changed(&store), [(7, Some(2)), (9, Some(1)), (11, None)]);
        assert_eq!(changed(&store), []);
    }

    #[test]
    fn the_oldest_logins_are_evicted_when_memory_runs_out_and_a_login_in_use_keeps_its_newest_token() {
        let full = 1 << 16;
        let store = store(full);
        let ids: Vec<_> = (0..1_000).map(Uuid::from_u128).collect();
        for id in &ids {
            log_in(&store, *id);
        }
        let kept = |id: Uuid| lock(&store.inner).grants.get(id).is_some();
        let count = ids.iter().filter(|id| kept(**id)).count();
        assert!((20..500).contains(&count), "{count}");
        assert!(ids[1_000 - count..].iter().all(|id| kept(*id)), "the newest are kept");

        // One login with many tokens uses all the memory, and keeps the newest ones.
        let last = ids[999];
        for generation in 1..2_000 {
            let (old, new) = (format!("{last}-{generation}"), format!("{last}-{}", generation + 1));
            assert!(store.rotate(&old, "app", None, new, &clock()).is_ok(), "{generation}");
        }
        assert!(!kept(ids[998]) && kept(last));
        let inner = lock(&store.inner);
        assert!((20..1_000).contains(&inner.generations.len()), "{}", inner.generations.len());
        assert!(inner.bytes() <= full);
    }

    fn code() -> Code {
        let request = Request {
            client_id: "app".to_owned(),
            redirect_uri: "http://localhost/callback".to_owned(),
            scopes: vec!["full_access".to_owned()],
            state: None,
            challenge: "challenge".to_owned(),
            token: "token".to_owned(),
            until: add_duration(NOW, CODE),
        };
        Code { request, tenant: "tenant".to_owned(), until: add_duration(NOW, CODE), redeemed: None }
    }

    #[test]
    fn requests_codes_and_clients_fit_up_to_the_last_byte_of_memory() {
        type Add<'a> = &'a dyn Fn(&OAuthStore) -> bool;
        let first = OAuthClient::new("first", "The first app", "http://localhost/callback");
        let used = Counted::size("first", &first);
        let additions: [(&str, usize, Add<'_>); 3] = [
            ("a request", Expiring::size("name", &code().request), &|store| {
                store.insert_request("name", code().request, NOW)
            }),
            ("a code", Expiring::size("name", &code()), &|store| {
                store.insert_code("name", code().request, code().tenant, &clock())
            }),
            ("a client", Counted::size("app", &client()), &|store| store.register(client(), NOW).is_ok()),
        ];
        for (what, size, add) in additions {
            let fits = |max_bytes| add(&OAuthStore::new(vec![first.clone()], 1_000, max_bytes));
            assert!(fits(used + size) && !fits(used + size - 1), "{what}");
        }
    }

    #[test]
    fn expired_codes_make_room_for_a_new_one_even_behind_one_of_an_account_whose_clock_was_set_back() {
        let clock = clock();
        let store = OAuthStore::new(Vec::new(), 1_000, 2 * Expiring::size("1", &code()));
        let insert = |name, tenant: &str| store.insert_code(name, code().request, tenant.to_owned(), &clock);
        clock.for_account("behind").set(NOW - CODE);
        assert!(insert("1", "behind") && insert("2", "tenant") && !insert("3", "tenant"));
        clock.for_account("tenant").advance(2 * CODE);
        assert!(insert("3", "tenant"));
    }

    #[test]
    fn clients_requests_codes_grants_and_events_count_as_memory_and_every_token_twice() {
        let store = store(usize::MAX);
        let bytes = || lock(&store.inner).bytes();
        let mut expected = Counted::size("app", &client());
        assert_eq!(bytes(), expected);

        assert!(store.insert_request("name", code().request, NOW));
        assert!(store.insert_code("code", code().request, code().tenant, &clock()));
        expected += Expiring::size("name", &code().request) + Expiring::size("code", &code());
        assert_eq!(bytes(), expected);

        // Each login and each refresh records an event.
        let id = Uuid::from_u128(1);
        log_in(&store, id);
        let grants = lock(&store.inner).grants.bytes();
        assert!(grants > size_of::<Grant>());
        let first = format!("{id}-1");
        expected += grants + 2 * Counted::size(&first, &(id, 1_u64)) + EVENT_BYTES;
        assert_eq!(bytes(), expected);
        for (shown, next) in [(&*first, "token 2"), ("token 2", "token 3")] {
            assert!(store.rotate(shown, "app", None, next.to_owned(), &clock()).is_ok());
            expected += 2 * Counted::size(next, &(id, 2_u64)) + EVENT_BYTES;
            assert_eq!(bytes(), expected);
        }
    }

    #[test]
    fn an_event_is_evicted_if_logins_exceed_the_memory_by_a_byte() {
        let filled = |max_bytes| {
            let store = store(max_bytes);
            (1..=2).for_each(|id| log_in(&store, Uuid::from_u128(id)));
            store
        };
        let full = lock(&filled(usize::MAX).inner).bytes();
        assert_eq!((filled(full).events().len(), filled(full - 1).events().len()), (2, 1));
    }
}
